//! Dates of the calendar: in digits, with the name of the month, with or without the year.

use jiff::civil::Date;

use crate::dates::{Day, Sort};
use crate::number;
use crate::parser::{Found, Parser, longest};
use crate::token::Kind;
use crate::words::Which;
use crate::{Grain, civil};

/// A date or a month, in any form.
pub(crate) fn date(p: &Parser<'_>, at: usize) -> Found<Day> {
    longest([
        iso(p, at),
        slashed(p, at),
        day_month(p, at),
        month_day(p, at),
        month(p, at),
        year(p, at),
        day_of_month(p, at),
    ])
}

/// A date whose year is known.
fn whole(date: Date) -> Day {
    Day::new(civil::midnight(date), Grain::Day, Sort::Date(true))
}

/// The first such date from the reference on, that day included.
pub(crate) fn next_date(p: &Parser<'_>, month: i8, day: i8) -> Option<Day> {
    let today = p.after.date();
    let date = (0..9)
        .filter_map(|more| civil::day(today.year().checked_add(more)?, month, day))
        .find(|date| *date >= today)?;
    Some(Day::new(civil::midnight(date), Grain::Day, Sort::Date(false)).assuming("next-future"))
}

/// A date with the year, or the next one without.
fn dated(p: &Parser<'_>, year: Option<i16>, month: i8, day: i64) -> Option<Day> {
    let day = i8::try_from(day).ok()?;
    match year {
        Some(year) => civil::day(year, month, day).map(whole),
        None => next_date(p, month, day),
    }
}

/// Whether a number or its sign goes on right behind, so that what stands before is only a part of it.
pub(crate) fn goes_on(p: &Parser<'_>, at: usize) -> bool {
    let number = |at: usize| p.token(at).is_some_and(|token| token.kind == Kind::Number && token.glued);
    number(at) || (p.any(at, &["/", "-", ".", ":", ",", "+"]) && p.glued(at) && number(at + 1))
}

/// "2027-03-03", "2027/3/3", "2027-03".
fn iso(p: &Parser<'_>, at: usize) -> Found<Day> {
    if let Some(date) = p.token(at).filter(|token| token.kind == Kind::Number && token.text.len() == 8) {
        let part = |from: usize, to: usize| date.text.get(from..to)?.parse::<i16>().ok();
        let (month, day) = (i8::try_from(part(4, 6)?).ok()?, i8::try_from(part(6, 8)?).ok()?);
        let date = civil::day(part(0, 4)?, month, day).filter(|date| (1_900..2_100).contains(&date.year()))?;
        return Some((whole(date).weakly(true), at + 1));
    }
    let (year, length) = p.digits(at)?;
    let separator = p.text(at + 1);
    if length != 4 || !matches!(separator, "-" | "/" | ".") || !p.glued(at + 1) || !p.glued(at + 2) {
        return None;
    }
    let (year, month) = (i16::try_from(year).ok()?, i8::try_from(p.digits(at + 2)?.0).ok()?);
    if p.is(at + 3, separator) && p.glued(at + 3) && p.glued(at + 4) {
        let (day, length) = p.digits(at + 4)?;
        let day = civil::day(year, month, i8::try_from(day).ok()?)?;
        return (length <= 2).then(|| (whole(day), at + 5));
    }
    let start = civil::day(year, month, 1)?;
    let sound = separator != "." && !goes_on(p, at + 3) && (1_900..=2_199).contains(&year);
    sound.then(|| (Day::new(civil::midnight(start), Grain::Month, Sort::Month(month)), at + 3))
}

