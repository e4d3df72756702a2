//! What became of words that a channel says again. Looked up, never remembered elsewhere: the chronicle is what a door that
//! was lost has left behind.

use metnos_proto::ids::TraceId;
use metnos_proto::msg::memoryd::{MarkState, Marked};

use super::{Memory, Told};
use crate::chronicle::payload;

impl Memory {
    /// The door: did this principal say that before, and what became of it?
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn marked(&mut self, word: &Marked) -> Told<(MarkState, String)> {
        let unknown = MarkState { turn: None, trace: TraceId::NONE, acted: false, aside: false, delivered: false };
        self.chronicle.fit()?;
        // What was told a moment ago is looked up like everything else.
        self.flush()?;
        let Some(turn) = self.chronicle.index().marked(&word.principal, &word.mark)? else {
            return Ok((unknown, String::new()));
        };
        let facts = self.turn(turn)?;
        let known = MarkState {
            turn: Some(turn),
            trace: facts.trace,
            acted: self.chronicle.index().has_decision(turn)?,
            aside: self.aside.has(turn, self.chronicle.now_ms())?,
            delivered: facts.delivered.is_some(),
        };
        let row = facts.delivered.map(|seq| self.chronicle.index().row(seq)).transpose()?.flatten();
        let event = row.map(|row| self.chronicle.read(&row)).transpose()?;
        let answer = event.and_then(|event| payload::AssistantMessage::decode(&event.payload).ok());
        Ok((known, answer.map_or_else(String::new, |answer| answer.text)))
    }
}
