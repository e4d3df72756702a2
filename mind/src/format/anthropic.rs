//! Anthropic's messages: content in blocks, a stream of named events, a mark where a cache may begin.

use metnos_proto::prompt::{Message, Prompt, Stop};
use serde_json::{Value, json};

use super::{RequestOptions, complaint, count, object, tame, text};
use crate::error::CompletionError;
use crate::format::accumulator::Accumulator;
use crate::format::sse::Event;

/// The most marks for a cache that a request may have.
const MAX_MARKS: usize = 4;
/// The tool through which a reply is asked for that must be JSON.
const ANSWER: &str = "answer_in_json";

pub(super) fn request(prompt: &Prompt, asked: RequestOptions<'_>) -> Value {
    let marked = prompt.system.iter().filter(|block| block.cache).count();
    let mut skip = marked.saturating_sub(MAX_MARKS);
    let mut system = Vec::new();
    // Empty pieces are refused there.
    for block in prompt.system.iter().filter(|block| !block.text.is_empty()) {
        let mut piece = json!({ "type": "text", "text": block.text });
        if block.cache {
            // The marks nearest to what changes are worth most.
            if skip > 0 {
                skip -= 1;
            } else {
                piece["cache_control"] = json!({ "type": "ephemeral" });
            }
        }
        system.push(piece);
    }
    let mut tools: Vec<Value> = prompt
        .tools
        .iter()
        .map(|tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input }))
        .collect();
    let mut body = json!({ "model": asked.model, "max_tokens": asked.max_tokens, "stream": true });
    if let Some(schema) = &prompt.schema {
        let description = "Say your answer with this tool, and with nothing else.";
        body["tool_choice"] =
            if tools.is_empty() { json!({ "type": "tool", "name": ANSWER }) } else { json!({ "type": "any" }) };
        tools.push(json!({ "name": ANSWER, "description": description, "input_schema": schema }));
    }
    if !system.is_empty() {
        body["system"] = system.into();
    }
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    // No temperature: its newer models take none.
    body["messages"] = messages(prompt).into();
    body
}

fn messages(prompt: &Prompt) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &prompt.messages {
        let (role, blocks) = match message {
            Message::User { text } => ("user", vec![json!({ "type": "text", "text": text })]),
            Message::Assistant { text, calls } => {
                let said = (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }));
                let calls = calls.iter().map(|call| {
                    json!({ "type": "tool_use", "id": tame(&call.id), "name": tame(&call.name), "input": object(&call.arguments) })
                });
                ("assistant", said.into_iter().chain(calls).collect())
            }
            Message::Results { results } => {
                let of = |result: &metnos_proto::prompt::CallResult| json!({ "type": "tool_result", "tool_use_id": tame(&result.id), "content": result.text, "is_error": result.failed });
                ("user", results.iter().map(of).collect())
            }
        };
        match messages.last_mut() {
            // The two sides take turns, so that what one says at a time is one message.
            Some((last, earlier)) if *last == role => earlier.extend(blocks),
            Some(_) | None => messages.push((role, blocks)),
        }
    }
    let said = messages.into_iter().filter(|(_, blocks)| !blocks.is_empty());
    said.map(|(role, blocks)| json!({ "role": role, "content": blocks })).collect()
}

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Call,
    /// The call whose arguments are the reply.
    Answer,
    /// Thoughts that are not said, and what a later version may bring.
    Other,
}

/// Reads the events of one answer.
#[derive(Debug)]
pub(super) struct Reader {
    structured: bool,
    begun: bool,
    /// The block that is being written, and its number.
    open: Option<(u64, Kind)>,
    next: u64,
}

impl Reader {
    pub(super) const fn new(structured: bool) -> Self {
        Self { structured, begun: false, open: None, next: 0 }
    }

