//! Reads what a model has written: which tools it wants with which arguments, strictly, and within bounds. What
//! cannot be meant comes back as a sentence for the model, once; nothing is guessed.

use std::collections::BTreeSet;

use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::CallRef;
use metnos_proto::msg::memoryd::{MAX_WISHED, MAX_WISHED_BYTES, WishedField, WishedSignature};
use metnos_proto::msg::schedule::Order;
use metnos_proto::prompt::{MAX_CALLS as MAX_IN_REPLY, MAX_TOOL_NAME, Message, ModelCall, Reply, Stop};
use metnos_reflex::answer::shorten;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::data::line;
use super::prompt::Frame;
use super::schedules::{self, SCHEDULE};
use super::text_calls::{is_echo, looks_like_call, text_calls};
use super::tools::{LOOK, MISSING, PLAN, UNDO};
use super::{MAX_CALLS, MAX_SAID, Wish};

/// The largest arguments of one call, in bytes; the deepest.
pub const ARGUMENTS: Limits = Limits { max_bytes: 256 * 1024, max_depth: 24 };
/// The most references in the arguments of one call.
pub const MAX_REFERENCES: usize = 32;
/// The longest wish, in characters.
const MAX_WISH: usize = 400;
/// The longest answer as JSON: text that is shown, and arguments.
const ANSWER: Limits = Limits { max_bytes: 1 << 20, max_depth: 32 };

/// A reply as far as it could be read.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedReply {
    /// What the person is shown, at most [`MAX_SAID`] bytes.
    pub text: String,
    /// What it wants, in its order.
    pub wants: Vec<ToolCall>,
    /// What is wrong with the reply as a whole; empty when nothing is.
    pub wrong: String,
    /// The reply as it goes back into the conversation: nothing in it that a provider would not take.
    pub again: (String, Vec<ModelCall>),
}

/// One tool that the model wants.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The call's name in the conversation.
    pub id: String,
    /// The tool's.
    pub name: String,
    /// What is wanted, or what is wrong with it.
    pub what: Result<ToolAction, String>,
}

/// What a model can want.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolAction {
    /// A call of an executor.
    Call(Draft),
    /// To be shown a result.
    ResultRequest(ResultRequest),
    /// Several calls.
    Plan(Plan),
    /// A tool that does not exist.
    Missing(Wish),
    /// The last change is to be taken back.
    Undo,
    /// Something about the person's reminders.
    Schedule(Order),
}

/// A call of an executor.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Which.
    pub executor: String,
    /// An object.
    pub arguments: Value,
}

/// A wish to see a result.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ResultRequest {
    /// Whose.
    pub of: CallRef,
    /// Which part.
    pub pointer: String,
    /// From which character on.
    pub from: usize,
}

/// Several calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// To be made now.
    pub calls: Vec<Draft>,
    /// What is to be shown of them.
    pub looks: Vec<ResultRequest>,
    /// What will be wanted later: null stands for what will turn up.
    pub later: Vec<Draft>,
}

/// Reads a reply to this conversation.
#[must_use]
pub fn parse_reply(reply: &Reply, frame: &Frame, messages: &[Message]) -> ParsedReply {
    let heard = match written_calls(reply, frame, messages) {
        Ok(None) if frame.native => native(reply, frame),
        Ok(None) => as_json(reply, frame),
        // A model that calls in text is read as one that calls.
        Ok(Some(called)) => {
            native(&called, frame).map(|heard| if frame.native { heard } else { in_words(heard, reply) })
        }
        Err(wrong) => Err(wrong),
    };
    let mut heard = match heard {
        Ok(heard) => heard,
        Err(wrong) => {
            ParsedReply { text: String::new(), wants: Vec::new(), wrong, again: (line(&reply.text, 2_000), Vec::new()) }
        }
    };
    heard.text.truncate(heard.text.floor_char_boundary(MAX_SAID));
    heard
}

/// The reply that the text of this one stands for, when it is whole calls; none when it is words, or JSON that was asked for.
///
/// # Errors
/// In a sentence for the model, when it only looks like calls: nobody is shown that, and nothing is called.
fn written_calls(reply: &Reply, frame: &Frame, messages: &[Message]) -> Result<Option<Reply>, String> {
    let asked_for = !frame.native && unfenced(&reply.text).starts_with('{');
    if !reply.calls.is_empty() || !looks_like_call(&reply.text) {
        return Ok(None);
    }
    let calls = text_calls(&reply.text, |name| frame.knows(name)).filter(|_| !is_echo(&reply.text, messages));
    match calls {
        Some(calls) if reply.stop != Stop::Length => Ok(Some(Reply { text: String::new(), calls, stop: Stop::Calls })),
        None if asked_for => Ok(None),
        Some(_) | None => {
            let why = "you wrote a call as text: nothing was called. Use the tools themselves, or answer in words";
            Err(why.to_owned())
        }
    }
}

