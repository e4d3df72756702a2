//! Documents about decisions: what would become of a call, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nullable;
use super::people::{Level, Standing};
use crate::{document, names};

names! {
    /// What may become of a call.
    pub enum Verdict {
        /// It may happen.
        Allow = "allow",
        /// It may, if somebody says so.
        Ask = "ask",
        /// It may not.
        Deny = "deny",
    }
}

names! {
    /// What came of one step of a decision.
    pub enum StepOutcome {
        /// It holds.
        Passed = "passed",
        /// The owner must approve.
        Asks = "ask",
        /// It may not be, and nothing after this was looked at.
        Denies = "deny",
    }
}

/// The decision on a call that nobody makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyCheck {
    /// Who would make it: `channel:sender`.
    pub principal: String,
    /// What he is to the instance.
    pub standing: Standing,
    /// How far he goes without asking.
    pub level: Level,
    /// That level in words.
    pub without_asking: String,
    /// The executor.
    pub executor: String,
    /// What would become of it.
    pub verdict: Verdict,
    /// The rule that decides.
    pub rule: String,
    /// Why.
    pub why: String,
    /// What could be done; empty where there is nothing.
    pub remedy: String,
    /// Every step that was taken, in order.
    pub steps: Vec<StepTaken>,
    /// Where each argument would come from, where the decision came to that.
    pub arguments: Vec<ArgumentSource>,
    /// Until when the level is a raised one, in milliseconds since the epoch.
    #[serde(deserialize_with = "nullable")]
    pub raised_until_ms: Option<u64>,
}

/// One step of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepTaken {
    /// The step's name.
    pub step: String,
    /// What came of it.
    pub outcome: StepOutcome,
    /// Why.
    pub why: String,
}

/// Where one argument comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArgumentSource {
    /// Its pointer.
    pub pointer: String,
    /// What it is to the call.
    pub role: String,
    /// How far it can be trusted.
    pub label: String,
    /// Who stands behind it.
    pub source: String,
}

document!(PolicyCheck);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn policy_documents_keep_every_key_and_miss_none() {
        let step = r#"{"step": "guard", "outcome": "deny", "why": "core"}"#;
        let argument = r#"{"pointer": "/path", "role": "path", "label": "trusted", "source": "intent"}"#;
        let check = format!(
            r#"{{"principal": "p", "standing": "owner", "level": "full", "without_asking": "w", "executor": "e",
                "verdict": "ask", "rule": "r", "why": "y", "remedy": "", "steps": [{step}], "arguments": [{argument}],
                "raised_until_ms": null}}"#
        );
        round_trip::<StepTaken>(&[step]);
        round_trip::<ArgumentSource>(&[argument]);
        round_trip::<PolicyCheck>(&[&check, &check.replace("null", "7")]);
    }
}
