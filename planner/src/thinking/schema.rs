//! JSON Schema, as far as the planner writes some: of its own tools, and of an answer in JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// A schema.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Schema {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<u32>,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    one_of: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Box<Schema>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    properties: BTreeMap<&'static str, Schema>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    required: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_properties: Option<Additional>,
}

/// What properties an object may have beside those that are named.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Additional {
    Allowed(bool),
    Like(Box<Schema>),
}

impl Schema {
    pub fn text() -> Self {
        Self { kind: "string", ..Self::default() }
    }

    pub fn text_of(names: Vec<String>) -> Self {
        Self { one_of: Some(names), ..Self::text() }
    }

    pub fn number_from(minimum: u32) -> Self {
        Self { kind: "integer", minimum: Some(minimum), ..Self::default() }
    }

    pub fn list(items: Self) -> Self {
        Self { kind: "array", items: Some(Box::new(items)), ..Self::default() }
    }

    /// An object with whatever is in it.
    pub fn any_object() -> Self {
        Self { kind: "object", ..Self::default() }
    }

    /// An object with these properties, the first of which must be there.
    pub fn object<const N: usize>(required: usize, properties: [(&'static str, Self); N]) -> Self {
        let required = properties.iter().take(required).map(|(name, _)| *name).collect();
        Self { properties: properties.into_iter().collect(), required, ..Self::any_object() }
    }

    /// An object each of whose values is like this.
    pub fn map(values: Self) -> Self {
        Self { additional_properties: Some(Additional::Like(Box::new(values))), ..Self::any_object() }
    }

    /// The same with one more property, which need not be there.
    pub fn with(mut self, name: &'static str, property: Self) -> Self {
        self.properties.insert(name, property);
        self
    }

    /// The same object with no other property.
    pub fn closed(self) -> Self {
        Self { additional_properties: Some(Additional::Allowed(false)), ..self }
    }

    pub fn described(self, description: &'static str) -> Self {
        Self { description: Some(description), ..self }
    }

    /// As a document. Nothing in it could not be written.
    pub fn document(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
