//! What a small model chooses among: the executors that may fit, each in a line and with an example, in an order that does
//! not depend on how well they fit, so that a server's cache of prompts holds.

use metnos_proto::envelope::{Candidate, Envelope, Named};
use metnos_proto::msg::common::Lang;
use metnos_proto::prompt::MAX_TOOL_NAME;
use metnos_reflex::matching::contract::text_outputs;
use metnos_reflex::{READ, spoken_in};
use serde::{Deserialize, Serialize};

use super::fields::{Field, Kind, fields};
use super::thoughts::OWN;
use super::{MAX_CHOICES, MAX_NAMES};
use crate::thinking::data::line;

/// How much is said of an executor, and of an example of it, in characters.
const MAX_SUMMARY: usize = 110;
const MAX_EXAMPLE: usize = 70;
/// How many letters of a long word must agree with a name.
const STEM: usize = 5;

/// An executor that may be chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Its contract.
    pub candidate: Candidate,
    /// What is asked for.
    pub fields: Vec<Field>,
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

    /// The line and the example that a model is shown.
    fn shown(&self, lang: Lang) -> (String, Option<String>) {
        let summary = line(&self.candidate.summary, MAX_SUMMARY);
        let examples: Vec<&str> =
            self.candidate.requests().filter(|text| text.chars().count() <= MAX_EXAMPLE).collect();
        let of_lang = examples.iter().find(|text| spoken_in(text) == Some(lang)).or(examples.first());
        (format!("- {}: {summary}", self.name()), of_lang.map(|text| line(text, MAX_EXAMPLE).replace('"', "'")))
    }
}

/// The executors of an envelope that a small model may choose among for these words, best first; at most [`MAX_CHOICES`].
#[must_use]
pub fn of(envelope: &Envelope, words: &str) -> Vec<Choice> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_name =
        |name: &str| !name.is_empty() && name.len() <= MAX_TOOL_NAME && name.chars().all(fits) && !OWN.contains(&name);
    let candidates = envelope.candidates.iter().filter(|one| one.offered && is_name(&one.name));
    let one = |candidate: &Candidate| {
        let fields = fields(candidate, words)?;
        Some(Choice { candidate: candidate.clone(), fields })
    };
    candidates.filter_map(one).take(MAX_CHOICES).collect()
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

/// The executors in lines, and their examples as requests with what to choose for each.
#[must_use]
pub fn lines(choices: &[Choice], lang: Lang) -> (Vec<String>, Vec<(String, String)>) {
    let mut sorted: Vec<&Choice> = choices.iter().collect();
    sorted.sort_by(|a, b| a.name().cmp(b.name()));
    let (mut lines, mut examples) = (Vec::new(), Vec::new());
    for choice in sorted {
        let (line, example) = choice.shown(lang);
        let search = if choice.searches() { " For every question about what the household has noted." } else { "" };
        lines.push(line + search);
        examples.extend(example.map(|example| (example, choice.name().to_owned())));
        if choice.searches() {
            let questions = ["when does my passport expire?", "is there any flour left?", "quanto costa la palestra?"];
            examples.extend(questions.map(|words| (words.to_owned(), choice.name().to_owned())));
        }
    }
    (lines, examples)
}

/// The files that these words name: those typed in full, and of those that lie there the ones whose name or title shares a
/// word with them; at most [`MAX_NAMES`].
#[must_use]
pub fn names(words: &str, named: &[Named]) -> Vec<String> {
    let edge = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '/' | '.' | '~');
    let parts = words.split(|c: char| c.is_whitespace() || matches!(c, '"' | '«' | '»' | '“' | '”' | '`'));
    let typed = parts.map(|part| part.trim_matches(edge).trim_end_matches(['.', '/'])).filter(|part| is_path(part));
    let mut found: Vec<String> = Vec::new();
    let mut push = |path: &str| {
        if found.len() < MAX_NAMES && !found.iter().any(|one| one == path) {
            found.push(path.to_owned());
        }
    };
    // A bare name is the place where it lies, when there is one.
    let place = |typed: &str| named.iter().find(|one| one.path.rsplit('/').next() == Some(typed)).map(|one| &one.path);
    typed.for_each(|typed| push(place(typed).map_or(typed, String::as_str)));
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

/// Whether a part of a request is a path: it has a slash between letters, or an ending.
fn is_path(part: &str) -> bool {
    let ending = |ending: &str| {
        (1..=5).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let name = part.rsplit('/').next().unwrap_or_default();
    let has_ending = name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && ending(end));
    part.len() <= 255 && !part.contains("://") && !part.contains('@') && has_ending
}

/// The words that a name is compared by: those of four letters or more, as far as they usually stay the same.
fn stems(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= 4);
    words.map(|word| word.to_lowercase().chars().take(STEM).collect()).collect()
}