/// Calls that a model without tools has written: they go back into the conversation as it wrote them.
fn in_words(heard: ParsedReply, reply: &Reply) -> ParsedReply {
    ParsedReply { again: (reply.text.clone(), Vec::new()), ..heard }
}

fn native(reply: &Reply, frame: &Frame) -> Result<ParsedReply, String> {
    if reply.calls.len() > MAX_IN_REPLY {
        return Err(format!("one reply may make {MAX_IN_REPLY} calls, this one made {}", reply.calls.len()));
    }
    let mut ids = BTreeSet::new();
    let (mut wants, mut again) = (Vec::new(), Vec::new());
    for (at, call) in reply.calls.iter().enumerate() {
        let id = id(&call.id, at, &mut ids);
        let (name, what, arguments) = if frame.knows(&call.name) {
            let what = arguments(&call.arguments).and_then(|arguments| want(&call.name, arguments, frame));
            let kept = arguments_again(&call.arguments);
            (call.name.clone(), what, kept)
        } else {
            let shown = line(&call.name, MAX_TOOL_NAME);
            ("unknown".to_owned(), Err(format!("there is no tool `{shown}`")), "{}".to_owned())
        };
        again.push(ModelCall { id: id.clone(), name: name.clone(), arguments });
        wants.push(ToolCall { id, name, what });
    }
    Ok(ParsedReply { text: reply.text.clone(), wants, wrong: String::new(), again: (reply.text.clone(), again) })
}

/// A call's name as every provider takes it back, each once.
fn id(wanted: &str, at: usize, taken: &mut BTreeSet<String>) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_fine = !wanted.is_empty() && wanted.len() <= 64 && wanted.chars().all(fits) && !taken.contains(wanted);
    let mut id = if is_fine { wanted.to_owned() } else { format!("call_{at}") };
    while !taken.insert(id.clone()) {
        id.push('_');
    }
    id
}

/// What goes back into the conversation in place of arguments: themselves, when they are an object.
fn arguments_again(text: &str) -> String {
    let object = arguments(text);
    object.map_or_else(|_| "{}".to_owned(), |map| Value::Object(map).to_string())
}

fn arguments(text: &str) -> Result<Map<String, Value>, String> {
    // Some models write nothing where there is nothing to say.
    let text = if text.trim().is_empty() { "{}" } else { text };
    json::parse_object(text.as_bytes(), ARGUMENTS).map_err(|error| format!("the arguments cannot be read: {error}"))
}

/// An answer in JSON. What each field holds is looked at where it is used: a model is told what is wrong with it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct JsonAnswer {
    say: Value,
    calls: Value,
}

/// A call in an answer or a plan.
#[derive(Deserialize)]
struct DraftFields {
    tool: Option<Value>,
    name: Option<Value>,
    #[serde(default = "no_arguments")]
    arguments: Value,
}

impl Default for DraftFields {
    fn default() -> Self {
        Self { tool: None, name: None, arguments: no_arguments() }
    }
}

fn no_arguments() -> Value {
    Value::Object(Map::new())
}

/// What the tool for looking at a result takes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LookFields {
    of: Value,
    from: Value,
}

/// What the tool for a plan takes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PlanFields {
    calls: Value,
    look: Value,
    later: Value,
}

/// What the tool for a missing tool takes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct MissingFields {
    summary: Value,
    inputs: Value,
    outputs: Value,
    errors: Value,
}

/// The fields of an object; as each may hold anything, there is nothing that could not be read.
fn fields<T: DeserializeOwned + Default>(object: &Map<String, Value>) -> T {
    T::deserialize(object).unwrap_or_default()
}

/// The items of a list.
fn items(key: &str, list: Value) -> Result<Vec<Value>, String> {
    match list {
        Value::Array(items) => Ok(items),
        Value::Null => Ok(Vec::new()),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            Err(format!("`{key}` must be a list, not a {}", json::kind(&other)))
        }
    }
}