    /// True when the answer is over.
    pub(super) fn event(&mut self, gather: &mut Accumulator, event: &Event) -> Result<bool, CompletionError> {
        let value = crate::format::json::parse(event.data.as_bytes())?;
        let kind = text(&value, "type")?;
        if !event.name.is_empty() && event.name != kind {
            return Err(CompletionError::broken("an event of the server has two names"));
        }
        if !self.begun && !matches!(kind, "message_start" | "ping" | "error") {
            return Err(CompletionError::broken("the reply has no beginning"));
        }
        match kind {
            "message_start" if self.begun => return Err(CompletionError::broken("the reply begins twice")),
            "message_start" => {
                self.begun = true;
                used(gather, value.pointer("/message/usage"));
            }
            "content_block_start" => self.begin(gather, &value)?,
            "content_block_delta" => self.delta(gather, &value)?,
            "content_block_stop" => self.open = None,
            "message_delta" => {
                used(gather, value.get("usage"));
                match value.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    Some("end_turn" | "stop_sequence" | "pause_turn") => gather.stopped(Stop::End),
                    // The answer in JSON is no call.
                    Some("tool_use") => gather.stopped(Stop::End),
                    Some("max_tokens" | "model_context_window_exceeded") => gather.stopped(Stop::Length),
                    Some("refusal") => gather.stopped(Stop::Refused),
                    Some(_) | None => {}
                }
            }
            "message_stop" => return Ok(true),
            "error" => return Err(complaint(None, &value)),
            // `ping`, and what a later version may bring.
            _ => {}
        }
        Ok(false)
    }

    fn begin(&mut self, gather: &mut Accumulator, value: &Value) -> Result<(), CompletionError> {
        let index =
            count(value, "index").ok_or_else(|| CompletionError::broken("a block of the reply has no number"))?;
        if self.open.is_some() || index < self.next {
            return Err(CompletionError::broken("the blocks of the reply are out of order"));
        }
        self.next = index.saturating_add(1);
        let block =
            value.get("content_block").ok_or_else(|| CompletionError::broken("a block of the reply is empty"))?;
        let kind = match text(block, "type")? {
            "text" => {
                gather.text(text(block, "text")?)?;
                Kind::Text
            }
            "tool_use" if self.structured && text(block, "name")? == ANSWER => Kind::Answer,
            "tool_use" => {
                gather.call(index, text(block, "id")?, text(block, "name")?)?;
                Kind::Call
            }
            _ => Kind::Other,
        };
        self.open = Some((index, kind));
        Ok(())
    }

    fn delta(&mut self, gather: &mut Accumulator, value: &Value) -> Result<(), CompletionError> {
        let (index, kind) =
            self.open.ok_or_else(|| CompletionError::broken("a piece of the reply belongs to no block"))?;
        if count(value, "index") != Some(index) {
            return Err(CompletionError::broken("a piece of the reply belongs to another block"));
        }
        let delta = value.get("delta").ok_or_else(|| CompletionError::broken("a piece of the reply is empty"))?;
        match (kind, text(delta, "type")?) {
            (Kind::Text, "text_delta") => gather.text(text(delta, "text")?),
            (Kind::Call, "input_json_delta") => gather.arguments(index, text(delta, "partial_json")?),
            (Kind::Answer, "input_json_delta") => gather.text(text(delta, "partial_json")?),
            (Kind::Text | Kind::Call | Kind::Answer | Kind::Other, _) => Ok(()),
        }
    }
}

fn used(gather: &mut Accumulator, usage: Option<&Value>) {
    let Some(usage) = usage else { return };
    if let Some(fresh) = count(usage, "input_tokens") {
        let cached = count(usage, "cache_read_input_tokens").unwrap_or(0);
        let kept = count(usage, "cache_creation_input_tokens").unwrap_or(0);
        gather.counted.tokens_in = Some(fresh.saturating_add(cached).saturating_add(kept));
        gather.counted.cached = cached;
    }
    if let Some(out) = count(usage, "output_tokens") {
        gather.counted.tokens_out = Some(out);
    }
}
