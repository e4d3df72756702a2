//! Cases, and the two sets of premises: `tuned.jsonl`, on which the lists of words were made, and `held.jsonl`, on which
//! nothing was.

use metnos_soul::case::{Case, Outcome};
use metnos_soul::verdict::{Code, Verdict};
use serde::Deserialize;
use serde_json::{Value, json};

pub const TUNED: &str = include_str!("data/tuned.jsonl");
pub const HELD: &str = include_str!("data/held.jsonl");

/// One premise, and what was said.
#[derive(Debug, Clone, Deserialize)]
pub struct Said {
    /// `true`: a person would draw it. `twisted`: nobody would, or nobody may.
    pub kind: String,
    pub event: Value,
    pub premise: String,
    pub node_type: String,
}

pub fn all(set: &str) -> Vec<Said> {
    set.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The event that each case cites.
pub const CITED: u64 = 7;

/// A turn of Marco's, who is the owner; Anna has spoken before.
pub fn turn(event: &Value) -> Value {
    let mut event = event.clone();
    event["seq"] = json!(CITED);
    let shown = |seq: u64, trust: &str, who: &str, text: &str| json!({"seq": seq, "type": "owner_message", "trust": trust, "speaker": who, "peer": who, "text": text});
    json!({
        "id": "case", "nonce": "n1", "scope": "household", "role": "interface",
        "shown": [shown(1, "owner", "Marco", "good morning"), shown(2, "paired", "Anna", "hello"), event],
        "nodes": [
            {"node_id": "law", "premise": "The perimeter of the house is never left", "node_type": "law", "status": "active", "pinned": true},
            {"node_id": "tea", "premise": "Anna likes tea", "node_type": "preference", "status": "active", "pinned": false},
            {"node_id": "cat", "premise": "The cat is called Milo", "node_type": "premise", "status": "provisional", "pinned": false},
        ],
    })
}

/// The turn with this block at the end of the reply.
pub fn with_block(mut turn: Value, block: &Value) -> Value {
    turn["reply"] = json!(format!("Noted.\n<lattice_update nonce=\"n1\">{block}</lattice_update>"));
    turn
}

pub fn add(said: &Said) -> Value {
    json!({"add": [{"ref": "a", "premise": said.premise, "node_type": said.node_type, "evidence": [CITED],
        "weight": {"salience": 0.5, "valence": -0.2}}]})
}

pub fn compile(case: &Value) -> Outcome {
    serde_json::from_value::<Case>(case.clone()).unwrap().compile()
}

/// What became of the one operation of a case.
pub fn only(case: &Value) -> (Verdict, Code) {
    let outcome = compile(case);
    assert_eq!(outcome.ops.len(), 1, "{outcome:#?}");
    (outcome.ops[0].verdict, outcome.ops[0].code)
}

/// What Marco says.
pub fn marco(text: &str) -> Value {
    json!({"type": "owner_message", "trust": "owner", "speaker": "Marco", "peer": "Marco", "text": text})
}

/// What Anna says.
pub fn anna(text: &str) -> Value {
    json!({"type": "owner_message", "trust": "paired", "speaker": "Anna", "peer": "Anna", "text": text})
}
