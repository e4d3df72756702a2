//! Documents about what the owner has said for longer than once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::nullable;
use crate::{document, names};

names! {
    /// What a stored word says.
    pub enum Says {
        /// Yes, without being asked.
        Always = "always",
        /// No, without being asked.
        Never = "never",
    }
}

/// The stored words, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct GrantList(pub Vec<GrantRow>);

/// One stored word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantRow {
    /// Its name: that of the card on which it was given.
    pub id: String,
    /// To whom it was given: `channel:sender`.
    pub principal: String,
    /// For which executor.
    pub executor: String,
    /// For which version of it.
    pub version: String,
    /// For which arguments.
    pub scope: Vec<Target>,
    /// Whether it says yes or no.
    pub says: Says,
    /// The only turn in which it counts.
    #[serde(deserialize_with = "nullable")]
    pub turn: Option<String>,
    /// When it was given, in milliseconds since the epoch.
    pub made_ms: u64,
    /// When it ends, in milliseconds since the epoch.
    pub expires_ms: u64,
    /// How often it has answered since policyd was started.
    pub uses: u32,
}

/// What one argument must be for a stored word to answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Target {
    /// A path in a folder.
    Within(TargetWithin),
    /// Exactly one value.
    Is(TargetIs),
}

/// An argument that must be a path in a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetWithin {
    /// The argument.
    pub pointer: String,
    /// The folder, absolute.
    pub within: String,
}

/// An argument that must be exactly one value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetIs {
    /// The argument.
    pub pointer: String,
    /// The value.
    pub is: Value,
}

document!(GrantList);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn grant_documents_keep_every_key_and_miss_none() {
        let within = r#"{"pointer": "/path", "within": "/w/notes"}"#;
        let is = r#"{"pointer": "/force", "is": null}"#;
        let row = format!(
            r#"{{"id": "a", "principal": "p", "executor": "e", "version": "1.0.0", "scope": [{within}, {is}],
                "says": "always", "turn": null, "made_ms": 1, "expires_ms": 2, "uses": 3}}"#
        );
        round_trip::<Target>(&[within, is]);
        round_trip::<GrantRow>(&[&row, &row.replace("\"turn\": null", "\"turn\": \"T\"").replace("always", "never")]);
        round_trip::<GrantList>(&["[]", &format!("[{row}]")]);
    }
}
