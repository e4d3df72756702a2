//! Whole answers in each language, cut anywhere; and answers that are none.
#![allow(clippy::unwrap_used, clippy::panic)]

use metnos_proto::prompt::{Block, CallResult, Message, ModelCall, Tool};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::error::Class;

const ANTHROPIC: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":7,\"output_tokens\":1}}}\n\n",
    "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"perché \"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"no\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"fs_read\",\"input\":{}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"path\\\":\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"a\\\"}\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":9}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

const OPENAI: &str = concat!(
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"perché \"},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"no\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t1\",\"type\":\"function\",\"function\":{\"name\":\"fs_read\",\"arguments\":\"{\\\"path\\\":\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"a\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":112,\"completion_tokens\":9,\"total_tokens\":121,\"prompt_tokens_details\":{\"cached_tokens\":100}}}\n\n",
    "data: [DONE]\n\n",
);

const OLLAMA: &str = concat!(
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"perché \"},\"done\":false}\n",
    "{\"message\":{\"role\":\"assistant\",\"content\":\"no\"},\"done\":false}\n",
    "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"t1\",\"function\":{\"name\":\"fs_read\",\"arguments\":{\"path\":\"a\"}}}]},\"done\":false}\n",
    "{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":112,\"eval_count\":9}\n",
);

const ALL: [(Dialect, &str); 4] =
    [(Dialect::Anthropic, ANTHROPIC), (Dialect::OpenAi, OPENAI), (Dialect::Xai, OPENAI), (Dialect::Ollama, OLLAMA)];

fn read(tongue: Dialect, pieces: &[&[u8]]) -> Result<(Reply, Counted), CompletionError> {
    let mut reader = Reader::new(tongue, 100, false);
    for piece in pieces {
        if reader.push(piece)? {
            let counted = reader.counted();
            return Ok((reader.reply(Stop::Stopped), counted));
        }
    }
    reader.end()?;
    let counted = reader.counted();
    Ok((reader.reply(Stop::Stopped), counted))
}

fn wanted() -> Reply {
    let call = ModelCall { id: "t1".into(), name: "fs_read".into(), arguments: "{\"path\":\"a\"}".into() };
    Reply { text: "perché no".into(), calls: vec![call], stop: Stop::Calls }
}

#[test]
fn the_same_reply_is_read_in_every_language_with_what_it_took() {
    for (tongue, text) in ALL {
        let (reply, counted) = read(tongue, &[text.as_bytes()]).unwrap();
        assert_eq!(reply, wanted(), "{tongue:?}");
        assert_eq!((counted.tokens_in, counted.tokens_out), (Some(112), Some(9)), "{tongue:?}");
        assert_eq!(counted.cached, if tongue == Dialect::Ollama { 0 } else { 100 });
    }
}

#[test]
fn an_answer_that_ends_in_the_middle_is_none() {
    for (tongue, text) in ALL {
        for cut in 0..text.len() {
            match read(tongue, &[&text.as_bytes()[..cut]]) {
                // Where the model had already said why it stops, nothing of the reply is missing.
                Ok((reply, _)) => assert_eq!(reply, wanted(), "{tongue:?} {cut}"),
                Err(bad) => assert!(matches!(bad.class, Class::Broken), "{tongue:?} {cut}: {bad:?}"),
            }
        }
    }
}

#[test]
fn data_after_the_end_of_stream_is_ignored() {
    for (tongue, text) in ALL {
        let more = format!("{text}{text}data: {{\n\n");
        assert_eq!(read(tongue, &[more.as_bytes()]).unwrap().0, wanted(), "{tongue:?}");
    }
}

#[test]
fn malformed_stream_is_a_broken_reply() {
    for (tongue, text) in [
        (Dialect::OpenAi, "data: {\"choices\":1}\n\n"),
        (Dialect::OpenAi, "data: {\"choices\":[{\"delta\":{\"content\":7}}]}\n\n"),
        (Dialect::OpenAi, "data: {\"choices\":[{\"delta\":{\"tool_calls\":{}}}]}\n\n"),
        (Dialect::OpenAi, "data: {\"choices\":[],\"choices\":[]}\n\n"),
        (Dialect::OpenAi, "data: [1]\n\n"),
        (Dialect::OpenAi, "data: [DONE]\n\n"),
        (Dialect::OpenAi, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}\n\n"),
        (Dialect::Anthropic, "data: {\"type\":\"content_block_delta\",\"index\":0}\n\n"),
        (Dialect::Anthropic, "event: ping\ndata: {\"type\":\"message_stop\"}\n\n"),
        (Dialect::Anthropic, "data: {\"type\":\"message_stop\"}\n\n"),
        (Dialect::Ollama, "[]\n"),
        (Dialect::Ollama, "{\"done\":\"yes\"}\n"),
        (Dialect::Ollama, "{\"message\":{\"tool_calls\":[{}]}}\n"),
    ] {
        assert_eq!(read(tongue, &[text.as_bytes()]).unwrap_err().class, Class::Broken, "{text}");
    }
}

