//! JSON Schema, as far as a reply of a small model is held to it: names that are known only at run time, every property of
//! an object named, and none besides.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// A schema.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum Shape {
    /// One of these.
    Any {
        #[serde(rename = "anyOf")]
        any: Vec<Shape>,
    },
    /// An object.
    Object {
        r#type: &'static str,
        properties: BTreeMap<String, Shape>,
        required: Vec<String>,
        #[serde(rename = "additionalProperties")]
        more: bool,
    },
    /// A list of so many.
    List {
        r#type: &'static str,
        items: Box<Shape>,
        #[serde(rename = "minItems")]
        least: usize,
        #[serde(rename = "maxItems")]
        most: usize,
    },
    /// One of these texts.
    OneOf { r#type: &'static str, r#enum: Vec<String> },
    /// Any text, number, or whether.
    Plain { r#type: &'static str },
    /// As the executor has it.
    Given(Value),
}

impl Shape {
    pub fn text() -> Self {
        Self::Plain { r#type: "string" }
    }

    pub fn truth() -> Self {
        Self::Plain { r#type: "boolean" }
    }

    pub fn one_of(names: &[&str]) -> Self {
        Self::OneOf { r#type: "string", r#enum: names.iter().map(|name| (*name).to_owned()).collect() }
    }

    pub fn list(items: Self, least: usize, most: usize) -> Self {
        Self::List { r#type: "array", items: Box::new(items), least, most }
    }

    /// An object with these properties, each with whether it must be there.
    pub fn object(properties: impl IntoIterator<Item = (String, Self, bool)>) -> Self {
        let (mut named, mut required) = (BTreeMap::new(), Vec::new());
        for (name, shape, must) in properties {
            if must {
                required.push(name.clone());
            }
            named.insert(name, shape);
        }
        Self::Object { r#type: "object", properties: named, required, more: false }
    }

    /// As a document. Nothing in it could not be written.
    pub fn document(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
