//! Answers by template: turns a released result into words for a person, by the sentences of the executor's manifest, else
//! by the schema of the result, and never by the name of the executor. Text is handed on byte for byte, with nothing around
//! it; everything else becomes lines that each end with a newline.

pub mod reminders;
pub mod reviews;
pub(crate) mod sentence;
pub mod speech;
pub mod table;

use std::collections::BTreeMap;

use metnos_calendar::{Zone, instant};
use metnos_proto::envelope::Candidate;
use metnos_proto::executor::answer::Answer;
use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::Lang;
use serde_json::{Map, Value};

use crate::matching::contract::{defaults, labels, text_outputs};
use crate::words::lexicon::{self, Mark};
use crate::words::when;

/// The largest answer, in bytes: what fits a payload.
pub const MAX_ANSWER: usize = metnos_proto::payload::MAX_PAYLOAD;
/// The most lines of a list that are shown.
pub const MAX_LINES: usize = 10_000;
/// The most bytes of an error message that are passed on.
pub const MAX_MESSAGE: usize = 2_000;
/// The most entries of what was looked up that are shown.
const MAX_FOUND: usize = 5;
/// The most things of one call that are called by a name of the person's own.
pub const MAX_SPOKEN: usize = 16;

/// Errors of which a sentence says everything once it is known what they are about.
const ABOUT_ONE: [&str; 11] = [
    "NotFound",
    "PermissionDenied",
    "TooLarge",
    "NotAFile",
    "NotADirectory",
    "NotAFolder",
    "NotText",
    "BadPath",
    "Exists",
    "IsAFolder",
    "NoSpace",
];
/// What a sentence calls what the call was about: also a file whose text was handed on.
pub const SUBJECT: &str = "subject";
/// Numbers of a result that say that something of it is missing.
const MISSING: [&str; 6] = ["failed", "omitted", "covered", "no_numbers", "no_dates", "exit_code"];

/// How the result of one executor is rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// What the call was about: the path in the words.
    subject: Option<String>,
    /// What the person called things, by their path.
    spoken: BTreeMap<String, String>,
    /// What was asked for, to be stated first.
    asked: Vec<Mark>,
    /// What it was called with.
    arguments: Map<String, Value>,
    /// Where the clock of the instance stands.
    zone: Zone,
    lang: Lang,
    contract: Contract,
}

/// What the contract says of results.
#[derive(Debug, Clone, PartialEq)]
struct Contract {
    /// Names of the texts in the result, in order.
    texts: Vec<String>,
    /// What its values are called, by name.
    labels: BTreeMap<String, String>,
    /// What arguments are where they are not given.
    defaults: Map<String, Value>,
    /// The executor's own sentences.
    answer: Answer,
}

/// A result in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rendered {
    /// What was asked for.
    Answer(String),
    /// Why it could not be done.
    Trouble(String),
}

impl Template {
    /// The template for the results of `candidate`.
    #[must_use]
    pub fn of(candidate: &Candidate, lang: Lang) -> Self {
        let texts = text_outputs(&candidate.output);
        let contract = Contract {
            texts: texts.into_iter().map(|text| text.name).collect(),
            labels: labels(&candidate.output),
            defaults: defaults(&candidate.input),
            answer: candidate.answer.clone(),
        };
        Self {
            subject: None,
            spoken: BTreeMap::new(),
            asked: Vec::new(),
            arguments: Map::new(),
            zone: Zone::default(),
            lang,
            contract,
        }
    }

    /// The same for a call with these arguments, in an instance whose clock stands in this zone. An argument that only says
    /// that zone was not asked for.
    #[must_use]
    pub fn called(mut self, arguments: &Map<String, Value>, zone: &str) -> Self {
        let says_zone = |value: &Value| !zone.is_empty() && value.as_str() == Some(zone);
        self.arguments = arguments
            .iter()
            .filter(|(_, value)| !says_zone(value))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        self.zone = Zone::read(zone).unwrap_or_default();
        self
    }

