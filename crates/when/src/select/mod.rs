//! Finds the one expression of a text and makes a reading of it, or refuses.

mod edges;
mod resolve;

use std::ops::Range;

use crate::dates::weekday;
use crate::duration::{self, Duration};
use crate::interval;
use crate::moment::{self, Meaning, Slots};
use crate::parser::{Found, Parser, longest};
use crate::recurrence::{self, Said};
use crate::{Grain, Reading};

/// What an expression says.
#[derive(Debug, Clone)]
enum Expression {
    Slots(Slots),
    Interval(Vec<Meaning>),
    Recurrence(Said),
    Duration(Duration),
}

/// An expression and the tokens it takes.
#[derive(Debug, Clone)]
struct Located {
    expression: Expression,
    tokens: Vec<Range<usize>>,
    /// Whether it says a time only where nothing else stands.
    weak: bool,
}

/// The reading of a text.
pub(crate) fn select(p: &Parser<'_>) -> Option<Reading> {
    let mut found = expressions(p);
    if found.len() > 1 {
        if found.windows(2).any(|pair| is_doubtful(p, pair)) {
            return None;
        }
        found.retain(|one| !one.weak);
    }
    if found.len() > 3 {
        return None;
    }
    let mut found = found.into_iter();
    let first = found.next()?;
    let only = found.try_fold(first, |whole, next| merged(p, &whole, &next))?;
    if !edges::is_whole(p, &only) {
        return None;
    }
    let spans = only.tokens.iter().filter_map(|tokens| bytes(p, tokens)).collect();
    let reading = reading(p, &only.expression, spans)?;
    let corrected =
        only.tokens.iter().flat_map(Clone::clone).any(|at| p.token(at).is_some_and(|token| token.corrected));
    Some(if corrected { reading.assuming("spelling") } else { reading })
}

/// Whether of two expressions side by side one is weak, so that it may belong to the other: "Mon, Wed", "a week today".
fn is_doubtful(p: &Parser<'_>, pair: &[Located]) -> bool {
    let [first, second] = pair else { return false };
    let (Some(end), Some(start)) = (first.tokens.last(), second.tokens.first()) else { return false };
    let joint = |at: usize| p.any(at, &[",", "-", "/", "."]) || p.any(at, p.words.and);
    (first.weak || second.weak) && (end.end..start.start).all(joint)
}

/// The bytes of some tokens.
fn bytes(p: &Parser<'_>, tokens: &Range<usize>) -> Option<Range<usize>> {
    Some(p.token(tokens.start)?.span.start..p.token(tokens.end.checked_sub(1)?)?.span.end)
}

/// All expressions from left to right, each as long as it can be.
fn expressions(p: &Parser<'_>) -> Vec<Located> {
    let mut all = Vec::new();
    let mut at = 0;
    while at < p.tokens.len() {
        match expression(p, at) {
            Some((found, next)) if next > at => {
                let weak = is_weak(p, &found, at, next);
                // "today's news"
                let next = if p.english() && p.is(next, "s") && p.glued(next) { next + 1 } else { next };
                all.push(Located { expression: found, tokens: std::iter::once(at..next).collect(), weak });
                at = next;
            }
            _ => at += 1,
        }
    }
    all
}

/// The longest expression at a position.
fn expression(p: &Parser<'_>, at: usize) -> Found<Expression> {
    let lasting = p.skip(at, p.words.lasting);
    let slots = moment::slots(p, at);
    // What contradicts itself is only taken where nothing else is as long, so that it is refused.
    let sound = slots.as_ref().is_some_and(|(slots, _)| !moment::meanings(p, slots).is_empty());
    let slots = slots.map(|(slots, next)| (Expression::Slots(slots), next));
    let (sound, unsound) = if sound { (slots, None) } else { (None, slots) };
    longest([
        recurrence::recurrence(p, at).map(|(said, next)| (Expression::Recurrence(said), next)),
        sound,
        interval::interval(p, at).map(|(meanings, next)| (Expression::Interval(meanings), next)),
        unsound,
        duration::duration(p, lasting)
            .filter(|(duration, _)| !(duration.article && duration.grain == Grain::Second))
            .map(|(duration, next)| (Expression::Duration(duration), next)),
        now(p, at),
    ])
}

/// "now", "adesso".
fn now(p: &Parser<'_>, at: usize) -> Found<Expression> {
    let phrases: &[&str] = if p.english() {
        &["now", "right now", "just now", "immediately"]
    } else {
        &["adesso", "ora", "subito", "immediatamente", "proprio adesso", "in questo momento"]
    };
    let next = p.one_of(at, phrases)?;
    let meaning = Meaning {
        start: Some(p.now),
        end: None,
        interval: false,
        grain: Grain::Second,
        assumed: Vec::new(),
        zone: None,
    };
    Some((Expression::Interval(vec![meaning]), next))
}

