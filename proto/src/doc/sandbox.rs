//! Documents about sandboxes: the profile of an executor, and what the selftest has tried.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::doc::nullable;
use crate::document;

/// The sandbox of one version of an executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorProfile {
    /// The version.
    pub version: String,
    /// The digest of its sandbox, as it would be made now.
    pub lock: String,
    /// The digest that was signed; null when nothing was.
    #[serde(deserialize_with = "nullable")]
    pub locked: Option<String>,
    /// The sandbox, as it would be made now.
    pub plan: Value,
    /// The sandbox that was signed; null when only its digest was kept.
    pub locked_plan: Value,
}

/// A family of the escape suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EscapeFamily {
    /// Its name.
    pub name: String,
    /// What its cases have in common.
    pub about: String,
    /// How many cases it has.
    pub cases: usize,
}

/// One try of one case of the escape suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EscapeTry {
    /// The name of the case.
    pub name: String,
    /// The layer that must stop it.
    pub layer: String,
    /// Whether it was left out, because this machine cannot try it.
    pub skipped: bool,
    /// Whether it was stopped; missing when it was left out, as all that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
    /// The kind of process that it was tried in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<String>,
    /// What must come of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    /// What came of it instead; empty when it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came: Option<String>,
}

document!(ExecutorProfile, EscapeFamily, EscapeTry);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn sandbox_documents_keep_every_key_and_miss_none() {
        round_trip::<ExecutorProfile>(&[
            r#"{"version": "1.0.0", "lock": "blake3:00", "locked": null, "plan": {"format": 1}, "locked_plan": {"format": 1}}"#,
        ]);
        round_trip::<EscapeFamily>(&[r#"{"name": "files", "about": "Opening.", "cases": 2}"#]);
        round_trip::<EscapeTry>(&[
            r#"{"name": "a", "layer": "mounts", "skipped": true}"#,
            r#"{"name": "a", "layer": "mounts", "skipped": false, "held": true, "carrier": "warm", "wanted": "ENOENT", "came": ""}"#,
        ]);
    }
}
