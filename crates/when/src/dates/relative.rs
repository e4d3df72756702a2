//! Days by their distance: from today, from now, or from another day.

use crate::dates::weekday;
use crate::dates::{self, Day, Sort};
use crate::duration::{self, Duration};
use crate::parser::{Found, Parser, longest};
use crate::{Grain, civil};

/// "tomorrow", "l'altro ieri".
pub(crate) fn named(p: &Parser<'_>, at: usize) -> Found<Day> {
    let (distance, next) = p.meaning(at, p.words.days)?;
    let week = p.phrase(next, "week").filter(|_| p.english() && distance >= 0);
    let (distance, next) = week.map_or((distance, next), |next| (distance + 7, next));
    let today = civil::midnight(p.now.date());
    Some((Day::new(civil::add_days(today, distance)?, Grain::Day, Sort::Relative), next))
}

/// The moment at a distance from now, as exact as the duration was: days have hours, weeks have days.
pub(crate) fn from_now(p: &Parser<'_>, far: Duration, forward: bool) -> Option<Day> {
    let grain = match far.grain {
        Grain::Second | Grain::Minute => Grain::Second,
        Grain::Hour => Grain::Minute,
        Grain::Day => Grain::Hour,
        Grain::Week | Grain::Month => Grain::Day,
        Grain::Quarter | Grain::Year | Grain::Decade => Grain::Month,
    };
    let start = p.wall.floor(far.from(p.wall, p.now, forward)?, grain)?;
    Some(Day::new(start, grain, Sort::Relative))
}

/// "in 20 minutes", "3 days ago", "2 weeks from now"; "tra due ore", "due giorni fa".
pub(crate) fn shifted(p: &Parser<'_>, at: usize) -> Found<Day> {
    longest([ahead(p, at), behind(p, at), week_on(p, at)])
}

fn ahead(p: &Parser<'_>, at: usize) -> Found<Day> {
    let next = p.one_of(at, p.words.in_future)?;
    let next = p.skip(next, p.words.about);
    let (far, next) = duration::duration(p, next)?;
    let next = p.skip(next, if p.english() { &["time", "s time", "from now"] } else { &[] });
    let taking = !p.english() && p.is(at, "in") && far.article;
    // "in a second" is a figure of speech.
    let figure = far.article && far.grain == Grain::Second;
    (!taking).then(|| Some((from_now(p, far, true)?.weakly(figure), next)))?
}

fn behind(p: &Parser<'_>, at: usize) -> Found<Day> {
    let (far, next) = duration::duration(p, p.skip(at, p.words.about))?;
    let (forward, next) = longest([
        p.one_of(next, p.words.from_now).map(|next| (true, next)),
        p.one_of(next, p.words.ago).map(|next| (false, next)),
    ])?;
    if p.one_of(next - 1, &["now"]).is_some() && p.is(next - 2, "right") {
        return Some((Day::new(far.from(p.wall, p.now, forward)?, Grain::Second, Sort::Relative), next));
    }
    // What is counted from today is as exact as the day.
    if p.is(next - 1, "today") && far.grain >= Grain::Day {
        let start = civil::floor(*far.from(p.wall, p.now, forward)?, Grain::Day)?;
        return Some((Day::new(start, Grain::Day, Sort::Relative), next));
    }
    Some((from_now(p, far, forward)?, next))
}

/// "a week on Monday", "two weeks from Friday", "three days after Christmas"; "due giorni prima di Natale".
fn week_on(p: &Parser<'_>, at: usize) -> Found<Day> {
    // "for 10 days from the 18th" is the time that it takes.
    if at > 0 && p.any(at - 1, &["for", "lasting"]) {
        return None;
    }
    let (far, next) = duration::duration(p, at)?;
    let today = p.english() && far.grain >= Grain::Week && p.any(next, &["today", "tomorrow"]);
    let (forward, next) = if today { (true, next) } else { side(p, next)? };
    let (base, next) =
        dates::simple(p, p.skip(next, p.words.articles)).filter(|(base, _)| base.is_one_day() && !base.weak)?;
    if far.grain < Grain::Day {
        return None;
    }
    let start = far.from(p.wall, base.start, forward)?;
    Some((Day { assumed: base.assumed, ..Day::new(start, Grain::Day, Sort::Relative) }, next))
}

/// Whether what follows counts from a day on or back to it.
fn side(p: &Parser<'_>, at: usize) -> Found<bool> {
    let (on, back): (&[&str], &[&str]) = if p.english() {
        (&["from", "after", "on", "following", "past", "from next"], &["before", "prior to"])
    } else {
        (
            &["dopo", "dopo il", "dopo la", "dopo l", "da", "dal", "dalla"],
            &["prima di", "prima del", "prima della", "prima dell"],
        )
    };
    longest([p.one_of(at, on).map(|next| (true, next)), p.one_of(at, back).map(|next| (false, next))])
}

/// "the Friday before Christmas", "il lunedì dopo Pasqua".
pub(crate) fn weekday_beside(p: &Parser<'_>, at: usize) -> Found<Day> {
    let (wanted, next) = weekday::name(p, p.skip(at, p.words.articles))?;
    let (forward, next) = side(p, next).filter(|_| !p.any(next, &["on", "from", "da", "dal", "dalla"]))?;
    let (base, next) =
        dates::simple(p, p.skip(next, p.words.articles)).filter(|(base, _)| base.is_one_day() && !base.weak)?;
    let day = base.start.date();
    let start = if forward {
        civil::midnight(civil::next_weekday(day, wanted, false)?)
    } else {
        let back = i64::from((civil::weekday(day) - wanted).rem_euclid(7));
        civil::add_days(*base.start, -(if back == 0 { 7 } else { back }))?
    };
    let sound = !matches!(base.sort, Sort::Weekday(..));
    sound.then(|| (Day { assumed: base.assumed, ..Day::new(start, Grain::Day, Sort::Relative) }, next))
}

/// "the day after Christmas", "il giorno prima di Pasqua".
pub(crate) fn beside(p: &Parser<'_>, at: usize) -> Found<Day> {
    let names: &[&str] =
        if p.english() { &["the day", "day"] } else { &["il giorno", "giorno", "l indomani di", "il di"] };
    let (forward, next) = side(p, p.one_of(at, names)?)?;
    let (base, next) =
        dates::simple(p, p.skip(next, p.words.articles)).filter(|(base, _)| base.is_one_day() && !base.weak)?;
    let start = civil::add_days(*base.start, if forward { 1 } else { -1 })?;
    let from_weekday = matches!(base.sort, Sort::Weekday(..));
    (!from_weekday).then(|| (Day { assumed: base.assumed, ..Day::new(start, Grain::Day, Sort::Relative) }, next))
}
