//! Which word of an edge is admissible when: all of it in one place, as OpenSSH's monitor has it.
//!
//! Each edge of the matrix names its [`Machine`], or says `phase none` with the reason. The generated dispatcher
//! admits a word here before any handler runs; a service only looks the phase up and stores the next one. What is
//! not admitted is a violation: the edge is closed and the breach recorded, it is never answered politely. A word
//! about a turn that is not known is refused at the look-up and is no violation: the asker may have outlived a
//! restart.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;

use crate::edges::{ctl_memoryd, door_planner, planner_memoryd, planner_policyd, policyd_sandboxd};
use crate::ids::TurnId;
use crate::msg::common::CallRef;
use crate::word::{ServeError, Word};

/// A breach: which word, in which state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not admissible {state}")]
pub struct Violation {
    /// The word.
    pub word: &'static str,
    /// The state, as a phrase.
    pub state: &'static str,
}

impl From<Violation> for ServeError {
    fn from(violation: Violation) -> Self {
        Self::Violation(violation.to_string())
    }
}

/// The phases of one edge: pure functions from (phase, word) to the next phase. Each matches all words of its edge,
/// so that a new word does not compile until it has its place.
pub trait Machine: Copy + Eq + std::fmt::Debug + 'static {
    /// The words.
    type Ask: Word;
    /// What is in a phase: a turn, or the link itself.
    type Subject: Copy + Eq + Hash + std::fmt::Debug;

    /// The phase of a subject of which nothing was said yet.
    const START: Self;
    /// What the machine keeps, in one sentence: for documents.
    const RULE: &'static str;

    /// What a word is about.
    fn subject(ask: &Self::Ask) -> Self::Subject;

    /// May this be said in this phase? If so, which phase follows; `None` when the subject is over.
    ///
    /// # Errors
    /// The violation.
    fn admit(self, ask: &Self::Ask) -> Result<Option<Self>, Violation>;
}

/// The phases of many subjects, for a service that keeps nothing else of them.
#[derive(Debug)]
pub struct Phases<M: Machine>(RefCell<HashMap<M::Subject, M>>);

impl<M: Machine> Default for Phases<M> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<M: Machine> Phases<M> {
    /// The phase of this subject.
    #[must_use]
    pub fn of(&self, subject: M::Subject) -> M {
        self.0.borrow().get(&subject).copied().unwrap_or(M::START)
    }

    /// The subject goes on in this phase, or is over.
    pub fn enter(&self, subject: M::Subject, next: Option<M>) {
        match next {
            Some(next) => self.0.borrow_mut().insert(subject, next),
            None => self.0.borrow_mut().remove(&subject),
        };
    }
}

/// A turn, as the planner sees it from the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenPhase {
    /// Not under way: never opened, over, or waiting for the answer to a card.
    Absent,
    /// Under way.
    UnderWay,
}

impl Machine for OpenPhase {
    type Ask = door_planner::Ask;
    type Subject = Option<TurnId>;

    const START: Self = Self::Absent;
    const RULE: &'static str = "a turn that is under way is not opened a second time";

    fn subject(ask: &Self::Ask) -> Option<TurnId> {
        use door_planner::Ask;
        match ask {
            Ask::OpenTurn(ask) => Some(ask.turn),
            Ask::OpenFired(ask) => Some(ask.open.turn),
            Ask::CancelTurn(ask) => Some(ask.turn),
            Ask::ResumeTurn(ask) => Some(ask.turn),
            Ask::AttachTurn(ask) => Some(ask.turn),
            Ask::ReleaseTurn(ask) => Some(ask.turn),
            Ask::DetachedTurns(_) => None,
        }
    }

    fn admit(self, ask: &Self::Ask) -> Result<Option<Self>, Violation> {
        use door_planner::Ask;
        let word = ask.name();
        match (self, ask) {
            (Self::Absent, Ask::OpenTurn(_) | Ask::OpenFired(_)) => Ok(Some(Self::UnderWay)),
            (Self::UnderWay, Ask::OpenTurn(_) | Ask::OpenFired(_)) => Err(Violation { word, state: "a second time" }),
            // The door does not know what has become of a turn meanwhile: these are answered or refused by what is
            // there. A turn that is resumed is under way once memoryd has handed it back.
            (
                Self::Absent | Self::UnderWay,
                Ask::CancelTurn(_)
                | Ask::ResumeTurn(_)
                | Ask::DetachedTurns(_)
                | Ask::AttachTurn(_)
                | Ask::ReleaseTurn(_),
            ) => Ok(Some(self)),
        }
    }
}

