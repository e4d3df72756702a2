//! The four files of a draft. Everything around the model's function has one fixed form: what goes in and out, the tests, what
//! it is granted (nothing), and the sentences that people read, none of which a model has written.

use std::fmt::Write as _;

use metnos_proto::executor::schema::DIALECT;
use metnos_proto::ids::TurnId;
use metnos_proto::json::child;
use metnos_proto::parcel::Texts;
use serde_json::{Map, Value};

use crate::draft::prompts::has_parameters;
use crate::draft::python::{literal, quoted};
use crate::draft::shape::object;
use crate::draft::spec::{Field, Spec};
use crate::draft::{BAD_INPUT, FUNCTION};

/// The most characters of an example in a manifest.
const MAX_SAY: usize = 200;
/// The version of a draft.
pub const VERSION: &str = "1.0.0";

/// The files of a draft of this run, written on that day (`2026-11-30`).
#[must_use]
pub fn write(spec: &Spec, code: &str, run: TurnId, day: &str) -> Texts {
    Texts { manifest: manifest(spec, run, day), code: main(spec, code), schema: schema(spec), tests: tests(spec) }
}

/// The code around the model's function: it passes the arguments on, and names the result.
#[must_use]
pub fn main(spec: &Spec, code: &str) -> String {
    let call = if has_parameters(spec) { format!("{FUNCTION}(**args)") } else { format!("{FUNCTION}(args)") };
    let result = match spec.outputs.as_slice() {
        [one] => format!("{{\"ok\": True, {}: value}}", quoted(&one.name)),
        _ => "{\"ok\": True, **value}".to_owned(),
    };
    format!(
        "\"\"\"{}\"\"\"\n{code}\n\n\ndef run(args, ctx):\n    try:\n        value = {call}\n    except ValueError as error:\n        \
         return {{\"ok\": False, \"error\": {{\"class\": \"{BAD_INPUT}\", \"message\": str(error)[:200]}}}}\n    return {result}\n",
        spec.summary.replace(['\\', '"'], "'")
    )
}

