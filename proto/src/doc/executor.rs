//! Documents about executors: what is known of one, where it comes from, and what became of the owner's word on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::nullable;
use crate::msg::common::ExecutorDigests;
use crate::msg::policyd;
use crate::{document, names};

names! {
    /// How an executor stands.
    pub enum State {
        /// In the pool, not signed, or not loaded yet.
        Staged = "staged",
        /// Signed, and not tested by sandboxd yet.
        Signed = "signed",
        /// Callable.
        Active = "active",
        /// Callable, but planners are not shown it.
        BelowThreshold = "below_threshold",
        /// Not loaded, not deleted.
        Quarantined = "quarantined",
        /// Archived by the owner, until he restores it.
        Archived = "archived",
        /// Its signature counts no more, for ever.
        Revoked = "revoked",
    }
}

impl From<&policyd::ExecutorState> for State {
    fn from(state: &policyd::ExecutorState) -> Self {
        match state {
            policyd::ExecutorState::Staged => Self::Staged,
            policyd::ExecutorState::Active => Self::Active,
            policyd::ExecutorState::Quarantined => Self::Quarantined,
            policyd::ExecutorState::Archived => Self::Archived,
            policyd::ExecutorState::Revoked => Self::Revoked,
        }
    }
}

/// The digests of what is signed of an executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Digests {
    /// Of its manifest.
    pub manifest: String,
    /// Of its code.
    pub code: String,
    /// Of its schema.
    pub schema: String,
    /// Of its sandbox.
    pub profile: String,
}

impl From<&ExecutorDigests> for Digests {
    fn from(digests: &ExecutorDigests) -> Self {
        let ExecutorDigests { manifest, code, schema, profile } = digests;
        let [manifest, code, schema, profile] = [manifest, code, schema, profile].map(ToString::to_string);
        Self { manifest, code, schema, profile }
    }
}

/// Where an executor comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Origin {
    /// The release.
    Seed {},
    /// The pool of this instance, where someone has put it.
    Own(Approval),
    /// Another instance.
    Imported(Box<Import>),
    /// A run of drafts of this instance.
    Drafted(Box<Drafting>),
}

/// Who has approved that an executor is signed, once someone has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// By whom: `channel:sender`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// When, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_ms: Option<u64>,
}

/// What is known of an executor that was drafted here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drafting {
    /// The run of drafts, as policyd has named it.
    pub run: String,
    /// What was wished for, in the owner's words.
    pub wish: String,
    /// The model that wrote the code, as `substrate/model`.
    pub model: String,
    /// When it was put into the pool, in milliseconds since the epoch.
    pub at_ms: u64,
    /// The digest of its manifest, as it was put there.
    pub manifest: String,
    /// The digest of its code.
    pub code: String,
    /// The digest of its schema.
    pub schema: String,
    /// How many calls of its probation it has had; missing before the first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: u8,
    /// Who has approved it, once someone has: `channel:sender`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// When, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_ms: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(calls: &u8) -> bool {
    *calls == 0
}

/// What is known of an executor that came from another instance. What a parcel says about its way is its exporter's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// The key of the instance that has exported it.
    pub exporter: String,
    /// When, in milliseconds since the epoch.
    pub exported_ms: u64,
    /// When it was signed there, in milliseconds since the epoch.
    pub born_ms: u64,
    /// The keys of the instances that it came through before, the last one last.
    pub came_through: Vec<String>,
    /// Who has imported it: `channel:sender`.
    pub by: String,
    /// When, in milliseconds since the epoch.
    pub at_ms: u64,
    /// The digest of the manifest that came.
    pub manifest: String,
    /// The digest of the code that came.
    pub code: String,
    /// The digest of the schema that came.
    pub schema: String,
    /// By whom it was approved: `channel:sender`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// When, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_ms: Option<u64>,
}

/// Everything about the version that a name means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorRecord {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// All versions of that name.
    pub versions: Vec<String>,
    /// How it stands.
    pub state: State,
    /// Why it stands so; empty where there is nothing to say.
    pub why: String,
    /// Where it comes from; this and the rest only of one that was signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Since when it stands so, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// When it was signed, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born_ms: Option<u64>,
    /// The signature, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// What was signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digests: Option<Digests>,
    /// Its manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Value>,
    /// Its schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

/// An executor, as far as someone on a channel may see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorSeen {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How it stands.
    pub state: State,
    /// What it does.
    pub summary: String,
    /// What kind of effect it has.
    pub class: String,
    /// Why it does not work, where it does not; the owner sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Example requests that call it, in the caller's language; only of an active executor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

/// An executor was imported, and is signed by nobody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorImported {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How it stands.
    pub state: State,
    /// Where it comes from.
    pub origin: Origin,
}

/// What an ask about the life of an executor brings: one form an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LifecycleAnswer {
    /// It was archived, restored or revoked, or could be.
    Changed(LifecycleChange),
    /// It was signed, or could be.
    Signed(Box<SignReport>),
}

/// What became of the owner's word on an executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LifecycleChange {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How it stands now.
    pub state: State,
    /// Why it stands so.
    pub why: String,
    /// What a confirmation must name; empty where none is asked for.
    pub digest: String,
    /// Whether it stands otherwise than before.
    pub changed: bool,
}

/// An executor was signed, or could be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignReport {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How it stands now.
    pub state: State,
    /// What a confirmation must name; empty once it is signed.
    pub digest: String,
    /// Whether it was signed now.
    pub changed: bool,
    /// Everything that the owner is to see before he confirms.
    #[serde(deserialize_with = "nullable")]
    pub card: Option<Candidate>,
}

