//! What the planner says: a turn begins, waits, goes on and ends.

use metnos_proto::edges::planner_memoryd::Ask as Word;
use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{BeginTurn, CloseTurn, SuspendTurn, TakeUpTurn, TurnBegun, TurnClosed, TurnTakenUp};
use metnos_proto::phase::RecallPhase;

use super::super::Memory;
use super::super::envelope::{Sources, opening};
use super::super::journal::{Answer, Asker, closing, open_turn, refused};

impl Memory {
    /// In which phase a turn is for its planner, which says `word` about it.
    ///
    /// # Errors
    /// When the turn is unknown; or closed, unless its close is said again.
    pub fn phase_of(&mut self, turn: TurnId, word: &Word) -> Answer<RecallPhase> {
        let facts = self.turn(turn)?;
        if facts.direct {
            return Ok(RecallPhase::Direct);
        }
        if facts.closed.is_some() && matches!(word, Word::CloseTurn(_)) {
            return Ok(RecallPhase::Closed);
        }
        open_turn(turn, &facts)?;
        if facts.opened.is_none() {
            return Ok(RecallPhase::Received);
        }
        let waits = self.suspended.has(turn, self.chronicle().now_ms())?;
        Ok(if waits { RecallPhase::Suspended } else { RecallPhase::Begun })
    }

    /// What may be read for this turn? Recorded.
    ///
    /// # Errors
    /// When the turn is unknown or the six files cannot be read.
    pub fn begin_turn(&mut self, asker: Asker, word: &BeginTurn) -> Answer<(TurnBegun, Vec<u8>)> {
        let facts = self.turn(word.turn)?;
        let sources = Sources {
            who_is_who: &self.who_is_who,
            chronicle: &self.journal.chronicle,
            usage: &self.usage,
            files: &mut self.files,
            recollection: &mut self.recollection,
            medium: &mut self.medium,
            catalogue: &mut self.catalogue,
            clean: &self.clean,
        };
        let envelope = sources.envelope(word.turn, &facts)?;
        let bytes = serde_json::to_vec(&envelope)
            .map_err(|error| refused(RefusalCode::Internal, "envelope.format", error.to_string()))?;
        self.journal.opened(asker, word.turn, &facts, &opening(&envelope))?;
        Ok((TurnBegun { nonce: envelope.nonce }, bytes))
    }

    /// A turn waits for a person's answer.
    ///
    /// # Errors
    /// When there is too much to be kept.
    pub fn suspend_turn(&mut self, word: &SuspendTurn, state: &[u8]) -> Answer<()> {
        self.suspended.suspend(word, self.journal.chronicle.now_ms(), state)
    }

    /// The turn goes on.
    ///
    /// # Errors
    /// When the turn is unknown, or not suspended.
    pub fn take_up_turn(&mut self, word: &TakeUpTurn) -> Answer<(TurnTakenUp, Vec<u8>)> {
        let nothing = || {
            let why = format!("turn {} was not put aside, or too long ago", word.turn);
            refused(RefusalCode::Unknown, "turn.not_suspended", why)
        };
        let facts = self.turn(word.turn)?;
        // The owner's own call may wait for a card, too. The planner knows no more than that a card was answered.
        if facts.direct {
            return Err(nothing());
        }
        let state = self.suspended.take(word.turn, self.chronicle().now_ms())?.ok_or_else(nothing)?;
        Ok((TurnTakenUp { trace: facts.trace }, state))
    }

    /// The turn is over.
    ///
    /// # Errors
    /// When the turn is unknown, or was closed otherwise.
    pub fn close_turn(&mut self, asker: Asker, word: &CloseTurn) -> Answer<TurnClosed> {
        let facts = self.turn(word.turn)?;
        if facts.closed.is_none() {
            self.suspended.forget(word.turn)?;
        }
        self.journal.close(asker, word.turn, &facts, &closing(word))
    }
}