/// Whether an expression is too little to be read in the middle of other words.
fn is_weak(p: &Parser<'_>, expression: &Expression, at: usize, next: usize) -> bool {
    match expression {
        Expression::Slots(slots) => slots.is_weak(),
        Expression::Interval(meanings) => {
            let now = meanings.first().is_some_and(|meaning| !meaning.interval && meaning.start == Some(p.now));
            let figure = at > 0 && p.any(at - 1, &["for", "by", "to", "of", "until", "since", "from", "per", "da"]);
            now && !(next == p.tokens.len() && !figure && p.any(at, &["now", "right", "adesso", "immediately"]))
        }
        Expression::Duration(duration) => {
            let rare = matches!(duration.grain, Grain::Quarter | Grain::Year | Grain::Decade);
            duration.article || duration.doubtful || (rare && p.one_of(at, p.words.lasting).is_none())
        }
        // "the daily paper" does not come again by itself.
        Expression::Recurrence(said) => {
            let bare = p.english() && said.clocks.is_empty() && weekday::is_plural(p, at) && next == at + 1;
            let adjective = at > 0 && p.any(at - 1, &["the", "a", "my", "our", "your", "his", "her", "their"]);
            let of_one = !p.english() && at > 0 && p.is(at, "di") && said.clocks.is_empty();
            bare || of_one || adjective && p.meaning(at, p.words.adverbs).is_some()
        }
    }
}

/// Whether a time of day that stands apart has a word before it that says it is one: "the 8 o'clock show" has none.
fn is_marked(p: &Parser<'_>, found: &Located) -> bool {
    let Expression::Slots(slots) = &found.expression else { return true };
    let marks = [
        "at", "@", "around", "about", "from", "between", "in", "alle", "all", "a", "ore", "h", "dalle", "tra", "fra",
        "verso",
    ];
    let start = found.tokens.first().map_or(0, |tokens| tokens.start);
    !slots.is_time_only() || p.any(start, &marks)
}

/// Two expressions as one, where the second says what the first left open: "every Monday remind me at 7:30".
fn merged(p: &Parser<'_>, first: &Located, second: &Located) -> Option<Located> {
    if !is_marked(p, first) || !is_marked(p, second) {
        return None;
    }
    let expression = match (&first.expression, &second.expression) {
        (Expression::Slots(one), Expression::Slots(other)) if one.is_time_only() != other.is_time_only() => {
            Expression::Slots(one.merged(other)?)
        }
        (Expression::Recurrence(said), Expression::Slots(slots))
        | (Expression::Slots(slots), Expression::Recurrence(said)) => Expression::Recurrence(said.at(slots)?),
        (Expression::Interval(meanings), Expression::Recurrence(said)) => {
            let meaning = meanings.first().filter(|_| meanings.len() == 1)?;
            Expression::Recurrence(said.starting(meaning)?)
        }
        (Expression::Recurrence(said), Expression::Interval(meanings)) => {
            let begin = second.tokens.first()?.start;
            let meaning =
                meanings.first().filter(|_| meanings.len() == 1 && p.one_of(begin, p.words.until).is_some())?;
            Expression::Recurrence(said.until(meaning)?)
        }
        _ => return None,
    };
    let mut tokens: Vec<Range<usize>> = Vec::new();
    for range in first.tokens.iter().chain(&second.tokens) {
        match tokens.last_mut().filter(|last| last.end == range.start) {
            Some(last) => last.end = range.end,
            None => tokens.push(range.clone()),
        }
    }
    Some(Located { expression, tokens, weak: false })
}

/// The reading of an expression.
fn reading(p: &Parser<'_>, expression: &Expression, spans: Vec<Range<usize>>) -> Option<Reading> {
    let read = match expression {
        Expression::Slots(slots) => {
            moment::meanings(p, slots).iter().map(|meaning| resolve::of_meaning(p, meaning)).collect()
        }
        Expression::Interval(meanings) => meanings.iter().map(|meaning| resolve::of_meaning(p, meaning)).collect(),
        Expression::Recurrence(said) => said
            .rules(p)
            .into_iter()
            .map(|(rule, assumed)| resolve::of_rule(p, &rule, assumed))
            .collect::<Option<Vec<_>>>(),
        Expression::Duration(duration) => Some(vec![resolve::of_duration(*duration)]),
    };
    let mut read = read?;
    if let (Expression::Recurrence(said), [only]) = (expression, read.as_slice())
        && said.once
    {
        read.insert(0, resolve::once(only));
    }
    let read: Vec<Reading> = read.into_iter().map(|reading| Reading { spans: spans.clone(), ..reading }).collect();
    Reading::either(read)
}