/// An executor that nobody has signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// What it does.
    pub summary: String,
    /// What kind of effect it has.
    pub class: String,
    /// Whether that can be undone.
    pub reversible: bool,
    /// Its sandbox.
    pub profile: String,
    /// What it asks to be granted.
    pub capabilities: Value,
    /// The limits of one call, and of a day.
    pub quotas: Value,
    /// Where it comes from.
    pub origin: Origin,
    /// Who has made it, as its manifest says.
    pub created_by: String,
    /// Its birth tests, in a sandbox that grants nothing.
    pub cases: Vec<CaseReport>,
    /// Its manifest, as it is written.
    pub manifest: String,
    /// Its code.
    pub code: String,
    /// Its schema, as it is written.
    pub schema: String,
    /// What would be signed.
    pub digests: Digests,
}

/// What came of one birth test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// Whether it holds.
    pub passed: bool,
    /// What came instead, where it does not.
    pub detail: String,
}

names! {
    /// What can be done about an executor in quarantine.
    pub enum WayOut {
        /// All is again as it was signed.
        Lift = "lift",
        /// Its files are; the sandbox of this installation is another.
        Relock = "relock",
        /// Nothing: its files are not.
        None = "none",
    }
}

/// What is in quarantine, and what came of the owner's word on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuarantineReport {
    /// Each that was asked about.
    pub executors: Vec<QuarantinedExecutor>,
    /// What a confirmation must name; empty where there is nothing to confirm.
    pub digest: String,
    /// Whether it was confirmed.
    pub confirmed: bool,
    /// Whether all that was confirmed was done.
    pub done: bool,
}

/// An executor in quarantine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuarantinedExecutor {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Why it is in quarantine.
    pub why: String,
    /// Since when, in milliseconds since the epoch.
    pub since_ms: u64,
    /// What can be done about it.
    pub way: WayOut,
    /// Why nothing can be, where that is so.
    pub fault: String,
    /// The digest of the sandbox that was signed.
    pub signed: String,
    /// That of the sandbox which it would get now.
    pub now: String,
    /// Whether it was let out, where that was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<bool>,
    /// Why it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

document!(ExecutorRecord, ExecutorImported, LifecycleAnswer, QuarantineReport);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    const DIGESTS: &str = r#"{"manifest": "m", "code": "c", "schema": "s", "profile": "p"}"#;
    const IMPORTED: &str = r#"{"kind": "imported", "exporter": "00", "exported_ms": 1, "born_ms": 2, "came_through": ["11"],
        "by": "p", "at_ms": 3, "manifest": "m", "code": "c", "schema": "s", "approved_by": "p", "approved_ms": 4}"#;

    #[test]
    fn executor_documents_keep_every_key_and_miss_none() {
        round_trip::<Digests>(&[DIGESTS]);
        round_trip::<ExecutorRecord>(&[&format!(
            r#"{{"name": "n", "version": "1.0.0", "versions": ["1.0.0"], "state": "active", "why": "", "origin": {IMPORTED},
                "since_ms": 1, "born_ms": 2, "signature": "00", "digests": {DIGESTS}, "manifest": {{}}, "schema": {{}}}}"#
        )]);
        round_trip::<ExecutorSeen>(&[
            r#"{"name": "n", "version": "1.0.0", "state": "archived", "summary": "s", "class": "c", "why": "w",
                "examples": ["e"]}"#,
        ]);
        round_trip::<ExecutorImported>(&[
            r#"{"name": "n", "version": "1.0.0", "state": "staged", "origin": {"kind": "own"}}"#,
        ]);
    }

    #[test]
    fn origins_are_read_as_they_were_stored() {
        round_trip::<Origin>(&[
            r#"{"kind": "seed"}"#,
            r#"{"kind": "own"}"#,
            r#"{"kind": "own", "approved_by": "p", "approved_ms": 1}"#,
            r#"{"kind": "drafted", "run": "r", "wish": "w", "model": "m", "at_ms": 1, "manifest": "m", "code": "c", "schema": "s", "calls": 3}"#,
            IMPORTED,
        ]);
    }

    #[test]
    fn lifecycle_documents_keep_every_key_and_miss_none() {
        let case = r#"{"name": "c", "passed": true, "detail": ""}"#;
        let card = format!(
            r#"{{"summary": "s", "class": "c", "reversible": true, "profile": "pure", "capabilities": [], "quotas": {{}},
                "origin": {{"kind": "own"}}, "created_by": "b", "cases": [{case}], "manifest": "m", "code": "c", "schema": "s",
                "digests": {DIGESTS}}}"#
        );
        round_trip::<Candidate>(&[&card]);
        let signed = |card: &str| {
            format!(
                r#"{{"name": "n", "version": "1.0.0", "state": "staged", "digest": "d", "changed": false, "card": {card}}}"#
            )
        };
        let changed =
            r#"{"name": "n", "version": "1.0.0", "state": "revoked", "why": "w", "digest": "", "changed": true}"#;
        round_trip::<LifecycleAnswer>(&[&signed(&card), &signed("null"), changed]);
        let one = r#"{"name": "n", "version": "1.0.0", "why": "w", "since_ms": 1, "way": "none", "fault": "f", "signed": "s",
            "now": "n", "done": false, "error": "e"}"#;
        round_trip::<QuarantinedExecutor>(&[one]);
        round_trip::<QuarantineReport>(&[&format!(
            r#"{{"executors": [{one}], "digest": "d", "confirmed": true, "done": false}}"#
        )]);
    }
}
