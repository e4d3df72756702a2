//! What a small model chooses among: the executors that may fit, each in a line and with an example. Those that only read
//! stand in an order that does not depend on how well they fit, so that a server's cache of prompts holds; those that do
//! something only where the words ask for it.

use metnos_proto::envelope::{Candidate, Envelope, Named};
use metnos_proto::msg::common::Lang;
use metnos_proto::prompt::MAX_TOOL_NAME;
use metnos_reflex::matching::contract::text_outputs;
use metnos_reflex::{READ, spoken_in};
use serde::{Deserialize, Serialize};

use super::asked::{Asked, is_deed};
use super::fields::{Field, Kind, fields};
use super::paths::typed;
use super::thoughts::{self, OWN};
use super::{MAX_CHOICES, MAX_LISTED, MAX_NAMES};
use crate::thinking::data::line;

/// How much is said of an executor, and of an example of it, in characters.
const MAX_SUMMARY: usize = 64;
const MAX_EXAMPLE: usize = 50;
/// What is said of an executor that searches texts, and requests of a household that it answers.
const SEARCHES: &str = "finds what the household has written down: facts, people, dates, prices, places, recipes";
const SEARCHED: [&str; 5] = [
    "when does my passport expire?",
    "is there any flour left?",
    "who is invited on Sunday?",
    "quanto costa la palestra?",
    "dove sono gli sci?",
];
/// From how many words on a request is read without the one before it.
const FEW: usize = 4;
/// How many letters of a long word must agree with a name.
const STEM: usize = 5;

/// An executor that may be chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Its contract.
    pub candidate: Candidate,
    /// What is asked for.
    pub fields: Vec<Field>,
    /// Whether it may be chosen for this request; one that may not only stands in the list, which stays the same.
    pub is_open: bool,
}

/// The executor that reads the text of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextReader {
    /// Its name.
    pub executor: String,
    /// Its argument, a path.
    pub argument: String,
    /// The text in its result.
    pub text: String,
}

impl Choice {
    /// The executor.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.candidate.name
    }

    /// Whether it only reads.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.candidate.class == READ
    }

    /// Whether it does something, which is offered only to a request that asks for it.
    #[must_use]
    pub fn is_deed(&self) -> bool {
        is_deed(&self.candidate)
    }

    /// Whether it may serve any request: it only reads, and needs nothing that a request must name.
    #[must_use]
    pub fn is_common(&self) -> bool {
        self.reads() && self.is_possible(&[], false)
    }

    /// Whether it searches texts: it is what answers a question about what somebody has written down.
    #[must_use]
    pub fn searches(&self) -> bool {
        self.reads() && self.fields.iter().any(|field| field.kind == Kind::Words)
    }

    /// Whether it can be called while no file is known: nobody makes up a place.
    #[must_use]
    pub fn is_possible(&self, names: &[String], has_address: bool) -> bool {
        let address = |field: &Field| {
            let pointer = format!("/{}", field.name);
            self.candidate.roles.iter().any(|(at, role)| *at == pointer && matches!(role.as_str(), "url" | "dest"))
        };
        self.fields.iter().filter(|field| field.required).all(|field| match field.kind {
            Kind::Path | Kind::Text => !names.is_empty(),
            Kind::Words => true,
            Kind::Given(_) => has_address || !address(field),
        })
    }

    /// The line that a model is shown of it.
    fn line(&self) -> String {
        let says = if self.searches() { SEARCHES.to_owned() } else { brief(&self.candidate.summary) };
        format!("- {}: {says}", self.name())
    }

    /// An example in this language, if there is a short one.
    fn example(&self, lang: Lang) -> Option<String> {
        let examples: Vec<&str> =
            self.candidate.requests().filter(|text| text.chars().count() <= MAX_EXAMPLE).collect();
        let of_lang = examples.iter().find(|text| spoken_in(text) == Some(lang)).or(examples.first());
        of_lang.map(|text| line(text, MAX_EXAMPLE).replace('"', "'"))
    }

    /// What is asked of an executor and what to reply, as a line for each example.
    fn examples(&self, lang: Lang) -> Vec<String> {
        let searched = if self.searches() { &SEARCHED[..] } else { &[] };
        let all = self.example(lang).into_iter().chain(searched.iter().map(|words| (*words).to_owned()));
        all.map(|words| shown(&words, self.name())).collect()
    }
}

/// A request, and the reply that chooses this for it.
#[must_use]
pub fn shown(words: &str, name: &str) -> String {
    format!("\"{words}\" -> {}", thoughts::chosen(name))
}

/// What an executor does, in as many whole clauses as have room.
fn brief(summary: &str) -> String {
    let first = summary.split(['.', ';', ':']).next().unwrap_or_default().replace(" of the workspace", "");
    let mut all = first.as_str();
    while all.chars().count() > MAX_SUMMARY
        && let Some((shorter, _)) = all.rsplit_once(',')
    {
        all = shorter;
    }
    line(all, MAX_SUMMARY).trim().to_owned()
}

