//! Schedules as memory keeps them: each due time is fired once, also over kills, or is said to be unsure.
#![allow(clippy::unwrap_used)]

mod due_times;

use metnos_proto::doc::schedule::{FiringState, ScheduleState, ScheduleView};
use metnos_proto::ids::{SessionId, TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Lang, Role};
use metnos_proto::msg::memoryd::Redact;
use metnos_proto::msg::people::Member;
use metnos_proto::msg::quiet::Quiet;
use metnos_proto::msg::schedule::{
    ChangeSchedules, Firing, FiringEnd, FiringEnded, KeepSchedule, ListSchedules, MAX_OF_ONE, NextFiring, ScheduleAct,
    ScheduleChange, ScheduleKind, ShowSchedule, TakeFiring, Which,
};
use metnos_proto::role::RoleName;
use proptest::prelude::*;

use crate::chronicle::time::{Clock, DAY_MS};
use crate::memory::testing::{Instance, PEER, asker, household_of, no, turn};
use crate::memory::{Answer, Asker, Memory};
use crate::schedules::TAKEN_HERE_MS;

const CHAT: &str = "telegram:7";
const MINUTE: u64 = 60_000;
const ANYBODY: NextFiring = NextFiring { to: String::new() };

/// The run of a door.
fn door(run: u8) -> Asker {
    Asker { role: RoleName::Gatewayd, session: SessionId::from_bytes([run; 16]) }
}

fn word(principal: &str, what: &str, when: &str) -> KeepSchedule {
    let (principal, what, when) = (principal.to_owned(), what.to_owned(), when.to_owned());
    let to = principal.clone();
    let (turn, trace, from) = (TurnId::NONE, TraceId::NONE, String::new());
    let (lang, told_in) = (Lang::En, Lang::En);
    KeepSchedule {
        turn,
        trace,
        principal,
        to,
        from,
        kind: ScheduleKind::Reminder,
        what,
        when,
        early: false,
        lang,
        told_in,
        frozen: Vec::new(),
        urgent: false,
    }
}

impl Memory {
    pub(super) fn plan(&mut self, principal: &str, what: &str, when: &str) -> ScheduleView {
        let kept = self.keep_schedule(asker(RoleName::Policyd), &word(principal, what, when)).unwrap();
        kept.0.into_iter().next().unwrap()
    }

    pub(super) fn planned(&mut self, principal: &str) -> Vec<ScheduleView> {
        let word = ListSchedules {
            principal: principal.to_owned(),
            lang: Lang::En,
            ended: false,
            when: String::new(),
            called: None,
            shown: true,
        };
        self.list_schedules(&word).unwrap().0
    }

    fn due_for(&mut self, run: u8, to: &str) -> Option<Firing> {
        self.take_firing(door(run), &TakeFiring { to: to.to_owned() }).unwrap().firing
    }

    fn end(&mut self, run: u8, firing: &Firing, end: FiringEnd) {
        let word = FiringEnded { number: firing.number, key: firing.key.clone(), end };
        self.firing_ended(door(run), &word).unwrap();
        self.flush().unwrap();
    }

    fn change(&mut self, principal: &str, which: Which, act: ScheduleAct) -> Answer<Vec<ScheduleView>> {
        let change = ScheduleChange { which, act };
        let word = ChangeSchedules { principal: principal.to_owned(), change, lang: Lang::En };
        self.change_schedules(asker(RoleName::Policyd), &word).map(|changed| changed.0)
    }
}

impl Instance {
    fn later(&self, ms: u64) {
        self.clock.0.set(self.clock.0.get() + ms);
    }
}

#[test]
fn reminder_fires_once_at_its_time_and_is_completed() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let now = instance.clock.0.get();
    let made = memory.plan(CHAT, "turn the oven off", "in 20 minutes");
    assert_eq!((made.number, made.state, made.next.len()), (1, ScheduleState::Active, 1));
    assert_eq!(memory.next_firing(door(1), &ANYBODY).unwrap().at_ms, Some(now + 20 * MINUTE));
    instance.later(19 * MINUTE);
    assert_eq!(memory.due_for(1, ""), None, "early");
    instance.later(MINUTE);
    let firing = memory.due_for(1, "").unwrap();
    assert_eq!((firing.what.as_str(), firing.to.as_str()), ("turn the oven off", CHAT));
    assert_eq!((firing.due.as_str(), firing.missed, firing.again), ("", 0, false));
    memory.flush().unwrap();
    assert_eq!(
        (memory.due_for(1, ""), memory.next_firing(door(1), &ANYBODY).unwrap().at_ms),
        (None, None),
        "it is on its way"
    );
    memory.end(1, &firing, FiringEnd::Delivered);
    instance.later(DAY_MS);
    assert_eq!((memory.due_for(1, ""), memory.planned(CHAT)), (None, Vec::new()));
    let history = memory.show_schedule(&ShowSchedule { number: 1, lang: Lang::En }).unwrap();
    assert_eq!((history.schedule.state, history.firings.len()), (ScheduleState::Completed, 1));
    assert_eq!(history.firings[0].state, FiringState::Delivered);
}

