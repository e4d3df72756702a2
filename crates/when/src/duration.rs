//! Lengths of time: "two and a half hours", "2h30", "un'ora e mezza", "mezz'ora".

use crate::civil;
use crate::number;
use crate::parser::{Found, Parser, longest};
use crate::wall::{Point, Wall};
use crate::words::Table;
use crate::{Grain, Length};

/// A length and how it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Duration {
    pub(crate) length: Length,
    /// The finest unit it was said in.
    pub(crate) grain: Grain,
    /// How many of that unit, where it was said in one.
    pub(crate) count: Option<i64>,
    /// Whether it has an article for a number, as figures of speech have: "a minute".
    pub(crate) article: bool,
    /// Whether its unit is a letter that means other things as well: "5m".
    pub(crate) doubtful: bool,
}

impl Duration {
    fn new(sixtieths: i64, unit: (Grain, i64), article: bool) -> Option<Self> {
        let (grain, times) = unit;
        let sixtieths = sixtieths.checked_mul(times)?;
        let (length, finest) = Length::of(sixtieths, grain)?;
        let count = (sixtieths % 60 == 0).then_some(sixtieths / 60);
        Some(Self { length, grain: finest, count, article, doubtful: false })
    }

    fn joined(self, other: Self) -> Option<Self> {
        let length = self.length.plus(other.length)?;
        Some(Self { length, grain: self.grain.min(other.grain), count: None, article: false, doubtful: false })
    }

    /// The point that lies so far from another one: months and days on the clock first, then the rest as elapsed time.
    pub(crate) fn from(self, wall: Wall<'_>, point: Point, forward: bool) -> Option<Point> {
        let sign = if forward { 1 } else { -1 };
        let Length { months, days, seconds } = self.length;
        let point = if months == 0 && days == 0 {
            point
        } else {
            let month = civil::add_months(*point, months.checked_mul(sign)?)?;
            civil::add_days(month, days.checked_mul(sign)?)?.into()
        };
        wall.later(point, seconds.checked_mul(sign)?)
    }
}

/// A duration: one part, or several from the greater unit to the finer.
pub(crate) fn duration(p: &Parser<'_>, at: usize) -> Found<Duration> {
    let (mut whole, mut next) = part(p, at)?;
    for _ in 0..5 {
        let joint = if p.is(next, ",") { next + 1 } else { next };
        let joint = p.skip(joint, p.words.and);
        let Some((more, after)) = part(p, joint).filter(|(more, _)| more.grain < whole.grain && !more.article) else {
            break;
        };
        (whole, next) = (whole.joined(more)?, after);
    }
    Some((whole, next))
}

fn part(p: &Parser<'_>, at: usize) -> Found<Duration> {
    longest([counted(p, at), fraction(p, at), in_figures(p, at), one_and_half(p, at), compact(p, at), pair(p, at)])
}

/// A unit as a word, whatever stands before it.
pub(crate) fn unit(p: &Parser<'_>, at: usize) -> Found<(Grain, i64)> {
    let (unit, next) = p.meaning(at, p.words.units)?;
    Some((unit, next))
}

/// "20 minutes", "two and a half hours", "a week"; "due ore e mezza", "un'ora".
fn counted(p: &Parser<'_>, at: usize) -> Found<Duration> {
    let article = p.any(at, p.words.one) && !p.is(at, "one");
    let (sixtieths, next) = if p.any(at, p.words.one) { (60, at + 1) } else { number::sixtieths(p, at)? };
    let next = if p.is(next, "-") && p.glued(next) { next + 1 } else { next };
    let short = p.meaning(next, p.words.short_units);
    let small = p.digits(at).is_some_and(|(_, length)| length <= 3);
    let short = short.filter(|_| small && (p.glued(next) || p.is(next, "h")));
    // "5m" may be metres as well.
    let doubtful = unit(p, next).is_none() && short.is_some() && !p.is(next, "h");
    let (unit, next) = longest([unit(p, next), short])?;
    // "the twenty second" is a day.
    if sixtieths > 60 && p.is(next - 1, "second") && at > 0 && p.is(at - 1, "the") {
        return None;
    }
    // "15 ora" is no length of time.
    if sixtieths > 60 && p.is(next - 1, "ora") {
        return None;
    }
    let (extra, next) = behind_unit(p, next, unit.0);
    let found = Duration::new(sixtieths.checked_add(extra)?, unit, article && extra == 0)?;
    Some((Duration { doubtful, ..found }, next))
}

/// What may follow a unit: "and a half", "e mezza", "e un quarto", in sixtieths.
fn behind_unit(p: &Parser<'_>, at: usize, grain: Grain) -> (i64, usize) {
    let halves: &[&str] = if p.english() { &["and a half"] } else { &["e mezzo", "e mezza"] };
    if let Some(next) = p.one_of(at, halves) {
        // "an hour and a half hour" counts twice what "an hour and a half" counts once.
        return if duration_word(p, next) { (0, at) } else { (30, next) };
    }
    let quarters: &[&str] = if p.english() { &["and a quarter"] } else { &["e un quarto"] };
    if grain == Grain::Hour {
        if let Some(next) = p.one_of(at, quarters) {
            return (15, next);
        }
        // "3 ore e 20" has minutes behind the hours.
        let minutes = p.phrase(at, "e").filter(|_| !p.english()).and_then(|next| number::cardinal(p, next));
        if let Some((minutes, next)) =
            minutes.filter(|(minutes, next)| (5..=59).contains(minutes) && !duration_word(p, *next))
        {
            return (minutes, next);
        }
        if let Some(next) = p.phrase(at, "e tre quarti").filter(|_| !p.english()) {
            return (45, next);
        }
    }
    (0, at)
}

