//! Words that a channel may say twice: what is known of them, and what is not.
#![allow(clippy::unwrap_used)]

use metnos_proto::msg::memoryd::{Delivered, MAX_MARK, Marked, Received, Verdict};
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::role::RoleName;

use crate::memory::testing::{Instance, PEER, asker, decision, no, received, turn};

#[test]
fn words_that_come_again_are_known_by_what_their_channel_calls_them() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let ask = |mark: &str| Marked { principal: PEER.to_owned(), mark: mark.to_owned() };
    let door = asker(RoleName::Gatewayd);
    assert_eq!(memory.marked(&ask("bot1:7")).unwrap().0.turn, None);
    let mut word = received(1);
    word.mark = "bot1:7".to_owned();
    memory.received(door, &word, b"hello".to_vec()).unwrap();
    let (known, answer) = memory.marked(&ask("bot1:7")).unwrap();
    assert_eq!((known.turn, known.delivered, known.acted, answer.as_str()), (Some(turn(1)), false, false, ""));
    // Said again after the door was lost: the last turn counts.
    let again = Received { mark: "bot1:7".to_owned(), ..received(2) };
    memory.received(door, &again, b"hello".to_vec()).unwrap();
    memory.decision(asker(RoleName::Policyd), &decision(2, 1, "fs_read", Verdict::Allow), b"{}".to_vec()).unwrap();
    memory.delivered(door, &Delivered { turn: turn(2), end: TurnEnd::Answered }, b"good day".to_vec()).unwrap();
    let other = Marked { principal: "telegram:9".to_owned(), mark: "bot1:7".to_owned() };
    for known in [memory.marked(&other).unwrap().0, memory.marked(&ask("bot1:8")).unwrap().0] {
        assert_eq!(known.turn, None);
    }
    drop(memory);
    let mut memory = instance.open();
    let (known, answer) = memory.marked(&ask("bot1:7")).unwrap();
    assert_eq!((known.turn, known.delivered, known.acted, answer.as_str()), (Some(turn(2)), true, true, "good day"));
    for bad in ["x".repeat(MAX_MARK + 1), "a b".to_owned(), "\n".to_owned()] {
        let word = Received { mark: bad, ..received(3) };
        assert_eq!(no(memory.received(door, &word, b"hello".to_vec())), "words.mark");
    }
}
