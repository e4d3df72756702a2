//! Reads the part of the recurrence rules of RFC 5545 that is understood here, and refuses the rest by name.

use jiff::civil::DateTime;

use crate::days;
use crate::invalid::Invalid;

/// The longest text that is read, in bytes.
const MAX_TEXT: usize = 512;
/// The largest interval and count.
const MAX_NUMBER: i64 = 10_000;

const DAY_NAMES: [&str; 7] = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"];

/// The unit of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Every {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// The parts of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The unit, `FREQ`.
    pub(crate) every: Every,
    /// How many units lie between, 1 to 10,000.
    pub(crate) interval: i64,
    /// Months as bits, from bit 1 on; 0 where none are named, as in the sets below.
    pub(crate) months: u64,
    /// Days of the month; -1 is the last.
    pub(crate) month_days: Vec<i8>,
    /// Weekdays, 0 being Sunday, each behind its place in the month; 0 is every one, -1 the last.
    pub(crate) weekdays: Vec<(i8, u32)>,
    /// Hours as bits; 0 where none are named.
    pub(crate) hours: u64,
    /// Minutes as bits; 0 where none are named.
    pub(crate) minutes: u64,
    /// How many times at most.
    pub(crate) count: Option<i64>,
    /// The last moment on the wall clock.
    pub(crate) until: Option<DateTime>,
}

impl Parts {
    /// Reads `FREQ=WEEKLY;INTERVAL=2;BYDAY=FR`.
    ///
    /// # Errors
    /// The first part that is not understood, stands twice, or does not go with the unit.
    pub(crate) fn read(text: &str) -> Result<Self, Invalid> {
        if text.len() > MAX_TEXT {
            return Err(Invalid::new("rrule", text, "at most 512 bytes long"));
        }
        let mut parts = Self {
            every: Every::Day,
            interval: 1,
            months: 0,
            month_days: Vec::new(),
            weekdays: Vec::new(),
            hours: 0,
            minutes: 0,
            count: None,
            until: None,
        };
        let mut seen: Vec<&str> = Vec::new();
        for part in text.split(';') {
            let (key, value) =
                part.split_once('=').ok_or_else(|| Invalid::new("rrule", part, "a part such as `FREQ=DAILY`"))?;
            if seen.contains(&key) {
                return Err(Invalid::new("rrule", part, "a part that stands once"));
            }
            seen.push(key);
            parts.add(key, value)?;
        }
        if !seen.contains(&"FREQ") {
            return Err(Invalid::new("FREQ", "", EVERY));
        }
        parts.checked(text)
    }

    /// Whether only the unit and the interval say when it is.
    pub(crate) fn is_unlimited(&self) -> bool {
        let sets = self.months | self.hours | self.minutes;
        sets == 0 && self.month_days.is_empty() && self.weekdays.is_empty()
    }

    /// Adds one part.
    fn add(&mut self, key: &str, value: &str) -> Result<(), Invalid> {
        match key {
            "FREQ" => self.every = every(value).ok_or_else(|| Invalid::new("FREQ", value, EVERY))?,
            "INTERVAL" => self.interval = number("INTERVAL", value)?,
            "COUNT" => self.count = Some(number("COUNT", value)?),
            "UNTIL" => self.until = Some(until(value)?),
            "BYMONTH" => self.months = set("BYMONTH", value, 1, 12, "months from 1 to 12")?,
            "BYHOUR" => self.hours = set("BYHOUR", value, 0, 23, "hours from 0 to 23")?,
            "BYMINUTE" => self.minutes = set("BYMINUTE", value, 0, 59, "minutes from 0 to 59")?,
            "BYMONTHDAY" => {
                self.month_days = list("BYMONTHDAY", value, month_day, "days from 1 to 31, or -1 to -31 from the end")?;
            }
            "BYDAY" => self.weekdays = list("BYDAY", value, weekday, "weekdays such as `MO`, `1MO` or `-1FR`")?,
            _ => {
                return Err(Invalid::new(
                    "rrule",
                    key,
                    "FREQ, INTERVAL, COUNT, UNTIL, BYMONTH, BYMONTHDAY, BYDAY, BYHOUR or BYMINUTE",
                ));
            }
        }
        Ok(())
    }

    /// The parts, if they go together.
    fn checked(self, text: &str) -> Result<Self, Invalid> {
        let placed = self.weekdays.iter().any(|(nth, _)| *nth != 0);
        let in_month = self.every == Every::Month || (self.every == Every::Year && self.months != 0);
        if placed && !in_month {
            return Err(Invalid::new("BYDAY", text, "without places but in a month: MONTHLY, or YEARLY with BYMONTH"));
        }
        if self.every == Every::Week && !self.month_days.is_empty() {
            return Err(Invalid::new("BYMONTHDAY", text, "a part of a WEEKLY rule"));
        }
        if self.count.is_some() && self.until.is_some() {
            return Err(Invalid::new("COUNT", text, "without UNTIL: only one of them can stand"));
        }
        Ok(self)
    }
}

const EVERY: &str = "MINUTELY, HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY";

