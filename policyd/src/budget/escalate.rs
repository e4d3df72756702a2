//! More of a budget, proposed once: when a cap has stopped something, the owner may learn what more of it is worth, what it
//! costs at most and how it ends (design: policy §8). It is a proposal like any other and passes the same sieve. Only the
//! owner's yes at his machine changes the limit, for a day, to what he was shown; a proposal of syntd's never does.

use metnos_policy::vaglio::sieve::Proposal;
use metnos_proto::doc::vaglio::ProposedRaise;

use super::HOUSE;
use super::count::{Budget, Over};

/// For how long the limit is another one after a yes, in seconds: a day.
pub const LASTS_S: u32 = 86_400;
/// The most budgets for which more is proposed in the life of a policyd.
pub(crate) const MAX_ESCALATED: usize = 256;
/// What is lost by waiting: the turn that was stopped is over, the next one is not there yet.
const URGENCY: f64 = 0.6;
/// How sure it is that the limit stopped something: it did.
const CONFIDENCE: f64 = 1.0;

/// Another limit, as it was proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raise {
    /// `house`, or a principal.
    pub whose: String,
    /// Which budget.
    pub budget: Budget,
    /// The limit that it would have.
    pub limit: u64,
}

impl Raise {
    /// Half as much again as there is; what was wanted, where that is more, up to twice as much. Who asks for everything
    /// does not have the owner asked for everything.
    #[must_use]
    pub fn of(over: Over, principal: &str) -> Option<Self> {
        // Of what runs at once the end of a call makes room, and where there is nothing the owner wants nothing spent.
        if over.budget == Budget::Running || over.limit == 0 {
            return None;
        }
        let whose = if over.budget.is_of_house() { HOUSE } else { principal };
        let (half, twice) = (over.limit.saturating_add(over.limit.div_ceil(2)), over.limit.saturating_mul(2));
        let limit = over.wanted.clamp(half, twice.max(half)).min(i64::MAX.unsigned_abs());
        Some(Self { whose: whose.to_owned(), budget: over.budget, limit })
    }

    /// As it is kept with its proposal.
    #[must_use]
    pub fn document(&self) -> ProposedRaise {
        let (principal, budget) = (self.whose.clone(), self.budget.name().to_owned());
        ProposedRaise { budget, limit: self.limit, principal, seconds: LASTS_S }
    }

    /// Reads it back.
    #[must_use]
    pub fn parse(document: ProposedRaise) -> Option<Self> {
        Some(Self { whose: document.principal, budget: Budget::parse(&document.budget)?, limit: document.limit })
    }

    /// What the owner would read.
    pub(super) fn proposal(&self, over: Over, day: u64) -> Proposal {
        let (name, whose) = (self.budget.name(), &self.whose);
        let (now, then) = (super::amount(self.budget, over.limit), super::amount(self.budget, self.limit));
        let more = super::amount(self.budget, self.limit - over.limit);
        Proposal {
            kind: "budget".to_owned(),
            subject: format!("{name} of {whose}, day {day}"),
            title: format!("More of the budget {name} of {whose}, for a day"),
            effect: format!(
                "Worth: what the limit of {now} has stopped today can be asked for again and come to its end. Cost: at most {more} \
                 more, the limit becomes {then}. Way back: it ends by itself after a day; `metnosctl budget restore {whose} \
                 {name}` ends it at once."
            ),
            touches: Vec::new(),
            reversible: true,
            urgency: URGENCY,
            confidence: CONFIDENCE,
        }
    }
}
