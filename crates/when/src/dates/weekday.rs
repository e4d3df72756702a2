//! Weekdays, by themselves and counted within a month.

use jiff::civil::Date;

use crate::dates::date;
use crate::dates::period;
use crate::dates::{Day, Sort};
use crate::number;
use crate::parser::{Found, Parser, longest};
use crate::words::Which;
use crate::{Grain, civil};

/// A weekday's name, and the position behind it and its dot.
pub(crate) fn name(p: &Parser<'_>, at: usize) -> Found<i8> {
    let (number, next) = p.meaning(at, p.words.weekdays)?;
    Some((number, p.skip_dot(next)))
}

/// Whether the name is another word as well, or has a plural that recurs.
pub(crate) fn is_plural(p: &Parser<'_>, at: usize) -> bool {
    p.text(at).ends_with("days") || p.any(at, &["domeniche", "sabati"])
}

/// "Monday", "this Monday", "lunedì prossimo", "Monday week", "the Tuesday after next".
pub(crate) fn weekday(p: &Parser<'_>, at: usize) -> Found<Day> {
    let article = p.skip(at, p.words.articles);
    let before = p.meaning(at, p.words.which).or_else(|| p.meaning(article, p.words.which));
    let named = before.map_or(if article > at { article } else { at }, |(_, next)| next);
    let (wanted, next) = name(p, named)?;
    if is_plural(p, named) {
        return None;
    }
    let doubtful = p.words.doubtful.contains(&p.text(named));
    let which = before.map(|(which, _)| which);
    let behind = p.meaning(next, p.words.which).filter(|_| !p.english() && which.is_none());
    let (which, next) = behind.map_or((which, next), |(which, after)| (Some(which), after));
    let (weeks, next) = weeks_on(p, next);
    let start = of_which(p, wanted, which)?;
    let start = civil::add_days(civil::midnight(start), weeks * 7)?;
    let found = Day::new(start, Grain::Day, Sort::Weekday(wanted, which.is_none() && weeks == 0));
    let found = match which {
        None => found.assuming("next-future"),
        Some(Which::Next) => found.assuming("next-week"),
        Some(_) => found,
    };
    let introduced =
        named.checked_sub(1).is_some_and(|last| p.any(last, &["on", "by", "until", "till", "since", "from", "to"]));
    let weak = (doubtful && which.is_none() && !introduced) || is_person(p, named);
    Some((found.weakly(weak), next))
}

/// "Domenica" with a capital letter in the middle of a sentence, behind a preposition, is somebody.
fn is_person(p: &Parser<'_>, at: usize) -> bool {
    let before = at.checked_sub(1).is_some_and(|last| p.any(last, &["a", "con", "da", "di", "per"]));
    p.is(at, "domenica") && before && p.token(at).is_some_and(|token| token.capital)
}

/// "two Fridays from now", "3 Mondays ago": counted over weekdays.
pub(crate) fn counted(p: &Parser<'_>, at: usize) -> Found<Day> {
    let (count, next) = number::cardinal(p, at).filter(|(count, _)| (1..=99).contains(count))?;
    let (wanted, next) = name(p, next)?;
    let ahead = p.one_of(next, p.words.from_now).map(|next| (true, next));
    let (ahead, next) = longest([ahead, p.one_of(next, p.words.ago).map(|next| (false, next))])?;
    let near = of_which(p, wanted, Some(if ahead { Which::Coming } else { Which::Last }))?;
    let weeks = if ahead { count - 1 } else { 1 - count };
    let start = civil::add_days(civil::midnight(near), weeks * 7)?;
    Some((Day::new(start, Grain::Day, Sort::Relative), next))
}

/// Weeks that are added behind a weekday: "week", "after next".
fn weeks_on(p: &Parser<'_>, at: usize) -> (i64, usize) {
    if !p.english() {
        return (0, at);
    }
    if let Some(next) = p.phrase(at, "after next") {
        return (1, next);
    }
    match p.phrase(at, "week") {
        Some(next) if !p.any(next, &["after", "before", "of", "plan"]) => (1, next),
        Some(_) | None => (0, at),
    }
}