#[test]
fn bare_hour_is_of_the_morning_for_an_alarm_and_none_for_a_reminder() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let alarm = KeepSchedule { early: true, ..word(CHAT, "alarm", "7") };
    let kept = memory.keep_schedule(asker(RoleName::Policyd), &alarm).unwrap().0.remove(0);
    assert!(kept.next[0].contains("T07:00:00"), "{:?}", kept.next);
    let reminder = word(CHAT, "call", "7");
    assert_eq!(no(memory.keep_schedule(asker(RoleName::Policyd), &reminder)), "schedule.time");
}

#[test]
fn list_of_a_time_has_what_is_due_then_and_nothing_else() {
    let instance = Instance::new();
    let mut memory = instance.open();
    // It is Saturday, 25 April 2026.
    for (what, when) in [
        ("call", "tomorrow at 9"),
        ("pay", "on Monday at 10"),
        ("bins", "every Sunday at 7:30"),
        ("water", "every day at 19:00"),
        ("bake", "in 2 minutes"),
    ] {
        memory.plan(PEER, what, when);
    }
    memory.change(PEER, Which::Called("bins".into()), ScheduleAct::Pause).unwrap();
    let then = |memory: &mut Memory, when: &str| {
        let word = ListSchedules {
            principal: PEER.to_owned(),
            lang: Lang::En,
            ended: false,
            when: when.to_owned(),
            called: None,
            shown: true,
        };
        memory.list_schedules(&word).map(|all| all.0.into_iter().map(|one| one.what).collect::<Vec<_>>())
    };
    let mut all = then(&mut memory, "").unwrap();
    all.sort();
    assert_eq!(all, ["bake", "bins", "call", "pay", "water"]);
    for (when, what) in [
        ("tomorrow", &["call", "water"][..]),
        ("today", &["bake", "water"]),
        ("on Monday", &["pay", "water"]),
        ("tomorrow morning", &["call"]),
        ("tomorrow at 9", &["call"]),
        ("tomorrow at 11", &[]),
        ("on Thursday", &["water"]),
        ("yesterday", &[]),
    ] {
        let mut found = then(&mut memory, when).unwrap();
        found.sort();
        assert_eq!(found, what, "{when}");
    }
    // "The second one" is one of those that were shown.
    then(&mut memory, "tomorrow").unwrap();
    let cancelled = memory.change(PEER, Which::Place(2), ScheduleAct::Cancel).unwrap();
    assert_eq!(cancelled[0].what, "call", "which is due after the plants of today");
    for no in ["whenever", "every Monday", "20 minutes", &"x".repeat(400)] {
        assert!(then(&mut memory, no).is_err(), "{no}");
    }
}

#[test]
fn firing_of_a_lost_door_is_given_again_and_says_so() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.plan(CHAT, "call", "in 1 minute");
    memory.next_firing(door(1), &ANYBODY).unwrap();
    instance.later(MINUTE);
    let first = memory.due_for(1, "").unwrap();
    memory.flush().unwrap();
    // Nobody knows whether the first door has sent it.
    let now = instance.clock.0.get();
    assert!(memory.next_firing(door(2), &ANYBODY).unwrap().at_ms.is_some_and(|at| at <= now));
    let second = memory.due_for(2, "").unwrap();
    assert_eq!((second.key == first.key, second.again), (true, true));
    memory.end(2, &second, FiringEnd::Unsure);
    assert_eq!(memory.due_for(2, ""), None, "it waits before it tries again");
    instance.later(MINUTE);
    let third = memory.due_for(2, "").unwrap();
    assert!(third.again);
    memory.end(2, &third, FiringEnd::Delivered);
    instance.later(DAY_MS);
    assert_eq!(memory.due_for(2, ""), None);
    let late = FiringEnded { number: 1, key: first.key, end: FiringEnd::Delivered };
    assert_eq!(no(memory.firing_ended(door(1), &late)), "schedule.firing");
}

#[test]
fn recurring_reminder_after_a_month_off_fires_once_and_counts() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.plan(CHAT, "bins", "every day at 12");
    drop(memory);
    instance.later(30 * DAY_MS);
    let mut memory = instance.open();
    memory.next_firing(door(1), &ANYBODY).unwrap();
    let firing = memory.due_for(1, "").unwrap();
    assert!((28..=30).contains(&firing.missed) && !firing.again, "{firing:?}");
    assert!(!firing.due.is_empty() || firing.missed == 30, "it says when it was due: {firing:?}");
    memory.end(1, &firing, FiringEnd::Delivered);
    assert_eq!(memory.due_for(1, ""), None, "never as a burst");
    let next = memory.next_firing(door(1), &ANYBODY).unwrap().at_ms.unwrap();
    assert!(next > instance.clock.0.get() && next <= instance.clock.0.get() + DAY_MS);
}

