//! A line of `bench ask`: what is said, and what is right. Each is read and checked before anything is started.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use metnos_proto::msg::common::Lang;
use serde_json::{Map, Value};

use crate::ask::moment;

/// The most texts of one dialogue.
pub const MAX_SAID: usize = 32;
/// The longest text that is said, in bytes.
pub const MAX_SAID_BYTES: usize = 16 * 1024;
/// The most files of one line.
pub const MAX_FILES: usize = 256;
/// The most bytes of the files of one line.
pub const MAX_FILE_BYTES: usize = 8 * 1024 * 1024;
/// The most characters of a bad value that are shown.
const SHOWN: usize = 60;
/// What a line without a kind is counted under.
const NO_KIND: &str = "other";
/// The keys of a line.
const KEYS: [&str; 11] = ["say", "lang", "kind", "held", "files", "want", "never", "effect", "may", "cannot", "card"];

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is said, one text after the other; what comes of the last is judged.
    pub say: Vec<String>,
    /// In which language.
    pub lang: Lang,
    /// What it is counted under.
    pub kind: String,
    /// Whether it is kept back from anyone who improves something.
    pub held: bool,
    /// What lies in the workspace before.
    pub files: BTreeMap<String, String>,
    /// What the answer must have: of each, one of the alternatives.
    pub want: Vec<String>,
    /// What it must not have.
    pub never: Vec<String>,
    /// What must be so afterwards; everything else must be as it was.
    pub effects: Vec<Effect>,
    /// What may be changed besides; `*` stands for anything.
    pub may: Vec<String>,
    /// Whether it is right to say that it cannot be done.
    pub cannot: bool,
    /// Whether it is right to ask first.
    pub card: bool,
}

/// What must be so after the last text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The file; `*` stands for anything.
    pub path: String,
    /// What it must hold, whatever the case of letters.
    pub holds: Vec<String>,
    /// What it must not hold.
    pub lacks: Vec<String>,
    /// Whether there must be no such file.
    pub absent: bool,
}

/// Which field of a line is wrong, its value, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` is {value}, expected {expected}")]
pub struct Malformed {
    /// The field.
    pub field: String,
    /// What stands there, shortened.
    pub value: String,
    /// What should.
    pub expected: String,
}

fn wrong(field: impl Into<String>, value: &Value, expected: impl Into<String>) -> Malformed {
    let text = value.to_string();
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    let value = if value.is_null() { "missing".to_owned() } else { short };
    Malformed { field: field.into(), value, expected: expected.into() }
}

impl Question {
    /// Reads a line.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn read(line: &str) -> Result<Self, Malformed> {
        let value: Value = serde_json::from_str(line).map_err(|error| Malformed {
            field: "the line".to_owned(),
            value: error.to_string(),
            expected: "one JSON object".to_owned(),
        })?;
        let Value::Object(object) = &value else { return Err(wrong("the line", &value, "one JSON object")) };
        known_keys(object, &KEYS, "")?;
        let of = |key: &str| object.get(key).unwrap_or(&Value::Null);
        let question = Self {
            say: said(of("say"))?,
            lang: lang(of("lang"))?,
            kind: if of("kind").is_null() { NO_KIND.to_owned() } else { text("kind", of("kind"), "a text")? },
            held: flag("held", of("held"))?,
            files: files(of("files"))?,
            want: wanted("want", of("want"))?,
            never: wanted("never", of("never"))?,
            effects: effects(of("effect"))?,
            may: texts("may", of("may"), "a list of paths")?,
            cannot: flag("cannot", of("cannot"))?,
            card: flag("card", of("card"))?,
        };
        question.decidable(&value)
    }

    /// Its language, as a line has it.
    #[must_use]
    pub const fn lang_tag(&self) -> &'static str {
        match self.lang {
            Lang::En => "en",
            Lang::It => "it",
        }
    }

    fn decidable(self, line: &Value) -> Result<Self, Malformed> {
        let wants = !self.want.is_empty() || !self.effects.is_empty();
        if self.cannot && wants {
            return Err(wrong("cannot", &line["cannot"], "no `want` and no `effect` beside it"));
        }
        if !wants && !self.cannot && !self.card {
            return Err(wrong("want", &line["want"], "a list that is not empty, or `effect`, `cannot` or `card`"));
        }
        Ok(self)
    }
}

fn known_keys(object: &Map<String, Value>, known: &[&str], inside: &str) -> Result<(), Malformed> {
    match object.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        Some((key, value)) => Err(wrong(format!("{inside}{key}"), value, format!("one of {}", known.join(", ")))),
        None => Ok(()),
    }
}

