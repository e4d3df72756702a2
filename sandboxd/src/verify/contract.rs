//! An executor's schema. What goes in and what comes out is held against it; what does not fit is refused and never repaired.

use std::cell::OnceCell;

use jsonschema::{PatternOptions, Validator};
use metnos_proto::executor::Schema;
use serde_json::Value;

/// How large a pattern of a schema may become, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1 << 20;
/// The most characters of a complaint.
const MAX_COMPLAINT: usize = 300;

/// Both halves of a schema. Each is compiled when it is first needed, because a start would pay for the whole pool, in time
/// and in memory; what cannot be compiled refuses every value.
#[derive(Debug)]
pub struct Contract {
    schema: Schema,
    input: OnceCell<Result<Validator, String>>,
    output: OnceCell<Result<Validator, String>>,
}

impl Contract {
    /// The contract that a schema makes.
    #[must_use]
    pub fn new(schema: Schema) -> Self {
        Self { schema, input: OnceCell::new(), output: OnceCell::new() }
    }

    /// Compiles both halves now, as is done before anything is signed.
    ///
    /// # Errors
    /// In a sentence, what makes it no schema.
    pub fn check(&self) -> Result<(), String> {
        self.input().and(self.output()).map(drop).map_err(str::to_owned)
    }

    fn input(&self) -> Result<&Validator, &str> {
        self.input.get_or_init(|| compile("Input", &self.schema.input_document())).as_ref().map_err(String::as_str)
    }

    fn output(&self) -> Result<&Validator, &str> {
        self.output.get_or_init(|| compile("Output", &self.schema.output_document())).as_ref().map_err(String::as_str)
    }

    /// What of the arguments does not fit, in a sentence.
    #[must_use]
    pub fn input_fault(&self, arguments: &Value) -> Option<String> {
        self.input().map_or_else(|why| Some(why.to_owned()), |input| fault(input, arguments, "the arguments"))
    }

    /// What of a successful result does not fit, in a sentence.
    #[must_use]
    pub fn output_fault(&self, result: &Value) -> Option<String> {
        self.output().map_or_else(|why| Some(why.to_owned()), |output| fault(output, result, "the result"))
    }
}

/// Compiles one definition; nothing outside the document is ever fetched.
fn compile(name: &str, document: &Value) -> Result<Validator, String> {
    let patterns = PatternOptions::regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
    jsonschema::draft202012::options()
        .with_pattern_options(patterns)
        .offline()
        .build(document)
        .map_err(|error| format!("schema.json, definitions/{name}: {}", shortened(&error.to_string())))
}

/// The first complaint: where, and what was expected. It names no value, which may be long or private.
fn fault(validator: &Validator, value: &Value, whole: &str) -> Option<String> {
    if validator.is_valid(value) {
        return None;
    }
    let error = validator.iter_errors(value).next();
    let Some(error) = error else { return Some(format!("{whole} does not fit its schema")) };
    let at = error.instance_path().as_str();
    let at = if at.is_empty() { whole.to_owned() } else { format!("`{}`", shortened(&at.escape_debug().to_string())) };
    Some(format!("{at}: {}", shortened(&error.masked_with("it").to_string())))
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_COMPLAINT {
        return text.to_owned();
    }
    text.chars().take(MAX_COMPLAINT).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn contract() -> Contract {
        Contract::new(Schema::parse(include_bytes!("../../../executors/fs_read/schema.json")).unwrap())
    }

    #[test]
    fn schema_fault_names_the_place() {
        let contract = contract();
        assert_eq!(contract.input_fault(&json!({"path": "a"})), None);
        assert!(contract.input_fault(&json!({"path": 1})).unwrap().contains("/path"));
        assert!(contract.input_fault(&json!({})).unwrap().contains("path"));
        let sha = "0".repeat(64);
        let result = json!({"ok": true, "path": "a", "content": "x", "size": 1, "lines": 1, "sha": sha});
        assert_eq!(contract.output_fault(&result), None);
        assert!(contract.output_fault(&json!({"ok": true})).is_some());
    }

    #[test]
    fn a_complaint_repeats_no_value_and_stays_short() {
        let secret = "s3cret".repeat(10_000);
        let fault = contract().input_fault(&json!({"path": [secret.clone()]})).unwrap();
        assert!(!fault.contains("s3cret") && fault.len() < 1000, "{fault}");
        let fault = contract().input_fault(&json!({"path": "a", secret: 1})).unwrap();
        assert!(fault.len() < 1500, "{} bytes", fault.len());
    }

    #[test]
    fn a_pattern_that_would_need_too_much_memory_is_no_schema() {
        let schema = json!({
            "$schema": metnos_proto::executor::schema::DIALECT,
            "definitions": {
                "Input": {"type": "object", "additionalProperties": false, "properties": {
                    "a": {"type": "string", "pattern": "(((a{200}){200}){200})"}}},
                "Output": {"type": "object", "additionalProperties": false, "properties": {}},
            },
        });
        let schema = Schema::parse(schema.to_string().as_bytes()).unwrap();
        let contract = Contract::new(schema);
        assert!(contract.check().is_err());
        assert!(contract.input_fault(&json!({"a": "aaa"})).unwrap().contains("definitions/Input"));
        assert_eq!(contract.output_fault(&json!({})), None);
    }
}