#[test]
fn nothing_is_lost_or_doubled_when_the_table_is_derived_anew() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.plan(CHAT, "one", "in 1 minute");
    memory.plan(CHAT, "two", "every day at 12");
    memory.plan(PEER, "three", "tomorrow at 9");
    memory.change(CHAT, Which::Called("two".into()), ScheduleAct::Pause).unwrap();
    instance.later(MINUTE);
    memory.next_firing(door(1), &ANYBODY).unwrap();
    let firing = memory.due_for(1, "").unwrap();
    memory.end(1, &firing, FiringEnd::Delivered);
    let (before, own) = (memory.planned(CHAT), memory.planned(PEER));
    assert_eq!((before.len(), own.len()), (1, 1));
    drop(memory);
    for name in ["schedules.sqlite", "schedules.sqlite-wal"] {
        let _ = std::fs::remove_file(instance.dir.path().join(".runtime").join(name));
    }
    let mut memory = instance.open();
    assert_eq!((memory.planned(CHAT), memory.planned(PEER)), (before, own));
    instance.later(10 * DAY_MS);
    memory.next_firing(door(2), &ANYBODY).unwrap();
    assert_eq!(memory.due_for(2, ""), None, "what is paused does not fire");
}

#[test]
fn person_without_a_chat_is_reminded_when_he_comes() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.plan(PEER, "call", "in 1 minute");
    assert_eq!(memory.next_firing(door(1), &ANYBODY).unwrap().at_ms, None);
    instance.later(60 * MINUTE);
    assert_eq!((memory.due_for(1, ""), memory.due_for(1, "cli:uid:7")), (None, None), "it is nobody else's");
    let due = |memory: &mut Memory, to: &str| memory.next_firing(door(1), &NextFiring { to: to.into() }).unwrap().at_ms;
    assert!(due(&mut memory, PEER).is_some_and(|at| at < instance.clock.0.get()));
    assert_eq!(due(&mut memory, "cli:uid:7"), None);
    let firing = memory.due_for(1, PEER).unwrap();
    assert!(firing.due.contains(':'), "it is late, and says when it was due: {firing:?}");
}

#[test]
fn reminders_are_meant_by_words_places_and_numbers_of_their_own_person() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let change = |memory: &mut Memory, which| memory.change(CHAT, which, ScheduleAct::Cancel).map(|all| all[0].number);
    memory.plan(CHAT, "call the dentist", "tomorrow at 9");
    memory.plan(CHAT, "call the plumber", "tomorrow at 10");
    let other = memory.plan("telegram:8", "call grandma", "tomorrow at 8");
    assert_eq!(no(change(&mut memory, Which::Place(1))), "schedule.shown");
    assert_eq!(no(change(&mut memory, Which::Called("call".into()))), "schedule.several");
    assert_eq!(no(change(&mut memory, Which::Called("grandma".into()))), "schedule.unknown");
    assert_eq!(no(change(&mut memory, Which::Number(other.number))), "schedule.unknown");
    assert_eq!(no(change(&mut memory, Which::Called("the".into()))), "schedule.unknown");
    assert_eq!(no(change(&mut memory, Which::Only)), "schedule.several");
    assert_eq!(
        memory.planned(CHAT).iter().map(|one| one.what.as_str()).collect::<Vec<_>>(),
        ["call the dentist", "call the plumber"]
    );
    assert_eq!(no(change(&mut memory, Which::Place(3))), "schedule.unknown");
    // The list that was shown counts, whatever has come before its reminders since.
    memory.plan(CHAT, "wake up", "tomorrow at 6 am");
    assert_eq!(change(&mut memory, Which::Place(2)).unwrap(), 2);
    assert_eq!(no(change(&mut memory, Which::Place(2))), "schedule.unknown", "it is cancelled already");
    assert_eq!(change(&mut memory, Which::Called("dentists".into())).unwrap(), 1);
    instance.later(11 * MINUTE);
    assert_eq!(no(change(&mut memory, Which::Place(1))), "schedule.shown", "that was long ago");
    assert_eq!(change(&mut memory, Which::All).unwrap(), 4);
    assert_eq!((memory.planned(CHAT).len(), memory.planned("telegram:8").len()), (0, 1));
}

fn to(when: &str) -> ScheduleAct {
    ScheduleAct::Move(vec![when.to_owned()])
}

