//! `[answer]`: how the result of an executor is shown to people, per language (design: understanding §2).
//!
//! In a sentence `{name}` stands for a value of the result, else of the arguments. `{name:count}` is a number with what it
//! counts ("3 files"), `{name:whole}` a text of several lines as it stands; any other text is rendered on one line.

use serde::{Deserialize, Serialize};

use super::ManifestError;
use crate::msg::common::Lang;

/// The longest sentence, in characters.
pub const MAX_SENTENCE: usize = 240;
/// The longest name in one, in characters.
const MAX_VALUE: usize = 64;

/// How a result is rendered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Answer {
    /// The list in the result of which each entry becomes a line; empty for the first there is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub list: String,
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
    /// A result without a list.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub done: String,
    /// An entry of the list.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub each: String,
    /// A list without entries.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub empty: String,
}

/// A part of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Words as they stand.
    Words(&'a str),
    /// A value, on one line.
    Value(&'a str),
    /// A number, with what it counts.
    Count(&'a str),
    /// A text of several lines.
    Whole(&'a str),
}

impl Wording {
    fn is_empty(&self) -> bool {
        self == &Self::default()
    }
}

impl Answer {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
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
        if !(self.list.is_empty() || is_value(&self.list)) {
            return Err(ManifestError::field("answer.list", &self.list, "the name of a list of the result"));
        }
        for (lang, wording) in [("en", &self.en), ("it", &self.it)] {
            for (name, text) in [("done", &wording.done), ("each", &wording.each), ("empty", &wording.empty)] {
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
    let mut found = Vec::new();
    let mut rest = sentence;
    while let Some(open) = rest.find(['{', '}']) {
        let (words, inner) = (&rest[..open], rest[open..].strip_prefix('{')?);
        if !words.is_empty() {
            found.push(Part::Words(words));
        }
        let (value, after) = inner.split_once('}')?;
        let (name, form) = value.split_once(':').map_or((value, None), |(name, form)| (name, Some(form)));
        found.push(match form {
            _ if !is_value(name) => return None,
            None => Part::Value(name),
            Some("count") => Part::Count(name),
            Some("whole") => Part::Whole(name),
            Some(_) => return None,
        });
        rest = after;
    }
    if !rest.is_empty() {
        found.push(Part::Words(rest));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_cut_into_words_and_values() {
        let wanted =
            [Part::Words("In "), Part::Value("path"), Part::Words(": "), Part::Count("files"), Part::Words(".")];
        assert_eq!(parts("In {path}: {files:count}.").unwrap(), wanted);
        assert_eq!(parts("{text:whole}").unwrap(), [Part::Whole("text")]);
        assert_eq!(parts("").unwrap(), []);
        for bad in ["{", "}", "{path", "path}", "{}", "{a b}", "{a:b}", "{{a}}", "{a:count:x}"] {
            assert_eq!(parts(bad), None, "{bad}");
        }
    }

    #[test]
    fn unrenderable_sentence_is_refused() {
        let answer =
            |done: &str| Answer { en: Wording { done: done.into(), ..Wording::default() }, ..Answer::default() };
        assert!(answer("Added {content} to {path}.").validate().is_ok() && Answer::default().validate().is_ok());
        let long = "x".repeat(MAX_SENTENCE + 1);
        for bad in ["{", "two\nlines", &long] {
            assert!(answer(bad).validate().unwrap_err().to_string().contains("answer.en.done"), "{bad}");
        }
        let list = Answer { list: "a/b".into(), ..Answer::default() };
        assert!(list.validate().unwrap_err().to_string().contains("answer.list"));
    }
}
