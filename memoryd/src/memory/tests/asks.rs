//! Questions that are answered by themselves, and what a day was like.
#![allow(clippy::unwrap_used)]

use metnos_proto::doc::schedule::{FiringState, ScheduleState};
use metnos_proto::ids::{Blake3, SessionId, TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Lang, Outcome, Role};
use metnos_proto::msg::memoryd::Received;
use metnos_proto::msg::people::Member;
use metnos_proto::msg::schedule::{
    AskFired, BEGUN_BEFORE, FiringEnd, FiringEnded, KeepSchedule, MAX_ASKS_OF_ONE, NextFiring, ReviewOf, ScheduleKind,
    ShowSchedule, TakeFiring,
};
use metnos_proto::role::RoleName;

use crate::chronicle::time::DAY_MS;
use crate::memory::testing::{Instance, PEER, asker, candidate, household_of, no, received, turn};
use crate::memory::{Asker, Memory};

const CHAT: &str = "telegram:7";

fn policyd() -> Asker {
    asker(RoleName::Policyd)
}

fn door() -> Asker {
    Asker { role: RoleName::Gatewayd, session: SessionId::from_bytes([1; 16]) }
}

fn word(principal: &str, kind: ScheduleKind, what: &str, when: &str) -> KeepSchedule {
    KeepSchedule {
        turn: TurnId::NONE,
        trace: TraceId::NONE,
        principal: principal.to_owned(),
        to: principal.to_owned(),
        from: String::new(),
        kind,
        what: what.to_owned(),
        when: when.to_owned(),
        early: false,
        lang: Lang::En,
        told_in: Lang::En,
        frozen: Vec::new(),
        urgent: false,
    }
}

fn review(memory: &mut Memory, principal: &str, when: &str) -> metnos_proto::doc::schedule::DayReview {
    let word = ReviewOf { principal: principal.to_owned(), lang: Lang::En, when: when.to_owned() };
    memory.day_review(&word).unwrap()
}

/// A turn on these words that has run an executor of this class, and wished for that.
fn turn_with(memory: &mut Memory, n: u8, words: &str, executor: &str, wish: &str) {
    memory.say(n, words);
    memory.begin(n);
    if !executor.is_empty() {
        memory.run(n, 1, executor, &[], Outcome::Ok);
    }
    memory.answer(n, "done");
    memory.closed(n, wish);
}

#[test]
fn question_is_kept_if_it_is_rare_enough_and_given_as_one() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let ask = |what: &str, when: &str| word(CHAT, ScheduleKind::Ask, what, when);
    for often in ["every 5 minutes", "every minute", "every 10 minutes"] {
        assert_eq!(no(memory.keep_schedule(policyd(), &ask("what is planned", often))), "schedule.often", "{often}");
    }
    let kept = memory.keep_schedule(policyd(), &ask("what is planned", "every day at 9:00")).unwrap().0.remove(0);
    assert_eq!((kept.kind, kept.what.as_str()), (ScheduleKind::Ask, "what is planned"));
    let fired = |key: &str| AskFired { number: kept.number, key: key.to_owned() };
    memory.next_firing(door(), &NextFiring { to: String::new() }).unwrap();
    instance.clock.advance(DAY_MS);
    assert_eq!(no(memory.ask_fired(policyd(), &fired("2026-11-25T09:00:00"))), "schedule.firing", "it was not begun");
    let firing = memory.take_firing(door(), &TakeFiring { to: String::new() }).unwrap().firing.unwrap();
    assert_eq!((firing.kind, firing.what.as_str()), (ScheduleKind::Ask, "what is planned"));
    let asked = memory.ask_fired(policyd(), &fired(&firing.key)).unwrap();
    assert_eq!((asked.principal.as_str(), asked.to.as_str(), asked.what.as_str()), (CHAT, CHAT, "what is planned"));
    assert_eq!(no(memory.ask_fired(policyd(), &fired("2026-11-20T09:00:00"))), "schedule.firing", "another time");
    let ended = FiringEnded { number: kept.number, key: firing.key.clone(), end: FiringEnd::Delivered };
    memory.firing_ended(door(), &ended).unwrap();
    assert_eq!(no(memory.ask_fired(policyd(), &fired(&firing.key))), "schedule.firing", "it has ended");
    for at in 1..MAX_ASKS_OF_ONE {
        memory.keep_schedule(policyd(), &ask(&format!("question {at}"), "every day at 9:00")).unwrap();
    }
    assert_eq!(no(memory.keep_schedule(policyd(), &ask("one more", "every day at 9:00"))), "schedule.asks");
    memory.keep_schedule(policyd(), &word(CHAT, ScheduleKind::Reminder, "call", "every day at 9:00")).unwrap();
}

