//! Tests keys and instants in zones whose clocks go forward and back.

use jiff::Zoned;
use jiff::civil::date;
use proptest::prelude::*;

use super::*;

const ROME: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
const NEW_YORK: &str = "EST5EDT,M3.2.0,M11.1.0";
const LORD_HOWE: &str = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";
const APIA: &str = "<+13>-13";
/// Morocco is an hour ahead but in Ramadan, which no rule of POSIX can say.
const CASABLANCA: &str = "<+01>-1";
const DUBLIN: &str = "IST-1GMT0,M10.5.0,M3.5.0/1";
const ZONES: [&str; 6] = [ROME, NEW_YORK, LORD_HOWE, APIA, CASABLANCA, DUBLIN];

fn zone(rule: &str) -> TimeZone {
    TimeZone::posix(rule).unwrap()
}

fn cron(text: &str) -> Cadence {
    Cadence::Cron(text.to_owned())
}

/// The next times: their keys, and their instants in UTC.
fn times(cadence: &Cadence, rule: &str, after: DateTime, most: usize) -> Vec<(String, String)> {
    let zone = zone(rule);
    let next = |due: &Due| cadence.next_due(&zone, due.key);
    let all = std::iter::successors(cadence.next_due(&zone, after), next).take(most);
    all.map(|due| (due.key.to_string(), due.at.to_string())).collect()
}

fn assert_times(cadence: &Cadence, rule: &str, after: DateTime, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(key, at)| ((*key).to_owned(), (*at).to_owned())).collect();
    assert_eq!(times(cadence, rule, after, expected.len()), expected);
}

#[test]
fn key_in_a_gap_is_due_at_its_end() {
    assert_times(
        &cron("30 2 * * *"),
        ROME,
        date(2027, 3, 27).at(12, 0, 0, 0),
        &[("2027-03-28T02:30:00", "2027-03-28T01:00:00Z"), ("2027-03-29T02:30:00", "2027-03-29T00:30:00Z")],
    );
    assert_times(
        &cron("30 2 * * *"),
        NEW_YORK,
        date(2027, 3, 13).at(12, 0, 0, 0),
        &[("2027-03-14T02:30:00", "2027-03-14T07:00:00Z"), ("2027-03-15T02:30:00", "2027-03-15T06:30:00Z")],
    );
    assert_times(
        &cron("15 2 * * *"),
        LORD_HOWE,
        date(2026, 10, 3).at(12, 0, 0, 0),
        &[("2026-10-04T02:15:00", "2026-10-03T15:30:00Z"), ("2026-10-05T02:15:00", "2026-10-04T15:15:00Z")],
    );
}

#[test]
fn keys_of_one_gap_and_its_end_are_one_time() {
    // 2:00 to 2:45 do not exist, and 3:00 is the end of the gap.
    assert_times(
        &cron("*/15 * * * *"),
        ROME,
        date(2027, 3, 28).at(1, 30, 0, 0),
        &[
            ("2027-03-28T01:45:00", "2027-03-28T00:45:00Z"),
            ("2027-03-28T03:00:00", "2027-03-28T01:00:00Z"),
            ("2027-03-28T03:15:00", "2027-03-28T01:15:00Z"),
        ],
    );
    // A key that was fired within the gap is not fired again at its end.
    assert_times(
        &cron("*/15 * * * *"),
        ROME,
        date(2027, 3, 28).at(2, 30, 0, 0),
        &[("2027-03-28T03:15:00", "2027-03-28T01:15:00Z")],
    );
    assert_times(
        &cron("10,20 2 * * *"),
        ROME,
        date(2027, 3, 28).at(0, 0, 0, 0),
        &[("2027-03-28T02:20:00", "2027-03-28T01:00:00Z"), ("2027-03-29T02:10:00", "2027-03-29T00:10:00Z")],
    );
}

#[test]
fn key_in_an_overlap_is_due_once_and_early() {
    assert_times(
        &cron("30 2 * * *"),
        ROME,
        date(2026, 10, 24).at(12, 0, 0, 0),
        &[("2026-10-25T02:30:00", "2026-10-25T00:30:00Z"), ("2026-10-26T02:30:00", "2026-10-26T01:30:00Z")],
    );
    assert_times(
        &cron("*/30 * * * *"),
        ROME,
        date(2026, 10, 25).at(2, 0, 0, 0),
        &[("2026-10-25T02:30:00", "2026-10-25T00:30:00Z"), ("2026-10-25T03:00:00", "2026-10-25T02:00:00Z")],
    );
    assert_times(
        &cron("45 1 * * *"),
        LORD_HOWE,
        date(2026, 4, 4).at(12, 0, 0, 0),
        &[("2026-04-05T01:45:00", "2026-04-04T14:45:00Z"), ("2026-04-06T01:45:00", "2026-04-05T15:15:00Z")],
    );
}