#[test]
fn moved_reminder_fires_at_its_new_time_alone_also_after_a_restart() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.plan(CHAT, "call the dentist", "in 2 hours");
    memory.plan(CHAT, "bins", "every day at 12:30");
    let before = memory.planned(CHAT);
    let moved = memory.change(CHAT, Which::Called("dentist".into()), to("an hour")).unwrap();
    assert_eq!((moved.len(), moved[0].number, moved[0].state), (1, 1, ScheduleState::Active));
    assert!(moved[0].moved_ms > 0 && moved[0].when == "an hour", "{moved:?}");
    let now = instance.clock.0.get();
    assert_eq!(no(memory.change(CHAT, Which::Called("bins".into()), to("tomorrow at 10"))), "schedule.repeats");
    assert_eq!(no(memory.change(CHAT, Which::Called("dentist".into()), to("yesterday"))), "schedule.past");
    assert_eq!(no(memory.change(CHAT, Which::Called("dentist".into()), to("soon"))), "schedule.time");
    assert_eq!(no(memory.change(CHAT, Which::All, to("an hour"))), "schedule.several");
    assert_eq!(no(memory.change("telegram:8", Which::Number(1), to("an hour"))), "schedule.unknown");
    let bins = memory.change(CHAT, Which::Called("bins".into()), to("at 18:15")).unwrap();
    assert!(bins[0].next[0].contains("T18:15"), "{bins:?}");
    assert_ne!(memory.planned(CHAT), before);
    let before = memory.planned(CHAT);
    drop(memory);
    for name in ["schedules.sqlite", "schedules.sqlite-wal"] {
        let _ = std::fs::remove_file(instance.dir.path().join(".runtime").join(name));
    }
    let mut memory = instance.open();
    assert_eq!(memory.planned(CHAT), before);
    memory.change(CHAT, Which::Called("bins".into()), ScheduleAct::Pause).unwrap();
    memory.next_firing(door(1), &ANYBODY).unwrap();
    instance.later(2 * 60 * MINUTE);
    assert_eq!(memory.due_for(1, ""), None, "its old time");
    instance.later(60 * MINUTE);
    let firing = memory.due_for(1, "").unwrap();
    assert_eq!((firing.number, firing.missed), (1, 0), "{:?}", (instance.clock.0.get() - now) / MINUTE);
    memory.end(1, &firing, FiringEnd::Delivered);
    instance.later(DAY_MS);
    assert_eq!(memory.due_for(1, ""), None);
}

#[test]
fn reminder_that_was_given_is_given_once_more_when_asked_for() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let snooze = |memory: &mut Memory, who: &str| memory.change(who, Which::Given, to("10 minutes"));
    assert_eq!(no(snooze(&mut memory, CHAT)), "schedule.unknown");
    memory.plan(CHAT, "turn the oven off", "in 20 minutes");
    memory.next_firing(door(1), &ANYBODY).unwrap();
    assert_eq!(no(snooze(&mut memory, CHAT)), "schedule.unknown", "it was not given yet");
    instance.later(20 * MINUTE);
    let firing = memory.due_for(1, "").unwrap();
    memory.end(1, &firing, FiringEnd::Delivered);
    assert_eq!(no(snooze(&mut memory, "telegram:8")), "schedule.unknown", "it is nobody else's");
    let again = snooze(&mut memory, CHAT).unwrap();
    assert_eq!((again[0].number, again[0].what.as_str()), (2, "turn the oven off"));
    instance.later(10 * MINUTE);
    let firing = memory.due_for(1, "").unwrap();
    assert_eq!((firing.number, firing.what.as_str()), (2, "turn the oven off"));
    memory.end(1, &firing, FiringEnd::Delivered);
    instance.later(13 * 60 * MINUTE);
    assert_eq!(no(snooze(&mut memory, CHAT)), "schedule.unknown", "that was long ago");
    // What others had said is not made one's own.
    let said = KeepSchedule {
        from: "Marco".into(),
        kind: ScheduleKind::Message,
        when: String::new(),
        ..word(CHAT, "bring bread", "")
    };
    memory.keep_schedule(asker(RoleName::Policyd), &said).unwrap();
    let firing = memory.due_for(1, "").unwrap();
    memory.end(1, &firing, FiringEnd::Delivered);
    assert_eq!(no(snooze(&mut memory, CHAT)), "schedule.unknown");
}

#[test]
fn times_that_are_none_or_two_or_past_are_refused_and_nothing_is_kept() {
    let instance = Instance::new();
    let mut memory = instance.open();
    for (what, when, rule) in [
        ("call", "soon", "schedule.time"),
        ("call", "yesterday at 9", "schedule.past"),
        ("call", "next month", "schedule.vague"),
        ("", "tomorrow", "schedule.form"),
        ("a\nb", "tomorrow", "schedule.form"),
        ("call", "", "schedule.form"),
    ] {
        let told = memory.keep_schedule(asker(RoleName::Policyd), &word(CHAT, what, when));
        assert_eq!(no(told), rule, "{what} {when}");
    }
    assert_eq!(memory.planned(CHAT), Vec::new());
}

#[test]
fn same_reminder_of_one_turn_is_kept_once_and_one_person_has_so_many() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.say(1, "remind me tomorrow to call");
    let again = KeepSchedule { turn: turn(1), ..word(PEER, "call", "tomorrow") };
    let kept = |memory: &mut Memory| memory.keep_schedule(asker(RoleName::Policyd), &again).unwrap().0[0].number;
    assert_eq!((kept(&mut memory), kept(&mut memory)), (1, 1));
    for number in 1..MAX_OF_ONE {
        memory.plan(PEER, &format!("call {number}"), "tomorrow");
    }
    let told = memory.keep_schedule(asker(RoleName::Policyd), &word(PEER, "write", "tomorrow"));
    assert_eq!(no(told), "schedule.full");
    memory.plan(CHAT, "call", "tomorrow");
}

