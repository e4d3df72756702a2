//! A proposal as it is kept: what it is, how it was weighed, and what came of it. One document a proposal.

use metnos_policy::vaglio::sieve::{Disposition, Proposal, Sifted};
use metnos_policy::vaglio::weigh::Answer;
use metnos_proto::doc::vaglio::{self as doc, ProposalState, ProposalVerdict, ProposedRaise, WeighedEnd};
use metnos_proto::ids::Blake3;
use serde::{Deserialize, Serialize};

use crate::budget::escalate::Raise;
use crate::clock::DAY_MS;

/// How long an unanswered proposal waits, in milliseconds (design: policy §4, growth).
pub const EXPIRES_MS: u64 = 7 * DAY_MS;
/// How long a proposal is kept after that, so that it is not made again in the same words, in milliseconds.
pub const KEPT_MS: u64 = 90 * DAY_MS;

/// One proposal.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposalRecord {
    /// Its name.
    pub id: String,
    /// What it proposes.
    pub proposal: Proposal,
    /// Where it went.
    pub way: Disposition,
    /// The answer, if any; silence is one.
    pub answer: Option<Answer>,
    /// How well it fitted each end, by slug; what answers teach.
    pub fits: Vec<(String, f64)>,
    /// How it was weighed, as `vaglio explain` shows it.
    pub weighed: doc::Weighed,
    /// When it was made, in milliseconds since the epoch.
    pub made_ms: u64,
    /// From when it may be said; 0 when never.
    pub due_ms: u64,
    /// The limit that his yes changes; only policyd itself proposes that.
    pub raise: Option<Raise>,
    /// When he was told of it, in milliseconds since the epoch; 0 when not yet.
    pub told_ms: u64,
    /// The principal that it is offered to by a card, who alone answers it; empty for what the owner answers by `metnosctl vaglio`.
    pub to: String,
    /// The id of the card that offers it; empty until that card is made.
    pub card: String,
}

impl ProposalRecord {
    /// What two proposals in the same words have in common.
    #[must_use]
    pub fn digest_of(proposal: &Proposal) -> Blake3 {
        let Proposal { kind, subject, title, effect, .. } = proposal;
        metnos_proto::json::digest_of(&(kind, subject, title, effect))
    }

    /// Whether the owner was, or will be, told of it.
    #[must_use]
    pub const fn is_heard(&self) -> bool {
        matches!(self.way, Disposition::Digest | Disposition::Now)
    }

    /// Whether it waits for an answer.
    #[must_use]
    pub fn is_open(&self, now_ms: u64) -> bool {
        self.is_heard() && self.answer.is_none() && now_ms < self.made_ms.saturating_add(EXPIRES_MS)
    }

    /// Whether it waits for the owner's answer by `metnosctl vaglio`.
    #[must_use]
    pub fn is_owners(&self, now_ms: u64) -> bool {
        self.to.is_empty() && self.is_open(now_ms)
    }

    /// How it stands, for people.
    #[must_use]
    pub fn standing(&self, now_ms: u64) -> ProposalState {
        match (self.answer, self.way) {
            (Some(Answer::Accepted), _) => ProposalState::Accepted,
            (Some(Answer::Refused), _) => ProposalState::Refused,
            (Some(Answer::Silent), _) => ProposalState::Silent,
            (None, Disposition::Blocked) => ProposalState::Blocked,
            (None, Disposition::Unasked) => ProposalState::Unasked,
            (None, Disposition::Digest | Disposition::Now) if now_ms < self.due_ms => ProposalState::Later,
            (None, Disposition::Digest | Disposition::Now) => ProposalState::Waiting,
        }
    }

    /// All of it, as the owner sees it.
    #[must_use]
    pub fn document(&self, now_ms: u64) -> doc::Proposal {
        let it = &self.proposal;
        doc::Proposal {
            id: self.id.clone(),
            kind: it.kind.clone(),
            subject: it.subject.clone(),
            title: it.title.clone(),
            effect: it.effect.clone(),
            touches: it.touches.clone(),
            reversible: it.reversible,
            urgency: it.urgency,
            confidence: it.confidence,
            way: way(self.way),
            state: self.standing(now_ms),
            answer: self.answer.map(verdict),
            made_ms: self.made_ms,
            due_ms: self.due_ms,
            told_ms: self.told_ms,
            raise: self.raise.as_ref().map(Raise::document),
            to: self.to.clone(),
            weighed: self.weighed.clone(),
        }
    }

    /// All of it, as it is stored.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn stored(&self) -> serde_json::Result<String> {
        let it = &self.proposal;
        serde_json::to_string(&Stored {
            answer: self.answer.map(verdict),
            card: self.card.clone(),
            confidence: it.confidence,
            due_ms: self.due_ms,
            effect: it.effect.clone(),
            id: self.id.clone(),
            kind: it.kind.clone(),
            made_ms: self.made_ms,
            raise: self.raise.as_ref().map(Raise::document),
            reversible: it.reversible,
            subject: it.subject.clone(),
            title: it.title.clone(),
            to: self.to.clone(),
            told_ms: self.told_ms,
            touches: it.touches.clone(),
            urgency: it.urgency,
            way: way(self.way),
            weighed: self.weighed.clone(),
        })
    }

    /// Reads back what was stored.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let stored: Stored = serde_json::from_str(text).ok()?;
        let raise = match stored.raise {
            None => None,
            Some(raise) => Some(Raise::parse(raise)?),
        };
        Some(Self {
            id: stored.id,
            proposal: Proposal {
                kind: stored.kind,
                subject: stored.subject,
                title: stored.title,
                effect: stored.effect,
                touches: stored.touches,
                reversible: stored.reversible,
                urgency: stored.urgency,
                confidence: stored.confidence,
            },
            way: Disposition::parse(stored.way.name())?,
            answer: stored.answer.map(answer),
            fits: stored.weighed.ends.iter().map(|end| (end.slug.clone(), end.fit)).collect(),
            weighed: stored.weighed,
            made_ms: stored.made_ms,
            due_ms: stored.due_ms,
            raise,
            told_ms: stored.told_ms,
            to: stored.to,
            card: stored.card,
        })
    }
}