#[test]
fn zone_without_changes_has_the_wall_clock_as_it_is() {
    let after = date(2026, 11, 27).at(0, 0, 0, 0);
    assert_times(&cron("30 2 * * *"), APIA, after, &[("2026-11-27T02:30:00", "2026-11-26T13:30:00Z")]);
    assert_times(&cron("30 2 * * *"), CASABLANCA, after, &[("2026-11-27T02:30:00", "2026-11-27T01:30:00Z")]);
}

#[test]
fn overdue_is_the_latest_time_and_counts_the_others() {
    let rome = zone(ROME);
    let daily = cron("0 9 * * *");
    let after = date(2026, 11, 1).at(9, 0, 0, 0);
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    assert_eq!(daily.overdue(&rome, after, at("2026-11-02T07:59:59Z")), None);
    let one = daily.overdue(&rome, after, at("2026-11-02T08:00:00Z")).unwrap();
    assert_eq!((one.latest.key, one.missed), (date(2026, 11, 2).at(9, 0, 0, 0), 0));
    let month = daily.overdue(&rome, after, at("2026-12-01T12:00:00Z")).unwrap();
    assert_eq!((month.latest.key, month.missed), (date(2026, 12, 1).at(9, 0, 0, 0), 29));
    // A clock that went back: nothing is due.
    assert_eq!(daily.overdue(&rome, after, at("2020-01-01T00:00:00Z")), None);
    let minutes = cron("* * * * *").overdue(&rome, after, at("2036-01-01T12:00:30Z")).unwrap();
    assert_eq!((minutes.latest.key, minutes.missed), (date(2036, 1, 1).at(13, 0, 0, 0), MAX_MISSED));
    let once = Cadence::Once(date(2026, 11, 27).at(9, 0, 0, 0));
    let due = once.overdue(&rome, DateTime::MIN, at("2026-11-28T00:00:00Z")).unwrap();
    assert_eq!((due.latest.at, due.missed), (at("2026-11-27T08:00:00Z"), 0));
    assert_eq!(once.overdue(&rome, due.latest.key, at("2026-11-28T00:00:00Z")), None);
}

#[test]
fn period_is_the_distance_to_the_next_time() {
    let rome = zone(ROME);
    let daily = cron("0 9 * * *");
    assert_eq!(daily.period(&rome, date(2026, 11, 27).at(9, 0, 0, 0)), Some(86_400));
    assert_eq!(daily.period(&rome, date(2027, 3, 27).at(9, 0, 0, 0)), Some(82_800));
    assert_eq!(daily.period(&rome, date(2026, 10, 24).at(9, 0, 0, 0)), Some(90_000));
    let once = Cadence::Once(date(2026, 11, 27).at(9, 0, 0, 0));
    assert_eq!(once.period(&rome, date(2026, 11, 27).at(9, 0, 0, 0)), None);
}

#[test]
fn key_of_an_instant_is_past_the_overlap_in_its_second_half() {
    let rome = zone(ROME);
    let key = |text: &str| key_at(&rome, text.parse().unwrap()).unwrap().to_string();
    assert_eq!(key("2026-10-25T00:10:00Z"), "2026-10-25T02:10:00");
    assert_eq!(key("2026-10-25T01:00:00Z"), "2026-10-25T02:59:59");
    assert_eq!(key("2026-10-25T01:10:00Z"), "2026-10-25T02:59:59");
    assert_eq!(key("2026-10-25T02:00:00Z"), "2026-10-25T03:00:00");
    assert_eq!(key("2026-11-27T09:00:00Z"), "2026-11-27T10:00:00");
}

#[test]
fn edges_of_the_calendar_end_the_search() {
    let rome = zone(ROME);
    let daily = cron("0 9 * * *");
    assert_eq!(daily.next_due(&rome, DateTime::MAX), None);
    assert_eq!(daily.overdue(&rome, DateTime::MAX, Timestamp::MAX), None);
    assert!(daily.overdue(&rome, DateTime::MIN, Timestamp::MAX).is_none_or(|all| all.missed == MAX_MISSED));
    let _ = (key_at(&rome, Timestamp::MAX), key_at(&rome, Timestamp::MIN));
}

