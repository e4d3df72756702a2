//! R10: whether the words of a premise stand in its evidence, and say the same there.
//!
//! Words alone cannot tell whether one sentence follows from another. What they can tell is that it does not seem to: a word,
//! a number or a name that nobody said; a clause that denies, asks, guesses or quotes; another order, another subject. All of
//! this is held and not refused, since a true premise may look so, too.

use crate::model::{Envelope, Shown, Witness};
use crate::text::{Clause, Holds, Stems, Token, is_content, lists, numbers, tokens};
use crate::verdict::{Code, Objection, hold};
use crate::witness;

/// How many of a hundred content words of a premise stand in evidence that speaks against it: it may word the rest otherwise.
const SHARE_AGAINST: usize = 60;

/// Looks for the words of the premise in what is cited.
///
/// # Errors
/// What does not stand there, or stands there otherwise.
pub fn check(envelope: &Envelope, premise: &str, cited: &[&Shown]) -> Result<(), Objection> {
    let words = tokens(premise);
    let evidence: Vec<Vec<Token>> = cited.iter().map(|shown| tokens(&shown.text)).collect();
    let mut said = Holds::default();
    said.add(evidence.iter().flatten().map(|token| token.word.as_str()));
    let names: Vec<Vec<Token>> = cited.iter().flat_map(|shown| [tokens(&shown.speaker), tokens(&shown.peer)]).collect();
    said.add(names.iter().flatten().map(|token| token.word.as_str()));

    every_string(premise, cited)?;
    every_number(&words, &evidence)?;
    every_name(&words, &said)?;
    let persons = witness::participants(envelope);
    let content = content(&words, &persons);
    every_word(&content, &said)?;
    let best = cited.iter().zip(&evidence).flat_map(|(shown, tokens)| clauses(shown, tokens));
    let best = best.map(|clause| (clause.holds_of(&content), clause)).rev_max();
    let Some(place) = best else { return hold(Code::R10, "no clause of the evidence says it") };
    same_sense(&words, &place)?;
    same_verb(&words, &place)?;
    whole_parts(&words, &persons, &place)?;
    same_persons(&words, &persons, &place)?;
    same_order(&content, &words, &place)?;
    same_subject(&words, &persons, &place)
}

/// The words that must stand in the evidence: content, but for the persons themselves.
fn content<'a>(words: &'a [Token], persons: &[String]) -> Vec<&'a Token> {
    let is_person = |token: &Token| {
        lists::SPEAKER.has_word(&token.word)
            || persons.iter().any(|name| name.split(' ').any(|part| part == token.word))
    };
    words.iter().filter(|token| is_content(token) && !is_person(token)).collect()
}

fn every_number(words: &[Token], evidence: &[Vec<Token>]) -> Result<(), Objection> {
    let said: std::collections::BTreeSet<String> = evidence.iter().flat_map(|tokens| numbers::says(tokens)).collect();
    match numbers::numbers(words).iter().find(|number| !number.forms.iter().any(|form| said.contains(form))) {
        Some(number) => hold(Code::R10, format!("nobody said the number `{}`", number.said)),
        None => Ok(()),
    }
}

/// A word with a capital is a name, unless it opens a sentence and says nothing of its own.
fn every_name(words: &[Token], said: &Holds) -> Result<(), Objection> {
    let is_name =
        |token: &&Token| token.capital && (!token.opens || is_content(token)) && !lists::SPEAKER.has_word(&token.word);
    match words.iter().filter(is_name).find(|token| !said.has(&Stems::of(&token.word))) {
        Some(token) => hold(Code::R10, format!("nobody said the name `{}`", token.word)),
        None => Ok(()),
    }
}

