//! Searches the calendar for a day and the day for a time: sets of days and of times as bits, and jumps between them.

use jiff::civil::{Date, Time, Weekday};

/// Days since 1970-01-01. The fields of a date are bounded, so that nothing can overflow.
pub(crate) fn number(date: Date) -> i64 {
    let (month, day) = (i64::from(date.month()), i64::from(date.day()));
    // Years begin in March here, so that the leap day is the last of its year.
    let year = i64::from(date.year()) - i64::from(month <= 2);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let (era, within) = (year.div_euclid(400), year.rem_euclid(400));
    era * 146_097 + within * 365 + within / 4 - within / 100 + of_year - 719_468
}

/// The weekday of a date: 0 is Sunday.
pub(crate) fn weekday(date: Date) -> u32 {
    match date.weekday() {
        Weekday::Sunday => 0,
        Weekday::Monday => 1,
        Weekday::Tuesday => 2,
        Weekday::Wednesday => 3,
        Weekday::Thursday => 4,
        Weekday::Friday => 5,
        Weekday::Saturday => 6,
    }
}

/// Whether a bit is set; none is beyond the last.
pub(crate) fn has(bits: u64, bit: u32) -> bool {
    bits.checked_shr(bit).is_some_and(|rest| rest & 1 == 1)
}

/// The member of a set that has so many lower ones.
pub(crate) fn member(bits: u64, lower: i64) -> Option<i8> {
    (0..64_i8).filter(|at| has(bits, u32::from(at.unsigned_abs()))).nth(usize::try_from(lower).ok()?)
}

/// A set of one number, 0 to 63; empty for any other.
pub(crate) fn bit(number: i64) -> u64 {
    u32::try_from(number).ok().and_then(|number| 1_u64.checked_shl(number)).unwrap_or(0)
}

/// The lowest number of a set from one on.
fn lowest(bits: u64, from: u32) -> Option<u32> {
    let rest = bits.checked_shr(from)?;
    (rest != 0).then(|| from + rest.trailing_zeros())
}

/// The times of a day: each minute of each hour, at one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    /// Hours as bits.
    pub(crate) hours: u64,
    /// Minutes as bits.
    pub(crate) minutes: u64,
    /// The second of all of them.
    pub(crate) second: i8,
}

impl Times {
    /// How many there are.
    pub(crate) fn count(&self) -> i64 {
        i64::from(self.hours.count_ones()) * i64::from(self.minutes.count_ones())
    }

    /// The time that has so many earlier ones.
    pub(crate) fn nth(&self, earlier: i64) -> Option<Time> {
        let minutes = i64::from(self.minutes.count_ones());
        let hour = member(self.hours, earlier.checked_div(minutes)?)?;
        Time::new(hour, member(self.minutes, earlier.checked_rem(minutes)?)?, self.second, 0).ok()
    }

    /// The first time that is not before another.
    pub(crate) fn not_before(&self, time: Time) -> Option<Time> {
        let (hour, minute) = (u32::try_from(time.hour()).ok()?, u32::try_from(time.minute()).ok()?);
        let minute = if self.second >= time.second() { minute } else { minute + 1 };
        let within = lowest(self.minutes, minute).filter(|_| has(self.hours, hour));
        let (hour, minute) = match within {
            Some(minute) => (hour, minute),
            None => (lowest(self.hours, hour + 1)?, lowest(self.minutes, 0)?),
        };
        Time::new(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, self.second, 0).ok()
    }
}

/// The first day that is not before another and that its month has among its days, within so many months. `of_month` gives
/// the days of the month that begins with a date as bits: bit 1 is the first.
pub(crate) fn not_before(from: Date, months: u32, of_month: impl Fn(Date) -> u64) -> Option<Date> {
    let mut first = from.first_of_month();
    let mut least = u32::try_from(from.day()).ok()?;
    for _ in 0..=months {
        let days = of_month(first);
        if let Some(day) = lowest(days, least) {
            let day = i8::try_from(day).ok()?;
            return (day <= first.days_in_month()).then(|| Date::new(first.year(), first.month(), day).ok())?;
        }
        first = next_month(first)?;
        least = 1;
    }
    None
}

/// The first day of the month behind one.
pub(crate) fn next_month(first: Date) -> Option<Date> {
    match first.month() {
        12 => Date::new(first.year().checked_add(1)?, 1, 1).ok(),
        month => Date::new(first.year(), month + 1, 1).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::{date, time};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn number_agrees_with_the_calendar(days in -4_000_000_i32..2_900_000) {
            let epoch = date(1970, 1, 1);
            let day = epoch.checked_add(jiff::Span::new().days(days)).unwrap();
            prop_assert_eq!(number(day), i64::from(days));
            prop_assert_eq!(i64::from(weekday(day)), (i64::from(days) + 4).rem_euclid(7));
        }
    }

    #[test]
    fn times_are_found_from_a_time_on() {
        let times = Times { hours: bit(9) | bit(17), minutes: bit(0) | bit(30), second: 0 };
        assert_eq!(times.not_before(time(0, 0, 0, 0)), Some(time(9, 0, 0, 0)));
        assert_eq!(times.not_before(time(9, 0, 1, 0)), Some(time(9, 30, 0, 0)));
        assert_eq!(times.not_before(time(9, 30, 0, 0)), Some(time(9, 30, 0, 0)));
        assert_eq!(times.not_before(time(9, 31, 0, 0)), Some(time(17, 0, 0, 0)));
        assert_eq!(times.not_before(time(17, 59, 59, 0)), None);
    }

    #[test]
    fn times_are_counted() {
        let times = Times { hours: bit(9) | bit(17), minutes: bit(0) | bit(30), second: 5 };
        let all: Vec<Time> = (0..times.count()).map(|earlier| times.nth(earlier).unwrap()).collect();
        assert_eq!(all, [time(9, 0, 5, 0), time(9, 30, 5, 0), time(17, 0, 5, 0), time(17, 30, 5, 0)]);
        assert_eq!(times.nth(4), None);
        assert_eq!(Times { minutes: 0, ..times }.nth(0), None);
    }

    #[test]
    fn day_that_no_month_has_is_not_found() {
        assert_eq!(not_before(date(2026, 1, 31), 48, |_| 0), None);
        assert_eq!(not_before(date(9999, 12, 31), 48, |_| 2), None);
        assert_eq!(not_before(date(2026, 1, 2), 48, |_| 2), Some(date(2026, 2, 1)));
    }
}