#[test]
fn an_error_within_a_stream_has_its_kind() {
    for (tongue, text, class) in [
        (
            Dialect::Anthropic,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
            Class::Overloaded,
        ),
        (
            Dialect::OpenAi,
            "data: {\"error\":{\"message\":\"slow down\",\"type\":\"rate_limit_exceeded\"}}\n\n",
            Class::Limited,
        ),
        (Dialect::Ollama, "{\"error\":\"out of memory\\u001b[2J\"}\n", Class::Broken),
    ] {
        let bad = read(tongue, &[text.as_bytes()]).unwrap_err();
        assert_eq!(bad.class, class, "{text}");
        assert!(!bad.why.contains('\u{1b}'));
    }
}

#[test]
fn more_than_a_reply_may_be_is_cut_off() {
    let endless = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(1_000));
    let mut reader = Reader::new(Dialect::OpenAi, 10, false);
    let over = (0..100).find_map(|_| reader.push(endless.as_bytes()).err()).unwrap();
    assert_eq!(over.class, Class::TooMuch);
    let many: String = (0..40)
        .map(|at| format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{at},\"function\":{{\"name\":\"n\"}}}}]}}}}]}}\n\n"))
        .collect();
    assert_eq!(read(Dialect::OpenAi, &[many.as_bytes()]).unwrap_err().class, Class::TooMuch);
}

#[test]
fn calls_without_numbers_or_ids_are_distinguished() {
    let text = concat!(
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"\",\"function\":{\"name\":\"a\",\"arguments\":{}}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"b\",\"arguments\":\"\"}}]},\"finish_reason\":\"stop\"}]}\n\n",
    );
    let (reply, _) = read(Dialect::OpenAi, &[text.as_bytes()]).unwrap();
    assert_eq!(reply.stop, Stop::Calls);
    assert_eq!(reply.calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_ne!(reply.calls[0].id, reply.calls[1].id);
    assert!(reply.calls.iter().all(|call| call.arguments == "{}" && !call.id.is_empty()));
}

/// A request as its server reads it; what is sent has its keys in order of the alphabet.
fn request(tongue: Dialect, prompt: &Prompt, asked: RequestOptions<'_>) -> Value {
    let sent = String::from_utf8(super::request(tongue, prompt, asked)).unwrap();
    let read: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(sent, read.to_string());
    read
}

fn prompt() -> Prompt {
    Prompt {
        system: vec![Block { text: "be good".into(), cache: true }, Block { text: "six files".into(), cache: false }],
        tools: vec![Tool { name: "fs_read".into(), description: "reads".into(), input: json!({"type": "object"}) }],
        messages: vec![
            Message::User { text: "read a".into() },
            Message::Assistant {
                text: String::new(),
                calls: vec![ModelCall { id: "t 1".into(), name: "fs read".into(), arguments: "no json".into() }],
            },
            Message::Results {
                results: vec![CallResult {
                    id: "t 1".into(),
                    name: "fs read".into(),
                    text: "denied".into(),
                    failed: true,
                }],
            },
            Message::User { text: "then say why".into() },
        ],
        schema: None,
        temperature: Some(50),
    }
}

fn asked() -> RequestOptions<'static> {
    RequestOptions { model: "m", max_tokens: 7, context: Some(4096), original: false, plain_json: false }
}

#[test]
fn prompt_is_encoded_for_anthropic() {
    let body = request(Dialect::Anthropic, &prompt(), asked());
    assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
    assert!(body["system"][1].get("cache_control").is_none());
    assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
    // Both sides take turns, and every name is one that is taken.
    let roles: Vec<_> = body["messages"].as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(body["messages"][1]["content"][0]["id"], "t_1");
    assert_eq!(body["messages"][1]["content"][0]["input"]["unreadable"], "no json");
    assert_eq!(body["messages"][2]["content"][0]["is_error"], true);
    assert_eq!(body["messages"][2]["content"][1]["text"], "then say why");
    let structured = Prompt { schema: Some(json!({"type": "object"})), tools: vec![], ..prompt() };
    assert_eq!(request(Dialect::Anthropic, &structured, asked())["tool_choice"]["type"], "tool");
    let both = Prompt { schema: Some(json!({"type": "object"})), ..prompt() };
    assert_eq!(request(Dialect::Anthropic, &both, asked())["tool_choice"]["type"], "any");
    let many = Prompt { system: (0..9).map(|at| Block { text: at.to_string(), cache: true }).collect(), ..prompt() };
    let body = request(Dialect::Anthropic, &many, asked());
    let marks = body["system"].as_array().unwrap().iter().filter(|one| one.get("cache_control").is_some());
    assert_eq!(marks.count(), 4);
}