#[test]
fn reminder_said_once_more_stays_one() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let first = memory.plan(PEER, "take out the rubbish", "every monday at 7:30");
    let again = memory.plan(PEER, "Take out the rubbish", "every monday at 7:30 in the morning");
    assert_eq!((again.number, first.already, again.already), (first.number, false, true));
    // Another hour, other words, another person, and one that is paused or ended are others.
    let others = [
        memory.plan(PEER, "take out the rubbish", "every monday at 7:35"),
        memory.plan(PEER, "take out the bins", "every monday at 7:30"),
        memory.plan(CHAT, "take out the rubbish", "every monday at 7:30"),
    ];
    assert!(others.iter().all(|one| !one.already), "{others:?}");
    memory.change(PEER, Which::Number(first.number), ScheduleAct::Cancel).unwrap();
    let anew = memory.plan(PEER, "take out the rubbish", "every monday at 7:30");
    assert!(!anew.already && anew.number != first.number, "{anew:?}");
    // A message that is said twice is said twice.
    let message = KeepSchedule {
        kind: ScheduleKind::Message,
        from: "Ada".into(),
        to: CHAT.into(),
        ..word(PEER, "dinner is ready", "")
    };
    let mut kept = || memory.keep_schedule(asker(RoleName::Policyd), &message).unwrap().0[0].number;
    assert_ne!(kept(), kept());
}

#[test]
fn redacted_reminder_is_forgotten_and_does_not_fire() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.plan(CHAT, "the secret appointment at the clinic", "in 1 minute");
    let seq = memory.chronicle().head().seq;
    memory.redact(asker(RoleName::Policyd), &Redact { seq, why: "asked to".into() }).unwrap();
    memory.flush().unwrap();
    assert_eq!(memory.planned(CHAT), Vec::new());
    instance.later(DAY_MS);
    memory.next_firing(door(1), &ANYBODY).unwrap();
    assert_eq!(memory.due_for(1, ""), None);
    drop(memory);
    let folder = instance.dir.path().join(".runtime");
    for name in ["schedules.sqlite", "schedules.sqlite-wal"] {
        let bytes = std::fs::read(folder.join(name)).unwrap_or_default();
        assert!(!bytes.windows(6).any(|part| part == b"clinic"), "{name}");
    }
}

#[test]
fn due_times_follow_the_time_zone_of_the_household() {
    let instance = Instance::new();
    let user = instance.dir.path().join("workspace/USER.md");
    std::fs::write(&user, "- Time zone: Europe/Rome\n").unwrap();
    let mut memory = instance.open();
    memory.look_at_files().unwrap();
    let made = memory.plan(CHAT, "call", "tomorrow at 9");
    assert!(made.next[0].ends_with("T09:00:00+02:00"), "{made:?}");
    let at = memory.next_firing(door(1), &ANYBODY).unwrap().at_ms.unwrap();
    std::fs::write(&user, "- Time zone: America/New_York\n").unwrap();
    memory.look_at_files().unwrap();
    assert_eq!(memory.firing_news().and_then(|news| news.at_ms), Some(at + 6 * 60 * MINUTE));
}

/// What happens to the household.
#[derive(Debug, Clone)]
enum Step {
    Minutes(u64),
    Take,
    End(bool),
    DoorDies,
    MemoryDies,
    TableLost,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..200_u64).prop_map(Step::Minutes),
        4 => Just(Step::Take),
        4 => any::<bool>().prop_map(Step::End),
        1 => Just(Step::DoorDies),
        1 => Just(Step::MemoryDies),
        1 => Just(Step::TableLost),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_due_time_is_lost_doubled_or_early_whatever_dies(steps in steps()) {
        let instance = Instance::new();
        let mut memory = instance.open();
        let mut run = 1;
        memory.plan(CHAT, "hourly", "every hour");
        memory.plan(CHAT, "once", "in 90 minutes");
        memory.next_firing(door(run), &ANYBODY).unwrap();
        let mut open: Option<Firing> = None;
        let mut given: Vec<(u64, String)> = Vec::new();
        for step in steps {
            match step {
                Step::Minutes(minutes) => instance.later(minutes * MINUTE),
                Step::Take if open.is_none() => {
                    open = memory.due_for(run, "");
                    memory.flush().unwrap();
                    if let Some(firing) = &open {
                        let key = (firing.number, firing.key.clone());
                        let known = given.contains(&key);
                        prop_assert_eq!(firing.again, known, "given twice only as such: {:?}", firing);
                        given.push(key);
                        let civil: jiff::civil::DateTime = firing.key.parse().unwrap();
                        let due = civil.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp().as_millisecond();
                        prop_assert!(u64::try_from(due).unwrap() <= instance.clock.0.get(), "early: {:?}", firing);
                    }
                }
                Step::End(sure) => {
                    if let Some(firing) = open.take() {
                        memory.end(run, &firing, if sure { FiringEnd::Delivered } else { FiringEnd::Unsure });
                    }
                }
                Step::DoorDies => {
                    run += 1;
                    open = None;
                    memory.next_firing(door(run), &ANYBODY).unwrap();
                }
                Step::MemoryDies | Step::TableLost => {
                    drop(memory);
                    if matches!(step, Step::TableLost) {
                        for name in ["schedules.sqlite", "schedules.sqlite-wal"] {
                            let _ = std::fs::remove_file(instance.dir.path().join(".runtime").join(name));
                        }
                    }
                    memory = instance.open();
                    run += 1;
                    open = None;
                    memory.next_firing(door(run), &ANYBODY).unwrap();
                }
                Step::Take => {}
            }
        }
        // In the end everything that was due is given.
        instance.later(2 * DAY_MS);
        run += 1;
        memory.next_firing(door(run), &ANYBODY).unwrap();
        while let Some(firing) = memory.due_for(run, "") {
            given.push((firing.number, firing.key.clone()));
            memory.end(run, &firing, FiringEnd::Delivered);
        }
        prop_assert!(given.iter().any(|(number, _)| *number == 2), "the one that fires once was given");
        let left = memory.planned(CHAT);
        prop_assert_eq!(left.len(), 1);
        prop_assert!(memory.next_firing(door(run), &ANYBODY).unwrap().at_ms.unwrap() > instance.clock.0.get());
    }
}