fn text(field: &str, value: &Value, expected: &str) -> Result<String, Malformed> {
    let text = value.as_str().filter(|text| !text.trim().is_empty());
    text.map(str::to_owned).ok_or_else(|| wrong(field, value, expected))
}

fn flag(field: &str, value: &Value) -> Result<bool, Malformed> {
    if value.is_null() {
        return Ok(false);
    }
    value.as_bool().ok_or_else(|| wrong(field, value, "true or false"))
}

/// A list of texts, one text, or nothing.
fn texts(field: &str, value: &Value, expected: &str) -> Result<Vec<String>, Malformed> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(all) => all.iter().map(|one| text(field, one, expected)).collect(),
        one @ (Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            Ok(vec![text(field, one, expected)?])
        }
    }
}

fn said(value: &Value) -> Result<Vec<String>, Malformed> {
    let said = texts("say", value, "a text, or a list of texts")?;
    if said.is_empty() || said.len() > MAX_SAID {
        return Err(wrong("say", value, format!("1 to {MAX_SAID} texts")));
    }
    if said.iter().any(|one| one.len() > MAX_SAID_BYTES) {
        return Err(wrong("say", value, format!("texts of at most {MAX_SAID_BYTES} bytes")));
    }
    Ok(said)
}

fn lang(value: &Value) -> Result<Lang, Malformed> {
    match value.as_str() {
        Some("en") => Ok(Lang::En),
        Some("it") => Ok(Lang::It),
        Some(_) | None => Err(wrong("lang", value, "\"en\" or \"it\"")),
    }
}

/// What an answer must have or must not: alternatives, each of which is not empty and can be filled in.
fn wanted(field: &str, value: &Value) -> Result<Vec<String>, Malformed> {
    let all = texts(field, value, "a list of texts, each with alternatives between |")?;
    for one in &all {
        if one.split('|').any(|part| part.trim().is_empty()) {
            return Err(wrong(field, &Value::String(one.clone()), "alternatives between | of which none is empty"));
        }
        if let Some(unknown) = moment::unknown(one) {
            let expected = format!("no {{{unknown}}}: it is none of {}", moment::KNOWN);
            return Err(wrong(field, &Value::String(one.clone()), expected));
        }
    }
    Ok(all)
}

/// A path below the workspace that leads nowhere else.
fn is_inside(path: &str) -> bool {
    let plain =
        |part: Component<'_>| matches!(part, Component::Normal(name) if !name.as_encoded_bytes().starts_with(b"."));
    !path.is_empty() && !path.ends_with('/') && !path.contains(['\\', '\0']) && Path::new(path).components().all(plain)
}

fn files(value: &Value) -> Result<BTreeMap<String, String>, Malformed> {
    let Value::Object(object) = value else {
        return if value.is_null() {
            Ok(BTreeMap::new())
        } else {
            Err(wrong("files", value, "an object: path to text"))
        };
    };
    let mut files = BTreeMap::new();
    for (path, content) in object {
        let field = format!("files.{path}");
        if !is_inside(path) {
            return Err(wrong(
                "files",
                &Value::String(path.clone()),
                "a path below the workspace, without hidden parts",
            ));
        }
        let content = content.as_str().ok_or_else(|| wrong(field, content, "the text of the file"))?;
        files.insert(path.clone(), content.to_owned());
    }
    if files.len() > MAX_FILES || files.values().map(String::len).sum::<usize>() > MAX_FILE_BYTES {
        return Err(wrong("files", value, format!("at most {MAX_FILES} files and {MAX_FILE_BYTES} bytes")));
    }
    Ok(files)
}

fn effects(value: &Value) -> Result<Vec<Effect>, Malformed> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(all) => all.iter().map(effect).collect(),
        one @ (Value::Object(_) | Value::String(_) | Value::Bool(_) | Value::Number(_)) => Ok(vec![effect(one)?]),
    }
}