    /// Has what lies at `path` called by the words that the person used for it, with their article: "the shopping list".
    pub fn call_it(&mut self, path: &str, words: &str) {
        let is_line = !words.trim().is_empty() && !words.contains(char::is_control);
        if is_line && path != words && self.spoken.len() < MAX_SPOKEN {
            self.spoken.insert(path.to_owned(), words.trim().to_owned());
        }
    }

    /// Tells it as the answer to a request: `subject` is the path it was about, `asked` what was asked
    /// for, which is stated first.
    pub fn tell_of(&mut self, subject: Option<&str>, asked: Vec<Mark>) {
        self.subject = subject.map(str::to_owned);
        self.asked = asked;
    }

    /// The same for a call about another path.
    #[must_use]
    pub fn about(mut self, subject: Option<&str>) -> Self {
        self.subject = subject.map(str::to_owned);
        self
    }

    /// Whether a success is rendered as text that nothing may be put around.
    #[must_use]
    pub const fn is_text(&self) -> bool {
        !self.contract.texts.is_empty()
    }

    /// What the call was about.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Has the result told in this language.
    pub const fn speak(&mut self, lang: Lang) {
        self.lang = lang;
    }

    /// Tells the first entries that a look-up has found, below a line which says that they are no more than that; `None` where
    /// it has found nothing.
    #[must_use]
    pub fn found(&self, result: &[u8]) -> Option<String> {
        let object = json::parse_object(result, Limits::result(MAX_ANSWER)).ok()?;
        let all = self.list_of(&object).filter(|_| object.get("ok") == Some(&Value::Bool(true)))?;
        let shown = all.get(..all.len().min(MAX_FOUND)).filter(|shown| !shown.is_empty())?;
        let lines = self.list(shown, &object, Some(speech::found(self.lang)));
        let more = all.len() > shown.len() || object.get("truncated") == Some(&Value::Bool(true));
        let number = |name: &str| object.get(name).and_then(Value::as_u64);
        let shown = u64::try_from(shown.len()).ok();
        let rest = more.then(|| speech::truncated(shown, number("total"), self.lang) + "\n");
        Some(lines + &rest.unwrap_or_default())
    }

    /// Whether a result may say so, see [`Self::is_missing`].
    #[must_use]
    pub const fn recalls(&self) -> bool {
        !self.contract.answer.recall.is_empty()
    }

    /// Whether the result says that what was asked for is not there, so that what the person has said before may be told in its place.
    #[must_use]
    pub fn is_missing(&self, result: &[u8]) -> bool {
        let name = &self.contract.answer.recall;
        let object = json::parse_object(result, Limits::result(MAX_ANSWER)).ok().filter(|_| !name.is_empty());
        object.is_some_and(|object| {
            object.get(name).is_some_and(|value| *value == Value::Bool(false) || value.as_u64() == Some(0))
        })
    }

    /// Whether a result of this executor can mean that there is nothing to report (`silent_at_zero`).
    #[must_use]
    pub const fn may_be_silent(&self) -> bool {
        !self.contract.answer.silent_at_zero.is_empty()
    }

    /// Whether this result means that there is nothing to report.
    #[must_use]
    pub fn has_nothing_to_tell(&self, result: &[u8]) -> bool {
        let name = &self.contract.answer.silent_at_zero;
        let object = json::parse_object(result, Limits::result(MAX_ANSWER)).ok().filter(|_| !name.is_empty());
        object.is_some_and(|object| {
            object.get("ok") == Some(&Value::Bool(true)) && object.get(name).and_then(Value::as_u64) == Some(0)
        })
    }

    /// Tells the result; whatever the bytes are, there is an answer.
    #[must_use]
    pub fn tell(&self, result: &[u8]) -> Rendered {
        let Ok(object) = json::parse_object(result, Limits::result(MAX_ANSWER)) else {
            return Rendered::Trouble(speech::unreadable(self.lang));
        };
        match object.get("ok") {
            Some(Value::Bool(true)) => Rendered::Answer(self.success(&object)),
            Some(Value::Bool(false)) => Rendered::Trouble(self.error(&object)),
            _ => Rendered::Trouble(speech::unreadable(self.lang)),
        }
    }

