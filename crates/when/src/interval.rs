//! Stretches of time between two moments, from one on, up to one, or of a length from one on.

use jiff::civil::DateTime;

use crate::dates::date;
use crate::dates::{self, Day, Sort};
use crate::dates::{period, relative};
use crate::duration;
use crate::moment::{self, Meaning, Slots};
use crate::number;
use crate::parser::{Found, Parser, longest};
use crate::wall::Point;
use crate::{Grain, civil};

/// What an interval means: one meaning, or several where its moments have several.
pub(crate) fn interval(p: &Parser<'_>, at: usize) -> Found<Vec<Meaning>> {
    longest([
        dates(p, at),
        between(p, at),
        within(p, at),
        until_end(p, at),
        since(p, at),
        after(p, at),
        before(p, at),
        by(p, at),
        lasting(p, at),
        beside(p, at),
        on_a_day(p, at),
    ])
}

fn new(start: Option<Point>, end: Option<Point>, of: &Meaning) -> Meaning {
    Meaning { start, end, interval: true, ..of.clone() }
}

/// The only meaning of slots.
fn only(p: &Parser<'_>, slots: &Slots) -> Option<Meaning> {
    let mut found = moment::meanings(p, slots);
    if found.len() == 1 { found.pop() } else { None }
}

/// The first moment behind a meaning: the end of a day or a part of one, a time of day itself.
fn end_of(meaning: &Meaning) -> Option<Point> {
    match meaning.end {
        Some(end) => Some(end),
        None if meaning.grain >= Grain::Day => civil::add(*meaning.start?, meaning.grain, 1).map(Point::from),
        None => meaning.start,
    }
}

/// What joins the ends of "later than 9:30 but before 11".
const BUT_BEFORE: &[&str] = &["but before", "and before", "but no later than"];

/// "from Monday to Friday", "between tomorrow and Sunday", "tomorrow 9am - Friday 5pm".
fn between(p: &Parser<'_>, at: usize) -> Found<Vec<Meaning>> {
    let and: &[&str] =
        if p.english() { &["and the", "and"] } else { &["e il", "e la", "e l", "ed il", "e le", "ed", "e"] };
    let forms = [
        p.one_of(at, p.words.from).map(|next| (next, p.words.to)),
        p.one_of(at, p.words.between).map(|next| (next, and)),
        p.one_of(at, p.words.after).filter(|_| p.english()).map(|next| (next, BUT_BEFORE)),
        Some((at, p.words.to)),
    ];
    longest(forms.into_iter().flatten().map(|(start, joints)| {
        let (first, next) = moment::slots(p, start)?;
        let next = if p.is(next, ",") { next + 1 } else { next };
        let joint = p.one_of(next, joints)?;
        let introduced = start > at;
        if !introduced && (first.is_weak() || !clear_joint(p, joint)) {
            return None;
        }
        let shared = p.one_of(next, BUT_BEFORE).and_then(|joint| moment::slots(p, joint));
        let joined_day = shared.and_then(|(second, _)| second.day).filter(Day::is_one_day);
        let (first, one_day) = match joined_day {
            Some(day) if first.is_time_only() => (first.on(day), true),
            _ => (first, false),
        };
        let yearless = first.day.as_ref().is_some_and(|day| day.sort == Sort::Date(false));
        let dated = first.day.as_ref().is_some_and(|day| matches!(day.sort, Sort::DayOfMonth(_)));
        let first = only(p, &first)?;
        let later = if one_day { *p } else { p.from(*first.start?) };
        let (second, next) = moment::slots(&later, joint)?;
        // "dal 10 al 5 marzo": a day without its month takes that of the other, or none.
        if dated && second.day.as_ref().is_some_and(|day| matches!(day.sort, Sort::Date(_))) {
            return None;
        }
        let with_year = second.day.as_ref().is_some_and(|day| day.sort == Sort::Date(true));
        let second = only(&later, &second)?;
        let end = end_of(&second)?;
        // A year at the end is that of both: "December 24 to January 6, 2028".
        let first = if yearless && with_year { before_end(first, end)? } else { first };
        let mut whole = new(first.start, Some(end), &first);
        whole.grain = first.grain.min(second.grain);
        (*first.start? < *end).then_some((vec![whole], next))
    }))
}

/// A date without a year as the last such one before the end.
fn before_end(mut first: Meaning, end: Point) -> Option<Meaning> {
    for _ in 0..100 {
        let later = civil::add_months(*first.start?, 12)?;
        if later >= *end {
            break;
        }
        (first.start, first.assumed) = (Some(later.into()), Vec::new());
    }
    Some(first)
}