fn member(name: &str, principals: &[&str]) -> Member {
    let principals = principals.iter().map(|one| (*one).to_owned()).collect();
    Member {
        quiet: None,
        channel: None,
        name: name.to_owned(),
        role: Role::Adult,
        also: Vec::new(),
        principals,
        accounts: Vec::new(),
    }
}

#[test]
fn message_is_due_at_once_for_its_person_and_says_who_sent_it() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.household(household_of(vec![member("Anna", &[PEER]), member("Marco", &[CHAT])])).unwrap();
    let message = KeepSchedule {
        to: CHAT.to_owned(),
        from: "Anna".to_owned(),
        kind: ScheduleKind::Message,
        told_in: Lang::It,
        ..word(PEER, "dinner is ready", "")
    };
    let sent = memory.keep_schedule(asker(RoleName::Policyd), &message).unwrap().0.remove(0);
    assert_eq!((sent.person.as_str(), sent.kind), ("Marco", ScheduleKind::Message));
    memory.next_firing(door(1), &ANYBODY).unwrap();
    let due = memory.due_for(1, "").unwrap();
    assert_eq!(
        (due.to.as_str(), due.from.as_str(), due.kind, due.lang),
        (CHAT, "Anna", ScheduleKind::Message, Lang::It)
    );
    assert_eq!((due.due.as_str(), due.missed, due.again), ("", 0, false));
    memory.end(1, &due, FiringEnd::Delivered);
    assert_eq!((memory.due_for(1, ""), memory.planned(PEER)), (None, Vec::new()));
    // One that waited says since when.
    memory.keep_schedule(asker(RoleName::Policyd), &message).unwrap();
    instance.later(10 * MINUTE);
    memory.next_firing(door(1), &ANYBODY).unwrap();
    assert!(!memory.due_for(1, "").unwrap().due.is_empty());
    let timed = KeepSchedule { when: "tomorrow".to_owned(), ..message };
    assert_eq!(no(memory.keep_schedule(asker(RoleName::Policyd), &timed)), "schedule.form");
}

#[test]
fn person_changes_what_is_planned_on_all_own_channels_and_no_other() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.plan(PEER, "call the dentist", "tomorrow at 9");
    memory.plan(CHAT, "water the plants", "tomorrow at 10");
    memory.plan("telegram:8", "feed the cat", "tomorrow at 11");
    assert_eq!(memory.planned(PEER).len(), 1, "nobody has said that the two are one person");
    memory.household(household_of(vec![member("Anna", &[PEER, CHAT]), member("Luca", &["telegram:8"])])).unwrap();
    let what = |all: Vec<ScheduleView>| all.into_iter().map(|one| one.what).collect::<Vec<_>>();
    assert_eq!(what(memory.planned(CHAT)), ["call the dentist", "water the plants"]);
    assert_eq!(what(memory.planned("telegram:8")), ["feed the cat"]);
    let cancelled = memory.change(CHAT, Which::Called("dentist".into()), ScheduleAct::Cancel).unwrap();
    assert_eq!(what(cancelled), ["call the dentist"]);
    assert_eq!(no(memory.change(CHAT, Which::Called("cat".into()), ScheduleAct::Cancel)), "schedule.unknown");
    let two = household_of(vec![member("Anna", &[PEER]), member("Luca", &[PEER])]);
    assert_eq!(no(memory.household(two)), "people.form");
}

