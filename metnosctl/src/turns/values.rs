//! The arguments of `run`: `key=value` pairs, and what their values mean. One rule: a value
//! that is JSON of a type the schema wants is that JSON; everything else is text.

use metnos_proto::json::{self, Limits};
use serde_json::{Map, Value};

use crate::error::CtlError;

/// A pair as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    key: String,
    raw: String,
}

fn usage(what: String) -> CtlError {
    CtlError::Usage { what, remedy: "write KEY=VALUE, for example `path=notes/welcome.md`, or use --args".to_owned() }
}

/// Splits the pairs.
///
/// # Errors
/// For a word without `=`, an empty key, or a key that comes twice.
pub fn pairs(words: &[String]) -> Result<Vec<Pair>, CtlError> {
    let mut pairs: Vec<Pair> = Vec::with_capacity(words.len());
    for word in words {
        match word.split_once('=') {
            None => return Err(usage(format!("`{word}` is no argument: there is no `=` in it"))),
            Some(("", _)) => return Err(usage(format!("`{word}` has no key before the `=`"))),
            Some((key, _)) if pairs.iter().any(|pair| pair.key == key) => {
                return Err(usage(format!("the key `{key}` comes twice")));
            }
            Some((key, raw)) => pairs.push(Pair { key: key.to_owned(), raw: raw.to_owned() }),
        }
    }
    Ok(pairs)
}

/// Whether any value could be something else than text, so that the schema must be known.
#[must_use]
pub fn need_schema(pairs: &[Pair]) -> bool {
    pairs.iter().any(|pair| as_json(&pair.raw).is_some())
}

/// The arguments; `input` is the executor's input schema, where it is known.
#[must_use]
pub fn arguments(pairs: Vec<Pair>, input: Option<&Value>) -> Map<String, Value> {
    let wanted = |key: &str| input.and_then(|input| input.get("properties")).and_then(|all| all.get(key));
    pairs
        .into_iter()
        .map(|pair| {
            let value = value(&pair.raw, wanted(&pair.key));
            (pair.key, value)
        })
        .collect()
}

/// All arguments as one text.
///
/// # Errors
/// When it is not one JSON object without duplicate keys, within the limits of arguments.
pub fn check_object(text: &str) -> Result<(), CtlError> {
    json::parse_object(text.as_bytes(), Limits::ARGUMENTS).map(|_| ()).map_err(|error| CtlError::Usage {
        what: format!("the arguments are no JSON object: {error}"),
        remedy: "for example: --args '{\"path\": \"notes/welcome.md\"}'".to_owned(),
    })
}

fn as_json(raw: &str) -> Option<Value> {
    json::parse_strict(raw.as_bytes(), Limits::ARGUMENTS).ok()
}

fn value(raw: &str, wanted: Option<&Value>) -> Value {
    let text = || Value::String(raw.to_owned());
    match (as_json(raw), wanted) {
        (None, _) => text(),
        (Some(json), None) => json,
        (Some(json), Some(schema)) => match wants(schema, &json) {
            Some(false) => text(),
            Some(true) | None => json,
        },
    }
}

/// Whether a schema wants a value of this type; `None` when it does not say.
fn wants(schema: &Value, value: &Value) -> Option<bool> {
    match schema.get("type") {
        Some(Value::String(name)) => return Some(is_type(name, value)),
        Some(Value::Array(names)) => {
            return Some(names.iter().filter_map(Value::as_str).any(|name| is_type(name, value)));
        }
        _ => {}
    }
    if let Some(only) = schema.get("const") {
        return Some(only == value);
    }
    if let Some(Value::Array(list)) = schema.get("enum") {
        return Some(list.contains(value));
    }
    let Some(Value::Array(choices)) = schema.get("anyOf").or_else(|| schema.get("oneOf")) else {
        return None;
    };
    let answers: Vec<Option<bool>> = choices.iter().map(|choice| wants(choice, value)).collect();
    if answers.contains(&Some(true)) {
        Some(true)
    } else if answers.contains(&None) {
        None
    } else {
        Some(false)
    }
}

