//! Documents about what is done without a person: hooks and timers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::people::Unpaired;
use crate::document;

/// What an ask about hooks and timers brings: one form an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AutomationAnswer {
    /// Those that there are.
    All(Vec<Automatic>),
    /// A new one.
    Added(AutomationAdded),
    /// One that fires no more.
    Removed(Unpaired),
}

/// A hook or a timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Automatic {
    /// `hook:NAME` or `timer:NAME`.
    pub principal: String,
    /// How far it goes without asking.
    pub level: String,
    /// What is to be done when it fires, in the words of the owner.
    pub says: String,
    /// Since when, in milliseconds since the epoch.
    pub since_ms: u64,
}

/// A hook or a timer that was set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutomationAdded {
    /// `hook:NAME` or `timer:NAME`.
    pub principal: String,
    /// What is to be done when it fires, in the words of the owner.
    pub says: String,
    /// How far it goes without asking.
    pub level: String,
}

/// What an ask about the secrets of hooks brings: one form an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HookAnswer {
    /// Those that have a secret.
    All(Vec<HookRow>),
    /// A new secret.
    Made(HookMade),
    /// A secret that was forgotten.
    Removed(HookRemoved),
}

/// A hook that has a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookRow {
    /// Its name.
    pub name: String,
    /// How often it has fired since the door was started.
    pub fired: u64,
}

/// The new secret of a hook, shown once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookMade {
    /// Its name.
    pub name: String,
    /// The secret, as Standard Webhooks writes it.
    pub secret: String,
    /// The path to which it is posted.
    pub path: String,
}

impl std::fmt::Debug for HookMade {
    /// Without the secret, which must not reach a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookMade").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whether the secret of a hook was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookRemoved {
    /// Its name.
    pub name: String,
    /// Whether there was one.
    pub removed: bool,
}

document!(AutomationAnswer, HookAnswer);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn secret_of_a_hook_is_not_in_its_debug_text() {
        let made = HookMade { name: "post".to_owned(), secret: "whsec_abc".to_owned(), path: "/hooks/post".to_owned() };
        let text = format!("{:?}", HookAnswer::Made(made));
        assert!(text.contains("post") && !text.contains("whsec"), "{text}");
    }

    #[test]
    fn automation_documents_keep_every_key_and_miss_none() {
        round_trip::<AutomationAnswer>(&[
            "[]",
            r#"[{"principal": "hook:post", "level": "readonly", "says": "read", "since_ms": 1}]"#,
            r#"{"principal": "hook:post", "says": "read", "level": "readonly"}"#,
            r#"{"principal": "hook:post", "standing": "stranger", "turns_ended": 0}"#,
        ]);
        round_trip::<HookAnswer>(&[
            "[]",
            r#"[{"name": "post", "fired": 3}]"#,
            r#"{"name": "post", "secret": "whsec_x", "path": "/hooks/post"}"#,
            r#"{"name": "post", "removed": false}"#,
        ]);
    }
}
