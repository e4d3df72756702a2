//! What sandboxd says: a run starts and ends, and what it keeps of what it is about to change.

use metnos_proto::msg::memoryd::{BeforeOf, Ended, KeepBefore, Recorded, Started};

use super::super::Memory;
use super::super::journal::{Answer, Asker};

impl Memory {
    /// An executor is about to run. Awaited: no effect without it.
    ///
    /// # Errors
    /// When the call was started before; a violation when no decision allows exactly this.
    pub fn started(&mut self, asker: Asker, word: &Started) -> Answer<Recorded> {
        let facts = self.turn_of_call(word.turn)?;
        self.journal.started(asker, word, &facts)
    }

    /// It has ended.
    ///
    /// # Errors
    /// When it had ended otherwise; a violation when it was never started.
    pub fn ended(&mut self, asker: Asker, word: &Ended) -> Answer<Recorded> {
        let facts = self.turn_of_call(word.turn)?;
        self.journal.ended(asker, word, &facts)
    }

    /// What a running call is about to change. Awaited: no effect without it.
    ///
    /// # Errors
    /// When it has kept something else before, or the text is none; a violation when the call does not run.
    pub fn keep_before(&mut self, asker: Asker, word: &KeepBefore) -> Answer<Recorded> {
        let facts = self.turn_of_call(word.turn)?;
        self.journal.keep_before(asker, word, &facts)
    }

    /// What that call has kept, for its inverse; `None` when it has kept nothing, or that was taken out since.
    ///
    /// # Errors
    /// When the turn of the inverse is another person's than that of the call.
    pub fn before_of(&mut self, word: &BeforeOf) -> Answer<Option<String>> {
        let facts = self.turn_of_call(word.turn)?;
        self.journal.before_of(word.call, &self.who_is_who.principals_with(&facts.peer))
    }
}
