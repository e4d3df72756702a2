//! Documents about the mnestome: its mnests and traces, what the ager proposes, its snapshots, and the fitness of
//! executors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::doc::nullable;
use crate::{document, names};

/// A mnest: the output of one executor was the input of another, or a wish found no executor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mnest {
    /// `mnest_` and a ULID.
    pub id: String,
    /// Whose output; empty when a wish came from nothing but words.
    pub src_executor: String,
    /// Its version.
    pub src_version: String,
    /// Whose input; of a proto-mnest, what was wished for.
    pub dst_executor: String,
    /// Its version; null exactly when it is a proto-mnest.
    #[serde(deserialize_with = "nullable")]
    pub dst_version: Option<String>,
    /// Its weight now.
    pub weight: f64,
    /// How often it was used.
    pub uses: u64,
    /// When first, in milliseconds.
    pub ts_first: u64,
    /// When last, in milliseconds.
    pub ts_last: u64,
    /// Decay per use-day.
    pub decay_lambda: f64,
    /// The owner's words for it.
    pub tags: Vec<String>,
    /// `active`, `proto`, `decaying`, `superseded`, `archived`.
    pub state: String,
    /// What the wished-for executor should be; null unless proto.
    #[serde(deserialize_with = "nullable")]
    pub desired_signature: Option<DesiredSignature>,
    /// Why it does not exist; null unless proto.
    #[serde(deserialize_with = "nullable")]
    pub why: Option<String>,
    /// The line of the chronicle that it was last derived from.
    pub last_event_seq: u64,
}

/// What a wished-for executor should take and give, as a model has said it. The fields are in the order of the alphabet:
/// the chronicle and the mnestome keep this text, and the digest of a snapshot is over it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DesiredSignature {
    /// The names of errors.
    #[serde(default)]
    pub errors: Vec<String>,
    /// What it should take.
    #[serde(default)]
    pub inputs: Vec<DesiredField>,
    /// What it should give.
    #[serde(default)]
    pub outputs: Vec<DesiredField>,
    /// The words of a description; or in which words of the lexicon the wish was said, `; ` between them. The chronicle has what
    /// was said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
}

/// A field that was wished for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DesiredField {
    /// Its type, in a word.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// What the ager proposes, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MnestProposal {
    /// Its name: its kind, a hyphen and the end of the mnest's.
    pub id: String,
    /// `archival`, `synthesis`, `fusion`, `generalisation` or `specialisation`.
    pub kind: String,
    /// About which mnest.
    pub mnest: String,
    /// Why, for a person.
    pub why: String,
    /// When, in millionths of a use-day.
    pub at_use: u64,
    /// The line at which the ager came.
    pub seq: u64,
    /// What became of it.
    #[schemars(extend("enum" = ["open", "accepted", "declined"]))]
    pub state: String,
}

/// A state of the mnestome that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MnestomeSnapshot {
    /// Its name.
    pub name: String,
    /// The line up to which the mnestome had come.
    pub at_seq: u64,
    /// The digest of the canonical dump.
    pub digest: String,
    /// The line that says so.
    pub seq: u64,
    /// When, in milliseconds.
    pub ts_ms: u64,
    /// Why.
    pub why: String,
}

/// A community of executors that work together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// `trace_` and a ULID.
    pub id: String,
    /// Its executors, by name and version.
    pub members: Vec<(String, String)>,
    /// The weights of the mnests inside it.
    pub inside: f64,
    /// The weights of the mnests that lead into or out of it.
    pub outside: f64,
}

/// All traces as they were last found; also the form in which they are stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traces {
    /// When, on the clock of use, in millionths of a use-day.
    pub use_time: u64,
    /// How much more of the weight lies inside the traces than chance would put there.
    pub modularity: f64,
    /// The largest first.
    pub traces: Vec<Trace>,
}

/// One trace, and when it was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneTrace {
    /// The trace.
    pub trace: Trace,
    /// Of all traces: how much more of the weight lies inside them than chance would put there.
    pub modularity: f64,
    /// When they were found, in millionths of a use-day.
    pub use_time: u64,
}

names! {
    /// Why planners are not shown an executor, although it can be called.
    pub enum BelowThreshold {
        /// Its last calls gave no sign of being of use.
        Trial = "trial",
        /// Its calls were of too little use.
        Unfit = "unfit",
        /// It was not used for too long.
        Disused = "disused",
        /// It is shown to planners.
        No = "",
    }
}

/// How useful an executor has been.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorFitness {
    /// The executor's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its fitness now.
    pub fitness: f64,
    /// How many of its calls were judged since it was last put in sight.
    pub judged: u64,
    /// Its calls since the last one that was judged.
    pub without_signal: u64,
    /// How many use-days ago it was last used.
    pub used_days_ago: f64,
    /// Why it is hidden from planners.
    pub below: BelowThreshold,
}

document!(Mnest, MnestProposal, MnestomeSnapshot, Traces, ExecutorFitness);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn mnestome_documents_keep_every_key_and_miss_none() {
        round_trip::<Mnest>(&[r#"{"id": "mnest_1", "src_executor": "", "src_version": "", "dst_executor": "a wish",
            "dst_version": null, "weight": 0.1, "uses": 1, "ts_first": 1, "ts_last": 2, "decay_lambda": 0.05, "tags": ["a"],
            "state": "proto", "why": "none", "last_event_seq": 7, "desired_signature": {"summary": "a wish",
            "inputs": [{"name": "path", "kind": "string"}], "outputs": [], "errors": ["NotFound"]}}"#]);
        round_trip::<MnestProposal>(&[
            r#"{"id": "fusion-1", "kind": "fusion", "mnest": "mnest_1", "why": "both", "at_use": 1,
            "seq": 2, "state": "open"}"#,
        ]);
        round_trip::<MnestomeSnapshot>(&[
            r#"{"name": "2026-04", "at_seq": 1, "digest": "sha256:00", "seq": 2, "ts_ms": 3,
            "why": "kept once a month"}"#,
        ]);
        round_trip::<Traces>(&[r#"{"use_time": 1, "modularity": 0.25, "traces": [
            {"id": "trace_1", "members": [["fs_read", "1.0.0"]], "inside": 0.5, "outside": 0.5}]}"#]);
        for below in ["", "trial", "unfit", "disused"] {
            round_trip::<ExecutorFitness>(&[&format!(
                r#"{{"name": "fs_read", "version": "1.0.0", "fitness": 0.5, "judged": 3, "without_signal": 0,
                    "used_days_ago": 1.5, "below": "{below}"}}"#
            )]);
        }
    }

    #[test]
    fn desired_signature_is_written_in_the_order_that_stored_digests_are_over() {
        let field = DesiredField { kind: "string".to_owned(), name: "path".to_owned() };
        let signature = DesiredSignature { inputs: vec![field], summary: "s".to_owned(), ..Default::default() };
        let text = serde_json::to_string(&signature).unwrap();
        assert_eq!(text, r#"{"errors":[],"inputs":[{"kind":"string","name":"path"}],"outputs":[],"summary":"s"}"#);
    }
}
