//! The lines of a call while the index is behind.
#![allow(clippy::unwrap_used)]
use metnos_proto::msg::common::Outcome;
use metnos_proto::msg::memoryd::{BeforeOf, KeepBefore, MAX_BEFORE, Received, Verdict};

use crate::chronicle::event::EventType;
use crate::memory::testing::{Instance, asker, call, decision, ended, id, no, received, started, trace, turn};
use metnos_proto::role::RoleName;

const NAME: &str = "fs_read";
const KEPT: &str = "{\"uids\":[1,2]}";

#[test]
fn a_call_is_recorded_line_by_line_while_the_index_knows_nothing_of_it() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let sandboxd = asker(RoleName::Sandboxd);
    let opened = memory.direct(1, NAME);
    // In one round with the line that opens its turn.
    let decided = memory.decide(&decision(1, 1, NAME, Verdict::Allow));
    assert_eq!((memory.due(), memory.chronicle().has_staged()), (0, true), "nothing was flushed for it");
    memory.flush_answering(|_| {}).unwrap();
    let facts = memory.turn_of_call(turn(1)).unwrap();
    let begun = memory.started(sandboxd, &started(1, 1, NAME, decided.seq, &[])).unwrap();
    memory.flush_answering(|_| {}).unwrap();
    let over = memory.ended(sandboxd, &ended(1, 1, NAME, begun.seq, Outcome::Ok)).unwrap();
    memory.flush_answering(|_| {}).unwrap();
    assert_eq!(memory.due(), 4, "the index was not asked for");
    // Told again, it is answered as it was; told otherwise, refused.
    assert_eq!(memory.ended(sandboxd, &ended(1, 1, NAME, begun.seq, Outcome::Ok)).unwrap(), over);
    assert!(memory.ended(sandboxd, &ended(1, 1, NAME, begun.seq, Outcome::Crashed)).is_err());
    assert!(memory.started(sandboxd, &started(1, 1, NAME, decided.seq, &[])).is_err());
    assert_eq!(memory.due(), 4);
    // What was taken for known is what the index then says.
    memory.derive().unwrap();
    assert_eq!(memory.chronicle().index().turn(turn(1)).unwrap().unwrap(), facts);
    assert_eq!(facts.opened, Some(opened.seq));
    let row = memory.journal.of_call(call(1, 1), EventType::RunEnded).unwrap().unwrap();
    assert_eq!((row.seq, memory.due()), (over.seq, 0));
}

#[test]
fn what_a_call_keeps_is_given_to_the_same_person_and_no_other() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let sandboxd = asker(RoleName::Sandboxd);
    memory.direct(1, NAME);
    let decided = memory.decide(&decision(1, 1, NAME, Verdict::Allow));
    memory.flush_answering(|_| {}).unwrap();
    let keep = |started_seq, before: &str| {
        let before = before.to_owned();
        KeepBefore { turn: turn(1), trace: trace(1), call: call(1, 1), id: id(NAME), started_seq, before }
    };
    assert_eq!(no(memory.keep_before(sandboxd, &keep(decided.seq, "{}"))), "violation", "it does not run");
    let begun = memory.started(sandboxd, &started(1, 1, NAME, decided.seq, &[])).unwrap();
    memory.flush_answering(|_| {}).unwrap();
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_BEFORE));
    let secret = format!("{{\"a\":\"ghp_{}\"}}", "a1B2".repeat(9));
    for (wrong, why) in [
        ("not JSON", "before.form"),
        ("[1]", "before.form"),
        (long.as_str(), "before.form"),
        (secret.as_str(), "before.secret"),
    ] {
        assert_eq!(no(memory.keep_before(sandboxd, &keep(begun.seq, wrong))), why);
    }
    let of = |n| BeforeOf { turn: turn(n), call: call(1, 1) };
    assert_eq!(memory.before_of(&of(1)).unwrap(), None, "nothing is kept yet");
    let kept = memory.keep_before(sandboxd, &keep(begun.seq, KEPT)).unwrap();
    memory.flush_answering(|_| {}).unwrap();
    // Told again, it is answered as it was; told otherwise, refused.
    assert_eq!(memory.keep_before(sandboxd, &keep(begun.seq, KEPT)).unwrap(), kept);
    assert_eq!(no(memory.keep_before(sandboxd, &keep(begun.seq, "{\"uids\":[3]}"))), "record.twice");
    memory.ended(sandboxd, &ended(1, 1, NAME, begun.seq, Outcome::Ok)).unwrap();
    memory.flush_answering(|_| {}).unwrap();
    assert_eq!(no(memory.keep_before(sandboxd, &keep(begun.seq, "{}"))), "violation", "it is over");
    memory.direct(2, NAME);
    memory.derive().unwrap();
    assert_eq!(memory.before_of(&of(2)).unwrap().as_deref(), Some(KEPT));
    memory
        .received(asker(RoleName::Gatewayd), &Received { principal: "telegram:9".into(), ..received(3) }, b"x".to_vec())
        .unwrap();
    memory.flush_answering(|_| {}).unwrap();
    assert_eq!(no(memory.before_of(&of(3))), "before.person");
}

