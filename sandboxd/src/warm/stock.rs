//! What should be waiting for calls, as pure decisions: how many empty children, which executors are expected next, when
//! the zygote is replaced. It starts nothing and reads no clock.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use metnos_proto::ids::{Blake3, TurnId};

/// How many empty children wait while no call comes.
pub const IDLE_CHILDREN: usize = 2;
/// How many wait while calls come.
pub const BUSY_CHILDREN: usize = 8;
/// How many executors may wait sealed, with their code.
pub const MAX_EXPECTED: usize = 2;
/// How long after a call things count as busy.
pub const CALM_AFTER: Duration = Duration::from_secs(20);
/// How long after a call nothing waits any more: an idle machine has its memory back (design: architecture §7), and the
/// first call after it executes an interpreter of its own.
pub const ASLEEP_AFTER: Duration = Duration::from_secs(300);
/// How many children are forked of one zygote: they share its layout of memory (design: sandbox §4).
pub const MAX_FORKS: u32 = 400;
/// How old a zygote gets.
pub const MAX_AGE: Duration = Duration::from_secs(600);
/// How many executors are remembered.
pub const MAX_KNOWN: usize = 32;
/// Of how many turns is known which executor ran last.
pub const MAX_TURNS: usize = 64;
/// How often one executor must have followed another to be expected.
const LEAST_SEEN: u32 = 2;
/// From here on all counts are halved, so that what is new can still win.
const MOST_SEEN: u32 = 1 << 16;

/// An executor as it may wait: its code in its sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WarmKey {
    /// Of the code.
    pub code: [u8; 32],
    /// Of the plan.
    pub plan: [u8; 32],
}

impl WarmKey {
    /// Of these digests.
    #[must_use]
    pub const fn new(code: Blake3, plan: Blake3) -> Self {
        Self { code: code.0, plan: plan.0 }
    }
}

/// Which executors follow which, as seen here since the start.
#[derive(Debug, Default)]
pub struct CallSequences {
    follows: BTreeMap<WarmKey, BTreeMap<WarmKey, u32>>,
    last: VecDeque<(TurnId, WarmKey)>,
    expected: Vec<WarmKey>,
}

impl CallSequences {
    /// An executor is called; in no turn when it is being born.
    pub fn called(&mut self, turn: Option<TurnId>, key: WarmKey) {
        let Some(turn) = turn else { return };
        let before = self.last.iter().position(|(known, _)| *known == turn);
        let before = before.and_then(|at| self.last.remove(at)).map(|(_, key)| key);
        self.last.push_back((turn, key));
        if self.last.len() > MAX_TURNS {
            self.last.pop_front();
        }
        if let Some(before) = before {
            self.saw(before, key);
        }
        // What follows it, and it itself again: the next turn often begins as this one did.
        self.expected = [self.follower(key), Some(key)].into_iter().flatten().collect();
        self.expected.dedup();
        self.expected.truncate(MAX_EXPECTED);
    }

    fn saw(&mut self, before: WarmKey, after: WarmKey) {
        if !self.follows.contains_key(&before) && self.follows.len() >= MAX_KNOWN {
            self.follows.pop_first();
        }
        let after_it = self.follows.entry(before).or_default();
        if !after_it.contains_key(&after) && after_it.len() >= MAX_KNOWN {
            let rarest = after_it.iter().min_by_key(|(_, seen)| **seen).map(|(key, _)| *key);
            rarest.and_then(|rarest| after_it.remove(&rarest));
        }
        let seen = after_it.entry(after).or_default();
        *seen += 1;
        if *seen >= MOST_SEEN {
            after_it.values_mut().for_each(|seen| *seen /= 2);
        }
    }

    fn follower(&self, key: WarmKey) -> Option<WarmKey> {
        let follows = self.follows.get(&key)?;
        follows.iter().filter(|(_, seen)| **seen >= LEAST_SEEN).max_by_key(|(_, seen)| **seen).map(|(key, _)| *key)
    }

    /// Which should wait, the likeliest first.
    #[must_use]
    pub fn expected(&self) -> &[WarmKey] {
        &self.expected
    }

    /// Nothing is expected any more.
    pub fn calm(&mut self) {
        self.expected.clear();
    }
}

/// How the pool stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolState {
    /// Whether there is a zygote.
    pub zygote: bool,
    /// Its age.
    pub age: Duration,
    /// How many were forked of it.
    pub forks: u32,
    /// A child of it has crashed.
    pub suspect: bool,
    /// Empty children that wait.
    pub children: usize,
    /// Since the last call; `None` when there was none yet.
    pub quiet: Option<Duration>,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StockAction {
    /// Start a zygote, in the place of the one there is.
    Zygote,
    /// Fork a child.
    Fork,
    /// Let one go.
    Release,
    /// Nothing, until something happens or this time is over.
    Rest(Duration),
}

/// Whether nothing need wait: no call has come yet, or none for a long time. `quiet` is the time since the last call.
#[must_use]
pub fn is_asleep(quiet: Option<Duration>) -> bool {
    quiet.is_none_or(|quiet| quiet >= ASLEEP_AFTER)
}

