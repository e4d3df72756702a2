//! What becomes of executors by their use, in a whole memory: who is shown to a planner, and that nothing else follows.
#![allow(clippy::unwrap_used)]

use metnos_proto::doc::mnestome::{BelowThreshold, ExecutorFitness};
use metnos_proto::ids::{CallId, TurnId};
use metnos_proto::msg::common::{ExecutorId, Outcome};
use metnos_proto::msg::memoryd::{
    CloseTurn, DirectTurnDone, ExecutorLost, OwnersAct, Query, SystemEvent, TurnJudged, UNDONE, Verdict,
    WishedSignature,
};
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::role::RoleName;

use super::owner::{instance, same_when_derived_anew, use_days};
use crate::chronicle::event::{Event, EventType, GENESIS};
use crate::chronicle::payload::TurnClose;
use crate::chronicle::testing::{MORNING, draft};
use crate::chronicle::time::DAY_MS;
use crate::faults::{Fault, NoFaults, Step};
use crate::memory::Memory;
use crate::memory::testing::{asker, candidate, decision, ended, id, no, started, turn};
use crate::mnestome::derive::Record;
use crate::mnestome::fitness::{JUDGED_FIRST, TRIAL, explored};
use crate::mnestome::graph::{Mnestome, Turns};
use crate::mnestome::judged::MOST_TURNS;

const ENOSPC: i32 = 28;
const READ: &str = "fs_read";
const STATS: &str = "text_stats";

fn house(memory: &mut Memory) {
    for name in [READ, STATS, "fs_list"] {
        memory.born(&candidate(name, &[])).unwrap();
    }
    let writes = metnos_proto::envelope::Candidate { class: "self_create".to_owned(), ..candidate("fs_write", &[]) };
    memory.born(&writes).unwrap();
    memory.flush().unwrap();
}

/// Which executors the planner is shown in this turn.
fn shown(memory: &mut Memory, n: u8) -> Vec<String> {
    memory.say(n, "whatever there is");
    let mut names: Vec<String> = memory.begin(n).candidates.into_iter().map(|one| one.name).collect();
    names.sort();
    names
}

/// Whether a planner is shown it, in the turns that explore nothing.
fn offers(memory: &mut Memory, n: u8, name: &str) -> bool {
    assert!(!explored(turn(n), &id(name)), "turn {n} explores it: take another");
    shown(memory, n).iter().any(|one| one == name)
}

/// A turn that calls each of these once; with a wish, its goal was not reached.
fn calls(memory: &mut Memory, n: u8, names: &[&str], outcome: Outcome, wish: &str) {
    memory.say(n, "do something");
    memory.begin(n);
    for (at, name) in names.iter().enumerate() {
        memory.run(n, u16::try_from(at).unwrap() + 1, name, &[], outcome);
    }
    memory.closed(n, wish);
    memory.flush().unwrap();
}

fn stands(memory: &Memory, name: &str) -> ExecutorFitness {
    memory.mnestome().fitness().unwrap().into_iter().find(|one| one.name == name).unwrap()
}

fn judge(memory: &mut Memory, n: u8, good: bool) {
    memory.owner_decides(asker(RoleName::Ctl), &OwnersAct::Judge(TurnJudged { turn: turn(n), good })).unwrap();
}

/// The owner calls it himself, past every planner.
fn direct(memory: &mut Memory, n: u8, name: &str) {
    memory.direct(n, name);
    let decided = memory.decide(&decision(n, 1, name, Verdict::Allow));
    let sandboxd = asker(RoleName::Sandboxd);
    let begun = memory.started(sandboxd, &started(n, 1, name, decided.seq, &[])).unwrap();
    memory.ended(sandboxd, &ended(n, 1, name, begun.seq, Outcome::Ok)).unwrap();
    let done = DirectTurnDone { turn: turn(n), end: TurnEnd::Answered };
    memory.direct_turn_done(asker(RoleName::Policyd), &done).unwrap();
    memory.flush().unwrap();
}

#[test]
fn trial_ends_after_ten_calls_without_signal_and_use_restores_it() {
    let instance = instance();
    let mut memory = instance.open();
    house(&mut memory);
    let all = shown(&mut memory, 1);
    for n in 2..=u8::try_from(TRIAL).unwrap() {
        calls(&mut memory, n, &[STATS], Outcome::Ok, "fly");
    }
    assert!(offers(&mut memory, 30, STATS));
    calls(&mut memory, 31, &[STATS], Outcome::Ok, "fly");
    assert!(!offers(&mut memory, 32, STATS));
    assert_eq!((stands(&memory, STATS).below, stands(&memory, STATS).without_signal), (BelowThreshold::Trial, TRIAL));
    // It may be called all the same: nothing here forbids it, and the use makes it active.
    direct(&mut memory, 33, STATS);
    assert_eq!((stands(&memory, STATS).below, stands(&memory, STATS).judged), (BelowThreshold::No, 1));
    assert_eq!(shown(&mut memory, 34), all);
    same_when_derived_anew(&instance, memory);
}

