//! Ollama's own chat: one JSON object a line, arguments as objects, the counts in the last line.

use metnos_proto::prompt::{Message, ModelCall, Prompt, Stop};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fields::{arguments, count, list, object, text};
use super::{RequestOptions, piece, tame, temperature};
use crate::error::CompletionError;
use crate::format::accumulator::Accumulator;

/// The body of a request.
#[derive(Serialize)]
pub(super) struct Request<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'a Value>,
    messages: Vec<Said<'a>>,
    model: &'a str,
    options: Options,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<super::FunctionTool<'a>>,
}

#[derive(Serialize)]
struct Options {
    /// Left to itself the server cuts a long prompt silently.
    #[serde(skip_serializing_if = "Option::is_none")]
    num_ctx: Option<u32>,
    num_predict: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
}

/// A message.
#[derive(Serialize)]
struct Said<'a> {
    content: &'a str,
    role: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
}

/// A call that the model has made.
#[derive(Serialize)]
struct Call {
    function: Function,
}

#[derive(Serialize)]
struct Function {
    arguments: Map<String, Value>,
    name: String,
}

impl<'a> Request<'a> {
    /// `system`: all of the system's text, from [`super::system_text`].
    pub fn new(prompt: &'a Prompt, system: &'a str, asked: RequestOptions<'a>) -> Self {
        let options =
            Options { num_ctx: asked.context, num_predict: asked.max_tokens, temperature: temperature(prompt) };
        Self {
            format: prompt.schema.as_ref(),
            messages: messages(prompt, system),
            model: asked.model,
            options,
            stream: true,
            tools: super::tools(prompt),
        }
    }
}

fn messages<'a>(prompt: &'a Prompt, system: &'a str) -> Vec<Said<'a>> {
    let said = |role, content| Said { content, role, tool_calls: Vec::new(), tool_name: None };
    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(said("system", system));
    }
    for message in &prompt.messages {
        match message {
            Message::User { text } => messages.push(said("user", text)),
            Message::Assistant { text, calls } => {
                messages.push(Said { tool_calls: calls.iter().map(Call::new).collect(), ..said("assistant", text) });
            }
            Message::Results { results } => messages.extend(
                results.iter().map(|result| Said { tool_name: Some(tame(&result.name)), ..said("tool", &result.text) }),
            ),
        }
    }
    messages
}

impl Call {
    fn new(call: &ModelCall) -> Self {
        Self { function: Function { arguments: super::object(&call.arguments), name: tame(&call.name) } }
    }
}

/// What is asked of one model.
#[derive(Serialize)]
pub(super) struct ShowRequest<'a> {
    pub model: &'a str,
}

/// A line of a reply.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    #[serde(deserialize_with = "object")]
    message: Option<MessagePiece>,
    done: bool,
    #[serde(deserialize_with = "text")]
    done_reason: String,
    #[serde(deserialize_with = "count")]
    prompt_eval_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    eval_count: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MessagePiece {
    #[serde(deserialize_with = "text")]
    content: String,
    #[serde(deserialize_with = "list")]
    tool_calls: Vec<CallPiece>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CallPiece {
    #[serde(deserialize_with = "text")]
    id: String,
    #[serde(deserialize_with = "object")]
    function: Option<FunctionPiece>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionPiece {
    #[serde(deserialize_with = "text")]
    name: String,
    #[serde(deserialize_with = "arguments")]
    arguments: String,
}

/// Reads the lines of one answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    calls: u64,
}

impl Reader {
    /// True when the answer is over.
    pub(super) fn line(&mut self, accumulator: &mut Accumulator, line: &str) -> Result<bool, CompletionError> {
        if line.trim().is_empty() {
            return Ok(false);
        }
        let line: Line = piece(line)?;
        if let Some(message) = line.message {
            accumulator.text(&message.content)?;
            for call in message.tool_calls {
                self.call(accumulator, call)?;
            }
        }
        if !line.done {
            return Ok(false);
        }
        accumulator.stopped(if line.done_reason == "length" { Stop::Length } else { Stop::End });
        // A prompt that was read from the cache whole is not counted again.
        accumulator.counted.tokens_in = line.prompt_eval_count;
        accumulator.counted.tokens_out = line.eval_count;
        Ok(true)
    }

    fn call(&mut self, accumulator: &mut Accumulator, call: CallPiece) -> Result<(), CompletionError> {
        let function = call.function.ok_or_else(|| CompletionError::broken("a call of the server has no function"))?;
        let key = self.calls;
        self.calls += 1;
        accumulator.call(key, &call.id, &function.name)?;
        accumulator.arguments(key, &function.arguments)
    }
}