fn is_type(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => name == "number" || name == "integer" && !number.is_f64(),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn of(raw: &str, schema: Value) -> Value {
        value(raw, Some(&schema))
    }

    #[test]
    fn a_value_becomes_json_only_where_the_schema_wants_that_type() {
        let text = || json!({"type": "string"});
        assert_eq!(of("12", text()), json!("12"));
        assert_eq!(of("true", text()), json!("true"));
        assert_eq!(of("notes/a.md", text()), json!("notes/a.md"));
        assert_eq!(of("12", json!({"type": "integer"})), json!(12));
        assert_eq!(of("1.5", json!({"type": "number"})), json!(1.5));
        assert_eq!(of("1.5", json!({"type": "integer"})), json!("1.5"), "policyd says what is wrong with it");
        assert_eq!(of("true", json!({"type": "boolean"})), json!(true));
        assert_eq!(of("null", json!({"type": ["null", "string"]})), json!(null));
        assert_eq!(of("[1,2]", json!({"type": "array"})), json!([1, 2]));
        assert_eq!(of("{\"a\":1}", json!({"type": "object"})), json!({"a": 1}));
    }

    #[test]
    fn a_quoted_string_is_a_way_to_write_what_a_shell_cannot() {
        assert_eq!(of("\"a\\u0000b\"", json!({"type": "string"})), json!("a\0b"));
        assert_eq!(of("\"12\"", json!({"type": "string"})), json!("12"));
    }

    #[test]
    fn without_a_schema_what_is_json_is_json() {
        assert_eq!(value("12", None), json!(12));
        assert_eq!(value("a b", None), json!("a b"));
        assert_eq!(of("12", json!({"description": "anything"})), json!(12));
    }

    #[test]
    fn choices_constants_and_enumerations_are_looked_into() {
        let choice = json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
        assert_eq!(of("12", choice.clone()), json!(12));
        assert_eq!(of("true", choice), json!("true"));
        assert_eq!(of("1", json!({"enum": [1, 2]})), json!(1));
        assert_eq!(of("1", json!({"enum": ["1"]})), json!("1"));
        assert_eq!(of("true", json!({"const": true})), json!(true));
        assert_eq!(of("1", json!({"oneOf": [{"type": "string"}, {}]})), json!(1));
    }

    #[test]
    fn only_the_first_equals_sign_divides_and_a_key_comes_once() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let good = pairs(&words(&["a=b=c", "d="])).unwrap();
        assert_eq!(arguments(good, None), *json!({"a": "b=c", "d": ""}).as_object().unwrap());
        for bad in [&["a"][..], &["=a"], &["a=1", "a=2"]] {
            assert_eq!(pairs(&words(bad)).unwrap_err().exit(), crate::error::Exit::Usage, "{bad:?}");
        }
    }

    #[test]
    fn the_schema_is_asked_for_only_when_it_matters() {
        let of = |word: &str| need_schema(&pairs(&[word.to_owned()]).unwrap());
        assert!(!of("path=notes/welcome.md"));
        assert!(of("path=12"));
        assert!(of("path=\"x\""));
    }

    #[test]
    fn arguments_that_are_no_object_or_say_a_thing_twice_are_wrong_usage() {
        assert!(check_object("{\"path\": \"a\\u0000b\"}").is_ok());
        for text in ["", "[]", "{", "{\"a\":1,\"a\":2}", "{} {}", "12"] {
            assert_eq!(check_object(text).unwrap_err().exit(), crate::error::Exit::Usage, "{text}");
        }
    }

    proptest! {
        #[test]
        fn for_a_text_whatever_is_typed_arrives_as_typed_unless_it_is_quoted(raw in "[^\"]{0,40}") {
            prop_assert_eq!(of(&raw, json!({"type": "string"})), Value::String(raw));
        }
    }
}
