//! How far the calls of a turn are: a pure state machine, which says what may be started and what
//! the turn came to. It starts nothing twice, and never repeats a call that was denied.

use std::collections::BTreeSet;

use metnos_proto::ids::HandleId;
use metnos_proto::json;
use metnos_proto::msg::common::{CallRef, Outcome, Refusal};
use metnos_proto::msg::planner::TurnEnd;
use metnos_reflex::{Plan, PlannedCall};

/// The most calls of one turn.
pub const MAX_CALLS: usize = 8;

/// Where a call stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Not started.
    Waiting,
    /// policyd decides, or it runs.
    Running,
    /// It ran.
    Ran {
        /// Names its result.
        handle: HandleId,
        /// How it ended.
        outcome: Outcome,
    },
    /// policyd refused it.
    Denied(Refusal),
    /// It was not started, because a call that it needs gave no result or not what it takes from there, or the same call was denied.
    Skipped,
}

/// The calls of a turn and where they stand.
#[derive(Debug)]
pub struct Progress {
    calls: Vec<(PlannedCall, State)>,
    answers: Vec<CallRef>,
    /// Executor and arguments of calls that were denied.
    denied: BTreeSet<(String, Vec<u8>)>,
}

/// The plan has more calls than a turn may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the plan has {0} calls; a turn makes at most {MAX_CALLS}")]
pub struct TooManyCalls(pub usize);

impl Progress {
    /// Nothing has been started.
    ///
    /// # Errors
    /// When the plan is larger than a turn may be.
    pub fn new(plan: Plan) -> Result<Self, TooManyCalls> {
        if plan.calls.len() > MAX_CALLS {
            return Err(TooManyCalls(plan.calls.len()));
        }
        let calls = plan.calls.into_iter().map(|call| (call, State::Waiting)).collect();
        Ok(Self { calls, answers: plan.answers, denied: BTreeSet::new() })
    }

    /// The calls, in the order of their numbers.
    pub fn calls(&self) -> impl Iterator<Item = &PlannedCall> {
        self.calls.iter().map(|(call, _)| call)
    }

    /// The call of that number and where it stands.
    #[must_use]
    pub fn get(&self, place: CallRef) -> Option<&(PlannedCall, State)> {
        self.calls.iter().find(|(call, _)| call.place == place)
    }

    /// What may be started now; it counts as started from here on. Of two calls that are the same,
    /// the second waits for what becomes of the first.
    pub fn start(&mut self) -> Vec<PlannedCall> {
        self.skip();
        let mut started: Vec<PlannedCall> = Vec::new();
        for at in 0..self.calls.len() {
            let (call, state) = &self.calls[at];
            let is_ready = *state == State::Waiting && call.needs.iter().all(|need| self.succeeded(*need));
            let is_same = started.iter().any(|other| identity(other) == identity(call));
            // The numbers must ascend: what comes after a call that waits is not started before it.
            if *state == State::Waiting && !is_ready {
                break;
            }
            if is_ready && is_same {
                break;
            }
            if is_ready {
                started.push(call.clone());
                self.calls[at].1 = State::Running;
            }
        }
        started
    }

    fn succeeded(&self, place: CallRef) -> bool {
        matches!(self.get(place), Some((_, State::Ran { outcome: Outcome::Ok, .. })))
    }

    /// Gives up what can no longer be started.
    fn skip(&mut self) {
        for at in 0..self.calls.len() {
            let (call, state) = &self.calls[at];
            let hopeless = call.needs.iter().any(|need| match self.get(*need) {
                Some((_, State::Waiting | State::Running | State::Ran { outcome: Outcome::Ok, .. })) => false,
                Some((_, State::Ran { .. } | State::Denied(_) | State::Skipped)) | None => true,
            });
            if *state == State::Waiting && (hopeless || self.denied.contains(&identity(call))) {
                self.calls[at].1 = State::Skipped;
            }
        }
    }

    /// A call ran.
    pub fn ran(&mut self, place: CallRef, handle: HandleId, outcome: Outcome) {
        self.set(place, State::Ran { handle, outcome });
    }

    /// A call was refused.
    pub fn denied(&mut self, place: CallRef, refusal: Refusal) {
        if let Some((call, _)) = self.get(place) {
            let identity = identity(call);
            self.denied.insert(identity);
        }
        self.set(place, State::Denied(refusal));
    }

