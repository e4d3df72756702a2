//! R07, R08 and R09: which events may be cited, for whom they speak, and what needs more than somebody's words.

use crate::model::{Envelope, Shown, Witness};
use crate::text::{Token, lists, tokens};
use crate::verdict::{Code, Objection, hold, refuse};

/// Names of the scope that the whole household shares.
const HOUSEHOLD: [&str; 2] = ["household", ""];
/// What a conversation of several is called: no person.
const ALL_OF_US: [&str; 8] = ["family", "famiglia", "home", "casa", "all", "tutti", "group", "gruppo"];
/// How many digits in a row a telephone number or an account has at least.
const CONTACT_DIGITS: usize = 6;

/// The events that an operation cites.
///
/// # Errors
/// R08: when no event is cited, or a cited event was not shown, cannot serve as evidence, is of another scope, or is cited twice.
pub fn cited<'a>(envelope: &'a Envelope, evidence: &[u64]) -> Result<Vec<&'a Shown>, Objection> {
    if evidence.is_empty() {
        return refuse(Code::R08, "it cites no event");
    }
    let mut all: Vec<&Shown> = Vec::new();
    for seq in evidence {
        let mut found = envelope.shown.iter().filter(|shown| shown.seq == *seq);
        let Some(shown) = found.next() else { return refuse(Code::R08, format!("event {seq} was not shown")) };
        if found.next().is_some() {
            return refuse(Code::R08, format!("event {seq} was shown twice, and may be either"));
        }
        if all.iter().any(|other| other.seq == *seq) {
            return refuse(Code::R08, format!("event {seq} is cited twice"));
        }
        if shown.witness() == Witness::None {
            return refuse(Code::R08, format!("event {seq} ({}, {}) can witness nothing", shown.kind, shown.trust));
        }
        all.push(shown);
    }
    in_scope(envelope, &all)?;
    Ok(all)
}

/// Whether the events belong to the person whose memory it is.
fn in_scope(envelope: &Envelope, cited: &[&Shown]) -> Result<(), Objection> {
    let scope = scope_name(&envelope.scope);
    if HOUSEHOLD.contains(&scope.as_str()) {
        return Ok(());
    }
    let is_scope = |name: &String| !name.is_empty() && folded(name) == scope;
    let known = envelope.shown.iter().any(|shown| is_scope(&shown.speaker) || is_scope(&shown.peer));
    for shown in cited {
        let by_person = matches!(shown.trust.as_str(), "owner" | "paired" | "guest");
        let nobody = shown.peer.is_empty() && (shown.speaker.is_empty() || !by_person);
        let mine = is_scope(&shown.speaker) || is_scope(&shown.peer) || (scope == "owner" && shown.trust == "owner");
        match (mine || nobody, known) {
            (true, _) => {}
            (false, true) => return refuse(Code::R08, format!("event {} belongs to another person", shown.seq)),
            (false, false) => return hold(Code::R08, format!("it is not known whose event {} is", shown.seq)),
        }
    }
    Ok(())
}

/// `person:anna` and `Anna` are the same scope.
fn scope_name(scope: &str) -> String {
    folded(scope.rsplit([':', '/']).next().unwrap_or(scope))
}

/// A name as names are compared.
pub(crate) fn folded(name: &str) -> String {
    metnos_rank::words::words(name).join(" ")
}

/// R07: what gives power, or takes a check away, needs a decision of policy or an edit of the owner.
///
/// # Errors
/// When it has neither.
pub fn authority(premise: &[Token], cited: &[&Shown]) -> Result<(), Objection> {
    if cited.iter().any(|shown| matches!(shown.witness(), Witness::Decision | Witness::Edit)) {
        return Ok(());
    }
    if let Some(words) = lists::AUTHORITY.found(premise) {
        return refuse(Code::R07, format!("`{words}` gives power, and no decision or edit of the owner is cited"));
    }
    if let Some(words) = lists::MAYBE_AUTHORITY.found(premise) {
        return hold(Code::R07, format!("`{words}` may give power, and no decision or edit of the owner is cited"));
    }
    Ok(())
}

