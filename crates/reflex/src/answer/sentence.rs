//! Results as the sentences of their executor's manifest: values put in as people read them. A sentence of which a value is
//! missing is not shown.

use metnos_calendar::Zone;
use metnos_proto::executor::answer::{Part, parts};
use metnos_proto::msg::common::Lang;
use serde_json::{Map, Value};

use crate::answer::speech;
use crate::answer::{shorten, visible};
use crate::words::lexicon;
use crate::words::when;

/// The longest value that is rendered within a sentence, in bytes.
const MAX_VALUE: usize = 400;

/// What a sentence is said of.
pub(super) struct SentenceScope<'a> {
    /// An entry of a list, the result, the arguments: the first that has a value gives it.
    pub(super) from: [Option<&'a Map<String, Value>>; 3],
    /// The language.
    pub(super) lang: Lang,
    /// Where the clock of the instance stands.
    pub(super) zone: &'a Zone,
}

impl SentenceScope<'_> {
    /// The sentence with its values; `None` when it is empty or one of them is missing.
    pub(super) fn tell(&self, sentence: &str) -> Option<String> {
        let mut text = String::new();
        for part in parts(sentence).filter(|parts| !parts.is_empty())? {
            match part {
                Part::Words(words) => text.push_str(words),
                Part::Value(name) => text.push_str(&self.value(name)?),
                Part::Count(name) => text.push_str(&counted(name, self.named(name)?.as_u64()?, self.lang)),
                Part::Whole(name) => text.push_str(&several(self.named(name)?.as_str()?)),
            }
        }
        // A date begins with a small letter in some languages; a sentence does not.
        let mut chars = text.chars();
        let first = chars.next()?;
        Some(match parts(sentence)?.first() {
            Some(Part::Value(name)) if self.is_instant(name) => first.to_uppercase().chain(chars).collect(),
            _ => text,
        })
    }

    fn named(&self, name: &str) -> Option<&Value> {
        self.from.iter().flatten().find_map(|values| values.get(name))
    }

    fn is_instant(&self, name: &str) -> bool {
        self.named(name).and_then(Value::as_str).is_some_and(|text| when::moment(text, self.zone, self.lang).is_some())
    }

    fn value(&self, name: &str) -> Option<String> {
        match self.named(name)? {
            Value::String(text) => Some(plain(text, self.zone, self.lang)),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(value) => Some(speech::yes_no(*value, self.lang)),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

/// A text on one line: an instant as people write it, several lines behind each other, the workspace by its name.
pub(super) fn plain(text: &str, zone: &Zone, lang: Lang) -> String {
    if let Some(moment) = when::moment(text, zone, lang) {
        return moment;
    }
    if text == "." {
        return speech::workspace(lang);
    }
    let lines = text.lines().map(|line| line.strip_prefix("- ").unwrap_or(line).trim()).filter(|line| !line.is_empty());
    let told = lines.collect::<Vec<_>>().join(", ");
    let short = shorten(&told, MAX_VALUE);
    let cut = if short.len() < told.len() { "…" } else { "" };
    format!("{}{cut}", visible(short))
}

/// A text of several lines, without what could draw on a terminal.
fn several(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}

/// A number with what it counts, by the name it has.
fn counted(name: &str, number: u64, lang: Lang) -> String {
    match lexicon::label(name, number == 1, lang) {
        Some((_, label)) => format!("{number} {label}"),
        None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn told(sentence: &str, result: Value, arguments: Value, lang: Lang) -> Option<String> {
        let zone = Zone::read("Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)").unwrap();
        SentenceScope { from: [None, result.as_object(), arguments.as_object()], lang, zone: &zone }.tell(sentence)
    }

    #[test]
    fn a_sentence_takes_values_of_the_result_and_of_the_arguments() {
        let (result, arguments) = (json!({"path": "notes/list.md", "files": 1}), json!({"content": "- eggs\n- milk"}));
        let tell = |sentence: &str| told(sentence, result.clone(), arguments.clone(), Lang::En);
        assert_eq!(tell("Added {content} to {path}.").unwrap(), "Added eggs, milk to notes/list.md.");
        assert_eq!(tell("{path}: {files:count}").unwrap(), "notes/list.md: 1 file");
        assert_eq!(tell("{content:whole}").unwrap(), "- eggs\n- milk");
        for missing in ["{other}", "{path:count}", "{files:whole}", ""] {
            assert_eq!(tell(missing), None, "{missing}");
        }
        let chained = told("Added {content}.", json!({}), json!({"content": {"$ref": "c1#/x"}}), Lang::En);
        assert_eq!(chained, None, "what was handed on is not told");
    }

    #[test]
    fn instant_is_shown_in_the_instance_zone_or_the_zone_it_names() {
        for (iso, lang, text) in [
            ("2026-11-24T13:31:05Z", Lang::En, "Tuesday 24 November 2026, 14:31."),
            ("2026-07-24T22:31:05Z", Lang::It, "Sabato 25 luglio 2026, 00:31."),
            ("2026-11-24T22:31:05+09:00", Lang::It, "Martedì 24 novembre 2026, 22:31."),
        ] {
            assert_eq!(told("{iso}.", json!({"iso": iso}), json!({}), lang).unwrap(), text);
        }
        assert_eq!(told("In {p}", json!({"p": "."}), json!({}), Lang::En).unwrap(), "In the workspace");
    }

    #[test]
    fn a_value_cannot_draw_on_a_terminal_and_is_cut() {
        let result = json!({"a": "\u{1b}[2J", "long": "è".repeat(MAX_VALUE)});
        assert_eq!(told("{a}", result.clone(), json!({}), Lang::En).unwrap(), "\u{fffd}[2J");
        assert_eq!(told("{a:whole}", result.clone(), json!({}), Lang::En).unwrap(), "\u{fffd}[2J");
        let cut = told("{long}", result, json!({}), Lang::En).unwrap();
        assert!(cut.ends_with('…') && cut.len() <= MAX_VALUE + 3);
    }
}
