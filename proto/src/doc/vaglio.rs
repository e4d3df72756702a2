//! Documents of the vaglio and of the constitution. The fields of [`Weighed`], [`WeighedEnd`] and [`ProposedRaise`] stand in
//! the order of the alphabet: policyd stores them as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nullable;
use crate::{document, names};

/// What an ask about proposals brings: one form an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum VaglioAnswer {
    /// Proposals, latest first.
    Proposals(Vec<Proposal>),
    /// One proposal.
    Proposal(Box<Proposal>),
    /// The ends as they count now.
    Telos(TelosReport),
}

names! {
    /// Where a proposal went.
    pub enum ProposalWay {
        /// Into the digest.
        Digest = "digest",
        /// To the owner at once.
        Now = "now",
        /// It was not worth the bother.
        Unasked = "unasked",
        /// It contradicts a Law.
        Blocked = "blocked",
    }
}

names! {
    /// How a proposal stands.
    pub enum ProposalState {
        /// It waits for an answer.
        Waiting = "waiting",
        /// It is not due yet.
        Later = "later",
        /// The owner said yes.
        Accepted = "accepted",
        /// The owner said no.
        Refused = "refused",
        /// It expired without an answer.
        Silent = "silent",
        /// It was not worth the bother.
        Unasked = "unasked",
        /// It contradicts a Law.
        Blocked = "blocked",
    }
}

names! {
    /// What came of a proposal that was announced to the owner.
    pub enum ProposalVerdict {
        /// Yes.
        Accepted = "accepted",
        /// No.
        Refused = "refused",
        /// Nothing, until it expired.
        Silent = "silent",
    }
}

/// A proposal: what it is, how it was weighed, what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// Its name.
    pub id: String,
    /// What kind of growth it proposes.
    pub kind: String,
    /// What it is about.
    pub subject: String,
    /// In a line.
    pub title: String,
    /// What would be done.
    pub effect: String,
    /// Paths and addresses that it would touch.
    pub touches: Vec<String>,
    /// Whether it can be undone.
    pub reversible: bool,
    /// What is lost by waiting: 0 to 1.
    pub urgency: f64,
    /// How sure its author is: 0 to 1.
    pub confidence: f64,
    /// Where it went.
    pub way: ProposalWay,
    /// How it stands.
    pub state: ProposalState,
    /// What the owner answered.
    #[serde(deserialize_with = "nullable")]
    pub answer: Option<ProposalVerdict>,
    /// When it was made, in milliseconds since the epoch.
    pub made_ms: u64,
    /// From when it may be said; 0 when never.
    pub due_ms: u64,
    /// When the owner was notified of it; 0 when not yet.
    pub told_ms: u64,
    /// The limit that a yes changes.
    #[serde(deserialize_with = "nullable")]
    pub raise: Option<ProposedRaise>,
    /// The principal that it was offered to, who alone answers it; absent where that is the owner by `metnosctl vaglio`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// How it was weighed.
    pub weighed: Weighed,
}

/// A limit that a yes changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedRaise {
    /// The name of the budget.
    pub budget: String,
    /// The limit that it would have.
    pub limit: u64,
    /// Whose: a principal, or `house`.
    pub principal: String,
    /// For how long.
    pub seconds: u32,
}

/// How a proposal was weighed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Weighed {
    /// How well it fits the ends.
    pub alignment: f64,
    /// The brake at that moment.
    pub brake: f64,
    /// Each end; empty when no judge was asked.
    pub ends: Vec<WeighedEnd>,
    /// Whether the judgement is an estimate.
    pub estimate: bool,
    /// Who judged; empty when no judge was asked.
    pub judge: String,
    /// What the product had to reach.
    pub needed: f64,
    /// Alignment times brake.
    pub product: f64,
    /// The rule that decided.
    pub rule: String,
    /// Why.
    pub why: String,
}

/// One end in a judgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeighedEnd {
    /// How well the proposal fits it.
    pub fit: f64,
    /// What it adds to the alignment.
    pub part: f64,
    /// The name of the end.
    pub slug: String,
    /// How well a proposal must fit it.
    pub threshold: f64,
    /// Its weight.
    pub weight: f64,
}

