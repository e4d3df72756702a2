//! What servers say beside replies: which models they have, what one of them takes, and what went wrong.

use metnos_proto::models::{Dialect, is_model_name};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::fields::{any_list, any_object, any_text, count, read, texts};
use crate::error::{Class, CompletionError, quoted};

/// The most models of one server that are heard of.
pub const MAX_LISTED: usize = 1_000;

/// A model as its server lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// What the server calls it.
    pub name: String,
    /// The most tokens of prompt and reply together, where the server says so.
    pub context: Option<u32>,
}

/// A list of models: in the first field, or in Ollama's.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ModelList {
    #[serde(deserialize_with = "any_list")]
    data: Option<Vec<ListEntry>>,
    #[serde(deserialize_with = "any_list")]
    models: Option<Vec<ListEntry>>,
}

/// A model of it, in the words of any server.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ListEntry {
    #[serde(deserialize_with = "any_text")]
    id: Option<String>,
    #[serde(deserialize_with = "any_text")]
    name: Option<String>,
    #[serde(deserialize_with = "count")]
    context_length: Option<u64>,
    #[serde(deserialize_with = "count")]
    context_window: Option<u64>,
    #[serde(deserialize_with = "count")]
    max_model_len: Option<u64>,
    #[serde(deserialize_with = "count")]
    max_input_tokens: Option<u64>,
    #[serde(deserialize_with = "any_object")]
    meta: Option<EntryMeta>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EntryMeta {
    #[serde(deserialize_with = "count")]
    n_ctx_train: Option<u64>,
}

impl ListEntry {
    fn context(&self) -> Option<u32> {
        let said = self.context_length.or(self.context_window).or(self.max_model_len).or(self.max_input_tokens);
        let said = said.or_else(|| self.meta.as_ref()?.n_ctx_train);
        said.and_then(|tokens| u32::try_from(tokens).ok())
    }
}

/// The models that a server lists. Names that cannot be written into the configuration are left out.
///
/// # Errors
/// When it is no list of models.
pub fn listed(tongue: Dialect, body: &[u8]) -> Result<Vec<ListedModel>, CompletionError> {
    let value = crate::format::json::parse(body)?;
    let none = || CompletionError::broken("the server's list of models is none");
    let list: ModelList = read(&value).map_err(|_| none())?;
    let (list, name): (_, fn(&mut ListEntry) -> Option<String>) = match tongue {
        Dialect::Anthropic | Dialect::OpenAi | Dialect::Xai => (list.data, |entry| entry.id.take()),
        Dialect::Ollama => (list.models, |entry| entry.name.take()),
    };
    let one = |mut entry: ListEntry| {
        let name = name(&mut entry).filter(|name| is_model_name(name))?;
        Some(ListedModel { name, context: entry.context() })
    };
    let list = list.ok_or_else(none)?;
    let mut models: Vec<ListedModel> = list.into_iter().filter_map(one).take(MAX_LISTED).collect();
    models.sort_by(|a, b| a.name.cmp(&b.name));
    models.dedup_by(|a, b| a.name == b.name);
    Ok(models)
}

/// What Ollama says of one model.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ModelShown {
    /// The keys begin with the name of the model's family.
    #[serde(deserialize_with = "any_object")]
    model_info: Option<Map<String, Value>>,
    #[serde(deserialize_with = "texts")]
    capabilities: Option<Vec<String>>,
}

/// What Ollama says of one model: the most tokens it takes, and whether it calls tools.
///
/// # Errors
/// When it is no answer of that kind.
pub fn shown(body: &[u8]) -> Result<(Option<u32>, Option<bool>), CompletionError> {
    let ModelShown { model_info, capabilities } = read(&crate::format::json::parse(body)?)?;
    let context = model_info.and_then(|info| info.iter().find(|(key, _)| key.ends_with(".context_length"))?.1.as_u64());
    let tools = capabilities.map(|list| list.iter().any(|one| one == "tools"));
    Ok((context.and_then(|tokens| u32::try_from(tokens).ok()), tools))
}

/// What a server says instead of a reply.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Complaint {
    error: Option<ErrorField>,
    #[serde(flatten)]
    words: ErrorWords,
}

/// The words of an error, which also stand beside it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorWords {
    #[serde(deserialize_with = "any_text")]
    message: Option<String>,
    #[serde(rename = "type", deserialize_with = "any_text")]
    kind: Option<String>,
    #[serde(deserialize_with = "any_text")]
    code: Option<String>,
}

/// An error, which is a text, or words; of anything else only that it is there is known.
enum ErrorField {
    Text(String),
    Words(ErrorWords),
    Other,
}

impl<'de> Deserialize<'de> for ErrorField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(from)? {
            Value::String(text) => Self::Text(text),
            value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                read(&value).map_or(Self::Other, Self::Words)
            }
        })
    }
}

/// What a server says went wrong, in a piece of a reply.
pub(super) fn complaint_in(value: &Value) -> Option<CompletionError> {
    let Complaint { error, .. } = read(value).unwrap_or_default();
    error.map(|_| complaint(None, value))
}

/// What a server says went wrong; `status` where it said so instead of a reply.
#[must_use]
pub fn complaint(status: Option<u16>, value: &Value) -> CompletionError {
    let Complaint { error, words } = match value {
        Value::String(text) => Complaint { error: Some(ErrorField::Text(text.clone())), words: ErrorWords::default() },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            read(value).unwrap_or_default()
        }
    };
    let (text, inner) = match error {
        Some(ErrorField::Text(text)) => (Some(text), ErrorWords::default()),
        Some(ErrorField::Words(words)) => (None, words),
        Some(ErrorField::Other) | None => (None, ErrorWords::default()),
    };
    let message = text.or(inner.message).or(words.message).unwrap_or_default();
    let kind: Vec<String> = [inner.kind.or(words.kind), inner.code.or(words.code)].into_iter().flatten().collect();
    let kind = kind.join(" ");
    let class = class_of(status, &kind, &message);
    let place = status.map_or_else(String::new, |status| format!(" ({status})"));
    let said = if message.is_empty() { quoted(&kind) } else { quoted(&message) };
    let said = if said.is_empty() { "without a reason".to_owned() } else { said };
    CompletionError::new(class, format!("the server refuses{place}: {said}"))
}

fn class_of(status: Option<u16>, kind: &str, message: &str) -> Class {
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    let model = message.to_ascii_lowercase().contains("model");
    match status {
        Some(401 | 403) => Class::Key,
        Some(404) if model || kind.is_empty() && message.is_empty() => Class::Stale,
        Some(404) if has(&["not_found", "model_not_found"]) => Class::Stale,
        Some(400) if has(&["model_not_found"]) => Class::Stale,
        Some(429) => Class::Limited,
        // A request that they do not take is a failure of their own to some: llama-cpp-python says so of a schema by its name.
        Some(500) if message.contains("response_format") => Class::Rejected,
        Some(408 | 500..=599) => Class::Overloaded,
        Some(_) => Class::Rejected,
        None if has(&["rate_limit"]) => Class::Limited,
        None if has(&["overloaded", "api_error", "server_error", "timeout"]) => Class::Overloaded,
        None if has(&["authentication", "permission"]) => Class::Key,
        None if has(&["not_found"]) => Class::Stale,
        None => Class::Broken,
    }
}
