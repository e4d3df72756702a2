//! Schedules among a hundred thousand, in this process: how long a start takes more, and what it costs to find what is due, to
//! begin it and to know what comes next.

use metnos_memoryd::chronicle::event::{Draft, Event, EventType, GENESIS};
use metnos_memoryd::chronicle::payload::ScheduleEvent;
use metnos_memoryd::schedules::Schedules;
use metnos_memoryd::schedules::store::{ScheduleStore, act};
use metnos_proto::ids::SessionId;
use metnos_proto::msg::common::Trust;
use metnos_proto::role::RoleName;

use crate::stats::{Table, Times, text};

const COUNT: u64 = 100_000;
const FIRED: usize = 400;
/// 2026-04-25T08:12:00Z.
const NOW: u64 = 1_777_104_720_000;
const ROME: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

fn event(seq: u64, said: &ScheduleEvent) -> Event {
    let draft = Draft {
        parent: None,
        emitter: RoleName::Gatewayd,
        session: SessionId::from_bytes([1; 16]),
        turn_id: None,
        trace_id: None,
        kind: EventType::ScheduleEvent,
        channel: None,
        peer: format!("telegram:{}", said.number % 500),
        trust: Trust::System,
        payload: said.encode(),
    };
    Event::seal(draft, seq, GENESIS, NOW)
}

fn made(number: u64) -> ScheduleEvent {
    let (minute, hour, weekday) = (number % 60, number / 60 % 24, number % 7);
    let cadence = if number.is_multiple_of(2) {
        serde_json::json!({ "cron": format!("{minute} {hour} * * {weekday}") })
    } else {
        serde_json::json!({ "once": format!("2026-{:02}-{:02}T{hour:02}:{minute:02}:00", 5 + number % 8, 1 + number % 28) })
    };
    ScheduleEvent {
        cadence,
        key: "2026-04-25T10:12:00".into(),
        lang: "en".into(),
        to: format!("telegram:{}", number % 500),
        what: format!("do what is number {number}"),
        when: "some day".into(),
        ..ScheduleEvent::new(act::MADE, number)
    }
}

/// Measures.
pub fn measure(table: &mut Table) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("schedules.sqlite");
    let keys = crate::memory::keys(folder.path());
    let mut store = ScheduleStore::open(&path, &keys).unwrap();
    for first in (1..=COUNT).step_by(1_000) {
        let events: Vec<Event> = (first..first + 1_000).map(|number| event(number, &made(number))).collect();
        store.apply(&events, first + 999).unwrap();
    }
    drop(store);
    let zone = jiff::tz::TimeZone::posix(ROME).unwrap();
    let (mut starting, mut finding) = (Times::default(), Times::default());
    for _ in 0..5 {
        starting.time(|| {
            let mut schedules = Schedules::open(&path, &keys).unwrap();
            schedules.in_zone("Europe/Rome", zone.clone()).unwrap();
            schedules.next_ms().unwrap()
        });
    }
    let mut schedules = Schedules::open(&path, &keys).unwrap();
    schedules.in_zone("Europe/Rome", zone).unwrap();
    schedules.door_is("a door").unwrap();
    for round in 0..FIRED {
        let later = NOW + 30 * 86_400_000 + round as u64;
        finding.time(|| schedules.due("", later).unwrap().unwrap());
    }
    table.row("a start with 100,000 schedules, more", text(starting.median()), String::new(), "≤ 100 ms");
    table.times("what is due next among 100,000 schedules", &finding, String::new(), "≤ 1 ms");
}