/// Each word of content was said. The design asks for 30 of a hundred at least; but one that nobody said is enough to make
/// another claim of the others.
fn every_word(content: &[&Token], said: &Holds) -> Result<(), Objection> {
    if content.is_empty() {
        return hold(Code::R10, "no word of it says anything of its subject");
    }
    let weighs = |token: &&&Token| !says_little(&token.word) && !numbers::is_word(&token.word);
    match content.iter().filter(weighs).find(|token| !said.has(&Stems::of(&token.word))) {
        Some(token) => hold(Code::R10, format!("nobody said `{}`", token.word)),
        None => Ok(()),
    }
}

fn says_little(word: &str) -> bool {
    lists::HELPERS.has_word(word) || lists::INTENSIFIERS.has_word(word)
}

/// Whether the evidence is about the same.
fn about_the_same(content: &[&Token], said: &Holds) -> Result<(), Objection> {
    let grounded = content.iter().filter(|token| said.has(&Stems::of(&token.word))).count();
    if grounded == 0 || grounded * 100 < content.len() * SHARE_AGAINST {
        return hold(Code::R10, format!("the evidence holds {grounded} of its {} words", content.len()));
    }
    Ok(())
}

/// A clause of an event, with those beside it.
#[derive(Clone)]
struct Place<'a> {
    shown: &'a Shown,
    clause: Clause<'a>,
    /// The clauses before and behind it.
    beside: Vec<Clause<'a>>,
}

fn clauses<'a>(shown: &'a Shown, tokens: &'a [Token]) -> Vec<Place<'a>> {
    let all = Clause::of(tokens);
    let place = |at: usize| Place {
        shown,
        clause: all[at],
        beside: at.checked_sub(1).into_iter().chain([at + 1]).filter_map(|other| all.get(other).copied()).collect(),
    };
    (0..all.len()).map(place).collect()
}

impl Place<'_> {
    fn words(&self) -> Holds {
        let mut holds = Holds::default();
        holds.add(self.clause.tokens.iter().map(|token| token.word.as_str()));
        holds
    }

    fn holds_of(&self, content: &[&Token]) -> usize {
        let holds = self.words();
        content.iter().filter(|token| holds.has(&Stems::of(&token.word))).count()
    }
}

/// The first of those with the most.
trait RevMax<T> {
    fn rev_max(self) -> Option<T>;
}

impl<T, I: Iterator<Item = (usize, T)>> RevMax<T> for I {
    fn rev_max(self) -> Option<T> {
        let mut best: Option<(usize, T)> = None;
        for (count, one) in self {
            if best.as_ref().is_none_or(|(most, _)| count > *most) {
                best = Some((count, one));
            }
        }
        best.filter(|(count, _)| *count > 0).map(|(_, one)| one)
    }
}

/// Denied, asked, quoted, guessed, reported, generalised, or said the other way round.
fn same_sense(words: &[Token], place: &Place<'_>) -> Result<(), Objection> {
    let clause = place.clause.tokens;
    if place.clause.asks() {
        return hold(Code::R10, "the evidence asks");
    }
    if place.clause.is_quoted() {
        return hold(Code::R10, "the evidence quotes somebody");
    }
    let spoken_to = lists::SECOND_PERSON.found(clause).is_some() || lists::POLITE.found(clause).is_some();
    if spoken_to && matches!(place.shown.witness(), Witness::Machine | Witness::Web) {
        return hold(Code::R10, "the evidence speaks to somebody");
    }
    if denials(words) != denials(clause) {
        return hold(Code::R10, "one of premise and evidence denies, and the other does not");
    }
    let missing = |list: &lists::Phrases, from: &[Token], to: &[Token]| {
        (0..from.len()).filter_map(|at| list.opens(&from[at..])).find(|phrase| !has_forms(to, phrase))
    };
    if let Some(phrase) = missing(&lists::UNIVERSALS, words, clause) {
        return hold(Code::R10, format!("nobody said `{phrase}`"));
    }
    if let Some(phrase) = missing(&lists::HEDGES, clause, words) {
        return hold(Code::R10, format!("the evidence says `{phrase}`, and the premise does not"));
    }
    for near in std::iter::once(clause).chain(place.beside.iter().map(|beside| beside.tokens)) {
        if let Some(phrase) = missing(&lists::REPORTS, near, words) {
            return hold(Code::R10, format!("the evidence says `{phrase}`, and the premise does not"));
        }
    }
    match opposite(words, clause) {
        Some((one, other)) => hold(Code::R10, format!("the premise says `{one}`, the evidence `{other}`")),
        None => Ok(()),
    }
}

