//! What happens again and again: its first time after a moment, as an RRULE and as the fields of cron.

use std::fmt::Write as _;

use jiff::civil::{Date, DateTime};

use crate::clock::part::Hour;
use crate::dates::weekday;
use crate::parser::Parser;
use crate::wall::{Point, Wall};
use crate::{Grain, civil};

/// A time of day at which it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) hour: i8,
    pub(crate) minute: i8,
}

impl At {
    pub(crate) fn new(hour: Hour, minute: i8) -> Self {
        Self { hour: hour.hour, minute }
    }
}

/// When something happens again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Minute, hour, day, week, month or year.
    pub(crate) every: Grain,
    pub(crate) interval: i64,
    /// Weekdays; those of a month with their place in it, counted from its end where that is negative.
    pub(crate) weekdays: Vec<(i8, i8)>,
    /// Days of the month, -1 being the last.
    pub(crate) month_days: Vec<i8>,
    pub(crate) months: Vec<i8>,
    pub(crate) times: Vec<At>,
    /// When it ends each time, where that was said.
    pub(crate) ends: Option<At>,
    /// The last moment at which it may happen.
    pub(crate) until: Option<DateTime>,
    pub(crate) count: Option<i64>,
    /// The moment before which it does not begin.
    pub(crate) from: Option<DateTime>,
    /// Whether it keeps to the quarters of the calendar.
    pub(crate) quarters: bool,
}

const DAYS: [&str; 7] = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];

impl Rule {
    pub(crate) fn new(every: Grain, interval: i64) -> Self {
        Self {
            every,
            interval,
            weekdays: Vec::new(),
            month_days: Vec::new(),
            months: Vec::new(),
            times: Vec::new(),
            ends: None,
            until: None,
            count: None,
            from: None,
            quarters: false,
        }
    }

    /// Fills in the days that were not said: Monday of a week, the first of a month and of a year.
    pub(crate) fn completed(mut self) -> Self {
        let none = self.weekdays.is_empty() && self.month_days.is_empty();
        match self.every {
            Grain::Week if none => self.weekdays.push((0, self.from.map_or(1, |from| civil::weekday(from.date())))),
            Grain::Month if none => self.month_days.push(self.from.map_or(1, |from| from.day())),
            Grain::Year if none => {
                let day = self.from.unwrap_or(DateTime::constant(1, 1, 1, 0, 0, 0, 0));
                self.month_days.push(day.day());
                if self.months.is_empty() {
                    self.months.push(day.month());
                }
            }
            Grain::Second
            | Grain::Minute
            | Grain::Hour
            | Grain::Day
            | Grain::Week
            | Grain::Month
            | Grain::Quarter
            | Grain::Year
            | Grain::Decade => {}
        }
        self.weekdays.sort_unstable();
        self.weekdays.dedup();
        self.month_days.sort_unstable_by_key(|day| if *day < 0 { 40 } else { *day });
        self.month_days.dedup();
        self.times.sort_unstable();
        self.times.dedup();
        self
    }

    /// The first time after now.
    pub(crate) fn first(&self, p: &Parser<'_>) -> Option<Point> {
        let from = self.from.filter(|from| *from > *p.now).and_then(|from| civil::add_seconds(from, -1));
        let after = from.map_or(p.now, Point::from);
        if self.every <= Grain::Hour {
            self.first_within_day(p.wall, after)
        } else {
            self.first_day(*after).map(Point::from)
        }
    }

    /// When the first time ends.
    pub(crate) fn first_end(&self, first: DateTime) -> Option<DateTime> {
        let ends = self.ends?;
        let end = civil::at(first.date(), ends.hour, ends.minute, 0)?;
        if end > first { Some(end) } else { civil::add_days(end, 1) }
    }

