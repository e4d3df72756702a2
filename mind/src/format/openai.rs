//! OpenAI's chat completions, as many servers speak them, and as xAI has them. Where they differ, what any of them says
//! is understood.

use metnos_proto::prompt::{Message, ModelCall, Prompt, Stop};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fields::{arguments, count, list, object, text};
use super::{RequestOptions, fields, piece, tame, temperature};
use crate::error::CompletionError;
use crate::format::accumulator::Accumulator;
use crate::format::sse::Event;

/// The name of the schema that a reply must fit.
const SCHEMA: &str = "reply";

/// The body of a request. Its keys stand in order of the alphabet, as in all documents of this folder that are sent:
/// templates of models print tools as they came.
#[derive(Serialize)]
pub(super) struct Request<'a> {
    /// OpenAI's newer models know only this word; most other servers only the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    messages: Vec<Said<'a>>,
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<super::FunctionTool<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// What form the reply must have.
#[derive(Serialize)]
#[serde(untagged)]
enum ResponseFormat<'a> {
    Plain { schema: &'a Value, r#type: &'static str },
    Named { json_schema: NamedSchema<'a>, r#type: &'static str },
}

#[derive(Serialize)]
struct NamedSchema<'a> {
    name: &'static str,
    schema: &'a Value,
}

/// A message.
#[derive(Serialize)]
struct Said<'a> {
    /// None where the model has only made calls.
    content: Option<&'a str>,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

/// A call that the model has made.
#[derive(Serialize)]
struct Call<'a> {
    function: Function,
    id: &'a str,
    r#type: &'static str,
}

#[derive(Serialize)]
struct Function {
    arguments: String,
    name: String,
}

impl<'a> Request<'a> {
    /// `system`: all of the system's text, from [`super::system_text`].
    pub fn new(prompt: &'a Prompt, system: &'a str, asked: RequestOptions<'a>) -> Self {
        let most = |wanted: bool| wanted.then_some(asked.max_tokens);
        Self {
            max_completion_tokens: most(asked.original),
            max_tokens: most(!asked.original),
            messages: messages(prompt, system),
            model: asked.model,
            response_format: prompt.schema.as_ref().map(|schema| ResponseFormat::new(schema, asked.plain_json)),
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            temperature: temperature(prompt),
            tools: super::tools(prompt),
        }
    }
}

impl<'a> ResponseFormat<'a> {
    const fn new(schema: &'a Value, is_plain: bool) -> Self {
        if is_plain {
            Self::Plain { schema, r#type: "json_object" }
        } else {
            Self::Named { json_schema: NamedSchema { name: SCHEMA, schema }, r#type: "json_schema" }
        }
    }
}

fn messages<'a>(prompt: &'a Prompt, system: &'a str) -> Vec<Said<'a>> {
    let said = |role, content| Said { content: Some(content), role, tool_call_id: None, tool_calls: Vec::new() };
    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(said("system", system));
    }
    for message in &prompt.messages {
        match message {
            Message::User { text } => messages.push(said("user", text)),
            Message::Assistant { text, calls } => {
                let content = (calls.is_empty() || !text.is_empty()).then_some(text.as_str());
                let tool_calls = calls.iter().map(Call::new).collect();
                messages.push(Said { content, role: "assistant", tool_call_id: None, tool_calls });
            }
            Message::Results { results } => messages.extend(
                results
                    .iter()
                    .map(|result| Said { tool_call_id: Some(result.id.as_str()), ..said("tool", &result.text) }),
            ),
        }
    }
    messages
}

impl<'a> Call<'a> {
    fn new(call: &'a ModelCall) -> Self {
        let arguments = Value::Object(super::object(&call.arguments)).to_string();
        Self { function: Function { arguments, name: tame(&call.name) }, id: &call.id, r#type: "function" }
    }
}

/// A piece of a reply.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Chunk {
    #[serde(deserialize_with = "fields::any_object")]
    usage: Option<Usage>,
    #[serde(deserialize_with = "list")]
    choices: Vec<Choice>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Choice {
    #[serde(deserialize_with = "count")]
    index: Option<u64>,
    #[serde(deserialize_with = "object")]
    delta: Option<Delta>,
    #[serde(deserialize_with = "text")]
    finish_reason: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta {
    #[serde(deserialize_with = "text")]
    content: String,
    #[serde(deserialize_with = "list")]
    tool_calls: Vec<CallDelta>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CallDelta {
    #[serde(deserialize_with = "count")]
    index: Option<u64>,
    #[serde(deserialize_with = "text")]
    id: String,
    #[serde(deserialize_with = "object")]
    function: Option<FunctionDelta>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionDelta {
    #[serde(deserialize_with = "text")]
    name: String,
    #[serde(deserialize_with = "arguments")]
    arguments: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    #[serde(deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    total_tokens: Option<u64>,
    #[serde(deserialize_with = "fields::any_object")]
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    #[serde(deserialize_with = "count")]
    cached_tokens: Option<u64>,
}

/// Reads the events of one answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The number of the call that is being written, where the server counts none.
    latest: Option<u64>,
}

impl Reader {
    /// True when the answer is over.
    pub(super) fn event(&mut self, accumulator: &mut Accumulator, event: &Event) -> Result<bool, CompletionError> {
        if event.data.trim() == "[DONE]" {
            return if accumulator.has_stopped() {
                Ok(true)
            } else {
                Err(CompletionError::broken("the reply ends without a reason"))
            };
        }
        let Chunk { usage, choices } = piece(&event.data)?;
        used(accumulator, usage);
        let Some(choice) = choices.into_iter().find(|choice| choice.index.unwrap_or(0) == 0) else { return Ok(false) };
        // What comes behind the end of a reply is none of it.
        if let Some(delta) = choice.delta.filter(|_| !accumulator.has_stopped()) {
            self.delta(accumulator, delta)?;
        }
        match choice.finish_reason.as_str() {
            "" => {}
            "stop" | "eos" | "end_turn" | "tool_calls" | "function_call" => accumulator.stopped(Stop::End),
            "length" | "max_tokens" => accumulator.stopped(Stop::Length),
            "content_filter" | "refusal" => accumulator.stopped(Stop::Refused),
            _ => accumulator.stopped(Stop::End),
        }
        Ok(false)
    }

    fn delta(&mut self, accumulator: &mut Accumulator, delta: Delta) -> Result<(), CompletionError> {
        accumulator.text(&delta.content)?;
        for call in delta.tool_calls {
            let function = call.function.unwrap_or_default();
            let key = match (call.index, self.latest) {
                (Some(index), _) => index,
                // Without numbers a new name begins a new call.
                (None, Some(latest)) if function.name.is_empty() => latest,
                (None, latest) => latest.map_or(0, |latest| latest.saturating_add(1)),
            };
            self.latest = Some(key);
            accumulator.call(key, &call.id, &function.name)?;
            accumulator.arguments(key, &function.arguments)?;
        }
        Ok(())
    }
}

fn used(accumulator: &mut Accumulator, usage: Option<Usage>) {
    let Some(usage) = usage else { return };
    let Some(read) = usage.prompt_tokens else { return };
    let written = usage.completion_tokens.unwrap_or(0);
    // Where thoughts that are not said are counted beside what is said, only the sum holds them.
    let all = usage.total_tokens.unwrap_or(0).saturating_sub(read);
    accumulator.counted.tokens_in = Some(read);
    accumulator.counted.tokens_out = Some(written.max(all));
    let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
    accumulator.counted.cached = cached.unwrap_or(0).min(read);
}
