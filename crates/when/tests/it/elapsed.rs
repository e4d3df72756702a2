//! Lengths across the changes of clocks: hours and less are elapsed time, days and longer are counted on the clock.

use jiff::civil::{DateTime, date};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use metnos_when::{Context, Kind, Language, Reading, read};
use proptest::prelude::*;

const ROME: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
const NEW_YORK: &str = "EST5EDT,M3.2.0,M11.1.0";
/// Its clock goes forward by half an hour.
const LORD_HOWE: &str = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";
/// Its clock goes forward over the last hour of a day.
const NUUK: &str = "<-02>2<-01>,M3.5.0/-1,M10.5.0/0";
const ZONES: [&str; 4] = [ROME, NEW_YORK, LORD_HOWE, NUUK];

/// What a text means at an instant.
fn at(zone: &str, now: &str, text: &str) -> Reading {
    let now = now.parse::<Timestamp>().unwrap().to_zoned(TimeZone::posix(zone).unwrap());
    let italian = ["tra", "fa", "ore", "ogni"].iter().any(|word| text.split(' ').any(|one| one == *word));
    read(text, &Context::new(now, if italian { Language::Italian } else { Language::English }))
}

/// A moment on its clock, with its distance from UTC.
fn shown(moment: Option<&Zoned>) -> String {
    moment.map_or_else(String::new, |at| at.strftime("%m-%d %H:%M %:z").to_string())
}

#[track_caller]
fn assert_start(zone: &str, now: &str, cases: &[(&str, &str)]) {
    for (text, start) in cases {
        assert_eq!(shown(at(zone, now, text).start.as_ref()), *start, "{text}");
    }
}

#[track_caller]
fn assert_stretch(zone: &str, now: &str, cases: &[(&str, &str, &str)]) {
    for (text, start, end) in cases {
        let reading = at(zone, now, text);
        assert_eq!(
            (shown(reading.start.as_ref()).as_str(), shown(reading.end.as_ref()).as_str()),
            (*start, *end),
            "{text}"
        );
    }
}

#[test]
fn hours_are_elapsed_time_when_the_clock_goes_forward() {
    // 1:30 in Rome, half an hour before the change.
    assert_start(
        ROME,
        "2027-03-28T00:30:00Z",
        &[
            ("in an hour", "03-28 03:30 +02:00"),
            ("tra un'ora", "03-28 03:30 +02:00"),
            ("in 30 minutes", "03-28 03:00 +02:00"),
            ("in 3 hours", "03-28 05:30 +02:00"),
            ("2 hours ago", "03-27 23:30 +01:00"),
            ("an hour from now", "03-28 03:30 +02:00"),
            ("in a day and 2 hours", "03-29 03:30 +02:00"),
            ("half an hour after 1:50am", "03-28 03:20 +02:00"),
            ("two hours before 4am", "03-28 01:00 +01:00"),
        ],
    );
    assert_start(
        NEW_YORK,
        "2027-03-14T06:30:00Z",
        &[("in an hour", "03-14 03:30 -04:00"), ("in 90 minutes", "03-14 04:00 -04:00")],
    );
    assert_start(
        LORD_HOWE,
        "2026-10-03T15:15:00Z",
        &[
            ("in an hour", "10-04 03:15 +11:00"),
            ("in 10 minutes", "10-04 01:55 +10:30"),
            ("in 20 minutes", "10-04 02:35 +11:00"),
        ],
    );
}

#[test]
fn hours_are_elapsed_time_when_the_clock_goes_back() {
    // 2:30 in Rome for the first time, and for the second.
    assert_start(
        ROME,
        "2026-10-25T00:30:00Z",
        &[
            ("in 20 minutes", "10-25 02:50 +02:00"),
            ("in an hour", "10-25 02:30 +01:00"),
            ("tra due ore", "10-25 03:30 +01:00"),
        ],
    );
    assert_start(
        ROME,
        "2026-10-25T01:30:00Z",
        &[
            ("now", "10-25 02:30 +01:00"),
            ("in 20 minutes", "10-25 02:50 +01:00"),
            ("in an hour", "10-25 03:30 +01:00"),
            ("40 minutes ago", "10-25 02:50 +02:00"),
            ("today at 2:45am", "10-25 02:45 +01:00"),
            ("today at 2:15am", "10-25 02:15 +02:00"),
        ],
    );
    assert_start(NEW_YORK, "2026-11-01T05:30:00Z", &[("in an hour", "11-01 01:30 -05:00")]);
    assert_start(
        LORD_HOWE,
        "2026-04-04T14:45:00Z",
        &[("in half an hour", "04-05 01:45 +10:30"), ("in an hour", "04-05 02:15 +10:30")],
    );
}