/// A proposal on the disk. The order of the fields is that of the alphabet, as all of them were ever written.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    answer: Option<ProposalVerdict>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    card: String,
    confidence: f64,
    due_ms: u64,
    effect: String,
    id: String,
    kind: String,
    made_ms: u64,
    raise: Option<ProposedRaise>,
    reversible: bool,
    subject: String,
    title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    to: String,
    /// Was not written at first.
    #[serde(default)]
    told_ms: u64,
    touches: Vec<String>,
    urgency: f64,
    way: doc::ProposalWay,
    weighed: doc::Weighed,
}

const fn way(way: Disposition) -> doc::ProposalWay {
    match way {
        Disposition::Blocked => doc::ProposalWay::Blocked,
        Disposition::Unasked => doc::ProposalWay::Unasked,
        Disposition::Digest => doc::ProposalWay::Digest,
        Disposition::Now => doc::ProposalWay::Now,
    }
}

const fn verdict(answer: Answer) -> ProposalVerdict {
    match answer {
        Answer::Accepted => ProposalVerdict::Accepted,
        Answer::Refused => ProposalVerdict::Refused,
        Answer::Silent => ProposalVerdict::Silent,
    }
}

const fn answer(verdict: ProposalVerdict) -> Answer {
    match verdict {
        ProposalVerdict::Accepted => Answer::Accepted,
        ProposalVerdict::Refused => Answer::Refused,
        ProposalVerdict::Silent => Answer::Silent,
    }
}

/// How a proposal was weighed, in numbers and words.
#[must_use]
pub fn weighed(sifted: &Sifted, slugs: &[String]) -> doc::Weighed {
    let ends = sifted.ends.iter().zip(slugs).map(|(end, slug)| WeighedEnd {
        fit: end.fit,
        part: end.part(),
        slug: slug.clone(),
        threshold: end.threshold,
        weight: end.weight,
    });
    doc::Weighed {
        alignment: sifted.alignment,
        brake: sifted.brake,
        ends: ends.collect(),
        estimate: sifted.estimate,
        judge: sifted.judge.to_owned(),
        needed: sifted.needed,
        product: sifted.alignment * sifted.brake,
        rule: sifted.rule.to_owned(),
        why: sifted.why.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// As the store of an instance holds it.
    const STORED: &str = concat!(
        r#"{"answer":null,"confidence":1.0,"due_ms":2,"effect":"e","id":"p1","kind":"budget","made_ms":1,"#,
        r#""raise":{"budget":"calls.day","limit":3,"principal":"house","seconds":86400},"reversible":true,"#,
        r#""subject":"s","title":"t","told_ms":0,"touches":["notes/"],"urgency":0.6,"way":"digest","#,
        r#""weighed":{"alignment":0.5,"brake":1.0,"ends":[{"fit":0.5,"part":0.25,"slug":"order","threshold":0.5,"#,
        r#""weight":0.5}],"estimate":false,"judge":"model","needed":0.15,"product":0.5,"rule":"vaglio.digest","#,
        r#""why":"w"}}"#
    );

    #[test]
    fn stored_proposal_is_written_byte_for_byte_as_it_was_read() {
        let kept = ProposalRecord::parse(STORED).unwrap();
        assert_eq!(kept.stored().unwrap(), STORED);
        assert_eq!(kept.fits, [("order".to_owned(), 0.5)]);
        let offered = STORED
            .replace(r#""confidence""#, r#""card":"ab2c-d3ef","confidence""#)
            .replace(r#""told_ms""#, r#""to":"telegram:5","told_ms""#);
        let read = ProposalRecord::parse(&offered).unwrap();
        assert_eq!((read.to.as_str(), read.card.as_str()), ("telegram:5", "ab2c-d3ef"));
        assert_eq!(read.stored().unwrap(), offered);
        let answered = STORED.replace(r#""answer":null"#, r#""answer":"silent""#);
        assert_eq!(ProposalRecord::parse(&answered).unwrap().answer, Some(Answer::Silent));
    }

    #[test]
    fn stored_proposal_without_notice_time_was_not_announced() {
        let older = STORED.replace(r#""told_ms":0,"#, "");
        assert_eq!(ProposalRecord::parse(&older).unwrap().told_ms, 0);
        for needed in [r#""way":"digest","#, r#""urgency":0.6,"#, r#""id":"p1","#] {
            assert!(ProposalRecord::parse(&STORED.replace(needed, "")).is_none(), "{needed}");
        }
    }
}
