//! Any text as a stored schedule: it is refused or can be followed, its times and instants only grow, and it can be told.
#![no_main]

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use libfuzzer_sys::fuzz_target;
use metnos_schedule::{Cadence, Language, MAX_MISSED, key_at};

const ZONES: [&str; 5] = [
    "UTC0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
    "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
];

/// The times after one are later, each after the one before.
fn times(cadence: &Cadence, from: DateTime) {
    let mut key = from;
    for _ in 0..4 {
        let Some(next) = cadence.next_after(key) else { break };
        assert!(next > key, "{next} is after {key}");
        key = next;
    }
}

/// And so are their instants; what is overdue is not after now.
fn instants(cadence: &Cadence, zone: &TimeZone, now: Timestamp) {
    let Some(from) = key_at(zone, now) else { return };
    let (mut key, mut at) = (from, now);
    for _ in 0..3 {
        let Some(due) = cadence.next_due(zone, key) else { break };
        assert!(due.key > key && due.at > at, "{due:?} is after {key} and {at}");
        assert!(cadence.period(zone, due.key).is_none_or(|seconds| seconds > 0));
        (key, at) = (due.key, due.at);
    }
    for days in [0, 1, 40, 400] {
        let Ok(later) = now.checked_add(SignedDuration::from_hours(24 * days)) else { break };
        if let Some(overdue) = cadence.overdue(zone, from, later) {
            assert!(overdue.latest.key > from && overdue.latest.at <= later && overdue.missed <= MAX_MISSED);
        }
    }
}

fuzz_target!(|input: (&str, u32)| {
    let (text, at) = input;
    let Ok(cadence) = serde_json::from_str::<Cadence>(text) else { return };
    let again = serde_json::to_string(&cadence).expect("a cadence can be written");
    assert_eq!(serde_json::from_str::<Cadence>(&again).expect("and read"), cadence);
    let moments = [i64::from(at), 1_806_193_800, 1_792_890_600, -377_705_023_201, 253_402_207_200];
    let moments = moments.map(|second| Timestamp::from_second(second).expect("within the calendar"));
    let valid = cadence.validate().is_ok();
    for now in moments {
        let wall = TimeZone::UTC.to_datetime(now);
        assert!(valid || cadence.next_after(wall).is_none(), "what is not valid has no times");
        for language in [Language::English, Language::Italian] {
            let told = cadence.told(language, wall);
            assert!(!told.is_empty() && !told.contains('\n'), "{told:?} is a line");
        }
        if valid {
            times(&cadence, wall);
            for rule in ZONES {
                instants(&cadence, &TimeZone::posix(rule).expect("a rule"), now);
            }
        }
    }
    times(&cadence, DateTime::MIN);
    times(&cadence, DateTime::MAX);
});
