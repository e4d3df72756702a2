//! How useful an executor has been, and whether planners are shown it: pure, and the only place where it stands (design:
//! executor §4). It takes sight away and nothing else: what may be called, policyd alone decides.
//!
//! `utility = gap before − gap after`, clipped to [−1, 1]; `fitness = Σ utility · e^(−λ·age)`, with ages in use-days. As with
//! a mnest's weight, decay is never a sweep: one sum is kept, and the use time that it is of.

use metnos_proto::executor::Class;
use metnos_proto::ids::{Blake3, CallId, TurnId};
use metnos_proto::msg::common::{ExecutorId, Outcome};
use metnos_proto::msg::planner::TurnEnd;

use super::derive::Record;
use super::weight::{LAMBDA, UNUSED_FOR, UseTime, decayed};
use crate::chronicle::payload::TurnClose;

/// Below this fitness an executor loses sight: what it has done of use is forgotten, or outweighed. Looked at as it was when
/// a call was judged last, so that no time that passes has anything fall below it.
pub const THRESHOLD: f64 = 0.05;
/// Fitness means something from so many judged calls on.
pub const JUDGED_FIRST: u64 = 5;
/// So many calls without an objective signal end a trial (design: executor §4). It is over once [`JUDGED_FIRST`] calls were
/// judged: what a household uses must not be lost to ten questions that no file answers.
pub const TRIAL: u64 = 10;
/// How much more a bad word counts than a good one (design: executor §4).
pub const BAD_COUNTS: f64 = 2.0;
/// One in so many is shown in spite of it (design: executor §4).
pub const EXPLORED_ONE_IN: u64 = 20;

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$one_doc:meta])* $one:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$one_doc])* $one,)+ }

        impl $name {
            /// How it is written.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$one => $text,)+ }
            }

            /// The one that is written so.
            #[must_use]
            pub fn named(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$one),)+ _ => None }
            }
        }
    };
}

named! {
    /// What the end of a turn says of its goal.
    Goal {
        /// It was reached: no step remains.
        Reached = "reached",
        /// It was not, or something was missing for it: at least one step remains, and what the others were worth shows only
        /// in themselves.
        Missed = "missed",
        /// Somebody has broken it off, or said no, or the words were not understood: that says nothing of what had been done.
        CutOff = "cut_off",
    }
}

named! {
    /// What the owner has said last of a turn.
    Word {
        /// Nothing: the goal's own test counts.
        Unsaid = "unsaid",
        /// It was of use.
        Good = "good",
        /// It was not.
        Bad = "bad",
        /// He has taken back what it did.
        Undone = "undone",
    }
}

named! {
    /// Why an executor is out of sight.
    Below {
        /// Its trial is over: nothing has shown that its calls lead anywhere.
        Trial = "trial",
        /// Its fitness is below the threshold.
        Unfit = "unfit",
        /// Nobody has used it for too long.
        Disused = "disused",
    }
}

impl Goal {
    /// What this end of a turn says.
    #[must_use]
    pub fn of(close: &TurnClose) -> Self {
        match TurnEnd::named(&close.end) {
            Some(TurnEnd::Answered) if close.wish.trim().is_empty() => Self::Reached,
            Some(TurnEnd::Answered | TurnEnd::Unsuccessful) => Self::Missed,
            // The planner looked something up on its own account: the person did not ask for it.
            Some(
                TurnEnd::NotUnderstood | TurnEnd::Denied | TurnEnd::Cancelled | TurnEnd::Suspended | TurnEnd::Broken,
            )
            | None => Self::CutOff,
        }
    }
}

/// Whether an executor of this class leaves an effect, which it has observed when it reports success (design: executor §5).
#[must_use]
pub fn leaves_an_effect(class: &str) -> bool {
    !matches!(class.parse(), Ok(Class::Read | Class::NetRead | Class::Shell) | Err(()))
}

/// How far a step has closed the gap.
#[must_use]
pub fn utility(gap_before: f64, gap_after: f64) -> f64 {
    (gap_before - gap_after).clamp(-1.0, 1.0)
}

/// What a turn says about one executor.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// Which.
    pub id: ExecutorId,
    /// The sum of the utilities of its calls.
    pub utility: f64,
    /// Its calls of which something says how useful they were.
    pub judged: u32,
    /// Its calls that succeeded, and nothing says what for.
    pub unknown: u32,
}

/// A call of a turn.
struct Step<'a> {
    call: CallId,
    id: &'a ExecutorId,
    inputs: &'a [CallId],
    outcome: Option<Outcome>,
    used: bool,
}

impl Step<'_> {
    fn succeeded(&self) -> bool {
        self.outcome == Some(Outcome::Ok)
    }
}

fn steps(records: &[Record]) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    for record in records {
        match record {
            Record::Started { call, id, inputs } if steps.iter().all(|step| step.call != *call) => {
                steps.push(Step { call: *call, id, inputs, outcome: None, used: false });
            }
            Record::Ended { call, outcome, .. } => {
                let step = steps.iter_mut().find(|step| step.call == *call && step.outcome.is_none());
                step.into_iter().for_each(|step| step.outcome = Some(*outcome));
            }
            Record::Started { .. } => {}
        }
    }
    let fed: Vec<CallId> = steps.iter().filter(|step| step.succeeded()).flat_map(|step| step.inputs).copied().collect();
    steps.iter_mut().for_each(|step| step.used = fed.contains(&step.call));
    steps
}

/// So many of so many, as a gap.
fn part(of: usize, all: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    number(of) / number(all.max(1))
}

