//! The arguments of an executor as a small model is asked for them: what the request can mean, and nothing else. Switches
//! with a default are left to it, what nobody says aloud is left out, and names of files are a choice where they are known.

use std::collections::BTreeSet;

use metnos_proto::envelope::Candidate;
use metnos_proto::executor::Example;
use metnos_proto::json;
use metnos_proto::msg::common::Lang;
use metnos_reflex::spoken_in;
use metnos_reflex::words::lexicon::mark;
use metnos_reflex::words::when::number_word;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::paths::typed;
use super::shape::Shape;
use crate::thinking::data::line;
use crate::thinking::tools::{inlined, lean, root};

/// How much is said of an argument, in characters.
const MAX_SAYS: usize = 90;
/// An enum of so few values with a default is a switch.
const SWITCH: usize = 4;
/// How many words a search is for, at most.
const MAX_WORDS: usize = 3;
/// How many of them alone.
const MAX_SEARCHED: usize = 5;
/// From how many letters on a word is looked for without its ending, and how long that is at most.
const LONG: usize = 6;
const ENDING: usize = 2;
/// The longest example, with its reply, in bytes.
const MAX_EXAMPLE: usize = 140;
/// The largest schema of one argument that is passed on as it stands, in bytes.
const MAX_GIVEN: usize = 700;

/// One argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Whether the call needs it.
    pub required: bool,
    /// What the model is told of it.
    pub says: String,
    /// What it is.
    pub kind: Kind,
}

/// What an argument is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Kind {
    /// A file or a folder.
    Path,
    /// A text that a file can hold: its name is enough, if it is known.
    Text,
    /// Words to be searched for: any of them, as a regular expression.
    Words,
    /// As the executor has it.
    Given(Value),
}

/// The arguments of an executor for these words; `None` when it needs one that no model can be asked for.
#[must_use]
pub fn fields(candidate: &Candidate, words: &str) -> Option<Vec<Field>> {
    let schema = inlined(lean(&root(&candidate.input)));
    let properties = schema.get("properties").and_then(Value::as_object)?;
    let needs = schema.get("required").and_then(Value::as_array);
    let needs: BTreeSet<&str> = needs.into_iter().flatten().filter_map(Value::as_str).collect();
    let original = root(&candidate.input);
    let heard = Heard::of(words);
    let mut fields = Vec::new();
    for (name, schema) in properties {
        let required = needs.contains(name.as_str());
        let pointer = json::child("", name);
        let role = candidate.roles.iter().find(|(at, _)| *at == pointer).map(|(_, role)| role.as_str());
        let is_media = original.pointer(&format!("/properties{pointer}/contentMediaType")).is_some();
        let kind = match role {
            Some("path") => Kind::Path,
            Some("payload") if is_media && candidate.class == metnos_reflex::READ => Kind::Text,
            Some("query") if properties.get("regex").is_some_and(|one| one["type"] == "boolean") && required => {
                Kind::Words
            }
            _ => Kind::Given(plain(schema)),
        };
        let is_wanted = required || heard.wants(name, schema, role, (needs.is_empty(), properties.len()));
        if !is_wanted {
            continue;
        }
        // A server refuses a schema that points to what it was not sent.
        let given = if let Kind::Given(given) = &kind { given.to_string() } else { String::new() };
        let is_known = given.len() <= MAX_GIVEN && !given.contains("\"$ref\"");
        if !is_known && required {
            return None;
        }
        if is_known {
            let says = if kind == Kind::Words { "one to three words to look for, each alone" } else { "" };
            let says = if says.is_empty() { said(schema) } else { says.to_owned() };
            fields.push(Field { name: name.clone(), required, says, kind });
        }
    }
    Some(fields)
}

/// What of the words decides which arguments are asked for.
struct Heard {
    words: Vec<String>,
    has_number: bool,
    /// Whether they name a file by its path.
    has_path: bool,
}