/// Whether the joint before a position joins two moments without a word before the first.
fn clear_joint(p: &Parser<'_>, joint: usize) -> bool {
    let last = joint.saturating_sub(1);
    !p.any(last, &["a", "al", "alle", "alla", "all"])
        || (last > 0 && p.any(last - 1, &["fino", "sino"]))
        || p.any(last, &["-"])
}

/// Days of one month: "March 3-5", "3rd to 5th of March", "dal 3 al 7 marzo", "tra il 3 e il 7 marzo".
fn dates(p: &Parser<'_>, at: usize) -> Found<Vec<Meaning>> {
    let and: &[&str] = if p.english() { &["and the", "and"] } else { &["e il", "e l", "e"] };
    let forms = [
        p.one_of(at, p.words.from).map(|next| (next, p.words.to)),
        p.one_of(at, p.words.between).map(|next| (next, and)),
        Some((p.skip(at, p.words.articles), p.words.to)),
        p.one_of(at, p.words.on).map(|next| (next, p.words.to)),
    ];
    longest(
        forms
            .into_iter()
            .flatten()
            .map(|(start, joints)| month_first(p, start, joints).or_else(|| month_last(p, start, joints))),
    )
}

fn date_number(p: &Parser<'_>, at: usize) -> Found<i64> {
    longest([number::ordinal(p, at), number::cardinal(p, at)]).filter(|(number, _)| (1..=31).contains(number))
}

fn month_first(p: &Parser<'_>, at: usize, joints: &[&str]) -> Found<Vec<Meaning>> {
    let (month, next) = date::month_name(p, at)?;
    let (first, next) = date_number(p, next)?;
    let (last, next) = date_number(p, p.one_of(next, joints)?)?;
    if p.any(next, &["am", "pm", ":"]) || date::month_name(p, next).is_some() {
        return None;
    }
    spanning(p, month, first, last, if p.is(next, ",") { next + 1 } else { next }, next)
}

fn month_last(p: &Parser<'_>, at: usize, joints: &[&str]) -> Found<Vec<Meaning>> {
    let (first, next) = date_number(p, at)?;
    let (last, next) = date_number(p, p.one_of(next, joints)?)?;
    let (month, next) = date::month_name(p, p.skip(next, p.words.of))?;
    spanning(p, month, first, last, if p.is(next, ",") { next + 1 } else { p.skip(next, p.words.of) }, next)
}

/// From one day of a month to another, the latter included.
fn spanning(p: &Parser<'_>, month: i8, first: i64, last: i64, year_at: usize, end: usize) -> Found<Vec<Meaning>> {
    let (first, last) = (i8::try_from(first).ok()?, i8::try_from(last).ok()?);
    let year = number::year(p, year_at);
    let (start, assumed, next) = match year {
        Some((year, next)) => (civil::midnight(civil::day(year, month, first)?), Vec::new(), next),
        None => {
            let day = date::next_date(p, month, first)?;
            (*day.start, day.assumed, end)
        }
    };
    let last = civil::midnight(civil::day(start.year(), month, last)?);
    let end = civil::add_days(last, 1)?;
    let whole = Meaning {
        start: Some(start.into()),
        end: Some(end.into()),
        interval: true,
        grain: Grain::Day,
        assumed,
        zone: None,
    };
    (start < last).then_some((vec![whole], next))
}

/// "within two hours", "within the hour", "entro due ore": from now on.
fn within(p: &Parser<'_>, at: usize) -> Found<Vec<Meaning>> {
    let next = p.one_of(at, p.words.within)?;
    let until = |end: Point, grain: Grain| Meaning {
        start: Some(p.now),
        end: Some(end),
        interval: true,
        grain,
        assumed: Vec::new(),
        zone: None,
    };
    if let Some((far, next)) = duration::duration(p, next) {
        let end = if far.grain < Grain::Day {
            far.from(p.wall, p.now, true)?
        } else {
            relative::from_now(p, far, true)?.start
        };
        return Some((vec![until(end, far.grain)], next));
    }
    let article = p.one_of(next, p.words.articles)?;
    let ((grain, times), next) = duration::unit(p, article)?;
    let end = civil::add(civil::floor(*p.now, grain)?, grain, times)?;
    (times == 1 && grain > Grain::Minute).then(|| (vec![until(end.into(), grain)], next))
}