/// What a turn says of each executor that was called in it, in the order in which they were called first.
///
/// The gap is the share of the steps that remain. Where the goal was reached, each step that succeeded was one of them: which
/// of the results a mind has read before it answered, no line says. Where it was not, those count that have left an effect or
/// whose result a later step took, and a step remains. A failure of an executor's own making leaves the gap as it was. What the
/// owner says of a turn is about all of its steps alike. What he takes back leaves the gap as wide as it was, and does not say
/// whether that was the fault of the call or a change of mind: it is not counted.
#[must_use]
pub fn shares(
    records: &[Record],
    goal: Goal,
    word: Word,
    leaves_an_effect: impl Fn(&ExecutorId) -> bool,
) -> Vec<Share> {
    let steps = steps(records);
    let counts =
        |step: &Step<'_>| step.succeeded() && (goal == Goal::Reached || step.used || leaves_an_effect(step.id));
    let succeeded = steps.iter().filter(|step| step.succeeded()).count();
    let all = steps.iter().filter(|step| counts(step)).count() + usize::from(goal != Goal::Reached);
    let mut left = if word == Word::Good { succeeded } else { all };
    let mut shares: Vec<Share> = Vec::new();
    for step in &steps {
        let before = left;
        let closed = if step.outcome.is_some_and(Outcome::is_its_own_failure) {
            Some(0.0)
        } else if !step.succeeded() {
            None
        } else {
            match word {
                Word::Good => {
                    left -= 1;
                    Some(utility(part(before, succeeded), part(left, succeeded)))
                }
                Word::Bad => Some(BAD_COUNTS * utility(0.0, part(1, succeeded))),
                Word::Undone if leaves_an_effect(step.id) => None,
                Word::Undone | Word::Unsaid if counts(step) => {
                    left -= 1;
                    Some(utility(part(before, all), part(left, all)))
                }
                Word::Undone | Word::Unsaid => None,
            }
        };
        let unknown = closed.is_none() && step.succeeded() && goal == Goal::Missed;
        let at = shares.iter().position(|share| share.id == *step.id).unwrap_or_else(|| {
            shares.push(Share { id: step.id.clone(), utility: 0.0, judged: 0, unknown: 0 });
            shares.len() - 1
        });
        if let Some(share) = shares.get_mut(at) {
            share.utility += closed.unwrap_or(0.0);
            share.judged += u32::from(closed.is_some());
            share.unknown += u32::from(unknown);
        }
    }
    shares
}

/// How an executor stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// The sum of what its calls were worth, as of `at`.
    pub sum: f64,
    /// When one of its calls was judged last.
    pub at: UseTime,
    /// How many of its calls were judged since it was last put in sight.
    pub judged: u64,
    /// Its calls since the last one that was judged.
    pub without_signal: u64,
    /// When it was used last.
    pub used_at: UseTime,
}

impl Standing {
    /// Of one that is put in sight now, and was never called.
    #[must_use]
    pub const fn fresh(now: UseTime) -> Self {
        Self { sum: 0.0, at: now, judged: 0, without_signal: 0, used_at: now }
    }

    /// Its fitness now.
    #[must_use]
    pub fn fitness(&self, now: UseTime) -> f64 {
        decayed(self.sum, LAMBDA, self.at, now)
    }

    /// Why planners are not shown it, if they are not.
    #[must_use]
    pub fn below(&self, now: UseTime) -> Option<Below> {
        if self.judged < JUDGED_FIRST && self.without_signal >= TRIAL {
            Some(Below::Trial)
        } else if self.judged >= JUDGED_FIRST && self.sum < THRESHOLD {
            Some(Below::Unfit)
        } else if now.saturating_sub(self.used_at) >= UNUSED_FOR {
            Some(Below::Disused)
        } else {
            None
        }
    }

    /// It is in sight again, on a new trial; what it was worth stays.
    pub const fn show_again(&mut self, now: UseTime) {
        (self.judged, self.without_signal, self.used_at) = (0, 0, now);
    }

    /// It was used in a turn that says this of it. What was out of sight is in it again: renewed use makes it active.
    pub fn used(&mut self, share: &Share, now: UseTime) {
        if self.below(now).is_some() {
            self.show_again(now);
        }
        self.used_at = now;
        self.without_signal += u64::from(share.unknown);
        if share.judged > 0 {
            self.judge(share.utility, u64::from(share.judged), now, now);
        }
    }

    /// So many more of its calls are judged, and what they are worth has changed by this; they were made at `then`.
    pub fn judge(&mut self, utility: f64, more: u64, then: UseTime, now: UseTime) {
        self.sum = self.fitness(now) + decayed(utility, LAMBDA, then, now);
        self.at = now;
        self.judged += more;
        if more > 0 {
            self.without_signal = 0;
        }
    }

    /// A turn says something else of it than before, as the owner has said something of it since; its calls were made at `then`.
    pub fn judge_again(&mut self, was: &Share, share: &Share, then: UseTime, now: UseTime) {
        let more = u64::from(share.judged.saturating_sub(was.judged));
        self.judge(share.utility - was.utility, more, then, now);
        self.judged = self.judged.saturating_sub(u64::from(was.judged.saturating_sub(share.judged)));
    }
}

/// Whether a planner is shown it in this turn although it is out of sight: so that it can be found to be of use. The same for
/// a turn, for every asker and at any time.
#[must_use]
pub fn explored(turn: TurnId, id: &ExecutorId) -> bool {
    let Blake3([a, b, c, d, e, f, g, h, ..]) = Blake3::of(format!("{turn} {id}").as_bytes());
    u64::from_be_bytes([a, b, c, d, e, f, g, h]).is_multiple_of(EXPLORED_ONE_IN)
}

#[cfg(test)]
#[path = "fitness_tests.rs"]
mod tests;