    /// What it was to take from the result of an earlier call is not there: that result says why.
    pub fn found_nothing(&mut self, place: CallRef) {
        self.set(place, State::Skipped);
    }

    fn set(&mut self, place: CallRef, state: State) {
        for (call, now) in &mut self.calls {
            if call.place == place && *now == State::Running {
                *now = state;
                return;
            }
        }
    }

    /// The calls that decide the answer, in its order: those asked for, each replaced by the call
    /// that kept it from running.
    #[must_use]
    pub fn outcome(&self) -> Vec<CallRef> {
        let mut told: Vec<CallRef> = Vec::new();
        for answer in &self.answers {
            let cause = self.cause(*answer);
            if !told.contains(&cause) {
                told.push(cause);
            }
        }
        told
    }

    fn cause(&self, place: CallRef) -> CallRef {
        let Some((call, State::Skipped)) = self.get(place) else { return place };
        let failed = call.needs.iter().find(|need| !self.succeeded(**need));
        let same = self
            .calls
            .iter()
            .find(|(other, state)| matches!(state, State::Denied(_)) && identity(other) == identity(call));
        match (failed, same) {
            // References only point back, so this ends.
            (Some(need), _) if *need < place => self.cause(*need),
            (_, Some((other, _))) => other.place,
            (_, None) => call.needs.iter().copied().find(|need| *need < place).unwrap_or(place),
        }
    }

    /// How the turn ends, by what became of the calls.
    #[must_use]
    pub fn end(&self) -> TurnEnd {
        let states = || self.calls.iter().map(|(_, state)| state);
        if states().any(|state| matches!(state, State::Denied(_))) {
            TurnEnd::Denied
        } else if states().all(|state| matches!(state, State::Ran { outcome: Outcome::Ok, .. } | State::Skipped)) {
            // What was skipped although every call succeeded has found nothing where it looks, and the earlier result says so.
            TurnEnd::Answered
        } else {
            TurnEnd::Unsuccessful
        }
    }
}

