//! Holidays: the next one, or that of a year.

use jiff::civil::Date;

use crate::dates::period;
use crate::dates::{Day, Sort};
use crate::number;
use crate::parser::{Found, Parser};
use crate::words::{Feast, HOLIDAYS_EN, HOLIDAYS_IT, Table, Which};
use crate::{Grain, civil};

/// The date of a holiday in a year.
pub(crate) fn in_year(feast: Feast, year: i16) -> Option<Date> {
    match feast {
        Feast::Fixed(month, day) => civil::day(year, month, day),
        Feast::Easter(more) => civil::add_days(civil::midnight(civil::easter(year)?), more).map(|moment| moment.date()),
        Feast::Orthodox(more) => {
            civil::add_days(civil::midnight(civil::orthodox_easter(year)?), more).map(|moment| moment.date())
        }
        Feast::Nth(nth, wanted, month, more) => {
            let date = civil::nth_weekday(year, month, nth, wanted)?;
            civil::add_days(civil::midnight(date), more).map(|moment| moment.date())
        }
    }
}

/// The name of a holiday, and the word "day" behind it where it needs or has one.
pub(crate) fn name(p: &Parser<'_>, at: usize) -> Found<Feast> {
    let table: Table<Feast> = if p.english() { HOLIDAYS_EN } else { HOLIDAYS_IT };
    let (feast, next) = p.meaning(at, table)?;
    let day = p.phrase(next, "day").filter(|_| p.english());
    // "mother's", "labor" and the like are holidays only as a day.
    let complete = !p.english() || ALONE.iter().any(|name| p.phrase(at, name) == Some(next));
    match day {
        Some(after) => Some((feast, after)),
        None => complete.then_some((feast, next)),
    }
}

/// English names that need no "day" behind them.
const ALONE: &[&str] = &[
    "orthodox easter",
    "orthodox easter sunday",
    "orthodox easter monday",
    "orthodox good friday",
    "orthodox palm sunday",
    "cinco de mayo",
    "twelfth night",
    "international day of peace",
    "international day of happiness",
    "christmas",
    "xmas",
    "christmas eve",
    "xmas eve",
    "new year s eve",
    "new year s",
    "new years",
    "new years eve",
    "nye",
    "epiphany",
    "4th of july",
    "halloween",
    "bonfire night",
    "juneteenth",
    "thanksgiving",
    "black friday",
    "cyber monday",
    "easter",
    "easter sunday",
    "easter monday",
    "good friday",
    "holy saturday",
    "maundy thursday",
    "palm sunday",
    "ash wednesday",
    "shrove tuesday",
    "mardi gras",
    "pentecost",
    "whit sunday",
    "whit monday",
    "pentecost monday",
    "monday of the holy spirit",
    "trinity sunday",
    "corpus christi",
    "guy fawkes",
];

/// "Christmas", "next Christmas", "Christmas 2028", "la vigilia di Natale".
pub(crate) fn feast(p: &Parser<'_>, at: usize) -> Found<Day> {
    let at = p.skip(at, p.words.articles);
    let before = p.meaning(at, p.words.which);
    let (feast, next) = name(p, before.map_or(at, |(_, next)| next))?;
    // "Natale Rossi" is somebody.
    if p.is(next - 1, "natale") && p.token(next).is_some_and(|token| token.capital) {
        return None;
    }
    let joint = p.skip(if p.is(next, ",") { next + 1 } else { next }, p.words.of);
    if let Some((year, after)) = number::year(p, joint) {
        return Some((Day::new(civil::midnight(in_year(feast, year)?), Grain::Day, Sort::Feast), after));
    }
    let of_year = period::cycle(p, joint).filter(|(day, _)| day.grain == Grain::Year);
    if let Some((year, after)) = of_year {
        return Some((Day::new(civil::midnight(in_year(feast, year.start.year())?), Grain::Day, Sort::Feast), after));
    }
    let behind = p.meaning(next, p.words.which).filter(|_| !p.english() && before.is_none());
    let (which, next) = match (before, behind) {
        (Some((which, _)), _) => (Some(which), next),
        (None, Some((which, after))) => (Some(which), after),
        (None, None) => (None, next),
    };
    let day = Day::new(civil::midnight(of_which(p, feast, which)?), Grain::Day, Sort::Feast);
    Some((if which.is_none() { day.assuming("next-future") } else { day }, next))
}

fn of_which(p: &Parser<'_>, feast: Feast, which: Option<Which>) -> Option<Date> {
    let today = p.after.date();
    let years = |from: i16, to: i16| (from..=to).filter_map(move |more| in_year(feast, today.year() + more));
    match which {
        Some(Which::Last) => years(-2, 0).rfind(|date| *date < today),
        Some(Which::Next | Which::Coming) => years(0, 2).find(|date| *date > today),
        None | Some(Which::This) => years(0, 2).find(|date| *date >= today),
    }
}
