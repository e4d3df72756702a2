//! Reads the five fields of cron and finds their times on the wall clock.

use jiff::civil::{Date, DateTime, Time};

use crate::days::{self, Times};
use crate::invalid::Invalid;

/// The longest text that is read, in bytes.
const MAX_TEXT: usize = 256;
/// In how many months a day must be found: the 29th of February on a given weekday comes after 40 years at the latest.
const MONTHS: u32 = 12 * 48;

const MONTH_NAMES: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAY_NAMES: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// What one field may hold.
struct Shape {
    name: &'static str,
    least: u32,
    most: u32,
    names: &'static [&'static str],
    expected: &'static str,
}

const MINUTE: Shape = Shape {
    name: "minute",
    least: 0,
    most: 59,
    names: &[],
    expected: "a number from 0 to 59, a range, a list or `*`, each with a step if need be",
};
const HOUR: Shape = Shape {
    name: "hour",
    least: 0,
    most: 23,
    names: &[],
    expected: "a number from 0 to 23, a range, a list or `*`, each with a step if need be",
};
const DAY: Shape = Shape {
    name: "day of month",
    least: 1,
    most: 31,
    names: &[],
    expected: "a number from 1 to 31, a range, a list or `*`, each with a step if need be",
};
const MONTH: Shape = Shape {
    name: "month",
    least: 1,
    most: 12,
    names: MONTH_NAMES,
    expected: "a number from 1 to 12 or JAN to DEC, a range, a list or `*`, each with a step if need be",
};
const WEEKDAY: Shape = Shape {
    name: "day of week",
    least: 0,
    most: 7,
    names: DAY_NAMES,
    expected: "a number from 0 to 7 or SUN to SAT, a range, a list or `*`, each with a step if need be",
};

/// The five fields as sets of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fields {
    /// Minutes and hours.
    pub(crate) times: Times,
    /// Days of the month, from bit 1 on.
    pub(crate) days: u64,
    /// Months, from bit 1 on.
    pub(crate) months: u64,
    /// Weekdays; bit 0 is Sunday.
    pub(crate) weekdays: u64,
    /// Whether the days of the month begin with `*`.
    pub(crate) any_day: bool,
    /// Whether the weekdays begin with `*`.
    pub(crate) any_weekday: bool,
}

impl Fields {
    /// Reads `30 7 * * 1-5`.
    ///
    /// # Errors
    /// The first field that is not one, or a day that none of the months has.
    pub(crate) fn read(text: &str) -> Result<Self, Invalid> {
        let whole = || Invalid::new("cron", text, "five fields: minute, hour, day of month, month, day of week");
        if text.len() > MAX_TEXT {
            return Err(Invalid::new("cron", text, "at most 256 bytes long"));
        }
        let mut parts = text.split_ascii_whitespace();
        let mut next = || parts.next().ok_or_else(whole);
        let (minute, hour, day, month, weekday) = (next()?, next()?, next()?, next()?, next()?);
        if parts.next().is_some() {
            return Err(whole());
        }
        let weekdays = field(weekday, &WEEKDAY)?;
        let fields = Self {
            times: Times { minutes: field(minute, &MINUTE)?, hours: field(hour, &HOUR)?, second: 0 },
            days: field(day, &DAY)?,
            months: field(month, &MONTH)?,
            weekdays: (weekdays | weekdays >> 7) & 0x7f,
            any_day: day.starts_with('*'),
            any_weekday: weekday.starts_with('*'),
        };
        match fields.not_before(DateTime::constant(2000, 1, 1, 0, 0, 0, 0)) {
            Some(_) => Ok(fields),
            None => Err(Invalid::new(DAY.name, day, "a day that one of the months has")),
        }
    }

    /// The first time that is not before another.
    pub(crate) fn not_before(&self, from: DateTime) -> Option<DateTime> {
        let day = days::not_before(from.date(), MONTHS, |first| self.of_month(first))?;
        let time = if day == from.date() { from.time() } else { Time::midnight() };
        if let Some(time) = self.times.not_before(time) {
            return Some(day.to_datetime(time));
        }
        let day = days::not_before(day.tomorrow().ok()?, MONTHS, |first| self.of_month(first))?;
        Some(day.to_datetime(self.times.not_before(Time::midnight())?))
    }

