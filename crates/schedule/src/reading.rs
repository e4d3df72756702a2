//! Makes a cadence of words about time that were read, and says what it had to assume or why it cannot.

use std::fmt;

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, Zoned};
use metnos_when::{Grain, Kind, Reading};

use crate::cadence::Cadence;
use crate::due;
use crate::invalid::Invalid;

/// When a day without a time of day is due.
const USUAL: Time = Time::constant(9, 0, 0, 0);

/// What was not said and had to be assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assumed {
    /// Nine in the morning, for a day or a morning.
    Nine,
    /// The beginning of a stretch of time: 18:00 for "this evening".
    Beginning,
    /// The end of the hour that the clock shows twice: the moment that was said is in its second half, which has no key.
    AfterOverlap,
}

/// Why a reading is no cadence.
#[derive(Debug, Clone, PartialEq)]
pub enum Unfit {
    /// Nothing was read.
    None,
    /// There are two readings; the person must choose.
    Ambiguous(Vec<Reading>),
    /// It is over, or it is now.
    Past,
    /// Not exact enough to be due at a time: a week, a month, a deadline, a stretch that has begun.
    Vague,
    /// It repeats, and the words name one time: which of its times is meant to move is not said.
    Repeats,
    /// The rule or the time cannot be kept.
    Invalid(Invalid),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no time was found in the words"),
            Self::Ambiguous(readings) => write!(f, "the words have {} readings", readings.len()),
            Self::Past => f.write_str("the time is not in the future"),
            Self::Vague => f.write_str("the words name no time of day and no day"),
            Self::Repeats => f.write_str("it repeats, and the words name one time"),
            Self::Invalid(invalid) => invalid.fmt(f),
        }
    }
}

impl std::error::Error for Unfit {}

