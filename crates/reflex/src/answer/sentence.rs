//! Results as the sentences of their executor's manifest: values put in as people read them. A sentence of which a value is
//! missing is not shown.

use std::collections::BTreeMap;

use metnos_calendar::Zone;
use metnos_proto::executor::answer::{Choice, Form, Part, parts};
use metnos_proto::msg::common::Lang;
use metnos_texts::{Key, tell};
use serde_json::{Map, Value};

use crate::answer::speech;
use crate::answer::{shorten, visible};
use crate::words::lexicon;
use crate::words::when;

/// The longest value that is rendered within a sentence, in bytes.
const MAX_VALUE: usize = 400;
/// The same of things that are told one behind the other.
const MAX_LIST: usize = 4_000;
/// What stands before the name of an argument that must have been given.
const ASKED: &str = "asked_";
/// Italian prepositions that grow together with an article, and what they become: before il, lo, la, i, gli, le, l'.
const CONTRACTED: [(&str, [&str; 7]); 5] = [
    ("a", ["al", "allo", "alla", "ai", "agli", "alle", "all"]),
    ("di", ["del", "dello", "della", "dei", "degli", "delle", "dell"]),
    ("da", ["dal", "dallo", "dalla", "dai", "dagli", "dalle", "dall"]),
    ("in", ["nel", "nello", "nella", "nei", "negli", "nelle", "nell"]),
    ("su", ["sul", "sullo", "sulla", "sui", "sugli", "sulle", "sull"]),
];
const ARTICLES: [&str; 6] = ["il ", "lo ", "la ", "i ", "gli ", "le "];

/// What a sentence is said of.
pub(super) struct SentenceScope<'a> {
    /// An entry of a list, the result, the arguments, what they are where they were not given, what the call was about: the
    /// first that has a value gives it.
    pub(super) from: [Option<&'a Map<String, Value>>; 5],
    /// The arguments that were given.
    pub(super) asked: &'a Map<String, Value>,
    /// What the person called things, by their path.
    pub(super) spoken: &'a BTreeMap<String, String>,
    /// The language.
    pub(super) lang: Lang,
    /// Where the clock of the instance stands.
    pub(super) zone: &'a Zone,
}

/// A value in words.
struct Shown {
    text: String,
    /// Whether it is a phrase, which begins a sentence with a capital letter, and no name.
    is_phrase: bool,
}

impl Shown {
    fn name(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_phrase: false }
    }

    fn phrase(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_phrase: true }
    }
}

impl SentenceScope<'_> {
    /// The sentence with its values; `None` when it is blank or one of them is missing.
    pub(super) fn tell(&self, sentence: &str) -> Option<String> {
        let mut told = Shown::name("");
        self.put(&parts(sentence)?, &mut told)?;
        if told.text.trim().is_empty() {
            return None;
        }
        let mut chars = told.text.chars();
        let first = chars.next()?;
        Some(if told.is_phrase { first.to_uppercase().chain(chars).collect() } else { told.text })
    }

    fn put(&self, parts: &[Part<'_>], told: &mut Shown) -> Option<()> {
        for part in parts {
            match part {
                Part::Words(words) => told.text.push_str(words),
                Part::Value(name, form) => {
                    let value = self.shown(name, *form)?;
                    told.is_phrase |= told.text.is_empty() && value.is_phrase;
                    self.join(&mut told.text, &value.text);
                }
                Part::Choice(choice) => self.put(self.chosen(choice), told)?,
            }
        }
        Some(())
    }

    /// Puts a value behind words; an Italian preposition grows together with its article.
    fn join(&self, told: &mut String, value: &str) {
        if self.lang == Lang::It
            && let Some((before, joined, rest)) = contracted(told, value)
        {
            told.truncate(before);
            told.push_str(&joined);
            told.push_str(rest);
            return;
        }
        told.push_str(value);
    }

    fn named(&self, name: &str) -> Option<&Value> {
        let found = match name.strip_prefix(ASKED) {
            Some(asked) => self.asked.get(asked),
            None => self.from.iter().flatten().find_map(|values| values.get(name)),
        };
        found.filter(|value| !value.is_null())
    }

    fn chosen<'c, 'p>(&self, choice: &'c Choice<'p>) -> &'c [Part<'p>] {
        let value = self.named(choice.name);
        if let Some(same) = choice.same {
            let is_same = match value {
                Some(Value::String(text)) => text == same,
                Some(Value::Bool(value)) => same == if *value { "true" } else { "false" },
                Some(Value::Number(number)) => number.to_string() == same,
                Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => false,
            };
            return if is_same { &choice.one } else { &choice.other };
        }
        match amount(value) {
            Amount::None => choice.none.as_ref().unwrap_or(&choice.other),
            Amount::One => &choice.one,
            Amount::Other => &choice.other,
        }
    }

    fn shown(&self, name: &str, form: Form) -> Option<Shown> {
        let value = self.named(name)?;
        let told = match form {
            Form::Plain => return self.plain(value),
            Form::Count => counted(name, whole(value)?, self.lang),
            Form::Whole => several(value.as_str()?),
            Form::Size => size(value.as_u64()?, self.lang),
            Form::Stem => self
                .spoken
                .get(value.as_str()?)
                .map_or_else(|| value.as_str().map(stem), |words| Some(cut(MAX_VALUE, words)))?,
            Form::List => listed(value, self.lang)?,
            Form::Time => when::time_of(value.as_str()?, self.zone)?,
            Form::Day => return when::day_of(value.as_str()?, self.zone, self.lang).map(Shown::phrase),
        };
        Some(Shown::name(told))
    }

    fn plain(&self, value: &Value) -> Option<Shown> {
        match value {
            Value::String(text) => Some(match self.spoken.get(text) {
                Some(words) => Shown::phrase(visible(shorten(words, MAX_VALUE))),
                None => one_line(text, self.zone, self.lang),
            }),
            Value::Number(number) => Some(Shown::name(decimal(&number.to_string(), self.lang))),
            Value::Bool(value) => Some(Shown::name(speech::yes_no(*value, self.lang))),
            Value::Array(_) => listed(value, self.lang).map(Shown::name),
            Value::Null | Value::Object(_) => None,
        }
    }
}