/// "by the end of the month", "entro fine mese", "until the end of the year".
fn until_end(p: &Parser<'_>, at: usize) -> Found<Vec<Meaning>> {
    let by = p.one_of(at, p.words.by).map(|next| (Some(p.now), next));
    let until = longest([p.one_of(at, p.words.until), p.one_of(at, p.words.before)].map(|next| Some((None, next?))));
    let (start, next) = longest([by, until])?;
    let back = if p.any(next - 1, &["la", "della", "the"]) { next - 1 } else { next };
    let (end, next) = longest([period::end_of(p, next), period::end_of(p, back)])?;
    let whole =
        Meaning { start, end: Some(end.into()), interval: true, grain: Grain::Day, assumed: Vec::new(), zone: None };
    Some((vec![whole], next))
}

/// The slots behind one of several words, and the meanings of them made into intervals.
fn open(
    p: &Parser<'_>,
    at: usize,
    words: &[&str],
    make: impl Fn(&Slots, &Meaning) -> Option<Meaning>,
) -> Found<Vec<Meaning>> {
    let found = words.iter().filter_map(|phrase| p.phrase(at, phrase)).filter_map(|start| {
        let hour = p.any(start - 1, &["le", "l", "alle", "all", "dalle", "dall", "delle", "dell", "ore"]);
        if hour { moment::slots_from_hour(p, start) } else { moment::slots(p, start) }
    });
    let (slots, next) =
        found.max_by_key(|(_, next)| *next).filter(|(slots, next)| !slots.is_weak() || *next == p.tokens.len())?;
    let whole: Option<Vec<Meaning>> = moment::meanings(p, &slots).iter().map(|meaning| make(&slots, meaning)).collect();
    whole.filter(|whole| !whole.is_empty()).map(|whole| (whole, next))
}

/// "since Monday": what began in the past.
fn since(p: &Parser<'_>, at: usize) -> Found<Vec<Meaning>> {
    open(p, at, p.words.since, |slots, meaning| {
        let start = meaning.start?;
        let start = if *start <= *p.now { start } else { earlier(slots, *start)?.into() };
        Some(Meaning { assumed: vec!["past"], ..new(Some(start), None, meaning) })
    })
}

/// The same one round before.
fn earlier(slots: &Slots, start: DateTime) -> Option<DateTime> {
    match slots.day.as_ref().map(|day| (day.sort, day.grain)) {
        None => civil::add_days(start, -1),
        Some((Sort::Weekday(_, true), _)) => civil::add_days(start, -7),
        Some((Sort::Date(false), _) | (Sort::Feast, _)) => civil::add_months(start, -12),
        Some((Sort::Month(_), Grain::Month)) => civil::add_months(start, -12),
        Some((Sort::DayOfMonth(_), _)) => civil::add_months(start, -1),
        Some(_) => None,
    }
}

/// "after 5pm", "from Monday on", "a partire da lunedì".
fn after(p: &Parser<'_>, at: usize) -> Found<Vec<Meaning>> {
    let far = p.phrase(at, "after").filter(|_| p.english()).and_then(|next| duration::duration(p, next));
    if let Some((far, next)) = far.filter(|(_, next)| *next == p.tokens.len()) {
        let start = Meaning { grain: far.grain, ..open_from(relative::from_now(p, far, true)?.start) };
        return Some((vec![start], next));
    }
    let behind = p.any(at, &["after", "dopo", "later"]);
    let (found, next) = open(p, at, p.words.after, |_, meaning| {
        // "after 2018" is from 2019 on.
        let long = !meaning.interval && meaning.grain >= Grain::Month;
        let end = if long { end_of(meaning) } else { meaning.end };
        let start = if behind { end.or(meaning.start)? } else { meaning.start? };
        // "the mail from last week" is that of this week alone, or is it.
        let past = p.is(at, "from") && *start < civil::floor(*p.now, Grain::Day)?;
        (!past).then(|| new(Some(start), None, meaning))
    })?;
    let tail: &[&str] =
        if p.english() { &["on", "onwards", "onward", "and onwards"] } else { &["in poi", "in avanti"] };
    Some((found, p.skip(next, tail)))
}

/// From a moment on.
fn open_from(start: Point) -> Meaning {
    Meaning { start: Some(start), end: None, interval: true, grain: Grain::Second, assumed: Vec::new(), zone: None }
}

/// "before noon", "until Friday", "fino alle 18": the moment itself is no longer within.
fn before(p: &Parser<'_>, at: usize) -> Found<Vec<Meaning>> {
    let make = |_: &Slots, meaning: &Meaning| Some(new(None, Some(meaning.start?), meaning));
    longest([open(p, at, p.words.before, make), open(p, at, p.words.until, make)])
}

