//! What a small model is shown of a result: its text, or its data without what only programs read; and the files that it
//! names, which may be read next.

use metnos_proto::json::{self, Limits};
use metnos_proto::payload::MAX_PAYLOAD;
use serde_json::{Map, Value};

use super::talk::shortened;
use super::{MAX_NAMES, MAX_RESULT};

/// The longest name of a file that is offered, in bytes.
const MAX_NAME: usize = 200;
/// Keys that tell a model nothing that a person asks for.
const MACHINE: [&str; 6] = ["ok", "sha", "sha256", "blake3", "truncated", "separator"];
/// How many letters of a word are compared, and from how many on it says something.
const STEM: usize = 5;
const SAYING: usize = 4;
/// An answer of so few words need not add anything: "Yes, we do".
const FEW: usize = 3;
/// A text that makes so much of a result stands for all of it, in percent.
const MOST: usize = 50;

/// A result as far as it could be read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// What is shown, at most [`MAX_RESULT`] bytes.
    pub shown: String,
    /// Files that it names.
    pub names: Vec<String>,
}

/// Reads the result of a call that succeeded. `told` is how a person would be told of it, empty where nobody has said so:
/// the shorter of both is shown.
///
/// # Errors
/// When it is no object.
pub(super) fn read(bytes: &[u8], told: &str) -> Result<Outcome, String> {
    let object = json::parse_object(bytes, Limits::result(MAX_PAYLOAD)).map_err(|error| error.to_string())?;
    let mut names = Vec::new();
    paths(&Value::Object(object.clone()), &mut names);
    if let Some(lines) = found_lines(&object) {
        return Ok(Outcome { shown: shortened(&lines, MAX_RESULT), names });
    }
    let texts = object.values().filter_map(Value::as_str);
    let longest = texts.max_by_key(|text| text.len()).filter(|text| text.len() * 100 >= bytes.len() * MOST);
    let whole = longest.map_or_else(|| lean(&object).to_string(), str::to_owned);
    let told = told.trim();
    let whole = if told.is_empty() || told.len() >= whole.len() { whole.as_str() } else { told };
    Ok(Outcome { shown: shortened(whole, MAX_RESULT), names })
}

/// Whether data that was shown bears out an answer to these words: each of its longer numbers stands in one of both, and
/// where it has words that say something, one of them stands in the data. What a small model answers without is made up.
#[must_use]
pub(super) fn bears_out(data: &str, words: &str, answer: &str) -> bool {
    let (data, words) = (stems(data), stems(words));
    let said: Vec<String> = stems(answer);
    let is_number = |word: &&String| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_known = |word: &String| data.contains(word) || words.contains(word);
    let mut says = said.iter().filter(|word| word.chars().count() >= SAYING).peekable();
    said.iter().filter(is_number).all(is_known) && (says.peek().is_none() || says.any(|word| data.contains(word)))
}

/// Whether an answer says anything of the data that the words have not said. "The trip stands in the note about the trip" does not.
#[must_use]
pub(super) fn adds(data: &str, words: &str, answer: &str) -> bool {
    let (data, words) = (stems(data), stems(words));
    let says = |word: &String| word.chars().count() >= SAYING || word.bytes().any(|byte| byte.is_ascii_digit());
    let said = stems(answer);
    said.len() <= FEW || said.iter().any(|word| says(word) && data.contains(word) && !words.contains(word))
}

/// The words of a text as they are compared: without capitals and endings.
fn stems(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word.to_lowercase().chars().take(STEM).collect()).collect()
}

/// What was found, a line each behind the file that it stands in, where each thing found is a text. Where that is in the
/// file and what was counted on the way tells a model nothing.
fn found_lines(object: &Map<String, Value>) -> Option<String> {
    let texts = |items: &Vec<Value>| -> Option<Vec<String>> {
        let one = |item: &Value| {
            let text = item.get("text")?.as_str()?.trim();
            let path = item.get("path").and_then(Value::as_str);
            Some(path.map_or_else(|| text.to_owned(), |path| format!("{path}: {text}")))
        };
        items.iter().map(one).collect()
    };
    let found = object.values().filter_map(Value::as_array).filter(|items| !items.is_empty()).find_map(texts)?;
    Some(found.join("\n"))
}

