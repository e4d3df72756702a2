//! What names a recurrence: "every Monday", "daily", "il lunedì e il giovedì", "the 15th of every month".

use super::rule::Rule;
use super::{Said, clocks};
use crate::Grain;
use crate::dates::Sort;
use crate::dates::date;
use crate::dates::holiday;
use crate::dates::weekday;
use crate::duration;
use crate::number;
use crate::parser::{Found, Parser, longest};
use crate::words::{Feast, Part, Sort as PartSort};

/// What names the recurrence; `timed` says that a time of day stands before it.
pub(super) fn head(p: &Parser<'_>, at: usize, timed: bool) -> Found<Said> {
    longest([
        every(p, at),
        adverb(p, at),
        habitual(p, at),
        working_days(p, at),
        of_every_month(p, at),
        alternate(p, at),
        from_to(p, at, timed),
    ])
}

fn said(rule: Rule, next: usize) -> Found<Said> {
    Some((Said::new(rule), next))
}

/// "every ..." in all its forms.
fn every(p: &Parser<'_>, at: usize) -> Found<Said> {
    let next = p.one_of(at, p.words.every)?;
    longest([every_unit(p, next), every_part(p, next), every_day(p, next), every_date(p, next)])
}

/// "every day", "every 2 weeks", "every other month", "ogni mezz'ora".
fn every_unit(p: &Parser<'_>, at: usize) -> Found<Said> {
    // "every half hour", "ogni quarto d'ora"
    if let Some((far, next)) = duration::duration(p, at).filter(|_| p.digits(at).is_none())
        && matches!(far.length.seconds, 900 | 1_800 | 2_700)
    {
        return said(Rule::new(Grain::Minute, far.length.seconds / 60), next);
    }
    let (count, next) = step(p, at);
    let (unit, next) = duration::unit(p, next)?;
    said(of_unit(unit, count)?, next)
}

/// How many units lie between: 1 where nothing is said.
fn step(p: &Parser<'_>, at: usize) -> (i64, usize) {
    let other = p.phrase(at, "other").filter(|_| p.english()).map(|next| (2, next));
    let counted = number::cardinal(p, at).filter(|(count, _)| (1..=999).contains(count));
    let ordinal = number::ordinal(p, at).filter(|_| p.english() && !p.is(at, "first"));
    longest([other, counted, ordinal]).unwrap_or((1, at))
}

fn of_unit((grain, times): (Grain, i64), count: i64) -> Option<Rule> {
    let count = count.checked_mul(times).filter(|count| *count > 0)?;
    Some(match grain {
        Grain::Second | Grain::Decade => return None,
        Grain::Quarter => {
            let mut rule = Rule::new(Grain::Month, count.checked_mul(3)?);
            rule.quarters = count == 1;
            rule
        }
        Grain::Minute if count % 60 == 0 => Rule::new(Grain::Hour, count / 60),
        Grain::Minute | Grain::Hour | Grain::Day | Grain::Week | Grain::Month | Grain::Year => Rule::new(grain, count),
    })
}

/// "every morning", "tutte le sere".
fn every_part(p: &Parser<'_>, at: usize) -> Found<Said> {
    let (part, next) = p.meaning(at, p.words.parts)?;
    Some((Said { part: Some(part), ..Said::new(Rule::new(Grain::Day, 1)) }, next))
}

/// "every Monday and Thursday", "every other Tuesday", "every weekday", "every weekend", "ogni primo lunedì del mese".
fn every_day(p: &Parser<'_>, at: usize) -> Found<Said> {
    if let Some(next) = p.one_of(at, p.words.working_days) {
        return said(weekly((1..=5).collect()), next);
    }
    if let Some(next) = p.one_of(at, p.words.weekend) {
        return said(weekly(vec![6, 7]), next);
    }
    let placed = weekday::place(p, at).and_then(|(nth, next)| {
        let (rule, next) = placed_day(p, nth, next)?;
        let tail = of_month(p, next);
        // "every second Tuesday" without a month is every other one for many.
        (tail.is_some() || nth != 2).then_some((rule, tail.unwrap_or(next)))
    });
    let (count, next) = step(p, at);
    let plain = weekdays(p, next).map(|(days, next)| (Rule { interval: count, ..weekly(days) }, next));
    let plain = plain.filter(|_| weekday::place(p, at).is_none());
    let (rule, next) = longest([placed, plain])?;
    said(rule, next)
}

fn weekly(days: Vec<i8>) -> Rule {
    Rule { weekdays: days.into_iter().map(|day| (0, day)).collect(), ..Rule::new(Grain::Week, 1) }
}

