//! Instants and days of the chronicle, as numbers and as text; it reads no clock but the one it is given.
//!
//! Only UTC, only the proleptic Gregorian calendar, only milliseconds.

use std::fmt;

/// Milliseconds of a day.
pub const DAY_MS: u64 = 86_400_000;
/// The last instant that the text form can carry: 9999-12-31T23:59:59.999Z.
pub const LAST_MS: u64 = 253_402_300_799_999;

/// Says what time it is. Injected, so that no test depends on the hour it runs at.
pub trait Clock {
    /// Milliseconds since 1970-01-01T00:00:00Z; never more than [`LAST_MS`].
    fn now_ms(&self) -> u64;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(LAST_MS).min(LAST_MS)
    }
}

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

    /// Reads `YYYY-MM-DD`, and nothing else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 10 || digits[4] != b'-' || digits[7] != b'-' {
            return None;
        }
        let year = number(&digits[..4])?;
        let month = number(&digits[5..7])?;
        let day = number(&digits[8..])?;
        let found = Self(days_from_civil(year, month, day)?);
        // The round trip refuses the thirtieth of February and its kind.
        (civil_from_days(found.0) == (year, month, day)).then_some(found)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0);
        write!(f, "{year:04}-{month:02}-{day:02}")
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
    let (hour, minute, second, milli) =
        (number(&bytes[11..13])?, number(&bytes[14..16])?, number(&bytes[17..19])?, number(&bytes[20..23])?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let in_day = u64::from(hour) * 3_600_000 + u64::from(minute) * 60_000 + u64::from(second) * 1000 + u64::from(milli);
    Some(u64::from(day.0) * DAY_MS + in_day)
}

fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0')))
}

/// Days since 1970-01-01, counting years from March so that the leap day comes last.
fn days_from_civil(year: u32, month: u32, day: u32) -> Option<u32> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1970..=9999).contains(&year) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    days.checked_sub(719_468)
}

fn civil_from_days(days: u32) -> (u32, u32, u32) {
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u32::from(month <= 2);
    (year, month, day)
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
        assert_eq!(parse_instant("2026-04-25T24:00:00.000Z"), None);
        assert_eq!(parse_instant("2026-04-25 08:12:00.123Z"), None);
    }

    proptest! {
        #[test]
        fn every_instant_survives_its_text(ms in 0..=LAST_MS) {
            prop_assert_eq!(parse_instant(&instant_text(ms)), Some(ms));
            prop_assert_eq!(Day::parse(&Day::of(ms).to_string()), Some(Day::of(ms)));
        }
    }
}
