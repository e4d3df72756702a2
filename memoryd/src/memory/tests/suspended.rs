//! Turns that wait, and what a planner may have recorded of its prompts.
#![allow(clippy::unwrap_used)]
use metnos_proto::edges::planner_memoryd::Ask as Word;
use metnos_proto::msg::memoryd::{ModelAsked, TakeUpTurn};

use crate::memory::journal::{MAX_ASKED, MAX_SENT};

#[test]
fn taking_up_unsuspended_turn_is_refused_without_violation() {
    let instance = crate::memory::testing::Instance::new();
    let mut memory = instance.open();
    let _call = memory.direct(1, "fs_read");
    memory.say(2, "do it");
    memory.say(3, "do it");
    memory.begin(3);
    for turn in [1, 2, 3] {
        let word = TakeUpTurn { turn: crate::memory::testing::turn(turn) };
        memory.admit(&Word::TakeUpTurn(word.clone())).unwrap();
        assert_eq!(crate::memory::testing::no(memory.take_up_turn(&word)), "turn.not_suspended", "{turn}");
    }
    // The one that was only said can still begin.
    memory.begin(2);
}

#[test]
fn a_planner_has_only_so_much_written_down_about_what_was_sent() {
    let instance = crate::memory::testing::Instance::new();
    let mut memory = instance.open();
    memory.say(1, "do it");
    memory.begin(1);
    let planner = crate::memory::testing::asker(metnos_proto::role::RoleName::Planner);
    let turn = crate::memory::testing::turn(1);
    let asked = |thought| ModelAsked { turn, thought, model: "a/b".to_owned() };
    for thought in 1..=u32::try_from(MAX_ASKED).unwrap() {
        memory.model_asked(planner, &asked(thought), b"{}".to_vec()).unwrap();
    }
    let no = |told| crate::memory::testing::no(told);
    assert_eq!(no(memory.model_asked(planner, &asked(99), b"{}".to_vec())), "thought.count");
    memory.say(2, "do it");
    memory.begin(2);
    let other = ModelAsked { turn: crate::memory::testing::turn(2), thought: 1, model: String::new() };
    assert_eq!(no(memory.model_asked(planner, &other, vec![b'x'; MAX_SENT + 1])), "thought.size");
    assert!(memory.model_asked(planner, &other, b"{}".to_vec()).is_ok());
}