#[test]
fn days_keep_the_time_of_day_and_come_before_hours() {
    // 2:30 on the day before the change: that time does not exist a day later.
    assert_start(
        ROME,
        "2027-03-27T01:30:00Z",
        &[
            ("tomorrow at 2:30am", "03-28 03:00 +02:00"),
            ("in a day and 2 hours", "03-28 05:00 +02:00"),
            ("in 26 hours", "03-28 05:30 +02:00"),
            ("in 2 days and 2 hours", "03-29 04:30 +02:00"),
        ],
    );
    // 22:30 on the day before the other one.
    assert_start(
        ROME,
        "2026-10-24T20:30:00Z",
        &[
            ("in a day", "10-25 22:00 +01:00"),
            ("in a day and 2 hours", "10-26 00:30 +01:00"),
            ("in 24 hours", "10-25 21:30 +01:00"),
            ("a day and 2 hours ago", "10-23 20:30 +02:00"),
        ],
    );
}

#[test]
fn stretches_of_hours_are_elapsed_time() {
    assert_stretch(
        ROME,
        "2027-03-28T00:30:00Z",
        &[
            ("within two hours", "03-28 01:30 +01:00", "03-28 04:30 +02:00"),
            ("in the next 2 hours", "03-28 01:30 +01:00", "03-28 04:30 +02:00"),
            ("the next 2 hours", "03-28 03:00 +02:00", "03-28 05:00 +02:00"),
            ("today at 1am for 2 hours", "03-28 01:00 +01:00", "03-28 04:00 +02:00"),
            ("today at 1am for 2 days", "03-28 01:00 +01:00", "03-30 01:00 +02:00"),
            ("after 2 hours", "03-28 04:30 +02:00", ""),
            // Times of day are those of the clock.
            ("today from 1am to 4am", "03-28 01:00 +01:00", "03-28 04:00 +02:00"),
        ],
    );
    assert_stretch(
        ROME,
        "2026-10-25T01:30:00Z",
        &[
            ("the last 2 hours", "10-25 01:00 +02:00", "10-25 02:00 +01:00"),
            ("within two hours", "10-25 02:30 +01:00", "10-25 04:30 +01:00"),
            ("by 2:50am", "10-25 02:30 +01:00", "10-25 02:50 +01:00"),
        ],
    );
    // A stretch that the clock leaves out is none.
    assert_eq!(at(ROME, "2027-03-27T09:00:00Z", "tomorrow from 2:10am to 2:50am").kind, Kind::None);
}

#[test]
fn recurrence_whose_first_time_does_not_exist_keeps_its_time() {
    let first = |zone, now, text, rrule: &str, start: &str, counted_from: Option<DateTime>| {
        let reading = at(zone, now, text);
        assert_eq!(reading.rrule.as_deref(), Some(rrule), "{text}");
        assert_eq!((shown(reading.start.as_ref()).as_str(), reading.counted_from), (start, counted_from), "{text}");
        reading
    };
    let text = "every two weeks on Sunday at 2:30am";
    let rule = "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;BYHOUR=2;BYMINUTE=30";
    let begin = Some(date(2027, 3, 28).at(2, 30, 0, 0));
    let reading = first(ROME, "2027-03-27T09:00:00Z", text, rule, "03-28 03:00 +02:00", begin);
    assert_eq!(reading.assumed, ["gap"]);
    let json = serde_json::to_value(&reading).unwrap();
    assert_eq!(json["counted_from"], "2027-03-28T02:30:00");
    let begin = Some(date(2027, 3, 14).at(2, 30, 0, 0));
    first(NEW_YORK, "2027-03-13T15:00:00Z", text, rule, "03-14 03:00 -04:00", begin);
    let (text, rule) = ("every 2 days at 2:15am", "FREQ=DAILY;INTERVAL=2;BYHOUR=2;BYMINUTE=15");
    let begin = Some(date(2026, 10, 4).at(2, 15, 0, 0));
    first(LORD_HOWE, "2026-10-03T12:00:00Z", text, rule, "10-04 02:30 +11:00", begin);
    // The end of the gap is on another day.
    let (text, rule) = ("every 2 days at 23:30", "FREQ=DAILY;INTERVAL=2;BYHOUR=23;BYMINUTE=30");
    let begin = Some(date(2027, 3, 27).at(23, 30, 0, 0));
    first(NUUK, "2027-03-27T15:00:00Z", text, rule, "03-28 00:00 -01:00", begin);
    // All of the first time is left out.
    let reading = at(ROME, "2027-03-27T09:00:00Z", "every day from 2:10am to 2:50am");
    assert_eq!(shown(reading.end.as_ref()), "03-28 03:40 +02:00");
    // A time that exists says nothing more.
    let rule = "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU";
    first(ROME, "2026-11-24T09:00:00Z", "every two weeks on Sunday at 3:30am", rule, "11-29 03:30 +01:00", None);
}