enum Amount {
    None,
    One,
    Other,
}

fn amount(value: Option<&Value>) -> Amount {
    let of = |count: usize| match count {
        0 => Amount::None,
        1 => Amount::One,
        _ => Amount::Other,
    };
    match value {
        None | Some(Value::Null) => Amount::None,
        Some(Value::Bool(value)) => of(usize::from(*value)),
        Some(Value::String(text)) => of(usize::from(!text.is_empty())),
        Some(Value::Array(list)) => of(list.len()),
        // A value that another call hands on is not known here.
        Some(Value::Object(_)) => Amount::None,
        Some(Value::Number(number)) if number.as_u64() == Some(0) => Amount::None,
        Some(Value::Number(number)) if number.as_u64() == Some(1) => Amount::One,
        Some(Value::Number(_)) => Amount::Other,
    }
}

fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_array().and_then(|list| u64::try_from(list.len()).ok()))
}

/// What an article at the head of `value` becomes behind a preposition at the end of `told`: where that begins, the two as
/// one word, and the rest.
fn contracted<'v>(told: &str, value: &'v str) -> Option<(usize, String, &'v str)> {
    let before = told.strip_suffix(' ')?;
    let begin = before
        .rfind(|c: char| !c.is_alphabetic())
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let word = &before[begin..];
    let (_, forms) = CONTRACTED.iter().find(|(known, _)| known.eq_ignore_ascii_case(word))?;
    let lower = |most: usize| value.get(..most).map(str::to_lowercase);
    let (form, rest) = match ARTICLES.iter().position(|article| lower(article.len()).as_deref() == Some(article)) {
        Some(at) => (format!("{} ", forms[at]), &value[ARTICLES[at].len()..]),
        None => {
            let rest = value.strip_prefix(['l', 'L']).filter(|rest| rest.starts_with(['\'', '’']))?;
            (forms[6].to_owned(), rest)
        }
    };
    let capital = word.starts_with(char::is_uppercase);
    let mut chars = form.chars();
    let joined = match chars.next() {
        Some(first) if capital => first.to_uppercase().chain(chars).collect(),
        Some(_) | None => form,
    };
    Some((begin, joined, rest))
}

/// A text on one line: an instant as people write it, several lines behind each other, the workspace by its name.
fn one_line(text: &str, zone: &Zone, lang: Lang) -> Shown {
    if let Some(moment) = when::moment(text, zone, lang) {
        return Shown::phrase(moment);
    }
    if text == "." {
        return Shown::phrase(speech::workspace(lang));
    }
    Shown::name(cut(MAX_VALUE, &things(text).collect::<Vec<_>>().join(", ")))
}