impl Heard {
    fn of(words: &str) -> Self {
        let has_path = typed(words).next().is_some();
        let words: Vec<String> = words
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let is_number = |word: &String| word.chars().any(|c| c.is_ascii_digit()) || number_word(word).is_some();
        Self { has_number: words.iter().any(is_number), has_path, words }
    }

    /// Whether an argument that need not be there is asked for. `shape`: whether the executor needs no argument at all, and
    /// how many it has.
    fn wants(&self, name: &str, schema: &Value, role: Option<&str>, (free, of): (bool, usize)) -> bool {
        let is_named = name.split('_').all(|part| self.words.iter().any(|word| word == part));
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        let choices = schema.get("enum").and_then(Value::as_array).map_or(0, Vec::len);
        match (kind, role) {
            // Where it is looked for is said by a name; a place of its own accord only hides what lies elsewhere.
            (_, Some("path")) => of == 1 || is_named || self.has_path,
            ("boolean", _) => is_named,
            ("integer" | "number", _) => self.has_number && schema.get("default").is_some(),
            ("string", _) if schema.get("pattern").is_some() && schema.get("format").is_none() => false,
            ("string", _) if schema.get("format").is_some() => self.has_number,
            (_, _) if choices > 0 => choices > SWITCH || is_named,
            ("string", _) => free,
            ("array", _) => true,
            (_, _) => is_named,
        }
    }
}