/// "3/4/2027", "3.4.2027", "3-4-27", "24/12", "3/2027".
fn slashed(p: &Parser<'_>, at: usize) -> Found<Day> {
    let ((first, length), separator) = (p.digits(at)?, p.text(at + 1));
    if length > 2 || !matches!(separator, "-" | "/" | ".") || !p.glued(at + 1) || !p.glued(at + 2) {
        return None;
    }
    let (second, second_length) = p.digits(at + 2)?;
    if separator == "/" && second_length == 4 && !goes_on(p, at + 3) {
        let (year, month) = (i16::try_from(second).ok()?, i8::try_from(first).ok()?);
        let start = civil::day(year, month, 1).filter(|_| (1_900..=2_199).contains(&year))?;
        return Some((Day::new(civil::midnight(start), Grain::Month, Sort::Month(month)), at + 3));
    }
    let third = (p.is(at + 3, separator) && p.glued(at + 3) && p.glued(at + 4)).then(|| p.digits(at + 4)).flatten();
    let (year, next) = match third {
        Some((year, 4)) => (Some(i16::try_from(year).ok()?), at + 5),
        Some((year, 2)) => (Some(number::full_year(year)?), at + 5),
        Some(_) => return None,
        None => (None, at + 3),
    };
    let sound = second_length <= 2
        && !goes_on(p, next)
        && (year.is_some() || separator == "/")
        && (year.is_some() || (first, second) != (24, 7));
    let behind = next == p.tokens.len() || p.one_of(next, p.words.at).is_some() || p.digits(next).is_some();
    let begins = at == 0 && (behind || p.any(next, &[",", "-", "to", "from", "dalle"]));
    let introduced = begins || at > 0 && (p.any(at - 1, BEFORE_DATE) || p.meaning(at - 1, p.words.weekdays).is_some());
    let day = in_order(p, separator, first, second, year).filter(|_| sound)?;
    Some((day.weakly(year.is_none() && !introduced), next))
}

/// Words before two numbers with a slash that make them a date and no fraction.
const BEFORE_DATE: &[&str] = &[
    "on", "by", "until", "till", "from", "before", "after", "since", "due", "the", ",", "il", "al", "dal", "entro",
    "del", "giorno", "l", "all", "dall",
];

/// Two numbers as day and month, in the order of the language where they have two readings.
fn in_order(p: &Parser<'_>, separator: &str, first: i64, second: i64, year: Option<i16>) -> Option<Day> {
    let day_first = p.day_first || separator == ".";
    let as_said =
        |day: i64, month: i64| dated(p, year, i8::try_from(month).ok().filter(|month| (1..=12).contains(month))?, day);
    let (usual, other) = ((first, second), (second, first));
    let (usual, other) = if day_first { (usual, other) } else { (other, usual) };
    match (as_said(usual.0, usual.1), as_said(other.0, other.1)) {
        (Some(day), Some(_)) if first != second && separator != "." => {
            Some(day.assuming(if day_first { "day-first" } else { "month-first" }))
        }
        // With dots the day is first on the Continent and the month in America.
        (Some(_), Some(_)) if first != second && !p.day_first => None,
        (Some(day), _) => Some(day),
        (None, other) => other,
    }
}

/// A month by its name, and the position behind it and its dot.
pub(crate) fn month_name(p: &Parser<'_>, at: usize) -> Found<i8> {
    let (month, next) = p.meaning(at, p.words.months)?;
    // "This may take longer", "one may ask".
    let subject = ["this", "one", "it", "that", "which", "who", "i", "you", "we", "they", "he", "she"];
    let word = |at: usize| p.token(at).is_some_and(|token| token.kind == Kind::Word && !token.capital);
    let may = p.is(at, "may") && word(at) && at > 0 && p.any(at - 1, &subject);
    if may && word(next) && !p.any(next, p.words.followers) {
        return None;
    }
    Some((month, p.skip_dot(next)))
}