/// The date of a weekday: the next one, that of next week, or the last one.
fn of_which(p: &Parser<'_>, wanted: i8, which: Option<Which>) -> Option<Date> {
    let today = p.after.date();
    match which {
        None | Some(Which::This | Which::Coming) => civil::next_weekday(today, wanted, false),
        Some(Which::Next) => {
            let week = civil::add_days(civil::floor(p.after, Grain::Week)?, 7)?;
            civil::add_days(week, i64::from(wanted) - 1).map(|moment| moment.date())
        }
        Some(Which::Last) => {
            let back = i64::from((civil::weekday(today) - wanted).rem_euclid(7));
            civil::add_days(civil::midnight(today), -(if back == 0 { 7 } else { back })).map(|moment| moment.date())
        }
    }
}

/// A weekday with the number of its day, as "Friday the 13th": the next one that is both.
pub(crate) fn of_date(p: &Parser<'_>, wanted: i8, date: i8) -> Option<Day> {
    let month = civil::floor(p.after, Grain::Month)?;
    let months = (0..60).filter_map(|more| civil::add_months(month, more));
    let mut days = months.filter_map(|first| civil::day(first.year(), first.month(), date));
    let found = days.find(|day| *day >= p.after.date() && civil::weekday(*day) == wanted)?;
    Some(Day::new(civil::midnight(found), Grain::Day, Sort::Date(false)).assuming("next-future"))
}

/// The place of a weekday in a month, from the end where it is negative: "first", "2nd", "last".
pub(crate) fn place(p: &Parser<'_>, at: usize) -> Found<i8> {
    if let Some(next) = p.one_of(at, p.words.last) {
        return Some((-1, next));
    }
    let (number, next) = number::ordinal(p, at)?;
    Some((i8::try_from(number).ok().filter(|number| (1..=5).contains(number))?, next))
}

/// "the first Monday of March", "last Friday of next month", "the last day of February".
pub(crate) fn nth_of_month(p: &Parser<'_>, at: usize) -> Found<Day> {
    let (nth, next) = place(p, p.skip(at, p.words.articles))?;
    let days: &[&str] = if p.english() { &["day"] } else { &["giorno"] };
    let (wanted, next) = match name(p, next) {
        Some((wanted, next)) => (Some(wanted), next),
        None => (None, p.one_of(next, days)?),
    };
    let next = p.one_of(next, p.words.of)?;
    let next = p.skip(next, p.words.articles);
    let ahead = longest([date::date(p, next), period::cycle(p, next)]).filter(|(day, _)| day.grain == Grain::Month);
    let named = ahead.is_some();
    let (month, next) = match ahead {
        Some(found) => found,
        // "the last day of the month" is this one's; "the first Monday of the month" may as well be every month's.
        None if wanted.is_none() && nth == -1 => {
            let next = p.one_of(next, if p.english() { &["month"] } else { &["mese"] })?;
            (Day::new(civil::floor(*p.now, Grain::Month)?, Grain::Month, Sort::Cycle), next)
        }
        None => return None,
    };
    let date = in_month(month.start.date(), nth, wanted)?;
    // Without a year, "the first Monday of November" is next year's when this year's is over.
    let passed = date < p.after.date() && month.assumed.contains(&"next-future");
    let date = if passed { in_month(civil::add_months(*month.start, 12)?.date(), nth, wanted)? } else { date };
    let found = Day::new(civil::midnight(date), Grain::Day, Sort::Date(named));
    Some((Day { assumed: month.assumed, ..found }, next))
}

/// The nth weekday, or the nth day where none is wanted, of the month that a date lies in.
pub(crate) fn in_month(month: Date, nth: i8, wanted: Option<i8>) -> Option<Date> {
    match wanted {
        Some(wanted) => civil::nth_weekday(month.year(), month.month(), nth, wanted),
        None if nth < 0 => Some(month.last_of_month()),
        None => civil::day(month.year(), month.month(), nth),
    }
}