/// A turn, as policyd sees it from the planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnPhase {
    /// The words are registered; nothing was asked yet.
    Registered,
    /// The intent is frozen.
    Intended,
    /// Calls were made; the last one had this number, 0 when it is not known which.
    Acting(CallRef),
    /// The owner's own call: it has no planner.
    Direct,
}

impl Machine for TurnPhase {
    type Ask = planner_policyd::Ask;
    type Subject = TurnId;

    const START: Self = Self::Registered;
    const RULE: &'static str = "an intent once and before the first call, ascending numbers of calls, a release after a call, nothing of a direct turn";

    fn subject(ask: &Self::Ask) -> TurnId {
        use planner_policyd::Ask;
        match ask {
            Ask::Intent(ask) => ask.turn,
            Ask::Act(ask) => ask.turn,
            Ask::Release(ask) => ask.turn,
            Ask::FundTurn(ask) => ask.turn,
            Ask::UndoLast(ask) => ask.turn,
            Ask::ScheduleOrder(ask) => ask.turn,
            Ask::ReviewOrder(ask) => ask.turn,
            Ask::OfferHabit(ask) => ask.turn,
            Ask::EndTurn(ask) => ask.turn,
        }
    }

    fn admit(self, ask: &Self::Ask) -> Result<Option<Self>, Violation> {
        use planner_policyd::Ask;
        let word = ask.name();
        match (self, ask) {
            (
                Self::Direct,
                Ask::Intent(_)
                | Ask::Act(_)
                | Ask::Release(_)
                | Ask::FundTurn(_)
                | Ask::UndoLast(_)
                | Ask::ScheduleOrder(_)
                | Ask::ReviewOrder(_)
                | Ask::OfferHabit(_)
                | Ask::EndTurn(_),
            ) => Err(Violation { word, state: "of a turn that has no planner" }),
            // Once, and before anything could have been read.
            (Self::Registered, Ask::Intent(_)) => Ok(Some(Self::Intended)),
            (Self::Intended, Ask::Intent(_)) => Err(Violation { word, state: "a second time" }),
            (Self::Acting(_), Ask::Intent(_)) => Err(Violation { word, state: "after the first call" }),
            (Self::Registered | Self::Intended | Self::Acting(_), Ask::Act(act)) => {
                if act.call > self.last() {
                    Ok(Some(Self::Acting(act.call)))
                } else {
                    Err(Violation { word, state: "with a number that is not larger than those before" })
                }
            }
            // A handle exists only after a call.
            (Self::Registered | Self::Intended, Ask::Release(_)) => {
                Err(Violation { word, state: "before the first call" })
            }
            // Thinking reads and does nothing here: a turn may be funded whenever it is open, and stays where it stands.
            // Whether the last change may be taken back, and what may be planned, is decided by what was said and read, and
            // refused politely.
            (Self::Acting(_), Ask::Release(_))
            | (
                Self::Registered | Self::Intended | Self::Acting(_),
                Ask::FundTurn(_) | Ask::UndoLast(_) | Ask::ScheduleOrder(_) | Ask::ReviewOrder(_) | Ask::OfferHabit(_),
            ) => Ok(Some(self)),
            (Self::Registered | Self::Intended | Self::Acting(_), Ask::EndTurn(_)) => Ok(None),
        }
    }
}

impl TurnPhase {
    /// The number of the last call; 0 before the first.
    const fn last(self) -> CallRef {
        match self {
            Self::Registered | Self::Intended | Self::Direct => CallRef(0),
            Self::Acting(last) => last,
        }
    }
}

/// A link from policyd, as sandboxd sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrustPhase {
    /// No key was accepted on this link.
    Untrusted,
    /// The key is known; everything may be asked.
    Trusted,
}

impl Machine for TrustPhase {
    type Ask = policyd_sandboxd::Ask;
    type Subject = ();

    const START: Self = Self::Untrusted;
    const RULE: &'static str = "the key of the instance first and once on each link, everything else after it";

    fn subject(_: &Self::Ask) {}

