//! Stretches of the calendar: weeks, months and years from this one, weekends, quarters, seasons, decades.

use jiff::civil::DateTime;

use crate::dates::date;
use crate::dates::{Day, Sort};
use crate::duration;
use crate::number;
use crate::parser::{Found, Parser, longest};
use crate::wall::Point;
use crate::words::{Table, Which};
use crate::{Grain, Length, civil};

/// What is assumed of "the next 3 hours": hours of the clock, of which the first is still to begin.
const WHOLE_UNITS: &str = "whole-units";

fn steps(which: Which) -> i64 {
    match which {
        Which::Last => -1,
        Which::This => 0,
        Which::Coming | Which::Next => 1,
    }
}

/// A word for which one before or behind what `inner` reads, with an article before or not.
fn with_which<T>(p: &Parser<'_>, at: usize, inner: impl Fn(usize) -> Found<T>) -> Found<(T, Which)> {
    let start = p.skip(at, p.words.articles);
    let before = p.meaning(at, p.words.which).or_else(|| p.meaning(start, p.words.which));
    if let Some((which, next)) = before {
        let (found, next) = inner(next)?;
        return Some(((found, which), next));
    }
    let (found, next) = inner(start)?;
    if p.english() {
        return None;
    }
    let (which, next) = p.meaning(next, p.words.which)?;
    Some(((found, which), next))
}

/// "this week", "the next month", "l'anno scorso", "the week after next".
pub(crate) fn cycle(p: &Parser<'_>, at: usize) -> Found<Day> {
    let unit = |at: usize| duration::unit(p, at).filter(|((grain, times), _)| *times == 1 && *grain > Grain::Day);
    if let Some(hour) = last_hour(p, at) {
        return Some(hour);
    }
    let plain = with_which(p, at, unit).map(|(((grain, _), which), next)| ((grain, steps(which)), next));
    let twice = p.phrase(at, "the").filter(|_| p.english()).and_then(unit).and_then(|((grain, _), next)| {
        let after = p.phrase(next, "after next").map(|next| ((grain, 2), next));
        let before = p.phrase(next, "before last").map(|next| ((grain, -2), next));
        longest([after, before])
    });
    let ((grain, count), next) = longest([plain, twice])?;
    let start = civil::add(civil::floor(*p.now, grain)?, grain, count)?;
    Some((Day::new(start, grain, Sort::Cycle), next))
}

/// "the last hour", "l'ultima ora".
fn last_hour(p: &Parser<'_>, at: usize) -> Found<Day> {
    let phrases: &[&str] = if p.english() {
        &["the last hour", "the past hour", "the previous hour"]
    } else {
        &["l ultima ora", "nell ultima ora"]
    };
    let next = p.one_of(at, phrases)?;
    let start = p.wall.later(p.wall.floor(p.now, Grain::Hour)?, -3_600)?;
    Some((Day::new(start, Grain::Hour, Sort::Stretch), next))
}

/// "the next 3 days", "last two weeks", "gli ultimi due mesi": whole units beside this one, of hours and less as well.
pub(crate) fn several(p: &Parser<'_>, at: usize) -> Found<Day> {
    let start = p.skip(p.skip(at, &["nei", "nelle", "negli", "in"]), p.words.articles);
    let counted = |at: usize| {
        let (count, next) = number::cardinal(p, at).filter(|(count, _)| (1..=999).contains(count))?;
        let (unit, next) = duration::unit(p, next)?;
        Some(((count, unit), next))
    };
    let before = p.meaning(at, p.words.which).or_else(|| p.meaning(start, p.words.which));
    if let Some((days, next)) = vaguely_several(p, at, start) {
        return Some((days, next));
    }
    let (((count, unit), which), next) = match before {
        Some((which, next)) => {
            let (found, next) = counted(next)?;
            ((found, which), next)
        }
        // "i tre giorni prossimi", "i prossimi tre giorni", "three days last" is no English; "le due ultime settimane".
        None => longest([with_which(p, at, counted), counted_which(p, start)])?,
    };
    let (grain, times) = unit;
    // "in the next 3 hours" is within them.
    let within = p.english() && grain < Grain::Day && (p.is(at, "in") || at > 0 && p.any(at - 1, &["in", "within"]));
    if within {
        return None;
    }
    // "upcoming two weeks" are two weeks for some, and the second week for others.
    if (at..next).any(|at| p.is(at, "upcoming")) {
        return None;
    }
    let (first, last) = stretch(p, grain, count.checked_mul(times)?, which)?;
    let found = Day::stretch(first, last, grain);
    Some((if grain < Grain::Day { found.assuming(WHOLE_UNITS) } else { found }, next))
}

