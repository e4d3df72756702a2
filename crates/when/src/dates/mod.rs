//! A day or a longer stretch of the calendar, found by any of the rules for it, and what two of them say together.

pub(crate) mod date;
pub(crate) mod holiday;
pub(crate) mod period;
pub(crate) mod relative;
pub(crate) mod weekday;

use jiff::civil::DateTime;

use crate::parser::{Found, Parser, longest};
use crate::wall::Point;
use crate::{Grain, civil};

/// How a day was said: what may still be added to it depends on that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// "tomorrow", "in 3 days", "the day after Christmas".
    Relative,
    /// A weekday, by itself or as this, next or last.
    Weekday(i8, bool),
    /// A day of a month; whether the year was said.
    Date(bool),
    /// A day of a month that was not said.
    DayOfMonth(i8),
    Month(i8),
    /// "next week", "this year".
    Cycle,
    Feast,
    /// A stretch with its own end: a weekend, a season, the next three days.
    Stretch,
}

/// A day or a longer stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Day {
    pub(crate) start: Point,
    /// Where a stretch ends; a unit of its grain has no end of its own.
    pub(crate) end: Option<Point>,
    pub(crate) grain: Grain,
    pub(crate) sort: Sort,
    pub(crate) assumed: Vec<&'static str>,
    /// Whether the words say it only where nothing else stands: "may", "sun".
    pub(crate) weak: bool,
}

impl Day {
    pub(crate) fn new(start: impl Into<Point>, grain: Grain, sort: Sort) -> Self {
        Self { start: start.into(), end: None, grain, sort, assumed: Vec::new(), weak: false }
    }

    pub(crate) fn stretch(start: impl Into<Point>, end: impl Into<Point>, grain: Grain) -> Self {
        Self { end: Some(end.into()), ..Self::new(start, grain, Sort::Stretch) }
    }

    pub(crate) fn assuming(mut self, what: &'static str) -> Self {
        self.assumed.push(what);
        self
    }

    pub(crate) fn weakly(mut self, weak: bool) -> Self {
        self.weak = weak;
        self
    }

    /// The first moment that no longer belongs to it.
    pub(crate) fn until(&self) -> Option<DateTime> {
        self.end.map(|end| *end).or_else(|| civil::add(*self.start, self.grain, 1))
    }

    /// Whether a time of day can be added.
    pub(crate) fn is_one_day(&self) -> bool {
        self.end.is_none() && (self.grain == Grain::Day || (self.grain == Grain::Hour && self.sort == Sort::Relative))
    }
}

/// A day by one rule, without what is counted from another day.
pub(crate) fn simple(p: &Parser<'_>, at: usize) -> Found<Day> {
    longest([
        relative::named(p, at),
        date::date(p, at),
        weekday::weekday(p, at),
        weekday::counted(p, at),
        weekday::nth_of_month(p, at),
        period::cycle(p, at),
        holiday::feast(p, at),
        period::weekend(p, at),
        period::quarter(p, at),
        period::season(p, at),
        period::decade(p, at),
        period::part_of_month(p, at),
        period::several(p, at),
        period::week_of_month(p, at),
        period::weekend_of_month(p, at),
        period::around_date(p, at),
        period::rest_of(p, at),
        period::of_named_month(p, at),
    ])
}

/// A day by one rule.
pub(crate) fn one(p: &Parser<'_>, at: usize) -> Found<Day> {
    longest([simple(p, at), relative::shifted(p, at), relative::beside(p, at), relative::weekday_beside(p, at)])
}

/// A day by all that is said of it: "Friday, December 4", "Monday of next week".
pub(crate) fn day(p: &Parser<'_>, at: usize) -> Found<Day> {
    let (mut whole, mut next) = one(p, at)?;
    for _ in 0..3 {
        let Some((more, after)) = following(p, next) else { break };
        let Some(both) = together(p, &whole, &more) else { break };
        (whole, next) = (both, after);
    }
    Some((whole, next))
}

/// Another day behind a joint such as a comma or "of".
fn following(p: &Parser<'_>, at: usize) -> Found<Day> {
    let joint = if p.is(at, ",") { at + 1 } else { at };
    let plain = longest([one(p, joint), bare_date(p, at)]);
    let joined = p.one_of(joint, p.words.on).and_then(|next| one(p, next));
    let owned = (p.is(joint, "s") && p.english()).then(|| one(p, joint + 1)).flatten();
    let joined_twice =
        p.one_of(joint, p.words.of).and_then(|next| p.one_of(next, p.words.articles)).and_then(|next| one(p, next));
    longest([plain, joined, owned, joined_twice])
}

