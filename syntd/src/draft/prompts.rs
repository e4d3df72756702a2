//! What the model of the role `synth` is asked: for a specification, for examples, for the function, and for its correction.
//! Each is a call of its own, so that what writes the code has not written its tests. Everything that the owner or an earlier
//! reply has said stands in them as data; nothing that comes back is believed.

use std::fmt::Write as _;

use metnos_proto::doc::draft::DraftLang;
use metnos_proto::prompt::{Block, Message, Prompt};
use serde_json::Value;

use crate::draft::python::{is_python_name, literal};
use crate::draft::shape::hint;
use crate::draft::spec::{Field, Spec};
use crate::draft::{BAD_INPUT, FUNCTION};

/// How many examples the code's prompt shows.
const SHOWN: usize = 6;
/// The most characters of one example that is shown.
const MAX_EXAMPLE: usize = 600;

const SPECIFY: &str = "You specify a small function. Reply with one JSON object and nothing else: {\"name\": \"snake_case\", \
\"summary\": \"one sentence\", \"inputs\": [{\"name\": \"snake_case\", \"type\": \"string|integer|number|boolean|array|object\", \
\"about\": \"a few words\"}], \"outputs\": [the same]}. It only computes: it cannot read files, the network or the clock.";

const EXEMPLIFY: &str = "You write test cases for a function before it exists. Reply with one JSON object and nothing else: \
{\"examples\": [{\"in\": {arguments}, \"out\": {results}}]}. Give five cases: usual ones, an edge, and one whose arguments make \
no sense, with \"out\": null. Be exact: each result must be right.";

const WRITE: &str = "You write one Python 3.11 function and nothing else, in one ```python block. Only the standard library: no \
files, no network, no input, no print, no exec or eval. No tests, no example calls.";

/// What a specification must be, where the server holds a reply to a schema.
const SPECIFICATION: &str = r##"{
    "type": "object", "additionalProperties": false, "required": ["name", "summary", "inputs", "outputs"],
    "properties": {
        "name": {"type": "string"}, "summary": {"type": "string"},
        "inputs": {"$ref": "#/$defs/fields"}, "outputs": {"$ref": "#/$defs/fields"}
    },
    "$defs": {
        "fields": {"type": "array", "minItems": 1, "maxItems": 4, "items": {
            "type": "object", "additionalProperties": false, "required": ["name", "type", "about"],
            "properties": {
                "name": {"type": "string"}, "about": {"type": "string"},
                "type": {"enum": ["string", "integer", "number", "boolean", "array", "object"]}
            }
        }}
    }
}"##;

/// What examples must be.
const EXAMPLES: &str = r#"{
    "type": "object", "additionalProperties": false, "required": ["examples"],
    "properties": {"examples": {"type": "array", "minItems": 3, "maxItems": 8, "items": {
        "type": "object", "additionalProperties": false, "required": ["in", "out"],
        "properties": {"in": {"type": "object"}, "out": {"type": ["object", "null"]}}
    }}}
}"#;

fn prompt(system: &str, user: String, schema: Option<Value>, temperature: u16) -> Prompt {
    Prompt {
        system: vec![Block { text: system.to_owned(), cache: true }],
        messages: vec![Message::User { text: user }],
        schema,
        temperature: Some(temperature),
        ..Prompt::default()
    }
}

/// Asks for what goes in and out.
#[must_use]
pub fn specify(wish: &str) -> Prompt {
    prompt(SPECIFY, format!("The function: {wish}"), serde_json::from_str(SPECIFICATION).ok(), 0)
}

/// Asks for examples, before there is any code.
#[must_use]
pub fn exemplify(spec: &Spec) -> Prompt {
    let mut user = format!(
        "The function: {}\nArguments: {}\nResults: {}\n",
        spec.wish,
        listed(&spec.inputs),
        listed(&spec.outputs)
    );
    for example in &spec.examples {
        let _ =
            writeln!(user, "Known: {} gives {}", Value::Object(example.input.clone()), output(example.output.as_ref()));
    }
    prompt(EXEMPLIFY, user, serde_json::from_str(EXAMPLES).ok(), 0)
}

/// Asks for the function. Each candidate is asked for with another freedom of words, in hundredths, and told what was wrong with
/// the one before, where there was one.
#[must_use]
pub fn write(spec: &Spec, temperature: u16, before: &str) -> Prompt {
    let mut task = task(spec);
    if !before.is_empty() {
        let _ = writeln!(task, "\nAnother attempt was wrong, so take another way. {before}");
    }
    prompt(WRITE, task, None, temperature)
}

/// Asks for its correction, with what has failed.
#[must_use]
pub fn repair(spec: &Spec, code: &str, failed: &str) -> Prompt {
    let mut asked = write(spec, 20, "");
    asked.messages.push(Message::Assistant { text: format!("```python\n{code}\n```"), calls: Vec::new() });
    let text = format!("That is not right yet. {failed}\nCorrect it, and reply with the whole function.");
    asked.messages.push(Message::User { text });
    asked
}

