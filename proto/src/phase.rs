//! Which ask is admissible in which state of a session: all of it in one place, as OpenSSH's
//! monitor has it.
//!
//! Pure functions from (state, word) to the next state. What is not admitted here is a
//! violation: the edge is closed and the breach recorded, it is never answered politely.
//! Words about a turn that is not known are no violation, but refused: the other side may
//! have outlived a restart.

use crate::edges::{planner_memoryd, planner_policyd, policyd_sandboxd};

/// A breach: which word, in which state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not admissible {state}")]
pub struct Violation {
    /// The word.
    pub word: &'static str,
    /// The state, as a phrase.
    pub state: &'static str,
}

/// A turn, as policyd sees its planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnPhase {
    /// The words are registered; nothing was asked yet.
    Registered,
    /// The intent is frozen.
    Intended,
    /// Calls were made.
    Acting,
}

/// May the planner say this about a turn in this phase? If so, which phase follows; `None` when the turn is over.
///
/// # Errors
/// The violation.
pub fn planner_at_policyd(phase: TurnPhase, ask: &planner_policyd::Ask) -> Result<Option<TurnPhase>, Violation> {
    use planner_policyd::Ask;
    let word = crate::edge::Word::name(ask);
    match (phase, ask) {
        // Once, and before anything could have been read.
        (TurnPhase::Registered, Ask::Intent(_)) => Ok(Some(TurnPhase::Intended)),
        (TurnPhase::Intended, Ask::Intent(_)) => Err(Violation { word, state: "a second time" }),
        (TurnPhase::Acting, Ask::Intent(_)) => Err(Violation { word, state: "after the first call" }),
        (TurnPhase::Registered | TurnPhase::Intended | TurnPhase::Acting, Ask::Act(_)) => Ok(Some(TurnPhase::Acting)),
        // A handle exists only after a call.
        (TurnPhase::Registered | TurnPhase::Intended, Ask::Release(_)) => {
            Err(Violation { word, state: "before the first call" })
        }
        (TurnPhase::Acting, Ask::Release(_)) => Ok(Some(TurnPhase::Acting)),
        // Thinking reads and does nothing here: a turn may be funded whenever it is open, and stays where it stands.
        (TurnPhase::Registered | TurnPhase::Intended | TurnPhase::Acting, Ask::FundTurn(_)) => Ok(Some(phase)),
        (TurnPhase::Registered | TurnPhase::Intended | TurnPhase::Acting, Ask::EndTurn(_)) => Ok(None),
    }
}

/// A link from policyd, as sandboxd sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrustPhase {
    /// No key was given on this link.
    Untrusted,
    /// The key is known; everything may be asked.
    Trusted,
}

/// May policyd say this on a link in this phase?
///
/// # Errors
/// The violation.
pub fn policyd_at_sandboxd(phase: TrustPhase, ask: &policyd_sandboxd::Ask) -> Result<TrustPhase, Violation> {
    use policyd_sandboxd::Ask;
    let word = crate::edge::Word::name(ask);
    match (phase, ask) {
        (TrustPhase::Untrusted, Ask::TrustKey(_)) => Ok(TrustPhase::Trusted),
        (TrustPhase::Trusted, Ask::TrustKey(_)) => Err(Violation { word, state: "a second time" }),
        (
            TrustPhase::Untrusted,
            Ask::Pool(_)
            | Ask::Birth(_)
            | Ask::Install(_)
            | Ask::Pardon(_)
            | Ask::Disown(_)
            | Ask::TryBirth(_)
            | Ask::Stage(_)
            | Ask::TextsOf(_)
            | Ask::Resolve(_)
            | Ask::Fill(_)
            | Ask::Run(_)
            | Ask::RunKeyed(_)
            | Ask::RunAdvised(_)
            | Ask::RunTaking(_)
            | Ask::RunGiving(_)
            | Ask::RunAhead(_)
            | Ask::Decided(_)
            | Ask::Kill(_)
            | Ask::Forget(_),
        ) => Err(Violation { word, state: "before the key" }),
        (
            TrustPhase::Trusted,
            Ask::Pool(_)
            | Ask::Birth(_)
            | Ask::Install(_)
            | Ask::Pardon(_)
            | Ask::Disown(_)
            | Ask::TryBirth(_)
            | Ask::Stage(_)
            | Ask::TextsOf(_)
            | Ask::Resolve(_)
            | Ask::Fill(_)
            | Ask::Run(_)
            | Ask::RunKeyed(_)
            | Ask::RunAdvised(_)
            | Ask::RunTaking(_)
            | Ask::RunGiving(_)
            | Ask::RunAhead(_)
            | Ask::Decided(_)
            | Ask::Kill(_)
            | Ask::Forget(_),
        ) => Ok(TrustPhase::Trusted),
    }
}

