//! OpenAPI 3.1, as far as the door describes itself in it. The schemas of documents come from their types.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

/// The whole description.
#[derive(Debug, Serialize)]
pub struct OpenApi {
    /// Which version of OpenAPI.
    pub openapi: &'static str,
    /// What is described.
    pub info: Info,
    /// Operations by address and method.
    pub paths: BTreeMap<&'static str, BTreeMap<&'static str, OperationObject>>,
    /// What operations refer to.
    pub components: Components,
}

/// What is described.
#[derive(Debug, Serialize)]
pub struct Info {
    /// Its name.
    pub title: &'static str,
    /// Its version.
    pub version: &'static str,
    /// What must be known of all of it.
    pub description: String,
}

/// What operations refer to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Components {
    /// Schemas of documents by name.
    pub schemas: Map<String, Value>,
    /// How a client shows who it is, by name.
    pub security_schemes: BTreeMap<&'static str, SecurityScheme>,
}

/// How a client shows who it is.
#[derive(Debug, Serialize)]
pub struct SecurityScheme {
    /// `http`.
    pub r#type: &'static str,
    /// `bearer`.
    pub scheme: &'static str,
}

/// What one method does at an address.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationObject {
    /// What it is for.
    pub summary: &'static str,
    /// What it answers, by status; `default` for all others.
    pub responses: BTreeMap<String, ResponseObject>,
    /// Any of these, each by the name of its scheme; none where nobody needs to be known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security: Vec<BTreeMap<&'static str, [&'static str; 0]>>,
    /// The body that it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_body: Option<RequestBody>,
    /// What may be given beside the body.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ParameterObject>,
}

/// Bodies by their type.
pub type Content = BTreeMap<&'static str, MediaType>;

/// An answer.
#[derive(Debug, Default, Serialize)]
pub struct ResponseObject {
    /// What it says.
    pub description: &'static str,
    /// Its body, if it has one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub content: Content,
}

/// A body that is taken.
#[derive(Debug, Serialize)]
pub struct RequestBody {
    /// Whether it must be there.
    pub required: bool,
    /// What it holds.
    pub content: Content,
}

/// What a body holds.
#[derive(Debug, Serialize)]
pub struct MediaType {
    /// The schema of a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

/// What is given beside a body.
#[derive(Debug, Serialize)]
pub struct ParameterObject {
    /// Its name.
    pub name: &'static str,
    /// Where it stands.
    pub r#in: &'static str,
    /// Whether it must be there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// What it looks like.
    pub schema: ParameterSchema,
}

/// What a parameter looks like.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ParameterSchema {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maximum: Option<u64>,
}

impl ParameterSchema {
    /// Any text.
    pub const TEXT: Self = Self { r#type: "string", pattern: None, minimum: None, maximum: None };

    /// A text of this form.
    #[must_use]
    pub const fn pattern(pattern: &'static str) -> Self {
        Self { pattern: Some(pattern), ..Self::TEXT }
    }

    /// A whole number within these bounds.
    #[must_use]
    pub const fn number(minimum: u64, maximum: u64) -> Self {
        Self { r#type: "integer", pattern: None, minimum: Some(minimum), maximum: Some(maximum) }
    }
}