/// The number of a day behind a weekday in Italian: "lunedì 30".
fn bare_date(p: &Parser<'_>, at: usize) -> Found<Day> {
    let behind_weekday = at > 0 && p.meaning(at - 1, p.words.weekdays).is_some();
    let (number, length) = p.digits(at).filter(|_| behind_weekday && !p.english())?;
    let number = i8::try_from(number).ok().filter(|number| (1..=31).contains(number) && length <= 2)?;
    let counted = p.any(at + 1, &[":", "/", "h", "%", "."]) && p.glued(at + 1);
    (!counted).then(|| (Day::new(civil::midnight(p.after.date()), Grain::Day, Sort::DayOfMonth(number)), at + 1))
}

/// The day that two sayings name together.
fn together(p: &Parser<'_>, first: &Day, second: &Day) -> Option<Day> {
    match (first.sort, second.sort) {
        (Sort::Weekday(wanted, true), Sort::Cycle) if second.grain == Grain::Week => Some(Day {
            start: civil::add_days(*second.start, i64::from(wanted) - 1)?.into(),
            assumed: Vec::new(),
            ..first.clone()
        }),
        (Sort::Cycle, Sort::Weekday(..)) if first.grain == Grain::Week => together(p, second, first),
        (Sort::Weekday(wanted, _), Sort::Date(year)) => on_weekday(p, second, wanted, year),
        (Sort::Date(year), Sort::Weekday(wanted, _)) => on_weekday(p, first, wanted, year),
        (Sort::Weekday(wanted, _), Sort::DayOfMonth(date)) => weekday::of_date(p, wanted, date),
        (Sort::Weekday(wanted, _), Sort::Relative) if civil::weekday(second.start.date()) == wanted => {
            Some(second.clone())
        }
        (Sort::Relative, Sort::Weekday(wanted, _)) if civil::weekday(first.start.date()) == wanted => {
            Some(first.clone())
        }
        (Sort::DayOfMonth(date), Sort::Cycle) if second.grain == Grain::Month => {
            let start = civil::day(second.start.year(), second.start.month(), date)?;
            Some(Day::new(civil::midnight(start), Grain::Day, Sort::Date(true)))
        }
        (Sort::Relative, Sort::Date(_)) if first.start == second.start => Some(second.clone()),
        (Sort::Date(_) | Sort::Feast, Sort::Cycle) if second.grain == Grain::Year => {
            in_year(first, second.start.year())
        }
        (Sort::Month(month), Sort::Cycle) if second.grain == Grain::Year => {
            let start = civil::day(second.start.year(), month, 1)?;
            Some(Day { start: civil::midnight(start).into(), assumed: Vec::new(), weak: false, ..first.clone() })
        }
        (Sort::Weekday(..) | Sort::Relative, Sort::Feast) if first.start == second.start => Some(second.clone()),
        _ => None,
    }
}

/// The same day of another year.
pub(crate) fn in_year(day: &Day, year: i16) -> Option<Day> {
    let start = civil::day(year, day.start.month(), day.start.day())?;
    (day.sort == Sort::Date(false) && day.grain == Grain::Day)
        .then(|| Day::new(civil::midnight(start), Grain::Day, Sort::Date(true)))
}

/// A date that must fall on a weekday: where no year was said, the only year beside this one in which it does.
fn on_weekday(p: &Parser<'_>, date: &Day, wanted: i8, year_said: bool) -> Option<Day> {
    if date.grain != Grain::Day || date.end.is_some() {
        return None;
    }
    if civil::weekday(date.start.date()) == wanted {
        return Some(date.clone());
    }
    if year_said {
        return None;
    }
    let years = (-1..=1).filter_map(|more| civil::day(p.now.year() + more, date.start.month(), date.start.day()));
    let mut fitting = years.filter(|day| civil::weekday(*day) == wanted);
    let only = fitting.next()?;
    fitting
        .next()
        .is_none()
        .then(|| Day::new(civil::midnight(only), Grain::Day, Sort::Date(false)).assuming("weekday-year"))
}