/// A schema without words: what they say stands in the question.
fn plain(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, value)| {
                !(["title", "default", "examples"].contains(&key.as_str())
                    || *key == "description" && value.is_string())
            });
            Value::Object(kept.map(|(key, value)| (key.clone(), plain(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other.clone(),
    }
}

/// What an argument is, in a few words: the first part of its description.
fn said(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let first = text.split([';', ':']).next().unwrap_or_default();
    let first = first.split(", as a path below").next().unwrap_or_default();
    line(first, MAX_SAYS).trim().to_owned()
}

/// A text that stands in this file, as a reply says so.
fn of_file(path: &Value) -> Value {
    Value::Object(Map::from_iter([("file".to_owned(), path.clone())]))
}

/// A request that an executor serves, in this language if there is one, and the reply that has its arguments.
#[must_use]
pub fn example(candidate: &Candidate, fields: &[Field], lang: Lang) -> Option<(String, String)> {
    let one = |example: &Example| {
        let (say, args, from) = (example.say(), example.args()?, example.from());
        let mut reply = Map::new();
        for field in fields {
            let value = match &field.kind {
                Kind::Text => from.and_then(|from| from.args.get("path")).map(of_file),
                Kind::Words => args.get(&field.name).and_then(Value::as_str).map(|words| Value::from(vec![words])),
                Kind::Path | Kind::Given(_) => args.get(&field.name).cloned(),
            };
            match value {
                Some(value) => drop(reply.insert(field.name.clone(), value)),
                None if field.required => return None,
                None => {}
            }
        }
        let text = Value::Object(reply).to_string();
        (say.len() + text.len() <= MAX_EXAMPLE).then(|| (line(say, MAX_EXAMPLE).replace('"', "'"), text))
    };
    let all: Vec<(String, String)> = candidate.examples.iter().filter_map(one).collect();
    let of_lang = all.iter().find(|(say, _)| spoken_in(say) == Some(lang)).or(all.first());
    of_lang.filter(|_| !fields.is_empty()).cloned()
}

/// The schema of these arguments, where these files are known.
#[must_use]
pub fn schema(fields: &[Field], names: &[String]) -> Value {
    let named: Vec<&str> = names.iter().map(String::as_str).collect();
    let file = || Shape::object([("file".to_owned(), Shape::one_of(&named), true)]);
    let one = |field: &Field| {
        let shape = match &field.kind {
            Kind::Path if names.is_empty() => Shape::text(),
            Kind::Path => Shape::one_of(&named),
            Kind::Text if names.is_empty() => Shape::text(),
            Kind::Text => file(),
            Kind::Words => Shape::list(Shape::text(), 1, MAX_WORDS),
            Kind::Given(schema) => Shape::Given(schema.clone()),
        };
        (field.name.clone(), shape, field.required)
    };
    Shape::object(fields.iter().map(one)).document()
}

/// What a reply makes of an argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Filled {
    /// A value.
    Value(Value),
    /// What the file of this name holds.
    File(String),
}

/// The arguments in a reply, each looked at for what it must be.
///
/// # Errors
/// In a sentence, when one is missing, is none of the names, or is not asked for.
pub fn filled(
    fields: &[Field],
    names: &[String],
    mut object: Map<String, Value>,
) -> Result<Vec<(String, Filled)>, String> {
    let mut all = Vec::new();
    for field in fields {
        let name = &field.name;
        let Some(value) = object.remove(name).filter(|value| !value.is_null()) else {
            if field.required {
                return Err(format!("`{name}` is missing"));
            }
            continue;
        };
        let known = |text: &str| names.is_empty() || names.iter().any(|one| one == text);
        let wrong = || format!("`{name}` is none of the names that were offered");
        let value = match (&field.kind, value) {
            (Kind::Path, Value::String(path)) if known(&path) => Filled::Value(Value::String(path)),
            (Kind::Text, Value::String(text)) if names.is_empty() => Filled::Value(Value::String(text)),
            (Kind::Text, Value::Object(map)) => {
                let file = map.get("file").and_then(Value::as_str).filter(|file| names.iter().any(|one| one == file));
                Filled::File(file.filter(|_| map.len() == 1).ok_or_else(wrong)?.to_owned())
            }
            (Kind::Words, Value::Array(words)) => Filled::Value(Value::String(any_of(&words).ok_or_else(wrong)?)),
            (Kind::Given(_), value) => Filled::Value(value),
            (Kind::Path | Kind::Text | Kind::Words, _) => return Err(wrong()),
        };
        all.push((name.clone(), value));
        if field.kind == Kind::Words {
            all.push(("regex".to_owned(), Filled::Value(Value::Bool(true))));
        }
    }
    match object.keys().next() {
        Some(unknown) => Err(format!("`{}` was not asked for", line(unknown, 40))),
        None => Ok(all),
    }
}

/// A regular expression for any of these words, each alone, as far as it usually stays the same: who asks until when the car
/// is insured finds the insurance.
fn any_of(words: &[Value]) -> Option<String> {
    let texts: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
    if !(1..=MAX_WORDS).contains(&texts.len()) {
        return None;
    }
    let alone: Vec<&str> = texts.iter().flat_map(|text| text.split(|c: char| c.is_whitespace())).collect();
    let weighty = |word: &&&str| mark(word).weight() > 0.0;
    let kept: Vec<&str> =
        if alone.iter().any(|word| weighty(&word)) { alone.iter().filter(weighty).copied().collect() } else { alone };
    let mut all: Vec<String> = Vec::new();
    for word in kept.iter().filter(|word| !word.is_empty()).take(MAX_SEARCHED) {
        let word = escaped(stem(word));
        if !all.contains(&word) {
            all.push(word);
        }
    }
    (!all.is_empty()).then(|| all.join("|"))
}

/// What of a long word usually stays the same.
fn stem(word: &str) -> &str {
    let count = word.chars().count();
    if count < LONG || !word.chars().all(char::is_alphabetic) {
        return word;
    }
    let end = word.char_indices().nth((count - ENDING).max(LONG - 1)).map_or(word.len(), |(at, _)| at);
    &word[..end]
}

/// A word without a meaning of its own in a regular expression.
fn escaped(word: &str) -> String {
    word.chars().flat_map(|c| (!c.is_alphanumeric() && c != ' ').then_some('\\').into_iter().chain([c])).collect()
}