/// The year that may stand behind a month: "2027", ", 2027", "of 2027", "'27", "del 2027"; "-27" only where `dashed`, since
/// "July 13-15" is two days.
fn behind_year(p: &Parser<'_>, at: usize, dashed: bool) -> Found<i16> {
    let joint = if p.is(at, ",") { at + 1 } else { p.skip(at, p.words.of) };
    let behind_dash = (p.any(at, &["-", "/"]) && p.glued(at) && p.glued(at + 1)).then(|| p.digits(at + 1)).flatten();
    let behind_dash = behind_dash.and_then(|(number, length)| match length {
        2 if dashed => Some((number::full_year(number)?, at + 2)),
        4 => Some((i16::try_from(number).ok()?, at + 2)),
        _ => None,
    });
    let (year, next) = behind_dash.or_else(|| number::year(p, joint))?;
    (!p.is(next, ":")).then_some((year, next))
}

/// "3 March", "the 3rd of March 2027", "3-Mar-27"; "il primo maggio", "3 marzo del 2027".
fn day_month(p: &Parser<'_>, at: usize) -> Found<Day> {
    let at = p.skip(at, p.words.articles);
    let (day, next) = longest([number::ordinal(p, at), number::cardinal(p, at)])?;
    let dashed = p.any(next, &["-", "/"]) && p.glued(next) && p.glued(next + 1);
    let next = if dashed { next + 1 } else { p.skip(next, p.words.of) };
    let (month, next) = month_name(p, next)?;
    let year = behind_year(p, next, dashed);
    let after = year.map_or(next, |(_, after)| after);
    Some((dated(p, year.map(|(year, _)| year), month, day)?, after))
}

/// "March 3", "March 3rd, 2027", "March the third".
fn month_day(p: &Parser<'_>, at: usize) -> Found<Day> {
    let (month, next) = month_name(p, at).filter(|_| p.english())?;
    let next = p.skip(next, p.words.articles);
    let short = p.digits(next).is_none_or(|(_, length)| length <= 2);
    let (day, next) = longest([number::ordinal(p, next), number::cardinal(p, next)]).filter(|_| short)?;
    let clock_follows = p.any(next, &[":", "am", "pm", "h"]) && (p.glued(next) || p.any(next, &["am", "pm"]));
    if clock_follows || !(1..=31).contains(&day) {
        return None;
    }
    let year = behind_year(p, next, false);
    let after = year.map_or(next, |(_, after)| after);
    Some((dated(p, year.map(|(year, _)| year), month, day)?, after))
}

/// A month without a day: "March", "March 2027", "next March", "marzo prossimo".
fn month(p: &Parser<'_>, at: usize) -> Found<Day> {
    let (before, named) = match p.meaning(at, p.words.which) {
        Some((which, next)) => (Some(which), next),
        None => (None, p.skip(at, &["the month of", "month of", "il mese di", "mese di"])),
    };
    let (month, next) = month_name(p, named)?;
    let doubtful = p.words.doubtful.contains(&p.text(named)) && named == at;
    let number_before = before.is_none() && named.checked_sub(1).is_some_and(|last| is_number(p, last));
    if number_before {
        return None;
    }
    if let Some((year, after)) = behind_year(p, next, false) {
        let start = civil::day(year, month, 1)?;
        return Some((Day::new(civil::midnight(start), Grain::Month, Sort::Month(month)), after));
    }
    let behind = p.meaning(next, p.words.which).filter(|_| before.is_none() && !p.english());
    let (which, next) = behind.map_or((before, next), |(which, after)| (Some(which), after));
    if is_number(p, next) && !p.any(next + 1, &[":", "pm", "am"]) {
        return None;
    }
    let prepositions: &[&str] = if p.english() {
        &["in", "by", "until", "since", "during", "of", "from", "to", "till"]
    } else {
        &["a", "ad", "in", "di", "da", "entro", "per", "fino", "dal", "nel", "tra", "fra"]
    };
    let introduced = at.checked_sub(1).is_some_and(|last| p.any(last, prepositions));
    Some((month_of(p, month, which)?.weakly(doubtful && which.is_none() && !introduced), next))
}