fn task(spec: &Spec) -> String {
    let tongue = match spec.lang {
        DraftLang::En => "",
        DraftLang::It => " (in Italian)",
    };
    let mut text = format!("Task{tongue}: {}\n\nWrite `def {}`.\n", spec.wish, signature(spec));
    let _ = writeln!(text, "Arguments: {}.", listed(&spec.inputs));
    match spec.outputs.as_slice() {
        [one] => {
            let _ = writeln!(text, "It returns the {} itself ({}).", one.name.replace('_', " "), hint(&one.schema));
        }
        several => {
            let _ = writeln!(text, "It returns a dict with exactly these keys: {}.", listed(several));
        }
    }
    let _ = writeln!(text, "For arguments that make no sense it raises ValueError.");
    text.push_str("\nExamples:\n");
    for example in spec.examples.iter().take(SHOWN) {
        let call = call(spec, &Value::Object(example.input.clone()));
        let line = match (&example.output, spec.outputs.as_slice()) {
            (None, _) => format!("{call}  # raises ValueError"),
            (Some(output), [one]) => format!("{call} == {}", literal(output.get(&one.name).unwrap_or(&Value::Null))),
            (Some(output), _) => format!("{call} == {}", literal(&Value::Object(output.clone()))),
        };
        if line.chars().count() <= MAX_EXAMPLE {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// What a failed example says to a model: the call, what it must give, and what it gives.
#[must_use]
pub fn failure(spec: &Spec, at: usize, detail: &str) -> String {
    let Some(example) = spec.examples.get(at) else { return detail.to_owned() };
    let call = call(spec, &Value::Object(example.input.clone()));
    let wanted = match (&example.output, spec.outputs.as_slice()) {
        (None, _) => "must raise ValueError".to_owned(),
        (Some(output), [one]) => format!("must return {}", literal(output.get(&one.name).unwrap_or(&Value::Null))),
        (Some(output), _) => format!("must return {}", literal(&Value::Object(output.clone()))),
    };
    let text = format!("{call} {wanted}, but: {detail}");
    text.chars().take(MAX_EXAMPLE).collect()
}

/// Whether every argument can be a parameter of its own.
#[must_use]
pub fn has_parameters(spec: &Spec) -> bool {
    spec.inputs.iter().all(|field| is_python_name(&field.name))
}

/// The parameters as the function must have them.
#[must_use]
pub fn signature(spec: &Spec) -> String {
    if !has_parameters(spec) {
        return format!("{FUNCTION}(args)");
    }
    let (needed, more): (Vec<&Field>, Vec<&Field>) = spec.inputs.iter().partition(|field| field.required);
    let parameter = |field: &&Field| field.name.clone();
    let optional = |field: &&Field| format!("{}=None", field.name);
    let all: Vec<String> = needed.iter().map(parameter).chain(more.iter().map(optional)).collect();
    format!("{FUNCTION}({})", all.join(", "))
}

fn call(spec: &Spec, input: &Value) -> String {
    if !has_parameters(spec) {
        return format!("{FUNCTION}({})", literal(input));
    }
    let arguments = input.as_object().into_iter().flatten().map(|(name, value)| format!("{name}={}", literal(value)));
    format!("{FUNCTION}({})", arguments.collect::<Vec<_>>().join(", "))
}

fn listed(fields: &[Field]) -> String {
    let one = |field: &Field| {
        let about = if field.about.is_empty() { String::new() } else { format!(", {}", field.about) };
        format!("{} ({}{about})", field.name, hint(&field.schema))
    };
    fields.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn output(output: Option<&serde_json::Map<String, Value>>) -> String {
    output.map_or_else(|| format!("the error {BAD_INPUT}"), |map| Value::Object(map.clone()).to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::draft::testing::order;
    use serde_json::json;

    fn spec(examples: Value) -> Spec {
        Spec::of_examples(&order("add two numbers", examples)).unwrap()
    }

    fn user(prompt: &Prompt) -> String {
        let text = |message: &Message| match message {
            Message::User { text } => text.clone(),
            Message::Assistant { .. } | Message::Results { .. } => String::new(),
        };
        prompt.messages.iter().map(text).collect()
    }

    #[test]
    fn task_shows_the_function_as_python_calls_it() {
        let text = user(&write(
            &spec(json!([{"in": {"a": 1, "b": -2.5}, "out": {"sum": -1.5}}, {"in": {"a": 1}, "out": null}])),
            20,
            "",
        ));
        for part in [
            "def solve(a, b=None)",
            "It returns the sum itself (float)",
            "solve(a=1, b=-2.5) == -1.5",
            "solve(a=1)  # raises ValueError",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = user(&write(&spec(json!([{"in": {"class": "x"}, "out": {"a": null, "b": true}}])), 20, ""));
        for part in [
            "def solve(args)",
            "solve({\"class\": \"x\"}) == {\"a\": None, \"b\": True}",
            "exactly these keys: a (None); b (bool)",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn model_is_told_in_which_language_the_wish_is() {
        let mut spec = spec(json!([{"in": {"a": 1}, "out": {"b": 2}}]));
        spec.lang = DraftLang::It;
        assert!(user(&write(&spec, 0, "")).starts_with("Task (in Italian): "));
    }

    #[test]
    fn who_writes_the_code_is_not_asked_for_its_tests() {
        let spec = spec(json!([{"in": {"a": 1}, "out": {"b": 2}}]));
        assert!(
            specify("w").schema.is_some() && exemplify(&spec).schema.is_some() && write(&spec, 0, "").schema.is_none()
        );
        let asked = repair(&spec, "def solve(a): pass", "solve(a=1) gave None");
        assert_eq!(asked.messages.len(), 3);
        assert!(user(&asked).contains("gave None"));
        assert!(user(&write(&spec, 60, "It crashed.")).contains("wrong, so take another way. It crashed."));
        assert_eq!(failure(&spec, 0, "3 came"), "solve(a=1) must return 2, but: 3 came");
    }
}