/// The same, where there are not too many of them.
fn few(key: &str, list: Value) -> Result<Vec<Value>, String> {
    let items = items(key, list)?;
    if items.len() > MAX_CALLS {
        return Err(format!("`{key}` has more than {MAX_CALLS} entries"));
    }
    Ok(items)
}

fn as_json(reply: &Reply, frame: &Frame) -> Result<ParsedReply, String> {
    let text = unfenced(&reply.text);
    if !text.starts_with('{') {
        let said = reply.text.clone();
        return Ok(ParsedReply {
            text: said.clone(),
            wants: Vec::new(),
            wrong: String::new(),
            again: (said, Vec::new()),
        });
    }
    let object = json::parse_object(text.as_bytes(), ANSWER)
        .map_err(|error| format!("your answer is not the JSON that was asked for: {error}"))?;
    let JsonAnswer { say, calls } = fields(&object);
    let say = match say {
        Value::String(say) => say,
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(format!("`say` must be a text, not a {}", json::kind(&other)));
        }
    };
    let calls = items("calls", calls)?;
    if calls.len() > MAX_IN_REPLY {
        return Err(format!("one reply may make {MAX_IN_REPLY} calls, this one made {}", calls.len()));
    }
    let wants = calls.iter().enumerate().map(|(at, call)| {
        let draft = draft(call);
        let name = draft.as_ref().map_or_else(|_| "unknown".to_owned(), |(name, _)| line(name, MAX_TOOL_NAME));
        let what = draft.and_then(|(name, arguments)| {
            if frame.knows(&name) {
                want(&name, arguments, frame)
            } else {
                Err(format!("there is no tool `{}`", line(&name, MAX_TOOL_NAME)))
            }
        });
        ToolCall { id: format!("call_{at}"), name, what }
    });
    let wants = wants.collect();
    Ok(ParsedReply { text: say, wants, wrong: String::new(), again: (Value::Object(object).to_string(), Vec::new()) })
}

/// A block of code that holds nothing but the answer is the answer.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner =
        text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).and_then(|rest| rest.strip_suffix("```"));
    inner.map_or(text, str::trim)
}

fn draft(call: &Value) -> Result<(String, Map<String, Value>), String> {
    let DraftFields { tool, name, arguments } = call.as_object().map(fields).unwrap_or_default();
    let name = tool.or(name).and_then(|name| name.as_str().map(str::to_owned));
    let name = name.ok_or_else(|| "a call needs `tool`, the name of the tool".to_owned())?;
    match arguments {
        Value::Object(arguments) => Ok((name, arguments)),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(format!("`arguments` must be an object, not a {}", json::kind(&other)))
        }
    }
}

/// What a call of a known tool means.
fn want(name: &str, arguments: Map<String, Value>, frame: &Frame) -> Result<ToolAction, String> {
    match name {
        LOOK => look(&arguments).map(ToolAction::ResultRequest),
        PLAN => plan(&arguments, frame).map(ToolAction::Plan),
        MISSING => missing(&arguments).map(ToolAction::Missing),
        UNDO => Ok(ToolAction::Undo),
        SCHEDULE => schedules::order(&arguments, &frame.said).map(ToolAction::Schedule),
        executor => call(executor, arguments, frame).map(ToolAction::Call),
    }
}

/// A call, made or foreseen, with where the instance is.
fn call(executor: &str, mut arguments: Map<String, Value>, frame: &Frame) -> Result<Draft, String> {
    if let Some(tool) = frame.tools.iter().find(|tool| tool.name == executor) {
        metnos_reflex::at_home(&mut arguments, &tool.input, &frame.zone, "");
    }
    if !frame.offset.is_empty() && frame.told_offset.iter().any(|name| name == executor) {
        arguments.insert("offset".to_owned(), Value::from(frame.offset.as_str()));
    }
    let arguments = Value::Object(arguments);
    json::references(&arguments, MAX_REFERENCES).map_err(|error| error.to_string())?;
    if let Some(text) = reference_as_text(&arguments) {
        return Err(format!(
            "`{}` is a reference written as a text, and would be taken for the text itself. Write the object \
             {{\"$ref\": \"{}\"}} in place of the argument, without quotation marks around the object",
            line(text, 80),
            reference_in(text).unwrap_or_default()
        ));
    }
    Ok(Draft { executor: executor.to_owned(), arguments })
}

