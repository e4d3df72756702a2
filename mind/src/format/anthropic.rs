//! Anthropic's messages: content in blocks, a stream of named events, a mark where a cache may begin.

use metnos_proto::prompt::{Block, CallResult, Message, ModelCall, Prompt, Stop};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fields::{self, any_object, any_text, count, text};
use super::{RequestOptions, complaint, tame};
use crate::error::CompletionError;
use crate::format::accumulator::Accumulator;
use crate::format::sse::Event;

/// The most marks for a cache that a request may have.
const MAX_MARKS: usize = 4;
/// The tool through which a reply is asked for that must be JSON.
const ANSWER: &str = "answer_in_json";
/// What that tool says of itself.
const ANSWER_SAYS: &str = "Say your answer with this tool, and with nothing else.";

/// The body of a request. It has no temperature: the newer models take none.
#[derive(Serialize)]
pub(super) struct Request<'a> {
    max_tokens: u32,
    messages: Vec<Said<'a>>,
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolOffer<'a>>,
}

/// What one side says at a time.
#[derive(Serialize)]
struct Said<'a> {
    content: Vec<Content<'a>>,
    role: &'static str,
}

/// A block of content.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text {
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
        text: &'a str,
        r#type: &'static str,
    },
    Call {
        id: String,
        input: Map<String, Value>,
        name: String,
        r#type: &'static str,
    },
    Result {
        content: &'a str,
        is_error: bool,
        tool_use_id: String,
        r#type: &'static str,
    },
}

#[derive(Serialize)]
struct CacheControl {
    r#type: &'static str,
}

/// Which tool must be called.
#[derive(Serialize)]
struct ToolChoice {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    r#type: &'static str,
}

#[derive(Serialize)]
struct ToolOffer<'a> {
    description: &'a str,
    input_schema: &'a Value,
    name: &'a str,
}

