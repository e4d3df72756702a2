//! Finds the times of a recurrence rule on the wall clock, counted from its start.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};

use crate::days::{self, Times};
use crate::invalid::Invalid;
use crate::rrule::{Every, Parts};

/// Within how many months a time must be found: those of 400 years, after which the calendar repeats itself.
const MONTHS: u32 = 4_800;
/// How many of its days are looked at for a rule of hours or minutes. Without other parts its times of day repeat themselves
/// after 10,000 days at the latest, the largest interval.
const DAYS: u32 = 20_000;

/// A rule with its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The first moment that can be one of its times; its time of day and its day fill in what the rule leaves open.
    pub(crate) start: DateTime,
    /// What the rule says, the days that it leaves open filled in.
    pub(crate) parts: Parts,
    /// The last moment, by `UNTIL` or `COUNT`.
    last: Option<DateTime>,
}

impl Rule {
    /// Reads a rule that is counted from a start.
    ///
    /// # Errors
    /// The part that is not understood, or that the rule has no time at all.
    pub(crate) fn read(start: DateTime, text: &str) -> Result<Self, Invalid> {
        if start.subsec_nanosecond() != 0 {
            return Err(Invalid::new("start", &start.to_string(), "a whole second"));
        }
        let parts = completed(Parts::read(text)?, start);
        let (count, last) = (parts.count, parts.until);
        let mut rule = Self { start, parts, last };
        if rule.not_before(start).is_none() {
            return Err(Invalid::new(
                "rrule",
                text,
                "a rule that has a time within 400 years of its start, or 20,000 days of hours or minutes",
            ));
        }
        rule.last = count.map_or(last, |count| rule.nth(count));
        Ok(rule)
    }

    /// The time at which a rule without an end has happened so many times; `None` where the calendar ends before it.
    fn nth(&self, count: i64) -> Option<DateTime> {
        let Parts { every, interval, .. } = self.parts;
        let unit = match every {
            Every::Minute => 60,
            Every::Hour => 3_600,
            Every::Day | Every::Week | Every::Month | Every::Year => return self.nth_by_days(count),
        };
        if self.parts.is_unlimited() {
            let seconds = interval.checked_mul(unit)?.checked_mul(count.checked_sub(1)?)?;
            return self.start.checked_add(SignedDuration::from_secs(seconds)).ok();
        }
        let mut at = self.not_before(self.start)?;
        for _ in 1..count {
            at = self.after(at)?;
        }
        Some(at)
    }

    /// The same where each day has the same times: whole months are counted at once.
    fn nth_by_days(&self, count: i64) -> Option<DateTime> {
        let (times, mut left) = (self.times(), count);
        let mut at = self.not_before(self.start)?;
        let first = at.date();
        // Some times of the first day may lie before the start.
        while at.date() == first {
            left -= 1;
            if left == 0 {
                return Some(at);
            }
            at = self.after(at)?;
        }
        let mut month = at.date().first_of_month();
        let mut before = days::bit(at.day().into()).wrapping_sub(1);
        loop {
            let days = self.of_month(month) & !before;
            let here = i64::from(days.count_ones()) * times.count();
            if here >= left {
                let day = days::member(days, (left - 1).checked_div(times.count())?)?;
                let time = times.nth((left - 1).checked_rem(times.count())?)?;
                return Some(Date::new(month.year(), month.month(), day).ok()?.to_datetime(time));
            }
            left -= here;
            before = 0;
            month = days::next_month(month)?;
        }
    }

    /// The first time after another.
    fn after(&self, at: DateTime) -> Option<DateTime> {
        self.not_before(at.checked_add(SignedDuration::from_secs(1)).ok()?)
    }