/// The data without what only programs read.
fn lean(object: &Map<String, Value>) -> Value {
    fn one(value: &Value) -> Option<Value> {
        match value {
            Value::Null => None,
            Value::Object(map) => Some(lean(map)),
            Value::Array(items) => Some(Value::Array(items.iter().filter_map(one).collect())),
            other @ (Value::Bool(_) | Value::Number(_) | Value::String(_)) => Some(other.clone()),
        }
    }
    let kept = object.iter().filter(|(key, _)| !MACHINE.contains(&key.as_str()));
    Value::Object(kept.filter_map(|(key, value)| Some((key.clone(), one(value)?))).collect())
}

/// The texts under `path`, each once.
fn paths(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(path)) = map.get("path")
                && found.len() < MAX_NAMES
                && !path.is_empty()
                && path.len() <= MAX_NAME
                && !path.chars().any(char::is_control)
                && !found.contains(path)
            {
                found.push(path.clone());
            }
            map.values().for_each(|one| paths(one, found));
        }
        Value::Array(items) => items.iter().for_each(|one| paths(one, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lines_that_were_found_are_shown_behind_their_files_without_counts() {
        let result = br#"{"ok":true,"total":1,"files":[{"path":"notes/a.md","count":1}],
            "matches":[{"path":"notes/a.md","line":2,"column":3,"text":"- milk: two bottles"}]}"#;
        let outcome = read(result, "").unwrap();
        assert_eq!(outcome.shown, "notes/a.md: - milk: two bottles");
        assert_eq!(outcome.names, ["notes/a.md"]);
    }

    #[test]
    fn other_results_are_shown_as_they_are_without_what_programs_read() {
        assert_eq!(read(br#"{"ok":true,"sha":"x","words":40}"#, "").unwrap().shown, r#"{"words":40}"#);
        assert_eq!(read(br#"{"ok":true,"matches":[]}"#, "").unwrap().shown, r#"{"matches":[]}"#);
        assert_eq!(
            read(br#"{"ok":true,"content":"glue and tape, and then some more"}"#, "").unwrap().shown,
            "glue and tape, and then some more"
        );
        assert!(read(b"[]", "").is_err());
    }

    #[test]
    fn what_a_person_would_be_told_is_shown_where_it_is_shorter() {
        let result = br#"{"ok":true,"entries":[{"path":"notes/trip.md","kind":"file","size":900}],"total":1}"#;
        assert_eq!(read(result, "notes/trip.md is the longest.\n").unwrap().shown, "notes/trip.md is the longest.");
        assert_eq!(read(br#"{"ok":true,"words":4}"#, "The text has four words.").unwrap().shown, r#"{"words":4}"#);
    }

    #[test]
    fn answer_that_only_says_the_question_again_adds_nothing() {
        let (data, words) = ("notes/trip.md: Trip: the bus leaves at 9", "what stands in the note about the trip?");
        for answer in ["The bus leaves at 9.", "At 9", "Yes.", "Il bus parte alle 9"] {
            assert!(adds(data, words, answer), "{answer}");
        }
        assert!(!adds(data, words, "The trip is mentioned in the note about the trip."));
    }

    #[test]
    fn answer_that_the_data_does_not_bear_out_is_known() {
        let data = "notes/pantry.md: - milk: two bottles left\nnotes/car.md: insured until 14 March 2027";
        for answer in [
            "Two bottles left.",
            "Yes.",
            "Yes, we have milk: two bottles.",
            "Until 14 March 2027.",
            "Sì, due: two bottles",
        ] {
            assert!(bears_out(data, "do we still have milk?", answer), "{answer}");
        }
        for answer in ["one bag of flour.", "There are 17 bottles.", "It expires in June."] {
            assert!(!bears_out(data, "do we still have milk?", answer), "{answer}");
        }
    }
}
