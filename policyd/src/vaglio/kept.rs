//! A proposal as it is kept: what it is, how it was weighed, and what came of it. One document a proposal.

use metnos_policy::vaglio::sieve::{Proposal, Sifted, Way};
use metnos_policy::vaglio::weigh::Answer;
use metnos_proto::ids::Blake3;
use serde_json::{Value, json};

use crate::budget::escalate::Raise;
use crate::clock::DAY_MS;

/// How long an unanswered proposal waits, in milliseconds (design: policy §4, growth).
pub const EXPIRES_MS: u64 = 7 * DAY_MS;
/// How long a proposal is kept after that, so that it is not made again in the same words, in milliseconds.
pub const KEPT_MS: u64 = 90 * DAY_MS;

/// One proposal.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// Its name.
    pub id: String,
    /// What it proposes.
    pub proposal: Proposal,
    /// Where it went.
    pub way: Way,
    /// The answer, if any; silence is one.
    pub answer: Option<Answer>,
    /// How well it fitted each end, by slug; what answers teach.
    pub fits: Vec<(String, f64)>,
    /// How it was weighed, as `vaglio explain` shows it.
    pub weighed: Value,
    /// When it was made, in milliseconds since the epoch.
    pub made_ms: u64,
    /// From when it may be said; 0 when never.
    pub due_ms: u64,
    /// The limit that his yes changes; only policyd itself proposes that.
    pub raise: Option<Raise>,
    /// When he was told of it, in milliseconds since the epoch; 0 when not yet.
    pub told_ms: u64,
}

impl Kept {
    /// What two proposals in the same words have in common.
    #[must_use]
    pub fn digest_of(proposal: &Proposal) -> Blake3 {
        let Proposal { kind, subject, title, effect, .. } = proposal;
        metnos_proto::json::digest(&json!([kind, subject, title, effect]))
    }

    /// Whether the owner was, or will be, told of it.
    #[must_use]
    pub const fn is_heard(&self) -> bool {
        matches!(self.way, Way::Digest | Way::Now)
    }

    /// Whether it waits for an answer.
    #[must_use]
    pub fn is_open(&self, now_ms: u64) -> bool {
        self.is_heard() && self.answer.is_none() && now_ms < self.made_ms.saturating_add(EXPIRES_MS)
    }

    /// How it stands, for people.
    #[must_use]
    pub fn standing(&self, now_ms: u64) -> &'static str {
        match self.answer {
            Some(answer) => answer.name(),
            None if !self.is_heard() => self.way.name(),
            None if now_ms < self.due_ms => "later",
            None => "waiting",
        }
    }

    /// The whole of it, as it is stored and shown.
    #[must_use]
    pub fn document(&self) -> Value {
        let it = &self.proposal;
        json!({
            "id": self.id, "kind": it.kind, "subject": it.subject, "title": it.title, "effect": it.effect,
            "touches": it.touches, "reversible": it.reversible, "urgency": it.urgency, "confidence": it.confidence,
            "way": self.way.name(), "answer": self.answer.map(Answer::name), "made_ms": self.made_ms,
            "due_ms": self.due_ms, "told_ms": self.told_ms, "weighed": self.weighed,
            "raise": self.raise.as_ref().map(Raise::document),
        })
    }

    /// Reads it back.
    #[must_use]
    pub fn parse(document: &Value) -> Option<Self> {
        let text = |key: &str| document[key].as_str().map(str::to_owned);
        let answer = match document["answer"].as_str() {
            None => None,
            Some(name) => Some(
                [Answer::Accepted, Answer::Refused, Answer::Silent].into_iter().find(|answer| answer.name() == name)?,
            ),
        };
        let fits = document["weighed"]["ends"].as_array().into_iter().flatten();
        Some(Self {
            id: text("id")?,
            proposal: Proposal {
                kind: text("kind")?,
                subject: text("subject")?,
                title: text("title")?,
                effect: text("effect")?,
                touches: document["touches"]
                    .as_array()?
                    .iter()
                    .filter_map(|one| Some(one.as_str()?.to_owned()))
                    .collect(),
                reversible: document["reversible"].as_bool()?,
                urgency: document["urgency"].as_f64()?,
                confidence: document["confidence"].as_f64()?,
            },
            way: Way::parse(document["way"].as_str()?)?,
            answer,
            fits: fits.filter_map(|end| Some((end["slug"].as_str()?.to_owned(), end["fit"].as_f64()?))).collect(),
            weighed: document["weighed"].clone(),
            made_ms: document["made_ms"].as_u64()?,
            due_ms: document["due_ms"].as_u64()?,
            told_ms: document["told_ms"].as_u64().unwrap_or(0),
            raise: match &document["raise"] {
                Value::Null => None,
                raise @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
                    Some(Raise::parse(raise)?)
                }
            },
        })
    }
}

/// How a proposal was weighed, in numbers and words.
#[must_use]
pub fn weighed(sifted: &Sifted, slugs: &[String]) -> Value {
    json!({
        "rule": sifted.rule, "why": sifted.why, "judge": sifted.judge, "estimate": sifted.estimate,
        "alignment": sifted.alignment, "brake": sifted.brake, "product": sifted.alignment * sifted.brake,
        "needed": sifted.needed,
        "ends": sifted.ends.iter().zip(slugs).map(|(end, slug)| json!({
            "slug": slug, "weight": end.weight, "threshold": end.threshold, "fit": end.fit, "part": end.part(),
        })).collect::<Vec<_>>(),
    })
}
