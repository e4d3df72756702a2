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
    /// Whether the server is of a kind that holds replies to a schema; `None` where its list does not show it.
    pub constrained: Option<bool>,
    /// How many parameters the model has, where the server says so.
    pub parameters: Option<u64>,
}

/// How servers that hold a reply to a schema sign the models that they list: llama.cpp, llama-cpp-python, vLLM, SGLang,
/// LM Studio, and Ollama where it speaks as OpenAI does.
const CONSTRAINING: [&str; 6] = ["llamacpp", "me", "vllm", "sglang", "organization_owner", "library"];
/// Ollama holds replies to a schema from this version on.
const OLLAMA_SINCE: (u64, u64) = (0, 5);

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
    #[serde(deserialize_with = "any_text")]
    owned_by: Option<String>,
    #[serde(deserialize_with = "any_object")]
    details: Option<EntryDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EntryMeta {
    /// What the server was started with, where it says so; the model may be able to take more.
    #[serde(deserialize_with = "count")]
    n_ctx: Option<u64>,
    #[serde(deserialize_with = "count")]
    n_ctx_train: Option<u64>,
    #[serde(deserialize_with = "count")]
    n_params: Option<u64>,
}

/// What Ollama says of a model in its list.
#[derive(Default, Deserialize)]
#[serde(default)]
struct EntryDetails {
    #[serde(deserialize_with = "any_text")]
    parameter_size: Option<String>,
}

/// "7.6B", "494.03M" in numbers.
fn parameters_of(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    let thousands = match unit {
        "K" => 1,
        "M" => 1_000,
        "B" => 1_000_000,
        "T" => 1_000_000_000_u64,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) {
        return None;
    }
    let part: u64 = format!("{part:0<3}")[..3].parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(part)?.checked_mul(thousands)
}

impl ListEntry {
    fn context(&self) -> Option<u32> {
        let said = self.context_length.or(self.context_window).or(self.max_model_len).or(self.max_input_tokens);
        let said = said.or_else(|| self.meta.as_ref().and_then(|meta| meta.n_ctx.or(meta.n_ctx_train)));
        said.and_then(|tokens| u32::try_from(tokens).ok())
    }

    fn parameters(&self) -> Option<u64> {
        let meta = self.meta.as_ref().and_then(|meta| meta.n_params);
        meta.or_else(|| parameters_of(self.details.as_ref()?.parameter_size.as_ref()?))
    }

    fn constrained(&self, tongue: Dialect) -> Option<bool> {
        match tongue {
            Dialect::OpenAi => self.owned_by.as_ref().map(|owner| CONSTRAINING.contains(&owner.as_str())),
            Dialect::Anthropic | Dialect::Xai | Dialect::Ollama => None,
        }
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
        Some(ListedModel {
            name,
            context: entry.context(),
            constrained: entry.constrained(tongue),
            parameters: entry.parameters(),
        })
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

/// What Ollama says of itself.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Version {
    #[serde(deserialize_with = "any_text")]
    version: Option<String>,
}

/// Whether an Ollama of this version holds replies to a schema.
///
/// # Errors
/// When it is no answer of that kind.
pub fn constrains(body: &[u8]) -> Result<bool, CompletionError> {
    let none = || CompletionError::broken("the server does not say which version it is");
    let Version { version } = read(&crate::format::json::parse(body)?)?;
    let version = version.ok_or_else(none)?;
    let mut parts = version.trim_start_matches('v').split('.').map(|part| part.parse::<u64>().ok());
    let (major, minor) = (parts.next().flatten(), parts.next().flatten());
    Ok(major.zip(minor).ok_or_else(none)? >= OLLAMA_SINCE)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn one(tongue: Dialect, list: &str) -> ListedModel {
        listed(tongue, list.as_bytes()).unwrap().remove(0)
    }

    #[test]
    fn servers_that_hold_replies_to_schemas_are_known_by_their_listings() {
        let of = |owner: &str| one(Dialect::OpenAi, &format!(r#"{{"data": [{{"id": "m"{owner}}}]}}"#)).constrained;
        for owner in CONSTRAINING {
            assert_eq!(of(&format!(r#", "owned_by": "{owner}""#)), Some(true), "{owner}");
        }
        assert_eq!(of(r#", "owned_by": "openai""#), Some(false));
        assert_eq!((of(""), of(r#", "owned_by": 7"#)), (None, None));
        let xai = one(Dialect::Xai, r#"{"data": [{"id": "m", "owned_by": "vllm"}]}"#);
        assert_eq!(xai.constrained, None);
        let llama = r#"{"data": [{"id": "m", "owned_by": "llamacpp",
            "meta": {"n_ctx": 8192, "n_ctx_train": 32768, "n_params": 1777088000}}]}"#;
        let llama = one(Dialect::OpenAi, llama);
        assert_eq!((llama.context, llama.parameters), (Some(8_192), Some(1_777_088_000)));
        let ollama = r#"{"models": [{"name": "m", "details": {"parameter_size": "7.6B"}}]}"#;
        assert_eq!(one(Dialect::Ollama, ollama).parameters, Some(7_600_000_000));
    }

    #[test]
    fn version_of_ollama_says_whether_it_holds_replies_to_a_schema() {
        let of = |version: &str| constrains(format!(r#"{{"version": "{version}"}}"#).as_bytes()).ok();
        assert_eq!(
            (of("0.5.0"), of("0.12.3"), of("1.0"), of("v0.6.1-rc1")),
            (Some(true), Some(true), Some(true), Some(true))
        );
        assert_eq!((of("0.4.9"), of("new"), of("")), (Some(false), None, None));
        assert!(constrains(b"{}").is_err() && constrains(b"[").is_err());
    }

    #[test]
    fn size_of_a_model_is_read_as_ollama_writes_it() {
        let sizes = [("494.03M", Some(494_030_000)), ("7.6B", Some(7_600_000_000)), ("70B", Some(70_000_000_000))];
        for (text, wanted) in sizes {
            assert_eq!(parameters_of(text), wanted, "{text}");
        }
        for bad in ["", "B", "7", "7.B", "-7B", "7 B x", "1e9B", "99999999B", "7.6X"] {
            assert_eq!(parameters_of(bad), None, "{bad}");
        }
    }
}