fn cadences() -> impl Strategy<Value = Cadence> {
    let part = |least: u32, most: u32| {
        prop_oneof![
            Just("*".to_owned()),
            (least..=most).prop_map(|one| one.to_string()),
            (2..=15_u32)
                .prop_map(|step| format!("*/{step}"))
                .prop_filter("step", move |text| { text.trim_start_matches("*/").parse::<u32>().unwrap() <= most }),
        ]
    };
    let crons = (part(0, 59), prop_oneof![part(0, 23), part(1, 3)], part(1, 28), part(0, 6))
        .prop_map(|(minute, hour, day, weekday)| Cadence::Cron(format!("{minute} {hour} {day} * {weekday}")));
    let every = prop_oneof![Just("MINUTELY"), Just("HOURLY"), Just("DAILY"), Just("WEEKLY")];
    let rules = (every, 1..200_i64, 0..1_440_i64).prop_map(|(every, interval, minute)| Cadence::Rule {
        start: date(2026, 1, 1).at(0, 0, 0, 0) + jiff::Span::new().minutes(minute),
        rrule: format!("FREQ={every};INTERVAL={interval}"),
    });
    prop_oneof![3 => crons, 1 => rules]
}

/// A moment near a change of the clocks of some zone, or anywhere in two years.
fn moments() -> impl Strategy<Value = DateTime> {
    let near = prop_oneof![
        Just(date(2026, 10, 25)),
        Just(date(2027, 3, 28)),
        Just(date(2026, 11, 1)),
        Just(date(2027, 3, 14)),
        Just(date(2026, 10, 4)),
        Just(date(2027, 4, 4)),
        (0..730_i64).prop_map(|day| date(2026, 1, 1) + jiff::Span::new().days(day)),
    ];
    (near, -300..300_i64).prop_map(|(day, minute)| day.at(2, 0, 0, 0) + jiff::Span::new().minutes(minute))
}

proptest! {
    #[test]
    fn keys_and_instants_grow_strictly(cadence in cadences(), rule in proptest::sample::select(&ZONES[..]), after in moments()) {
        let zone = zone(rule);
        let (mut key, mut at) = (after, instant(&zone, after).unwrap());
        for _ in 0..50 {
            let Some(due) = cadence.next_due(&zone, key) else { break };
            prop_assert!(due.key > key && due.at > at, "{:?} {} {}", due, key, at);
            // Never before the wall clock shows the key, never later than the end of a gap.
            let shown: Zoned = due.at.to_zoned(zone.clone());
            prop_assert!(shown.datetime() >= due.key);
            prop_assert!(shown.datetime() == due.key || zone.preceding(due.at.checked_add(SignedDuration::from_nanos(1)).unwrap())
                .next().unwrap().timestamp() == due.at);
            (key, at) = (due.key, due.at);
        }
    }

    #[test]
    fn overdue_agrees_with_steps(
        cadence in cadences(),
        rule in proptest::sample::select(&ZONES[..]),
        after in moments(),
        minutes in -60..10_000_i64,
    ) {
        let zone = zone(rule);
        let now = instant(&zone, after).unwrap().checked_add(SignedDuration::from_mins(minutes)).unwrap();
        let mut stepped = None;
        let mut key = after;
        while let Some(due) = cadence.next_due(&zone, key).filter(|due| due.at <= now) {
            let missed = stepped.map_or(0, |before: Overdue| before.missed + 1);
            stepped = Some(Overdue { latest: due, missed });
            key = due.key;
        }
        prop_assert_eq!(cadence.overdue(&zone, after, now), stepped.map(|all| Overdue { missed: all.missed.min(MAX_MISSED), ..all }));
    }

    #[test]
    fn nothing_is_due_early_from_the_key_of_an_instant(
        cadence in cadences(),
        rule in proptest::sample::select(&ZONES[..]),
        near in moments(),
        minutes in 0..180_i64,
    ) {
        let zone = zone(rule);
        let now = instant(&zone, near).unwrap().checked_add(SignedDuration::from_mins(minutes)).unwrap();
        let key = key_at(&zone, now).unwrap();
        if let Some(due) = cadence.next_due(&zone, key) {
            prop_assert!(due.at > now, "{:?} at {}", due, now);
            // And none that is still to come is left out.
            let before = cadence.next_due(&zone, key.checked_sub(jiff::Span::new().hours(5)).unwrap()).unwrap();
            let all = std::iter::successors(Some(before), |due| cadence.next_due(&zone, due.key));
            prop_assert_eq!(all.into_iter().find(|due| due.at > now), Some(due));
        }
    }
}