#[test]
fn prompt_is_encoded_for_openai_and_ollama() {
    let body = request(Dialect::OpenAi, &prompt(), asked());
    assert_eq!(body["messages"][0]["content"], "be good\n\nsix files");
    assert_eq!((&body["max_tokens"], &body["stream_options"]["include_usage"]), (&json!(7), &json!(true)));
    assert_eq!(body["messages"][2]["tool_calls"][0]["function"]["arguments"], "{\"unreadable\":\"no json\"}");
    assert_eq!(body["messages"][3]["role"], "tool");
    let original = request(Dialect::OpenAi, &prompt(), RequestOptions { original: true, ..asked() });
    assert_eq!((original.get("max_tokens"), &original["max_completion_tokens"]), (None, &json!(7)));
    let structured = Prompt { schema: Some(json!({"type": "object"})), ..prompt() };
    assert_eq!(request(Dialect::Xai, &structured, asked())["response_format"]["type"], "json_schema");
    let plain = request(Dialect::OpenAi, &structured, RequestOptions { plain_json: true, ..asked() });
    assert_eq!(plain["response_format"]["type"], "json_object");
    let body = request(Dialect::Ollama, &structured, asked());
    assert_eq!((&body["format"]["type"], &body["options"]["num_ctx"]), (&json!("object"), &json!(4096)));
    assert_eq!(body["messages"][2]["tool_calls"][0]["function"]["name"], "fs_read");
}

#[test]
fn a_reply_in_json_is_text_and_no_call() {
    let text = ANTHROPIC.replace("fs_read", "answer_in_json");
    let mut reader = Reader::new(Dialect::Anthropic, 100, true);
    assert!(reader.push(text.as_bytes()).unwrap());
    let reply = reader.reply(Stop::Stopped);
    assert_eq!((reply.text.as_str(), reply.stop), ("perché no{\"path\":\"a\"}", Stop::End));
    assert!(reply.calls.is_empty());
}

#[test]
fn models_are_listed_and_what_cannot_be_written_down_is_left_out() {
    let body = br#"{"data":[{"id":"b","context_length":8192},{"id":"a"},{"id":"two words"},{"id":7},{"id":"a"}]}"#;
    let names = listed(Dialect::OpenAi, body).unwrap();
    assert_eq!(
        names,
        [("a", None), ("b", Some(8192))].map(|(name, context)| ListedModel {
            name: name.into(),
            context,
            constrained: None,
            parameters: None,
        })
    );
    assert_eq!(listed(Dialect::Ollama, br#"{"models":[{"name":"q:1b"}]}"#).unwrap()[0].name, "q:1b");
    assert!(listed(Dialect::Anthropic, br#"{"models":[]}"#).is_err());
    let body = br#"{"model_info":{"llama.context_length":4096},"capabilities":["completion","tools"]}"#;
    assert_eq!(shown(body).unwrap(), (Some(4096), Some(true)));
}

#[test]
fn server_error_is_classified() {
    for (status, body, class) in [
        (401, json!({"error": {"message": "bad key"}}), Class::Key),
        (404, json!({"type": "error", "error": {"type": "not_found_error", "message": "model: c-1"}}), Class::Stale),
        (404, json!({"error": "model 'x' not found"}), Class::Stale),
        (404, json!({"error": {"message": "no such page"}}), Class::Rejected),
        (400, json!({"error": {"message": "too long"}}), Class::Rejected),
        (429, json!({}), Class::Limited),
        (529, json!({"error": {"type": "overloaded_error"}}), Class::Overloaded),
        (500, json!("boom"), Class::Overloaded),
        (500, json!({"error": {"message": "'loc': ('body', 'response_format', 'type')"}}), Class::Rejected),
    ] {
        assert_eq!(complaint(Some(status), &body).class, class, "{status} {body}");
    }
}

proptest! {
    #[test]
    fn reply_parses_the_same_for_any_chunking(which in 0..4_usize, cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let (tongue, text) = ALL[which];
        let bytes = text.as_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(read(tongue, &pieces).unwrap().0, wanted());
    }

    #[test]
    fn an_answer_with_bytes_changed_is_read_without_a_panic(which in 0..4_usize, at: prop::sample::Index, byte: u8) {
        let (tongue, text) = ALL[which];
        let mut bytes = text.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = read(tongue, &[&bytes]);
    }

    #[test]
    fn any_bytes_are_taken_without_a_panic(which in 0..4_usize, bytes: Vec<u8>) {
        let tongue = ALL[which].0;
        let _ = (read(tongue, &[&bytes]), listed(tongue, &bytes), shown(&bytes));
    }
}