/// How many words deny: two of them are no affirmation, and not one either.
fn denials(tokens: &[Token]) -> usize {
    tokens.iter().filter(|token| lists::NEGATIONS.has_word(&token.word)).count()
}

/// Whether the words of a phrase of a list stand there, one behind the other.
fn has_phrase(tokens: &[Token], phrase: &str) -> bool {
    let words: Vec<&str> = phrase.split(' ').collect();
    tokens.windows(words.len()).any(|run| run.iter().zip(&words).all(|(token, word)| lists::is(&token.word, word)))
}

/// The same, in any of their forms: `wants to` says `want to`.
fn has_forms(tokens: &[Token], phrase: &str) -> bool {
    let words: Vec<Stems> = phrase.split(' ').map(|word| Stems::of(word.trim_end_matches('*'))).collect();
    let mut runs = tokens.windows(words.len());
    has_phrase(tokens, phrase)
        || runs.any(|run| run.iter().zip(&words).all(|(token, word)| Stems::of(&token.word).is_form_of(word)))
}

/// Two words of which the one contradicts the other.
fn opposite(words: &[Token], clause: &[Token]) -> Option<(String, String)> {
    let has = |tokens: &[Token], word: &str| tokens.iter().any(|token| lists::is(&token.word, word));
    let pairs = lists::OPPOSITES.lines().iter().flat_map(|pair| [(pair[0], pair[1]), (pair[1], pair[0])]);
    let mut against =
        pairs.filter(|(one, other)| has(words, one) && has(clause, other) && !has(clause, one) && !has(words, other));
    against.next().map(|(one, other)| (bare(one), bare(other)))
}

fn bare(word: &str) -> String {
    word.trim_end_matches('*').to_owned()
}

/// `tea over coffee` is not `coffee over tea`: no word changes its side of a word that orders.
fn same_order(content: &[&Token], words: &[Token], place: &Place<'_>) -> Result<(), Objection> {
    let clause = place.clause.tokens;
    let stems = |tokens: &[Token]| -> Vec<Stems> { tokens.iter().map(|token| Stems::of(&token.word)).collect() };
    let (mine, theirs) = (stems(words), stems(clause));
    let at = |all: &[Stems], word: &Stems| all.iter().position(|other| other.is_form_of(word));
    let both = |token: &&Token| {
        let stem = Stems::of(&token.word);
        Some((at(&mine, &stem)?, at(&theirs, &stem)?))
    };
    let pairs: Vec<(usize, usize)> = content.iter().filter_map(both).collect();
    let marks = (0..words.len()).filter(|at| lists::ORDERED.opens(&words[*at..]).is_some());
    let shared: Vec<(usize, usize)> = marks.filter_map(|mark| Some((mark, at(&theirs, &mine[mark])?))).collect();
    let crosses = |(mine, theirs): &(usize, usize)| {
        pairs.iter().any(|(one, other)| one != mine && (one < mine) != (other < theirs))
    };
    let unordered = || !pairs.is_sorted_by_key(|(_, theirs)| *theirs) && lists::COMPARES.found(clause).is_some();
    if shared.iter().any(crosses) || (shared.is_empty() && unordered()) {
        return hold(Code::R10, "the evidence has the same words in another order");
    }
    Ok(())
}

