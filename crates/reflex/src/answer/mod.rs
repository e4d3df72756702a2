//! Answers by template: turns a released result into words for a person, by the sentences of the executor's manifest, else
//! by the schema of the result, and never by the name of the executor. Text is handed on byte for byte, with nothing around
//! it; everything else becomes lines that each end with a newline.

pub(crate) mod sentence;
pub mod speech;
pub mod table;

use metnos_calendar::{Zone, instant};
use metnos_proto::envelope::Candidate;
use metnos_proto::executor::answer::Answer;
use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::Lang;
use serde_json::{Map, Value};

use crate::matching::contract::text_outputs;
use crate::words::lexicon::{self, Mark};
use crate::words::when;

/// The largest answer, in bytes: what fits a payload.
pub const MAX_ANSWER: usize = metnos_proto::payload::MAX_PAYLOAD;
/// The most lines of a list that are shown.
pub const MAX_LINES: usize = 10_000;
/// The most bytes of an error message that are passed on.
pub const MAX_MESSAGE: usize = 2_000;

/// Errors that say everything once it is said of which path.
const ABOUT_ONE: [&str; 8] =
    ["NotFound", "PermissionDenied", "TooLarge", "NotAFile", "NotADirectory", "NotAFolder", "NotText", "BadPath"];