/// How many days "the next few days" are.
const A_FEW: i64 = 3;

/// "the next few days", "nei prossimi giorni".
fn vaguely_several(p: &Parser<'_>, at: usize, start: usize) -> Found<Day> {
    let few: &[&str] =
        if p.english() { &["few days", "couple days", "couple of days"] } else { &["giorni", "pochi giorni"] };
    let (which, next) = p.meaning(at, p.words.which).or_else(|| p.meaning(start, p.words.which))?;
    let plural = p.english() || p.any(next - 1, &["prossimi", "scorsi", "ultimi"]);
    let after = p.one_of(next, few).filter(|_| plural)?;
    let count = if p.is(next, "couple") { 2 } else { A_FEW };
    let (first, last) = stretch(p, Grain::Day, count, which)?;
    Some((Day::stretch(first, last, Grain::Day).assuming("few"), after))
}

/// "the week of October 7th", "la settimana del 7 ottobre", "il weekend del 10 aprile". A week that is named by its Sunday is the
/// one that this begins.
pub(crate) fn around_date(p: &Parser<'_>, at: usize) -> Found<Day> {
    let start = p.skip(at, p.words.articles);
    let week = p.one_of(start, if p.english() { &["week"] } else { &["settimana"] }).map(|next| (false, next));
    let short = p.phrase(start, "we").filter(|_| !p.english() && start > at);
    let weekend = p.one_of(start, p.words.weekend).or(short).map(|next| (true, next));
    let (weekend, next) = longest([week, weekend])?;
    let of: &[&str] = if p.english() {
        &["of the", "of", "beginning", "beginning on", "starting", "starting on", "commencing", "commencing on"]
    } else {
        &["del", "dell", "dal", "che inizia il"]
    };
    let (date, next) = date::date(p, p.one_of(next, of)?)?;
    let sound = date.grain == Grain::Day && date.end.is_none() && matches!(date.sort, Sort::Date(_));
    let sunday = civil::weekday(date.start.date()) == 7 && !weekend;
    let within = if sunday { civil::add_days(*date.start, 1)? } else { *date.start };
    let monday = civil::floor(within, Grain::Week)?;
    let found = if weekend {
        let friday = civil::add(civil::add_days(monday, 4)?, Grain::Hour, 18)?;
        Day::stretch(friday, civil::add_days(monday, 7)?, Grain::Hour)
    } else {
        Day::new(monday, Grain::Week, Sort::Stretch)
    };
    sound.then_some((Day { assumed: date.assumed, ..found }, next))
}

/// "the rest of the week", "in settimana": from now to its end; "all week": the whole of it.
pub(crate) fn rest_of(p: &Parser<'_>, at: usize) -> Found<Day> {
    let rest: &[&str] = if p.english() {
        &["the rest of", "rest of", "the remainder of"]
    } else {
        &["il resto del", "il resto della", "il resto dell", "resto del", "resto della", "resto dell"]
    };
    let whole: &[&str] = if p.english() {
        &["all", "the whole", "the entire", "all of", "throughout", "throughout the"]
    } else {
        &["tutta la", "tutto il", "tutto l", "l intera", "l intero"]
    };
    let this: &[&str] = if p.english() { &[] } else { &["in settimana"] };
    let today = civil::midnight(p.now.date());
    if let Some(next) = p.one_of(at, this) {
        let end = civil::add(civil::floor(today, Grain::Week)?, Grain::Week, 1)?;
        return Some((Day::stretch(p.now, end, Grain::Second), next));
    }
    let rest_of_day: &[&str] = if p.english() {
        &["the rest of the day", "rest of the day", "rest of today", "the rest of today"]
    } else {
        &["resto della giornata", "resto del giorno", "il resto della giornata", "il resto del giorno"]
    };
    if let Some(next) = p.one_of(at, rest_of_day) {
        return Some((Day::stretch(p.now, civil::add_days(today, 1)?, Grain::Second), next));
    }
    let (from_now, next) =
        longest([p.one_of(at, rest).map(|next| (true, next)), p.one_of(at, whole).map(|next| (false, next))])?;
    let (unit, next) = bare_unit(p, next).filter(|(unit, _)| unit.grain <= Grain::Year)?;
    let start = if from_now { today } else { *unit.start };
    Some((Day::stretch(start, unit.until()?, Grain::Day), next))
}