/// A turn, as memoryd sees its planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecallPhase {
    /// The door has journalled the words; the planner has not come yet.
    Received,
    /// The envelope was handed over.
    Begun,
    /// It is put aside until a card is answered.
    Suspended,
}

/// May the planner say this about a turn in this phase? `None` when the turn is over.
///
/// # Errors
/// The violation.
pub fn planner_at_memoryd(phase: RecallPhase, ask: &planner_memoryd::Ask) -> Result<Option<RecallPhase>, Violation> {
    use planner_memoryd::Ask;
    let word = crate::edge::Word::name(ask);
    match (phase, ask) {
        (RecallPhase::Received, Ask::BeginTurn(_)) => Ok(Some(RecallPhase::Begun)),
        (RecallPhase::Begun | RecallPhase::Suspended, Ask::BeginTurn(_)) => {
            Err(Violation { word, state: "a second time" })
        }
        (RecallPhase::Received, Ask::CloseTurn(_) | Ask::Asked(_) | Ask::SuspendTurn(_)) => {
            Err(Violation { word, state: "before the turn began" })
        }
        (RecallPhase::Begun, Ask::Asked(_)) => Ok(Some(RecallPhase::Begun)),
        (RecallPhase::Begun, Ask::SuspendTurn(_)) => Ok(Some(RecallPhase::Suspended)),
        // The planner does not know whether a turn was put aside, only that a card of it was answered: what is not there is
        // refused by who keeps it.
        (RecallPhase::Received, Ask::TakeUpTurn(_)) => Ok(Some(RecallPhase::Received)),
        (RecallPhase::Begun | RecallPhase::Suspended, Ask::TakeUpTurn(_)) => Ok(Some(RecallPhase::Begun)),
        (RecallPhase::Suspended, Ask::Asked(_) | Ask::SuspendTurn(_)) => {
            Err(Violation { word, state: "of a turn that is put aside" })
        }
        (RecallPhase::Begun | RecallPhase::Suspended, Ask::CloseTurn(_)) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ids::{HandleId, TurnId};
    use crate::msg::common::CallRef;
    use crate::msg::policyd::{Act, EndTurn, FundTurn, Intent, Release};
    use proptest::prelude::*;

    fn words() -> Vec<planner_policyd::Ask> {
        use planner_policyd::Ask;
        let turn = TurnId::NONE;
        vec![
            Ask::Intent(Intent { turn, slots: Vec::new() }),
            Ask::Act(Act { turn, call: CallRef(1), executor: String::new() }),
            Ask::Release(Release { turn, handle: HandleId::NONE }),
            Ask::FundTurn(FundTurn { turn, tokens: 1 }),
            Ask::EndTurn(EndTurn { turn }),
        ]
    }

    proptest! {
        #[test]
        fn an_intent_is_admitted_at_most_once_and_never_after_a_call(order in proptest::collection::vec(0usize..5, 0..12)) {
            let words = words();
            let (mut phase, mut intents, mut acted) = (TurnPhase::Registered, 0, false);
            for index in order {
                let admitted = planner_at_policyd(phase, &words[index]);
                if index == 0 {
                    prop_assert_eq!(admitted.is_ok(), intents == 0 && !acted);
                }
                if index == 2 {
                    prop_assert_eq!(admitted.is_ok(), acted);
                }
                match admitted {
                    Ok(Some(next)) => phase = next,
                    Ok(None) | Err(_) => break,
                }
                intents += usize::from(index == 0);
                acted |= index == 1;
            }
        }
    }
}