fn identity(call: &PlannedCall) -> (String, Vec<u8>) {
    (call.executor.clone(), json::canonical(&call.arguments))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::envelope::Candidate;
    use metnos_proto::msg::common::{Lang, RefusalCode};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use metnos_reflex::answer::Template;

    fn candidate() -> Candidate {
        Candidate {
            name: "x".into(),
            version: "1.0.0".into(),
            summary: String::new(),
            examples: Vec::new(),
            patterns: Vec::new(),
            class: "read".into(),
            input: json!({}),
            output: json!({}),
            roles: Vec::new(),
            reads: Vec::new(),
            offered: true,
            contract: String::new(),
            answer: metnos_proto::executor::answer::Answer::default(),
        }
    }

    fn call(place: u16, arguments: Value, needs: &[u16]) -> PlannedCall {
        PlannedCall {
            place: CallRef(place),
            executor: "x".into(),
            arguments,
            literals: Vec::new(),
            needs: needs.iter().map(|place| CallRef(*place)).collect(),
            template: Template::of(&candidate(), Lang::En),
        }
    }

    fn progress(calls: Vec<PlannedCall>, answers: &[u16]) -> Progress {
        let answers = answers.iter().map(|place| CallRef(*place)).collect();
        Progress::new(Plan { calls, answers, lang: Lang::En }).unwrap()
    }

    fn places(calls: &[PlannedCall]) -> Vec<u16> {
        calls.iter().map(|call| call.place.0).collect()
    }

    fn refusal() -> Refusal {
        Refusal::new(RefusalCode::Denied, "guard.path", "no")
    }

    fn two_chains() -> Progress {
        let calls = vec![
            call(1, json!({"n": 1}), &[]),
            call(2, json!({"n": 2}), &[]),
            call(3, json!({"n": 3}), &[1]),
            call(4, json!({"n": 4}), &[2]),
        ];
        progress(calls, &[3, 4])
    }

    #[test]
    fn independent_calls_start_together_and_a_chain_in_its_order() {
        let mut turn = two_chains();
        assert_eq!(places(&turn.start()), [1, 2]);
        assert!(turn.start().is_empty());
        turn.ran(CallRef(1), HandleId::NONE, Outcome::Ok);
        turn.ran(CallRef(2), HandleId::NONE, Outcome::Ok);
        assert_eq!(places(&turn.start()), [3, 4]);
        turn.ran(CallRef(3), HandleId::NONE, Outcome::Ok);
        turn.ran(CallRef(4), HandleId::NONE, Outcome::Ok);
        assert!(turn.start().is_empty());
        assert_eq!(turn.outcome(), [CallRef(3), CallRef(4)]);
        assert_eq!(turn.end(), TurnEnd::Answered);
    }

    #[test]
    fn dependents_of_a_failed_call_are_skipped_and_failure_is_shown() {
        let mut turn = two_chains();
        turn.start();
        turn.ran(CallRef(1), HandleId::NONE, Outcome::Error);
        turn.ran(CallRef(2), HandleId::NONE, Outcome::Ok);
        assert_eq!(places(&turn.start()), [4]);
        turn.ran(CallRef(4), HandleId::NONE, Outcome::Ok);
        assert!(turn.start().is_empty());
        assert_eq!(turn.outcome(), [CallRef(1), CallRef(4)]);
        assert_eq!(turn.end(), TurnEnd::Unsuccessful);
    }

    #[test]
    fn call_that_finds_nothing_is_told_by_the_result_it_looks_into() {
        let mut turn = progress(vec![call(1, json!({"n": 1}), &[]), call(2, json!({"n": 2}), &[1])], &[2]);
        turn.start();
        turn.ran(CallRef(1), HandleId::NONE, Outcome::Ok);
        assert_eq!(places(&turn.start()), [2]);
        turn.found_nothing(CallRef(2));
        assert!(turn.start().is_empty());
        assert_eq!((turn.outcome(), turn.end()), (vec![CallRef(1)], TurnEnd::Answered));
    }

    #[test]
    fn the_same_call_is_not_made_again_after_it_was_denied() {
        let mut turn = progress(vec![call(1, json!({"p": "x"}), &[]), call(2, json!({"p": "x"}), &[])], &[1, 2]);
        assert_eq!(places(&turn.start()), [1], "the second waits for what becomes of the first");
        turn.denied(CallRef(1), refusal());
        assert!(turn.start().is_empty());
        assert_eq!(turn.outcome(), [CallRef(1)]);
        assert_eq!(turn.end(), TurnEnd::Denied);
    }

    #[test]
    fn the_same_call_may_be_made_again_after_it_was_allowed() {
        let mut turn = progress(vec![call(1, json!({}), &[]), call(2, json!({}), &[])], &[1, 2]);
        turn.start();
        turn.ran(CallRef(1), HandleId::NONE, Outcome::Ok);
        assert_eq!(places(&turn.start()), [2]);
    }

    #[test]
    fn a_plan_of_exactly_the_limit_is_taken_and_a_larger_one_is_not() {
        let plan = |count: usize| Plan {
            calls: (1..=count).map(|n| call(u16::try_from(n).unwrap(), json!({}), &[])).collect(),
            answers: Vec::new(),
            lang: Lang::En,
        };
        assert!(Progress::new(plan(MAX_CALLS)).is_ok());
        assert_eq!(Progress::new(plan(MAX_CALLS + 1)).err(), Some(TooManyCalls(MAX_CALLS + 1)));
    }

    proptest! {
        #[test]
        fn calls_start_once_in_ascending_order_and_turn_always_ends(
            needs in proptest::collection::vec(proptest::option::of(0u16..8), 1..=MAX_CALLS),
            outcomes in proptest::collection::vec(0u8..3, MAX_CALLS),
        ) {
            let calls: Vec<_> = needs.iter().zip(1u16..).map(|(need, place)| {
                let needs: Vec<u16> = need.iter().map(|n| n % place).filter(|n| *n > 0).collect();
                call(place, json!({"n": place % 3}), &needs)
            }).collect();
            let answers: Vec<u16> = calls.iter().map(|call| call.place.0).collect();
            let mut turn = progress(calls, &answers);
            let mut started = Vec::new();
            loop {
                let wave = turn.start();
                if wave.is_empty() {
                    break;
                }
                for call in wave {
                    started.push(call.place);
                    match outcomes[usize::from(call.place.0) - 1] {
                        0 => turn.ran(call.place, HandleId::NONE, Outcome::Ok),
                        1 => turn.ran(call.place, HandleId::NONE, Outcome::Error),
                        _ => turn.denied(call.place, refusal()),
                    }
                }
            }
            prop_assert!(started.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", started);
            for place in turn.outcome() {
                prop_assert!(!matches!(turn.get(place), Some((_, State::Waiting | State::Running))));
            }
        }
    }
}