fn duration_word(p: &Parser<'_>, at: usize) -> bool {
    p.meaning(at, p.words.units).is_some()
}

/// "half an hour", "a quarter of an hour"; "mezz'ora", "un quarto d'ora", "mezza giornata".
fn fraction(p: &Parser<'_>, at: usize) -> Found<Duration> {
    let table: &[(&str, i64, Grain)] = if p.english() {
        &[
            ("half an hour", 30, Grain::Hour),
            ("half hour", 30, Grain::Hour),
            ("a half hour", 30, Grain::Hour),
            ("half a minute", 30, Grain::Minute),
            ("half a day", 30, Grain::Day),
            ("half a year", 30, Grain::Year),
            ("a quarter of an hour", 15, Grain::Hour),
            ("quarter of an hour", 15, Grain::Hour),
            ("a quarter hour", 15, Grain::Hour),
            ("quarter hour", 15, Grain::Hour),
            ("three quarters of an hour", 45, Grain::Hour),
        ]
    } else {
        &[
            ("mezz ora", 30, Grain::Hour),
            ("mezza ora", 30, Grain::Hour),
            ("una mezz ora", 30, Grain::Hour),
            ("una mezza ora", 30, Grain::Hour),
            ("mezz oretta", 30, Grain::Hour),
            ("una mezz oretta", 30, Grain::Hour),
            ("mezzora", 30, Grain::Hour),
            ("una mezzora", 30, Grain::Hour),
            ("mezza giornata", 30, Grain::Day),
            ("un quarto d ora", 15, Grain::Hour),
            ("quarto d ora", 15, Grain::Hour),
            ("tre quarti d ora", 45, Grain::Hour),
            ("mezzo minuto", 30, Grain::Minute),
        ]
    };
    longest(table.iter().map(|(phrase, sixtieths, grain)| {
        let next = p.phrase(at, phrase)?;
        Some((Duration::new(*sixtieths, (*grain, 1), false)?, next))
    }))
}

/// "1/2 hour", "3/4 h", "1/4 d'ora": a part of an hour.
fn in_figures(p: &Parser<'_>, at: usize) -> Found<Duration> {
    let ((of, _), (all, _)) = (p.digits(at)?, p.digits(at + 2)?);
    let glued = p.is(at + 1, "/") && p.glued(at + 1) && p.glued(at + 2);
    let sixtieths = match (of, all) {
        (1, 2) => 30,
        (1, 4) => 15,
        (3, 4) => 45,
        _ => return None,
    };
    let hours: &[&str] = if p.english() {
        &["hour", "hours", "of an hour", "an hour", "hr", "h"]
    } else {
        &["ora", "di ora", "d ora", "h"]
    };
    let next = p.one_of(at + 3, hours).filter(|_| glued)?;
    Some((Duration::new(sixtieths, (Grain::Hour, 1), false)?, next))
}

/// "one and a half hours", "an hour and a half" is read with its unit; "un'ora e mezza" likewise.
fn one_and_half(p: &Parser<'_>, at: usize) -> Found<Duration> {
    let next = if p.english() { p.one_of(at, &["one and a half", "a half"]) } else { p.one_of(at, &["una mezza"]) }?;
    let (unit, next) = unit(p, next)?;
    let sixtieths = if p.is(at, "one") { 90 } else { 30 };
    Some((Duration::new(sixtieths, unit, false)?, next))
}

/// "2h30", "1h30m": hours and the minutes right behind.
fn compact(p: &Parser<'_>, at: usize) -> Found<Duration> {
    let (hours, _) = p.digits(at)?;
    let (minutes, length) = p.digits(at + 2)?;
    let sound = p.is(at + 1, "h") && p.glued(at + 1) && p.glued(at + 2) && length == 2 && minutes < 60;
    let sound = sound && !(p.any(at + 3, &["s", ":"]) && p.glued(at + 3));
    let next = if p.any(at + 3, &["m", "min"]) && p.glued(at + 3) { at + 4 } else { at + 3 };
    let whole = Duration::new(hours.checked_mul(60)?, (Grain::Hour, 1), false)?;
    sound.then(|| Some((whole.joined(Duration::new(minutes * 60, (Grain::Minute, 1), false)?)?, next)))?
}

/// "a couple of hours", "un paio d'ore", "a dozen days".
fn pair(p: &Parser<'_>, at: usize) -> Found<Duration> {
    let two: &[&str] = if p.english() {
        &["a couple of", "a couple", "couple of"]
    } else {
        &["un paio di", "un paio d", "un paio", "paio di", "paio d"]
    };
    let rounded: Table<i64> = if p.english() {
        &[("a dozen", 12), ("half a dozen", 6)]
    } else {
        &[
            ("una decina di", 10),
            ("una decina d", 10),
            ("una dozzina di", 12),
            ("una quindicina di", 15),
            ("una ventina di", 20),
            ("una trentina di", 30),
            ("una quarantina di", 40),
        ]
    };
    let (count, next) = longest([p.one_of(at, two).map(|next| (2, next)), p.meaning(at, rounded)])?;
    let (unit, next) = unit(p, next)?;
    Some((Duration::new(count * 60, unit, false)?, next))
}