/// An address, or another string of letters with signs in it, must stand in the evidence as it is.
fn every_string(premise: &str, cited: &[&Shown]) -> Result<(), Objection> {
    let bare = |piece: &str| piece.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let is_odd =
        |piece: &String| piece.contains(['@', '/']) || piece.contains('.') && piece.contains(char::is_alphabetic);
    let said = |piece: &str| cited.iter().any(|shown| shown.text.to_lowercase().contains(piece));
    match premise.split_whitespace().map(bare).filter(is_odd).find(|piece| !said(piece)) {
        Some(piece) => hold(Code::R10, format!("nobody said `{piece}`")),
        None => Ok(()),
    }
}

/// What the clause says is done must be in the premise: the first word of content after who does it.
fn same_verb(words: &[Token], place: &Place<'_>) -> Result<(), Objection> {
    let clause = statement(place.clause.tokens);
    let order = lists::COMMANDS.opens(clause).or_else(|| lists::MAYBE_COMMANDS.opens(clause));
    if let Some(order) = order.filter(|word| !lists::NEGATIONS.has_word(word) && !lists::UNIVERSALS.has_word(word)) {
        return hold(Code::R10, format!("the evidence is an order: `{order}`"));
    }
    let mut said = Holds::default();
    said.add(words.iter().map(|token| token.word.as_str()));
    let doer = clause.iter().position(|token| matches!(token.word.as_str(), "i" | "we" | "io" | "noi"));
    let behind = &clause[doer.map_or(0, |at| at + 1)..];
    let verb = behind.iter().find(|token| is_content(token) && !lists::HELPERS.has_word(&token.word));
    match verb.filter(|verb| !said.has(&Stems::of(&verb.word))) {
        Some(verb) => hold(Code::R10, format!("the evidence says `{}`, and the premise does not", verb.word)),
        None => Ok(()),
    }
}

/// What a part of the clause says is in the premise whole, or not at all: `the flat upstairs` is not `the flat`.
fn whole_parts(words: &[Token], persons: &[String], place: &Place<'_>) -> Result<(), Objection> {
    let mut mine = Holds::default();
    mine.add(words.iter().map(|token| token.word.as_str()));
    for part in place.clause.parts() {
        let all = content(statement(part), persons);
        let (there, missing): (Vec<&Token>, Vec<&Token>) = all
            .into_iter()
            .filter(|token| !says_little(&token.word))
            .partition(|token| mine.has(&Stems::of(&token.word)));
        if let (false, Some(token)) = (there.is_empty(), missing.first()) {
            return hold(Code::R10, format!("the evidence says `{}`, and the premise does not", token.word));
        }
    }
    Ok(())
}

/// A clause without what a person begins with: `please remember that …`.
fn statement(mut clause: &[Token]) -> &[Token] {
    while let Some(opener) = lists::OPENERS.opens(clause) {
        clause = &clause[opener.split(' ').count()..];
    }
    clause
}

/// Somebody who took part, and is named in the premise, is named in the clause, or speaks of himself there.
fn same_persons(words: &[Token], persons: &[String], place: &Place<'_>) -> Result<(), Objection> {
    let clause = place.clause.tokens;
    let is_person = |token: &&Token| persons.iter().any(|name| name.split(' ').any(|part| part == token.word));
    let speaker = witness::folded(&place.shown.speaker);
    let own = lists::FIRST_PERSON.found(clause).is_some() || begins_in_first_person(clause);
    let unsaid = words.iter().filter(is_person).find(|token| {
        let speaks = speaker.split(' ').any(|part| part == token.word);
        !(clause.iter().any(|other| other.word == token.word) || speaks && own)
    });
    match unsaid {
        Some(token) => hold(Code::R10, format!("the evidence does not speak of `{}`", token.word)),
        None => Ok(()),
    }
}