/// R09: whom it is about took part in what is cited, and the kind of witness may say such a thing.
///
/// # Errors
/// When somebody else says it, or a machine or a page says it of a person.
pub fn attribution(envelope: &Envelope, premise: &str, node_type: &str, cited: &[&Shown]) -> Result<(), Objection> {
    let words = tokens(premise);
    let by = |wanted: &[Witness]| cited.iter().any(|shown| wanted.contains(&shown.witness()));
    let owner_says = by(&[Witness::Owner, Witness::Edit, Witness::Decision]);
    if let Some(name) = lists::OWNER.found(&words)
        && !owner_says
    {
        return refuse(Code::R09, format!("only the owner's own words say it of the owner (`{name}`)"));
    }
    if node_type == "goal" && !by(&[Witness::Owner, Witness::Edit]) {
        return refuse(Code::R09, "a goal is the owner's, and his words are not cited");
    }
    if matches!(node_type, "relationship" | "preference") && !owner_says && !by(&[Witness::Paired, Witness::Guest]) {
        return refuse(Code::R09, format!("no person's words are cited for the {node_type}"));
    }
    let subject = subject(envelope, &words, cited);
    match &subject {
        Some(Subject::Known(name)) => of_person(envelope, name, cited, owner_says)?,
        Some(Subject::Other(name)) => {
            return hold(Code::R09, format!("{name} did not take part in what is cited"));
        }
        None if !owner_says && !by(&[Witness::Paired, Witness::Machine, Witness::Web]) => {
            return hold(Code::R09, "a guest says it of more than himself");
        }
        None => {}
    }
    let by_person = owner_says || by(&[Witness::Paired, Witness::Guest]);
    if !by_person && (subject.is_some() || names_participant(envelope, &words)) {
        return hold(Code::R09, "no person says it, and it is about one");
    }
    if !by_person && (contact(premise) || lists::REPORTS.found(&words).is_some()) {
        return hold(
            Code::R09,
            "no person says it, and it says how somebody is reached or paid, or what somebody said",
        );
    }
    Ok(())
}

/// Whom a premise is about.
pub enum Subject {
    /// Somebody who took part in what was shown.
    Known(String),
    /// Somebody else.
    Other(String),
}

/// The name with which the premise begins, folded.
#[must_use]
pub fn subject(envelope: &Envelope, words: &[Token], cited: &[&Shown]) -> Option<Subject> {
    let first = words.iter().find(|token| !matches!(token.word.as_str(), "the" | "il" | "la" | "lo" | "l"))?;
    let known = participants(envelope).into_iter().find(|name| name.split(' ').any(|part| part == first.word));
    if let Some(name) = known {
        return Some(Subject::Known(name));
    }
    let common = metnos_rank::lexicon::is_stop(&first.word) || !first.capital;
    let in_small_letters =
        cited.iter().flat_map(|shown| tokens(&shown.text)).any(|token| token.word == first.word && !token.capital);
    let as_name = cited
        .iter()
        .flat_map(|shown| tokens(&shown.text))
        .any(|token| token.word == first.word && token.capital && !token.opens);
    (!common && as_name && !in_small_letters).then(|| Subject::Other(first.word.clone()))
}

/// Everybody who took part in what was shown, folded.
#[must_use]
pub fn participants(envelope: &Envelope) -> Vec<String> {
    let names = envelope.shown.iter().filter(|shown| shown.kind != "assistant_message").flat_map(|shown| {
        let person = !matches!(shown.trust.as_str(), "tool" | "web" | "system");
        [person.then_some(&shown.speaker), Some(&shown.peer)].into_iter().flatten()
    });
    let mut all: Vec<String> = names.map(|name| folded(name)).filter(|name| !name.is_empty()).collect();
    all.sort();
    all.dedup();
    all.retain(|name| {
        !lists::BUTLER.has_word(name) && !HOUSEHOLD.contains(&name.as_str()) && !ALL_OF_US.contains(&name.as_str())
    });
    all
}

fn names_participant(envelope: &Envelope, words: &[Token]) -> bool {
    let all = participants(envelope);
    words.iter().any(|token| all.iter().any(|name| name.split(' ').any(|part| part == token.word)))
}

fn of_person(envelope: &Envelope, name: &str, cited: &[&Shown], owner_says: bool) -> Result<(), Objection> {
    if cited.iter().any(|shown| matches!(shown.witness(), Witness::Edit | Witness::Decision)) {
        return Ok(());
    }
    let takes_part = |shown: &Shown| folded(&shown.speaker) == name || folded(&shown.peer) == name;
    if !cited.iter().any(|shown| takes_part(shown)) {
        return refuse(Code::R09, format!("{name} took part in nothing that is cited"));
    }
    let is_owner = envelope.shown.iter().any(|shown| shown.trust == "owner" && folded(&shown.speaker) == name);
    if is_owner && !owner_says {
        return refuse(Code::R09, format!("only the owner's own words say it of {name}, who is the owner"));
    }
    let says_it = |shown: &Shown| folded(&shown.speaker) == name || shown.witness() == Witness::Edit;
    if !cited.iter().any(|shown| says_it(shown)) {
        return hold(Code::R09, format!("somebody else says it of {name}"));
    }
    Ok(())
}

/// Whether it says how somebody is reached or paid: an address, a telephone number, an account.
fn contact(premise: &str) -> bool {
    let digits = premise.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0);
    let lower = premise.to_lowercase();
    premise.contains('@')
        || digits >= CONTACT_DIGITS
        || ["http", "www.", "iban", ".com", ".net", ".org", ".it"].iter().any(|part| lower.contains(part))
}
