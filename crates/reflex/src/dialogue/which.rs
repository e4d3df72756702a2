//! A name that several files have: which one is asked for, and the answer to that.

use metnos_proto::envelope::Named;

use super::{Plan, Reply, Talk, Turn};
use crate::answer::speech;
use crate::matching::names::{PlaceWant, Resolution, resolve};
use crate::words::phrase::Phrase;

/// The most files between which a choice is offered.
pub(super) const MAX_CHOICES: usize = 6;
/// The most words of the name of one.
const MAX_NAME: usize = 6;

impl Talk<'_, '_> {
    /// The files between which the words leave the choice: with each of them they would become calls, and alone they become
    /// none.
    pub(super) fn which(&mut self, phrase: &Phrase<'_>, upto: usize) -> Option<Vec<String>> {
        if self.envelope.named.len() < 2 {
            return None;
        }
        let paths = self.ambiguous(phrase)?;
        let tried = paths.iter().take(2).all(|path| {
            let plan = self.with_choice(phrase.text, upto, &paths, path);
            plan.is_some_and(|plan| plan.calls.iter().any(|call| holds(&call.arguments, path)))
        });
        tried.then_some(paths)
    }

    /// The paths that the longest name in the words could mean.
    fn ambiguous(&self, phrase: &Phrase<'_>) -> Option<Vec<String>> {
        let words = phrase.plain();
        for length in (1..=MAX_NAME.min(words.len())).rev() {
            for begin in 0..=words.len() - length {
                let name = &words[begin..begin + length];
                if let Resolution::Several(paths) = resolve(&self.envelope.named, name, PlaceWant::File) {
                    return (paths.len() <= MAX_CHOICES).then_some(paths);
                }
            }
        }
        None
    }

    /// The calls that the words become where of these paths only one is there.
    fn with_choice(&mut self, text: &str, upto: usize, paths: &[String], chosen: &str) -> Option<Plan> {
        let is_left = |one: &&Named| one.path == chosen || !paths.contains(&one.path);
        let named = self.envelope.named.iter().filter(is_left).cloned().collect();
        match self.plain(text, upto, Some(named))? {
            Reply::Plan(plan) => Some(plan),
            Reply::Say(_) | Reply::Review(..) | Reply::Schedule(..) | Reply::Cannot(_) | Reply::NotUnderstood(_) => {
                None
            }
        }
    }

    /// What the words answer to a choice that the last request left; `None` when they answer none.
    pub(super) fn chosen(&mut self, phrase: &Phrase<'_>, upto: usize, last: &Turn) -> Option<Reply> {
        if last.which.is_empty() {
            return None;
        }
        if phrase.only_refuses() {
            return Some(Reply::Say(speech::left_alone(phrase.lang)));
        }
        let by_place = phrase.ordinal().filter(|said| said.is_all(phrase));
        let path = match &by_place {
            Some(said) => said.of(&last.which)?.clone(),
            None => self.called(phrase, &last.which)?,
        };
        let plan = self.with_choice(&last.text, upto.checked_sub(1)?, &last.which, &path)?;
        // Between the question and the answer the order of names may have become another.
        if by_place.is_some() && !self.reads(&plan) {
            return Some(Reply::Say(speech::which_by_name(phrase.lang, &last.which)));
        }
        Some(Reply::Plan(plan))
    }

    fn called(&self, phrase: &Phrase<'_>, which: &[String]) -> Option<String> {
        let known = |path: &String| self.envelope.named.iter().find(|one| one.path == *path).cloned();
        let named: Vec<Named> = which.iter().map(|path| known(path).unwrap_or_else(|| Named::file(path))).collect();
        match resolve(&named, &phrase.plain(), PlaceWant::Any) {
            Resolution::One(path) => Some(path),
            Resolution::Several(_) | Resolution::None => None,
        }
    }
}

/// Whether a text stands somewhere in a value.
fn holds(value: &serde_json::Value, text: &str) -> bool {
    match value {
        serde_json::Value::String(own) => own == text,
        serde_json::Value::Array(all) => all.iter().any(|one| holds(one, text)),
        serde_json::Value::Object(all) => all.values().any(|one| holds(one, text)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => false,
    }
}
