//! What was answered in a turn, told again to whoever had opened it. It only reads, and to anybody else the turn is one
//! that nobody knows.

use metnos_proto::msg::common::{Lang, RefusalCode};
use metnos_proto::msg::memoryd::{AnswerFound, AnswerOf, TurnOwner, WhoseTurn};
use metnos_proto::msg::planner::TurnEnd;

use super::record::refused;
use super::{Memory, Told, unknown_turn};
use crate::chronicle::index::IndexRow;
use crate::chronicle::payload;

impl Memory {
    /// The door: what was answered? Nothing, as long as the turn is open, or when the door went away before it was.
    ///
    /// # Errors
    /// When there is no such turn of this principal, or the chronicle cannot be read.
    pub fn answer_of(&mut self, ask: &AnswerOf) -> Told<(AnswerFound, Vec<u8>)> {
        let facts = self.turn(ask.turn)?;
        if facts.peer != ask.principal || facts.direct {
            return Err(unknown_turn(ask.turn));
        }
        let unreadable = |error: payload::PayloadError| refused(RefusalCode::Internal, "answer", error.to_string());
        let row = |seq: Option<u64>| -> Told<Option<IndexRow>> {
            seq.map_or(Ok(None), |seq| Ok(self.chronicle.index().row(seq)?))
        };
        if let Some(delivered) = row(facts.delivered)? {
            let event = self.chronicle.read(&delivered)?;
            if event.is_redacted() {
                return Ok((AnswerFound { end: Some(TurnEnd::Answered) }, Vec::new()));
            }
            let answer = payload::AssistantMessage::decode(&event.payload).map_err(unreadable)?;
            let end = TurnEnd::named(&answer.end).unwrap_or(TurnEnd::Broken);
            return Ok((AnswerFound { end: Some(end) }, answer.text.into_bytes()));
        }
        // Closed, and nothing was delivered: the door was away when the answer came.
        let end = facts.closed.map(|_| TurnEnd::Broken);
        Ok((AnswerFound { end }, Vec::new()))
    }

    /// The door: who has opened this turn, which another door had heard? It is asked here and not of the planner, so that
    /// nobody is told an answer that is somebody else's.
    ///
    /// # Errors
    /// When there is no such turn, or nobody said anything in it.
    pub fn whose_turn(&mut self, ask: &WhoseTurn) -> Told<TurnOwner> {
        let facts = self.turn(ask.turn)?;
        if facts.direct {
            return Err(unknown_turn(ask.turn));
        }
        Ok(TurnOwner {
            trace: facts.trace,
            channel: facts.channel,
            lang: if facts.lang == "it" { Lang::It } else { Lang::En },
            is_delivered: facts.delivered.is_some(),
            principal: facts.peer,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::testing::{Instance, PEER, no, teller, turn};
    use metnos_proto::msg::memoryd::Delivered;
    use metnos_proto::role::RoleName;

    fn asked(n: u8, principal: &str) -> AnswerOf {
        AnswerOf { turn: turn(n), principal: principal.to_owned() }
    }

    #[test]
    fn answer_is_returned_only_to_principal_who_opened_the_turn() {
        let instance = Instance::new();
        let mut memory = instance.open();
        memory.say(1, "hello");
        assert_eq!(memory.answer_of(&asked(1, PEER)).unwrap(), (AnswerFound { end: None }, Vec::new()));
        memory.begin(1);
        let delivered = Delivered { turn: turn(1), end: TurnEnd::Denied };
        memory.delivered(teller(RoleName::Gatewayd), &delivered, b"no\nbecause".to_vec()).unwrap();
        memory.flush().unwrap();
        let later = instance.after_kill();
        let mut again = later.open();
        for memory in [&mut memory, &mut again] {
            let (found, text) = memory.answer_of(&asked(1, PEER)).unwrap();
            assert_eq!((found.end, text.as_slice()), (Some(TurnEnd::Denied), &b"no\nbecause"[..]));
            let unknown = no(memory.answer_of(&asked(2, PEER)));
            assert_eq!(no(memory.answer_of(&asked(1, "http:somebody-else"))), unknown);
        }
    }

    #[test]
    fn journal_names_the_principal_of_a_turn_for_a_later_door() {
        let instance = Instance::new();
        let mut memory = instance.open();
        memory.say(1, "hello");
        memory.flush().unwrap();
        drop(memory);
        let mut memory = instance.open();
        let is = memory.whose_turn(&WhoseTurn { turn: turn(1) }).unwrap();
        assert_eq!((is.principal.as_str(), is.lang, is.is_delivered), (PEER, Lang::It, false));
        memory.begin(1);
        let delivered = Delivered { turn: turn(1), end: TurnEnd::Answered };
        memory.delivered(teller(RoleName::Gatewayd), &delivered, b"hi".to_vec()).unwrap();
        assert!(memory.whose_turn(&WhoseTurn { turn: turn(1) }).unwrap().is_delivered);
        assert_eq!(no(memory.whose_turn(&WhoseTurn { turn: turn(2) })), "turn.unknown");
    }

    #[test]
    fn a_turn_that_ended_while_the_door_was_away_is_broken() {
        let instance = Instance::new();
        let mut memory = instance.open();
        memory.say(1, "hello");
        memory.begin(1);
        memory.closed(1, "");
        assert_eq!(memory.answer_of(&asked(1, PEER)).unwrap().0.end, Some(TurnEnd::Broken));
    }
}