fn schema(spec: &Spec) -> String {
    let properties = |fields: &[Field]| {
        let property = |field: &Field| {
            let mut schema = field.schema.clone();
            if let Some(map) = schema.as_object_mut()
                && !field.about.is_empty()
            {
                map.insert("description".to_owned(), Value::from(field.about.as_str()));
            }
            (field.name.clone(), schema)
        };
        fields.iter().map(property).collect::<Map<String, Value>>()
    };
    let required = |fields: &[Field]| -> Vec<Value> {
        fields.iter().filter(|field| field.required).map(|field| Value::from(field.name.as_str())).collect()
    };
    let closed = |required: Vec<Value>, properties: Map<String, Value>| {
        object([
            ("type", Value::from("object")),
            ("additionalProperties", Value::from(false)),
            ("required", Value::Array(required)),
            ("properties", Value::Object(properties)),
        ])
    };
    let mut output = properties(&spec.outputs);
    output.insert("ok".to_owned(), object([("const", Value::from(true))]));
    let all = [Value::from("ok")].into_iter().chain(required(&spec.outputs)).collect();
    let definitions =
        [("Input", closed(required(&spec.inputs), properties(&spec.inputs))), ("Output", closed(all, output))];
    let document = object([("$schema", Value::from(DIALECT)), ("definitions", object(definitions))]);
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn tests(spec: &Spec) -> String {
    let mut text = String::from(
        "\"\"\"What it promises: the owner's examples first, then those that a model has written.\"\"\"\n\n\n",
    );
    text.push_str("def cases():\n    return [\n");
    for (at, example) in spec.examples.iter().enumerate() {
        let whose = if at < spec.owners { "the owner's example" } else { "the model's example" };
        let number = if at < spec.owners { at + 1 } else { at - spec.owners + 1 };
        let expect = match &example.output {
            Some(output) => {
                let values: Map<String, Value> =
                    output.iter().map(|(name, value)| (child("", name), value.clone())).collect();
                object([("ok", Value::from(true)), ("values", Value::Object(values))])
            }
            None => object([("ok", Value::from(false)), ("class", Value::from(BAD_INPUT))]),
        };
        let case = object([
            ("name", Value::from(format!("{whose} {number}"))),
            ("files", object([])),
            ("args", Value::Object(example.input.clone())),
            ("expect", expect),
        ]);
        let _ = writeln!(text, "        {},", literal(&case));
    }
    text.push_str("    ]\n");
    text
}

fn manifest(spec: &Spec, run: TurnId, day: &str) -> String {
    let done = |text: &str| if text.is_empty() { String::new() } else { format!("done = {}\n", quoted(text)) };
    let shown = done(&shown(&spec.outputs));
    format!(
        "[executor]\nname = \"{name}\"\nversion = \"{VERSION}\"\ncreated_at = {day}T00:00:00Z\ncreated_by = \"synt:{run}\"\n\
         summary = {summary}\nexamples = [{wish}]\n\n[contract]\ninput_schema = \"schema.json#/definitions/Input\"\n\
         output_schema = \"schema.json#/definitions/Output\"\nerror_classes = [\"{BAD_INPUT}\"]\nidempotent = true\n\
         side_effects = false\n\n[sandbox]\nprofile = \"pure\"\ncapabilities = []\nquotas = {{ wall_s = 2, cpu_s = 2, ram_mb = 128, \
         output_mb = 1, writes_per_day = 0, bytes_per_day = 0 }}\n\n[effects]\nclass = \"read\"\nreversible = true\n\n[args]\n\n\
         [output]\ndefault = \"X\"\nV = []\n\n[answer.en]\n{shown}\n[answer.en.refused]\n{BAD_INPUT} = \"It does not work with that \
         input.\"\n\n[answer.it]\n{shown}\n[answer.it.refused]\n{BAD_INPUT} = \"Con questi dati non funziona.\"\n\n[audit]\n\
         trace_topic = \"executor.{name}\"\n",
        name = spec.name,
        summary = quoted(&spec.summary),
        wish = quoted(&spec.wish.chars().take(MAX_SAY).collect::<String>()),
    )
}

/// A sentence that names each value of the result; empty where one is no text, number or truth value.
fn shown(outputs: &[Field]) -> String {
    let plain = |field: &Field| {
        let kind = field.schema.get("type").and_then(Value::as_str);
        field.required && matches!(kind, Some("string" | "integer" | "number" | "boolean"))
    };
    if !outputs.iter().all(plain) {
        return String::new();
    }
    let one = |field: &Field| format!("{}: {{{}}}", field.name.replace('_', " "), field.name);
    outputs.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::draft::spec::check;
    use crate::draft::testing::order;
    use metnos_proto::executor::{Manifest, Schema, lint};
    use proptest::prelude::*;
    use serde_json::json;

    fn spec(wish: &str, examples: Value) -> Spec {
        Spec::of_examples(&order(wish, examples)).unwrap()
    }

    fn well_formed(texts: &Texts) -> (Manifest, Schema) {
        let manifest =
            Manifest::parse(texts.manifest.as_bytes()).unwrap_or_else(|why| panic!("{why}: {}", texts.manifest));
        let schema = Schema::parse(texts.schema.as_bytes()).unwrap();
        assert_eq!(lint(&manifest, &schema), vec![], "{}", texts.manifest);
        (manifest, schema)
    }

    #[test]
    fn files_form_an_executor_that_is_granted_nothing() {
        let spec = spec("double \"a\" number \\", json!([{"in": {"n": 1}, "out": {"twice": 2}}]));
        let texts = write(&spec, "def solve(n):\n    return 2 * n", TurnId::new(), "2026-11-30");
        let (manifest, _) = well_formed(&texts);
        assert!(manifest.is_synthesised() && manifest.sandbox.capabilities.is_empty());
        assert_eq!(manifest.sandbox.profile, "pure");
        assert!(
            texts.code.contains("value = solve(**args)")
                && texts.code.contains("return {\"ok\": True, \"twice\": value}")
        );
        assert!(texts.tests.contains("\"values\": {\"/twice\": 2}"), "{}", texts.tests);
        assert!(texts.manifest.contains("done = \"twice: {twice}\""));
    }

    #[test]
    fn result_of_several_values_or_lists_is_rendered_by_its_schema() {
        let spec = spec("split", json!([{"in": {"class": "a b"}, "out": {"words": ["a", "b"], "count": 2}}]));
        let texts = write(&spec, "def solve(args):\n    return {}", TurnId::new(), "2026-11-30");
        well_formed(&texts);
        assert!(texts.code.contains("value = solve(args)") && texts.code.contains("{\"ok\": True, **value}"));
        assert!(!texts.manifest.contains("done ="));
    }

    proptest! {
        /// Whatever is wished for and exemplified, the files are of their form.
        #[test]
        fn any_wish_gives_files_of_their_form(wish in "\\PC{1,120}|[a-z ]{200,600}", text in ".{0,40}", key in "[a-z_]{1,9}") {
            let order = order(&wish, json!([{"in": {&key: &text}, "out": {"result": &text}}]));
            prop_assume!(check(&order).is_ok());
            let spec = Spec::of_examples(&order).unwrap();
            let texts = write(&spec, "def solve(a):\n    return a", TurnId::new(), "2026-11-30");
            well_formed(&texts);
            let turned = texts.tests.contains('\u{202e}');
            prop_assert!(!turned);
        }
    }
}
