//! `[answer]`: how the result of an executor is shown to people, per language (design: understanding §2).
//!
//! In a sentence `{name}` stands for a value of the result, else of the arguments; `{asked_name}` only for an argument that
//! was given. A form says how it is shown: `{name:count}` with what it counts ("3 files"), `{name:whole}` a text of several
//! lines as it stands, `{name:size}` bytes ("3.2 kB"), `{name:stem}` a path without folder and ending, `{name:list}` things
//! ("milk, eggs and bread"), `{name:time}` and `{name:day}` the parts of an instant. Any other text is shown on one line.
//!
//! `{name?one|other}` chooses by a number, by yes or no, by whether a text or list holds anything;
//! `{name?none|one|other}` has a choice of its own for nothing, and `{name=value?same|other}` compares. A choice is a
//! sentence itself, in which two further ones may stand, one within the other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ManifestError;
use crate::msg::common::Lang;

/// The longest sentence, in characters.
pub const MAX_SENTENCE: usize = 600;
/// How many choices stand within each other.
const MAX_NESTED: usize = 3;
/// The most sentences about errors in one language.
pub const MAX_REFUSED: usize = 32;
/// The name under which any other error stands.
pub const OTHER: &str = "other";
/// The longest name in one, in characters.
const MAX_VALUE: usize = 64;

/// How a result is rendered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Answer {
    /// The list in the result of which each entry becomes a line; of several names the first that holds anything. Empty for
    /// the first list that there is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub list: String,
    /// The name of a boolean or a number in the result. When it is false or 0, the answer is what the person said about the
    /// subject earlier, or what stands in a file, if anything is found, and not that the executor found nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub recall: String,
    /// The name of a number in the result. When it is 0, a question that repeats at set times has nothing to report, and no message is
    /// sent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub silent_at_zero: String,
    /// In English.
    #[serde(skip_serializing_if = "Wording::is_empty")]
    pub en: Wording,
    /// In Italian.
    #[serde(skip_serializing_if = "Wording::is_empty")]
    pub it: Wording,
}

/// The sentences of one language. Without one, the result is rendered by its schema.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wording {
    /// A result; of one with a list, what stands above its lines.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub done: String,
    /// An entry of the list.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub each: String,
    /// A list without entries.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub empty: String,
    /// What follows when not everything is shown, or something failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub partial: String,
    /// Why it could not be done, by the class of the error; `other` for the rest.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, String>,
}

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'a> {
    /// Words as they stand.
    Words(&'a str),
    /// A value of this name.
    Value(&'a str, Form),
    /// One of several sentences.
    Choice(Choice<'a>),
}

/// How a value is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// On one line.
    Plain,
    /// A number, with what it counts.
    Count,
    /// A text of several lines.
    Whole,
    /// A number of bytes, as people say it.
    Size,
    /// A path without folder and ending.
    Stem,
    /// Things, one behind the other.
    List,
    /// The time of day of an instant.
    Time,
    /// The day of an instant.
    Day,
}

/// A choice between sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice<'a> {
    /// The value that is looked at.
    pub name: &'a str,
    /// What it is compared with.
    pub same: Option<&'a str>,
    /// Where there is nothing; only where three were written.
    pub none: Option<Vec<Part<'a>>>,
    /// For one, yes, or the same.
    pub one: Vec<Part<'a>>,
    /// For everything else.
    pub other: Vec<Part<'a>>,
}

impl Wording {
    fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// The sentence for an error of this class.
    #[must_use]
    pub fn refused(&self, class: &str) -> &str {
        self.refused.get(class).or_else(|| self.refused.get(OTHER)).map_or("", String::as_str)
    }

    /// All sentences that there are, by name.
    pub fn sentences(&self) -> impl Iterator<Item = (String, &str)> {
        let plain = [("done", &self.done), ("each", &self.each), ("empty", &self.empty), ("partial", &self.partial)];
        let refused = self.refused.iter().map(|(class, text)| (format!("refused.{class}"), text.as_str()));
        plain.into_iter().map(|(name, text)| (name.to_owned(), text.as_str())).chain(refused)
    }
}

impl Answer {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// The names of the lists whose entries become lines.
    pub fn lists(&self) -> impl Iterator<Item = &str> {
        self.list.split_ascii_whitespace()
    }

    /// The sentences of a language.
    #[must_use]
    pub const fn wording(&self, lang: Lang) -> &Wording {
        match lang {
            Lang::En => &self.en,
            Lang::It => &self.it,
        }
    }