#[test]
fn a_turn_that_was_cut_off_or_an_error_that_was_declared_ends_no_trial() {
    let instance = instance();
    let mut memory = instance.open();
    house(&mut memory);
    for n in 1..30 {
        calls(&mut memory, n, &[STATS], Outcome::Error, "fly");
    }
    assert_eq!((stands(&memory, STATS).without_signal, stands(&memory, STATS).judged), (0, 0));
    assert!(offers(&mut memory, 30, STATS));
}

#[test]
fn repeatedly_failing_executor_is_hidden_unless_one_call_succeeds() {
    let instance = instance();
    let mut memory = instance.open();
    house(&mut memory);
    let first = u8::try_from(JUDGED_FIRST).unwrap();
    for n in 1..=first {
        assert_eq!(stands(&memory, STATS).below, BelowThreshold::No);
        calls(&mut memory, n, &[STATS], Outcome::Timeout, "");
        calls(&mut memory, 100 + n, &[READ], if n == 1 { Outcome::Ok } else { Outcome::Timeout }, "");
    }
    assert_eq!(
        (stands(&memory, STATS).below, stands(&memory, READ).below),
        (BelowThreshold::Unfit, BelowThreshold::No)
    );
    assert!(!offers(&mut memory, 30, STATS) && offers(&mut memory, 31, READ));
    same_when_derived_anew(&instance, memory);
}

#[test]
fn executor_is_hidden_after_90_unused_use_days_except_when_exploring() {
    let instance = instance();
    let mut memory = instance.open();
    house(&mut memory);
    let all = shown(&mut memory, 1);
    instance.clock.advance(1000 * DAY_MS);
    assert_eq!(shown(&mut memory, 2), all, "nothing was used: no time has passed");
    use_days(&instance, &mut memory, 3, 89);
    assert_eq!(stands(&memory, STATS).below, BelowThreshold::No);
    use_days(&instance, &mut memory, 92, 1);
    assert_eq!(
        (stands(&memory, STATS).below, stands(&memory, "fs_list").below),
        (BelowThreshold::Disused, BelowThreshold::No)
    );
    let mut hidden = 0;
    for n in 100..=250 {
        let shown = shown(&mut memory, n);
        for name in [READ, STATS, "fs_write"] {
            assert_eq!(shown.iter().any(|one| one == name), explored(turn(n), &id(name)), "{name} in turn {n}");
            hidden += u32::from(!explored(turn(n), &id(name)));
        }
        assert!(shown.iter().any(|one| one == "fs_list"));
    }
    assert!((380..450).contains(&hidden), "one in twenty of 453 is shown, {hidden} were not");
    direct(&mut memory, 99, STATS);
    assert_eq!(stands(&memory, STATS).below, BelowThreshold::No);
    same_when_derived_anew(&instance, memory);
}

/// What is looked up for words that nothing understands is no request for it.
#[test]
fn words_that_were_not_understood_end_no_trial() {
    let instance = instance();
    let mut memory = instance.open();
    house(&mut memory);
    for n in 1..30 {
        memory.say(n, "do something");
        memory.begin(n);
        memory.run(n, 1, STATS, &[], Outcome::Ok);
        let (end, signature) = (TurnEnd::NotUnderstood, WishedSignature::default());
        let word = CloseTurn { turn: turn(n), end, wish: "fly".to_owned(), signature };
        memory.close_turn(asker(RoleName::Planner), &word).unwrap();
        memory.flush().unwrap();
    }
    assert_eq!((stands(&memory, STATS).without_signal, stands(&memory, STATS).judged), (0, 0));
    assert!(offers(&mut memory, 30, STATS));
    same_when_derived_anew(&instance, memory);
}