fn every(value: &str) -> Option<Every> {
    Some(match value {
        "MINUTELY" => Every::Minute,
        "HOURLY" => Every::Hour,
        "DAILY" => Every::Day,
        "WEEKLY" => Every::Week,
        "MONTHLY" => Every::Month,
        "YEARLY" => Every::Year,
        _ => return None,
    })
}

/// At most five digits.
fn digits(value: &str) -> Option<i64> {
    let plain = (1..=5).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|_| plain)
}

fn number(field: &'static str, value: &str) -> Result<i64, Invalid> {
    let found = digits(value).filter(|number| (1..=MAX_NUMBER).contains(number));
    found.ok_or_else(|| Invalid::new(field, value, "a number from 1 to 10000"))
}

/// `20261231T235959`: the wall clock of the schedule, as its start.
fn until(value: &str) -> Result<DateTime, Invalid> {
    let shape = |(at, byte): (usize, u8)| if at == 8 { byte == b'T' } else { byte.is_ascii_digit() };
    let sound = value.len() == 15 && value.bytes().enumerate().all(shape);
    let found = if sound { DateTime::strptime("%Y%m%dT%H%M%S", value).ok() } else { None };
    found.ok_or_else(|| Invalid::new("UNTIL", value, "a time of the wall clock such as `20261231T235959`, without Z"))
}

fn set(field: &'static str, value: &str, least: i64, most: i64, expected: &'static str) -> Result<u64, Invalid> {
    let one = |item: &str| digits(item).filter(|number| item.len() <= 2 && (least..=most).contains(number));
    Ok(list(field, value, one, expected)?.into_iter().fold(0, |all, number| all | days::bit(number)))
}

/// Items between commas.
fn list<T>(
    field: &'static str,
    value: &str,
    item: impl Fn(&str) -> Option<T>,
    expected: &'static str,
) -> Result<Vec<T>, Invalid> {
    let all: Option<Vec<T>> = value.split(',').map(item).collect();
    all.ok_or_else(|| Invalid::new(field, value, expected))
}

/// `15`, `-1`.
fn month_day(item: &str) -> Option<i8> {
    let (sign, rest) = item.strip_prefix('-').map_or((1, item), |rest| (-1, rest));
    let day = digits(rest).filter(|day| rest.len() <= 2 && (1..=31).contains(day))?;
    i8::try_from(sign * day).ok()
}

/// `MO`, `1MO`, `-1FR`.
fn weekday(item: &str) -> Option<(i8, u32)> {
    let at = item.len().checked_sub(2)?;
    let (place, name) = (item.get(..at)?, item.get(at..)?);
    let day = u32::try_from(DAY_NAMES.iter().position(|day| *day == name)?).ok()?;
    if place.is_empty() {
        return Some((0, day));
    }
    let place = place.strip_prefix('+').unwrap_or(place);
    month_day(place).filter(|nth| (-5..=5).contains(nth)).map(|nth| (nth, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read() {
        let parts = Parts::read("FREQ=MONTHLY;INTERVAL=2;BYDAY=-1FR,+1MO;BYHOUR=8,20;BYMINUTE=0;COUNT=3").unwrap();
        assert_eq!((parts.every, parts.interval, parts.count), (Every::Month, 2, Some(3)));
        assert_eq!(parts.weekdays, [(-1, 5), (1, 1)]);
        assert_eq!((parts.hours, parts.minutes), (1 << 8 | 1 << 20, 1));
    }

    #[test]
    fn part_that_is_not_understood_is_named() {
        for (rule, field, value) in [
            ("FREQ=SECONDLY", "FREQ", "SECONDLY"),
            ("INTERVAL=2", "FREQ", ""),
            ("", "rrule", ""),
            ("FREQ=DAILY;FREQ=DAILY", "rrule", "FREQ=DAILY"),
            ("FREQ=DAILY;BYSETPOS=1", "rrule", "BYSETPOS"),
            ("FREQ=DAILY;WKST=SU", "rrule", "WKST"),
            ("FREQ=DAILY;INTERVAL=0", "INTERVAL", "0"),
            ("FREQ=DAILY;COUNT=10001", "COUNT", "10001"),
            ("FREQ=DAILY;UNTIL=20261231T235959Z", "UNTIL", "20261231T235959Z"),
            ("FREQ=DAILY;UNTIL=20261331T235959", "UNTIL", "20261331T235959"),
            ("FREQ=DAILY;BYHOUR=24", "BYHOUR", "24"),
            ("FREQ=MONTHLY;BYMONTHDAY=0", "BYMONTHDAY", "0"),
            ("FREQ=MONTHLY;BYDAY=6MO", "BYDAY", "6MO"),
            ("FREQ=MONTHLY;BYDAY=MOO", "BYDAY", "MOO"),
            ("FREQ=WEEKLY;BYDAY=1MO", "BYDAY", "FREQ=WEEKLY;BYDAY=1MO"),
            ("FREQ=YEARLY;BYDAY=1MO", "BYDAY", "FREQ=YEARLY;BYDAY=1MO"),
            ("FREQ=WEEKLY;BYMONTHDAY=1", "BYMONTHDAY", "FREQ=WEEKLY;BYMONTHDAY=1"),
        ] {
            let wrong = Parts::read(rule).unwrap_err();
            assert_eq!((wrong.field, wrong.value.as_str()), (field, value), "{rule}");
        }
    }
}
