//! Parts of the day, and what they say of the hour that stands beside them.

use crate::clock::Clock;
use crate::parser::{Found, Parser, longest};
use crate::words::{Part, Sort};

/// Whether the word before a part of the day speaks of a habit, not of one day: "at night", "di sera", "della sera".
pub(crate) fn is_habit(p: &Parser<'_>, at: usize) -> bool {
    let lunch = p.any(at + 1, &["pranzo", "lunch", "lunchtime"]);
    let one_day = ["in", "nel", "nella", "during", "durante", "early", "on", "verso", "per"];
    !lunch && !p.any(at, &one_day)
}

/// A part of the day behind a word that introduces it: "in the evening", "di sera".
pub(crate) fn introduced(p: &Parser<'_>, at: usize) -> Found<Part> {
    let next = p.one_of(at, p.words.before_part)?;
    let (part, after) = p.meaning(next, p.words.parts)?;
    let early = (at..next).any(|at| p.is(at, "early")) && part.sort == Sort::Morning;
    Some((if early { Part { to: EARLY_ENDS, ..part } } else { part }, after))
}

/// The hour in which the early morning ends, as in the table of the parts.
const EARLY_ENDS: i8 = 9;

/// A part of the day right behind a clock, which tells the half that the clock means.
pub(crate) fn qualifying(p: &Parser<'_>, at: usize) -> Found<Part> {
    let of = p.phrase(at, "di").filter(|_| !p.english()).unwrap_or(at);
    longest([introduced(p, at), p.meaning(of, p.words.day_parts).map(|((_, part), next)| (part, next))])
}

/// An hour that a clock can mean, and how many days after the day that was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hour {
    pub(crate) hour: i8,
    pub(crate) days: i64,
    pub(crate) assumed: Option<&'static str>,
}

const fn sure(hour: i8) -> Hour {
    Hour { hour, days: 0, assumed: None }
}

/// The hours that a clock can mean on a day, within a part of it where one was named. `behind` says that the part stands
/// behind the clock ("2 in the night"), not behind the day ("tomorrow night at 2"). None is a contradiction.
pub(crate) fn hours(clock: Clock, part: Option<Part>, behind: bool) -> Vec<Hour> {
    let hour = clock.hour;
    let Some(part) = part else {
        return match (clock.either, hour) {
            (false, _) => vec![sure(hour)],
            (true, 7..=11) => vec![Hour { hour, days: 0, assumed: Some("morning") }],
            (true, 12) => vec![Hour { hour, days: 0, assumed: Some("noon") }],
            (true, _) => vec![sure(hour), sure(hour + 12)],
        };
    };
    within(clock, part, behind).into_iter().collect()
}

/// The hour within a part of the day.
fn within(clock: Clock, part: Part, behind: bool) -> Option<Hour> {
    let hour = clock.hour;
    let next_day = |hour: i8| Hour { hour, days: i64::from(!behind), assumed: None };
    if !clock.either {
        let fits = match part.sort {
            Sort::Morning => hour <= 12,
            Sort::Midday => (11..=15).contains(&hour),
            Sort::Afternoon => (12..=19).contains(&hour),
            Sort::Evening => (16..=23).contains(&hour) || clock.midnight,
            Sort::Night => (18..=23).contains(&hour) || hour <= 6,
            Sort::SmallHours => hour >= 20 || hour <= 6,
        };
        let small = hour <= 6 && matches!(part.sort, Sort::Night | Sort::Evening | Sort::SmallHours);
        return fits.then_some(if small { next_day(hour) } else { sure(hour) });
    }
    match (part.sort, hour) {
        (Sort::Morning, 1..=11) => Some(sure(hour)),
        (Sort::Midday, 12) | (Sort::Afternoon, 12) => Some(sure(12)),
        (Sort::Midday, 1..=2) => Some(sure(hour + 12)),
        (Sort::Afternoon, 1..=7) => Some(sure(hour + 12)),
        (Sort::Evening, 4..=11) => Some(sure(hour + 12)),
        (Sort::Night, 6..=11) | (Sort::SmallHours, 8..=11) => Some(sure(hour + 12)),
        (Sort::Night | Sort::SmallHours | Sort::Evening, 12) => Some(Hour { hour: 0, days: 1, assumed: None }),
        (Sort::Night | Sort::SmallHours, 1..=5) => Some(next_day(hour)),
        _ => None,
    }
}