#[test]
fn last_owner_feedback_counts_and_negative_counts_double() {
    let instance = instance();
    let mut memory = instance.open();
    house(&mut memory);
    calls(&mut memory, 1, &[READ, STATS], Outcome::Ok, "");
    let fitness = |memory: &Memory| (stands(memory, READ).fitness, stands(memory, STATS).fitness);
    assert_eq!(fitness(&memory), (0.5, 0.5));
    for (good, expected) in [(false, -1.0), (false, -1.0), (true, 0.5), (false, -1.0)] {
        judge(&mut memory, 1, good);
        assert_eq!(fitness(&memory), (expected, expected));
        assert_eq!(stands(&memory, READ).judged, 1, "the same call");
    }
    // Of what nobody could judge before, a word is a signal.
    calls(&mut memory, 2, &["fs_list"], Outcome::Ok, "fly");
    assert_eq!(stands(&memory, "fs_list").without_signal, 1);
    judge(&mut memory, 2, true);
    let list = stands(&memory, "fs_list");
    assert_eq!((list.fitness, list.judged, list.without_signal), (1.0, 1, 0));
    // Five turns that were of no use: what was used in them is out of sight.
    for n in 3..7 {
        calls(&mut memory, n, &[READ], Outcome::Ok, "");
        judge(&mut memory, n, false);
    }
    assert_eq!(
        (stands(&memory, READ).below, stands(&memory, STATS).below),
        (BelowThreshold::Unfit, BelowThreshold::No)
    );
    judge(&mut memory, 3, true);
    judge(&mut memory, 4, true);
    judge(&mut memory, 5, true);
    judge(&mut memory, 6, true);
    assert_eq!(stands(&memory, READ).below, BelowThreshold::No, "he has thought better of it");
    same_when_derived_anew(&instance, memory);
}

#[test]
fn a_word_counts_with_the_age_of_what_it_is_about() {
    let instance = instance();
    let mut memory = instance.open();
    house(&mut memory);
    calls(&mut memory, 1, &[READ], Outcome::Ok, "");
    use_days(&instance, &mut memory, 2, 40);
    judge(&mut memory, 1, false);
    let expected = -2.0 * (-0.018 * stands(&memory, READ).used_days_ago).exp();
    assert!((stands(&memory, READ).fitness - expected).abs() < 1e-9);
    assert!(stands(&memory, READ).used_days_ago > 39.0, "a word is no use");
    same_when_derived_anew(&instance, memory);
}

#[test]
fn only_a_turn_that_called_something_and_is_over_can_be_judged() {
    let instance = instance();
    let mut memory = instance.open();
    house(&mut memory);
    memory.say(1, "wait");
    memory.begin(1);
    memory.run(1, 1, READ, &[], Outcome::Ok);
    calls(&mut memory, 2, &[], Outcome::Ok, "");
    for n in [1, 2, 3] {
        let word = OwnersAct::Judge(TurnJudged { turn: turn(n), good: true });
        assert_eq!(no(memory.owner_decides(asker(RoleName::Ctl), &word)), "feedback.turn", "turn {n}");
    }
    assert_eq!(stands(&memory, READ).judged, 0);
}

#[test]
fn executor_whose_acts_are_undone_stays_in_sight() {
    let instance = instance();
    let mut memory = instance.open();
    house(&mut memory);
    for n in 1..=u8::try_from(TRIAL).unwrap() + 2 {
        calls(&mut memory, n, &["fs_write"], Outcome::Ok, "");
        let word = SystemEvent { kind: UNDONE.to_owned(), text: "one act".to_owned(), turn: Some(turn(n)) };
        memory.system_event(asker(RoleName::Policyd), &word).unwrap();
        memory.flush().unwrap();
        let (sum, judged, below) = {
            let now = stands(&memory, "fs_write");
            (now.fitness, now.judged, now.below)
        };
        assert_eq!((sum, judged, below), (0.0, 0, BelowThreshold::No), "after {n} that were undone");
    }
    judge(&mut memory, 1, false);
    let said = stands(&memory, "fs_write");
    assert!(said.judged == 1 && said.fitness < -1.9, "{said:?}");
    same_when_derived_anew(&instance, memory);
}

#[test]
fn undo_lowers_fitness_only_when_reported_by_policyd() {
    let instance = instance();
    let mut memory = instance.open();
    house(&mut memory);
    calls(&mut memory, 1, &[READ, "fs_write"], Outcome::Ok, "");
    let fitness = |memory: &Memory| (stands(memory, READ).fitness, stands(memory, "fs_write").fitness);
    let told = |memory: &mut Memory, role: RoleName, kind: &str| {
        let word = SystemEvent { kind: kind.to_owned(), text: "one act".to_owned(), turn: Some(turn(1)) };
        memory.system_event(asker(role), &word).unwrap();
        memory.flush().unwrap();
    };
    told(&mut memory, RoleName::Sandboxd, UNDONE);
    told(&mut memory, RoleName::Planner, UNDONE);
    told(&mut memory, RoleName::Policyd, "undo");
    assert_eq!(fitness(&memory), (0.5, 0.5));
    for _ in 0..2 {
        told(&mut memory, RoleName::Policyd, UNDONE);
        assert_eq!(fitness(&memory), (0.5, 0.0));
    }
    judge(&mut memory, 1, true);
    assert_eq!(fitness(&memory), (0.5, 0.5));
    same_when_derived_anew(&instance, memory);
}

