//! Documents about the way back: what was done, and what became of taking it back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{document, names};

names! {
    /// Where an act stands.
    pub enum ActState {
        /// It was noted, and then begun.
        Begun = "begun",
        /// It ran to its end.
        Done = "done",
        /// It said itself that it changed nothing.
        Failed = "failed",
        /// It broke off, or nobody knows: its inverse looks for itself.
        Unknown = "unknown",
        /// Its inverse was begun.
        Undoing = "undoing",
        /// It was taken back.
        Undone = "undone",
        /// There was nothing to take back.
        Nothing = "nothing",
    }
}

/// What can be taken back, and what was, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ActList(pub Vec<ActRow>);

/// An act that has a way back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActRow {
    /// The call.
    pub call: String,
    /// The turn it belongs to.
    pub turn: String,
    /// Who asked for it: `channel:sender`.
    pub principal: String,
    /// What acted.
    pub executor: String,
    /// What takes it back.
    pub inverse: String,
    /// The arguments of that.
    pub arguments: Value,
    /// When it was noted, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Where it stands.
    pub state: ActState,
}

/// What became of taking a turn back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoReport {
    /// The turn.
    pub turn: String,
    /// The acts that were to be taken back now, the last one first.
    pub acts: Vec<ActTakenBack>,
    /// How many were taken back.
    pub undone: u32,
    /// How many could not be.
    pub kept: u32,
    /// How many are left that can still be taken back.
    pub left: u64,
    /// How many of the turn are not as they were done any more.
    pub already: u64,
}

/// What became of taking one act back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActTakenBack {
    /// The call.
    pub call: String,
    /// What had acted.
    pub executor: String,
    /// The arguments of its inverse.
    pub arguments: Value,
    /// Where it stood before.
    pub was: ActState,
    /// Where it stands now.
    pub state: ActState,
    /// What became of it, in words.
    pub why: String,
    /// The rule by which its inverse was refused; empty when it was not.
    pub rule: String,
    /// What the inverse itself has put out, as it came.
    pub told: String,
}

document!(ActList, UndoReport);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn undo_documents_keep_every_key_and_miss_none() {
        let row = r#"{"call": "c", "turn": "t", "principal": "p", "executor": "e", "inverse": "i",
            "arguments": {"path": "a"}, "at_ms": 1, "state": "unknown"}"#;
        let act = r#"{"call": "c", "executor": "e", "arguments": null, "was": "done", "state": "undone",
            "why": "w", "rule": "", "told": "{}"}"#;
        round_trip::<ActRow>(&[row]);
        round_trip::<ActList>(&["[]", &format!("[{row}]")]);
        round_trip::<ActTakenBack>(&[act]);
        let report = |acts: &str| {
            format!(r#"{{"turn": "t", "acts": [{acts}], "undone": 1, "kept": 2, "left": 3, "already": 4}}"#)
        };
        round_trip::<UndoReport>(&[&report(""), &report(act)]);
    }

    #[test]
    fn states_of_acts_are_found_by_their_names() {
        assert!(ActState::ALL.iter().all(|state| ActState::named(state.name()) == Some(*state)));
        assert_eq!(ActState::named("gone"), None);
    }
}
