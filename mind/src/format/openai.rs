//! OpenAI's chat completions, as many servers speak them, and as xAI has them. Where they differ, what any of them says
//! is understood.

use metnos_proto::prompt::{Message, Prompt, Stop};
use serde_json::{Value, json};

use super::{RequestOptions, complaint, count, tame, text};
use crate::error::CompletionError;
use crate::format::accumulator::Accumulator;
use crate::format::sse::Event;

/// The name of the schema that a reply must fit.
const SCHEMA: &str = "reply";

pub(super) fn request(prompt: &Prompt, asked: RequestOptions<'_>) -> Value {
    let mut body = json!({
        "model": asked.model,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    // OpenAI's newer models know only the second word; most other servers only the first.
    body[if asked.original { "max_completion_tokens" } else { "max_tokens" }] = asked.max_tokens.into();
    if let Some(hundredths) = prompt.temperature {
        body["temperature"] = (f64::from(hundredths.min(200)) / 100.0).into();
    }
    let tools: Vec<Value> = prompt
        .tools
        .iter()
        .map(|tool| {
            let function = json!({ "name": tool.name, "description": tool.description, "parameters": tool.input });
            json!({ "type": "function", "function": function })
        })
        .collect();
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    if let Some(schema) = &prompt.schema {
        body["response_format"] = if asked.plain_json {
            json!({ "type": "json_object", "schema": schema })
        } else {
            json!({ "type": "json_schema", "json_schema": { "name": SCHEMA, "schema": schema } })
        };
    }
    body["messages"] = messages(prompt).into();
    body
}

fn messages(prompt: &Prompt) -> Vec<Value> {
    let system: Vec<&str> =
        prompt.system.iter().map(|block| block.text.as_str()).filter(|text| !text.is_empty()).collect();
    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(json!({ "role": "system", "content": system.join("\n\n") }));
    }
    for message in &prompt.messages {
        match message {
            Message::User { text } => messages.push(json!({ "role": "user", "content": text })),
            Message::Assistant { text, calls } => {
                let mut said = json!({ "role": "assistant", "content": text });
                if !calls.is_empty() {
                    let calls: Vec<Value> = calls
                        .iter()
                        .map(|call| {
                            let function = json!({ "name": tame(&call.name), "arguments": super::object(&call.arguments).to_string() });
                            json!({ "id": call.id, "type": "function", "function": function })
                        })
                        .collect();
                    said["tool_calls"] = calls.into();
                    if text.is_empty() {
                        said["content"] = Value::Null;
                    }
                }
                messages.push(said);
            }
            Message::Results { results } => messages.extend(
                results
                    .iter()
                    .map(|result| json!({ "role": "tool", "tool_call_id": result.id, "content": result.text })),
            ),
        }
    }
    messages
}

/// Reads the events of one answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The number of the call that is being written, where the server counts none.
    latest: Option<u64>,
}

impl Reader {
    /// True when the answer is over.
    pub(super) fn event(&mut self, gather: &mut Accumulator, event: &Event) -> Result<bool, CompletionError> {
        if event.data.trim() == "[DONE]" {
            return if gather.has_stopped() {
                Ok(true)
            } else {
                Err(CompletionError::broken("the reply ends without a reason"))
            };
        }
        let value = crate::format::json::parse(event.data.as_bytes())?;
        if !value.is_object() {
            return Err(CompletionError::broken("a piece of the reply is no object"));
        }
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(complaint(None, &value));
        }
        used(gather, value.get("usage"));
        let choice = match value.get("choices") {
            None | Some(Value::Null) => None,
            Some(Value::Array(choices)) => choices.iter().find(|choice| count(choice, "index").unwrap_or(0) == 0),
            Some(_) => return Err(CompletionError::broken("`choices` of the server is no list")),
        };
        let Some(choice) = choice else { return Ok(false) };
        if let Some(delta) = choice.get("delta").filter(|delta| !delta.is_null()) {
            // What comes behind the end of a reply is none of it.
            if !gather.has_stopped() {
                self.delta(gather, delta)?;
            }
        }
        match text(choice, "finish_reason")? {
            "" => {}
            "stop" | "eos" | "end_turn" | "tool_calls" | "function_call" => gather.stopped(Stop::End),
            "length" | "max_tokens" => gather.stopped(Stop::Length),
            "content_filter" | "refusal" => gather.stopped(Stop::Refused),
            _ => gather.stopped(Stop::End),
        }
        Ok(false)
    }

    fn delta(&mut self, gather: &mut Accumulator, delta: &Value) -> Result<(), CompletionError> {
        gather.text(text(delta, "content")?)?;
        let calls = match delta.get("tool_calls") {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Array(calls)) => calls,
            Some(_) => return Err(CompletionError::broken("`tool_calls` of the server is no list")),
        };
        for call in calls {
            let id = text(call, "id")?;
            let function = call.get("function").unwrap_or(&Value::Null);
            let name = text(function, "name")?;
            let key = match (count(call, "index"), self.latest) {
                (Some(index), _) => index,
                // Without numbers a new name begins a new call.
                (None, Some(latest)) if name.is_empty() => latest,
                (None, latest) => latest.map_or(0, |latest| latest.saturating_add(1)),
            };
            self.latest = Some(key);
            gather.call(key, id, name)?;
            match function.get("arguments") {
                // Some servers hand over the object itself.
                Some(object @ Value::Object(_)) => gather.arguments(key, &object.to_string())?,
                Some(_) | None => gather.arguments(key, text(function, "arguments")?)?,
            }
        }
        Ok(())
    }
}

fn used(gather: &mut Accumulator, usage: Option<&Value>) {
    let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
    let Some(read) = count(usage, "prompt_tokens") else { return };
    let written = count(usage, "completion_tokens").unwrap_or(0);
    // Where thoughts that are not said are counted beside what is said, only the sum holds them.
    let all = count(usage, "total_tokens").unwrap_or(0).saturating_sub(read);
    gather.counted.tokens_in = Some(read);
    gather.counted.tokens_out = Some(written.max(all));
    let details = usage.get("prompt_tokens_details").unwrap_or(&Value::Null);
    gather.counted.cached = count(details, "cached_tokens").unwrap_or(0).min(read);
}
