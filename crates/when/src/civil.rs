//! Arithmetic with civil days that answers `None` where a day does not exist or lies out of range.

use jiff::Span;
use jiff::civil::{Date, DateTime, Time, Weekday};

use crate::Grain;

/// The moment so many seconds later.
pub(crate) fn add_seconds(moment: DateTime, seconds: i64) -> Option<DateTime> {
    moment.checked_add(Span::new().try_seconds(seconds).ok()?).ok()
}

/// The moment so many days later, at the same time of day.
pub(crate) fn add_days(moment: DateTime, days: i64) -> Option<DateTime> {
    moment.checked_add(Span::new().try_days(days).ok()?).ok()
}

/// The moment so many months later; the last day of the month where the day does not exist there.
pub(crate) fn add_months(moment: DateTime, months: i64) -> Option<DateTime> {
    moment.checked_add(Span::new().try_months(months).ok()?).ok()
}

/// So many units of a grain later.
pub(crate) fn add(moment: DateTime, grain: Grain, count: i64) -> Option<DateTime> {
    match grain {
        Grain::Second => add_seconds(moment, count),
        Grain::Minute => add_seconds(moment, count.checked_mul(60)?),
        Grain::Hour => add_seconds(moment, count.checked_mul(3_600)?),
        Grain::Day => add_days(moment, count),
        Grain::Week => add_days(moment, count.checked_mul(7)?),
        Grain::Month => add_months(moment, count),
        Grain::Quarter => add_months(moment, count.checked_mul(3)?),
        Grain::Year => add_months(moment, count.checked_mul(12)?),
        Grain::Decade => add_months(moment, count.checked_mul(120)?),
    }
}

/// The beginning of the unit that the moment lies in.
pub(crate) fn floor(moment: DateTime, grain: Grain) -> Option<DateTime> {
    let date = moment.date();
    let time = moment.time();
    match grain {
        Grain::Second => at(date, time.hour(), time.minute(), time.second()),
        Grain::Minute => at(date, time.hour(), time.minute(), 0),
        Grain::Hour => at(date, time.hour(), 0, 0),
        Grain::Day => Some(midnight(date)),
        Grain::Week => add_days(midnight(date), 1 - i64::from(date.weekday().to_monday_one_offset())),
        Grain::Month => day(date.year(), date.month(), 1).map(midnight),
        Grain::Quarter => day(date.year(), (date.month() - 1) / 3 * 3 + 1, 1).map(midnight),
        Grain::Year => day(date.year(), 1, 1).map(midnight),
        Grain::Decade => day(date.year() - date.year().rem_euclid(10), 1, 1).map(midnight),
    }
}

/// A day that exists.
pub(crate) fn day(year: i16, month: i8, day: i8) -> Option<Date> {
    Date::new(year, month, day).ok()
}

/// A day at a time of day.
pub(crate) fn at(date: Date, hour: i8, minute: i8, second: i8) -> Option<DateTime> {
    Time::new(hour, minute, second, 0).ok().map(|time| DateTime::from_parts(date, time))
}

/// The first moment of a day.
pub(crate) fn midnight(date: Date) -> DateTime {
    DateTime::from_parts(date, Time::midnight())
}

/// The number of a day in its week, Monday being 1.
pub(crate) fn weekday(date: Date) -> i8 {
    date.weekday().to_monday_one_offset()
}

/// The weekday of a number from 1, Monday, to 7.
pub(crate) fn weekday_of(number: i8) -> Option<Weekday> {
    Weekday::from_monday_one_offset(number).ok()
}

/// The first such weekday after the day, or on it where `same` allows that.
pub(crate) fn next_weekday(from: Date, wanted: i8, same: bool) -> Option<Date> {
    let ahead = i64::from((wanted - weekday(from)).rem_euclid(7));
    let ahead = if ahead == 0 && !same { 7 } else { ahead };
    add_days(midnight(from), ahead).map(DateTime::date)
}

/// The nth such weekday of a month, counted from its end where `nth` is negative.
pub(crate) fn nth_weekday(year: i16, month: i8, nth: i8, wanted: i8) -> Option<Date> {
    day(year, month, 1)?.nth_weekday_of_month(nth, weekday_of(wanted)?).ok()
}

/// Easter Sunday by the Gregorian computus.
pub(crate) fn easter(year: i16) -> Option<Date> {
    let year_number = i32::from(year);
    let golden = year_number % 19;
    let century = year_number / 100;
    let correction = (century - century / 4 - (8 * century + 13) / 25 + 19 * golden + 15) % 30;
    let moon = correction - correction / 28 * (1 - 29 / (correction + 1) * ((21 - golden) / 11));
    let of_week = (year_number + year_number / 4 + moon + 2 - century + century / 4) % 7;
    let offset = moon - of_week;
    let month = 3 + (offset + 40) / 44;
    let date = offset + 28 - 31 * (month / 4);
    day(year, i8::try_from(month).ok()?, i8::try_from(date).ok()?)
}

/// Easter Sunday of the Eastern churches: by the Julian calendar, as a date of ours between 1900 and 2099.
pub(crate) fn orthodox_easter(year: i16) -> Option<Date> {
    if !(1_900..2_100).contains(&year) {
        return None;
    }
    let number = i64::from(year);
    let moon = (19 * (number % 19) + 15) % 30;
    let of_week = (2 * (number % 4) + 4 * (number % 7) - moon + 34) % 7;
    // The third of April of our calendar is the 21st of March of the Julian one.
    let spring = midnight(day(year, 4, 3)?);
    add_days(spring, moon + of_week + 1).map(DateTime::date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn easter_is_that_of_the_almanac() {
        for (year, month, date) in
            [(2000, 4, 23), (2019, 4, 21), (2024, 3, 31), (2025, 4, 20), (2026, 4, 5), (2027, 3, 28), (2038, 4, 25)]
        {
            assert_eq!(easter(year), day(year, month, date), "{year}");
        }
    }

    #[test]
    fn orthodox_easter_is_that_of_the_almanac() {
        for (year, month, date) in
            [(2008, 4, 27), (2016, 5, 1), (2021, 5, 2), (2024, 5, 5), (2025, 4, 20), (2026, 4, 12)]
        {
            assert_eq!(orthodox_easter(year), day(year, month, date), "{year}");
        }
    }

    #[test]
    fn units_begin_where_the_calendar_says() {
        let moment = at(day(2026, 11, 24).unwrap(), 10, 42, 7).unwrap();
        let begins = |grain| floor(moment, grain).unwrap().to_string();
        assert_eq!(begins(Grain::Week), "2026-11-23T00:00:00");
        assert_eq!(begins(Grain::Quarter), "2026-10-01T00:00:00");
        assert_eq!(begins(Grain::Hour), "2026-11-24T10:00:00");
    }
}
