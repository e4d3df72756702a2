//! The JSON Schema of values that were seen, and how Python calls them.

use serde_json::{Map, Value};

/// The longest text that an argument or a result may have, in characters.
const MAX_TEXT: u64 = 100_000;
/// The longest list.
const MAX_ITEMS: u64 = 10_000;

/// The schema that all these values fit, and nothing of another kind.
#[must_use]
pub fn of(values: &[&Value]) -> Value {
    let mut kinds: Vec<&str> = Vec::new();
    for value in values {
        let kind = kind(value);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if kinds.contains(&"number") {
        kinds.retain(|kind| *kind != "integer");
    }
    let mut schema = Map::new();
    match kinds.as_slice() {
        [] => return Value::Object(schema),
        [kind] => schema.insert("type".to_owned(), Value::from(*kind)),
        several => schema.insert("type".to_owned(), Value::from(several)),
    };
    if kinds.contains(&"string") {
        schema.insert("maxLength".to_owned(), Value::from(MAX_TEXT));
    }
    if kinds.contains(&"array") {
        let items: Vec<&Value> = values.iter().filter_map(|value| value.as_array()).flatten().collect();
        schema.insert("items".to_owned(), of(&items));
        schema.insert("maxItems".to_owned(), Value::from(MAX_ITEMS));
    }
    if kinds.contains(&"object") {
        let inner: Vec<&Value> = values.iter().filter_map(|value| value.as_object()).flat_map(Map::values).collect();
        schema.insert("additionalProperties".to_owned(), of(&inner));
    }
    Value::Object(schema)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The schema of a type that a specification names, if it is one.
#[must_use]
pub fn of_type(name: &str) -> Option<Value> {
    let of = |kind: &str, more: (&str, Value)| object([("type", Value::from(kind)), more]);
    let plain = |kind: &str| object([("type", Value::from(kind))]);
    match name.trim().to_lowercase().as_str() {
        "string" | "str" | "text" => Some(of("string", ("maxLength", Value::from(MAX_TEXT)))),
        "integer" | "int" => Some(plain("integer")),
        "number" | "float" => Some(plain("number")),
        "boolean" | "bool" => Some(plain("boolean")),
        "array" | "list" => Some(of("array", ("maxItems", Value::from(MAX_ITEMS)))),
        "object" | "dict" => Some(plain("object")),
        _ => None,
    }
}

/// A JSON object of these entries.
#[must_use]
pub fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Object(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// How Python calls it, for a prompt.
#[must_use]
pub fn hint(schema: &Value) -> String {
    let one = |name: &str| {
        let inner = |key: &str| schema.get(key).filter(|part| part.get("type").is_some()).map(hint);
        match name {
            "string" => "str".to_owned(),
            "integer" => "int".to_owned(),
            "number" => "float".to_owned(),
            "boolean" => "bool".to_owned(),
            "array" => inner("items").map_or_else(|| "list".to_owned(), |items| format!("list[{items}]")),
            "object" => {
                inner("additionalProperties").map_or_else(|| "dict".to_owned(), |values| format!("dict[str, {values}]"))
            }
            _ => "None".to_owned(),
        }
    };
    match schema.get("type") {
        Some(Value::String(name)) => one(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(one).collect::<Vec<_>>().join(" | "),
        Some(_) | None => "object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn schema_covers_what_was_seen_and_is_named_as_python_does() {
        let of = |values: &Value| of(&values.as_array().unwrap().iter().collect::<Vec<_>>());
        for (values, schema, named) in [
            (json!(["a", "b"]), json!({"type": "string", "maxLength": 100_000}), "str"),
            (json!([1, 2]), json!({"type": "integer"}), "int"),
            (json!([1, 2.5]), json!({"type": "number"}), "float"),
            (json!([null, true]), json!({"type": ["null", "boolean"]}), "None | bool"),
            (json!([[], [1]]), json!({"type": "array", "items": {"type": "integer"}, "maxItems": 10_000}), "list[int]"),
            (json!([[]]), json!({"type": "array", "items": {}, "maxItems": 10_000}), "list"),
            (
                json!([{"a": 1}, {"b": 2}]),
                json!({"type": "object", "additionalProperties": {"type": "integer"}}),
                "dict[str, int]",
            ),
        ] {
            assert_eq!(of(&values), schema, "{values}");
            assert_eq!(hint(&schema), named);
        }
        assert_eq!(of_type("List"), Some(json!({"type": "array", "maxItems": 10_000})));
        assert_eq!(of_type("a list of texts"), None);
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e6..1e6).prop_map(|number: f64| json!(number + 0.5)),
            ".{0,9}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// Every value fits the schema that was made of it and others.
        #[test]
        fn each_value_fits_the_schema_made_of_all(seen in prop::collection::vec(values(), 1..5)) {
            let schema = of(&seen.iter().collect::<Vec<_>>());
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            for value in &seen {
                prop_assert!(validator.is_valid(value), "{} does not fit {}", value, schema);
            }
        }
    }
}