    pub(super) fn validate(&self) -> Result<(), ManifestError> {
        if !self.lists().all(is_value) {
            return Err(ManifestError::field("answer.list", &self.list, "names of lists of the result"));
        }
        for (field, name) in [("answer.recall", &self.recall), ("answer.silent_at_zero", &self.silent_at_zero)] {
            if !name.is_empty() && !is_value(name) {
                return Err(ManifestError::field(field, name, "the name of a field of the result"));
            }
        }
        for (lang, wording) in [("en", &self.en), ("it", &self.it)] {
            if wording.refused.len() > MAX_REFUSED || !wording.refused.keys().all(|class| is_value(class)) {
                let named = wording.refused.keys().cloned().collect::<Vec<_>>().join(", ");
                let expected = format!("at most {MAX_REFUSED} sentences by error class");
                return Err(ManifestError::field(format!("answer.{lang}.refused"), &named, expected));
            }
            for (name, text) in wording.sentences() {
                let is_line = text.chars().count() <= MAX_SENTENCE && !text.chars().any(char::is_control);
                if !is_line || parts(text).is_none() {
                    let expected =
                        format!("a line of at most {MAX_SENTENCE} characters with values such as `{{path}}`");
                    return Err(ManifestError::field(format!("answer.{lang}.{name}"), text, expected));
                }
            }
        }
        Ok(())
    }
}

fn is_value(name: &str) -> bool {
    (1..=MAX_VALUE).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The parts of a sentence; `None` when a bracket is not closed or what stands in one is no value.
#[must_use]
pub fn parts(sentence: &str) -> Option<Vec<Part<'_>>> {
    read(sentence, MAX_NESTED)
}

fn read(sentence: &str, nested: usize) -> Option<Vec<Part<'_>>> {
    let mut found = Vec::new();
    let mut rest = sentence;
    while let Some(open) = rest.find(['{', '}']) {
        let (words, inner) = (&rest[..open], rest[open..].strip_prefix('{')?);
        if !words.is_empty() {
            found.push(Part::Words(words));
        }
        let end = closing(inner)?;
        found.push(match inner[..end].split_once('?') {
            Some((value, choices)) => Part::Choice(choice(value, choices, nested.checked_sub(1)?)?),
            None => value(&inner[..end])?,
        });
        rest = &inner[end + 1..];
    }
    if !rest.is_empty() {
        found.push(Part::Words(rest));
    }
    Some(found)
}

/// Where the bracket is closed that was opened before this text.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' if open == 0 => return Some(at),
            '}' => open -= 1,
            _ => {}
        }
    }
    None
}

fn value(text: &str) -> Option<Part<'_>> {
    let (name, form) = text.split_once(':').map_or((text, None), |(name, form)| (name, Some(form)));
    let form = match form {
        None => Form::Plain,
        Some("count") => Form::Count,
        Some("whole") => Form::Whole,
        Some("size") => Form::Size,
        Some("stem") => Form::Stem,
        Some("list") => Form::List,
        Some("time") => Form::Time,
        Some("day") => Form::Day,
        Some(_) => return None,
    };
    is_value(name).then_some(Part::Value(name, form))
}