    /// Hours and minutes keep step with the day where they divide it; others are counted from now on.
    fn first_within_day(&self, wall: Wall<'_>, after: Point) -> Option<Point> {
        let (unit, of, seconds) =
            if self.every == Grain::Hour { (Grain::Hour, 24, 3_600) } else { (Grain::Minute, 60, 60) };
        if of % self.interval != 0 || self.interval >= of {
            return wall.later(wall.floor(after, Grain::Minute)?, self.interval.checked_mul(seconds)?);
        }
        let now = civil::floor(*after, unit)?;
        let within = if unit == Grain::Hour { now.hour() } else { now.minute() };
        civil::add(now, unit, self.interval - i64::from(within) % self.interval).map(Point::from)
    }

    fn first_day(&self, after: DateTime) -> Option<DateTime> {
        let today = civil::midnight(after.date());
        let times = if self.times.is_empty() { &[At { hour: 0, minute: 0 }] } else { self.times.as_slice() };
        let days = (0..366 * 9).filter_map(|more| civil::add_days(today, more)).filter(|day| self.falls_on(day.date()));
        let mut moments =
            days.flat_map(|day| times.iter().filter_map(move |at| civil::at(day.date(), at.hour, at.minute, 0)));
        moments.find(|moment| *moment > after).filter(|moment| self.until.is_none_or(|until| *moment <= until))
    }

    /// Whether it happens on a day, its interval aside.
    fn falls_on(&self, date: Date) -> bool {
        let month = self.months.is_empty() || self.months.contains(&date.month());
        let quarter = !self.quarters || date.month() % 3 == 1;
        let day = self.month_days.is_empty()
            || self.month_days.contains(&date.day())
            || (self.month_days.contains(&-1) && date == date.last_of_month());
        let weekday = self.weekdays.is_empty()
            || self.weekdays.iter().any(|(nth, wanted)| match nth {
                0 => civil::weekday(date) == *wanted,
                nth => weekday::in_month(date, *nth, Some(*wanted)) == Some(date),
            });
        month && quarter && day && weekday
    }

    /// As RFC 5545 writes it, to be counted from its first time, which is `shifted` where the clock leaves it out: then the
    /// rule says the time of day. `until` is written as the moment of UTC that it is.
    pub(crate) fn rrule(&self, until: Option<&str>, shifted: bool) -> Option<String> {
        let every = match self.every {
            Grain::Minute => "MINUTELY",
            Grain::Hour => "HOURLY",
            Grain::Day => "DAILY",
            Grain::Week => "WEEKLY",
            Grain::Month => "MONTHLY",
            Grain::Year => "YEARLY",
            Grain::Second | Grain::Quarter | Grain::Decade => return None,
        };
        let mut text = format!("FREQ={every}");
        if self.interval > 1 {
            let _ = write!(text, ";INTERVAL={}", self.interval);
        }
        let list = |numbers: &[i8]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        if !self.months.is_empty() {
            let _ = write!(text, ";BYMONTH={}", list(&self.months));
        }
        if !self.month_days.is_empty() {
            let _ = write!(text, ";BYMONTHDAY={}", list(&self.month_days));
        }
        if !self.weekdays.is_empty() {
            let days: Option<Vec<String>> = self.weekdays.iter().map(|(nth, day)| named(*nth, *day)).collect();
            let _ = write!(text, ";BYDAY={}", days?.join(","));
        }
        if let [first, rest @ ..] = self.times.as_slice()
            && (shifted || !rest.is_empty())
        {
            if rest.iter().any(|at| at.minute != first.minute) {
                return None;
            }
            let hours: Vec<i8> = self.times.iter().map(|at| at.hour).collect();
            let _ = write!(text, ";BYHOUR={};BYMINUTE={}", list(&hours), first.minute);
        }
        if let Some(until) = until {
            let _ = write!(text, ";UNTIL={until}");
        }
        if let Some(count) = self.count {
            let _ = write!(text, ";COUNT={count}");
        }
        Some(text)
    }