/// Weekdays one after the other: "Monday, Wednesday and Friday", "lunedì e giovedì".
pub(super) fn weekdays(p: &Parser<'_>, at: usize) -> Found<Vec<i8>> {
    let (first, mut next) = weekday::name(p, at)?;
    let mut days = vec![first];
    for _ in 0..6 {
        let joint = if p.is(next, ",") { next + 1 } else { next };
        let joint = p.skip(joint, p.words.and);
        if joint == next {
            break;
        }
        let start = p.skip(p.skip(joint, p.words.every), &["il", "la", "i", "le", "on"]);
        let Some((day, after)) = weekday::name(p, start) else { break };
        days.push(day);
        next = after;
    }
    Some((days, next))
}

/// A day by its place in every month: "first Monday", "last day".
pub(super) fn placed_day(p: &Parser<'_>, nth: i8, at: usize) -> Found<Rule> {
    let rule = Rule::new(Grain::Month, 1);
    if let Some((day, next)) = weekday::name(p, at) {
        return Some((Rule { weekdays: vec![(nth, day)], ..rule }, next));
    }
    let next = p.one_of(at, if p.english() { &["day"] } else { &["giorno"] })?;
    Some((Rule { month_days: vec![nth], ..rule }, next))
}

/// The position behind "of the month", "del mese".
pub(super) fn of_month(p: &Parser<'_>, at: usize) -> Option<usize> {
    let phrases: &[&str] = if p.english() {
        &["of the month", "in the month", "of month", "of a month"]
    } else {
        &["del mese", "di mese", "nel mese"]
    };
    p.one_of(at, phrases)
}

/// The position behind "of every month", "di ogni mese".
fn of_each_month(p: &Parser<'_>, at: usize) -> Option<usize> {
    let phrases: &[&str] = if p.english() {
        &["of every month", "of each month", "every month", "each month", "in every month", "monthly"]
    } else {
        &["di ogni mese", "ogni mese", "di tutti i mesi", "di ciascun mese"]
    };
    p.one_of(at, phrases)
}

/// "every December 25", "ogni 25 dicembre", "every Christmas", "every 15th of the month", "every January".
fn every_date(p: &Parser<'_>, at: usize) -> Found<Said> {
    let yearly = longest([
        date::date(p, at)
            .filter(|(day, _)| day.sort == Sort::Date(false) && !p.any(at, p.words.articles))
            .map(|(day, next)| (on_date(day.start.month(), day.start.day()), next)),
        holiday::name(p, at).and_then(|(feast, next)| Some((on_feast(feast)?, next))),
        date::month_name(p, at).map(|(month, next)| (Rule { months: vec![month], ..Rule::new(Grain::Year, 1) }, next)),
    ]);
    let monthly = month_days(p, at).and_then(|(days, next)| {
        let tail = of_month(p, next);
        let ordinal = number::ordinal(p, at).is_some() && p.digits(at).is_some();
        (tail.is_some() || ordinal)
            .then(|| (Rule { month_days: days, ..Rule::new(Grain::Month, 1) }, tail.unwrap_or(next)))
    });
    let (rule, next) = longest([yearly, monthly])?;
    said(rule, next)
}

pub(super) fn on_date(month: i8, day: i8) -> Rule {
    Rule { months: vec![month], month_days: vec![day], ..Rule::new(Grain::Year, 1) }
}

pub(super) fn on_feast(feast: Feast) -> Option<Rule> {
    match feast {
        Feast::Fixed(month, day) => Some(on_date(month, day)),
        Feast::Nth(nth, day, month, 0) => {
            Some(Rule { months: vec![month], weekdays: vec![(nth, day)], ..Rule::new(Grain::Year, 1) })
        }
        Feast::Nth(..) | Feast::Easter(_) | Feast::Orthodox(_) => None,
    }
}

/// Days of the month one after the other: "1st and 15th", "giorno 5", "1 e 15".
pub(super) fn month_days(p: &Parser<'_>, at: usize) -> Found<Vec<i8>> {
    let one = |at: usize| {
        let at = p.skip(p.skip(at, &["the", "il", "l", "i"]), &["giorno", "giorni", "day"]);
        let (day, next) = longest([number::ordinal(p, at), number::cardinal(p, at)])?;
        Some((i8::try_from(day).ok().filter(|day| (1..=31).contains(day))?, next))
    };
    let (first, mut next) = one(at)?;
    let mut days = vec![first];
    for _ in 0..5 {
        let joint = if p.is(next, ",") { next + 1 } else { next };
        let joint = p.skip(joint, p.words.and);
        let Some((day, after)) = one(joint).filter(|_| joint > next) else { break };
        days.push(day);
        next = after;
    }
    (!p.any(next, &[":", "am", "pm", "h", "/"])).then_some((days, next))
}

/// "daily", "monthly", "settimanalmente", "once a week", "una volta al mese".
fn adverb(p: &Parser<'_>, at: usize) -> Found<Said> {
    let named = p.meaning(at, p.words.adverbs);
    let once = p.one_of(at, p.words.once).and_then(|next| duration::unit(p, next));
    let (unit, next) = longest([named, once])?;
    if unit.0 < Grain::Day && once.is_some() {
        return None;
    }
    let part = p.is(at, "nightly").then_some(Part { sort: PartSort::Night, from: 18, to: 24 });
    Some((Said { part, ..Said::new(of_unit(unit, 1)?) }, next))
}