    /// The days of the month that begins with a date.
    fn of_month(&self, first: Date) -> u64 {
        if !days::has(self.months, u32::try_from(first.month()).unwrap_or(0)) {
            return 0;
        }
        let length = u32::try_from(first.days_in_month()).unwrap_or(0);
        let begin = days::weekday(first);
        let of_week = (1..=length).filter(|day| days::has(self.weekdays, (begin + day - 1) % 7));
        let of_week = of_week.fold(0, |all, day| all | 1_u64 << day);
        let of_month = self.days & ((2_u64 << length) - 1);
        // As Vixie cron: where both are restricted either will do, else both must hold.
        if self.any_day || self.any_weekday { of_month & of_week } else { of_month | of_week }
    }
}

/// Reads one field into a set.
fn field(text: &str, shape: &Shape) -> Result<u64, Invalid> {
    let mut all = 0;
    for item in text.split(',') {
        all |= item_of(item, shape).ok_or_else(|| Invalid::new(shape.name, text, shape.expected))?;
    }
    Ok(all)
}

/// Reads `*`, `5`, `1-5`, `*/2` or `1-5/2`.
fn item_of(text: &str, shape: &Shape) -> Option<u64> {
    let (range, step) = match text.split_once('/') {
        Some((range, step)) => (range, Some(plain(step, 1, shape.most)?)),
        None => (text, None),
    };
    let (from, to) = match range.split_once('-') {
        Some((from, to)) => {
            let (from, to) = (value(from, shape)?, value(to, shape)?);
            // Sunday ends the week where it ends a range.
            (from, if shape.most == 7 && to == 0 && from > 0 { 7 } else { to })
        }
        None if range == "*" => (shape.least, if shape.most == 7 { 6 } else { shape.most }),
        None if step.is_some() => return None,
        None => value(range, shape).map(|only| (only, only))?,
    };
    if from > to {
        return None;
    }
    let step = usize::try_from(step.unwrap_or(1)).ok()?;
    Some((from..=to).step_by(step).fold(0, |all, one| all | days::bit(one.into())))
}

/// A number of a field, or its name.
fn value(text: &str, shape: &Shape) -> Option<u32> {
    if let Some(at) = shape.names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        return u32::try_from(at).ok()?.checked_add(shape.least);
    }
    plain(text, shape.least, shape.most)
}