    fn error(&self, object: &Map<String, Value>) -> String {
        let error = object.get("error").and_then(Value::as_object);
        let field = |key| error.and_then(|error| error.get(key)).and_then(Value::as_str);
        let (Some(class), Some(message)) = (field("class"), field("message")) else {
            return speech::unreadable(self.lang);
        };
        if let Some(own) = error.and_then(|error| self.sentence(None, error, self.wording().refused(class))) {
            return own;
        }
        let message: String = shorten(message, MAX_MESSAGE).chars().filter(|c| !c.is_control()).collect();
        // Executors speak English: where the class says it all, nothing of it is mixed into another language.
        let path = self.subject.as_deref().or_else(|| self.arguments.get("path").and_then(Value::as_str));
        let about = path.filter(|path| ABOUT_ONE.contains(&class) && message.contains(path));
        match about {
            Some(subject) => match self.spoken.get(subject) {
                Some(words) => speech::as_sentence(&speech::error_about(class, words, self.lang)),
                None => speech::error_about(class, &visible(subject), self.lang),
            },
            None => speech::error(&message, self.lang),
        }
    }

    fn wording(&self) -> &metnos_proto::executor::answer::Wording {
        self.contract.answer.wording(self.lang)
    }

    fn success(&self, object: &Map<String, Value>) -> String {
        let texts: Vec<&str> =
            self.contract.texts.iter().filter_map(|name| object.get(name)).filter_map(Value::as_str).collect();
        let done = self.sentence(None, object, &self.wording().done);
        let empty = || self.sentence(None, object, &self.wording().empty).map(|empty| empty + "\n");
        let table = table::of(object, MAX_LINES, self.lang).filter(|_| texts.is_empty());
        let is_empty = match &table {
            Some(table) => table.is_empty,
            None => texts.concat().trim().is_empty(),
        };
        let mut text = if let Some(list) = self.list_of(object) {
            self.list(list, object, done)
        } else if let Some(sentence) = done {
            sentence.trim_end().to_owned() + "\n"
        } else if let Some(empty) = is_empty.then(empty).flatten() {
            empty
        } else if !texts.is_empty() {
            texts.concat()
        } else if let Some(table) = table {
            table.text
        } else if let Some(list) = object.values().find_map(Value::as_array) {
            self.list(list, object, None)
        } else {
            self.facts(object)
        };
        if let Some(missing) = self.missing(object) {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&missing);
            text.push('\n');
        }
        text
    }

    /// The list whose entries become lines, where the executor names one: of several the first that holds anything.
    fn list_of<'a>(&self, object: &'a Map<String, Value>) -> Option<&'a Vec<Value>> {
        let lists = || self.contract.answer.lists().filter_map(|name| object.get(name)).filter_map(Value::as_array);
        lists().find(|list| !list.is_empty()).or_else(|| lists().next())
    }

    /// What is said of a result of which something is missing.
    fn missing(&self, object: &Map<String, Value>) -> Option<String> {
        let is = |name: &str, value: bool| object.get(name).and_then(Value::as_bool) == Some(value);
        let number = |name: &str| object.get(name).and_then(Value::as_u64);
        let truncated = is("truncated", true);
        if !(truncated || is("complete", false) || MISSING.iter().any(|name| number(name).is_some_and(|n| n > 0))) {
            return None;
        }
        let own = self.sentence(None, object, &self.wording().partial).map(|own| own.trim().to_owned());
        own.or_else(|| truncated.then(|| speech::truncated(number("returned"), number("total"), self.lang)))
    }

    /// A sentence of the executor's own.
    fn sentence(&self, entry: Option<&Map<String, Value>>, object: &Map<String, Value>, text: &str) -> Option<String> {
        let subject = self.subject.iter().map(|subject| (SUBJECT.to_owned(), Value::from(subject.as_str()))).collect();
        let from = [entry, Some(object), Some(&self.arguments), Some(&self.contract.defaults), Some(&subject)];
        let (asked, spoken) = (&self.arguments, &self.spoken);
        sentence::SentenceScope { from, asked, spoken, lang: self.lang, zone: &self.zone }.tell(text)
    }

    fn list(&self, list: &[Value], object: &Map<String, Value>, above: Option<String>) -> String {
        if list.is_empty() {
            let own = self.sentence(None, object, &self.wording().empty).or(above);
            return format!("{}\n", own.unwrap_or_else(|| speech::empty(self.lang)));
        }
        let form = &self.wording().each;
        let each = |item: &Value| item.as_object().and_then(|entry| self.sentence(Some(entry), object, form));
        let line = |item: &Value| each(item).unwrap_or_else(|| self.line(item)) + "\n";
        let mut text = above.map(|above| above + "\n").unwrap_or_default();
        text.extend(list.iter().take(MAX_LINES).map(line));
        if list.len() > MAX_LINES {
            let shown = u64::try_from(MAX_LINES).ok();
            text.push_str(&speech::truncated(shown, u64::try_from(list.len()).ok(), self.lang));
            text.push('\n');
        }
        text
    }

    /// One entry of a list: its name, and in brackets what else is known of it.
    fn line(&self, item: &Value) -> String {
        let Some(object) = item.as_object() else { return self.scalar(item) };
        let title = ["name", "path", "title"]
            .into_iter()
            .find_map(|key| object.get(key).and_then(Value::as_str).map(|text| (key, text)));
        let Some((title_key, title)) = title else {
            return object.iter().map(|(name, value)| self.named(name, value)).collect::<Vec<_>>().join(", ");
        };
        let mut kind = object.iter().filter(|(key, _)| *key != title_key).filter_map(|(_, value)| value.as_str());
        let is_folder = kind.any(|kind| lexicon::mark(kind) == Mark::Concept("folder"));
        let slash = if is_folder && !title.ends_with('/') { "/" } else { "" };
        let rest: Vec<String> = object
            .iter()
            // Where it lies was said with the list.
            .filter(|(key, value)| *key != title_key && *key != "path" && (value.is_number() || value.is_string()))
            .filter(|(_, value)| !value.as_str().is_some_and(|kind| lexicon::mark(kind).is_path_noun()))
            .filter(|(_, value)| !(is_folder && value.is_number()))
            .map(|(name, value)| if name == "kind" { self.scalar(value) } else { self.named(name, value) })
            .collect();
        let rest = if rest.is_empty() { String::new() } else { format!("  ({})", rest.join(", ")) };
        format!("{}{slash}{rest}", visible(title))
    }

    /// Numbers as one sentence, other single values as lines.
    fn facts(&self, object: &Map<String, Value>) -> String {
        let is_fact = |name: &String| !matches!(name.as_str(), "ok" | "truncated");
        let mut numbers: Vec<(bool, usize, &String, &Value)> = object
            .iter()
            .filter(|(name, value)| is_fact(name) && value.is_number())
            .map(|(name, value)| {
                let place = lexicon::label(name, false, self.lang).map_or(usize::MAX, |(place, _)| place);
                (!self.asked.contains(&lexicon::mark(name)), place, name, value)
            })
            .collect();
        numbers.sort_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)));
        let mut text = String::new();
        if !numbers.is_empty() {
            if let Some(subject) = &self.subject {
                text.push_str(&visible(subject));
                text.push_str(": ");
            }
            let told: Vec<String> = numbers.iter().map(|(_, _, name, value)| self.named(name, value)).collect();
            text.push_str(&told.join(", "));
            text.push('\n');
        }
        for (name, value) in object.iter().filter(|(name, _)| is_fact(name)) {
            if value.is_string() || value.is_boolean() {
                text.push_str(&self.named(name, value));
                text.push('\n');
            }
        }
        if text.is_empty() { format!("{}\n", speech::done(self.lang)) } else { text }
    }

    /// A value with what it is called: by the lexicon, else by the contract. A key is for programs, so it is never shown; a
    /// text says by itself what it is.
    fn named(&self, name: &str, value: &Value) -> String {
        let is_size = matches!(name, "size" | "bytes") || name.ends_with("_bytes");
        if let (true, Some(bytes)) = (is_size, value.as_u64()) {
            return sentence::size(bytes, self.lang);
        }
        match (value, lexicon::label(name, value.as_u64() == Some(1), self.lang), self.contract.labels.get(name)) {
            (Value::Number(_), Some((_, label)), _) => format!("{} {label}", self.scalar(value)),
            // When something was is stated without saying that it is a time.
            (Value::String(text), ..) if instant::instant(text).is_some() => self.scalar(value),
            (_, _, Some(label)) => format!("{label}: {}", self.scalar(value)),
            (..) => self.scalar(value),
        }
    }

    fn scalar(&self, value: &Value) -> String {
        match value {
            Value::Null => "–".to_owned(),
            Value::Bool(value) => speech::yes_no(*value, self.lang).to_owned(),
            Value::Number(number) => sentence::decimal(&number.to_string(), self.lang),
            Value::String(text) => when::moment(text, &self.zone, self.lang).unwrap_or_else(|| visible(text)),
            Value::Array(_) | Value::Object(_) => visible(&value.to_string()),
        }
    }
}

