//! Inputs that no example shows: empty, huge, of other alphabets, negative. A draft may refuse them; it must not crash on them,
//! and the same input must give the same result again (design: growth §1).

use metnos_proto::doc::draft::{DraftExample, TriedInput};
use metnos_proto::json::same;
use serde_json::{Map, Value};

use crate::draft::spec::Spec;

/// The most that are tried.
pub const MAX_STRANGE: usize = 12;
/// How long a long text is, in characters.
const LONG: usize = 50_000;
/// How many entries a long list has.
const MANY: usize = 2_000;
/// The longest sentence about a weakness, in characters.
const MAX_SAID: usize = 160;

/// The inputs: each is an example with one argument that is strange, and what is strange about it.
#[must_use]
pub fn inputs(spec: &Spec) -> Vec<(String, Map<String, Value>)> {
    let Some(example) = spec.examples.iter().find(|example| example.output.is_some()) else { return Vec::new() };
    let mut all = Vec::new();
    for (name, value) in &example.input {
        for (what, strange) in strange(value) {
            let mut input = example.input.clone();
            input.insert(name.clone(), strange);
            all.push((format!("{name} is {what}"), input));
        }
    }
    all.truncate(MAX_STRANGE);
    all
}

fn strange(value: &Value) -> Vec<(&'static str, Value)> {
    match value {
        Value::String(_) => vec![
            ("empty", Value::from("")),
            ("white space", Value::from(" \t\n ")),
            ("of another alphabet", Value::from("漢字 àèì 🙂 \u{202e}abc")),
            ("very long", Value::from("ab1 ".repeat(LONG / 4))),
        ],
        Value::Number(_) => {
            vec![
                ("zero", Value::from(0)),
                ("negative", Value::from(-1)),
                ("very large", Value::from(1_000_000_000_000_u64)),
            ]
        }
        Value::Array(items) => {
            let long = items.first().map_or(Vec::new(), |first| vec![first.clone(); MANY]);
            vec![("empty", Value::Array(Vec::new())), ("very long", Value::Array(long))]
        }
        Value::Object(_) => vec![("empty", Value::Object(Map::new()))],
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

/// What the results of strange inputs say of a draft, a sentence each.
#[must_use]
pub fn weaknesses(asked: &[(String, Map<String, Value>)], came: &[TriedInput]) -> Vec<String> {
    let failed = |((what, _), tried): (&(String, Map<String, Value>), &TriedInput)| {
        let fine = matches!(tried.outcome.as_str(), "ok" | "error");
        let why = tried.result.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
        (!fine).then(|| format!("when {what} it ends with `{}`: {why}", tried.outcome).chars().take(MAX_SAID).collect())
    };
    asked.iter().zip(came).filter_map(failed).collect()
}

/// The examples that are called a second time.
#[must_use]
pub fn second_run(spec: &Spec) -> Vec<&DraftExample> {
    spec.examples.iter().filter(|example| example.output.is_some()).take(MAX_STRANGE).collect()
}

/// Whether the same inputs gave other results the second time.
#[must_use]
pub fn unsteady(spec: &Spec, asked: &[&DraftExample], came: &[TriedInput]) -> Option<String> {
    let same = |example: &DraftExample, tried: &TriedInput| {
        let mut values = example.output.iter().flatten();
        tried.outcome == "ok"
            && values.all(|(name, value)| tried.result.get(name).is_some_and(|found| same(found, value)))
    };
    let differs = asked.iter().zip(came).any(|(example, tried)| !same(example, tried));
    differs.then(|| format!("{} gives another result when it is called again", spec.name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::draft::testing::order;
    use serde_json::json;

    #[test]
    fn strange_inputs_keep_the_other_arguments_and_crashes_are_told() {
        let order = order("w", json!([{"in": {"n": 3, "text": "a"}, "out": {"b": 1}}]));
        let spec = Spec::of_examples(&order).unwrap();
        let asked = inputs(&spec);
        assert_eq!(asked.len(), 7);
        assert!(asked.iter().all(|(_, input)| input["n"] == 3 || input["text"] == "a"));
        let tried = |outcome: &str| TriedInput {
            outcome: outcome.to_owned(),
            result: json!({"ok": false, "error": {"class": outcome, "message": "ZeroDivisionError"}}),
        };
        let found = weaknesses(&asked[..3], &[tried("crashed"), tried("ok"), tried("error")]);
        assert_eq!(found, ["when n is zero it ends with `crashed`: ZeroDivisionError"]);
        let again = second_run(&spec);
        let came = |b: u8| [TriedInput { outcome: "ok".to_owned(), result: json!({"ok": true, "b": b}) }];
        assert_eq!(unsteady(&spec, &again, &came(1)), None);
        assert!(unsteady(&spec, &again, &came(2)).unwrap().contains("another result"));
    }
}
