//! Finds what people would say of a cadence: every so many units, on these days, at these times.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};

use crate::cadence::Plan;
use crate::cron::Fields;
use crate::days;
use crate::rrule::{Every, Parts};
use crate::rule::Rule;

/// How many days or times are listed at most.
const LISTED: usize = 6;
/// How many dates of a year are listed at most.
const DATES: usize = 4;

/// All days of a month, all months, all weekdays, all hours and all minutes, as the fields of cron have them.
const ALL_DAYS: u64 = 0xffff_fffe;
const ALL_MONTHS: u64 = 0x1ffe;
const ALL_WEEKDAYS: u64 = 0x7f;
const ALL_HOURS: u64 = 0xff_ffff;

/// A cadence in the terms of people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) repeats: Repeats,
    /// Times of day; empty for minutes and hours.
    pub(super) times: Vec<Time>,
    /// The day from which it holds, where it does not begin soon.
    pub(super) from: Option<Date>,
    pub(super) end: Option<End>,
}

/// Every so many units, and on which days of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Repeats {
    Minutes(i64),
    /// Every so many hours.
    Hours(i64),
    /// Every hour, at so many minutes past.
    PastHour(i64),
    Days(i64),
    /// Weekdays from Monday (0) to Sunday (6), in order.
    Weeks(i64, Vec<usize>),
    /// Days of the month; -1 is the last.
    Months(i64, Vec<i8>),
    /// Weekdays of the month, from Monday (0) on, behind their place: 1 to 5, or -1 for the last.
    PlacedMonths(i64, Vec<(i8, usize)>),
    /// Months from January (0) on, with a day.
    Years(i64, Vec<(usize, i8)>),
    /// A month from January (0) on, with a weekday of it.
    PlacedYears(i64, usize, (i8, usize)),
}

/// When it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Count(i64),
    /// The last day; with a time where it happens within a day.
    Until(Date, Option<Time>),
}

impl Pattern {
    /// The pattern of a plan on a day; `None` where it has none that is short enough to be said.
    pub(super) fn new(plan: &Plan, today: Date) -> Option<Self> {
        match plan {
            Plan::Once(_) => None,
            Plan::Cron(fields) => of_cron(fields),
            Plan::Rule(rule) => of_rule(rule, today),
        }
    }
}

/// The numbers of a set, in order.
fn members(bits: u64) -> Vec<i8> {
    (0..64_i8).filter(|at| bits & days::bit((*at).into()) != 0).collect()
}

/// The step of numbers that lie evenly from 0 to a whole.
fn step(bits: u64, whole: i64) -> Option<i64> {
    let count = i64::from(bits.count_ones());
    let step = whole.checked_div(count).filter(|step| step * count == whole)?;
    let even = (0..count).fold(0, |all, at| all | days::bit(at * step));
    (even == bits).then_some(step)
}

/// A weekday from Sunday (0) as one from Monday (0).
fn from_monday(day: u32) -> usize {
    usize::try_from((day + 6) % 7).unwrap_or(0)
}

/// All times of the hours and minutes, if they are few.
fn times(hours: u64, minutes: u64, second: i8) -> Option<Vec<Time>> {
    let (hours, minutes) = (members(hours), members(minutes));
    let few = hours.len().checked_mul(minutes.len())? <= LISTED;
    let all = hours.iter().flat_map(|hour| minutes.iter().map(|minute| Time::new(*hour, *minute, second, 0).ok()));
    if few { all.collect() } else { None }
}

fn of_cron(fields: &Fields) -> Option<Pattern> {
    let Fields { times: of_day, days, months, weekdays, any_day, any_weekday } = *fields;
    let (each_day, each_weekday) = (days == ALL_DAYS, weekdays == ALL_WEEKDAYS);
    let daily = if any_day || any_weekday { each_day && each_weekday } else { each_day || each_weekday };
    let within_day = (daily && months == ALL_MONTHS).then(|| within_day(of_day.hours, of_day.minutes)).flatten();
    if let Some(repeats) = within_day {
        return Some(Pattern { repeats, times: Vec::new(), from: None, end: None });
    }
    let week = || (0..7).map(|day| (day + 1) % 7).filter(|day| days::has(weekdays, *day)).map(from_monday).collect();
    let repeats = match (months == ALL_MONTHS, daily) {
        (true, true) => Repeats::Days(1),
        (true, false) if each_day => Repeats::Weeks(1, week()),
        (true, false) if each_weekday => Repeats::Months(1, few(members(days), LISTED)?),
        (false, false) if each_weekday => Repeats::Years(1, dates(months, &members(days))?),
        _ => return None,
    };
    Some(Pattern { repeats, times: times(of_day.hours, of_day.minutes, 0)?, from: None, end: None })
}