    fn admit(self, ask: &Self::Ask) -> Result<Option<Self>, Violation> {
        use policyd_sandboxd::Ask;
        let word = ask.name();
        match (self, ask) {
            (Self::Untrusted, Ask::TrustKey(_)) => Ok(Some(Self::Trusted)),
            (Self::Trusted, Ask::TrustKey(_)) => Err(Violation { word, state: "a second time" }),
            (
                Self::Untrusted | Self::Trusted,
                Ask::Pool(_)
                | Ask::Birth(_)
                | Ask::Install(_)
                | Ask::ClearFindings(_)
                | Ask::RevokeTexts(_)
                | Ask::TryBirth(_)
                | Ask::TryTexts(_)
                | Ask::Stage(_)
                | Ask::TextsOf(_)
                | Ask::Resolve(_)
                | Ask::Fill(_)
                | Ask::Run(_)
                | Ask::RunWithSecrets(_)
                | Ask::RunWithAdvice(_)
                | Ask::RunWithInputFile(_)
                | Ask::RunWithOutputFile(_)
                | Ask::RunWithAccountFile(_)
                | Ask::RunSpeculative(_)
                | Ask::Decided(_)
                | Ask::Kill(_)
                | Ask::Forget(_),
            ) => match self {
                Self::Untrusted => Err(Violation { word, state: "before the key" }),
                Self::Trusted => Ok(Some(Self::Trusted)),
            },
        }
    }
}

/// A turn, as memoryd sees it from the planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecallPhase {
    /// The door has journalled the words; the planner has not come yet.
    Received,
    /// The envelope was handed over.
    Begun,
    /// It waits for the answer to a card.
    Suspended,
    /// It was closed. Only its close is looked up here, which may be said again after a lost answer.
    Closed,
    /// The owner's own call: it has no planner.
    Direct,
}

impl Machine for RecallPhase {
    type Ask = planner_memoryd::Ask;
    type Subject = TurnId;

    const START: Self = Self::Received;
    const RULE: &'static str =
        "a turn begins once and before anything else, waits until it is taken up, and nothing of a direct turn";

    fn subject(ask: &Self::Ask) -> TurnId {
        use planner_memoryd::Ask;
        match ask {
            Ask::BeginTurn(ask) => ask.turn,
            Ask::ModelAsked(ask) => ask.turn,
            Ask::SuspendTurn(ask) => ask.turn,
            Ask::TakeUpTurn(ask) => ask.turn,
            Ask::CloseTurn(ask) => ask.turn,
        }
    }

    fn admit(self, ask: &Self::Ask) -> Result<Option<Self>, Violation> {
        use planner_memoryd::Ask;
        let no = |state| Err(Violation { word: ask.name(), state });
        match (self, ask) {
            (Self::Received, Ask::BeginTurn(_)) => Ok(Some(Self::Begun)),
            (Self::Begun | Self::Suspended, Ask::BeginTurn(_)) => no("a second time"),
            (Self::Received, Ask::CloseTurn(_) | Ask::ModelAsked(_) | Ask::SuspendTurn(_)) => {
                no("before the turn began")
            }
            (Self::Begun, Ask::ModelAsked(_)) => Ok(Some(Self::Begun)),
            (Self::Begun, Ask::SuspendTurn(_)) => Ok(Some(Self::Suspended)),
            // The planner does not know whether a turn waits, only that a card of it was answered: memoryd refuses what
            // it does not keep.
            (Self::Received | Self::Direct, Ask::TakeUpTurn(_)) => Ok(Some(self)),
            (Self::Begun | Self::Suspended, Ask::TakeUpTurn(_)) => Ok(Some(Self::Begun)),
            (Self::Suspended, Ask::ModelAsked(_) | Ask::SuspendTurn(_)) => no("of a turn that waits"),
            (Self::Begun | Self::Suspended | Self::Closed, Ask::CloseTurn(_)) => Ok(None),
            (Self::Closed, Ask::BeginTurn(_) | Ask::ModelAsked(_) | Ask::SuspendTurn(_) | Ask::TakeUpTurn(_)) => {
                no("of a turn that is closed")
            }
            (Self::Direct, Ask::BeginTurn(_) | Ask::ModelAsked(_) | Ask::SuspendTurn(_) | Ask::CloseTurn(_)) => {
                no("of a turn that has no planner")
            }
        }
    }
}