/// "last weekend of October", "il primo weekend di maggio": the nth whose Friday evening lies within the month.
pub(crate) fn weekend_of_month(p: &Parser<'_>, at: usize) -> Found<Day> {
    let at = p.skip(at, p.words.articles);
    let last = p.one_of(at, p.words.last).map(|next| (-1, next));
    let (nth, next) = longest([last, number::ordinal(p, at)]).filter(|(nth, _)| *nth <= 4)?;
    let next = p.one_of(next, p.words.weekend)?;
    let next = p.skip(p.one_of(next, p.words.of)?, p.words.articles);
    let (month, next) = longest([date::date(p, next), cycle(p, next)]).filter(|(day, _)| day.grain == Grain::Month)?;
    let date = civil::nth_weekday(month.start.year(), month.start.month(), i8::try_from(nth).ok()?, 5)?;
    let friday = civil::add(civil::midnight(date), Grain::Hour, 18)?;
    let monday = civil::add_days(civil::midnight(date), 3)?;
    Some((Day { assumed: month.assumed, ..Day::stretch(friday, monday, Grain::Hour) }, next))
}

/// So many units, and which ones.
type Counted = ((i64, (Grain, i64)), Which);

/// "two upcoming weeks", "le due ultime settimane": the word for which one behind the number.
fn counted_which(p: &Parser<'_>, at: usize) -> Found<Counted> {
    let (count, next) = number::cardinal(p, at).filter(|(count, _)| (2..=999).contains(count))?;
    let (which, next) = p.meaning(next, p.words.which)?;
    let (unit, next) = duration::unit(p, next)?;
    Some((((count, unit), which), next))
}

fn stretch(p: &Parser<'_>, grain: Grain, count: i64, which: Which) -> Option<(Point, Point)> {
    if grain < Grain::Day {
        let seconds = |count: i64| Some(Length::of(count.checked_mul(60)?, grain)?.0.seconds);
        let this = p.wall.floor(p.now, grain)?;
        // On the hour the first one begins now.
        let next = if grain == Grain::Hour && *this == *p.now { p.now } else { p.wall.later(this, seconds(1)?)? };
        return match which {
            Which::Last => Some((p.wall.later(this, -seconds(count)?)?, this)),
            Which::Next | Which::Coming => Some((next, p.wall.later(next, seconds(count)?)?)),
            Which::This => None,
        };
    }
    let this = civil::floor(*p.now, grain)?;
    let next = civil::add(this, grain, 1)?;
    match which {
        Which::Last => Some((civil::add(this, grain, -count)?.into(), this.into())),
        Which::Next | Which::Coming => Some((next.into(), civil::add(next, grain, count)?.into())),
        Which::This => None,
    }
}

/// "this weekend", "lo scorso fine settimana": from Friday at 18 to Monday.
pub(crate) fn weekend(p: &Parser<'_>, at: usize) -> Found<Day> {
    let inner = |at: usize| p.one_of(at, p.words.weekend).map(|next| ((), next));
    let (which, next) = match with_which(p, at, inner) {
        Some((((), which), next)) => (Some(which), next),
        None => (None, inner(p.skip(at, p.words.articles))?.1),
    };
    let monday = civil::floor(p.after, Grain::Week)?;
    let friday = civil::add(civil::add_days(monday, 4)?, Grain::Hour, 18)?;
    let week = match which {
        Some(Which::Last) => -7,
        Some(Which::Next) if p.after >= friday => 7,
        None | Some(_) => 0,
    };
    let (from, to) = (civil::add_days(friday, week)?, civil::add_days(monday, week + 7)?);
    let words = ["the", "at", "on", "over", "for", "during", "il", "nel", "al", "per", "durante", "del", "nei", "lo"];
    let introduced = which.is_some() || p.any(at, &words) || (at > 0 && p.any(at - 1, &words));
    Some((Day::stretch(from, to, Grain::Hour).weakly(!introduced), next))
}

