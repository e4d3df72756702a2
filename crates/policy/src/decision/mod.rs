//! May this call run? The whole decision, as one pure and total function of [`Facts`]: an ordered list of named steps, with
//! a trace. policyd decides with it, `metnosctl policy check` prints its trace, `metnosctl policy replay` replays recorded
//! turns with it; nothing overrules it.
//!
//! The first step that denies ends the decision. A step that asks does not: the question stands until a card or a stored
//! answer of the owner's answers it, and later steps can still deny. An answer lifts a question and never a denial.

mod facts;
mod steps;
mod verdict;

pub use facts::{Answers, Callable, Facts, Finding, Flow, Given, Load, Named, Profile, Stored};
pub use steps::{
    ARCHIVED, GIVEN, KEEP, MAX_CALLS_PER_TURN, MAX_HANDLES, MAX_KEPT_BYTES, MAX_RUNNING, MAX_RUNNING_PER_TURN, NEVER,
    NOT_OFFERED, OWN, QUARANTINED, READS_ONLY, REVOKED, STAGED, STORED, UNASKED, WAITING, can_be_stored, sandbox_gone,
};
pub use verdict::{MAX_WHY, Verdict};

use crate::rules::Judgement;

/// One step of the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The executor is known to this principal, signed and callable.
    Known,
    /// Neither everything nor this executor is switched off.
    Halted,
    /// The turn goes on.
    TurnOpen,
    /// The arguments are strict JSON, their references have values, and they fit the schema.
    Schema,
    /// No argument names a path that nothing can permit, in any spelling.
    Guard,
    /// No argument holds a secret, and the executor is granted the secrets that it names.
    Secrets,
    /// Rate, running calls, kept results and budgets have room.
    Budgets,
    /// What the arguments name lies within the signed profile and the owner's lists.
    Profile,
    /// Labels and intent: where each argument came from, and what was foreseen.
    Flow,
    /// What this principal may do without asking.
    Autonomy,
    /// The owner has answered the question that stands, on a card or for longer than once.
    Answered,
    /// The price is below the one that asks.
    Cost,
    /// What undoes the act can be called.
    WayBack,
    /// sandboxd is there to run it.
    Ready,
}

/// Every step, in the order in which it is taken.
pub const STEPS: [Step; 14] = [
    Step::Known,
    Step::Halted,
    Step::TurnOpen,
    Step::Schema,
    Step::Guard,
    Step::Secrets,
    Step::Budgets,
    Step::Profile,
    Step::Flow,
    Step::Autonomy,
    Step::Answered,
    Step::Cost,
    Step::WayBack,
    Step::Ready,
];

impl Step {
    /// Its name in traces and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Halted => "halted",
            Self::TurnOpen => "turn_open",
            Self::Schema => "schema",
            Self::Guard => "guard",
            Self::Secrets => "secrets",
            Self::Budgets => "budgets",
            Self::Profile => "profile",
            Self::Flow => "flow",
            Self::Autonomy => "autonomy",
            Self::Answered => "answered",
            Self::Cost => "cost",
            Self::WayBack => "way_back",
            Self::Ready => "ready",
        }
    }

    /// What holds when it passes, in words.
    #[must_use]
    pub const fn holds(self) -> &'static str {
        match self {
            Self::Known => "the executor exists, was signed and may be called",
            Self::Halted => "the owner has switched off neither everything nor this executor",
            Self::TurnOpen => "the turn goes on",
            Self::Schema => "the arguments are strict JSON and fit the schema",
            Self::Guard => "no argument names a path that nothing can permit, in any spelling",
            Self::Secrets => "no argument holds a secret, and the executor is granted the secrets that it needs",
            Self::Budgets => "rate, running calls, kept results and budgets have room for it",
            Self::Profile => "what it names lies within its signed profile and the owner's lists",
            Self::Flow => "each argument that matters comes from whom it must come from",
            Self::Autonomy => "this principal may do it without asking",
            Self::Answered => "no question stands",
            Self::Cost => "it costs no more than what goes without asking",
            Self::WayBack => "what undoes it can be called, or nothing needs to undo it",
            Self::Ready => "sandboxd is there to run it",
        }
    }
}

/// What came of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Passed,
    /// The owner must approve.
    Asks,
    /// It may not be, and nothing after this was looked at.
    Denies,
}

impl Outcome {
    /// Its name in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Asks => "ask",
            Self::Denies => "deny",
        }
    }
}

/// One step of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The step.
    pub step: Step,
    /// What came of it.
    pub outcome: Outcome,
    /// Why it asks, denies, or allows; empty where [`Step::holds`] says it.
    pub why: String,
}

/// What was decided, and how.
#[derive(Debug)]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// Every step that was taken, in order.
    pub trace: Vec<Stage>,
    /// What the rules on the flow of data found, when the decision came to them.
    pub judgement: Option<Judgement>,
}

impl Decision {
    /// The last step that was taken.
    #[must_use]
    pub fn last(&self) -> Option<Step> {
        self.trace.last().map(|stage| stage.step)
    }
}

/// What a step says.
enum Found {
    Passed,
    Allows(Verdict),
    Asks(Verdict),
    Answers(Verdict),
    Denies(Verdict),
}

/// Decides. Total: what no step allows is denied.
#[must_use]
pub fn decide(facts: &Facts<'_>) -> Decision {
    let mut case = steps::Case::new(facts);
    let mut trace = Vec::with_capacity(STEPS.len());
    let (mut allowed, mut question) = (None, None);
    for step in STEPS {
        let (outcome, why) = match case.take(step, question.as_ref()) {
            Found::Passed => (Outcome::Passed, String::new()),
            // A rule that allows does not answer what another step asks.
            Found::Allows(verdict) => {
                let why = verdict.why.clone();
                allowed = Some(verdict);
                (Outcome::Passed, why)
            }
            Found::Answers(verdict) => {
                let why = verdict.why.clone();
                (allowed, question) = (Some(verdict), None);
                (Outcome::Passed, why)
            }
            Found::Asks(verdict) => {
                let why = verdict.why.clone();
                question = question.or(Some(verdict));
                (Outcome::Asks, why)
            }
            Found::Denies(verdict) => {
                trace.push(Stage { step, outcome: Outcome::Denies, why: verdict.why.clone() });
                return Decision { verdict, trace, judgement: case.into_judgement() };
            }
        };
        trace.push(Stage { step, outcome, why });
    }
    let verdict = question.or(allowed).unwrap_or_else(|| steps::not_gathered("whether it may run"));
    Decision { verdict, trace, judgement: case.into_judgement() }
}

#[cfg(test)]
mod tests;
