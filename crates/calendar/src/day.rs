//! Days and instants of UTC, as numbers and as the text that stands in files.
//!
//! Only the proleptic Gregorian calendar, only milliseconds, only the years 1970 to 9999.

use std::fmt;

use jiff::civil::{Date, Weekday, date};

use crate::digits;

/// Milliseconds of a day.
pub const DAY_MS: u64 = 86_400_000;
/// The last instant that the text form can carry: 9999-12-31T23:59:59.999Z.
pub const LAST_MS: u64 = 253_402_300_799_999;
/// The day from which days are counted.
const FIRST: Date = date(1970, 1, 1);

/// A calendar day in UTC, counted from 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub u32);

impl Day {
    /// The day on which an instant lies.
    #[must_use]
    pub fn of(ts_ms: u64) -> Self {
        // Below 2^22, since the instant is capped.
        Self(u32::try_from(ts_ms.min(LAST_MS) / DAY_MS).unwrap_or(0))
    }

    /// The day of a date, if there is such a day.
    #[must_use]
    pub fn from_date(year: u32, month: u32, day: u32) -> Option<Self> {
        let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()?;
        let days = FIRST.until(date).ok()?.get_days();
        u32::try_from(days).ok().map(Self)
    }

    /// Whether there is such a day in the calendar, in whichever year.
    #[must_use]
    pub fn exists(year: u32, month: u32, day: u32) -> bool {
        let parts = (year.try_into(), month.try_into(), day.try_into());
        matches!(parts, (Ok(year), Ok(month), Ok(day)) if Date::new(year, month, day).is_ok())
    }

    /// Reads `YYYY-MM-DD`, and nothing else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if !text.is_ascii() || bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
            return None;
        }
        let part = |from: usize, to: usize| digits(&text[from..to]).and_then(|number| u32::try_from(number).ok());
        Self::from_date(part(0, 4)?, part(5, 7)?, part(8, 10)?)
    }

    /// The day in the calendar; the last one that there is, when it lies beyond the year 9999.
    fn date(self) -> Date {
        let days = i64::from(self.0);
        FIRST.checked_add(jiff::SignedDuration::from_hours(days * 24)).unwrap_or(Date::MAX)
    }

    /// The year.
    #[must_use]
    pub fn year(self) -> u32 {
        u32::from(self.date().year().unsigned_abs())
    }

    /// The month, from 1.
    #[must_use]
    pub fn month(self) -> u32 {
        u32::from(self.date().month().unsigned_abs())
    }

    /// The day of the week, from 0 for Monday.
    #[must_use]
    pub fn weekday(self) -> u32 {
        u32::from(Weekday::to_monday_zero_offset(self.date().weekday()).unsigned_abs())
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let date = self.date();
        write!(f, "{:04}-{:02}-{:02}", date.year(), date.month(), date.day())
    }
}

/// An instant as it stands in a line: `YYYY-MM-DDTHH:MM:SS.mmmZ`.
#[must_use]
pub fn instant_text(ts_ms: u64) -> String {
    let ts_ms = ts_ms.min(LAST_MS);
    let ms = ts_ms % DAY_MS;
    let (hour, minute, second, milli) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    format!("{}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z", Day::of(ts_ms))
}

/// Reads what [`instant_text`] writes, and nothing else.
#[must_use]
pub fn parse_instant(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    if bytes.len() != 24 || !text.is_ascii() {
        return None;
    }
    let day = Day::parse(&text[..10])?;
    let shape = [(10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if shape.iter().any(|(at, sign)| bytes[*at] != *sign) {
        return None;
    }
    let part = |from: usize, to: usize, most: u64| {
        let number = u64::try_from(digits(&text[from..to])?).ok()?;
        (number <= most).then_some(number)
    };
    let in_day =
        part(11, 13, 23)? * 3_600_000 + part(14, 16, 59)? * 60_000 + part(17, 19, 59)? * 1_000 + part(20, 23, 999)?;
    Some(u64::from(day.0) * DAY_MS + in_day)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_instants_have_their_known_texts() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_001, "2000-02-29T00:00:00.001Z"),
            (1_777_104_720_123, "2026-04-25T08:12:00.123Z"),
            (LAST_MS, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(instant_text(ms), text);
            assert_eq!(parse_instant(text), Some(ms));
        }
        assert_eq!(instant_text(u64::MAX), instant_text(LAST_MS));
    }

    #[test]
    fn days_that_do_not_exist_are_no_days() {
        for text in ["2025-02-29", "2026-13-01", "2026-00-10", "2026-1-01", "1969-12-31", "2026-04-31", "2026-04-2x"] {
            assert_eq!(Day::parse(text), None, "{text}");
        }
        assert_eq!(Day::parse("+026-04-25"), None);
        assert!(Day::exists(1900, 2, 28) && !Day::exists(1900, 2, 29) && !Day::exists(2026, 0, 1));
        assert_eq!(parse_instant("2026-04-25T24:00:00.000Z"), None);
        assert_eq!(parse_instant("2026-04-25 08:12:00.123Z"), None);
    }

    #[test]
    fn days_know_their_year_month_and_weekday() {
        let day = Day::parse("2026-11-24").unwrap();
        assert_eq!((day.year(), day.month(), day.weekday()), (2026, 11, 1));
        assert_eq!((Day(0).year(), Day(0).month(), Day(0).weekday()), (1970, 1, 3));
    }

    proptest! {
        #[test]
        fn every_instant_survives_its_text(ms in 0..=LAST_MS) {
            prop_assert_eq!(parse_instant(&instant_text(ms)), Some(ms));
            prop_assert_eq!(Day::parse(&Day::of(ms).to_string()), Some(Day::of(ms)));
        }

        #[test]
        fn no_text_is_too_odd(text in "[0-9TZ:.+é-]{0,26}", day: u32) {
            let _ = (Day::parse(&text), parse_instant(&text));
            prop_assert!(Day(day).year() >= 1970 && Day(day).weekday() < 7);
        }
    }
}
