//! The languages of models' servers, without a connection: a prompt becomes the body of a request, and the pieces of an
//! answer become a reply. Nothing here waits, and everything a server says is presumed hostile.

pub mod accumulator;
mod anthropic;
pub mod json;
mod listing;
mod ollama;
mod openai;
pub mod sse;
#[cfg(test)]
mod tests;

use metnos_proto::models::Dialect;
use metnos_proto::prompt::{MAX_TOOL_NAME, Prompt, Reply, Stop};
use serde_json::Value;

use crate::error::CompletionError;
use crate::format::accumulator::{Accumulator, Counted};
use crate::format::sse::{Events, LineSplitter};

pub use listing::{ListedModel, complaint, listed, shown};

/// What a request is made of, beside the prompt.
#[derive(Debug, Clone, Copy)]
pub struct RequestOptions<'a> {
    /// What the server calls the model.
    pub model: &'a str,
    /// The most tokens to answer with.
    pub max_tokens: u32,
    /// The most tokens of prompt and reply together, where the owner has said so.
    pub context: Option<u32>,
    /// Whether this is OpenAI's own server, which has its own word for the most tokens.
    pub original: bool,
    /// Whether the server is only asked for JSON that fits, not told so by a schema's name.
    pub plain_json: bool,
}

/// The body of a request.
#[must_use]
pub fn request(tongue: Dialect, prompt: &Prompt, asked: RequestOptions<'_>) -> Value {
    match tongue {
        Dialect::Anthropic => anthropic::request(prompt, asked),
        Dialect::OpenAi | Dialect::Xai => openai::request(prompt, asked),
        Dialect::Ollama => ollama::request(prompt, asked),
    }
}

/// Where thoughts are asked for.
#[must_use]
pub const fn think_path(tongue: Dialect) -> &'static str {
    match tongue {
        Dialect::Anthropic => "/v1/messages",
        Dialect::OpenAi | Dialect::Xai => "/chat/completions",
        Dialect::Ollama => "/api/chat",
    }
}

/// Where it learns which models there are.
#[must_use]
pub const fn models_path(tongue: Dialect) -> &'static str {
    match tongue {
        Dialect::Anthropic => "/v1/models?limit=1000",
        Dialect::OpenAi | Dialect::Xai => "/models",
        Dialect::Ollama => "/api/tags",
    }
}

/// The kind of answer that a stream is announced with.
#[must_use]
pub const fn stream_type(tongue: Dialect) -> &'static str {
    match tongue {
        Dialect::Anthropic | Dialect::OpenAi | Dialect::Xai => "text/event-stream",
        Dialect::Ollama => "application/x-ndjson",
    }
}

#[derive(Debug)]
enum Machine {
    Anthropic(Events, anthropic::Reader),
    OpenAi(Events, openai::Reader),
    Ollama(LineSplitter, ollama::Reader),
}

/// Reads one answer.
#[derive(Debug)]
pub struct Reader {
    machine: Machine,
    gather: Accumulator,
    over: bool,
}

impl Reader {
    /// For an answer in this language. `structured`: a reply was asked for that is JSON and nothing else.
    #[must_use]
    pub fn new(tongue: Dialect, max_tokens: u32, structured: bool) -> Self {
        let machine = match tongue {
            Dialect::Anthropic => Machine::Anthropic(Events::default(), anthropic::Reader::new(structured)),
            Dialect::OpenAi | Dialect::Xai => Machine::OpenAi(Events::default(), openai::Reader::default()),
            Dialect::Ollama => Machine::Ollama(LineSplitter::default(), ollama::Reader::default()),
        };
        Self { machine, gather: Accumulator::new(max_tokens), over: false }
    }

    /// Takes the next piece, cut anywhere. True when the answer is over; what comes behind its end is not read.
    ///
    /// # Errors
    /// When it is no answer, is too much of one, or says that something went wrong.
    pub fn push(&mut self, piece: &[u8]) -> Result<bool, CompletionError> {
        match &mut self.machine {
            Machine::Anthropic(events, reader) => {
                for event in events.push(piece)? {
                    self.gather.piece()?;
                    if !self.over {
                        self.over = reader.event(&mut self.gather, &event)?;
                    }
                }
            }
            Machine::OpenAi(events, reader) => {
                for event in events.push(piece)? {
                    self.gather.piece()?;
                    if !self.over {
                        self.over = reader.event(&mut self.gather, &event)?;
                    }
                }
            }
            Machine::Ollama(lines, reader) => {
                for line in lines.push(piece)? {
                    self.gather.piece()?;
                    if !self.over {
                        self.over = reader.line(&mut self.gather, &line)?;
                    }
                }
            }
        }
        Ok(self.over)
    }

    /// The connection has ended.
    ///
    /// # Errors
    /// When the answer had not.
    pub fn end(&mut self) -> Result<(), CompletionError> {
        if let Machine::Ollama(lines, reader) = &mut self.machine
            && !self.over
            && let Some(line) = lines.rest()?
        {
            self.over = reader.line(&mut self.gather, &line)?;
        }
        // A server that has said why it stopped has said everything; the rest is courtesy.
        if self.over || matches!(self.machine, Machine::OpenAi(..)) && self.gather.has_stopped() {
            return Ok(());
        }
        Err(CompletionError::broken("the connection ended in the middle of the reply"))
    }

    /// What the model has said so far.
    #[must_use]
    pub fn said(&self) -> &str {
        self.gather.said()
    }

    /// Whether anything of the reply has come.
    #[must_use]
    pub fn produced(&self) -> bool {
        self.gather.produced()
    }

    /// What the server says was used so far.
    #[must_use]
    pub fn counted(&self) -> Counted {
        self.gather.counted
    }

    /// Everything the model wrote, in bytes.
    #[must_use]
    pub fn written(&self) -> usize {
        self.gather.written()
    }

    /// The reply as far as it came; `otherwise` says why it ended where the server did not.
    #[must_use]
    pub fn reply(self, otherwise: Stop) -> Reply {
        self.gather.reply(otherwise)
    }
}

/// A name as every server takes it: an earlier reply may hold one that no server would.
fn tame(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let tame: String = name.chars().map(plain).take(MAX_TOOL_NAME).collect();
    if tame.is_empty() { "_".to_owned() } else { tame }
}

/// Arguments as an object: an earlier reply may hold what is none.
fn object(arguments: &str) -> Value {
    match crate::format::json::parse(arguments.as_bytes()) {
        Ok(Value::Object(map)) => Value::Object(map),
        Ok(_) | Err(_) => serde_json::json!({ "unreadable": arguments }),
    }
}

/// A number that counts something; what is none is left out.
fn count(value: &Value, key: &str) -> Option<u64> {
    value.get(key).and_then(Value::as_u64)
}

/// A text that must be one where it is there at all.
fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, CompletionError> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(CompletionError::broken(format!("`{key}` of the server is no text"))),
    }
}
