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

/// Reads the result of a call that succeeded.
///
/// # Errors
/// When it is no object.
pub(super) fn read(bytes: &[u8]) -> Result<Outcome, String> {
    let object = json::parse_object(bytes, Limits::result(MAX_PAYLOAD)).map_err(|error| error.to_string())?;
    let mut names = Vec::new();
    paths(&Value::Object(object.clone()), &mut names);
    let texts = object.values().filter_map(Value::as_str);
    let longest = texts.max_by_key(|text| text.len()).filter(|text| text.len() * 100 >= bytes.len() * MOST);
    let whole = longest.map_or_else(|| lean(&object).to_string(), str::to_owned);
    Ok(Outcome { shown: shortened(&whole, MAX_RESULT), names })
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