/// How the result of one executor is rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// The executor's name, for what it could not do.
    executor: String,
    /// What the call was about: the path in the words.
    subject: Option<String>,
    /// Names of the texts in the result, in order.
    texts: Vec<String>,
    /// What was asked for, to be stated first.
    asked: Vec<Mark>,
    /// The executor's own sentences.
    answer: Answer,
    /// What it was called with.
    arguments: Map<String, Value>,
    /// Where the clock of the instance stands.
    zone: Zone,
    lang: Lang,
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
        Self {
            executor: candidate.name.clone(),
            subject: None,
            texts: texts.into_iter().map(|text| text.name).collect(),
            asked: Vec::new(),
            answer: candidate.answer.clone(),
            arguments: Map::new(),
            zone: Zone::default(),
            lang,
        }
    }

    /// The same for a call with these arguments, in an instance whose clock stands in this zone.
    #[must_use]
    pub fn called(mut self, arguments: &Map<String, Value>, zone: &str) -> Self {
        self.arguments = arguments.clone();
        self.zone = Zone::read(zone).unwrap_or_default();
        self
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
        !self.texts.is_empty()
    }

    /// What the call was about.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Tells the result; whatever the bytes are, there is an answer.
    #[must_use]
    pub fn tell(&self, result: &[u8]) -> Rendered {
        let Ok(object) = json::parse_object(result, Limits::result(MAX_ANSWER)) else {
            return Rendered::Trouble(speech::unreadable(&self.executor, self.lang));
        };
        match object.get("ok") {
            Some(Value::Bool(true)) => Rendered::Answer(self.success(&object)),
            Some(Value::Bool(false)) => Rendered::Trouble(self.error(&object)),
            _ => Rendered::Trouble(speech::unreadable(&self.executor, self.lang)),
        }
    }

    fn error(&self, object: &Map<String, Value>) -> String {
        let field = |key| object.get("error").and_then(|error| error.get(key)).and_then(Value::as_str);
        let (Some(class), Some(message)) = (field("class"), field("message")) else {
            return speech::unreadable(&self.executor, self.lang);
        };
        let message: String = shorten(message, MAX_MESSAGE).chars().filter(|c| !c.is_control()).collect();
        let class = shorten(class, 64);
        let told = speech::error_class(class, self.lang);
        // Executors speak English: where the class says it all, nothing of it is mixed into another language.
        let about = self.subject.as_deref().filter(|subject| {
            self.lang != Lang::En && told != class && ABOUT_ONE.contains(&class) && message.contains(subject)
        });
        format!("{told}: {}", about.map_or(message.clone(), visible))
    }

    fn success(&self, object: &Map<String, Value>) -> String {
        let texts: Vec<&str> =
            self.texts.iter().filter_map(|name| object.get(name)).filter_map(Value::as_str).collect();
        let wording = self.answer.wording(self.lang);
        let list = object.get(&self.answer.list).and_then(Value::as_array);
        let mut text = if let Some(sentence) = self.sentence(None, object, &wording.done) {
            sentence.trim_end().to_owned() + "\n"
        } else if !texts.is_empty() {
            texts.concat()
        } else if let Some(table) = table::of(object, MAX_LINES) {
            table
        } else if let Some(list) = list.or_else(|| object.values().find_map(Value::as_array)) {
            self.list(list, object)
        } else {
            self.facts(object)
        };
        if object.get("truncated") == Some(&Value::Bool(true)) {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            let number = |name: &str| object.get(name).and_then(Value::as_u64);
            text.push_str(&speech::truncated(number("returned"), number("total"), self.lang));
            text.push('\n');
        }
        text
    }

    /// A sentence of the executor's own.
    fn sentence(&self, entry: Option<&Map<String, Value>>, object: &Map<String, Value>, text: &str) -> Option<String> {
        let from = [entry, Some(object), Some(&self.arguments)];
        sentence::SentenceScope { from, lang: self.lang, zone: &self.zone }.tell(text)
    }

    fn list(&self, list: &[Value], object: &Map<String, Value>) -> String {
        let wording = self.answer.wording(self.lang);
        if list.is_empty() {
            let own = self.sentence(None, object, &wording.empty);
            return format!("{}\n", own.unwrap_or_else(|| speech::empty(self.lang)));
        }
        let each = |item: &Value| item.as_object().and_then(|entry| self.sentence(Some(entry), object, &wording.each));
        let line = |item: &Value| each(item).unwrap_or_else(|| self.line(item)) + "\n";
        let mut text: String = list.iter().take(MAX_LINES).map(line).collect();
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
                text.push_str(&format!("{}: {}\n", visible(name), self.scalar(value)));
            }
        }
        if text.is_empty() { format!("{}\n", speech::done(self.lang)) } else { text }
    }

    fn named(&self, name: &str, value: &Value) -> String {
        let plain = name.strip_suffix("_bytes").map_or(name, |rest| if rest == "size" { "byte" } else { name });
        match (value, lexicon::label(plain, value.as_u64() == Some(1), self.lang)) {
            (Value::Number(number), Some((_, label))) => format!("{number} {label}"),
            // When something was is stated without saying that it is a time.
            (Value::String(text), _) if instant::instant(text).is_some() => self.scalar(value),
            (_, _) => format!("{}: {}", visible(name), self.scalar(value)),
        }
    }

    fn scalar(&self, value: &Value) -> String {
        match value {
            Value::Null => "–".to_owned(),
            Value::Bool(value) => speech::yes_no(*value, self.lang).to_owned(),
            Value::Number(number) => number.to_string(),
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
        assert_eq!(answer(&template, &result), "archive/\nwelcome.md  (800 bytes)\n… 2 of 5 shown\n");
        assert_eq!(answer(&template, &json!({"ok": true, "entries": []})), "(empty)\n");
        assert_eq!(answer(&template, &json!({"ok": true, "names": ["a", "b"]})), "a\nb\n");
    }

    #[test]
    fn a_name_cannot_draw_on_the_terminal() {
        let template = template(json!({}), None, Lang::En);
        let result = json!({"ok": true, "entries": ["a\u{1b}[2J\nb"]});
        assert_eq!(answer(&template, &result), "a\u{fffd}[2J\u{fffd}b\n");
    }

    #[test]
    fn error_is_shown_with_its_class_in_the_persons_language() {
        let error = json!({"ok": false, "error": {"class": "NotFound", "message": "notes/x.md does not exist"}});
        let told = template(json!({}), None, Lang::It).tell(error.to_string().as_bytes());
        assert_eq!(told, Rendered::Trouble("non trovato: notes/x.md does not exist".into()));
    }

    #[test]
    fn error_about_requested_path_is_shown_in_one_language() {
        let error =
            json!({"ok": false, "error": {"class": "NotFound", "message": "there is no notes/x.md in the workspace"}});
        let told = template(json!({}), Some("notes/x.md"), Lang::It).tell(error.to_string().as_bytes());
        assert_eq!(told, Rendered::Trouble("non trovato: notes/x.md".into()));
        let other = template(json!({}), Some("notes/y.md"), Lang::It).tell(error.to_string().as_bytes());
        assert_eq!(other, Rendered::Trouble("non trovato: there is no notes/x.md in the workspace".into()));
    }

    #[test]
    fn a_message_of_exactly_the_limit_is_passed_on_and_a_longer_one_is_cut() {
        let template = template(json!({}), None, Lang::En);
        for (bytes, kept) in [(MAX_MESSAGE, MAX_MESSAGE), (MAX_MESSAGE + 1, MAX_MESSAGE)] {
            let error = json!({"ok": false, "error": {"class": "Odd", "message": "m".repeat(bytes)}});
            let told = template.tell(error.to_string().as_bytes());
            assert_eq!(told, Rendered::Trouble(format!("Odd: {}", "m".repeat(kept))));
        }
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
        assert!(answer(&template, &longer).ends_with("… 10000 of 10001 shown\n"));
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
