//! The languages of models' servers, without a connection: a prompt becomes the body of a request, and the pieces of an
//! answer become a reply. Nothing here waits, and everything a server says is presumed hostile.

pub mod accumulator;
mod anthropic;
#[cfg(test)]
mod dialogue_tests;
mod fields;
pub mod json;
mod listing;
mod ollama;
mod openai;
pub mod sse;
#[cfg(test)]
mod tests;

use metnos_proto::models::Dialect;
use metnos_proto::prompt::{MAX_TOOL_NAME, Prompt, Reply, Stop, Tool};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::CompletionError;
use crate::format::accumulator::{Accumulator, Counted};
use crate::format::sse::{Events, LineSplitter};

pub use listing::{ListedModel, complaint, constrains, listed, shown};

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
pub fn request(tongue: Dialect, prompt: &Prompt, asked: RequestOptions<'_>) -> Vec<u8> {
    let system = system_text(prompt);
    match tongue {
        Dialect::Anthropic => written(&anthropic::Request::new(prompt, asked)),
        Dialect::OpenAi | Dialect::Xai => written(&openai::Request::new(prompt, &system, asked)),
        Dialect::Ollama => written(&ollama::Request::new(prompt, &system, asked)),
    }
}

/// The body with which Ollama is asked what a model takes.
#[must_use]
pub fn show_request(model: &str) -> Vec<u8> {
    written(&ollama::ShowRequest { model })
}

/// None of the documents that are sent has anything that JSON has not.
fn written(document: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(document).unwrap_or_default()
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
    accumulator: Accumulator,
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
        Self { machine, accumulator: Accumulator::new(max_tokens), over: false }
    }

    /// Takes the next piece, cut anywhere. True when the answer is over; what comes behind its end is not read.
    ///
    /// # Errors
    /// When it is no answer, is too much of one, or says that something went wrong.
    pub fn push(&mut self, piece: &[u8]) -> Result<bool, CompletionError> {
        match &mut self.machine {
            Machine::Anthropic(events, reader) => {
                for event in events.push(piece)? {
                    self.accumulator.piece()?;
                    if !self.over {
                        self.over = reader.event(&mut self.accumulator, &event)?;
                    }
                }
            }
            Machine::OpenAi(events, reader) => {
                for event in events.push(piece)? {
                    self.accumulator.piece()?;
                    if !self.over {
                        self.over = reader.event(&mut self.accumulator, &event)?;
                    }
                }
            }
            Machine::Ollama(lines, reader) => {
                for line in lines.push(piece)? {
                    self.accumulator.piece()?;
                    if !self.over {
                        self.over = reader.line(&mut self.accumulator, &line)?;
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
            self.over = reader.line(&mut self.accumulator, &line)?;
        }
        // A server that has said why it stopped has said everything; the rest is courtesy.
        if self.over || matches!(self.machine, Machine::OpenAi(..)) && self.accumulator.has_stopped() {
            return Ok(());
        }
        Err(CompletionError::broken("the connection ended in the middle of the reply"))
    }

    /// What the model has said so far.
    #[must_use]
    pub fn said(&self) -> &str {
        self.accumulator.said()
    }

    /// Whether anything of the reply has come.
    #[must_use]
    pub fn produced(&self) -> bool {
        self.accumulator.produced()
    }

    /// What the server says was used so far.
    #[must_use]
    pub fn counted(&self) -> Counted {
        self.accumulator.counted
    }

    /// Everything the model wrote, in bytes.
    #[must_use]
    pub fn written(&self) -> usize {
        self.accumulator.written()
    }

    /// The reply as far as it came; `otherwise` says why it ended where the server did not.
    #[must_use]
    pub fn reply(self, otherwise: Stop) -> Reply {
        self.accumulator.reply(otherwise)
    }
}

/// A name as every server takes it: an earlier reply may hold one that no server would.
fn tame(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let tame: String = name.chars().map(plain).take(MAX_TOOL_NAME).collect();
    if tame.is_empty() { "_".to_owned() } else { tame }
}

/// Arguments as an object: an earlier reply may hold what is none.
fn object(arguments: &str) -> Map<String, Value> {
    match crate::format::json::parse(arguments.as_bytes()) {
        Ok(Value::Object(map)) => map,
        Ok(_) | Err(_) => Map::from_iter([("unreadable".to_owned(), arguments.into())]),
    }
}

/// All that a prompt says for the system, for servers that take it as one message.
fn system_text(prompt: &Prompt) -> String {
    let texts = prompt.system.iter().map(|block| block.text.as_str()).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n\n")
}

fn temperature(prompt: &Prompt) -> Option<f64> {
    prompt.temperature.map(|hundredths| f64::from(hundredths.min(200)) / 100.0)
}

/// A tool as OpenAI and Ollama take it.
#[derive(Serialize)]
struct FunctionTool<'a> {
    function: FunctionOffer<'a>,
    r#type: &'static str,
}

#[derive(Serialize)]
struct FunctionOffer<'a> {
    description: &'a str,
    name: &'a str,
    parameters: &'a Value,
}

fn tools(prompt: &Prompt) -> Vec<FunctionTool<'_>> {
    prompt.tools.iter().map(FunctionTool::new).collect()
}

impl<'a> FunctionTool<'a> {
    fn new(tool: &'a Tool) -> Self {
        let Tool { name, description, input } = tool;
        Self { function: FunctionOffer { description, name, parameters: input }, r#type: "function" }
    }
}

/// A piece of a reply, unless it says what went wrong.
fn piece<T: DeserializeOwned>(text: &str) -> Result<T, CompletionError> {
    let value = crate::format::json::parse(text.as_bytes())?;
    match listing::complaint_in(&value) {
        Some(complaint) => Err(complaint),
        None => fields::read(&value),
    }
}