/// Whether a number in digits or an ordinal stands there.
fn is_number(p: &Parser<'_>, at: usize) -> bool {
    p.digits(at).is_some() || (p.any(at, &["st", "nd", "rd", "th"]) && p.glued(at))
}

/// The month that is meant: the one that is on or ahead, the one after it, or the last one.
fn month_of(p: &Parser<'_>, month: i8, which: Option<Which>) -> Option<Day> {
    let this = p.after.date();
    let ahead = this.year() + i16::from(month < this.month());
    let current = month == this.month();
    let year = match which {
        None | Some(Which::This) => ahead,
        Some(Which::Next | Which::Coming) => ahead + i16::from(current),
        Some(Which::Last) => ahead - 1,
    };
    let day = Day::new(civil::midnight(civil::day(year, month, 1)?), Grain::Month, Sort::Month(month));
    Some(if which.is_none() { day.assuming("next-future") } else { day })
}

/// "in 2027", "nel 2027", "the year 2027": a year needs something that says so.
fn year(p: &Parser<'_>, at: usize) -> Found<Day> {
    let new = at > 0 && p.is(at - 1, "new");
    let named = p.one_of(at, &["the year", "year", "l anno", "anno"]).filter(|_| !new);
    let (year, next) = number::year(p, named.unwrap_or(at))?;
    let prepositions: &[&str] = if p.english() {
        &["in", "since", "during", "of", "until", "by", "from", "to"]
    } else {
        &["nel", "del", "dal", "al", "entro"]
    };
    let introduced = at.checked_sub(1).is_some_and(|last| p.any(last, prepositions));
    if goes_on(p, next) || !(1_800..=2_199).contains(&year) {
        return None;
    }
    let day = Day::new(civil::midnight(civil::day(year, 1, 1)?), Grain::Year, Sort::Cycle);
    Some((day.weakly(named.is_none() && !introduced), next))
}

/// "the 5th", "il 5", "il giorno 5": the next such day.
fn day_of_month(p: &Parser<'_>, at: usize) -> Found<Day> {
    let (day, next, weak) = if p.english() {
        let start = p.phrase(at, "the").unwrap_or(at);
        let (day, next) = number::ordinal(p, start)?;
        let digits = p.digits(start).is_some();
        if start == at && !digits {
            return None;
        }
        // The article may have been read already, with the preposition before it.
        let article = if start > at { Some(at) } else { at.checked_sub(1).filter(|last| p.is(*last, "the")) };
        let before = article.and_then(|article| article.checked_sub(1)).map_or("", |last| p.text(last));
        let introduced = (digits || next >= p.tokens.len())
            && matches!(before, "on" | "by" | "until" | "till" | "from" | "to" | "since" | "after" | "before");
        (day, next, !introduced)
    } else {
        let named = p.one_of(at, &["il giorno", "giorno", "il di"]);
        let start = named.or_else(|| p.one_of(at, &["il", "l"])).or_else(|| {
            at.checked_sub(1)
                .filter(|last| p.any(*last, &["al", "dal", "del", "all", "dall", "il", "giorno"]))
                .map(|_| at)
        })?;
        let (day, next) = longest([number::ordinal(p, start), number::cardinal(p, start)])?;
        (day, next, named.is_none() && !p.any(next, &["alle", "all", "a"]))
    };
    let day = i8::try_from(day).ok().filter(|day| (1..=31).contains(day))?;
    if goes_on(p, next) || p.any(next, &["/", ":", "h", "%"]) {
        return None;
    }
    let month = civil::floor(p.after, Grain::Month)?;
    let candidates = (0..4).filter_map(|more| civil::add_months(month, more));
    let mut days = candidates.filter_map(|first| civil::day(first.year(), first.month(), day));
    let date = days.find(|date| *date >= p.after.date())?;
    let found = Day::new(civil::midnight(date), Grain::Day, Sort::DayOfMonth(day)).assuming("next-future");
    Some((found.weakly(weak), next))
}