/// "every 15 minutes", "every hour": hours and minutes of every day.
fn within_day(hours: u64, minutes: u64) -> Option<Repeats> {
    let minute = (minutes.count_ones() == 1).then(|| i64::from(minutes.trailing_zeros()));
    match (hours == ALL_HOURS, minute) {
        (true, None) => step(minutes, 60).map(Repeats::Minutes),
        (true, Some(0)) => Some(Repeats::Hours(1)),
        (true, Some(minute)) => Some(Repeats::PastHour(minute)),
        (false, Some(0)) if hours.count_ones() > 2 => step(hours, 24).map(Repeats::Hours),
        (false, _) => None,
    }
}

fn few<T>(all: Vec<T>, most: usize) -> Option<Vec<T>> {
    (!all.is_empty() && all.len() <= most).then_some(all)
}

/// Each day of each month, if they are few.
fn dates(months: u64, days: &[i8]) -> Option<Vec<(usize, i8)>> {
    let months: Vec<usize> = members(months).iter().filter_map(|month| usize::try_from(month - 1).ok()).collect();
    let dated = days.iter().all(|day| *day > 0) && days.len().checked_mul(months.len())? <= DATES;
    let all = months.iter().flat_map(|month| days.iter().map(|day| (*month, *day))).collect();
    if dated { few(all, DATES) } else { None }
}

fn of_rule(rule: &Rule, today: Date) -> Option<Pattern> {
    let Parts { every, interval, .. } = rule.parts;
    let repeats = repeats_of(&rule.parts)?;
    let of_day = rule.times();
    let times = if every <= Every::Hour { Vec::new() } else { times(of_day.hours, of_day.minutes, of_day.second)? };
    let end = match (rule.parts.count, rule.parts.until) {
        (Some(count), _) => Some(End::Count(count)),
        (None, Some(until)) if every <= Every::Hour => Some(within_day_until(until)),
        (None, Some(until)) => {
            let early = times.first().is_some_and(|first| until.time() < *first);
            Some(End::Until(if early { until.date().yesterday().ok()? } else { until.date() }, None))
        }
        (None, None) => None,
    };
    // How many days the first time may be ahead without being named.
    let near = match every {
        Every::Minute | Every::Hour => 1,
        Every::Day => interval,
        Every::Week => interval * 7,
        Every::Month => interval * 31,
        Every::Year => interval * 366,
    };
    let ahead = days::number(rule.start.date()) - days::number(today);
    let from = (ahead > near).then(|| rule.start.date());
    Some(Pattern { repeats, times, from, end })
}

/// The end of what happens within a day. What ends a second before a minute ends with it.
fn within_day_until(until: DateTime) -> End {
    let time = until.time();
    match time.second() {
        59 => match time.checked_add(SignedDuration::from_secs(1)) {
            Ok(minute) => End::Until(until.date(), Some(minute)),
            Err(_) => End::Until(until.date(), None),
        },
        _ => End::Until(until.date(), Some(time)),
    }
}

fn repeats_of(parts: &Parts) -> Option<Repeats> {
    let Parts { every, interval, months, month_days, weekdays, .. } = parts;
    let plain: Option<Vec<usize>> =
        weekdays.iter().map(|(nth, day)| (*nth == 0).then(|| from_monday(*day))).collect::<Option<_>>();
    let week = plain.map(|mut week| {
        week.sort_unstable();
        week.dedup();
        week
    });
    let placed = |all: &[(i8, u32)]| {
        let one = |(nth, day): &(i8, u32)| matches!(nth, 1..=5 | -1).then(|| (*nth, from_monday(*day)));
        few(all.iter().map(one).collect::<Option<Vec<_>>>()?, LISTED)
    };
    let dated = month_days.iter().all(|day| *day >= -1);
    let free = *months == 0;
    Some(match (every, month_days.is_empty(), weekdays.is_empty()) {
        (Every::Minute, ..) if parts.is_unlimited() => Repeats::Minutes(*interval),
        (Every::Hour, ..) if parts.is_unlimited() => Repeats::Hours(*interval),
        (Every::Day, true, true) if free => Repeats::Days(*interval),
        (Every::Day | Every::Month | Every::Year, true, false) if free && *interval == 1 && week.is_some() => {
            Repeats::Weeks(1, week?)
        }
        (Every::Week, true, false) if free => Repeats::Weeks(*interval, week?),
        (Every::Month, false, true) if free && dated => Repeats::Months(*interval, few(sorted(month_days), LISTED)?),
        (Every::Month, true, false) if free => Repeats::PlacedMonths(*interval, placed(weekdays)?),
        (Every::Year, false, true) if !free => Repeats::Years(*interval, dates(*months, &sorted(month_days))?),
        (Every::Year, true, false) if months.count_ones() == 1 && weekdays.len() == 1 => {
            let month = usize::try_from(months.trailing_zeros()).ok()?.checked_sub(1)?;
            Repeats::PlacedYears(*interval, month, *placed(weekdays)?.first()?)
        }
        _ => return None,
    })
}

/// Days of the month in order, the last behind all others.
fn sorted(days: &[i8]) -> Vec<i8> {
    let mut days = days.to_vec();
    days.sort_unstable_by_key(|day| if *day < 0 { i8::MAX } else { *day });
    days.dedup();
    days
}