#[test]
fn question_without_anything_to_tell_has_ended_silently_and_is_due_again() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let ask = word(CHAT, ScheduleKind::Ask, "which mails need an answer", "every day at 9:00");
    let kept = memory.keep_schedule(policyd(), &ask).unwrap().0.remove(0);
    let once = word(CHAT, ScheduleKind::Ask, "which mails need an answer", "in 2 hours");
    memory.keep_schedule(policyd(), &once).unwrap();
    memory.next_firing(door(), &NextFiring { to: String::new() }).unwrap();
    instance.clock.advance(DAY_MS);
    let mut repeats = Vec::new();
    while let Some(firing) = memory.take_firing(door(), &TakeFiring { to: String::new() }).unwrap().firing {
        repeats.push((firing.number, firing.repeats));
        let ended = FiringEnded { number: firing.number, key: firing.key, end: FiringEnd::Silent };
        memory.firing_ended(door(), &ended).unwrap();
        memory.flush().unwrap();
        memory.next_firing(door(), &NextFiring { to: String::new() }).unwrap();
    }
    assert_eq!(repeats, [(kept.number, true), (kept.number + 1, false)]);
    let shown = |memory: &mut Memory, number| memory.show_schedule(&ShowSchedule { number, lang: Lang::En }).unwrap();
    // Also when all of it is read again from the chronicle.
    drop(memory);
    std::fs::remove_file(instance.dir.path().join(".runtime/schedules.sqlite")).unwrap();
    let mut memory = instance.open();
    memory.next_firing(door(), &NextFiring { to: String::new() }).unwrap();
    for (number, state) in [(kept.number, ScheduleState::Active), (kept.number + 1, ScheduleState::Completed)] {
        let history = shown(&mut memory, number);
        assert_eq!((history.schedule.state, history.firings[0].state), (state, FiringState::Silent), "{number}");
    }
    let asked = review(&mut memory, CHAT, "");
    assert!(!format!("{asked:?}").contains("which mails"), "nobody was told anything: {asked:?}");
}

#[test]
fn what_is_to_be_done_is_given_out_once_for_each_due_time() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let frozen = vec![Blake3::of(b"a call")];
    let keep = KeepSchedule { frozen: frozen.clone(), ..word(CHAT, ScheduleKind::Do, "add milk", "every day at 9:00") };
    let kept = memory.keep_schedule(policyd(), &keep).unwrap().0.remove(0);
    assert_eq!(kept.kind, ScheduleKind::Do);
    memory.next_firing(door(), &NextFiring { to: String::new() }).unwrap();
    for day in 0..2 {
        instance.clock.advance(DAY_MS);
        let firing = memory.take_firing(door(), &TakeFiring { to: String::new() }).unwrap().firing.unwrap();
        let fired = AskFired { number: kept.number, key: firing.key.clone() };
        assert_eq!(memory.ask_fired(policyd(), &fired).unwrap().frozen, frozen, "day {day}");
        assert_eq!(no(memory.ask_fired(policyd(), &fired)), BEGUN_BEFORE, "day {day}");
        // Also when all of it is read again from the chronicle.
        drop(memory);
        std::fs::remove_file(instance.dir.path().join(".runtime/schedules.sqlite")).unwrap();
        memory = instance.open();
        assert_eq!(no(memory.ask_fired(policyd(), &fired)), BEGUN_BEFORE, "day {day}");
        let ended = FiringEnded { number: kept.number, key: firing.key, end: FiringEnd::Delivered };
        memory.next_firing(door(), &NextFiring { to: String::new() }).unwrap();
        memory.firing_ended(door(), &ended).unwrap();
        memory.flush().unwrap();
    }
}

#[test]
fn reminder_that_fires_is_no_question() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let kept = memory.keep_schedule(policyd(), &word(CHAT, ScheduleKind::Reminder, "call", "tomorrow at 9")).unwrap();
    memory.next_firing(door(), &NextFiring { to: String::new() }).unwrap();
    instance.clock.advance(2 * DAY_MS);
    let firing = memory.take_firing(door(), &TakeFiring { to: String::new() }).unwrap().firing.unwrap();
    let fired = AskFired { number: kept.0[0].number, key: firing.key };
    assert_eq!(no(memory.ask_fired(policyd(), &fired)), "schedule.firing");
}