/// "Q3", "Q1 2027", "the third quarter of 2027", "terzo trimestre".
pub(crate) fn quarter(p: &Parser<'_>, at: usize) -> Found<Day> {
    let at = p.skip(at, p.words.articles);
    let short = (p.is(at, "q") && p.glued(at + 1)).then(|| p.digits(at + 1)).flatten().map(|(n, _)| (n, at + 2));
    let long = number::ordinal(p, at).and_then(|(number, next)| {
        let (unit, next) = duration::unit(p, next)?;
        (unit == (Grain::Quarter, 1)).then_some((number, next))
    });
    let (number, next) = short.or(long).filter(|(number, _)| (1..=4).contains(number))?;
    let dash = p.is(next, "-") && p.glued(next) && p.glued(next + 1);
    let joint = p.skip(if p.is(next, ",") || dash { next + 1 } else { next }, p.words.of);
    let year = number::year(p, joint).or_else(|| {
        let (year, next) = cycle(p, p.skip(next, p.words.of)).filter(|(day, _)| day.grain == Grain::Year)?;
        Some((year.start.year(), next))
    });
    let assumed = if year.is_none() { vec!["this-year"] } else { Vec::new() };
    let (year, next) = year.unwrap_or((p.now.year(), next));
    let month = i8::try_from(number).ok()? * 3 - 2;
    let start = civil::midnight(civil::day(year, month, 1)?);
    Some((Day { assumed, ..Day::new(start, Grain::Quarter, Sort::Stretch) }, next))
}

/// A season of a year; winter ends in the next one.
fn season_of(year: i16, season: u8) -> Option<(DateTime, DateTime)> {
    let day = |year: i16, month: i8, day: i8| civil::day(year, month, day).map(civil::midnight);
    match season {
        0 => Some((day(year, 3, 20)?, day(year, 6, 21)?)),
        1 => Some((day(year, 6, 21)?, day(year, 9, 23)?)),
        2 => Some((day(year, 9, 23)?, day(year, 12, 21)?)),
        _ => Some((day(year, 12, 21)?, day(year + 1, 3, 20)?)),
    }
}

/// "this summer", "winter 2027", "l'estate scorsa".
pub(crate) fn season(p: &Parser<'_>, at: usize) -> Found<Day> {
    let inner = |at: usize| p.meaning(at, p.words.seasons);
    let ((season, which), next) = match with_which(p, at, inner) {
        Some(((season, which), next)) => ((season, Some(which)), next),
        None => {
            let (season, next) = inner(p.skip(at, p.words.articles))?;
            ((season, None), next)
        }
    };
    if let Some((year, after)) = number::year(p, p.skip(next, p.words.of)) {
        let (from, to) = season_of(year, season)?;
        return Some((Day::stretch(from, to, Grain::Day), after));
    }
    let year = p.now.year();
    let all = (-2..=2).filter_map(|more| season_of(year + more, season));
    let (from, to) = match which {
        Some(Which::Last) => all.clone().rfind(|(_, to)| *to <= *p.now)?,
        Some(Which::Next | Which::Coming) => all.clone().find(|(from, _)| *from > *p.now)?,
        // What is over may be meant as well as what comes.
        Some(Which::This) => all.clone().find(|(from, to)| *to > *p.now && (*from <= *p.now || from.year() == year))?,
        None => all.clone().find(|(_, to)| *to > *p.now)?,
    };
    let preposition = at.checked_sub(1).is_some_and(|last| p.any(last, &["in", "during"]));
    Some((Day::stretch(from, to, Grain::Day).weakly(which.is_none() && !preposition), next))
}

const DECADES: Table<i64> = &[
    ("thirties", 30),
    ("forties", 40),
    ("fifties", 50),
    ("sixties", 60),
    ("seventies", 70),
    ("eighties", 80),
    ("nineties", 90),
];

/// "the 90s", "the 1980s", "gli anni 90", "gli anni novanta".
pub(crate) fn decade(p: &Parser<'_>, at: usize) -> Found<Day> {
    let (number, next) = if p.english() {
        let article = p.phrase(at, "the");
        let next = article.unwrap_or(at);
        let next = if p.is(next, "'") { next + 1 } else { next };
        let spelled = article.and_then(|next| p.meaning(next, DECADES));
        let digits = p.digits(next).filter(|(_, length)| article.is_some() || *length == 4);
        let digits = digits.filter(|_| p.is(next + 1, "s") && p.glued(next + 1)).map(|(number, _)| (number, next + 2));
        spelled.or(digits)?
    } else {
        let next = p.one_of(at, &["gli anni", "anni", "negli anni", "degli anni"])?;
        let next = if p.is(next, "'") { next + 1 } else { next };
        number::cardinal(p, next)?
    };
    let year = match number {
        30..=90 if number % 10 == 0 => 1_900 + number,
        1_000..=2_090 if number % 10 == 0 => number,
        _ => return None,
    };
    let start = civil::midnight(civil::day(i16::try_from(year).ok()?, 1, 1)?);
    let introduced = at > 0 && p.any(at - 1, &["in", "during", "since", "from"]) || p.any(at, &["negli"]);
    let found = Day::stretch(start, civil::add(start, Grain::Decade, 1)?, Grain::Decade);
    Some((found.weakly(!introduced), next))
}