#[test]
fn timers_and_alarms_are_meant_apart_from_other_reminders() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.plan(PEER, "call the dentist", "tomorrow at 9");
    let change = |memory: &mut Memory, which: Which| {
        let change = ScheduleChange { which, act: ScheduleAct::Cancel };
        let word = ChangeSchedules { principal: PEER.to_owned(), change, lang: Lang::En };
        memory.change_schedules(asker(RoleName::Policyd), &word).map(|list| list.0)
    };
    assert_eq!(no(change(&mut memory, Which::Timers)), "schedule.unknown");
    assert_eq!(no(change(&mut memory, Which::Alarms)), "schedule.unknown");
    memory.plan(PEER, "the pasta", "in 10 minutes");
    let names = |list: Vec<ScheduleView>| list.into_iter().map(|one| one.what).collect::<Vec<_>>();
    assert_eq!(names(change(&mut memory, Which::Timer).unwrap()), ["the pasta"], "the only one that runs");
    memory.plan(PEER, "the pasta", "in 10 minutes");
    memory.plan(PEER, "timer", "15 minutes");
    assert_eq!(names(change(&mut memory, Which::Timer).unwrap()), ["timer"], "of several, the one that is called so");
    memory.plan(PEER, "the pizza", "in 20 minutes");
    assert_eq!(no(change(&mut memory, Which::Timer)), "schedule.several");
    memory.plan(PEER, "wake me up", "tomorrow at 7:00");
    assert_eq!(names(change(&mut memory, Which::Timers).unwrap()), ["the pasta", "the pizza"]);
    assert_eq!(names(change(&mut memory, Which::Alarms).unwrap()), ["wake me up"]);
    assert_eq!(names(memory.planned(PEER)), ["call the dentist"]);
}

#[test]
fn reminder_comes_earlier_by_what_the_words_say() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.plan(PEER, "call", "tomorrow at 9:00");
    let earlier = |memory: &mut Memory, by: &str| {
        let change = ScheduleChange { which: Which::Only, act: ScheduleAct::Earlier(vec![by.to_owned()]) };
        let word = ChangeSchedules { principal: PEER.to_owned(), change, lang: Lang::En };
        memory.change_schedules(asker(RoleName::Policyd), &word).map(|list| list.0[0].told.clone())
    };
    assert_eq!(earlier(&mut memory, "an hour").unwrap(), "tomorrow at 8:00");
    assert_eq!(no(earlier(&mut memory, "two weeks")), "schedule.past");
    assert_eq!(no(earlier(&mut memory, "soup")), "schedule.time");
}

#[test]
fn what_others_send_waits_for_the_end_of_quiet_hours() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.next_firing(door(1), &ANYBODY).unwrap();
    let hour = |memory: &mut Memory| {
        let made = memory.plan(CHAT, "x", "in 1 hour").next[0].clone();
        made[11..13].parse::<u64>().unwrap()
    };
    let now = (hour(&mut memory) + 23) % 24;
    let quiet = Quiet::read(&format!("{now}:00-{}:00", (now + 2) % 24)).unwrap();
    let night = |quiet: Option<Quiet>| household_of(vec![Member { quiet, ..member("Marco", &[CHAT]) }]);
    memory.household(night(Some(quiet))).unwrap();
    let message = KeepSchedule {
        to: CHAT.to_owned(),
        from: "Anna".to_owned(),
        kind: ScheduleKind::Message,
        ..word(PEER, "dinner is ready", "")
    };
    let sent = memory.keep_schedule(asker(RoleName::Policyd), &message).unwrap().0.remove(0);
    assert!(sent.held.contains(&format!("{:02}:00:00", (now + 2) % 24)), "{}", sent.held);
    assert!(memory.due_for(1, "").is_none(), "it is quiet");
    let urgent = KeepSchedule { what: "fire".into(), urgent: true, ..message.clone() };
    let sent = memory.keep_schedule(asker(RoleName::Policyd), &urgent).unwrap().0.remove(0);
    assert_eq!(sent.held, "", "what the telos calls an emergency waits for no morning");
    assert!(memory.due_for(1, "").is_some_and(|firing| firing.what == "fire"));
    let here = memory.due_for(1, CHAT);
    assert!(here.is_some_and(|firing| firing.what == "dinner is ready"), "who speaks is awake");
    memory.keep_schedule(asker(RoleName::Policyd), &KeepSchedule { what: "come".into(), ..message.clone() }).unwrap();
    // What a person has asked for comes at its time, and what Metnos itself says.
    memory.plan(CHAT, "own", "in 1 minute");
    instance.clock.advance(61_000);
    assert!(memory.due_for(1, "").is_some_and(|firing| firing.what == "own"));
    let own = KeepSchedule { from: String::new(), what: "a seal".into(), ..message.clone() };
    memory.keep_schedule(asker(RoleName::Policyd), &own).unwrap();
    assert!(memory.due_for(1, "").is_some_and(|firing| firing.what == "a seal"));
    assert!(memory.due_for(1, "").is_none());
    let next = memory.next_firing(door(1), &ANYBODY).unwrap().at_ms.unwrap();
    assert!(next > instance.clock.now_ms() && next <= instance.clock.now_ms() + 2 * 3_600_000);
    instance.clock.advance(2 * 3_600_000);
    let told: Vec<String> = std::iter::from_fn(|| memory.due_for(1, "")).map(|firing| firing.what).collect();
    assert!(told.contains(&"come".to_owned()), "{told:?}");
    memory.keep_schedule(asker(RoleName::Policyd), &KeepSchedule { what: "late".into(), ..message }).unwrap();
    memory.household(night(None)).unwrap();
    assert!(memory.due_for(1, "").is_some_and(|firing| firing.what == "late"), "no quiet hours any more");
}

