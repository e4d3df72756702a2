//! Documents about what is remembered: turns that answer a question, recent talk, and what a line rests on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::doc::nullable;
use crate::{document, names};

/// A turn that answers a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RememberedTurn {
    /// The line.
    pub seq: u64,
    /// When it was said, in UTC.
    pub ts: String,
    /// Whose conversation it is.
    pub peer: String,
    /// Who speaks.
    pub speaker: String,
    /// Where the words come from.
    pub trust: String,
    /// The conversation, by its number.
    pub session: u64,
    /// The turn; null when the line belongs to none.
    #[serde(deserialize_with = "nullable")]
    pub turn: Option<String>,
    /// The words, cut.
    pub text: String,
    /// How well it answers, from 0 to 1: the best has 1.
    pub score: f64,
    /// What the score is made of.
    pub parts: ScoreParts,
}

/// What a turn's score is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoreParts {
    /// Its own words.
    pub words: f64,
    /// Its conversation.
    pub session: f64,
    /// The turns before and after.
    pub neighbours: f64,
    /// Its speaker is named.
    pub speaker: f64,
    /// Its date is named.
    pub date: f64,
    /// It tells the kind of thing that is asked for.
    pub kind: f64,
    /// How much it was of use before.
    pub salience: f64,
    /// By how much the sum was multiplied for its trust.
    pub trust: f64,
}

/// What was said and done recently, and what is left of older talk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecentTalk {
    /// Summaries of older messages.
    pub summaries: Vec<TalkSummary>,
    /// The last messages.
    pub messages: Vec<RecentMessage>,
    /// The last tasks.
    pub tasks: Vec<RecentTask>,
}

/// What is left of older messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TalkSummary {
    /// The first line that it covers.
    pub from_seq: u64,
    /// The last.
    pub upto_seq: u64,
    /// When the first was said, in UTC.
    pub from: String,
    /// When the last was said, in UTC.
    pub upto: String,
    /// How many messages it covers.
    pub messages: u64,
    /// Of the peer's own words, the sentences that tell the most, each behind its line.
    pub own: String,
    /// Of the answers, likewise.
    pub answers: String,
    /// The lines that the peer's own sentences stand in.
    pub cited: Vec<u64>,
}

names! {
    /// Who speaks in a recent message.
    pub enum TalkSpeaker {
        /// The peer.
        Peer = "peer",
        /// The instance has answered.
        Metnos = "metnos",
    }
}

/// A message as it was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecentMessage {
    /// The line.
    pub seq: u64,
    /// When, in UTC.
    pub ts: String,
    /// Who speaks.
    pub speaker: TalkSpeaker,
    /// The words.
    pub text: String,
}

/// A turn that is over, and what was used in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecentTask {
    /// The line that closed the turn.
    pub seq: u64,
    /// When, in UTC.
    pub ts: String,
    /// How it ended.
    pub ended: String,
    /// The executors that succeeded in it.
    pub executors: Vec<String>,
}

/// What a line rests on: its words, the lines that caused it, and the lines of the chain that follow it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// The line.
    pub item: LineRef,
    /// Whose conversation it is.
    pub peer: String,
    /// Where its words come from.
    pub trust: String,
    /// What is said in it; null when nothing is.
    #[serde(deserialize_with = "nullable")]
    pub said: Option<SaidWords>,
    /// The lines that caused it, the nearest first.
    pub causes: Vec<LineRef>,
    /// The chain from it on.
    pub path: Vec<ChainLink>,
    /// Whether every hash of that chain holds.
    pub holds: bool,
    /// The number of the last line.
    pub head: u64,
}

/// A line of the chronicle, without its payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineRef {
    /// Its number.
    pub seq: u64,
    /// When, in UTC.
    pub ts: String,
    /// What happened.
    pub event_type: String,
    /// Which daemon has said so.
    pub emitter: String,
    /// The digest of its payload.
    pub payload_sha256: String,
    /// Its hash.
    pub hash: String,
}

/// Words, and whose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaidWords {
    /// Who speaks.
    pub speaker: String,
    /// The words, cut.
    pub text: String,
}

/// A line of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChainLink {
    /// Its number.
    pub seq: u64,
    /// The hash of the line before.
    pub prev_hash: String,
    /// Its hash.
    pub hash: String,
    /// Whether it follows from the line before, and its hash from its content.
    pub holds: bool,
}

document!(RememberedTurn, RecentTalk, Explanation);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn memory_documents_keep_every_key_and_miss_none() {
        round_trip::<RememberedTurn>(&[
            r#"{"seq": 1, "ts": "2026-04-25T08:00:00.000Z", "peer": "cli:uid:1", "speaker": "owner",
            "trust": "owner", "session": 1, "turn": null, "text": "hello", "score": 1.0, "parts": {"words": 1.0, "session": 0.5,
            "neighbours": 0.0, "speaker": 0.0, "date": 0.0, "kind": 0.0, "salience": 0.0, "trust": 1.0}}"#,
        ]);
        round_trip::<RecentTalk>(&[
            r#"{"summaries": [], "messages": [], "tasks": []}"#,
            r#"{"summaries": [{"from_seq": 1, "upto_seq": 2, "from": "a", "upto": "b", "messages": 2, "own": "c", "answers": "d",
                "cited": [1]}], "messages": [{"seq": 3, "ts": "a", "speaker": "peer", "text": "b"}],
                "tasks": [{"seq": 4, "ts": "a", "ended": "answered", "executors": ["fs_read"]}]}"#,
        ]);
        let line = r#"{"seq": 1, "ts": "a", "event_type": "owner_message", "emitter": "gatewayd", "payload_sha256": "b", "hash": "c"}"#;
        round_trip::<Explanation>(&[&format!(
            r#"{{"item": {line}, "peer": "cli:uid:1", "trust": "owner", "said": {{"speaker": "owner", "text": "hello"}},
                "causes": [{line}], "path": [{{"seq": 1, "prev_hash": "a", "hash": "b", "holds": true}}], "holds": true, "head": 1}}"#
        )]);
    }
}