impl<'a> Request<'a> {
    pub fn new(prompt: &'a Prompt, asked: RequestOptions<'a>) -> Self {
        let mut tools: Vec<_> = prompt
            .tools
            .iter()
            .map(|tool| ToolOffer { description: &tool.description, input_schema: &tool.input, name: &tool.name })
            .collect();
        let tool_choice = prompt.schema.as_ref().map(|_| {
            let only = tools.is_empty();
            ToolChoice { name: only.then_some(ANSWER), r#type: if only { "tool" } else { "any" } }
        });
        tools.extend(prompt.schema.as_ref().map(|schema| ToolOffer {
            description: ANSWER_SAYS,
            input_schema: schema,
            name: ANSWER,
        }));
        Self {
            max_tokens: asked.max_tokens,
            messages: messages(prompt),
            model: asked.model,
            stream: true,
            system: system(&prompt.system),
            tool_choice,
            tools,
        }
    }
}

impl<'a> Content<'a> {
    const fn text(text: &'a str) -> Self {
        Self::Text { cache_control: None, text, r#type: "text" }
    }

    fn call(call: &ModelCall) -> Self {
        let input = super::object(&call.arguments);
        Self::Call { id: tame(&call.id), input, name: tame(&call.name), r#type: "tool_use" }
    }

    fn result(result: &'a CallResult) -> Self {
        Self::Result {
            content: &result.text,
            is_error: result.failed,
            tool_use_id: tame(&result.id),
            r#type: "tool_result",
        }
    }
}

fn system(blocks: &[Block]) -> Vec<Content<'_>> {
    // The marks nearest to what changes are worth most.
    let mut skip = blocks.iter().filter(|block| block.cache).count().saturating_sub(MAX_MARKS);
    let mut system = Vec::new();
    // Empty pieces are refused there.
    for block in blocks.iter().filter(|block| !block.text.is_empty()) {
        let is_marked = block.cache && skip == 0;
        if block.cache {
            skip = skip.saturating_sub(1);
        }
        let cache_control = is_marked.then_some(CacheControl { r#type: "ephemeral" });
        system.push(Content::Text { cache_control, text: &block.text, r#type: "text" });
    }
    system
}

fn messages(prompt: &Prompt) -> Vec<Said<'_>> {
    let mut messages: Vec<Said<'_>> = Vec::new();
    for message in &prompt.messages {
        let (role, content): (_, Vec<_>) = match message {
            Message::User { text } => ("user", vec![Content::text(text)]),
            Message::Assistant { text, calls } => {
                let said = (!text.trim().is_empty()).then(|| Content::text(text));
                ("assistant", said.into_iter().chain(calls.iter().map(Content::call)).collect())
            }
            Message::Results { results } => ("user", results.iter().map(Content::result).collect()),
        };
        match messages.last_mut() {
            // The two sides take turns, so that what one says at a time is one message.
            Some(last) if last.role == role => last.content.extend(content),
            Some(_) | None => messages.push(Said { content, role }),
        }
    }
    messages.retain(|message| !message.content.is_empty());
    messages
}

/// What kind an event is.
#[derive(Default, Deserialize)]
#[serde(default)]
struct EventKind {
    #[serde(rename = "type", deserialize_with = "text")]
    kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MessageStart {
    #[serde(deserialize_with = "any_object")]
    message: Option<StartedMessage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StartedMessage {
    #[serde(deserialize_with = "any_object")]
    usage: Option<Usage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MessageDelta {
    #[serde(deserialize_with = "any_object")]
    delta: Option<StopDelta>,
    #[serde(deserialize_with = "any_object")]
    usage: Option<Usage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StopDelta {
    #[serde(deserialize_with = "any_text")]
    stop_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    #[serde(deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    output_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BlockStart {
    #[serde(deserialize_with = "count")]
    index: Option<u64>,
    #[serde(deserialize_with = "fields::object")]
    content_block: Option<StartedBlock>,
}

/// A block as it begins.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum StartedBlock {
    Text {
        #[serde(default, deserialize_with = "text")]
        text: String,
    },
    ToolUse {
        #[serde(default, deserialize_with = "text")]
        id: String,
        #[serde(default, deserialize_with = "text")]
        name: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BlockPiece {
    #[serde(deserialize_with = "count")]
    index: Option<u64>,
    #[serde(deserialize_with = "fields::object")]
    delta: Option<BlockDelta>,
}

/// A piece of a block.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockDelta {
    TextDelta {
        #[serde(default, deserialize_with = "text")]
        text: String,
    },
    InputJsonDelta {
        #[serde(default, deserialize_with = "text")]
        partial_json: String,
    },
    #[serde(other)]
    Other,
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
    pub(super) fn event(&mut self, accumulator: &mut Accumulator, event: &Event) -> Result<bool, CompletionError> {
        let value = crate::format::json::parse(event.data.as_bytes())?;
        let EventKind { kind } = fields::read(&value)?;
        if !event.name.is_empty() && event.name != kind {
            return Err(CompletionError::broken("an event of the server has two names"));
        }
        if !self.begun && !matches!(kind.as_str(), "message_start" | "ping" | "error") {
            return Err(CompletionError::broken("the reply has no beginning"));
        }
        match kind.as_str() {
            "message_start" if self.begun => return Err(CompletionError::broken("the reply begins twice")),
            "message_start" => {
                self.begun = true;
                let start: MessageStart = fields::read(&value)?;
                used(accumulator, start.message.and_then(|message| message.usage));
            }
            "content_block_start" => self.begin(accumulator, fields::read(&value)?)?,
            "content_block_delta" => self.delta(accumulator, fields::read(&value)?)?,
            "content_block_stop" => self.open = None,
            "message_delta" => {
                let MessageDelta { delta, usage } = fields::read(&value)?;
                used(accumulator, usage);
                match delta.and_then(|delta| delta.stop_reason).as_deref() {
                    Some("end_turn" | "stop_sequence" | "pause_turn") => accumulator.stopped(Stop::End),
                    // The answer in JSON is no call.
                    Some("tool_use") => accumulator.stopped(Stop::End),
                    Some("max_tokens" | "model_context_window_exceeded") => accumulator.stopped(Stop::Length),
                    Some("refusal") => accumulator.stopped(Stop::Refused),
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

    fn begin(&mut self, accumulator: &mut Accumulator, start: BlockStart) -> Result<(), CompletionError> {
        let index = start.index.ok_or_else(|| CompletionError::broken("a block of the reply has no number"))?;
        if self.open.is_some() || index < self.next {
            return Err(CompletionError::broken("the blocks of the reply are out of order"));
        }
        self.next = index.saturating_add(1);
        let block = start.content_block.ok_or_else(|| CompletionError::broken("a block of the reply is empty"))?;
        let kind = match block {
            StartedBlock::Text { text } => {
                accumulator.text(&text)?;
                Kind::Text
            }
            StartedBlock::ToolUse { name, .. } if self.structured && name == ANSWER => Kind::Answer,
            StartedBlock::ToolUse { id, name } => {
                accumulator.call(index, &id, &name)?;
                Kind::Call
            }
            StartedBlock::Other => Kind::Other,
        };
        self.open = Some((index, kind));
        Ok(())
    }

    fn delta(&mut self, accumulator: &mut Accumulator, piece: BlockPiece) -> Result<(), CompletionError> {
        let (index, kind) =
            self.open.ok_or_else(|| CompletionError::broken("a piece of the reply belongs to no block"))?;
        if piece.index != Some(index) {
            return Err(CompletionError::broken("a piece of the reply belongs to another block"));
        }
        let delta = piece.delta.ok_or_else(|| CompletionError::broken("a piece of the reply is empty"))?;
        match (kind, delta) {
            (Kind::Text, BlockDelta::TextDelta { text }) => accumulator.text(&text),
            (Kind::Call, BlockDelta::InputJsonDelta { partial_json }) => accumulator.arguments(index, &partial_json),
            (Kind::Answer, BlockDelta::InputJsonDelta { partial_json }) => accumulator.text(&partial_json),
            (
                Kind::Text | Kind::Call | Kind::Answer | Kind::Other,
                BlockDelta::TextDelta { .. } | BlockDelta::InputJsonDelta { .. } | BlockDelta::Other,
            ) => Ok(()),
        }
    }
}

fn used(accumulator: &mut Accumulator, usage: Option<Usage>) {
    let Some(usage) = usage else { return };
    if let Some(fresh) = usage.input_tokens {
        let cached = usage.cache_read_input_tokens.unwrap_or(0);
        let kept = usage.cache_creation_input_tokens.unwrap_or(0);
        accumulator.counted.tokens_in = Some(fresh.saturating_add(cached).saturating_add(kept));
        accumulator.counted.cached = cached;
    }
    if let Some(out) = usage.output_tokens {
        accumulator.counted.tokens_out = Some(out);
    }
}