#[test]
fn recurrence_of_odd_hours_begins_after_as_many_real_ones() {
    assert_start(
        ROME,
        "2027-03-28T00:30:00Z",
        &[
            ("every 5 hours", "03-28 07:30 +02:00"),
            ("every 90 minutes", "03-28 04:00 +02:00"),
            ("every hour", "03-28 03:00 +02:00"),
        ],
    );
}

/// An instant of a whole minute near a change of some clock, or anywhere in three years.
fn instants() -> impl Strategy<Value = Timestamp> {
    let near = prop_oneof![
        Just("2027-03-28T01:00:00Z"),
        Just("2026-10-25T01:00:00Z"),
        Just("2027-03-14T07:00:00Z"),
        Just("2026-11-01T06:00:00Z"),
        Just("2026-10-03T15:30:00Z"),
        Just("2026-04-04T15:00:00Z"),
    ];
    let near = (near, -300..300_i64).prop_map(|(at, minutes)| (at.parse::<Timestamp>().unwrap(), minutes));
    let any = (0..3 * 366 * 1_440_i64).prop_map(|minutes| ("2026-01-01T00:00:00Z".parse().unwrap(), minutes));
    prop_oneof![near, any].prop_map(|(at, minutes)| at + SignedDuration::from_mins(minutes))
}

proptest! {
    #[test]
    fn distance_to_the_start_is_the_length(
        zone in proptest::sample::select(&ZONES[..]),
        now in instants(),
        hours in 0..60_i64,
        minutes in 1..60_i64,
    ) {
        let now = now.to_string();
        let from = now.parse::<Timestamp>().unwrap();
        let far = SignedDuration::from_mins(hours * 60 + minutes);
        let whole = SignedDuration::from_hours(hours + 1);
        for (text, expected) in [
            (format!("in {hours} hours and {minutes} minutes"), from + far),
            (format!("tra {} ore", hours + 1), from + whole),
            (format!("{} ore fa", hours + 1), from - whole),
            (format!("{} minutes from now", hours * 60 + minutes), from + far),
            (format!("{hours} hours and {minutes} minutes ago"), from - far),
        ] {
            let reading = at(zone, &now, &text);
            prop_assert_eq!(reading.start.map(|start| start.timestamp()), Some(expected), "{} at {}", text, now);
        }
        let within = at(zone, &now, &format!("within {} hours", hours + 1));
        prop_assert_eq!(within.start.map(|start| start.timestamp()), Some(from));
        prop_assert_eq!(within.end.map(|end| end.timestamp()), Some(from + whole));
    }

    #[test]
    fn days_keep_the_time_of_day(zone in proptest::sample::select(&ZONES[..]), now in instants(), days in 1..40_i64) {
        let zoned = now.to_zoned(TimeZone::posix(zone).unwrap());
        let expected = zoned.datetime().checked_add(jiff::Span::new().days(days)).unwrap();
        let reading = at(zone, &now.to_string(), &format!("in {days} days and 0 minutes"));
        let start = reading.start.unwrap().datetime();
        prop_assert!(start == expected || reading.assumed.contains(&"gap"), "{} instead of {}", start, expected);
    }
}
