//! Whether an expression is all that its sentence says about time: what is left over, and what stands right beside it.

use std::ops::Range;

use super::{Expression, Located};
use crate::Grain;
use crate::dates::Sort;
use crate::parser::Parser;
use crate::token::Kind;

/// Whether nothing about time is left over.
pub(super) fn is_whole(p: &Parser<'_>, found: &Located) -> bool {
    let read = |at: usize| found.tokens.iter().any(|range| range.contains(&at));
    let mut rest = (0..p.tokens.len()).filter(|at| !read(*at));
    let alone = rest.clone().all(|at| is_mark(p, at) || p.any(at, p.words.articles));
    if found.weak && !alone {
        return false;
    }
    let telling = rest.any(|at| is_telling(p, at) || is_hour(p, at));
    !telling && found.tokens.iter().all(|range| Edges::new(p, range, &found.expression).are_clear(alone))
}

/// Whether a word speaks of time wherever it stands, but for a greeting: "good morning".
fn is_telling(p: &Parser<'_>, at: usize) -> bool {
    let greeting = at > 0 && p.any(at - 1, &["good", "buon", "buona"]);
    let part = p.any(at, &["morning", "afternoon", "evening", "mattina", "pomeriggio", "sera", "mattino"]);
    let sun = p.any(at, &["sunrise", "sunset", "dawn", "dusk", "alba", "tramonto"])
        && at > 0
        && p.any(at - 1, &["at", "before", "after", "by", "until", "till", "all", "al", "dall", "dal", "l", "il"]);
    (sun || (p.any(at, p.words.telling) && !p.is(at, "am")) || part) && !greeting
}

fn is_mark(p: &Parser<'_>, at: usize) -> bool {
    p.token(at).is_some_and(|token| token.kind == Kind::Mark)
}

fn is_number(p: &Parser<'_>, at: usize) -> bool {
    p.token(at).is_some_and(|token| token.kind == Kind::Number)
}

/// Whether "at" and an hour stand there.
fn is_hour(p: &Parser<'_>, at: usize) -> bool {
    let next = p.one_of(at, p.words.at).or_else(|| p.one_of(at, p.words.about));
    next.is_some_and(|next| p.digits(next).is_some_and(|(number, _)| number <= 24))
}

/// What stands right before and behind an expression.
struct Edges<'a> {
    p: &'a Parser<'a>,
    expression: &'a Expression,
    start: usize,
    /// The token before, where there is one.
    before: Option<usize>,
    /// The token behind.
    after: usize,
}

impl<'a> Edges<'a> {
    fn new(p: &'a Parser<'a>, range: &Range<usize>, expression: &'a Expression) -> Self {
        Self { p, expression, start: range.start, before: range.start.checked_sub(1), after: range.end }
    }

    /// Whether they leave the expression what it is.
    fn are_clear(&self, alone: bool) -> bool {
        !(self.is_part_of_number()
            || self.is_part_of_word()
            || self.is_of_another()
            || self.is_place()
            || self.is_other_duration()
            || self.is_other_recurrence()
            || self.is_count()
            || self.is_of_another_calendar()
            || self.has_other_year()
            || (self.is_vague() && !alone))
    }

