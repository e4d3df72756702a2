//! `schema.json`: the shape of an executor's arguments and result, as two schemas that stand
//! alone. It must never reach outside the file: every `$ref` points into it.

use serde_json::{Map, Value, json};

use super::MAX_SCHEMA_BYTES;
use crate::json::{self, JsonError, Limits};

/// Why a document is not an executor's schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// It is not strict JSON.
    #[error("schema.json: {0}")]
    Json(#[from] JsonError),
    /// A part is missing or of the wrong kind.
    #[error("schema.json: `{at}` {what}")]
    Shape {
        /// JSON pointer.
        at: String,
        /// What is wrong there.
        what: String,
    },
}

/// A validated `schema.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    document: Value,
}

/// The meta-schema every schema of an executor is read by.
pub const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

impl Schema {
    /// Reads a schema: strict JSON, dialect 2020-12, `definitions/Input` and
    /// `definitions/Output` closed objects, references only within the file.
    ///
    /// # Errors
    /// A [`SchemaError`] that names the place.
    pub fn parse(bytes: &[u8]) -> Result<Self, SchemaError> {
        let limits = Limits { max_bytes: MAX_SCHEMA_BYTES, max_depth: 32 };
        let document = Value::Object(json::parse_object(bytes, limits)?);
        if document.get("$schema").and_then(Value::as_str) != Some(DIALECT) {
            return Err(shape("/$schema", format!("must be \"{DIALECT}\"")));
        }
        for name in ["Input", "Output"] {
            let at = format!("/definitions/{name}");
            let Some(Value::Object(definition)) = document.pointer(&at) else {
                return Err(shape(&at, "must be an object schema"));
            };
            closed_object(&at, definition)?;
        }
        local_references(&document, "")?;
        Ok(Self { document })
    }

    /// The whole document.
    #[must_use]
    pub const fn document(&self) -> &Value {
        &self.document
    }

    /// The definition of the arguments, as it stands in the file.
    #[must_use]
    pub fn input(&self) -> &Value {
        self.document.pointer("/definitions/Input").unwrap_or(&Value::Null)
    }

    /// The definition of a successful result, as it stands in the file.
    #[must_use]
    pub fn output(&self) -> &Value {
        self.document.pointer("/definitions/Output").unwrap_or(&Value::Null)
    }

    /// A schema of the arguments that stands alone, for a validator.
    #[must_use]
    pub fn input_document(&self) -> Value {
        self.standing_alone("Input")
    }

    /// A schema of a successful result that stands alone, for a validator.
    #[must_use]
    pub fn output_document(&self) -> Value {
        self.standing_alone("Output")
    }

    /// A definition as others may read it: with the definitions it refers to, if any.
    #[must_use]
    pub fn shown(&self, definition: &Value) -> Value {
        let mut shown = definition.clone();
        let refers = definition.to_string().contains("\"#/definitions/");
        if let (true, Value::Object(map), Some(all)) = (refers, &mut shown, self.document.get("definitions")) {
            map.insert("definitions".to_owned(), all.clone());
        }
        shown
    }

    fn standing_alone(&self, name: &str) -> Value {
        json!({
            "$schema": DIALECT,
            "$ref": format!("#/definitions/{name}"),
            "definitions": self.document.get("definitions").cloned().unwrap_or_default(),
        })
    }

    /// The schema of the part of `definition` (as given by [`Self::input`] or [`Self::output`])
    /// that `pattern` points at, through `properties`, `items` and references within the file;
    /// a token `*` stands for the items of an array.
    #[must_use]
    pub fn part<'a>(&'a self, definition: &'a Value, pattern: &str) -> Option<&'a Value> {
        let mut at = self.follow(definition)?;
        for token in pattern.split('/').skip(1) {
            let name = token.replace("~1", "/").replace("~0", "~");
            let next = match at.get("properties").and_then(|properties| properties.get(&name)) {
                Some(property) => property,
                None if token == "*" || token.bytes().all(|byte| byte.is_ascii_digit()) => at.get("items")?,
                None => return None,
            };
            at = self.follow(next)?;
        }
        Some(at)
    }

    fn follow<'a>(&'a self, mut schema: &'a Value) -> Option<&'a Value> {
        // A chain longer than this is a circle.
        for _ in 0..8 {
            match schema.get("$ref").and_then(Value::as_str) {
                Some(target) => schema = self.document.pointer(target.strip_prefix('#')?)?,
                None => return Some(schema),
            }
        }
        None
    }
}

fn shape(at: &str, what: impl Into<String>) -> SchemaError {
    SchemaError::Shape { at: at.to_owned(), what: what.into() }
}

fn closed_object(at: &str, definition: &Map<String, Value>) -> Result<(), SchemaError> {
    if definition.get("type").and_then(Value::as_str) != Some("object") {
        return Err(shape(at, "must have `\"type\": \"object\"`"));
    }
    if definition.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Err(shape(at, "must have `\"additionalProperties\": false`"));
    }
    match definition.get("properties") {
        Some(Value::Object(_)) => Ok(()),
        Some(_) | None => Err(shape(at, "must have `properties`")),
    }
}

fn local_references(value: &Value, at: &str) -> Result<(), SchemaError> {
    match value {
        Value::Object(map) => map.iter().try_for_each(|(key, item)| {
            let place = json::child(at, key);
            match (key.as_str(), item) {
                ("$ref", Value::String(target)) if target.starts_with("#/definitions/") => Ok(()),
                ("$ref" | "$dynamicRef" | "$id" | "$anchor" | "$dynamicAnchor" | "$vocabulary", _) => {
                    Err(shape(&place, "must not reach outside; only `#/definitions/…` may be referred to"))
                }
                (_, item) => local_references(item, &place),
            }
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| local_references(item, &json::child(at, &index.to_string()))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}
