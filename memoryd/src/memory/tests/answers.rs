//! What was answered in a turn, for a later door.
#![allow(clippy::unwrap_used)]
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::memoryd::{AnswerFound, AnswerOf, WhoseTurn};
use metnos_proto::msg::planner::TurnEnd;

use crate::memory::testing::{Instance, PEER, asker, no, turn};
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
    memory.delivered(asker(RoleName::Gatewayd), &delivered, b"no\nbecause".to_vec()).unwrap();
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
    memory.delivered(asker(RoleName::Gatewayd), &delivered, b"hi".to_vec()).unwrap();
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
