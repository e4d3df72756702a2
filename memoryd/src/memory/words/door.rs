//! What the door says: requests, answers, and what became of them.

use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{
    AnswerFound, AnswerOf, Delivered, MarkState, Marked, Received, Recorded, TurnOwner, WhoseTurn,
};

use super::super::Memory;
use super::super::journal::{Answer, Asker, Journal, Request, named, refused};

impl Memory {
    /// A person said this.
    ///
    /// # Errors
    /// When the words are no text, the person is a stranger, or the turn was begun with other words.
    pub fn received(&mut self, asker: Asker, word: &Received, words: Vec<u8>) -> Answer<Recorded> {
        named(word.turn)?;
        let request = Request::of(word, words)?;
        self.journal.room_for_more()?;
        self.settle_turn(word.turn)?;
        self.journal.received(asker, word, request)
    }

    /// The answer reached the person.
    ///
    /// # Errors
    /// When the turn is unknown, or another answer was delivered in it.
    pub fn delivered(&mut self, asker: Asker, word: &Delivered, text: Vec<u8>) -> Answer<Recorded> {
        let Ok(text) = String::from_utf8(text) else {
            return Err(refused(RefusalCode::Invalid, "words.text", "the answer is not UTF-8"));
        };
        let facts = self.turn(word.turn)?;
        self.journal.delivered(asker, word, &facts, text)
    }

    /// Did this principal say that before, and what became of it? Looked up, never remembered elsewhere: the chronicle is
    /// what a door that was lost has left behind.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn marked(&mut self, word: &Marked) -> Answer<(MarkState, String)> {
        let unknown = MarkState { turn: None, trace: TraceId::NONE, acted: false, aside: false, delivered: false };
        self.journal.chronicle.ensure_writable()?;
        // What was recorded a moment ago is looked up like everything else.
        self.flush()?;
        let Some(turn) = self.chronicle().index().marked(&word.principal, &word.mark)? else {
            return Ok((unknown, String::new()));
        };
        let facts = self.turn(turn)?;
        let suspended = self.suspended.has(turn, self.chronicle().now_ms())?;
        self.journal.mark_state(turn, &facts, suspended)
    }

    /// What was answered? Nothing, as long as the turn is open, or when the door went away before it was.
    ///
    /// # Errors
    /// When there is no such turn of this principal, or the chronicle cannot be read.
    pub fn answer_of(&mut self, ask: &AnswerOf) -> Answer<(AnswerFound, Vec<u8>)> {
        let facts = self.turn(ask.turn)?;
        self.journal.answer_of(ask, &facts)
    }

    /// Who has opened this turn, which another door has received?
    ///
    /// # Errors
    /// When there is no such turn, or it is the owner's direct call.
    pub fn whose_turn(&mut self, ask: &WhoseTurn) -> Answer<TurnOwner> {
        let facts = self.turn(ask.turn)?;
        Journal::whose_turn(ask.turn, facts)
    }
}