    fn before(&self, test: impl Fn(&Parser<'_>, usize) -> bool) -> bool {
        self.before.is_some_and(|at| test(self.p, at))
    }

    /// Whether a number goes on at either side, in digits or in words: "twenty-five", "5-10 minutes", "+02".
    fn is_part_of_number(&self) -> bool {
        let p = self.p;
        let begins = numeral(p, self.start) || p.meaning(self.start, p.words.ordinals).is_some();
        let hyphen = p.glued(self.start) && self.before(|p, at| p.is(at, "-"));
        let range = |p: &Parser<'_>, at: usize| {
            p.any(at, &["to", "or", "o", "a", "and", "e"]) && at > 0 && (is_number(p, at - 1) || numeral(p, at - 1))
        };
        let joined = p.one_of(self.after, p.words.and).is_some_and(|next| p.digits(next).is_some());
        let fraction = ["a half", "half", "a quarter", "mezza", "mezzo", "un quarto"];
        let half = p.one_of(self.after, p.words.and).is_some_and(|next| p.one_of(next, &fraction).is_some());
        let joined = joined || half || p.meaning(self.after, p.words.tens).is_some();
        let digits = is_number(p, self.after) || self.before(is_number);
        // "3.5 seconds" are not five.
        let point = |p: &Parser<'_>, at: usize| {
            at > 0 && p.any(at, &[".", ","]) && p.glued(at) && p.glued(at + 1) && is_number(p, at - 1)
        };
        let digits = digits || is_number(p, self.start) && self.before(point);
        digits || hyphen || joined || self.before(range) || (begins && self.before(numeral)) || p.is(self.after, "+")
    }

    /// Whether letters or marks go on at either side without a blank: "today's" aside.
    fn is_part_of_word(&self) -> bool {
        let p = self.p;
        let behind = p.glued(self.after) && !is_mark(p, self.after) && !p.is(self.after, "s");
        let closing = p.any(self.after, &[")", "\"", ",", ".", "!", "?"]);
        let marked = is_mark(p, self.after) && p.glued(self.after) && p.glued(self.after + 1) && !closing;
        let opening = |p: &Parser<'_>, at: usize| p.any(at, &["(", "\"", ",", "-", ":", "'", "."]);
        behind || marked || self.before(|p, at| is_mark(p, at) && p.glued(self.start) && !opening(p, at))
    }

    /// Whether what stands there chooses among several or takes a part: "the second ...", "the week of ...", "... del mese".
    fn is_of_another(&self) -> bool {
        let p = self.p;
        let of = p.any(self.start, &["of", "di", "del", "della", "dell"]);
        let behind = p.one_of(self.after, p.words.of).map(|next| p.skip(next, p.words.articles));
        let month = |p: &Parser<'_>, at: usize| p.meaning(at, p.words.months).is_some();
        let of_month = self.is_day_of_month() && (month(p, self.after) || self.before(month));
        let greeting =
            |p: &Parser<'_>, at: usize| p.any(at, &["buon", "buona", "happy", "merry", "a", "an", "un", "una"]);
        of_month
            || (self.names_day() && self.before(greeting))
            || self.before(is_ordinal)
            || (of && (self.before(is_unit) || self.before(is_end)))
            || behind.is_some_and(|next| is_unit(p, next))
    }

    /// Whether it begins with the name of a day, which may be any such day: "a Monday", "buona domenica".
    fn names_day(&self) -> bool {
        let p = self.p;
        p.meaning(self.start, p.words.weekdays).is_some()
            || p.any(self.start, &["christmas", "natale", "pasqua", "easter"])
    }

    /// Whether it is a day of a month that was not said.
    fn is_day_of_month(&self) -> bool {
        match self.expression {
            Expression::Slots(slots) => slots.day.as_ref().is_some_and(|day| matches!(day.sort, Sort::DayOfMonth(_))),
            Expression::Interval(_) | Expression::Recurrence(_) | Expression::Duration(_) => false,
        }
    }

    /// Whether two digits behind it may be its year: "15 April of 87".
    fn has_other_year(&self) -> bool {
        let p = self.p;
        let Expression::Slots(slots) = self.expression else { return false };
        let dated = slots.day.as_ref().is_some_and(|day| matches!(day.sort, Sort::Date(false) | Sort::Month(_)));
        dated && p.any(self.after, &["of", "del", "dell"]) && is_number(p, self.after + 1)
    }

    /// Whether it is the name of a street or a square: "piazza 25 Aprile".
    fn is_place(&self) -> bool {
        let street = |p: &Parser<'_>, at: usize| p.any(at, &["via", "piazza", "piazzale", "viale", "corso", "largo"]);
        is_number(self.p, self.start) && self.before(street)
    }

    /// Whether a word says that it is counted otherwise: "2014 BC", "Chinese New Year".
    fn is_of_another_calendar(&self) -> bool {
        const CALENDARS: &[&str] = &[
            "chinese",
            "lunar",
            "orthodox",
            "jewish",
            "hebrew",
            "islamic",
            "parsi",
            "cinese",
            "ortodosso",
            "ortodossa",
            "ebraico",
            "islamico",
        ];
        let p = self.p;
        let initials = |first: &str, second: &str| {
            let next = if p.is(self.after + 1, ".") { self.after + 2 } else { self.after + 1 };
            p.is(self.after, first) && p.is(next, second)
        };
        p.any(self.after, &["bc", "bce"])
            || initials("b", "c")
            || !p.english() && (p.is(self.after, "ac") || initials("a", "c") || initials("avanti", "cristo"))
            || self.before(|p, at| p.any(at, CALENDARS))
            || !p.english() && p.any(self.after, CALENDARS)
    }

    /// Whether a recurrence goes on in words that are not understood: "every year on my birthday", "3 times every day".
    fn is_other_recurrence(&self) -> bool {
        if !matches!(self.expression, Expression::Recurrence(_)) {
            return false;
        }
        let p = self.p;
        let often = |at: usize| p.any(at, &["times", "time", "twice", "thrice", "volte", "volta"]);
        let feast =
            |at: usize| p.any(at, &["birthday", "anniversary", "payday", "compleanno", "anniversario", "end", "fine"]);
        let near = self.after..self.after + 4;
        self.before(|_, at| often(at)) || often(self.after) || often(self.after + 1) || near.into_iter().any(feast)
    }

    /// Whether a bare number that may be an hour or a year counts what follows: "at 2 houses", "in 2000 steps", "on the 4th floor".
    fn is_count(&self) -> bool {
        let Expression::Slots(slots) = self.expression else { return false };
        let p = self.p;
        let hour = slots.day.is_none()
            && slots.part.is_none()
            && slots.clock.is_some_and(|clock| clock.either && !clock.clear && matches!(clock.hour, 1..=5 | 12));
        let timed = slots.clock.is_some() || slots.range.is_some();
        let year =
            slots.day.as_ref().is_some_and(|day| day.grain == Grain::Year && is_number(p, self.after - 1)) && !timed;
        let noun = p.token(self.after).is_some_and(|token| token.kind == Kind::Word && !token.capital);
        let date = self.is_day_of_month() && !timed && p.english();
        (hour || year || date) && noun && !p.any(self.after, p.words.followers)
    }

    /// Whether a duration is an age, a distance or a delay.
    fn is_other_duration(&self) -> bool {
        let Expression::Duration(duration) = self.expression else { return false };
        let p = self.p;
        let behind = p.any(self.after, &["old", "later", "late", "after", "before", "dopo", "prima"]);
        let timer = self.before(|p, at| at > 0 && p.is(at, "da") && p.any(at - 1, &["timer", "pausa", "riunione"]));
        let since = self.before(|p, at| p.any(at, &["da", "since", "every", "ogni"])) && !timer;
        let aged = duration.grain >= Grain::Year && self.before(|p, at| p.any(at, &["ha", "ho", "hai", "compie"]));
        let decade = duration.doubtful && self.before(|p, at| p.any(at, &["the", "'"]));
        behind || since || aged || decade
    }

    /// Whether a word beside it changes it in a way that is not understood.
    fn is_vague(&self) -> bool {
        let p = self.p;
        // "two upcoming weeks" are the next two for some, and the second one for others.
        let upcoming = |at: usize| p.is(at, "upcoming");
        let counted = self
            .before(|_, at| upcoming(at) && is_number(p, self.start) || upcoming(at) && numeral(p, self.start))
            || upcoming(self.start) && self.before(|p, at| is_number(p, at) || numeral(p, at));
        counted || p.any(self.after, p.words.vague) || self.before(|p, at| p.any(at, p.words.vague))
    }
}

/// Whether a number in words stands there.
fn numeral(p: &Parser<'_>, at: usize) -> bool {
    p.meaning(at, p.words.numbers).or(p.meaning(at, p.words.tens)).is_some()
}

fn is_unit(p: &Parser<'_>, at: usize) -> bool {
    p.meaning(at, p.words.units).is_some()
}

/// Whether a word for one end of something stands there.
fn is_end(p: &Parser<'_>, at: usize) -> bool {
    p.any(
        at,
        &["end", "beginning", "start", "middle", "rest", "fine", "inizio", "meta", "resto", "half", "ides", "idi"],
    )
}

/// Whether an ordinal or "last" stands there.
fn is_ordinal(p: &Parser<'_>, at: usize) -> bool {
    let ordinal = |at: usize| p.meaning(at, p.words.ordinals).is_some() || p.any(at, &["st", "nd", "rd", "th"]);
    // "second to last Monday"
    let from_last = at > 0 && p.is(at, "to") && ordinal(at - 1);
    from_last || p.any(at, &["primi", "prime", "ultimi", "ultime"]) || p.any(at, p.words.last) || ordinal(at)
}