    /// The first time that is not before another.
    pub(crate) fn not_before(&self, from: DateTime) -> Option<DateTime> {
        let from = from.max(self.start);
        let within = |at: DateTime| self.last.is_none_or(|last| at <= last);
        if !within(from) {
            return None;
        }
        let mut time = from.time();
        let mut day = from.date();
        let wide = matches!(self.parts.every, Every::Month | Every::Year);
        let months = if wide { MONTHS.saturating_mul(u32::try_from(self.parts.interval).ok()?) } else { MONTHS };
        for _ in 0..DAYS {
            let found = days::not_before(day, months, |first| self.of_month(first))?;
            if found != day {
                time = Time::midnight();
            }
            if let Some(time) = self.on_day(found, time) {
                return Some(found.to_datetime(time)).filter(|at| within(*at));
            }
            time = Time::midnight();
            day = found.tomorrow().ok()?;
        }
        None
    }

    /// The first time on a day that is not before a time.
    fn on_day(&self, day: Date, from: Time) -> Option<Time> {
        let Parts { interval, hours, minutes, .. } = self.parts;
        let (start, second) = (self.start, self.start.second());
        let hours_or = |or: u64| if hours == 0 { or } else { hours };
        let minutes_or = |or: u64| if minutes == 0 { or } else { minutes };
        let days = days::number(day) - days::number(start.date());
        match self.parts.every {
            Every::Minute => {
                let since = days * 1_440 - i64::from(start.hour()) * 60 - i64::from(start.minute());
                let least = i64::from(from.hour()) * 60 + i64::from(from.minute()) + i64::from(second < from.second());
                let least = least + (-(since + least)).rem_euclid(interval);
                let step = usize::try_from(interval).ok()?;
                let all = hours_or(u64::MAX);
                let each = minutes_or(u64::MAX);
                let holds = |at: &i64| all & days::bit(at / 60) != 0 && each & days::bit(at % 60) != 0;
                let at = (least..1_440).step_by(step).find(holds)?;
                Time::new(i8::try_from(at / 60).ok()?, i8::try_from(at % 60).ok()?, second, 0).ok()
            }
            Every::Hour => {
                let since = days * 24 - i64::from(start.hour());
                let step = usize::try_from(interval).ok()?;
                let aligned = ((-since).rem_euclid(interval)..24).step_by(step).fold(0, |all, at| all | days::bit(at));
                let hours = aligned & hours_or(u64::MAX);
                Times { hours, minutes: minutes_or(days::bit(start.minute().into())), second }.not_before(from)
            }
            Every::Day | Every::Week | Every::Month | Every::Year => self.times().not_before(from),
        }
    }

    /// The times of a day of a rule of days or longer units.
    pub(crate) fn times(&self) -> Times {
        let or = |named: u64, of_start: i8| if named == 0 { days::bit(of_start.into()) } else { named };
        Times {
            hours: or(self.parts.hours, self.start.hour()),
            minutes: or(self.parts.minutes, self.start.minute()),
            second: self.start.second(),
        }
    }

    /// The days of the month that begins with a date.
    fn of_month(&self, first: Date) -> u64 {
        let Parts { every, interval, months, .. } = self.parts;
        let years = i64::from(first.year()) - i64::from(self.start.year());
        let apart = match every {
            Every::Year => years,
            Every::Month => years * 12 + i64::from(first.month()) - i64::from(self.start.month()),
            Every::Minute | Every::Hour | Every::Day | Every::Week => 0,
        };
        if (months != 0 && months & days::bit(first.month().into()) == 0) || apart % interval != 0 {
            return 0;
        }
        let (begin, start) = (days::number(first), days::number(self.start.date()));
        let length = first.days_in_month();
        // 1970-01-01 was a Thursday: weeks begin three days before it.
        let week = |day: i64| (day + 3).div_euclid(7);
        let falls_on = |day: &i8| {
            let number = begin + i64::from(*day) - 1;
            let aligned = match every {
                Every::Day => (number - start) % interval == 0,
                Every::Week => (week(number) - week(start)) % interval == 0,
                Every::Minute | Every::Hour | Every::Month | Every::Year => true,
            };
            aligned && self.has_day(*day, length, (number + 4).rem_euclid(7))
        };
        (1..=length).filter(falls_on).fold(0, |all, day| all | days::bit(day.into()))
    }