/// The executors of an envelope that a small model is shown for these words, best first. Those that may be chosen are at most
/// [`MAX_CHOICES`]: what does something only where the words ask for it, and what searches texts always.
#[must_use]
pub fn of(envelope: &Envelope, words: &str) -> Vec<Choice> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_name =
        |name: &str| !name.is_empty() && name.len() <= MAX_TOOL_NAME && name.chars().all(fits) && !OWN.contains(&name);
    let asked = Asked::of(words, &envelope.home.butler);
    // Few words point back to what was said before.
    let before =
        envelope.recent.last().filter(|_| words.split_whitespace().count() <= FEW).map(|one| one.text.as_str());
    let before = before.map(|before| Asked::of(before, &envelope.home.butler));
    let touches = |one: &Candidate| asked.touches(one) || before.as_ref().is_some_and(|before| before.touches(one));
    let candidates = envelope.candidates.iter().filter(|one| one.offered && is_name(&one.name));
    // What needs an account is no choice for who has none.
    let is_there = |one: &&Candidate| !envelope.home.accounts.is_empty() || !has_argument(one, "account");
    let candidates = candidates.filter(is_there);
    let one = |candidate: &Candidate| {
        let fields = fields(candidate, words)?;
        Some(Choice { candidate: candidate.clone(), fields, is_open: false })
    };
    let mut all: Vec<Choice> = candidates.filter(|one| !is_deed(one) || asked.ask_for(one)).filter_map(one).collect();
    let is_first = |one: &Choice| one.is_deed() || one.searches();
    let firsts = all.iter().filter(|one| is_first(one)).count().min(MAX_CHOICES);
    let (mut left, mut others) = (firsts, MAX_CHOICES - firsts);
    for choice in &mut all {
        let room = if is_first(choice) { &mut left } else { &mut others };
        choice.is_open = *room > 0 && (is_first(choice) || touches(&choice.candidate));
        *room = room.saturating_sub(usize::from(choice.is_open));
    }
    // So many can stand in a list that stays the same; of more only those that may be chosen.
    if all.iter().filter(|one| one.is_common()).count() > MAX_LISTED {
        all.retain(|one| one.is_open);
    }
    all.retain(|one| one.is_open || !one.is_deed());
    all
}

/// Whether an executor has an argument of this name.
fn has_argument(candidate: &Candidate, name: &str) -> bool {
    candidate.roles.iter().any(|(pointer, _)| pointer.strip_prefix('/') == Some(name))
}

/// The executor of an envelope that reads texts of files, if there is one.
#[must_use]
pub fn reader(envelope: &Envelope) -> Option<TextReader> {
    let reads = envelope.candidates.iter().filter(|one| one.class == READ && one.offered);
    let mut found = reads.filter_map(|one| {
        let text = text_outputs(&one.output).into_iter().next()?.name;
        let fields = fields(one, "")?;
        let mut needed = fields.iter().filter(|field| field.required);
        let argument = needed.next().filter(|field| field.kind == Kind::Path)?.name.clone();
        needed.next().is_none().then(|| TextReader { executor: one.name.clone(), argument, text })
    });
    found.next()
}

/// The executors that may serve any request, and their examples, a line for each.
#[must_use]
pub fn reading(choices: &[Choice]) -> (Vec<String>, Vec<String>) {
    let all = sorted(choices.iter().filter(|one| one.is_common()));
    // In one language, whatever that of the request is: what stands before it is the same for everybody.
    let examples = all.iter().flat_map(|choice| choice.examples(Lang::En)).collect();
    (all.into_iter().map(Choice::line).collect(), examples)
}

/// The others that may be chosen for this request, each in a line with an example: what does what it asks for, and what reads
/// a file that it names.
#[must_use]
pub fn special(choices: &[Choice], (names, has_address): (&[String], bool), lang: Lang) -> Vec<String> {
    let one = |choice: &Choice| {
        let examples = choice.example(lang).map(|words| shown(&words, choice.name()));
        [vec![choice.line()], examples.into_iter().collect()].concat()
    };
    let is_special = |one: &&Choice| !one.is_common() && one.is_open && one.is_possible(names, has_address);
    sorted(choices.iter().filter(is_special)).into_iter().flat_map(one).collect()
}

fn sorted<'a>(choices: impl Iterator<Item = &'a Choice>) -> Vec<&'a Choice> {
    let mut all: Vec<&Choice> = choices.collect();
    all.sort_by(|a, b| a.name().cmp(b.name()));
    all
}

/// The files that these words name: those typed in full, and of those that lie there the ones whose name or title shares a
/// word with them; at most [`MAX_NAMES`].
#[must_use]
pub fn names(words: &str, named: &[Named]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut push = |path: &str| {
        if found.len() < MAX_NAMES && !found.iter().any(|one| one == path) {
            found.push(path.to_owned());
        }
    };
    // A bare name is the place where it lies, when there is one.
    let place = |typed: &str| named.iter().find(|one| one.path.rsplit('/').next() == Some(typed)).map(|one| &one.path);
    typed(words).for_each(|typed| push(place(typed).map_or(typed, String::as_str)));
    let said = stems(words);
    let mut fitting: Vec<(usize, &Named)> = named
        .iter()
        .map(|one| {
            let name = one.path.rsplit('/').next().unwrap_or_default();
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            let own = [stems(stem), stems(&one.title)].concat();
            (own.iter().filter(|word| said.contains(word)).count(), one)
        })
        .filter(|(shared, _)| *shared > 0)
        .collect();
    fitting.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    fitting.into_iter().for_each(|(_, one)| push(&one.path));
    found
}

/// The words that a name is compared by: those of four letters or more, as far as they usually stay the same.
fn stems(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= 4);
    words.map(|word| word.to_lowercase().chars().take(STEM).collect()).collect()
}