fn effect(value: &Value) -> Result<Effect, Malformed> {
    let Value::Object(object) = value else {
        return Err(wrong("effect", value, "an object with `path`, and `holds`, `lacks` or `absent`"));
    };
    known_keys(object, &["path", "holds", "lacks", "absent"], "effect.")?;
    let of = |key: &str| object.get(key).unwrap_or(&Value::Null);
    let effect = Effect {
        path: text("effect.path", of("path"), "a path below the workspace")?,
        holds: texts("effect.holds", of("holds"), "a text or a list of texts")?,
        lacks: texts("effect.lacks", of("lacks"), "a text or a list of texts")?,
        absent: flag("effect.absent", of("absent"))?,
    };
    if !is_inside(&effect.path) {
        return Err(wrong("effect.path", of("path"), "a path below the workspace"));
    }
    let holds = !effect.holds.is_empty() || !effect.lacks.is_empty();
    if holds == effect.absent {
        return Err(wrong("effect", value, "either `holds` or `lacks`, or `absent`"));
    }
    Ok(effect)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn why(line: &Value) -> String {
        Question::read(&line.to_string()).unwrap_err().to_string()
    }

    #[test]
    fn a_line_is_read_with_one_text_or_a_dialogue() {
        let line = json!({ "say": "hello", "lang": "en", "want": ["hi|hello"] });
        let one = Question::read(&line.to_string()).unwrap();
        assert_eq!((one.say.len(), one.kind.as_str(), one.held), (1, "other", false));
        let line = json!({ "say": ["a", "b"], "lang": "it", "kind": "k", "held": true, "files": { "notes/a.md": "x" },
            "effect": [{ "path": "notes/a.md", "absent": true }, { "path": "b/*.md", "holds": "x", "lacks": ["y"] }],
            "may": "notes/*" });
        let two = Question::read(&line.to_string()).unwrap();
        assert_eq!((two.say.len(), two.lang, two.effects.len(), two.may.len()), (2, Lang::It, 2, 1));
        assert_eq!((two.effects[0].absent, two.effects[1].holds.as_slice()), (true, &["x".to_owned()][..]));
    }

    #[test]
    fn a_bad_field_is_named_with_its_value_and_what_was_expected() {
        let good = json!({ "say": "hello", "lang": "en", "want": ["hi"] });
        let with = |key: &str, value: Value| {
            let mut line = good.clone();
            line[key] = value;
            why(&line)
        };
        for (told, parts) in [
            (with("lang", json!("de")), ["`lang` is \"de\"", "\"en\" or \"it\""]),
            (with("say", json!(3)), ["`say` is 3", "a text, or a list"]),
            (with("say", json!([])), ["`say` is []", "1 to 32 texts"]),
            (with("want", json!(["a||b"])), ["`want` is \"a||b\"", "none is empty"]),
            (with("never", json!(["{moon}"])), ["`never` is \"{moon}\"", "{moon}"]),
            (with("held", json!("yes")), ["`held` is \"yes\"", "true or false"]),
            (with("files", json!({ "../a": "x" })), ["`files` is \"../a\"", "below the workspace"]),
            (with("files", json!({ "a": 1 })), ["`files.a` is 1", "the text"]),
            (with("effect", json!({ "path": "a" })), ["`effect` is {\"path\":\"a\"}", "`absent`"]),
            (with("effect", json!({ "path": "a", "hold": "x" })), ["`effect.hold` is \"x\"", "path, holds"]),
            (with("effect", json!({ "path": "/etc/x", "absent": true })), ["`effect.path`", "below the workspace"]),
            (with("wants", json!([])), ["`wants` is []", "one of say, lang"]),
            (with("want", Value::Null), ["`want` is missing", "`cannot`"]),
            (with("cannot", json!(true)), ["`cannot` is true", "no `want`"]),
            (why(&json!([1])), ["the line", "one JSON object"]),
        ] {
            assert!(parts.iter().all(|part| told.contains(part)), "{told}");
        }
        assert!(Question::read("{").unwrap_err().to_string().contains("one JSON object"));
        assert!(with("lang", json!("x".repeat(500))).len() < 160);
    }

    #[test]
    fn limits_of_a_line_hold_at_their_edge() {
        let line = |say: Value, files: Value| {
            Question::read(&json!({ "say": say, "lang": "en", "files": files, "cannot": true }).to_string()).is_ok()
        };
        assert!(line(json!(vec!["a"; MAX_SAID]), json!({})) && !line(json!(vec!["a"; MAX_SAID + 1]), json!({})));
        assert!(line(json!("a".repeat(MAX_SAID_BYTES)), json!({})));
        assert!(!line(json!("a".repeat(MAX_SAID_BYTES + 1)), json!({})));
        let many = |count: usize| -> Value {
            (0..count).map(|at| (format!("f{at}"), json!(""))).collect::<Map<_, _>>().into()
        };
        assert!(line(json!("a"), many(MAX_FILES)) && !line(json!("a"), many(MAX_FILES + 1)));
        let large = |bytes: usize| json!({ "f": "x".repeat(bytes) });
        assert!(line(json!("a"), large(MAX_FILE_BYTES)) && !line(json!("a"), large(MAX_FILE_BYTES + 1)));
    }

    #[test]
    fn paths_lead_nowhere_but_into_the_workspace() {
        for path in ["notes/a.md", "a", "*", "notes/*"] {
            assert!(is_inside(path), "{path}");
        }
        for path in ["", "/a", "../a", "a/../b", ".hidden/a", "a/.b", "a\0", "./a", "a/"] {
            assert!(!is_inside(path), "{path}");
        }
    }
}