    /// The five fields of cron, where they say the same.
    pub(crate) fn cron(&self) -> Option<String> {
        let bounded = self.until.is_some() || self.count.is_some() || self.from.is_some();
        let placed = self.weekdays.iter().any(|(nth, _)| *nth != 0) || self.month_days.contains(&-1);
        if bounded || placed || (!self.month_days.is_empty() && !self.weekdays.is_empty()) {
            return None;
        }
        if self.every <= Grain::Hour {
            return self.cron_within_day();
        }
        if self.interval != 1 && !self.quarters {
            return None;
        }
        let midnight = [At { hour: 0, minute: 0 }];
        let times = if self.times.is_empty() { midnight.as_slice() } else { self.times.as_slice() };
        let minute = times.first()?.minute;
        if times.iter().any(|at| at.minute != minute) {
            return None;
        }
        let hours = listed(times.iter().map(|at| at.hour).collect());
        let days = if self.month_days.is_empty() { "*".to_owned() } else { listed(self.month_days.clone()) };
        let months = match (self.quarters, self.months.is_empty()) {
            (true, _) => "1,4,7,10".to_owned(),
            (false, true) => "*".to_owned(),
            (false, false) => listed(self.months.clone()),
        };
        let weekdays = match self.weekdays.is_empty() {
            true => "*".to_owned(),
            false => listed(self.weekdays.iter().map(|(_, day)| day % 7).collect()),
        };
        Some(format!("{minute} {hours} {days} {months} {weekdays}"))
    }

    /// Every so many minutes or hours, where they divide the hour or the day.
    fn cron_within_day(&self) -> Option<String> {
        let (of, field) = if self.every == Grain::Hour { (24, "0 {} * * *") } else { (60, "{} * * * *") };
        let step = if self.interval == 1 { "*".to_owned() } else { format!("*/{}", self.interval) };
        (of % self.interval == 0 && self.interval < of).then(|| field.replace("{}", &step))
    }
}

/// A weekday as RFC 5545 names it, with its place in the month.
fn named(nth: i8, day: i8) -> Option<String> {
    let name = DAYS.get(usize::try_from(day).ok()?.checked_sub(1)?)?;
    Some(if nth == 0 { (*name).to_owned() } else { format!("{nth}{name}") })
}

/// Numbers as cron lists them: "1-5", "0,6".
fn listed(mut numbers: Vec<i8>) -> String {
    numbers.sort_unstable();
    match numbers.as_slice() {
        [first, .., last]
            if numbers.len() > 2 && usize::try_from(last - first).is_ok_and(|gap| gap + 1 == numbers.len()) =>
        {
            format!("{first}-{last}")
        }
        _ => numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cron_says_only_what_it_can() {
        let at = |hour, minute| At { hour, minute };
        let daily = Rule { times: vec![at(8, 0), at(20, 0)], ..Rule::new(Grain::Day, 1) };
        assert_eq!(daily.cron().as_deref(), Some("0 8,20 * * *"));
        assert_eq!(daily.rrule(None, false).as_deref(), Some("FREQ=DAILY;BYHOUR=8,20;BYMINUTE=0"));
        let uneven = Rule { times: vec![at(8, 0), at(20, 30)], ..Rule::new(Grain::Day, 1) };
        assert_eq!((uneven.cron(), uneven.rrule(None, false)), (None, None));
        let week = Rule { weekdays: (1..=5).map(|day| (0, day)).collect(), ..Rule::new(Grain::Week, 1) };
        assert_eq!(week.cron().as_deref(), Some("0 0 * * 1-5"));
        let last = Rule { weekdays: vec![(-1, 5)], ..Rule::new(Grain::Month, 1) };
        assert_eq!((last.cron(), last.rrule(None, false).as_deref()), (None, Some("FREQ=MONTHLY;BYDAY=-1FR")));
        assert_eq!(Rule::new(Grain::Hour, 5).cron(), None);
        assert_eq!(Rule::new(Grain::Minute, 15).cron().as_deref(), Some("*/15 * * * *"));
    }
}