#[test]
fn what_nobody_takes_where_it_was_asked_for_is_sent_to_the_persons_chat() {
    const PAGE: &str = "http:page";
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.next_firing(door(1), &ANYBODY).unwrap();
    assert!(!memory.plan(PAGE, "alone", "in 1 minute").in_chat);
    memory.household(household_of(vec![member("Marco", &[PAGE, CHAT])])).unwrap();
    assert!(memory.plan(PAGE, "stretch", "in 2 minutes").in_chat);
    memory.plan(PAGE, "walk", "in 20 minutes");
    instance.clock.advance(61_000);
    assert!(memory.due_for(1, "").is_none(), "who is on the page comes first");
    let next = memory.next_firing(door(1), &ANYBODY).unwrap().at_ms.unwrap();
    assert!(next <= instance.clock.now_ms() + TAKEN_HERE_MS, "the door looks again in a moment");
    instance.clock.advance(TAKEN_HERE_MS);
    let sent = memory.due_for(1, "").unwrap();
    assert_eq!((sent.what.as_str(), sent.to.as_str(), sent.due.as_str()), ("alone", CHAT, ""));
    assert!(memory.due_for(1, PAGE).is_none(), "it is on its way to the chat");
    memory.end(1, &sent, FiringEnd::Delivered);
    // Whoever is on the page gets it there, and only there.
    instance.clock.advance(60_000);
    let here = memory.due_for(1, PAGE).unwrap();
    assert_eq!((here.what.as_str(), here.to.as_str()), ("stretch", PAGE));
    assert!(memory.due_for(1, "").is_none());
    // The page went away with it: the chat gets it, and is told that it may come twice.
    memory.end(1, &here, FiringEnd::Unsure);
    instance.clock.advance(61_000 + TAKEN_HERE_MS);
    let again = memory.due_for(1, "").unwrap();
    assert_eq!((again.what.as_str(), again.to.as_str(), again.again), ("stretch", CHAT, true));
    memory.end(1, &again, FiringEnd::Delivered);
    // The preferred channel: the chat at once, or the page alone.
    let wants = |channel| household_of(vec![Member { channel: Some(channel), ..member("Marco", &[PAGE, CHAT]) }]);
    memory.household(wants(Channel::Telegram)).unwrap();
    memory.plan(PAGE, "soup", "in 1 minute");
    instance.clock.advance(61_000);
    assert!(memory.due_for(1, PAGE).is_none(), "the chat comes first");
    let at_once = memory.due_for(1, "").unwrap();
    assert_eq!((at_once.what.as_str(), at_once.to.as_str()), ("soup", CHAT));
    memory.end(1, &at_once, FiringEnd::Delivered);
    memory.household(wants(Channel::Http)).unwrap();
    assert!(!memory.plan(PAGE, "cake", "in 1 minute").in_chat);
    instance.clock.advance(61_000 + TAKEN_HERE_MS);
    assert!(memory.due_for(1, "").is_none(), "not in the chat");
    let here = memory.due_for(1, PAGE).unwrap();
    assert_eq!(here.what, "cake");
    memory.end(1, &here, FiringEnd::Delivered);
    // Without a chat it waits for the person.
    memory.household(household_of(vec![member("Marco", &[PAGE])])).unwrap();
    instance.clock.advance(1_200_000);
    assert!(memory.due_for(1, "").is_none());
    assert!(memory.due_for(1, PAGE).is_some_and(|firing| firing.what == "walk"));
}

#[test]
fn nothing_of_others_is_sent_before_quiet_hours_are_known() {
    let instance = Instance::new();
    let mut memory = instance.try_open().unwrap();
    memory.next_firing(door(1), &ANYBODY).unwrap();
    let message = KeepSchedule {
        to: CHAT.to_owned(),
        from: "Anna".to_owned(),
        kind: ScheduleKind::Message,
        ..word(PEER, "dinner is ready", "")
    };
    memory.keep_schedule(asker(RoleName::Policyd), &message).unwrap();
    assert!(memory.due_for(1, "").is_none());
    memory.household(household_of(Vec::new())).unwrap();
    assert!(memory.due_for(1, "").is_some());
}

#[test]
fn reminder_fires_now_as_well_and_stays_as_it_is() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let daily = memory.plan(CHAT, "stretch", "every day at 9:00");
    memory.next_firing(door(1), &ANYBODY).unwrap();
    assert!(memory.due_for(1, "").is_none());
    let run = |memory: &mut Memory, principal: &str| {
        let change = ScheduleChange { which: Which::Number(daily.number), act: ScheduleAct::RunNow };
        let word = ChangeSchedules { principal: principal.to_owned(), change, lang: Lang::En };
        memory.change_schedules(asker(RoleName::Policyd), &word).map(|list| list.0)
    };
    assert_eq!(no(run(&mut memory, "")), "schedule.now", "at the machine, nothing of others");
    run(&mut memory, CHAT).unwrap();
    let firing = memory.due_for(1, "").unwrap();
    assert_eq!((firing.what.as_str(), firing.due.as_str()), ("stretch", ""));
    memory.end(1, &firing, FiringEnd::Delivered);
    assert!(memory.due_for(1, "").is_none());
    assert_eq!(memory.planned(CHAT)[0].next, daily.next);
}