/// What to do next, while awake.
#[must_use]
pub fn next(standing: &PoolState) -> StockAction {
    let PoolState { zygote, age, forks, suspect, children, quiet } = *standing;
    let busy = quiet.is_some_and(|quiet| quiet < CALM_AFTER);
    let wanted = if busy { BUSY_CHILDREN } else { IDLE_CHILDREN };
    if !zygote || suspect || forks >= MAX_FORKS || age >= MAX_AGE {
        return StockAction::Zygote;
    }
    if children < wanted {
        return StockAction::Fork;
    }
    if children > wanted {
        return StockAction::Release;
    }
    let until_calm = quiet.filter(|_| busy).map(|quiet| CALM_AFTER.saturating_sub(quiet));
    let until_old = MAX_AGE.saturating_sub(age);
    StockAction::Rest(until_calm.map_or(until_old, |calm| calm.min(until_old)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn key(number: u8) -> WarmKey {
        WarmKey { code: [number; 32], plan: [number; 32] }
    }

    const WELL: PoolState =
        PoolState { zygote: true, age: Duration::ZERO, forks: 0, suspect: false, children: IDLE_CHILDREN, quiet: None };

    #[test]
    fn frequent_follower_is_expected_next() {
        let mut habits = CallSequences::default();
        for _ in 0..LEAST_SEEN {
            let turn = TurnId::new();
            habits.called(Some(turn), key(1));
            habits.called(Some(turn), key(2));
        }
        habits.called(Some(TurnId::new()), key(1));
        assert_eq!(habits.expected(), [key(2), key(1)]);
        habits.called(Some(TurnId::new()), key(3));
        assert_eq!(habits.expected(), [key(3)]);
        // A birth is no habit.
        habits.called(None, key(4));
        assert_eq!(habits.expected(), [key(3)]);
        habits.calm();
        assert!(habits.expected().is_empty());
    }

    #[test]
    fn followers_are_learned_within_one_turn_only() {
        let mut habits = CallSequences::default();
        let (one, two) = (TurnId::new(), TurnId::new());
        for _ in 0..=LEAST_SEEN {
            habits.called(Some(one), key(1));
            habits.called(Some(two), key(2));
        }
        assert_eq!(habits.follower(key(1)), Some(key(1)));
        assert_eq!(habits.follower(key(2)), Some(key(2)));
    }

    #[test]
    fn a_zygote_is_replaced_at_its_limits_and_not_before() {
        assert_eq!(next(&PoolState { zygote: false, ..WELL }), StockAction::Zygote);
        assert_eq!(next(&PoolState { suspect: true, ..WELL }), StockAction::Zygote);
        assert_eq!(next(&PoolState { forks: MAX_FORKS, ..WELL }), StockAction::Zygote);
        assert_eq!(next(&PoolState { age: MAX_AGE, ..WELL }), StockAction::Zygote);
        let nearly = PoolState { forks: MAX_FORKS - 1, age: MAX_AGE - Duration::from_secs(1), ..WELL };
        assert_eq!(next(&nearly), StockAction::Rest(Duration::from_secs(1)));
    }

    #[test]
    fn nothing_waits_before_the_first_call_and_long_after_the_last() {
        assert!(is_asleep(None) && is_asleep(Some(ASLEEP_AFTER)));
        assert!(!is_asleep(Some(Duration::ZERO)) && !is_asleep(Some(ASLEEP_AFTER - Duration::from_millis(1))));
    }

    #[test]
    fn more_wait_while_calls_come_and_few_when_they_stop() {
        assert_eq!(next(&PoolState { children: IDLE_CHILDREN - 1, ..WELL }), StockAction::Fork);
        assert_eq!(next(&PoolState { quiet: Some(Duration::ZERO), ..WELL }), StockAction::Fork);
        let full = PoolState { quiet: Some(Duration::from_secs(5)), children: BUSY_CHILDREN, ..WELL };
        assert_eq!(next(&full), StockAction::Rest(CALM_AFTER - Duration::from_secs(5)));
        assert_eq!(next(&PoolState { quiet: Some(CALM_AFTER), ..full }), StockAction::Release);
    }

    proptest! {
        #[test]
        fn memory_of_habits_is_bounded(calls in prop::collection::vec((any::<u8>(), 0_u8..80), 0..2000)) {
            let mut habits = CallSequences::default();
            for (number, turn) in calls {
                habits.called(Some(TurnId::from_bytes(u128::from(turn).to_be_bytes())), key(number));
            }
            prop_assert!(habits.last.len() <= MAX_TURNS && habits.follows.len() <= MAX_KNOWN);
            prop_assert!(habits.follows.values().all(|after| after.len() <= MAX_KNOWN));
            prop_assert!(habits.expected().len() <= MAX_EXPECTED);
        }

        #[test]
        fn doing_what_is_next_comes_to_rest(children in 0_usize..40, quiet in prop::option::of(0_u64..100)) {
            let mut standing = PoolState { children, quiet: quiet.map(Duration::from_secs), ..WELL };
            for _ in 0..50 {
                match next(&standing) {
                    StockAction::Fork => standing.children += 1,
                    StockAction::Release => standing.children -= 1,
                    StockAction::Zygote => standing = PoolState { zygote: true, children: 0, ..standing },
                    StockAction::Rest(_) => return Ok(()),
                }
            }
            prop_assert!(false, "{standing:?}");
        }
    }
}