#[test]
fn lost_executor_is_hidden_and_visible_again_after_rebirth() {
    let instance = instance();
    let mut memory = instance.open();
    house(&mut memory);
    calls(&mut memory, 1, &[STATS], Outcome::Ok, "");
    for n in 2..=11 {
        calls(&mut memory, n, &[READ], Outcome::Ok, "fly");
    }
    for name in [READ, STATS] {
        let lost = ExecutorLost { id: id(name), why: "put away: x".to_owned() };
        memory.executor_lost(asker(RoleName::Policyd), &lost).unwrap();
    }
    memory.flush().unwrap();
    assert_eq!(
        (stands(&memory, STATS).below, stands(&memory, READ).below),
        (BelowThreshold::No, BelowThreshold::Trial)
    );
    assert_eq!(shown(&mut memory, 20), ["fs_list", "fs_write"]);
    for name in [READ, STATS] {
        memory.born(&candidate(name, &[])).unwrap();
    }
    memory.flush().unwrap();
    assert!(offers(&mut memory, 21, READ) && offers(&mut memory, 22, STATS));
    assert!(stands(&memory, STATS).fitness > 0.9, "what it was worth is not forgotten");
    same_when_derived_anew(&instance, memory);
}

#[test]
fn fitness_report_has_one_document_per_executor() {
    let instance = instance();
    let mut memory = instance.open();
    house(&mut memory);
    let (looked, text) = memory.query(&Query::Fitness).unwrap();
    assert_eq!((looked.lines, looked.next), (4, 0));
    let first: serde_json::Value = serde_json::from_slice(text.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    let expected = serde_json::json!({
        "name": "fs_list", "version": "1.0.0", "fitness": 0.0, "judged": 0, "without_signal": 0, "used_days_ago": 0.0, "below": "",
    });
    assert_eq!(first, expected);
}

#[test]
fn owner_feedback_counts_after_mnestome_disk_errors() {
    let instance = instance();
    let mut memory = instance.open();
    house(&mut memory);
    // Once when the turn is over, and once more when the owner speaks of it.
    instance.script.add(Step::Mnestome, 0, Fault::Errno(ENOSPC));
    instance.script.add(Step::Mnestome, 0, Fault::Errno(ENOSPC));
    calls(&mut memory, 1, &[READ], Outcome::Ok, "");
    assert_eq!(stands(&memory, READ).judged, 0, "it is behind");
    let word = OwnersAct::Judge(TurnJudged { turn: turn(1), good: false });
    assert_eq!(no(memory.owner_decides(asker(RoleName::Ctl), &word)), "chronicle.disk_full");
    assert!(instance.script.is_done());
    memory.owner_decides(asker(RoleName::Ctl), &word).unwrap();
    memory.flush().unwrap();
    assert!(stands(&memory, READ).fitness < -1.9);
    same_when_derived_anew(&instance, memory);
}

/// Every turn is one call.
struct OneCall;

impl Turns for OneCall {
    fn records(&self, _: &Event) -> crate::error::Result<Option<Vec<Record>>> {
        let (call, id) = (CallId::from_bytes([1; 16]), ExecutorId { name: READ.into(), version: "1.0.0".into() });
        let started = Record::Started { call, id, inputs: Vec::new() };
        Ok(Some(vec![started, Record::Ended { call, outcome: Outcome::Ok, ts_ms: MORNING }]))
    }
}

#[test]
fn the_turns_that_can_be_judged_are_the_last_ones_and_no_more() {
    let mut mnestome = Mnestome::in_memory(50).unwrap();
    let turn = |n: i64| TurnId::from_bytes((n as u128).to_be_bytes());
    let closes = (1..=MOST_TURNS + 3).map(|n| {
        let close = TurnClose { end: "answered".to_owned(), signature: String::new(), wish: String::new() };
        let mut one = draft(EventType::TurnClose, &close.encode());
        one.turn_id = Some(turn(n));
        Event::seal(one, n as u64, GENESIS, MORNING)
    });
    let closes: Vec<Event> = closes.collect();
    mnestome.apply(&closes, &OneCall, &mut NoFaults).unwrap();
    let can = |n| mnestome.can_be_judged(turn(n)).unwrap();
    assert!(!can(3) && can(4) && can(MOST_TURNS + 3) && !can(MOST_TURNS + 4));
}