#[test]
fn a_run_without_a_decision_is_none_also_while_the_index_is_behind() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let sandboxd = asker(RoleName::Sandboxd);
    memory.direct(1, NAME);
    let denied = memory.decide(&decision(1, 1, NAME, Verdict::Deny));
    memory.flush_answering(|_| {}).unwrap();
    // Denied; of another executor; not decided at all; in a turn that nobody knows.
    assert_eq!(no(memory.started(sandboxd, &started(1, 1, NAME, denied.seq, &[]))), "violation");
    let allowed = memory.decide(&decision(1, 2, NAME, Verdict::Allow));
    memory.flush_answering(|_| {}).unwrap();
    assert_eq!(no(memory.started(sandboxd, &started(1, 2, "fs_list", allowed.seq, &[]))), "violation");
    assert_eq!(no(memory.started(sandboxd, &started(1, 2, NAME, allowed.seq + 1, &[]))), "violation");
    assert_eq!(no(memory.started(sandboxd, &started(2, 1, NAME, allowed.seq, &[]))), "turn.unknown");
    assert_eq!(no(memory.ended(sandboxd, &ended(1, 2, NAME, allowed.seq, Outcome::Ok))), "violation");
    assert!(memory.started(sandboxd, &started(1, 2, NAME, allowed.seq, &[])).is_ok());
}

#[test]
fn direct_turn_closed_before_indexing_leaves_the_same_records() {
    let closed = |late: bool| {
        let instance = Instance::new();
        let mut memory = instance.open();
        let sandboxd = asker(RoleName::Sandboxd);
        memory.direct(1, NAME);
        for (at, name, inputs) in [(1, NAME, [].as_slice()), (2, "text_stats", &[1])] {
            let decided = memory.decide(&decision(1, at, name, Verdict::Allow));
            memory.flush_answering(|_| {}).unwrap();
            let begun = memory.started(sandboxd, &started(1, at, name, decided.seq, inputs)).unwrap();
            memory.flush_answering(|_| {}).unwrap();
            memory.ended(sandboxd, &ended(1, at, name, begun.seq, Outcome::Ok)).unwrap();
            memory.flush_answering(|_| {}).unwrap();
            if !late {
                memory.derive().unwrap();
            }
        }
        let done = memory.direct_done(1);
        assert_eq!(memory.due(), if late { 7 } else { 0 }, "the index is asked for only where it is needed");
        memory.flush().unwrap();
        (done, memory.mnests().unwrap().1)
    };
    assert_eq!(closed(true), closed(false));
    assert!(closed(true).0.mnests > 0);
}

#[test]
fn a_turn_that_is_over_takes_no_call_however_late_the_index_is() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.direct(1, NAME);
    memory.flush_answering(|_| {}).unwrap();
    memory.direct_done(1);
    memory.flush_answering(|_| {}).unwrap();
    let late = memory.decision(asker(RoleName::Policyd), &decision(1, 1, NAME, Verdict::Allow), b"{}".to_vec());
    assert!(late.is_err());
}
