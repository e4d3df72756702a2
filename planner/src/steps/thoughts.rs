//! The thoughts of a turn in steps: the schema that each reply is held to, and what a reply means, read strictly. What the
//! schema does not allow is refused, whoever was to hold the reply to it.

use metnos_proto::json::{self, Limits};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::shape::Shape;

/// What can be chosen besides an executor.
pub const ANSWER: &str = "answer";
/// See [`ANSWER`].
pub const ASK_BACK: &str = "ask_back";
/// See [`ANSWER`].
pub const CANNOT: &str = "cannot";
/// See [`ANSWER`]: nothing more is to be done.
pub const DONE: &str = "done";
/// No executor has one of these names here.
pub const OWN: [&str; 4] = [ANSWER, ASK_BACK, CANNOT, DONE];

/// The longest reply, in bytes.
const REPLY: Limits = Limits { max_bytes: 64 * 1024, max_depth: 12 };

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// An executor.
    Tool(String),
    /// These words, for the person.
    Answer(String),
    /// A question back.
    AskBack(String),
    /// Nothing that there is can do it.
    Cannot,
    /// Nothing more is to be done.
    Done,
}

/// What a result says of the request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Whether it answers it.
    pub found: bool,
    /// The answer, or what is missing.
    pub text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChoiceFields {
    r#do: String,
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    text: String,
}

/// The reply that chooses this. A model that has seen it writes none longer.
#[must_use]
pub fn chosen(name: &str) -> String {
    match name {
        ANSWER | ASK_BACK => format!("{{\"do\":\"{name}\",\"text\":\"…\"}}"),
        _ => format!("{{\"do\":\"{name}\"}}"),
    }
}

/// The schema of a choice among these executors, and of an answer of the model's own, where it may give one.
#[must_use]
pub fn choice_schema(names: &[&str], may_answer: bool) -> Value {
    let silent: Vec<&str> = names.iter().copied().chain([CANNOT]).collect();
    let act = Shape::object([("do".to_owned(), Shape::one_of(&silent), true)]);
    if !may_answer {
        return act.document();
    }
    let say = Shape::object([
        ("do".to_owned(), Shape::one_of(&[ANSWER, ASK_BACK]), true),
        ("text".to_owned(), Shape::text(), true),
    ]);
    Shape::Any { any: vec![act, say] }.document()
}

/// The schema of whether another of these executors is needed.
#[must_use]
pub fn more_schema(names: &[&str]) -> Value {
    let all: Vec<&str> = [DONE].into_iter().chain(names.iter().copied()).collect();
    Shape::object([("do".to_owned(), Shape::one_of(&all), true)]).document()
}

/// The schema of what was read.
#[must_use]
pub fn finding_schema() -> Value {
    Shape::object([("found".to_owned(), Shape::truth(), true), ("text".to_owned(), Shape::text(), true)]).document()
}

/// The schema of a text for the person.
#[must_use]
pub fn text_schema() -> Value {
    Shape::object([("text".to_owned(), Shape::text(), true)]).document()
}

/// Reads a text for the person.
///
/// # Errors
/// In a sentence, when it is none.
pub fn written(text: &str) -> Result<String, String> {
    let Written { text } = typed(text)?;
    Ok(text)
}

/// Reads a choice among these executors.
///
/// # Errors
/// In a sentence, when it is none of them, or has nothing to say where it must.
pub fn choice(text: &str, names: &[&str]) -> Result<Chosen, String> {
    let fields: ChoiceFields = typed(text)?;
    let said = fields.text.filter(|text| !text.trim().is_empty());
    match (fields.r#do.as_str(), said) {
        (CANNOT, None) => Ok(Chosen::Cannot),
        (DONE, None) => Ok(Chosen::Done),
        (ANSWER, Some(text)) => Ok(Chosen::Answer(text)),
        (ASK_BACK, Some(text)) => Ok(Chosen::AskBack(text)),
        (name, None) if names.contains(&name) => Ok(Chosen::Tool(name.to_owned())),
        (_, _) => Err("it is none of what was offered".to_owned()),
    }
}

/// Reads what a result says of the request.
///
/// # Errors
/// In a sentence, when it does not say it.
pub fn finding(text: &str) -> Result<Finding, String> {
    let found: Finding = typed(text)?;
    if found.found && found.text.trim().is_empty() { Err("the answer is empty".to_owned()) } else { Ok(found) }
}

/// Reads the object of a reply.
///
/// # Errors
/// In a sentence, when it is no object.
pub fn object(text: &str) -> Result<Map<String, Value>, String> {
    json::parse_object(text.trim().as_bytes(), REPLY).map_err(|error| error.to_string())
}

fn typed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(Value::Object(object(text)?))
        .map_err(|_| "it is not of the form that was asked for".to_owned())
}