/// A link from the owner, as memoryd sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VerifyPhase {
    /// Nothing takes long now.
    Free,
    /// The chronicle is verified, slice by slice.
    Verifying,
}

impl Machine for VerifyPhase {
    type Ask = ctl_memoryd::Ask;
    type Subject = ();

    const START: Self = Self::Free;
    const RULE: &'static str = "one verification at a time on each link";

    fn subject(_: &Self::Ask) {}

    fn admit(self, ask: &Self::Ask) -> Result<Option<Self>, Violation> {
        use ctl_memoryd::Ask;
        match (self, ask) {
            (Self::Free, Ask::Verify(_)) => Ok(Some(Self::Verifying)),
            (Self::Verifying, Ask::Verify(_)) => Err(Violation { word: ask.name(), state: "while one is going on" }),
            (
                Self::Free | Self::Verifying,
                Ask::Tail(_)
                | Ask::Query(_)
                | Ask::OwnersAct(_)
                | Ask::Mnests(_)
                | Ask::Recollect(_)
                | Ask::Rehearse(_)
                | Ask::MemoryStatus(_),
            ) => Ok(Some(self)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::edge::{Edge, Order, Visit};
    use proptest::prelude::*;

    /// Every word of an edge, filled with zeroes: the number of the word is the first byte on the wire.
    fn words<E: Edge>() -> Vec<E::Ask> {
        let word = |number: u8| {
            let mut bytes = [0; 4096];
            bytes[0] = number;
            postcard::take_from_bytes::<E::Ask>(&bytes).ok().map(|(word, _)| word)
        };
        (0..=u8::MAX).map_while(word).collect()
    }

    fn named<E: Edge>(word: &str) -> E::Ask {
        words::<E>().into_iter().find(|ask| ask.name() == word).unwrap()
    }

    /// What a machine makes of words in this order: their names, each with whether it was admitted. The end of the
    /// subject or a violation ends it.
    fn run<M: Machine>(words: &[M::Ask]) -> Vec<(&'static str, bool)> {
        let (mut phase, mut said) = (M::START, Vec::new());
        for word in words {
            let admitted = phase.admit(word);
            said.push((word.name(), admitted.is_ok()));
            match admitted {
                Ok(Some(next)) => phase = next,
                Ok(None) | Err(_) => break,
            }
        }
        said
    }

    /// Words of edge `E` in a random order.
    fn any_order<E: Edge>() -> impl Strategy<Value = Vec<E::Ask>> {
        let words = words::<E>();
        proptest::collection::vec(0..words.len(), 0..14)
            .prop_map(move |order| order.into_iter().map(|index| words[index].clone()).collect())
    }

    /// Whether `word` was admitted somewhere.
    fn was_admitted(said: &[(&'static str, bool)], word: &str) -> bool {
        said.contains(&(word, true))
    }

    proptest! {
        #[test]
        fn door_opens_a_turn_under_way_never_again(words in any_order::<crate::edges::DoorPlanner>()) {
            let said = run::<OpenPhase>(&words);
            let opens = |(word, admitted): &&(&str, bool)| *admitted && word.starts_with("open_");
            prop_assert!(said.iter().filter(opens).count() <= 1);
            for (word, admitted) in &said {
                prop_assert!(*admitted || word.starts_with("open_"));
            }
        }

        #[test]
        fn planner_declares_an_intent_once_and_before_its_calls(words in any_order::<crate::edges::PlannerPolicyd>()) {
            let mut number = 0;
            let words: Vec<_> = words.into_iter().map(|word| match word {
                planner_policyd::Ask::Act(act) => {
                    number += 1;
                    planner_policyd::Ask::Act(crate::msg::policyd::Act { call: CallRef(number), ..act })
                }
                other @ (planner_policyd::Ask::Intent(_) | planner_policyd::Ask::Release(_) | planner_policyd::Ask::FundTurn(_) | planner_policyd::Ask::UndoLast(_) | planner_policyd::Ask::ScheduleOrder(_) | planner_policyd::Ask::ReviewOrder(_) | planner_policyd::Ask::OfferHabit(_) | planner_policyd::Ask::EndTurn(_)) => other,
            }).collect();
            let said = run::<TurnPhase>(&words);
            for at in 0..said.len() {
                let (before, (word, admitted)) = (&said[..at], said[at]);
                let acted = was_admitted(before, "act");
                prop_assert_eq!(admitted, match word {
                    "intent" => !acted && !was_admitted(before, "intent"),
                    "release" => acted,
                    _ => true,
                }, "{:?}", said);
            }
        }

        #[test]
        fn planner_numbers_its_calls_upwards_from_one(numbers in proptest::collection::vec(0u16..9, 0..12)) {
            let act = |number| {
                let planner_policyd::Ask::Act(act) = named::<crate::edges::PlannerPolicyd>("act") else { unreachable!() };
                planner_policyd::Ask::Act(crate::msg::policyd::Act { call: CallRef(number), ..act })
            };
            let words: Vec<_> = numbers.iter().copied().map(act).collect();
            let said = run::<TurnPhase>(&words);
            for (at, (_, admitted)) in said.iter().enumerate() {
                prop_assert_eq!(*admitted, numbers[at] > numbers[..at].iter().copied().max().unwrap_or(0));
            }
        }

        #[test]
        fn policyd_has_nothing_done_before_its_key(words in any_order::<crate::edges::PolicydSandboxd>()) {
            let said = run::<TrustPhase>(&words);
            for (at, (word, admitted)) in said.iter().enumerate() {
                prop_assert_eq!(*admitted, (*word == "trust") == (at == 0), "{:?}", said);
            }
        }

        #[test]
        fn planner_begins_a_turn_once_and_first(words in any_order::<crate::edges::PlannerMemoryd>()) {
            let said = run::<RecallPhase>(&words);
            let mut waits = false;
            for at in 0..said.len() {
                let (before, (word, admitted)) = (&said[..at], said[at]);
                let begun = was_admitted(before, "begin_turn");
                prop_assert_eq!(admitted, match word {
                    "begin_turn" => !begun,
                    "take_up_turn" => true,
                    "close_turn" => begun,
                    _ => begun && !waits,
                }, "{:?}", said);
                waits = match word {
                    "suspend_turn" => true,
                    "take_up_turn" => false,
                    _ => waits,
                };
            }
        }

        #[test]
        fn owner_verifies_once_at_a_time(words in any_order::<crate::edges::CtlMemoryd>()) {
            let said = run::<VerifyPhase>(&words);
            for at in 0..said.len() {
                let again = said[at].0 == "verify" && was_admitted(&said[..at], "verify");
                prop_assert_eq!(said[at].1, !again, "{:?}", said);
            }
        }
    }

    #[test]
    fn direct_turn_admits_nothing_of_its_planner_but_the_look_for_what_waits() {
        for word in words::<crate::edges::PlannerPolicyd>() {
            assert!(TurnPhase::Direct.admit(&word).is_err(), "{word:?}");
        }
        for word in words::<crate::edges::PlannerMemoryd>() {
            assert_eq!(RecallPhase::Direct.admit(&word).is_ok(), word.name() == "take_up_turn", "{word:?}");
            assert_eq!(RecallPhase::Closed.admit(&word).is_ok(), word.name() == "close_turn", "{word:?}");
        }
    }

    #[test]
    fn phases_start_anew_for_a_subject_that_is_over() {
        let (phases, turn) = (Phases::<TurnPhase>::default(), TurnId::from_bytes([1; 16]));
        phases.enter(turn, Some(TurnPhase::Intended));
        assert_eq!((phases.of(turn), phases.of(TurnId::NONE)), (TurnPhase::Intended, TurnPhase::Registered));
        phases.enter(turn, None);
        assert_eq!(phases.of(turn), TurnPhase::START);
    }

    #[test]
    fn edges_without_a_machine_say_why() {
        struct Orders(usize);
        impl Visit for Orders {
            fn visit<E: Edge>(&mut self) {
                match E::ORDER {
                    Order::Machine(name, rule) => assert!(!name.is_empty() && rule.len() > 20, "{:?}", E::ID),
                    Order::Free(reason) => assert!(reason.len() > 15, "{:?}: {reason}", E::ID),
                }
                assert_eq!(E::ORDER, E::ID.order());
                assert!(E::description().contains(&format!("  {}\n", E::ORDER)), "{:?}", E::ID);
                self.0 += words::<E>().len();
            }
        }
        let mut orders = Orders(0);
        crate::edges::visit_all(&mut orders);
        assert!(orders.0 > 100, "every word of every edge is looked at");
    }
}
