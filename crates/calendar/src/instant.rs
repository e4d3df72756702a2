//! Instants as RFC 3339 writes them, read from outside, and moments as a clock and a calendar show them.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use crate::{digits, zone};

/// The last instant that is shown, in seconds from 1970: the end of the year 9999.
const LAST_SHOWN: i64 = 253_402_300_799;
/// The longest text of an instant, in bytes.
const MAX_INSTANT: usize = 35;

/// A moment as a clock and a calendar show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// The year.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
    /// The day of the week, 0 for Sunday.
    pub weekday: i64,
    /// Minutes since midnight.
    pub minute: i64,
}

/// What a clock shows that is so many seconds ahead of UTC at an instant, in seconds since 1970.
#[must_use]
pub fn shown(now: i64, ahead: i64) -> Shown {
    let local = now.saturating_add(ahead).clamp(-LAST_SHOWN, LAST_SHOWN);
    let date = Timestamp::from_second(local).map_or(DateTime::MAX, |local| Offset::UTC.to_datetime(local));
    Shown {
        year: date.year().into(),
        month: date.month().into(),
        day: date.day().into(),
        weekday: date.weekday().to_sunday_zero_offset().into(),
        minute: i64::from(date.hour()) * 60 + i64::from(date.minute()),
    }
}

/// Reads an instant as RFC 3339 writes it, such as `2026-11-24T13:31:05Z` or `2026-11-24T14:31:05+01:00`: seconds since
/// 1970, and how far its own clock is ahead of UTC where it says so.
#[must_use]
pub fn instant(text: &str) -> Option<(i64, Option<i64>)> {
    let bytes = text.as_bytes();
    if !text.is_ascii() || bytes.len() < 20 || bytes.len() > MAX_INSTANT {
        return None;
    }
    let shape = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if shape.iter().any(|(at, sign)| bytes[*at] != *sign) {
        return None;
    }
    let two = |from: usize| digits(&text[from..from + 2]).and_then(|number| i8::try_from(number).ok());
    let (year, second) = (digits(&text[..4]).filter(|year| *year >= 1)?, two(17).filter(|second| *second <= 60)?);
    // The last second of a day may be its 61st: it is counted as the first of the next.
    let local = DateTime::new(year, two(5)?, two(8)?, two(11)?, two(14)?, 0, 0).ok()?;
    let rest = &text[19..];
    let rest = rest.strip_prefix('.').map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let ahead = if rest == "Z" { None } else { Some(zone::fixed(rest).filter(|_| rest.len() == 6)?) };
    let offset = Offset::from_seconds(i32::try_from(ahead.unwrap_or(0)).ok()?).ok()?;
    let instant = offset.to_timestamp(local).ok()?.checked_add(SignedDuration::from_secs(second.into())).ok()?;
    Some((instant.as_second(), ahead))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// Seconds since 1970 of an instant of UTC.
    fn at(year: u32, month: u32, day: u32, hour: i64) -> i64 {
        i64::from(crate::Day::from_date(year, month, day).unwrap().0) * 86_400 + hour * 3_600
    }

    #[test]
    fn an_instant_is_read_and_shown_as_a_clock_and_a_calendar_do() {
        let (now, own) = instant("2026-11-24T13:31:05Z").unwrap();
        assert_eq!((now, own), (at(2026, 11, 24, 13) + 31 * 60 + 5, None));
        let wanted = Shown { year: 2026, month: 11, day: 24, weekday: 2, minute: 14 * 60 + 31 };
        assert_eq!(shown(now, 3_600), wanted);
        assert_eq!(instant("2026-11-24T14:31:05.123+01:00").unwrap(), (now, Some(3_600)));
        let leap = Shown { year: 2024, month: 2, day: 29, weekday: 4, minute: 23 * 60 + 30 };
        assert_eq!(shown(at(2024, 3, 1, 0), -1_800), leap);
        for bad in [
            "",
            "2026-11-24",
            "2026-13-24T00:00:00Z",
            "2026-11-24T25:00:00Z",
            "2026-11-24T00:00:00",
            "2026-11-24 00:00:00Z",
            "20é6-11-24T00:00:00Z",
        ] {
            assert_eq!(instant(bad), None, "{bad}");
        }
        for odd in [i64::MIN, i64::MAX] {
            assert!(shown(odd, 3_600).month <= 12);
        }
    }

    #[test]
    fn instant_outside_the_calendar_is_none() {
        assert_eq!(instant("2026-02-31T00:00:00Z"), None);
        assert_eq!(instant("2026-12-31T23:59:60Z").unwrap().0, at(2027, 1, 1, 0));
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[0-9TZ:.+é-]{0,40}") {
            let _ = instant(&text);
        }
    }
}