impl From<Invalid> for Unfit {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

impl Cadence {
    /// The cadence that words mean, with what was assumed:
    /// - an instant as exact as an hour or finer, and a duration from now on, is due then;
    /// - a day, said once or again and again without a time of day, is due at 9:00;
    /// - a stretch of hours is due at its beginning, but a morning (0:00 or 4:00 to 12:00) at 9:00;
    /// - a recurrence is a cron where the reading has one, else a rule whose `UNTIL` is put on the wall clock.
    ///
    /// # Errors
    /// The reason why the reading gives no cadence.
    pub fn of_reading(reading: &Reading, now: &Zoned) -> Result<(Self, Vec<Assumed>), Unfit> {
        let start = reading.start.as_ref().map(|start| start.with_time_zone(now.time_zone().clone()));
        let day = reading.grain.is_some_and(|grain| grain == Grain::Day);
        let vague = reading.grain.is_none_or(|grain| grain > Grain::Day);
        match reading.kind {
            Kind::None if reading.readings.is_empty() => Err(Unfit::None),
            Kind::None => Err(Unfit::Ambiguous(reading.readings.clone())),
            Kind::Recurrence => again(reading, start.ok_or(Unfit::None)?),
            Kind::Duration => once(&later(reading, now).ok_or_else(|| out_of_range(reading))?, now, Vec::new()),
            Kind::Instant | Kind::Interval if vague => Err(Unfit::Vague),
            Kind::Instant if day => at_nine(&start.ok_or(Unfit::None)?, now),
            Kind::Instant => once(&start.ok_or(Unfit::None)?, now, Vec::new()),
            Kind::Interval if day => Err(Unfit::Vague),
            Kind::Interval => stretch(start, reading.end.as_ref(), now),
        }
    }
}

/// A time that the calendar does not reach.
fn out_of_range(reading: &Reading) -> Unfit {
    let length = reading.length.map(|length| length.to_string()).unwrap_or_default();
    Invalid::new("duration", &length, "a length that ends before the year 10000").into()
}

/// Now and a duration: months and days on the wall clock first, then the rest as elapsed time.
fn later(reading: &Reading, now: &Zoned) -> Option<Zoned> {
    let length = reading.length?;
    let span = Span::new().try_months(length.months).ok()?.try_days(length.days).ok()?;
    let zone = now.time_zone();
    let from =
        if span.is_zero() { now.timestamp() } else { due::instant(zone, now.datetime().checked_add(span).ok()?)? };
    Some(from.checked_add(SignedDuration::from_secs(length.seconds)).ok()?.to_zoned(zone.clone()))
}

/// One moment, if it is still to come: the first whole second that is not before it.
fn once(at: &Zoned, now: &Zoned, mut assumed: Vec<Assumed>) -> Result<(Cadence, Vec<Assumed>), Unfit> {
    if at <= now {
        return Err(Unfit::Past);
    }
    let found = whole_second(at).and_then(|(key, instant)| {
        if due::instant(at.time_zone(), key)? == instant {
            return Some(key);
        }
        // The clock shows this for the second time: the first would be too early.
        assumed.push(Assumed::AfterOverlap);
        due::key_at(at.time_zone(), instant)?.checked_add(SignedDuration::from_secs(1)).ok()
    });
    let key = found.ok_or_else(|| Invalid::new("time", &at.datetime().to_string(), "a time within the calendar"))?;
    Ok((Cadence::Once(key), assumed))
}

/// The first whole second that is not before a moment, on its clock and as an instant.
fn whole_second(at: &Zoned) -> Option<(DateTime, Timestamp)> {
    let floor = Timestamp::from_second(at.timestamp().as_second()).ok()?;
    let up = if floor < at.timestamp() { floor.checked_add(SignedDuration::from_secs(1)).ok()? } else { floor };
    Some((at.time_zone().to_datetime(up), up))
}

/// A day, at nine.
fn at_nine(day: &Zoned, now: &Zoned) -> Result<(Cadence, Vec<Assumed>), Unfit> {
    let key = day.date().to_datetime(USUAL);
    let at = due::instant(now.time_zone(), key).ok_or(Unfit::Past)?;
    let nine = (at > now.timestamp()).then(|| (Cadence::Once(key), vec![Assumed::Nine]));
    nine.ok_or(Unfit::Past)
}

/// A stretch of hours: its beginning, or nine in a morning.
fn stretch(start: Option<Zoned>, end: Option<&Zoned>, now: &Zoned) -> Result<(Cadence, Vec<Assumed>), Unfit> {
    let end = end.map(|end| end.with_time_zone(now.time_zone().clone()));
    // Without a beginning it is a deadline.
    let start = start.ok_or(Unfit::Vague)?;
    let noon = start.date().at(12, 0, 0, 0);
    let begins = [0, 4].into_iter().any(|hour| start.datetime() == start.date().at(hour, 0, 0, 0));
    if begins && end.as_ref().is_some_and(|end| end.datetime() == noon) {
        return at_nine(&start, now);
    }
    match end {
        Some(end) if start <= *now && end > *now => Err(Unfit::Vague),
        Some(_) => once(&start, now, vec![Assumed::Beginning]),
        None => once(&start, now, Vec::new()),
    }
}

/// What happens again and again.
fn again(reading: &Reading, start: Zoned) -> Result<(Cadence, Vec<Assumed>), Unfit> {
    let timeless = reading.grain.is_some_and(|grain| grain >= Grain::Day);
    let assumed = if timeless { vec![Assumed::Nine] } else { Vec::new() };
    let cadence = match (&reading.cron, &reading.rrule) {
        (Some(cron), _) => {
            let nine = cron.strip_prefix("0 0 ").filter(|_| timeless).map(|days| format!("0 9 {days}"));
            Cadence::Cron(nine.unwrap_or_else(|| cron.clone()))
        }
        (None, Some(rrule)) => {
            let key = first_key(reading, &start);
            let start_key = if timeless { key.date().to_datetime(USUAL) } else { key };
            Cadence::Rule { start: start_key, rrule: on_wall_clock(rrule, start.time_zone()) }
        }
        (None, None) => return Err(Unfit::None),
    };
    cadence.validate()?;
    Ok((cadence, assumed))
}

/// The key of the first time of a rule, which the clock may leave out: its time of day is that of the others.
fn first_key(reading: &Reading, start: &Zoned) -> DateTime {
    let falls_on_start = |key: &DateTime| due::instant(start.time_zone(), *key) == Some(start.timestamp());
    let shown = || whole_second(start).map_or(start.datetime(), |(key, _)| key);
    reading.counted_from.filter(falls_on_start).unwrap_or_else(shown)
}

/// A rule whose `UNTIL` is a moment of UTC with that of the wall clock in its place.
fn on_wall_clock(rrule: &str, zone: &TimeZone) -> String {
    let wall = |part: &str| {
        let utc = part.strip_prefix("UNTIL=")?.strip_suffix('Z')?;
        let instant = TimeZone::UTC.to_timestamp(DateTime::strptime("%Y%m%dT%H%M%S", utc).ok()?).ok()?;
        Some(format!("UNTIL={}", zone.to_datetime(instant).strftime("%Y%m%dT%H%M%S")))
    };
    let parts = rrule.split(';').map(|part| wall(part).unwrap_or_else(|| part.to_owned()));
    parts.collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use metnos_when::{Context, Language, read};

    fn rome(at: DateTime) -> Zoned {
        at.to_zoned(TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()).unwrap()
    }

    /// What words mean on Tuesday, 24 November 2026, at 10:00.
    fn of(text: &str, language: Language) -> Result<(Cadence, Vec<Assumed>), Unfit> {
        at(text, language, rome(date(2026, 11, 24).at(10, 0, 0, 0)))
    }

    fn at(text: &str, language: Language, now: Zoned) -> Result<(Cadence, Vec<Assumed>), Unfit> {
        Cadence::of_reading(&read(text, &Context::new(now.clone(), language)), &now)
    }

    #[test]
    fn one_time_is_due_when_it_was_said() {
        use Language::{English, Italian};
        let nine = vec![Assumed::Nine];
        for (text, language, key, assumed) in [
            ("tomorrow at 9am", English, date(2026, 11, 25).at(9, 0, 0, 0), vec![]),
            ("in 20 minutes", English, date(2026, 11, 24).at(10, 20, 0, 0), vec![]),
            ("tomorrow", English, date(2026, 11, 25).at(9, 0, 0, 0), nine.clone()),
            ("domani mattina", Italian, date(2026, 11, 25).at(9, 0, 0, 0), nine.clone()),
            ("tomorrow morning", English, date(2026, 11, 25).at(9, 0, 0, 0), nine.clone()),
            ("this evening", English, date(2026, 11, 24).at(18, 0, 0, 0), vec![Assumed::Beginning]),
            ("il 3 marzo", Italian, date(2027, 3, 3).at(9, 0, 0, 0), nine),
            ("for 20 minutes", English, date(2026, 11, 24).at(10, 20, 0, 0), vec![]),
        ] {
            assert_eq!(of(text, language), Ok((Cadence::Once(key), assumed)), "{text}");
        }
    }

    #[test]
    fn recurrence_is_a_cron_or_a_rule() {
        use Language::{English, Italian};
        let cron = |text: &str| Cadence::Cron(text.to_owned());
        let rule = |start, rrule: &str| Cadence::Rule { start, rrule: rrule.to_owned() };
        for (text, language, cadence, assumed) in [
            ("every Monday at 7:30am", English, cron("30 7 * * 1"), vec![]),
            ("ogni giorno alle 8 di mattina", Italian, cron("0 8 * * *"), vec![]),
            ("every Monday", English, cron("0 9 * * 1"), vec![Assumed::Nine]),
            ("every 15 minutes", English, cron("*/15 * * * *"), vec![]),
            ("every hour", English, cron("0 * * * *"), vec![]),
            (
                "every two weeks on Friday at 6pm",
                English,
                rule(date(2026, 11, 27).at(18, 0, 0, 0), "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"),
                vec![],
            ),
            (
                "every day at 8am until December 3",
                English,
                rule(date(2026, 11, 25).at(8, 0, 0, 0), "FREQ=DAILY;UNTIL=20261203T235959"),
                vec![],
            ),
            (
                "l'ultimo giorno di ogni mese",
                Italian,
                rule(date(2026, 11, 30).at(9, 0, 0, 0), "FREQ=MONTHLY;BYMONTHDAY=-1"),
                vec![Assumed::Nine],
            ),
        ] {
            assert_eq!(of(text, language), Ok((cadence, assumed)), "{text}");
        }
    }

    #[test]
    fn what_names_no_time_is_refused_with_the_reason() {
        use Language::{English, Italian};
        for (text, language, unfit) in [
            ("hello", English, Unfit::None),
            ("next week", English, Unfit::Vague),
            ("in March", English, Unfit::Vague),
            ("from Monday to Friday", English, Unfit::Vague),
            ("entro venerdì", Italian, Unfit::Vague),
            ("within two hours", English, Unfit::Vague),
            ("today", English, Unfit::Past),
            ("yesterday at 9am", English, Unfit::Past),
            ("yesterday", English, Unfit::Past),
        ] {
            assert_eq!(of(text, language), Err(unfit), "{text}");
        }
        let ambiguous = at("at 8", English, rome(date(2026, 11, 24).at(7, 0, 0, 0)));
        assert!(matches!(&ambiguous, Err(Unfit::Ambiguous(readings)) if readings.len() == 2), "{ambiguous:?}");
    }

    #[test]
    fn moment_in_the_second_half_of_an_overlap_is_never_early() {
        let first = rome(date(2026, 10, 25).at(2, 30, 0, 0));
        let now = first.checked_add(SignedDuration::from_mins(60)).unwrap();
        let (cadence, assumed) = at("in 20 minutes", Language::English, now.clone()).unwrap();
        assert_eq!(cadence, Cadence::Once(date(2026, 10, 25).at(3, 0, 0, 0)));
        assert_eq!(assumed, [Assumed::AfterOverlap]);
        let (cadence, _) = at("in 20 minutes", Language::English, first).unwrap();
        assert_eq!(cadence, Cadence::Once(date(2026, 10, 25).at(2, 50, 0, 0)));
    }

    #[test]
    fn parts_of_a_second_are_never_early() {
        let now = rome(date(2026, 11, 24).at(10, 0, 0, 1));
        let (cadence, _) = at("for 20 seconds", Language::English, now).unwrap();
        assert_eq!(cadence, Cadence::Once(date(2026, 11, 24).at(10, 0, 21, 0)));
    }

    /// What words mean in a zone at an instant.
    fn within(text: &str, zone: &TimeZone, now: &str) -> Cadence {
        at(text, Language::English, now.parse::<Timestamp>().unwrap().to_zoned(zone.clone())).unwrap().0
    }

    #[test]
    fn rule_whose_first_time_does_not_exist_keeps_its_time() {
        let (rome, new_york) = ("CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT,M3.2.0,M11.1.0");
        let lord_howe = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";
        let sundays = "every two weeks on Sunday at 2:30am";
        for (rule, now, text, expected) in [
            (rome, "2027-03-27T09:00:00Z", sundays, ["2027-03-28T01:00:00Z", "2027-04-11T00:30:00Z"]),
            (new_york, "2027-03-13T15:00:00Z", sundays, ["2027-03-14T07:00:00Z", "2027-03-28T06:30:00Z"]),
            (
                lord_howe,
                "2026-10-03T12:00:00Z",
                "every 2 days at 2:15am",
                ["2026-10-03T15:30:00Z", "2026-10-05T15:15:00Z"],
            ),
            (
                rome,
                "2027-03-28T00:30:00Z",
                "every 2 hours until tomorrow",
                ["2027-03-28T01:00:00Z", "2027-03-28T02:00:00Z"],
            ),
        ] {
            let zone = TimeZone::posix(rule).unwrap();
            let cadence = within(text, &zone, now);
            let first = cadence.next_due(&zone, due::key_at(&zone, now.parse().unwrap()).unwrap()).unwrap();
            let second = cadence.next_due(&zone, first.key).unwrap();
            assert_eq!([first.at.to_string(), second.at.to_string()], expected, "{text}");
        }
        let zone = TimeZone::posix(rome).unwrap();
        let expected = Cadence::Rule {
            start: date(2027, 3, 28).at(2, 30, 0, 0),
            rrule: "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;BYHOUR=2;BYMINUTE=30".to_owned(),
        };
        let cadence = within(sundays, &zone, "2027-03-27T09:00:00Z");
        assert_eq!(cadence, expected);
        let told = |cadence: &Cadence| cadence.told(Language::English, date(2027, 3, 27).at(10, 0, 0, 0));
        assert_eq!(told(&cadence), told(&within(sundays, &zone, "2027-04-03T09:00:00Z")));
    }

    #[test]
    fn lengths_mean_the_same_with_and_without_a_beginning() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        for now in ["2027-03-27T01:30:00Z", "2027-03-28T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"] {
            for length in ["40 minutes", "1 hour", "2 hours", "26 hours", "1 day and 2 hours"] {
                let [from, of] = ["in", "for"].map(|word| within(&format!("{word} {length}"), &zone, now));
                assert_eq!(from, of, "{length} at {now}");
            }
        }
    }

    #[test]
    fn what_was_shown_before_in_an_overlap_is_past() {
        let now = "2026-10-25T01:10:00Z".parse::<Timestamp>().unwrap();
        let now = now.to_zoned(TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap());
        // 2:40 for the first time, although the clock shows 2:10.
        assert_eq!(at("30 minutes ago", Language::English, now.clone()), Err(Unfit::Past));
        let (cadence, assumed) = at("today at 2:40am", Language::English, now).unwrap();
        assert_eq!((cadence, assumed), (Cadence::Once(date(2026, 10, 25).at(3, 0, 0, 0)), vec![Assumed::AfterOverlap]));
    }
}
