//! What servers say beside replies: which models they have, what one of them takes, and what went wrong.

use metnos_proto::models::{Dialect, is_model_name};
use serde_json::Value;

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

/// The models that a server lists. Names that cannot be written into the configuration are left out.
///
/// # Errors
/// When it is no list of models.
pub fn listed(tongue: Dialect, body: &[u8]) -> Result<Vec<ListedModel>, CompletionError> {
    let value = crate::format::json::parse(body)?;
    let (list, name) = match tongue {
        Dialect::Anthropic | Dialect::OpenAi | Dialect::Xai => (value.get("data"), "id"),
        Dialect::Ollama => (value.get("models"), "name"),
    };
    let list =
        list.and_then(Value::as_array).ok_or_else(|| CompletionError::broken("the server's list of models is none"))?;
    let one = |entry: &Value| {
        let name = entry.get(name)?.as_str().filter(|name| is_model_name(name))?;
        let size = ["context_length", "context_window", "max_model_len", "max_input_tokens"];
        let context = size.iter().find_map(|key| entry.get(*key)?.as_u64());
        let context = context.or_else(|| entry.pointer("/meta/n_ctx_train")?.as_u64());
        Some(ListedModel { name: name.to_owned(), context: context.and_then(|tokens| u32::try_from(tokens).ok()) })
    };
    let mut models: Vec<ListedModel> = list.iter().filter_map(one).take(MAX_LISTED).collect();
    models.sort_by(|a, b| a.name.cmp(&b.name));
    models.dedup_by(|a, b| a.name == b.name);
    Ok(models)
}

/// What Ollama says of one model: the most tokens it takes, and whether it calls tools.
///
/// # Errors
/// When it is no answer of that kind.
pub fn shown(body: &[u8]) -> Result<(Option<u32>, Option<bool>), CompletionError> {
    let value = crate::format::json::parse(body)?;
    let info = value.get("model_info").and_then(Value::as_object);
    let context = info.and_then(|info| info.iter().find(|(key, _)| key.ends_with(".context_length"))?.1.as_u64());
    let tools = value.get("capabilities").and_then(Value::as_array);
    let tools = tools.map(|list| list.iter().any(|one| one.as_str() == Some("tools")));
    Ok((context.and_then(|tokens| u32::try_from(tokens).ok()), tools))
}

/// What a server says went wrong; `status` where it said so instead of a reply.
#[must_use]
pub fn complaint(status: Option<u16>, value: &Value) -> CompletionError {
    let error = value.get("error").unwrap_or(value);
    let word = |key: &str| error.get(key).and_then(Value::as_str).or_else(|| value.get(key).and_then(Value::as_str));
    let message = match error {
        Value::String(text) => text.as_str(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            word("message").unwrap_or_default()
        }
    };
    let kind = ["type", "code"].iter().filter_map(|key| word(key)).collect::<Vec<_>>().join(" ");
    let class = class_of(status, &kind, message);
    let place = status.map_or_else(String::new, |status| format!(" ({status})"));
    let said = if message.is_empty() { quoted(&kind) } else { quoted(message) };
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