/// A single line without control characters: a name must not be able to draw on a terminal.
pub(crate) fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The head of a text, cut at a character.
#[must_use]
pub fn shorten(text: &str, most_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(most_bytes)]
}

/// Cuts an answer into pieces of at most `most_bytes`, never inside a character.
pub fn pieces(text: &str, most_bytes: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let cut = rest.floor_char_boundary(most_bytes).max(rest.chars().next().map_or(0, char::len_utf8));
        let (piece, tail) = rest.split_at(cut);
        rest = tail;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn template(output: Value, subject: Option<&str>, lang: Lang) -> Template {
        let candidate = Candidate {
            name: "x".into(),
            version: "1.0.0".into(),
            summary: String::new(),
            examples: Vec::new(),
            patterns: Vec::new(),
            class: "read".into(),
            input: json!({}),
            output,
            roles: Vec::new(),
            reads: Vec::new(),
            offered: true,
            contract: String::new(),
            answer: metnos_proto::executor::answer::Answer::default(),
        };
        let mut template = Template::of(&candidate, lang);
        template.tell_of(subject, vec![Mark::Concept("word")]);
        template
    }

    fn answer(template: &Template, result: &Value) -> String {
        match template.tell(result.to_string().as_bytes()) {
            Rendered::Answer(text) => text,
            Rendered::Trouble(text) => panic!("{text}"),
        }
    }

    #[test]
    fn text_is_handed_on_byte_for_byte_with_nothing_around_it() {
        let schema = json!({"properties": {"content": {"type": "string", "contentMediaType": "text/plain"}}});
        let template = template(schema, Some("a.md"), Lang::En);
        for content in ["# Hi\n\nthere\n", "no newline at the end", "", "\u{1b}[1m\ttab\r\n", "è\0"] {
            let result = json!({"ok": true, "content": content, "size_bytes": content.len()});
            assert_eq!(answer(&template, &result), content);
        }
    }

    #[test]
    fn counts_become_a_sentence_in_the_persons_language() {
        let counts = json!({"ok": true, "characters": 800, "lines": 20, "words": 120});
        let english = template(json!({}), Some("notes/welcome.md"), Lang::En);
        assert_eq!(answer(&english, &counts), "notes/welcome.md: 120 words, 20 lines, 800 characters\n");
        let italian = template(json!({}), Some("notes/welcome.md"), Lang::It);
        assert_eq!(answer(&italian, &counts), "notes/welcome.md: 120 parole, 20 righe, 800 caratteri\n");
        let one = json!({"ok": true, "characters": 1, "lines": 1, "words": 1});
        assert_eq!(answer(&english, &one), "notes/welcome.md: 1 word, 1 line, 1 character\n");
    }

    #[test]
    fn requested_field_is_answered_first() {
        let counts = json!({"ok": true, "characters": 800, "lines": 20, "words": 120});
        let mut template = template(json!({}), None, Lang::En);
        template.asked = vec![Mark::Concept("line")];
        assert_eq!(answer(&template, &counts), "20 lines, 120 words, 800 characters\n");
    }

    #[test]
    fn lists_become_lines_and_say_when_they_are_not_whole() {
        let template = template(json!({}), None, Lang::En);
        let result = json!({"ok": true, "entries": [
            {"name": "archive", "kind": "directory", "size_bytes": 4096},
            {"name": "welcome.md", "kind": "file", "size_bytes": 800},
        ], "returned": 2, "total": 5, "truncated": true});
        assert_eq!(answer(&template, &result), "archive/\nwelcome.md  (800 bytes)\nThese are the first 2 of 5.\n");
        assert_eq!(answer(&template, &json!({"ok": true, "entries": []})), "There is nothing there.\n");
        assert_eq!(answer(&template, &json!({"ok": true, "names": ["a", "b"]})), "a\nb\n");
    }

    #[test]
    fn a_name_cannot_draw_on_the_terminal() {
        let template = template(json!({}), None, Lang::En);
        let result = json!({"ok": true, "entries": ["a\u{1b}[2J\nb"]});
        assert_eq!(answer(&template, &result), "a\u{fffd}[2J\u{fffd}b\n");
    }

    #[test]
    fn error_is_shown_without_its_class() {
        let error = json!({"ok": false, "error": {"class": "NotFound", "message": "notes/x.md does not exist"}});
        let told = template(json!({}), None, Lang::It).tell(error.to_string().as_bytes());
        assert_eq!(told, Rendered::Trouble("Non è riuscito: notes/x.md does not exist.".into()));
    }

    #[test]
    fn error_about_requested_path_is_shown_in_one_language() {
        let error =
            json!({"ok": false, "error": {"class": "NotFound", "message": "there is no notes/x.md in the workspace"}});
        let told = template(json!({}), Some("notes/x.md"), Lang::It).tell(error.to_string().as_bytes());
        assert_eq!(told, Rendered::Trouble("Non trovo notes/x.md.".into()));
        let other = template(json!({}), Some("notes/y.md"), Lang::It).tell(error.to_string().as_bytes());
        assert_eq!(other, Rendered::Trouble("Non è riuscito: there is no notes/x.md in the workspace.".into()));
    }

    #[test]
    fn a_message_of_exactly_the_limit_is_passed_on_and_a_longer_one_is_cut() {
        let template = template(json!({}), None, Lang::En);
        for (bytes, kept) in [(MAX_MESSAGE, MAX_MESSAGE), (MAX_MESSAGE + 1, MAX_MESSAGE)] {
            let error = json!({"ok": false, "error": {"class": "Odd", "message": "m".repeat(bytes)}});
            let told = template.tell(error.to_string().as_bytes());
            assert_eq!(told, Rendered::Trouble(format!("M{}.", "m".repeat(kept - 1))));
        }
    }

    #[test]
    fn keys_are_never_shown_and_descriptions_stand_for_them() {
        let schema = json!({"$ref": "#/definitions/Output", "definitions": {
            "Output": {"properties": {
                "room_temp": {"type": "number", "description": "Degrees in the room."},
                "is_open": {"type": "boolean", "title": "Window open"},
                "raw_code": {"type": "string"},
                "readings": {"type": "array", "items": {"$ref": "#/definitions/Reading"}},
            }},
            "Reading": {"properties": {"humid_pct": {"description": "Humidity"}}},
        }});
        let facts = json!({"ok": true, "room_temp": 20.5, "is_open": true, "raw_code": "fine"});
        assert_eq!(
            answer(&template(schema.clone(), None, Lang::En), &facts),
            "Degrees in the room: 20.5\nWindow open: yes\nfine\n"
        );
        assert_eq!(
            answer(&template(schema.clone(), None, Lang::It), &facts),
            "Degrees in the room: 20,5\nWindow open: sì\nfine\n"
        );
        let list = json!({"ok": true, "readings": [{"name": "cellar", "humid_pct": 80, "sensor_id": 7}]});
        assert_eq!(answer(&template(schema, None, Lang::En), &list), "cellar  (Humidity: 80, 7)\n");
    }

    #[test]
    fn sentences_of_the_manifest_tell_lists_emptiness_errors_and_gaps() {
        let mut template = template(json!({}), None, Lang::En);
        let wording = metnos_proto::executor::answer::Wording {
            done: "In {path}:".into(),
            each: "{name}{size?, empty|, {size:size}|, {size:size}}".into(),
            empty: "{path} is empty.".into(),
            partial: "{truncated?Only {returned} of {total}. |}{failed?|One is missing.|{failed} are missing.}".into(),
            refused: [("NotFound".to_owned(), "There is no {path}.".to_owned())].into(),
        };
        template.contract.answer = Answer { list: "more entries".into(), en: wording, ..Answer::default() };
        template.call_it("notes", "the folder notes");
        let entries = json!([{"name": "a", "size": 1500}, {"name": "b", "size": 0}]);
        let mut result = json!({"ok": true, "path": "notes", "entries": entries, "more": []});
        assert_eq!(answer(&template, &result), "In the folder notes:\na, 1.5 kB\nb, empty\n");
        result["failed"] = json!(1);
        assert!(answer(&template, &result).ends_with("b, empty\nOne is missing.\n"));
        result["truncated"] = json!(true);
        result["returned"] = json!(2);
        result["total"] = json!(9);
        assert!(answer(&template, &result).ends_with("Only 2 of 9. One is missing.\n"));
        let empty = json!({"ok": true, "path": "notes", "entries": []});
        assert_eq!(answer(&template, &empty), "The folder notes is empty.\n");
        template.arguments.insert("path".into(), "notes".into());
        let error =
            |class: &str| json!({"ok": false, "error": {"class": class, "message": "notes is odd"}}).to_string();
        assert_eq!(
            template.tell(error("NotFound").as_bytes()),
            Rendered::Trouble("There is no the folder notes.".into())
        );
        assert_eq!(
            template.tell(error("IsAFolder").as_bytes()),
            Rendered::Trouble("The folder notes is a folder.".into())
        );
        assert_eq!(template.tell(error("Odd").as_bytes()), Rendered::Trouble("Notes is odd.".into()));
    }

    #[test]
    fn names_that_a_person_uses_are_bounded_and_plain() {
        let mut template = template(json!({}), None, Lang::En);
        for n in 0..=MAX_SPOKEN {
            template.call_it(&format!("{n}.md"), "the note");
        }
        assert_eq!(template.spoken.len(), MAX_SPOKEN);
        template.spoken.clear();
        for none in ["", " ", "a\nb", "a.md"] {
            template.call_it("a.md", none);
        }
        assert!(template.spoken.is_empty());
    }

    #[test]
    fn malformed_result_is_reported_as_unreadable() {
        let template = template(json!({}), None, Lang::En);
        for bytes in [&b""[..], b"[]", b"{}", b"{\"ok\":1}", b"{\"ok\":false}", b"\xff", b"{\"ok\":true,\"ok\":false}"]
        {
            assert!(matches!(template.tell(bytes), Rendered::Trouble(_)), "{bytes:?}");
        }
    }

    #[test]
    fn a_list_of_exactly_the_limit_is_shown_whole_and_a_longer_one_is_cut() {
        let template = template(json!({}), None, Lang::En);
        let whole = json!({"ok": true, "names": vec!["a"; MAX_LINES]});
        assert_eq!(answer(&template, &whole).lines().count(), MAX_LINES);
        let longer = json!({"ok": true, "names": vec!["a"; MAX_LINES + 1]});
        assert!(answer(&template, &longer).ends_with("These are the first 10000 of 10001.\n"));
    }

    proptest! {
        #[test]
        fn pieces_are_the_whole_text_and_none_is_too_large(text in "\\PC{0,200}", most in 4usize..20) {
            let cut: Vec<&str> = pieces(&text, most).collect();
            prop_assert_eq!(cut.concat(), text.as_str());
            prop_assert!(cut.iter().all(|piece| piece.len() <= most && !piece.is_empty()));
        }

        #[test]
        fn any_bytes_are_told(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = template(json!({}), None, Lang::En).tell(&bytes);
        }
    }
}
