//! Documents about the chronicle: proofs, secrets that slipped in, what happened without its words, and the ledger.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::nullable;
use crate::document;

/// A line of the chronicle, as it is read out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct EventLine {
    /// Its number, from 1.
    pub seq: u64,
    /// The hash of the line before it.
    pub prev_hash: String,
    /// The line that it follows from.
    #[serde(deserialize_with = "nullable")]
    pub parent: Option<u64>,
    /// When, in UTC.
    pub ts: String,
    /// Which daemon has said so.
    pub emitter: String,
    /// The session in which it happened.
    pub session_key: String,
    /// In which turn.
    #[serde(deserialize_with = "nullable")]
    pub turn_id: Option<String>,
    /// The trace of that turn.
    #[serde(deserialize_with = "nullable")]
    pub trace_id: Option<String>,
    /// What happened.
    pub event_type: String,
    /// Which agent.
    pub agent_id: String,
    /// Which model.
    pub model: String,
    /// Over which channel.
    #[serde(deserialize_with = "nullable")]
    pub channel: Option<String>,
    /// Who caused it.
    pub peer: String,
    /// Where its content comes from.
    pub trust: String,
    /// The digest of what it holds.
    pub payload_sha256: String,
    /// What it holds.
    pub payload: Value,
    /// Its hash.
    pub hash: String,
}

/// A head of the chronicle, and policyd's signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignedHead {
    /// The number of its last line.
    pub seq: u64,
    /// The hash of that line.
    pub hash: String,
    /// The root of the Merkle tree over all lines.
    pub root: String,
    /// When it was signed, in milliseconds since the epoch.
    pub ts_ms: u64,
    /// The signature.
    pub signature: String,
}

/// The path of a line in the Merkle tree over the first lines of the chronicle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineProof {
    /// The line, from 1.
    pub seq: u64,
    /// How many lines the tree is over.
    pub size: u64,
    /// The line, as it stands in the chronicle.
    pub line: String,
    /// The siblings' roots, the nearest first.
    pub path: Vec<String>,
    /// Where they lead.
    pub root: String,
}

/// A line that holds something of the form of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretFound {
    /// Its number.
    pub seq: u64,
    /// What happened; empty when this release does not know the kind.
    pub event_type: String,
    /// What the findings look like.
    pub kinds: Vec<String>,
}

/// What happened, without a word of it: the executor is the only part of a payload that is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventOutline {
    /// The line.
    pub seq: u64,
    /// When, in UTC.
    pub ts: String,
    /// What happened.
    pub event_type: String,
    /// Which daemon has said so.
    pub emitter: String,
    /// Who caused it.
    pub peer: String,
    /// Where its content comes from.
    pub trust: String,
    /// The hash of the line.
    pub hash: String,
    /// In which turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The trace of that turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Over which channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Which executor it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// What was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// How a run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// What an active day costs, as far as the ledger knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpendingForecast {
    /// How many days it is made from: the last active ones before today.
    pub active_days: usize,
    /// The one in the middle, in millionths.
    pub median: u64,
    /// The cheapest of them.
    pub low: u64,
    /// The dearest of them.
    pub high: u64,
}

/// What was spent on one day by one principal on one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DaySpending {
    /// The day, in UTC.
    pub day: String,
    /// For whom.
    pub principal: String,
    /// The model's role; empty when it was an executor.
    pub role: String,
    /// The executor; empty when it was a model.
    pub executor: String,
    /// How much, in millionths.
    pub micro: u64,
    /// Tokens read and written.
    pub tokens: u64,
    /// How many entries.
    pub entries: u64,
    /// How many of them are not settled.
    pub open: u64,
}

/// What a person has said and was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The turn.
    pub turn: String,
    /// On which channel: `cli`, `http` or `telegram`.
    pub channel: String,
    /// When it was said, in milliseconds since the epoch.
    pub at_ms: u64,
    /// The words; empty where they were redacted.
    pub said: String,
    /// The answer; empty where it was redacted, or there was none.
    pub answer: String,
    /// How the turn ended: `answered`, `not_understood`, `denied`, `unsuccessful`, `cancelled` or `broken`.
    pub end: String,
    /// Whether the words or the answer were redacted.
    pub redacted: bool,
}

document!(EventLine, SignedHead, LineProof, SecretFound, EventOutline, Exchange, SpendingForecast, DaySpending);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn chronicle_documents_keep_every_key_and_miss_none() {
        round_trip::<LineProof>(&[
            r#"{"seq": 1, "size": 2, "line": "{}", "path": ["sha256:00"], "root": "sha256:01"}"#,
        ]);
        round_trip::<SecretFound>(&[r#"{"seq": 1, "event_type": "owner_message", "kinds": ["a token"]}"#]);
        let outline = r#""seq": 1, "ts": "a", "event_type": "run_ended", "emitter": "sandboxd", "peer": "cli:uid:1", "trust": "tool",
            "hash": "sha256:00""#;
        round_trip::<EventOutline>(&[
            &format!("{{{outline}}}"),
            &format!(
                r#"{{{outline}, "turn": "a", "trace": "b", "channel": "cli", "executor": "fs_read", "outcome": "ok"}}"#
            ),
        ]);
        round_trip::<Exchange>(&[
            r#"{"turn": "a", "channel": "cli", "at_ms": 1, "said": "s", "answer": "a", "end": "answered", "redacted": false}"#,
        ]);
        round_trip::<SpendingForecast>(&[r#"{"active_days": 1, "median": 2, "low": 1, "high": 3}"#]);
        round_trip::<DaySpending>(&[
            r#"{"day": "2026-04-25", "principal": "cli:uid:1", "role": "plan", "executor": "", "micro": 1,
            "tokens": 2, "entries": 1, "open": 0}"#,
        ]);
    }
}