/// "the second week of January", "last week of December": the nth that lies wholly within the month.
pub(crate) fn week_of_month(p: &Parser<'_>, at: usize) -> Found<Day> {
    let at = p.skip(at, p.words.articles);
    let last = p.one_of(at, p.words.last).map(|next| (-1, next));
    let (nth, next) = longest([last, number::ordinal(p, at)]).filter(|(nth, _)| *nth <= 5)?;
    let next = p.one_of(next, if p.english() { &["week"] } else { &["settimana"] })?;
    let next = p.skip(p.one_of(next, p.words.of)?, p.words.articles);
    let (month, next) = longest([date::date(p, next), cycle(p, next)]).filter(|(day, _)| day.grain == Grain::Month)?;
    let after = month.until()?;
    let start = if nth < 0 {
        civil::add_days(civil::floor(after, Grain::Week)?, -7)?
    } else {
        let monday = civil::next_weekday(month.start.date(), 1, true)?;
        civil::add_days(civil::midnight(monday), (nth - 1) * 7)?
    };
    let within = start >= *month.start && start < after && nth != 0;
    within.then(|| (Day { assumed: month.assumed, ..Day::new(start, Grain::Week, Sort::Stretch) }, next))
}

/// Which part of a month or a week: its beginning, its middle, its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Third {
    First,
    Middle,
    Last,
}

/// "mid March", "the end of next week", "fine mese", "inizio marzo", "by the end of the month".
pub(crate) fn part_of_month(p: &Parser<'_>, at: usize) -> Found<Day> {
    let table: &[(&str, Third)] = if p.english() {
        &[
            ("early", Third::First),
            ("early in", Third::First),
            ("the beginning of", Third::First),
            ("beginning of", Third::First),
            ("the start of", Third::First),
            ("start of", Third::First),
            ("mid", Third::Middle),
            ("the middle of", Third::Middle),
            ("middle of", Third::Middle),
            ("late", Third::Last),
            ("late in", Third::Last),
            ("the end of", Third::Last),
            ("end of", Third::Last),
        ]
    } else {
        &[
            ("inizio", Third::First),
            ("inizi di", Third::First),
            ("primi di", Third::First),
            ("i primi di", Third::First),
            ("ai primi di", Third::First),
            ("primi giorni di", Third::First),
            ("ultimi giorni di", Third::Last),
            ("l inizio di", Third::First),
            ("inizio di", Third::First),
            ("gli inizi di", Third::First),
            ("l inizio del", Third::First),
            ("l inizio della", Third::First),
            ("meta", Third::Middle),
            ("la meta di", Third::Middle),
            ("la meta del", Third::Middle),
            ("fine", Third::Last),
            ("fine di", Third::Last),
            ("la fine di", Third::Last),
            ("la fine del", Third::Last),
            ("la fine della", Third::Last),
            ("la fine dell", Third::Last),
            ("la fine dello", Third::Last),
            ("fine dello", Third::Last),
            ("fine del", Third::Last),
            ("fine della", Third::Last),
        ]
    };
    if let Some(found) = initials(p, at) {
        return Some(found);
    }
    let found = table.iter().filter_map(|(phrase, third)| p.phrase(at, phrase).map(|next| (*third, next)));
    let (third, next) = found.max_by_key(|(_, next)| *next)?;
    let next = if p.is(next, "-") && p.glued(next) { next + 1 } else { next };
    let next = p.skip(next, p.words.about);
    let (whole, next) = longest([date::date(p, next), cycle(p, next), bare_unit(p, next)])?;
    if whole.grain == Grain::Year && p.english() {
        return Some((part_of_year(&whole, third)?, next));
    }
    let (from, to) = match (whole.grain, third) {
        (Grain::Month, Third::First) => (0, Some(10)),
        (Grain::Month, Third::Middle) => (10, Some(20)),
        (Grain::Month, Third::Last) => (20, None),
        (Grain::Week, Third::First) => (0, Some(3)),
        (Grain::Week, Third::Last) => (4, None),
        _ => return None,
    };
    let end = match to {
        Some(days) => civil::add_days(*whole.start, days)?,
        None => whole.until()?,
    };
    Some((Day { assumed: whole.assumed, ..Day::stretch(civil::add_days(*whole.start, from)?, end, Grain::Day) }, next))
}

