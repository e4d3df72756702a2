//! Whole dialogues in the forms that the makers of the servers write down: two calls at once, one that fails and is made
//! anew, one that is refused, an honest answer. Each stream is read, whatever pieces it comes in; what was read goes back
//! with the results, in the very form that the server expects.
#![allow(clippy::unwrap_used)]

use metnos_proto::prompt::{Block, CallResult, Message, ModelCall};
use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Dialogue {
    system: String,
    words: String,
    turns: Vec<Turn>,
    /// What is sent for the last thought.
    messages: Value,
}

/// One thought: what the server sends, what it means, and what becomes of its calls.
#[derive(Deserialize)]
struct Turn {
    stream: String,
    text: String,
    calls: Vec<Call>,
    results: Vec<Told>,
}

#[derive(Deserialize)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Told {
    text: String,
    failed: bool,
}

const ALL: [(Dialect, &str); 4] = [
    (Dialect::Anthropic, include_str!("../../tests/data/dialogue/anthropic.json")),
    (Dialect::OpenAi, include_str!("../../tests/data/dialogue/openai.json")),
    (Dialect::Xai, include_str!("../../tests/data/dialogue/openai.json")),
    (Dialect::Ollama, include_str!("../../tests/data/dialogue/ollama.json")),
];

fn dialogue(text: &str) -> Dialogue {
    serde_json::from_str(text).unwrap()
}

fn read(tongue: Dialect, pieces: &[&[u8]]) -> Reply {
    let mut reader = Reader::new(tongue, 1_000, false);
    let is_over = pieces.iter().any(|piece| reader.push(piece).unwrap());
    if !is_over {
        reader.end().unwrap();
    }
    reader.reply(Stop::Stopped)
}

/// The arguments, whatever blanks stand in them.
fn same(one: &str, other: &str) -> bool {
    serde_json::from_str::<Value>(one).unwrap() == serde_json::from_str::<Value>(other).unwrap()
}

fn is_wanted(reply: &Reply, turn: &Turn) -> bool {
    let fits = |(call, wanted): (&ModelCall, &Call)| {
        call.id == wanted.id && call.name == wanted.name && same(&call.arguments, &wanted.arguments)
    };
    let stop = if turn.calls.is_empty() { Stop::End } else { Stop::Calls };
    reply.text == turn.text
        && reply.stop == stop
        && reply.calls.len() == turn.calls.len()
        && reply.calls.iter().zip(&turn.calls).all(fits)
}

#[test]
fn dialogue_of_every_server_is_read_and_sent_back_as_the_server_has_it() {
    for (tongue, text) in ALL {
        let dialogue = dialogue(text);
        let mut messages = vec![Message::User { text: dialogue.words.clone() }];
        for (at, turn) in dialogue.turns.iter().enumerate() {
            let reply = read(tongue, &[turn.stream.as_bytes()]);
            assert!(is_wanted(&reply, turn), "{tongue:?} {at}: {reply:?}");
            if at + 1 == dialogue.turns.len() {
                break;
            }
            let result = |(call, told): (&ModelCall, &Told)| CallResult {
                id: call.id.clone(),
                name: call.name.clone(),
                text: told.text.clone(),
                failed: told.failed,
            };
            let results = reply.calls.iter().zip(&turn.results).map(result).collect();
            messages.push(Message::Assistant { text: reply.text, calls: reply.calls });
            messages.push(Message::Results { results });
        }
        let system = vec![Block { text: dialogue.system.clone(), cache: false }];
        let prompt = Prompt { system, tools: Vec::new(), messages, schema: None, temperature: None };
        let options = RequestOptions { model: "m", max_tokens: 7, context: None, original: false, plain_json: false };
        let sent: Value = serde_json::from_slice(&super::request(tongue, &prompt, options)).unwrap();
        assert_eq!(sent["messages"], dialogue.messages, "{tongue:?}");
    }
}

proptest! {
    #[test]
    fn dialogue_is_the_same_for_any_chunking(
        which in 0..ALL.len(),
        at in 0..4_usize,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let (tongue, text) = ALL[which];
        let dialogue = dialogue(text);
        let turn = &dialogue.turns[at];
        let bytes = turn.stream.as_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        prop_assert!(is_wanted(&read(tongue, &pieces), turn));
    }
}
