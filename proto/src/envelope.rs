//! What memoryd shows the planner at the start of a turn: one JSON document in a sealed memfd.
//!
//! Only the clean part stands here (design: architecture §3): the owner's own words, trusted
//! memory, and what executors there are. Evidence of lower trust is never put into it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::Blake3;
use crate::msg::common::{Channel, Lang};

/// The clean part of an envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Ties later claims to what was shown.
    pub nonce: u64,
    /// BLAKE3 over the six workspace files in their stable order, hexadecimal.
    pub identity: String,
    /// The six workspace files in that order; what is too long is cut.
    pub files: Vec<File>,
    /// The compiled identity; empty as long as nothing has been lived.
    pub capsule: String,
    /// Who is speaking, as `channel:sender`.
    pub principal: String,
    /// Where the words came in.
    pub channel: Channel,
    /// The language to answer in.
    pub lang: Lang,
    /// What this principal said before, oldest first.
    pub recent: Vec<Recent>,
    /// What this principal said longer ago that bears on the words of this turn, best first.
    pub recalled: Vec<Recalled>,
    /// What is left of the talk before that: summaries of this principal's own words, oldest first.
    pub earlier: Vec<Earlier>,
    /// What was done for this principal last, oldest first.
    pub done: Vec<Done>,
    /// The executors that may fit, best first.
    pub candidates: Vec<Candidate>,
    /// Which executors' outputs have become whose inputs.
    pub mnests: Vec<Known>,
    /// Where the files lie that the owner's words call by their bare names, as paths below the workspace. For the reflex;
    /// no model is shown them.
    #[serde(default)]
    pub named: Vec<String>,
}

/// A file of the workspace: the owner's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Words of an earlier turn of the same principal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recent {
    /// The line of the chronicle.
    pub seq: u64,
    /// The words.
    pub text: String,
}

/// Words of a turn longer ago that were recalled for this one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recalled {
    /// The line of the chronicle.
    pub seq: u64,
    /// When they were said, as in the chronicle.
    pub ts: String,
    /// How well they fit, in [0, 1] beside the best.
    pub relevance: f64,
    /// The words.
    pub text: String,
}

/// A summary of the principal's own words, made of sentences that were said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Earlier {
    /// The first line of the chronicle that it covers.
    pub from_seq: u64,
    /// The last.
    pub upto_seq: u64,
    /// The lines whose sentences stand in it.
    pub cited: Vec<u64>,
    /// The sentences, each behind its line in brackets.
    pub text: String,
}

/// A task of an earlier turn of the same principal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// The line of the chronicle that closed its turn.
    pub seq: u64,
    /// How it ended.
    pub ended: String,
    /// The executors that succeeded in it, in their order.
    pub executors: Vec<String>,
}

/// An executor as the planner may know it: its public contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The name.
    pub name: String,
    /// The version that would be called.
    pub version: String,
    /// What it does, in a line.
    pub summary: String,
    /// Requests it serves, in English and Italian.
    pub examples: Vec<String>,
    /// The effect class: `read`, `send`, …
    pub class: String,
    /// JSON Schema of the arguments.
    pub input: Value,
    /// JSON Schema of the result.
    pub output: Value,
    /// The role of each argument by JSON pointer: `path`, `payload`, ….
    pub roles: Vec<(String, String)>,
    /// Whether a planner is shown it at all; what is not stands in no envelope. Missing means that it is.
    #[serde(default = "offered", skip_serializing_if = "is_offered")]
    pub offered: bool,
    /// The digest of all this, as policyd has it from what was signed; empty where nobody has said so. Whoever has read a
    /// contract once need not read, nor compare, it again.
    #[serde(default)]
    pub contract: String,
}

const fn offered() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_offered(offered: &bool) -> bool {
    *offered
}

impl Candidate {
    /// The same with the digest of what it says.
    #[must_use]
    pub fn with_digest(mut self) -> Self {
        self.contract.clear();
        // It is made of texts and JSON, which can always be written.
        self.contract = serde_json::to_vec(&self).map(|bytes| Blake3::of(&bytes).hex()).unwrap_or_default();
        self
    }
}

/// A mnest, as far as routing needs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Whose output.
    pub from: String,
    /// Whose input.
    pub to: String,
    /// How strong, in [0, 1].
    pub weight: f64,
}