/// "20 of next month", "the 20th day of this month".
pub(crate) fn of_named_month(p: &Parser<'_>, at: usize) -> Found<Day> {
    if !p.english() {
        return None;
    }
    let (day, next) = longest([number::ordinal(p, p.skip(at, p.words.articles)), number::cardinal(p, at)])?;
    let next = p.one_of(p.skip(next, &["day"]), &["of"])?;
    let (month, next) = cycle(p, next).filter(|(month, _)| month.grain == Grain::Month)?;
    let date = civil::day(month.start.year(), month.start.month(), i8::try_from(day).ok()?)?;
    Some((Day::new(civil::midnight(date), Grain::Day, Sort::Date(true)), next))
}

/// "EOM", "the BOM", "EOY": the end or the beginning of this month or year.
fn initials(p: &Parser<'_>, at: usize) -> Found<Day> {
    let at = p.skip(at, &["the"]);
    let this = |grain: Grain| Some(Day::new(civil::floor(*p.now, grain)?, grain, Sort::Cycle));
    if !p.english() {
        return None;
    }
    let found = match p.text(at) {
        "eom" => {
            let month = this(Grain::Month)?;
            Day::stretch(civil::add_days(*month.start, 20)?, month.until()?, Grain::Day)
        }
        "bom" => {
            let month = this(Grain::Month)?;
            Day::stretch(*month.start, civil::add_days(*month.start, 10)?, Grain::Day)
        }
        "eoy" => part_of_year(&this(Grain::Year)?, Third::Last)?,
        _ => return None,
    };
    Some((found, at + 1))
}

/// "the beginning of 2027" is its first three months, "the end of the year" its last four.
fn part_of_year(year: &Day, third: Third) -> Option<Day> {
    let (from, to) = match third {
        Third::First => (0, 3),
        Third::Last => (8, 12),
        Third::Middle => return None,
    };
    Some(Day::stretch(civil::add_months(*year.start, from)?, civil::add_months(*year.start, to)?, Grain::Month))
}

/// "the month", "the week", "mese": this one.
fn bare_unit(p: &Parser<'_>, at: usize) -> Found<Day> {
    let ((grain, times), next) = duration::unit(p, p.skip(at, p.words.articles))?;
    let sound = times == 1 && grain > Grain::Day;
    sound.then(|| Some((Day::new(civil::floor(*p.now, grain)?, grain, Sort::Cycle), next)))?
}

/// The end of a unit as a moment: "the end of the month", "the year", "fine anno", "fine giornata".
pub(crate) fn end_of(p: &Parser<'_>, at: usize) -> Found<DateTime> {
    const SHORT: Table<Grain> =
        &[("eod", Grain::Day), ("cob", Grain::Day), ("eow", Grain::Week), ("eom", Grain::Month), ("eoy", Grain::Year)];
    if let Some((grain, next)) = p.meaning(at, SHORT) {
        return Some((civil::add(civil::floor(*p.now, grain)?, grain, 1)?, next));
    }
    let at = p.skip(at, p.words.articles);
    let phrases: &[&str] = if p.english() {
        &["end of the", "end of", "close of"]
    } else {
        &["fine", "fine del", "fine della", "fine dell", "fine di", "fine delle"]
    };
    let next = p.one_of(at, phrases)?;
    let day: &[&str] = if p.english() { &["day", "today"] } else { &["giornata", "giorno"] };
    if let Some(next) = p.one_of(next, day) {
        return Some((civil::add_days(civil::midnight(p.now.date()), 1)?, next));
    }
    let (whole, next) = longest([date::date(p, next), cycle(p, next), bare_unit(p, next)])?;
    (whole.end.is_none() && whole.grain > Grain::Day).then(|| Some((whole.until()?, next)))?
}
