//! How the servers of four kinds write a reply that a test has thought up. That these are their words, their own clients
//! say: `tests/tests/it/oracles.rs` has them read what stands here.

use serde_json::{Value, json};

use crate::minds::STREAM;

/// When a server says that a reply was made, in seconds.
const CREATED: u64 = 1_767_225_600;

/// A reply of the model: text, or calls.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Text, in pieces of a word.
    Says(&'static str),
    /// The same, made by the test.
    Writes(String),
    /// Calls by name, with their arguments.
    Calls(Vec<(&'static str, Value)>),
}

fn words(reply: &Reply) -> impl Iterator<Item = &str> {
    let text = match reply {
        Reply::Says(text) => text,
        Reply::Writes(text) => text.as_str(),
        Reply::Calls(_) => "",
    };
    text.split_inclusive(' ')
}

/// How a server writes a reply: which one it is, and what.
pub type Format = fn(usize, &Reply) -> String;

/// As an OpenAI-compatible server streams it.
///
/// # Panics
/// Never.
#[must_use]
pub fn openai(number: usize, reply: &Reply) -> String {
    let chunk = |choices: Value, usage: Value| {
        let head = json!({ "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": CREATED, "model": "m" });
        let mut chunk = head;
        chunk["choices"] = choices;
        chunk["usage"] = usage;
        format!("data: {chunk}\n\n")
    };
    let piece = |delta: Value| chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), Value::Null);
    let (pieces, reason): (Vec<String>, _) = match reply {
        Reply::Says(_) | Reply::Writes(_) => {
            (words(reply).map(|word| piece(json!({ "content": word }))).collect(), "stop")
        }
        Reply::Calls(calls) => {
            let call = |(at, (name, arguments)): (usize, &(&str, Value))| {
                let function = json!({ "name": name, "arguments": arguments.to_string() });
                let id = format!("call_{number}_{at}");
                piece(json!({ "tool_calls": [{ "index": at, "id": id, "type": "function", "function": function }] }))
            };
            (calls.iter().enumerate().map(call).collect(), "tool_calls")
        }
    };
    let end = chunk(json!([{ "index": 0, "delta": {}, "finish_reason": reason }]), Value::Null);
    let usage = chunk(json!([]), json!({ "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050 }));
    format!("{STREAM}{}{end}{usage}data: [DONE]\n\n", pieces.concat())
}

/// As Anthropic's server streams it.
///
/// # Panics
/// Never.
#[must_use]
pub fn anthropic(number: usize, reply: &Reply) -> String {
    let event =
        |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().expect("as it is written here"));
    let block = |at: usize, begins: Value, delta: Value| {
        [
            event(json!({ "type": "content_block_start", "index": at, "content_block": begins })),
            event(json!({ "type": "content_block_delta", "index": at, "delta": delta })),
            event(json!({ "type": "content_block_stop", "index": at })),
        ]
        .concat()
    };
    let (blocks, reason) = match reply {
        Reply::Says(_) | Reply::Writes(_) => {
            let delta = json!({ "type": "text_delta", "text": words(reply).collect::<String>() });
            (block(0, json!({ "type": "text", "text": "" }), delta), "end_turn")
        }
        Reply::Calls(calls) => {
            let one = |(at, (name, arguments)): (usize, &(&str, Value))| {
                let begins =
                    json!({ "type": "tool_use", "id": format!("toolu_{number}_{at}"), "name": name, "input": {} });
                block(at, begins, json!({ "type": "input_json_delta", "partial_json": arguments.to_string() }))
            };
            (calls.iter().enumerate().map(one).collect::<String>(), "tool_use")
        }
    };
    let message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "m", "content": [],
        "usage": { "input_tokens": 1000, "output_tokens": 1 }
    });
    let end = json!({
        "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null },
        "usage": { "output_tokens": 50 }
    });
    [
        STREAM.to_owned(),
        event(json!({ "type": "message_start", "message": message })),
        blocks,
        event(end),
        event(json!({ "type": "message_stop" })),
    ]
    .concat()
}

/// As Ollama's server streams it.
///
/// # Panics
/// Never.
#[must_use]
pub fn ollama(_number: usize, reply: &Reply) -> String {
    let line = |message: Value, rest: Value| {
        let mut line = json!({ "model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false });
        line.as_object_mut()
            .expect("as it is written here")
            .extend(rest.as_object().expect("as it is written here").clone());
        format!("{line}\n")
    };
    let said = |text: &str| json!({ "role": "assistant", "content": text });
    let pieces: String = match reply {
        Reply::Says(_) | Reply::Writes(_) => words(reply).map(|word| line(said(word), json!({}))).collect(),
        Reply::Calls(calls) => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|(name, arguments)| json!({ "function": { "name": name, "arguments": arguments } }))
                .collect();
            line(json!({ "role": "assistant", "content": "", "tool_calls": calls }), json!({}))
        }
    };
    let end = json!({ "done": true, "done_reason": "stop", "prompt_eval_count": 1000, "eval_count": 50 });
    format!("{}{pieces}{}", STREAM.replace("text/event-stream", "application/x-ndjson"), line(said(""), end))
}

/// The four kinds of server: a substrate's kind, its address below the port, and how a reply is written.
pub const FORMATS: [(&str, &str, Format); 4] =
    [("openai", "/v1", openai), ("anthropic", "", anthropic), ("xai", "/v1", openai), ("ollama", "", ollama)];
