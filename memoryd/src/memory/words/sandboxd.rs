//! What sandboxd says: a run starts and ends.

use metnos_proto::msg::memoryd::{Ended, Recorded, Started};

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
}