    /// Whether the days of the month and the weekdays have a day of a month of so many days.
    fn has_day(&self, day: i8, length: i8, weekday: i64) -> bool {
        let from_end = day - length - 1;
        let Parts { month_days, weekdays, .. } = &self.parts;
        let dated = month_days.is_empty() || month_days.iter().any(|wanted| *wanted == day || *wanted == from_end);
        let placed = |nth: i8| match nth {
            0 => true,
            1.. => (day - 1) / 7 + 1 == nth,
            _ => (length - day) / 7 + 1 == -nth,
        };
        dated
            && (weekdays.is_empty()
                || weekdays.iter().any(|(nth, wanted)| i64::from(*wanted) == weekday && placed(*nth)))
    }
}

/// The parts with the days that they leave open taken from the start, as RFC 5545 has it.
fn completed(mut parts: Parts, start: DateTime) -> Parts {
    if !parts.month_days.is_empty() || !parts.weekdays.is_empty() {
        return parts;
    }
    match parts.every {
        Every::Minute | Every::Hour | Every::Day => {}
        Every::Week => parts.weekdays.push((0, days::weekday(start.date()))),
        Every::Month => parts.month_days.push(start.day()),
        Every::Year => {
            parts.month_days.push(start.day());
            if parts.months == 0 {
                parts.months = days::bit(start.month().into());
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    /// The first times of a rule from its start.
    fn times(start: DateTime, rule: &str, most: usize) -> Vec<String> {
        let rule = Rule::read(start, rule).unwrap();
        let next = |at: &DateTime| rule.after(*at);
        std::iter::successors(rule.not_before(start), next).take(most).map(|at| at.to_string()).collect()
    }

    #[test]
    fn rule_has_the_times_that_it_says() {
        let start = date(2026, 11, 27).at(18, 0, 0, 0);
        for (rule, expected) in [
            ("FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", ["2026-11-27T18:00:00", "2026-12-11T18:00:00"]),
            ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR", ["2026-11-27T18:00:00", "2026-12-07T18:00:00"]),
            ("FREQ=MONTHLY;BYDAY=-1FR", ["2026-11-27T18:00:00", "2026-12-25T18:00:00"]),
            ("FREQ=MONTHLY;BYDAY=1MO", ["2026-12-07T18:00:00", "2027-01-04T18:00:00"]),
            ("FREQ=MONTHLY;BYMONTHDAY=-1", ["2026-11-30T18:00:00", "2026-12-31T18:00:00"]),
            ("FREQ=MONTHLY;BYMONTHDAY=31", ["2026-12-31T18:00:00", "2027-01-31T18:00:00"]),
            ("FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR", ["2027-08-13T18:00:00", "2028-10-13T18:00:00"]),
            ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", ["2028-02-29T18:00:00", "2032-02-29T18:00:00"]),
            ("FREQ=YEARLY;INTERVAL=999", ["2026-11-27T18:00:00", "3025-11-27T18:00:00"]),
            ("FREQ=DAILY;BYHOUR=8,20;BYMINUTE=5", ["2026-11-27T20:05:00", "2026-11-28T08:05:00"]),
            ("FREQ=HOURLY;INTERVAL=5", ["2026-11-27T18:00:00", "2026-11-27T23:00:00"]),
            ("FREQ=HOURLY;INTERVAL=10000", ["2026-11-27T18:00:00", "2028-01-18T10:00:00"]),
            ("FREQ=MINUTELY;INTERVAL=90", ["2026-11-27T18:00:00", "2026-11-27T19:30:00"]),
        ] {
            assert_eq!(times(start, rule, 2), expected, "{rule}");
        }
    }

    #[test]
    fn rule_ends_with_its_count_or_its_last_moment() {
        let start = date(2026, 11, 27).at(18, 0, 0, 0);
        assert_eq!(times(start, "FREQ=DAILY;COUNT=3", 9).len(), 3);
        assert_eq!(times(start, "FREQ=DAILY;COUNT=10000", 20_000).len(), 10_000);
        assert_eq!(times(start, "FREQ=DAILY;UNTIL=20261129T180000", 9).len(), 3);
        assert_eq!(times(start, "FREQ=DAILY;UNTIL=20261129T175959", 9).len(), 2);
    }

    #[test]
    fn rule_without_any_time_is_refused() {
        let start = date(2026, 11, 27).at(18, 0, 0, 0);
        for rule in [
            "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30",
            "FREQ=DAILY;INTERVAL=7;BYDAY=MO",
            "FREQ=DAILY;UNTIL=20261127T175959",
            "FREQ=HOURLY;INTERVAL=24;BYHOUR=5",
        ] {
            assert_eq!(Rule::read(start, rule).unwrap_err().field, "rrule", "{rule}");
        }
        assert_eq!(Rule::read(date(2026, 1, 1).at(0, 0, 0, 5), "FREQ=DAILY").unwrap_err().field, "start");
    }

    fn rules() -> impl Strategy<Value = String> {
        let every = prop_oneof![
            Just("MINUTELY"),
            Just("HOURLY"),
            Just("DAILY"),
            Just("WEEKLY"),
            Just("MONTHLY"),
            Just("YEARLY")
        ];
        let day = prop_oneof![Just("MO"), Just("WE"), Just("FR"), Just("SU")];
        (every, 1_i64..40, proptest::option::of(day), proptest::option::of(0..24), proptest::option::of(-31..31))
            .prop_map(|(every, interval, day, hour, month_day)| {
                let mut text = format!("FREQ={every};INTERVAL={interval}");
                if let Some(day) = day {
                    text += &format!(";BYDAY={day}");
                }
                if let Some(hour) = hour {
                    text += &format!(";BYHOUR={hour}");
                }
                if let Some(day) = month_day.filter(|day| *day != 0 && every != "WEEKLY") {
                    text += &format!(";BYMONTHDAY={day}");
                }
                text
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_time_lies_between_two_times(text in rules(), days in 0_i64..2_000, ahead in 0_i64..1_000_000) {
            let start = date(2026, 1, 1).at(7, 30, 0, 0) + jiff::Span::new().days(days);
            let Ok(rule) = Rule::read(start, &text) else { return Ok(()) };
            let from = start + jiff::Span::new().minutes(ahead);
            let Some(next) = rule.not_before(from) else { return Ok(()) };
            prop_assert!(next >= from);
            prop_assert_eq!(rule.not_before(next), Some(next));
            // From any moment between, the same time comes next.
            let gap = next.duration_since(from).as_secs();
            for part in 0..20 {
                let between = from + jiff::Span::new().seconds(gap * part / 20);
                prop_assert_eq!(rule.not_before(between), Some(next));
            }
        }

        #[test]
        fn count_ends_a_rule_after_so_many_times(text in rules(), days in 0_i64..2_000, count in 1_usize..60) {
            let start = date(2026, 1, 1).at(7, 30, 15, 0) + jiff::Span::new().days(days);
            let (Ok(endless), Ok(counted)) = (Rule::read(start, &text), Rule::read(start, &format!("{text};COUNT={count}")))
            else { return Ok(()) };
            let all = |rule: &Rule| {
                let next = |at: &DateTime| rule.after(*at);
                std::iter::successors(rule.not_before(start), next).take(count + 1).collect::<Vec<_>>()
            };
            let expected: Vec<DateTime> = all(&endless).into_iter().take(count).collect();
            prop_assert_eq!(all(&counted), expected);
        }

        #[test]
        fn no_text_is_too_odd(text in "(FREQ=(DAILY|HOURLY|YEARLY);)?[A-Z0-9=;,+-]{0,40}", year in -9999_i16..=9999) {
            let start = DateTime::new(year, 12, 31, 23, 59, 59, 0).unwrap();
            if let Ok(rule) = Rule::read(start, &text) {
                prop_assert!(rule.not_before(start).is_some());
            }
        }
    }
}
