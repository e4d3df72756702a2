//! An executor's schema, and its complaints as sentences: which field, what
//! stands there, what was expected. It never guesses: what does not fit is refused.

use std::cell::OnceCell;
use std::rc::Rc;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{PatternOptions, ValidationError, Validator};
use metnos_proto::executor::Schema;
use metnos_proto::executor::schema::DIALECT;
use serde_json::Value;

use crate::arguments::{Filled, field};
use crate::guard::shown;

/// How large a pattern of a schema may become, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1 << 20;
/// The most characters of an expectation in a sentence.
const MAX_EXPECTATION: usize = 200;

/// The schema of an executor's arguments. It is compiled when it is first needed, because a start would pay for the whole
/// pool, in time and in memory; what cannot be compiled refuses all arguments.
#[derive(Debug)]
pub struct Input {
    schema: Rc<Schema>,
    validator: OnceCell<Result<Validator, String>>,
}

/// Has the libraries below look at the machine (how many processors it has), which they do
/// once, at the first schema with a pattern. Call it before the lock, which forbids that look.
///
/// # Errors
/// In a sentence, when a schema cannot be compiled at all.
pub fn warm_up() -> Result<(), String> {
    let text = format!(
        r#"{{"$schema": "{DIALECT}", "definitions": {{
            "Input": {{"type": "object", "additionalProperties": false, "properties": {{"a": {{"type": "string", "pattern": "^[a-z]+x?$"}}}}}},
            "Output": {{"type": "object", "additionalProperties": false, "properties": {{}}}}}}}}"#
    );
    let schema = Schema::parse(text.as_bytes()).map_err(|why| why.to_string())?;
    let value = serde_json::Value::from_iter([("a", "words")]);
    match Input::new(Rc::new(schema)).fault(&Filled { value, opaque: Vec::new() }) {
        None => Ok(()),
        Some(fault) => Err(fault),
    }
}

impl Input {
    /// Of `definitions/Input`.
    #[must_use]
    pub fn new(schema: Rc<Schema>) -> Self {
        Self { schema, validator: OnceCell::new() }
    }

    /// Compiles it now, as is done before an executor is signed; nothing outside the document is ever fetched.
    ///
    /// # Errors
    /// In a sentence, what makes it no schema.
    pub fn check(&self) -> Result<(), String> {
        self.validator().map(drop).map_err(str::to_owned)
    }

    fn validator(&self) -> Result<&Validator, &str> {
        self.validator.get_or_init(|| compile(&self.schema)).as_ref().map_err(String::as_str)
    }

    /// What of the arguments does not fit, in a sentence; `None` when all of it does. What is opaque
    /// is checked by sandboxd, which sees the value.
    #[must_use]
    pub fn fault(&self, arguments: &Filled) -> Option<String> {
        let validator = match self.validator() {
            Ok(validator) => validator,
            Err(why) => return Some(why.to_owned()),
        };
        validator
            .iter_errors(&arguments.value)
            .find(|error| !is_opaque(error.instance_path().as_str(), &arguments.opaque))
            .map(|error| sentence(&error))
    }
}

fn compile(schema: &Schema) -> Result<Validator, String> {
    let patterns = PatternOptions::regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
    jsonschema::draft202012::options()
        .with_pattern_options(patterns)
        .offline()
        .build(&schema.input_document())
        .map_err(|error| format!("schema.json, definitions/Input: {error}"))
}

/// Whether a complaint is only about the reference that stands where a payload will be.
fn is_opaque(path: &str, opaque: &[String]) -> bool {
    opaque
        .iter()
        .any(|pointer| path.strip_prefix(pointer.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the kinds of errors are those of jsonschema")]
fn sentence(error: &ValidationError<'_>) -> String {
    let at = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            format!("{} is missing", field(&metnos_proto::json::child(at, name)))
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names: Vec<_> = unexpected.iter().map(|name| shown(name)).collect();
            format!("{} is no argument that this executor knows", shorten(&names.join(", ")))
        }
        kind => format!("{} is {}: expected {}", field(at), value(error.instance()), shorten(&expected(error, kind))),
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::String(text) => shown(text),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            shown(&other.to_string())
        }
    }
}

/// What a schema's keyword asks for, in words.
#[expect(clippy::wildcard_enum_match_arm, reason = "the kinds of errors are those of jsonschema")]
fn expected(error: &ValidationError<'_>, kind: &ValidationErrorKind) -> String {
    match kind {
        ValidationErrorKind::MaxLength { limit } => format!("at most {limit} characters"),
        ValidationErrorKind::MinLength { limit } => format!("at least {limit} characters"),
        ValidationErrorKind::MaxItems { limit } => format!("at most {limit} items"),
        ValidationErrorKind::MinItems { limit } => format!("at least {limit} items"),
        ValidationErrorKind::Maximum { limit } => format!("at most {limit}"),
        ValidationErrorKind::Minimum { limit } => format!("at least {limit}"),
        ValidationErrorKind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        ValidationErrorKind::Enum { options } => format!("one of {options}"),
        ValidationErrorKind::Constant { expected_value } => expected_value.to_string(),
        ValidationErrorKind::Pattern { pattern } => format!("a text that fits the pattern `{pattern}`"),
        ValidationErrorKind::Type { kind: TypeKind::Single(name) } => kind_in_words(&name.to_string()),
        ValidationErrorKind::Type { kind: TypeKind::Multiple(names) } => {
            names.iter().map(|name| kind_in_words(&name.to_string())).collect::<Vec<_>>().join(" or ")
        }
        _ => format!("what the schema asks for: {}", error.masked_with("it")),
    }
}

fn kind_in_words(name: &str) -> String {
    match name {
        "string" => "a text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        "null" => "null",
        other => other,
    }
    .to_owned()
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= MAX_EXPECTATION {
        return text.to_owned();
    }
    text.chars().take(MAX_EXPECTATION).chain(['…']).collect()
}