/// One or two digits within bounds.
fn plain(text: &str, least: u32, most: u32) -> Option<u32> {
    let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && (least..=most).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    fn next(cron: &str, from: DateTime) -> Option<DateTime> {
        Fields::read(cron).unwrap().not_before(from)
    }

    #[test]
    fn fields_are_found_by_jumps() {
        for (cron, from, to) in [
            ("30 7 * * 1-5", date(2026, 11, 27).at(7, 30, 1, 0), date(2026, 11, 30).at(7, 30, 0, 0)),
            ("*/15 * * * *", date(2026, 12, 31).at(23, 46, 0, 0), date(2027, 1, 1).at(0, 0, 0, 0)),
            ("0 9 29 2 *", date(2096, 3, 1).at(0, 0, 0, 0), date(2104, 2, 29).at(9, 0, 0, 0)),
            ("0 0 29 2 */7", date(2088, 3, 1).at(0, 0, 0, 0), date(2128, 2, 29).at(0, 0, 0, 0)),
            ("0 0 31 * *", date(2026, 11, 1).at(0, 0, 0, 0), date(2026, 12, 31).at(0, 0, 0, 0)),
            ("30 7 1-7 * 1", date(2026, 11, 8).at(0, 0, 0, 0), date(2026, 11, 9).at(7, 30, 0, 0)),
            ("0 8 * jan-mar fri-sun", date(2026, 11, 8).at(0, 0, 0, 0), date(2027, 1, 1).at(8, 0, 0, 0)),
            ("5 4 * * 7", date(2026, 11, 27).at(0, 0, 0, 0), date(2026, 11, 29).at(4, 5, 0, 0)),
        ] {
            assert_eq!(next(cron, from), Some(to), "{cron}");
        }
        assert_eq!(next("0 0 1 1 *", date(9999, 1, 2).at(0, 0, 0, 0)), None);
    }

    #[test]
    fn malformed_field_is_named_with_its_value() {
        for (cron, field, value) in [
            ("60 * * * *", "minute", "60"),
            ("0 24 * * *", "hour", "24"),
            ("0 0 0 * *", "day of month", "0"),
            ("0 0 * 13 *", "month", "13"),
            ("0 0 * * 8", "day of week", "8"),
            ("0 0 * * mon-", "day of week", "mon-"),
            ("0 5-3 * * *", "hour", "5-3"),
            ("0 */0 * * *", "hour", "*/0"),
            ("5/10 * * * *", "minute", "5/10"),
            ("+5 * * * *", "minute", "+5"),
            ("1,,2 * * * *", "minute", "1,,2"),
            ("0 0 30 2 *", "day of month", "30"),
            ("0 0 31 4,6,9,11 *", "day of month", "31"),
            ("0 0 * *", "cron", "0 0 * *"),
            ("0 0 0 * * *", "cron", "0 0 0 * * *"),
            ("@daily", "cron", "@daily"),
            ("", "cron", ""),
        ] {
            let wrong = Fields::read(cron).unwrap_err();
            assert_eq!((wrong.field, wrong.value.as_str()), (field, value), "{cron}");
        }
    }

    /// The first minute of so many days that belongs to the fields, by their text alone.
    fn walk(cron: &str, from: DateTime, days: i64) -> Option<DateTime> {
        let parts: Vec<&str> = cron.split(' ').collect();
        let holds = |part: &str, value: i64, last: i64| {
            part.split(',').any(|item| {
                let (range, step) = item.split_once('/').unwrap_or((item, "1"));
                let (from, to) = match (range, range.split_once('-')) {
                    ("*", _) => (i64::from(last == 31 || last == 12), last),
                    (_, Some((from, to))) => (from.parse().unwrap(), to.parse().unwrap()),
                    (one, None) => (one.parse().unwrap(), one.parse().unwrap()),
                };
                value >= from && value <= to && (value - from) % step.parse::<i64>().unwrap() == 0
            })
        };
        let on_day = |day: jiff::civil::Date| {
            let sunday_zero = i64::from(day.weekday().to_sunday_zero_offset());
            let sunday = sunday_zero == 0 && !parts[4].starts_with('*') && holds(parts[4], 7, 7);
            let (day_of_month, weekday) =
                (holds(parts[2], day.day().into(), 31), holds(parts[4], sunday_zero, 6) || sunday);
            let both = parts[2].starts_with('*') || parts[4].starts_with('*');
            holds(parts[3], day.month().into(), 12)
                && if both { day_of_month && weekday } else { day_of_month || weekday }
        };
        let days = (0..=days).map(|more| from.date() + jiff::Span::new().days(more)).filter(|day| on_day(*day));
        let mut minutes =
            days.flat_map(|day| (0..24).flat_map(move |hour| (0..60).map(move |minute| day.at(hour, minute, 0, 0))));
        minutes
            .find(|at| *at >= from && holds(parts[0], at.minute().into(), 59) && holds(parts[1], at.hour().into(), 23))
    }

    fn part(least: u32, most: u32) -> impl Strategy<Value = String> {
        let range = (least..=most, least..=most).prop_map(|(a, b)| (a.min(b), a.max(b)));
        prop_oneof![
            3 => Just("*".to_owned()),
            3 => (least..=most).prop_map(|one| one.to_string()),
            1 => range.clone().prop_map(|(from, to)| format!("{from}-{to}")),
            1 => (range, 1..=most).prop_map(|((from, to), step)| format!("{from}-{to}/{step}")),
            1 => (1..=most.min(12)).prop_map(|step| format!("*/{step}")),
            1 => proptest::collection::vec(least..=most, 1..4)
                .prop_map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")),
        ]
    }

    fn crons() -> impl Strategy<Value = String> {
        (part(0, 59), part(0, 23), part(1, 31), part(1, 12), part(0, 7))
            .prop_map(|(minute, hour, day, month, weekday)| format!("{minute} {hour} {day} {month} {weekday}"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn next_time_agrees_with_a_walk_by_minutes(cron in crons(), day in 0_i64..20_000, minute in 0_i64..1_440) {
            let from = date(1990, 1, 1).at(0, 0, 0, 0) + jiff::Span::new().days(day).minutes(minute);
            let slow = walk(&cron, from, 400);
            let end = from.date() + jiff::Span::new().days(401);
            match Fields::read(&cron) {
                Ok(fields) => prop_assert_eq!(fields.not_before(from).filter(|at| at.date() < end), slow, "{}", cron),
                Err(wrong) => {
                    prop_assert_eq!(wrong.field, "day of month", "{}", cron);
                    prop_assert_eq!(slow, None);
                }
            }
        }

        #[test]
        fn no_text_is_too_odd(text in "[0-9*/, -]{0,30}|\\PC{0,30}", year in -9999_i16..=9999) {
            if let Ok(fields) = Fields::read(&text) {
                let from = DateTime::new(year, 12, 31, 23, 59, 59, 999_999_999).unwrap();
                prop_assert!(fields.not_before(from).is_none_or(|at| at > from));
            }
        }
    }
}