/// "on Mondays", "Mondays and Thursdays"; "il lunedì e il giovedì", "di domenica".
fn habitual(p: &Parser<'_>, at: usize) -> Found<Said> {
    if p.english() {
        let start = p.skip(at, &["on"]);
        let plural = weekday::is_plural(p, start);
        let (days, next) = weekdays(p, start).filter(|_| plural)?;
        return said(weekly(days), next);
    }
    let start = p.one_of(at, &["il", "la", "i", "le", "di", "al", "alla"])?;
    let (days, next) = weekdays(p, start)?;
    // "il lunedì 3 marzo", "il lunedì prossimo" and "il lunedì di Pasqua" are one day.
    let one_day = p.digits(next).is_some()
        || p.meaning(next, p.words.which).is_some()
        || p.any(
            next,
            &[
                "di",
                "del",
                "dell",
                "della",
                "dopo",
                "santo",
                "grasso",
                "primo",
                "successivo",
                "successiva",
                "precedente",
            ],
        );
    (!one_day).then(|| said(weekly(days), next))?
}

/// "on weekdays", "weekends", "nei giorni feriali".
fn working_days(p: &Parser<'_>, at: usize) -> Found<Said> {
    let start =
        p.skip(at, if p.english() { &["on", "during"] } else { &["nei", "i", "durante i", "nel", "dei", "di"] });
    let plural = p.any(start, &["weekdays", "working", "workdays", "business", "work", "giorni", "feriali"]);
    if let Some(next) = p.one_of(start, p.words.working_days).filter(|_| plural) {
        return p
            .any(next - 1, &["weekday", "workday", "day"])
            .then_some(())
            .map_or_else(|| said(weekly((1..=5).collect()), next), |()| None);
    }
    let weekends = p.any(start, &["weekends"]) || (start > at && p.any(at, &["nei", "i"]));
    let next = p.one_of(start, p.words.weekend).filter(|_| weekends)?;
    said(weekly(vec![6, 7]), next)
}

/// "the first Monday of every month", "the 15th of each month", "il 5 di ogni mese", "l'ultimo giorno di ogni mese".
fn of_every_month(p: &Parser<'_>, at: usize) -> Found<Said> {
    let start = p.skip(p.skip(at, &["on"]), p.words.articles);
    let placed = weekday::place(p, start).and_then(|(nth, next)| placed_day(p, nth, next));
    let dated =
        month_days(p, start).map(|(days, next)| (Rule { month_days: days, ..Rule::new(Grain::Month, 1) }, next));
    let once = placed.clone().filter(|(rule, _)| !rule.weekdays.is_empty()).and_then(|(rule, next)| {
        let next = of_month(p, next)?;
        Some((Said { once: true, ..Said::new(rule) }, next))
    });
    let each = longest([placed, dated].into_iter().map(|found| {
        let (rule, next) = found?;
        let next = of_each_month(p, next)?;
        said(rule, next)
    }));
    longest([each, once])
}

/// "every other day", "on alternate days", "un giorno sì e uno no", "a giorni alterni".
fn alternate(p: &Parser<'_>, at: usize) -> Found<Said> {
    let days: &[&str] = if p.english() {
        &["on alternate days", "alternate days", "day on day off"]
    } else {
        &["un giorno si e uno no", "un giorno si e un giorno no", "un giorno si uno no", "a giorni alterni"]
    };
    if let Some(next) = p.one_of(at, days) {
        return said(Rule::new(Grain::Day, 2), next);
    }
    let next =
        p.one_of(at, &["una settimana si e una no", "a settimane alterne", "on alternate weeks", "alternate weeks"])?;
    said(Rule::new(Grain::Week, 2), next)
}

/// "from Monday to Friday at 8", "dal lunedì al venerdì": without a time of day only with the article of habit.
fn from_to(p: &Parser<'_>, at: usize, timed: bool) -> Found<Said> {
    let start = p.skip(at, p.words.from);
    let habit = !p.english() && p.any(at, &["dal", "dalla"]);
    let (first, next) = weekday::name(p, p.skip(start, &["every", "each"]))?;
    let joint = p.one_of(next, p.words.to)?;
    let (last, next) = weekday::name(p, joint)?;
    let timed = timed || clocks(p, if p.is(next, ",") { next + 1 } else { next }).is_some();
    let days: Vec<i8> = (0..7).map(|more| (first - 1 + more) % 7 + 1).collect();
    let length = days.iter().position(|day| *day == last)? + 1;
    let sound = (habit || timed) && length > 1;
    sound.then(|| said(weekly(days.into_iter().take(length).collect()), next))?
}