/// The first text among the arguments that is nothing but a reference.
fn reference_as_text(arguments: &Value) -> Option<&str> {
    match arguments {
        Value::String(text) => reference_in(text).map(|_| text.as_str()),
        Value::Array(items) => items.iter().find_map(reference_as_text),
        Value::Object(map) if map.contains_key(json::REF_KEY) => None,
        Value::Object(map) => map.values().find_map(reference_as_text),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The reference that a text is, as `c1#/content` or as an object that was written as a text.
fn reference_in(text: &str) -> Option<String> {
    const MAX_REFERENCE: usize = 4_096;
    let text = text.trim();
    if text.len() > MAX_REFERENCE {
        return None;
    }
    if json::parse_reference(text).is_some() && !text.contains(char::is_whitespace) {
        return Some(text.to_owned());
    }
    if !text.starts_with('{') {
        return None;
    }
    let object = json::parse_object(text.as_bytes(), ARGUMENTS).ok()?;
    let reference = object.get(json::REF_KEY).and_then(Value::as_str).filter(|_| object.len() == 1)?;
    json::parse_reference(reference).map(|_| reference.to_owned())
}

fn look(arguments: &Map<String, Value>) -> Result<ResultRequest, String> {
    let LookFields { of, from } = fields(arguments);
    let of = of.as_str().ok_or_else(|| "`of` must name a call, such as c1".to_owned())?;
    let from = if from.is_null() { Some(0) } else { from.as_u64().and_then(|from| usize::try_from(from).ok()) };
    let from = from.ok_or_else(|| "`from` must be a whole number".to_owned())?;
    Ok(ResultRequest { from, ..place(of)? })
}

fn place(text: &str) -> Result<ResultRequest, String> {
    let bad = || format!("`{}` names no call and no place in its result; write c1, or c1#/content", line(text, 80));
    let (of, pointer) = if text.contains('#') {
        json::parse_reference(text).ok_or_else(bad)?
    } else {
        (text.parse().map_err(|()| bad())?, String::new())
    };
    Ok(ResultRequest { of, pointer, from: 0 })
}

fn plan(arguments: &Map<String, Value>, frame: &Frame) -> Result<Plan, String> {
    let plan: PlanFields = fields(arguments);
    let drafts = |key: &str, list: Value| -> Result<Vec<Draft>, String> {
        let one = |(at, item): (usize, &Value)| {
            let (name, arguments) = draft(item).map_err(|why| format!("{key} {}: {why}", at + 1))?;
            if !frame.has_executor(&name) {
                // A plan in a plan, too.
                return Err(format!("{key} {}: there is no tool `{}` for a plan", at + 1, line(&name, MAX_TOOL_NAME)));
            }
            call(&name, arguments, frame).map_err(|why| format!("{key} {}: {why}", at + 1))
        };
        few(key, list)?.iter().enumerate().map(one).collect()
    };
    let shown = |item: &Value| match item {
        Value::String(text) => place(text),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(format!("`look` must name calls, not a {}", json::kind(other)))
        }
    };
    // What is foreseen of a tool that there is not is foreseen in vain, and no reason to do nothing.
    let (calls, later) = (drafts("calls", plan.calls)?, drafts("later", plan.later).unwrap_or_default());
    if calls.is_empty() {
        return Err("a plan needs at least one call".to_owned());
    }
    Ok(Plan { calls, looks: few("look", plan.look)?.iter().map(shown).collect::<Result<_, _>>()?, later })
}

/// The wish, with its signature.
fn missing(arguments: &Map<String, Value>) -> Result<Wish, String> {
    let MissingFields { summary, inputs, outputs, errors } = fields(arguments);
    let summary = summary.as_str().map(|text| line(text, 200)).unwrap_or_default();
    if summary.trim().is_empty() {
        return Err("`summary` must say what the tool would do".to_owned());
    }
    let word = |text: &str| shorten(&line(text, MAX_WISHED_BYTES), MAX_WISHED_BYTES).to_owned();
    let wished = |fields: Value| match fields {
        Value::Object(map) => {
            let one = |(name, kind): (&String, &Value)| WishedField {
                name: word(name),
                kind: word(kind.as_str().unwrap_or("value")),
            };
            map.iter().take(MAX_WISHED).map(one).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Vec::new(),
    };
    let errors = errors.as_array().map_or(&[][..], Vec::as_slice);
    let errors = errors.iter().filter_map(Value::as_str).take(MAX_WISHED).map(word).collect();
    let signature = WishedSignature { inputs: wished(inputs), outputs: wished(outputs), errors };
    Ok(Wish { text: summary.trim().chars().take(MAX_WISH).collect(), signature })
}