#[test]
fn what_is_asked_by_itself_is_not_what_a_person_has_said() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.say(1, "the boiler was serviced in March");
    memory.answer(1, "Noted.");
    let by_itself = Received { channel: Channel::Scheduler, ..received(2) };
    memory.received(door(), &by_itself, b"when was the boiler serviced".to_vec()).unwrap();
    memory.begin(2);
    memory.answer(2, "In March.");
    memory.closed(2, "");
    memory.say(3, "what about the boiler");
    let envelope = memory.begin(3);
    let said: Vec<&str> = envelope.recent.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(said, ["the boiler was serviced in March"]);
    assert!(envelope.recalled.iter().all(|one| !one.text.contains("when was")), "{:?}", envelope.recalled);
    assert_eq!(review(&mut memory, PEER, "").requests, 2);
}

#[test]
fn review_tells_what_was_done_and_what_not_of_that_person_and_time_alone() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let writes =
        metnos_proto::envelope::Candidate { class: "self_modify".to_owned(), ..candidate("note_add", &["note x"]) };
    memory.born(&writes).unwrap();
    memory.born(&candidate("fs_read", &["read x"])).unwrap();
    turn_with(&mut memory, 1, "note: buy milk", "note_add", "");
    instance.clock.advance(DAY_MS);
    assert_eq!(review(&mut memory, PEER, "").requests, 0, "yesterday is not today");
    turn_with(&mut memory, 2, "read notes/a.md", "fs_read", "");
    turn_with(&mut memory, 3, "note: buy bread", "note_add", "");
    turn_with(&mut memory, 4, "send a mail to Anna", "", "send a mail to Anna");
    let plan = KeepSchedule { turn: turn(5), ..word(PEER, ScheduleKind::Reminder, "call", "in 2 hours") };
    memory.say(5, "remind me in 2 hours to call");
    memory.keep_schedule(policyd(), &plan).unwrap();
    memory.closed(5, "");
    let today = review(&mut memory, PEER, "today");
    assert_eq!((today.requests, today.all_done, today.all_unmet), (4, 2, 1));
    let words = |lines: &[metnos_proto::doc::schedule::DayLine]| -> Vec<String> {
        lines.iter().map(|line| line.what.clone()).collect()
    };
    assert_eq!(words(&today.done), ["note: buy bread", "remind me in 2 hours to call"]);
    assert_eq!(words(&today.unmet), ["send a mail to Anna"]);
    let to_come: Vec<&str> = today.to_come.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(to_come, ["call"]);
    assert_eq!(words(&review(&mut memory, PEER, "yesterday").done), ["note: buy milk"]);
    assert_eq!(review(&mut memory, CHAT, "today").requests, 0, "somebody else");
    assert_eq!(review(&mut memory, PEER, "in 1999").requests, 0, "long ago");
    let (index, head) = (memory.chronicle().index(), memory.chronicle().head().seq);
    let written = |seq: u64| index.row(seq).unwrap().unwrap().ts_ms;
    for seq in 1..=head {
        let first = index.first_since(written(seq), head).unwrap();
        assert!(first <= seq && written(first) == written(seq), "{first} {seq}");
    }
    assert_eq!(index.first_since(u64::MAX, head).unwrap(), head + 1);
    assert_eq!(index.first_since(0, head).unwrap(), 1);
    let member = Member {
        quiet: None,
        channel: None,
        name: "Marco".into(),
        role: Role::Owner,
        also: Vec::new(),
        principals: vec![PEER.to_owned(), CHAT.to_owned()],
        accounts: Vec::new(),
    };
    memory.household(household_of(vec![member])).unwrap();
    assert_eq!(review(&mut memory, CHAT, "today").requests, 4, "the same person on another channel");
    let no_time = ReviewOf { principal: PEER.to_owned(), lang: Lang::En, when: "soup".to_owned() };
    assert_eq!(no(memory.day_review(&no_time)), "schedule.time");
}

#[test]
fn review_tells_of_what_the_person_was_reminded() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.keep_schedule(policyd(), &word(CHAT, ScheduleKind::Reminder, "stretch", "in 20 minutes")).unwrap();
    memory.next_firing(door(), &NextFiring { to: String::new() }).unwrap();
    instance.clock.advance(1_300_000);
    let firing = memory.take_firing(door(), &TakeFiring { to: String::new() }).unwrap().firing.unwrap();
    assert_eq!(review(&mut memory, CHAT, "").all_reminded, 0, "it is on its way");
    let ended = FiringEnded { number: firing.number, key: firing.key, end: FiringEnd::Delivered };
    memory.firing_ended(door(), &ended).unwrap();
    let today = review(&mut memory, CHAT, "");
    assert_eq!((today.all_reminded, today.reminded[0].what.as_str()), (1, "stretch"));
    assert!(today.to_come.is_empty());
}
