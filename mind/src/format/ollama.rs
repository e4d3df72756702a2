//! Ollama's own chat: one JSON object a line, arguments as objects, the counts in the last line.

use metnos_proto::prompt::{Message, Prompt, Stop};
use serde_json::{Value, json};

use super::{RequestOptions, complaint, count, object, tame, text};
use crate::error::CompletionError;
use crate::format::accumulator::Accumulator;

pub(super) fn request(prompt: &Prompt, asked: RequestOptions<'_>) -> Value {
    let mut options = json!({ "num_predict": asked.max_tokens });
    // Left to itself the server cuts a long prompt silently.
    if let Some(context) = asked.context {
        options["num_ctx"] = context.into();
    }
    if let Some(hundredths) = prompt.temperature {
        options["temperature"] = (f64::from(hundredths.min(200)) / 100.0).into();
    }
    let mut body = json!({ "model": asked.model, "stream": true, "options": options });
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
        body["format"] = schema.clone();
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
                    let call = |call: &metnos_proto::prompt::ModelCall| json!({ "function": { "name": tame(&call.name), "arguments": object(&call.arguments) } });
                    said["tool_calls"] = calls.iter().map(call).collect();
                }
                messages.push(said);
            }
            Message::Results { results } => messages.extend(
                results
                    .iter()
                    .map(|result| json!({ "role": "tool", "tool_name": tame(&result.name), "content": result.text })),
            ),
        }
    }
    messages
}

/// Reads the lines of one answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    calls: u64,
}

impl Reader {
    /// True when the answer is over.
    pub(super) fn line(&mut self, gather: &mut Accumulator, line: &str) -> Result<bool, CompletionError> {
        if line.trim().is_empty() {
            return Ok(false);
        }
        let value = crate::format::json::parse(line.as_bytes())?;
        if !value.is_object() {
            return Err(CompletionError::broken("a piece of the reply is no object"));
        }
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(complaint(None, &value));
        }
        if let Some(message) = value.get("message").filter(|message| !message.is_null()) {
            gather.text(text(message, "content")?)?;
            match message.get("tool_calls") {
                None | Some(Value::Null) => {}
                Some(Value::Array(calls)) => {
                    for call in calls {
                        self.call(gather, call)?;
                    }
                }
                Some(_) => return Err(CompletionError::broken("`tool_calls` of the server is no list")),
            }
        }
        match value.get("done") {
            None | Some(Value::Bool(false)) => return Ok(false),
            Some(Value::Bool(true)) => {}
            Some(_) => return Err(CompletionError::broken("`done` of the server is neither true nor false")),
        }
        gather.stopped(if text(&value, "done_reason")? == "length" { Stop::Length } else { Stop::End });
        // A prompt that was read from the cache whole is not counted again.
        gather.counted.tokens_in = count(&value, "prompt_eval_count");
        gather.counted.tokens_out = count(&value, "eval_count");
        Ok(true)
    }

    fn call(&mut self, gather: &mut Accumulator, call: &Value) -> Result<(), CompletionError> {
        let function =
            call.get("function").ok_or_else(|| CompletionError::broken("a call of the server has no function"))?;
        let key = self.calls;
        self.calls += 1;
        gather.call(key, text(call, "id")?, text(function, "name")?)?;
        match function.get("arguments") {
            Some(object @ Value::Object(_)) => gather.arguments(key, &object.to_string()),
            Some(_) | None => gather.arguments(key, text(function, "arguments")?),
        }
    }
}