/// "by Friday": from now until then. Italian "entro venerdì" says only until when.
fn by(p: &Parser<'_>, at: usize) -> Found<Vec<Meaning>> {
    let start = p.english().then_some(p.now);
    open(p, at, p.words.by, |_, meaning| {
        let end = meaning.start?;
        (*end > *p.now).then(|| new(start, Some(end), meaning))
    })
}

/// "tomorrow after 2pm", "domani dopo le 14", "giovedì entro mezzogiorno": a day, and on it from or up to a time of day.
fn on_a_day(p: &Parser<'_>, at: usize) -> Found<Vec<Meaning>> {
    let (day, next) = dates::day(p, p.skip(at, p.words.on)).filter(|(day, _)| day.is_one_day() && !day.weak)?;
    let next = if p.is(next, ",") { next + 1 } else { next };
    let forms = [(p.words.after, true), (p.words.before, false), (p.words.by, false)];
    longest(forms.map(|(words, forward)| {
        let make = |slots: &Slots| {
            let timed = slots.day.is_none() && slots.part.is_none() && slots.clock.is_some();
            let whole = slots.on(day.clone());
            let meaning = only(p, &whole).filter(|_| timed)?;
            let (start, end) = if forward { (meaning.start, None) } else { (None, meaning.start) };
            Some(vec![new(start, end, &meaning)])
        };
        let found = words.iter().filter_map(|phrase| p.phrase(next, phrase)).filter_map(|start| {
            let hour = p.any(start - 1, &["le", "l", "alle", "all", "dalle", "dall", "delle", "dell", "ore"]);
            let english = p.english().then(|| clock_at(p, start)).flatten();
            english.or_else(|| if hour { moment::slots_from_hour(p, start) } else { moment::slots(p, start) })
        });
        let (slots, next) = found.max_by_key(|(_, next)| *next)?;
        Some((make(&slots)?, next))
    }))
}

/// An hour that only follows such words, as "11" in "before 11".
fn clock_at(p: &Parser<'_>, at: usize) -> Found<Slots> {
    moment::slots_from_hour(p, at).filter(|(slots, _)| slots.clock.is_some() && slots.day.is_none())
}

/// "half an hour before 5pm", "due ore dopo mezzogiorno": a moment at a distance from a time of day.
fn beside(p: &Parser<'_>, at: usize) -> Found<Vec<Meaning>> {
    let (far, next) = duration::duration(p, at)?;
    let (on, back): (&[&str], &[&str]) = if p.english() {
        (&["after", "from", "past"], &["before"])
    } else {
        (&["dopo", "dopo le", "dopo l"], &["prima di", "prima delle", "prima dell"])
    };
    let side = [p.one_of(next, on).map(|next| (true, next)), p.one_of(next, back).map(|next| (false, next))];
    let (forward, next) = longest(side)?;
    let hour = p.any(next - 1, &["le", "l", "delle", "dell"]);
    let (slots, next) = if hour { moment::slots_from_hour(p, next) } else { moment::slots(p, next) }?;
    let base = only(p, &slots).filter(|base| slots.clock.is_some() && !base.interval && far.grain < Grain::Day)?;
    let start = far.from(p.wall.of(base.zone.as_ref()), base.start?, forward)?;
    let grain = far.grain.min(base.grain);
    Some((vec![Meaning { start: Some(start), grain, ..base }], next))
}

/// "tomorrow at 3pm for 2 hours", "for two hours from noon".
fn lasting(p: &Parser<'_>, at: usize) -> Found<Vec<Meaning>> {
    let behind = moment::slots(p, p.skip(at, p.words.from)).and_then(|(slots, next)| {
        let (far, next) = duration::duration(p, p.one_of(next, p.words.lasting)?)?;
        Some(((slots, far), next))
    });
    let ahead = p.one_of(at, p.words.lasting).and_then(|next| duration::duration(p, next)).and_then(|(far, next)| {
        let next = p.skip(
            next,
            if p.english() { &["from", "starting", "starting from", "beginning"] } else { &["a partire", "da"] },
        );
        let (slots, next) = moment::slots(p, next)?;
        Some(((slots, far), next))
    });
    let ((slots, far), next) = longest([behind, ahead])?;
    if slots.is_weak() || slots.range.is_some() {
        return None;
    }
    let meanings = moment::meanings(p, &slots);
    let whole: Option<Vec<Meaning>> = meanings
        .iter()
        .map(|meaning| {
            let start = meaning.start.filter(|_| !meaning.interval)?;
            let wall = p.wall.of(meaning.zone.as_ref());
            Some(new(Some(start), Some(far.from(wall, start, true)?), meaning))
        })
        .collect();
    whole.filter(|whole| !whole.is_empty()).map(|whole| (whole, next))
}