/// The ends as they count now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TelosReport {
    /// Each end.
    pub ends: Vec<TelosEnd>,
    /// What is wrong with the file; empty when nothing is.
    pub fault: String,
    /// The brake now.
    pub brake: f64,
    /// Whether these are quiet hours.
    pub quiet: bool,
}

/// One end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TelosEnd {
    /// Its name.
    pub slug: String,
    /// What it says.
    pub phrase: String,
    /// The weight that the file declares.
    pub declared: f64,
    /// What answers have made of it: a factor.
    pub learned: f64,
    /// The weight that counts.
    pub weight: f64,
    /// How well a proposal must fit it.
    pub threshold: f64,
    /// What the file says beside it.
    pub note: String,
}

/// The Laws in force, the Laws in the file, and whether they are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstitutionReport {
    /// The Laws in force.
    #[serde(deserialize_with = "nullable")]
    pub in_force: Option<LawsInForce>,
    /// The Laws in SOUL.md.
    pub file: LawsInFile,
    /// Whether the file waits for the rite.
    pub pending: bool,
    /// Why it does; empty when it does not.
    pub why: String,
}

/// The Laws in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LawsInForce {
    /// The digest of their file.
    pub digest: String,
    /// Each Law.
    pub laws: Vec<Law>,
    /// Since when, in milliseconds since the epoch.
    pub since_ms: u64,
}

/// The Laws in SOUL.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LawsInFile {
    /// The digest of the file; empty when it holds no constitution.
    pub digest: String,
    /// Each Law.
    pub laws: Vec<Law>,
    /// What is wrong with the file; empty when nothing is.
    pub fault: String,
}

/// A Law.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// Its name.
    pub name: String,
    /// What it says.
    pub text: String,
}

document!(VaglioAnswer, ConstitutionReport);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn vaglio_documents_keep_every_key_and_miss_none() {
        let weighed = r#"{"alignment": 0.5, "brake": 1.0, "ends": [
            {"fit": 0.5, "part": 0.25, "slug": "order", "threshold": 0.5, "weight": 0.5}
        ], "estimate": false, "judge": "model", "needed": 0.15, "product": 0.5, "rule": "vaglio.digest", "why": "it fits"}"#;
        let plain = format!(
            r#"{{"id": "p1", "kind": "tidy", "subject": "s", "title": "t", "effect": "e", "touches": [], "reversible": true,
                "urgency": 0.5, "confidence": 1.0, "way": "digest", "state": "waiting", "answer": null, "made_ms": 1,
                "due_ms": 2, "told_ms": 0, "raise": null, "weighed": {weighed}}}"#
        );
        let raise = r#"{"budget": "calls.day", "limit": 3, "principal": "house", "seconds": 86400}"#;
        let full = plain
            .replace(r#""raise": null"#, &format!(r#""raise": {raise}"#))
            .replace(r#""answer": null"#, r#""answer": "accepted""#);
        let listed = format!("[{plain}, {full}]");
        round_trip::<VaglioAnswer>(&[
            "[]",
            &listed,
            &plain,
            &full,
            r#"{"ends": [], "fault": "", "brake": 1.0, "quiet": false}"#,
            r#"{"ends": [{"slug": "s", "phrase": "p", "declared": 0.5, "learned": 1.0, "weight": 0.5, "threshold": 0.5,
                "note": ""}], "fault": "none", "brake": 0.5, "quiet": true}"#,
        ]);
        round_trip::<Weighed>(&[weighed]);
        round_trip::<ProposedRaise>(&[raise]);
        round_trip::<ConstitutionReport>(&[
            r#"{"in_force": null, "file": {"digest": "", "laws": [], "fault": "no"}, "pending": true, "why": "w"}"#,
            r#"{"in_force": {"digest": "d", "laws": [{"name": "n", "text": "t"}], "since_ms": 1},
                "file": {"digest": "d", "laws": [], "fault": ""}, "pending": false, "why": ""}"#,
        ]);
    }
}