/// The sentences of a choice, which are parted by bars outside of brackets.
fn sentences(choices: &str) -> Vec<&str> {
    let (mut open, mut begin, mut found) = (0_usize, 0, Vec::new());
    for (at, c) in choices.char_indices() {
        match c {
            '{' => open += 1,
            '}' => open = open.saturating_sub(1),
            '|' if open == 0 => {
                found.push(&choices[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(&choices[begin..]);
    found
}

fn choice<'a>(value: &'a str, choices: &'a str, nested: usize) -> Option<Choice<'a>> {
    let (name, same) = value.split_once('=').map_or((value, None), |(name, same)| (name, Some(same)));
    if !is_value(name) || same.is_some_and(|same| same.is_empty() || same.contains(['{', '}', '|'])) {
        return None;
    }
    let all: Vec<Vec<Part<'_>>> = sentences(choices).into_iter().map(|one| read(one, nested)).collect::<Option<_>>()?;
    let [none, one, other] = match <[Vec<Part<'_>>; 3]>::try_from(all) {
        Ok([none, one, other]) if same.is_none() => [Some(none), Some(one), Some(other)],
        Ok(_) => return None,
        Err(all) => {
            let [one, other] = <[Vec<Part<'_>>; 2]>::try_from(all).ok()?;
            [None, Some(one), Some(other)]
        }
    };
    Some(Choice { name, same, none, one: one?, other: other? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_cut_into_words_and_values() {
        let wanted = [
            Part::Words("In "),
            Part::Value("path", Form::Plain),
            Part::Words(": "),
            Part::Value("files", Form::Count),
            Part::Words("."),
        ];
        assert_eq!(parts("In {path}: {files:count}.").unwrap(), wanted);
        assert_eq!(parts("{text:whole}").unwrap(), [Part::Value("text", Form::Whole)]);
        for (form, read) in [("size", Form::Size), ("stem", Form::Stem), ("list", Form::List), ("day", Form::Day)] {
            assert_eq!(parts(&format!("{{a:{form}}}")).unwrap(), [Part::Value("a", read)]);
        }
        assert_eq!(parts("").unwrap(), []);
        for bad in ["{", "}", "{path", "path}", "{}", "{a b}", "{a:b}", "{{a}}", "{a:count:x}"] {
            assert_eq!(parts(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_choice_is_read_with_its_sentences_and_three_deep() {
        let (one, other) = (vec![Part::Words("is")], vec![Part::Words("are "), Part::Value("n", Form::Count)]);
        let choice = |same, none| Choice { name: "n", same, none, one: one.clone(), other: other.clone() };
        assert_eq!(parts("{n?is|are {n:count}}").unwrap(), [Part::Choice(choice(None, None))]);
        let three = Choice { none: Some(vec![]), ..choice(None, None) };
        assert_eq!(parts("{n?|is|are {n:count}}").unwrap(), [Part::Choice(three)]);
        assert_eq!(parts("{n=week?is|are {n:count}}").unwrap(), [Part::Choice(choice(Some("week"), None))]);
        let inner = Part::Choice(Choice { name: "m", ..choice(None, None) });
        let outer = Choice { one: vec![inner], other: vec![], ..choice(None, None) };
        assert_eq!(parts("{n?{m?is|are {n:count}}|}").unwrap(), [Part::Choice(outer)]);
        for bad in [
            "{n?a}",
            "{n?a|b|c|d}",
            "{?a|b}",
            "{n=?a|b}",
            "{n=x?a|b|c}",
            "{n?{m?{o?{p?a|b}|b}|b}|c}",
            "{n?a|{b}",
            "{n:count?a|b}",
        ] {
            assert_eq!(parts(bad), None, "{bad}");
        }
    }

    #[test]
    fn unrenderable_sentence_is_refused() {
        let answer =
            |done: &str| Answer { en: Wording { done: done.into(), ..Wording::default() }, ..Answer::default() };
        assert!(answer("Added {content} to {path}.").validate().is_ok() && Answer::default().validate().is_ok());
        assert!(answer(&"x".repeat(MAX_SENTENCE)).validate().is_ok());
        let long = "x".repeat(MAX_SENTENCE + 1);
        for bad in ["{", "two\nlines", &long] {
            assert!(answer(bad).validate().unwrap_err().to_string().contains("answer.en.done"), "{bad}");
        }
        let list = Answer { list: "a b/c".into(), ..Answer::default() };
        assert!(list.validate().unwrap_err().to_string().contains("answer.list"));
        let quiet = Answer { silent_at_zero: "a pointer/".to_owned(), ..Answer::default() };
        assert!(quiet.validate().unwrap_err().to_string().contains("answer.silent_at_zero"));
    }

    #[test]
    fn errors_have_a_bounded_number_of_sentences_by_class() {
        let answer = |count: usize, text: &str| {
            let refused = (0..count).map(|n| (format!("C{n}"), text.to_owned())).collect();
            Answer { it: Wording { refused, ..Wording::default() }, ..Answer::default() }
        };
        assert!(answer(MAX_REFUSED, "Non c'è {path}.").validate().is_ok());
        assert!(answer(MAX_REFUSED + 1, "x").validate().unwrap_err().to_string().contains("answer.it.refused"));
        assert!(answer(1, "{").validate().unwrap_err().to_string().contains("answer.it.refused.C0"));
        let wording =
            Wording { refused: [("A".into(), "a".into()), (OTHER.into(), "b".into())].into(), ..Wording::default() };
        assert_eq!((wording.refused("A"), wording.refused("B"), Wording::default().refused("A")), ("a", "b", ""));
    }
}