/// The lines of a text that hold something, without the marks of a list.
fn things(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(str::trim)
        .map(|line| ["- [ ] ", "- ", "* "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim())
        .filter(|line| !line.is_empty())
}

fn cut(most: usize, told: &str) -> String {
    let short = shorten(told, most);
    format!("{}{}", visible(short), if short.len() < told.len() { "…" } else { "" })
}

/// Things one behind the other, the last with "and".
fn listed(value: &Value, lang: Lang) -> Option<String> {
    let all: Vec<String> = match value {
        Value::String(text) => things(text).map(str::to_owned).collect(),
        Value::Array(list) => list
            .iter()
            .map(|one| match one {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(decimal(&number.to_string(), lang)),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
            })
            .collect::<Option<_>>()?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    let told = match all.split_last()? {
        (last, []) => last.clone(),
        (last, before) => tell(lang, Key::JoinLast, &[("before", (&before.join(", ")).into()), ("last", last.into())]),
    };
    Some(cut(MAX_LIST, &told))
}

/// A path without its folders and its ending.
fn stem(path: &str) -> String {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
    cut(MAX_VALUE, &stem.replace('_', " "))
}

/// A number as the language writes it.
pub(super) fn decimal(number: &str, lang: Lang) -> String {
    match lang {
        Lang::En => number.to_owned(),
        Lang::It => number.replace('.', ","),
    }
}

/// Bytes as people say them: 800 bytes, 3.2 kB, 12 MB.
#[must_use]
pub(super) fn size(bytes: u64, lang: Lang) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return counted("bytes", bytes, lang);
    }
    let (mut unit, mut scale) = (0, 1000_u64);
    while bytes / scale >= 1000 && unit + 1 < UNITS.len() {
        (unit, scale) = (unit + 1, scale * 1000);
    }
    // In tenths, rounded; from ten on whole.
    let tenths = (bytes / (scale / 10)) + u64::from(bytes % (scale / 10) >= scale / 20);
    let number = match (tenths / 10, tenths % 10) {
        (whole, 0) if whole < 10 => whole.to_string(),
        (whole, rest) if whole < 10 => decimal(&format!("{whole}.{rest}"), lang),
        (whole, rest) => (whole + u64::from(rest >= 5)).to_string(),
    };
    format!("{number} {}", UNITS[unit])
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
    use proptest::prelude::*;
    use serde_json::json;

    fn told(sentence: &str, result: Value, arguments: Value, lang: Lang) -> Option<String> {
        let zone = Zone::read("Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)").unwrap();
        let spoken = [("notes/spesa.md", "la lista della spesa"), ("notes/trip.md", "the trip note")]
            .map(|(path, words)| (path.to_owned(), words.to_owned()))
            .into();
        let asked = arguments.as_object().unwrap();
        let from = [None, result.as_object(), Some(asked), None, None];
        SentenceScope { from, asked, spoken: &spoken, lang, zone: &zone }.tell(sentence)
    }

    fn of(sentence: &str, result: Value, lang: Lang) -> String {
        told(sentence, result, json!({}), lang).unwrap_or_default()
    }

    #[test]
    fn a_sentence_takes_values_of_the_result_and_of_the_arguments() {
        let (result, arguments) = (json!({"path": "notes/list.md", "files": 1}), json!({"content": "- eggs\n- milk"}));
        let tell = |sentence: &str| told(sentence, result.clone(), arguments.clone(), Lang::En);
        assert_eq!(tell("Added {content} to {path}.").unwrap(), "Added eggs, milk to notes/list.md.");
        assert_eq!(tell("{path}: {files:count}").unwrap(), "notes/list.md: 1 file");
        assert_eq!(tell("{content:whole}").unwrap(), "- eggs\n- milk");
        for missing in ["{other}", "{path:count}", "{files:whole}", "{asked_path}", "", " "] {
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
            assert_eq!(of("{iso}.", json!({ "iso": iso }), lang), text);
        }
        let iso = json!({"iso": "2026-11-24T13:31:05Z"});
        assert_eq!(of("It is {iso:time}, {iso:day}.", iso.clone(), Lang::En), "It is 14:31, Tuesday 24 November 2026.");
        assert_eq!(of("{iso:day}.", iso, Lang::It), "Martedì 24 novembre 2026.");
        assert_eq!(of("In {p}", json!({"p": "."}), Lang::En), "In the workspace");
        assert_eq!(of("{p} è vuota", json!({"p": "."}), Lang::It), "L'area di lavoro è vuota");
    }

    #[test]
    fn things_are_called_as_the_person_called_them() {
        assert_eq!(of("{path} is empty.", json!({"path": "notes/trip.md"}), Lang::En), "The trip note is empty.");
        assert_eq!(of("{path} is empty.", json!({"path": "notes/b.md"}), Lang::En), "notes/b.md is empty.");
        for (sentence, text) in [
            ("Aggiunto a {path}.", "Aggiunto alla lista della spesa."),
            ("In {path} c'è", "Nella lista della spesa c'è"),
            ("È di {path}", "È della lista della spesa"),
            ("Da {path}", "Dalla lista della spesa"),
            ("Per {path}", "Per la lista della spesa"),
            ("Metti su {path}", "Metti sulla lista della spesa"),
        ] {
            assert_eq!(of(sentence, json!({"path": "notes/spesa.md"}), Lang::It), text);
        }
        assert_eq!(of("In {p}", json!({"p": "."}), Lang::It), "Nell'area di lavoro");
        assert_eq!(of("A {p}", json!({"p": "lombardia.md"}), Lang::It), "A lombardia.md");
    }

    #[test]
    fn a_choice_follows_numbers_texts_and_lists() {
        let many = "There {n?is|are} {n:count}.";
        for (sentence, value, text) in [
            ("{n?none|one|many}", json!({}), "none"),
            ("{n?none|one|many}", json!({"n": 0}), "none"),
            ("{n?none|one|many}", json!({"n": 1}), "one"),
            ("{n?none|one|many}", json!({"n": 2}), "many"),
            ("{n?none|one|many}", json!({"n": "x"}), "one"),
            ("{n?none|one|many}", json!({"n": ["x", "y"]}), "many"),
            ("{n?yes|no}", json!({"n": false}), "no"),
            ("{n?yes|no}", json!({"n": true}), "yes"),
            ("{n=folder?{m}/|{m}}", json!({"n": "folder", "m": "a"}), "a/"),
            ("{n=folder?{m}/|{m}}", json!({"n": "file", "m": "a"}), "a"),
            (many, json!({"n": 1}), "There is 1."),
            (many, json!({"n": 0}), "There are 0."),
        ] {
            assert_eq!(of(sentence, value.clone(), Lang::En), text, "{sentence} of {value}");
        }
        assert_eq!(told("{n?{m}|no}", json!({"n": 1}), json!({}), Lang::En), None, "the choice lacks a value");
    }

    #[test]
    fn sizes_and_things_are_told_as_people_say_them() {
        for (bytes, english, italian) in [
            (0, "0 bytes", "0 byte"),
            (1, "1 byte", "1 byte"),
            (999, "999 bytes", "999 byte"),
            (1000, "1 kB", "1 kB"),
            (3_249, "3.2 kB", "3,2 kB"),
            (9_960, "10 kB", "10 kB"),
            (12_345, "12 kB", "12 kB"),
            (1_500_000, "1.5 MB", "1,5 MB"),
            (u64::MAX, "18 EB", "18 EB"),
        ] {
            assert_eq!((size(bytes, Lang::En).as_str(), size(bytes, Lang::It).as_str()), (english, italian));
        }
        let list = json!({"c": "- milk\n- 2 lemons\n- bread"});
        assert_eq!(of("{c:list}", list.clone(), Lang::En), "milk, 2 lemons and bread");
        assert_eq!(of("{c:list}", list, Lang::It), "milk, 2 lemons e bread");
        assert_eq!(of("{c:list}", json!({"c": ["a"]}), Lang::En), "a");
        assert_eq!(of("{c}", json!({"c": 12.5}), Lang::It), "12,5");
        for (path, name) in
            [("notes/plan.md", "plan"), ("Asia/Ho_Chi_Minh", "Ho Chi Minh"), (".env", ".env"), ("a/", "a")]
        {
            assert_eq!(of("{c:stem}", json!({ "c": path }), Lang::En), name);
        }
    }

    #[test]
    fn a_value_cannot_draw_on_a_terminal_and_is_cut() {
        let result = json!({"a": "\u{1b}[2J", "long": "è".repeat(MAX_VALUE), "l": ["\u{1b}"]});
        for sentence in ["{a}", "{a:whole}", "{a:stem}", "{a:list}"] {
            assert_eq!(of(sentence, result.clone(), Lang::En), "\u{fffd}[2J");
        }
        assert_eq!(of("{l:list}", result.clone(), Lang::En), "\u{fffd}");
        let cut = of("{long}", result, Lang::En);
        assert!(cut.ends_with('…') && cut.len() <= MAX_VALUE + 3);
    }

    proptest! {
        #[test]
        fn any_value_is_told_or_left_out(text in "\\PC{0,40}", number in any::<u64>()) {
            for sentence in ["In {a}: {a:list} {n:size}", "{a:stem} {n:count}", "a {a}", "{a?x|{n}|{a:whole}}"] {
                for lang in [Lang::En, Lang::It] {
                    let _ = of(sentence, json!({"a": text.clone(), "n": number}), lang);
                }
            }
        }
    }
}