/// An Italian verb says who does it by its ending: `parto`, `andiamo`.
fn begins_in_first_person(clause: &[Token]) -> bool {
    let english = clause.iter().any(|token| metnos_rank::lexicon::only_english(&token.word));
    let mut small = statement(clause).iter().filter(|token| is_content(token) && (token.opens || !token.capital));
    !english && small.any(|token| token.word.ends_with('o') || token.word.ends_with("mo"))
}

/// What a person says of somebody else is not said of himself.
fn same_subject(words: &[Token], persons: &[String], place: &Place<'_>) -> Result<(), Objection> {
    let speaker = witness::folded(&place.shown.speaker);
    let of_speaker = words.iter().take(3).any(|token| speaker.split(' ').any(|part| part == token.word));
    if !of_speaker && lists::SPEAKER.found(words.get(..2).unwrap_or(words)).is_none() {
        return Ok(());
    }
    let clause = place.clause.tokens;
    let first = clause
        .iter()
        .find(|token| !metnos_rank::lexicon::is_stop(&token.word) || lists::THIRD_PERSON.has_word(&token.word));
    let own_before =
        clause.iter().take_while(|token| Some(*token) != first).any(|token| lists::FIRST_PERSON.has_word(&token.word));
    let other = first.filter(|token| {
        let named =
            persons.iter().any(|name| name.split(' ').any(|part| part == token.word)) && !speaker.contains(&token.word);
        !own_before
            && (named
                || lists::THIRD_PERSON.has_word(&token.word)
                || token.capital && !token.opens && !speaker.contains(&token.word))
    });
    if let Some(token) = other {
        return hold(Code::R10, format!("the evidence speaks of `{}`", token.word));
    }
    let mut said = Holds::default();
    said.add(words.iter().map(|token| token.word.as_str()));
    let owned = clause
        .windows(2)
        .find(|pair| possessive(&pair[0].word) && is_content(&pair[1]) && !said.has(&Stems::of(&pair[1].word)));
    match owned {
        Some(pair) => hold(Code::R10, format!("the evidence speaks of `{} {}`", pair[0].word, pair[1].word)),
        None => Ok(()),
    }
}

fn possessive(word: &str) -> bool {
    matches!(word, "my" | "our" | "mio" | "mia" | "miei" | "mie" | "nostro" | "nostra" | "nostri" | "nostre")
}

/// Whether what is cited speaks against a premise: about the same things, but denied, the other way round, or with other numbers.
///
/// # Errors
/// When nothing of it does.
pub fn against(premise: &str, cited: &[&Shown]) -> Result<(), Objection> {
    let words = tokens(premise);
    let evidence: Vec<Vec<Token>> = cited.iter().map(|shown| tokens(&shown.text)).collect();
    let content = content(&words, &[]);
    let best = cited.iter().zip(&evidence).flat_map(|(shown, tokens)| clauses(shown, tokens));
    let Some(place) = best.map(|clause| (clause.holds_of(&content), clause)).rev_max() else {
        return hold(Code::R10, "the evidence is about something else");
    };
    about_the_same(&content, &place.words())?;
    let clause = place.clause.tokens;
    if place.clause.asks() || place.clause.is_quoted() || lists::REPORTS.found(clause).is_some() {
        return hold(Code::R10, "the evidence asks, or quotes somebody");
    }
    let (mine, theirs) = (numbers::numbers(&words), numbers::says(clause));
    let other_number =
        !theirs.is_empty() && mine.iter().any(|number| !number.forms.iter().any(|form| theirs.contains(form)));
    let stopped = [
        "stopped",
        "no longer",
        "anymore",
        "any more",
        "used to",
        "gave up",
        "quit",
        "instead",
        "non piu",
        "smesso",
        "invece",
    ];
    let changed = stopped.iter().any(|phrase| has_phrase(clause, phrase) && !has_phrase(&words, phrase));
    if denials(&words) != denials(clause) || opposite(&words, clause).is_some() || other_number || changed {
        return Ok(());
    }
    hold(Code::R10, "the evidence does not speak against it")
}
