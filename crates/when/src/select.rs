//! Finds the one expression of a text and makes a reading of it, or refuses.

use std::ops::Range;

use jiff::Zoned;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use crate::duration::{self, Duration};
use crate::interval;
use crate::moment::{self, Meaning, Slots};
use crate::parser::{Found, Parser, longest};
use crate::recurrence::{self, Said};
use crate::rule::Rule;
use crate::token::Kind as TokenKind;
use crate::{Grain, Kind, Reading};

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
        found.retain(|one| !one.weak);
    }
    let only = match found.len() {
        1 => found.pop()?,
        2 => {
            let second = found.pop()?;
            merged(&found.pop()?, &second)?
        }
        _ => return None,
    };
    if !is_whole(p, &only) {
        return None;
    }
    let spans = only.tokens.iter().filter_map(|tokens| bytes(p, tokens)).collect();
    reading(p, &only.expression, spans)
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
    longest([
        recurrence::recurrence(p, at).map(|(said, next)| (Expression::Recurrence(said), next)),
        moment::slots(p, at).map(|(slots, next)| (Expression::Slots(slots), next)),
        interval::interval(p, at).map(|(meanings, next)| (Expression::Interval(meanings), next)),
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
        &["adesso", "ora", "subito", "proprio adesso", "in questo momento"]
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
            now && !(next == p.tokens.len() && p.any(at, &["now", "right", "adesso", "immediately"]))
        }
        Expression::Duration(duration) => {
            let rare = matches!(duration.grain, Grain::Quarter | Grain::Year | Grain::Decade);
            duration.article || (rare && p.one_of(at, p.words.lasting).is_none())
        }
        Expression::Recurrence(_) => false,
    }
}

/// Two expressions as one, where the second says what the first left open: "every Monday remind me at 7:30".
fn merged(first: &Located, second: &Located) -> Option<Located> {
    let expression = match (&first.expression, &second.expression) {
        (Expression::Slots(one), Expression::Slots(other)) if one.is_time_only() != other.is_time_only() => {
            Expression::Slots(one.merged(other)?)
        }
        (Expression::Recurrence(said), Expression::Slots(slots))
        | (Expression::Slots(slots), Expression::Recurrence(said)) => Expression::Recurrence(said.at(slots)?),
        _ => return None,
    };
    let tokens = first.tokens.iter().chain(&second.tokens).cloned().collect();
    Some(Located { expression, tokens, weak: false })
}

/// Whether nothing about time is left over beside an expression.
fn is_whole(p: &Parser<'_>, found: &Located) -> bool {
    let read = |at: usize| found.tokens.iter().any(|range| range.contains(&at));
    let rest = (0..p.tokens.len()).filter(|at| !read(*at));
    let alone = rest
        .clone()
        .all(|at| p.token(at).is_none_or(|token| token.kind == TokenKind::Mark) || p.any(at, p.words.articles));
    if found.weak && !alone {
        return false;
    }
    let telling = rest.clone().any(|at| p.any(at, p.words.telling) && !p.is(at, "am"));
    !telling && found.tokens.iter().all(|range| edges_are_clear(p, range, &found.expression, alone))
}

/// Whether the words right beside an expression leave it what it is.
fn edges_are_clear(p: &Parser<'_>, range: &Range<usize>, expression: &Expression, alone: bool) -> bool {
    let number = |at: usize| p.token(at).is_some_and(|token| token.kind == TokenKind::Number);
    let mark = |at: usize| p.token(at).is_some_and(|token| token.kind == TokenKind::Mark);
    let before = range.start.checked_sub(1);
    let glued_mark = mark(range.end)
        && p.glued(range.end)
        && p.glued(range.end + 1)
        && !p.any(range.end, &[")", "\"", ",", ".", "!", "?"]);
    let numbers = number(range.end) || before.is_some_and(number);
    let glued = p.glued(range.end) && !mark(range.end) && !p.is(range.end, "s");
    let named = before.is_some_and(|at| p.any(at, &["via", "piazza", "viale", "corso", "largo", "piazzale"]));
    let counted = before.is_some_and(|at| is_ordinal(p, at)) || counts_on(p, range, before);
    let vague = p.any(range.end, p.words.vague) || before.is_some_and(|at| p.any(at, p.words.vague));
    let lasting = matches!(expression, Expression::Duration(_));
    let old = lasting && (p.any(range.end, &["old", "later", "late", "after", "before", "dopo", "prima"]));
    let since =
        lasting && before.is_some_and(|at| p.any(at, &["da", "since", "ha", "ho", "hai", "compie", "every", "ogni"]));
    let marked =
        before.is_some_and(|at| mark(at) && p.glued(range.start) && !p.any(at, &["(", "\"", ",", "-", ":", "'", "."]));
    !(named || counted || glued_mark || numbers || glued || old || since || marked || (vague && !alone))
}

/// Whether an ordinal or "last" stands there, which would choose among several of what follows.
fn is_ordinal(p: &Parser<'_>, at: usize) -> bool {
    let word = p.token(at).is_some_and(|token| token.kind == TokenKind::Word);
    word && (p.any(at, p.words.last)
        || p.meaning(at, p.words.ordinals).is_some()
        || p.any(at, &["st", "nd", "rd", "th"]))
}

/// Whether a unit stands beside it and "of" between: "the week of March 3", "lunedì del mese"; or a number behind "and".
fn counts_on(p: &Parser<'_>, range: &Range<usize>, before: Option<usize>) -> bool {
    let of = |at: usize| p.any(at, &["of", "di", "del", "della", "dell"]);
    let unit = |at: usize| p.meaning(at, p.words.units).is_some();
    let unit_before = of(range.start) && before.is_some_and(unit);
    let behind = p.one_of(range.end, p.words.of).map(|next| p.skip(next, p.words.articles));
    let number = p.one_of(range.end, p.words.and).is_some_and(|next| p.digits(next).is_some());
    unit_before || behind.is_some_and(unit) || number
}

/// The reading of an expression.
fn reading(p: &Parser<'_>, expression: &Expression, spans: Vec<Range<usize>>) -> Option<Reading> {
    let read = match expression {
        Expression::Slots(slots) => moment::meanings(p, slots).iter().map(|meaning| of_meaning(p, meaning)).collect(),
        Expression::Interval(meanings) => meanings.iter().map(|meaning| of_meaning(p, meaning)).collect(),
        Expression::Recurrence(said) => {
            said.rules(p).into_iter().map(|(rule, assumed)| of_rule(p, &rule, assumed)).collect::<Option<Vec<_>>>()
        }
        Expression::Duration(duration) => Some(vec![of_duration(*duration)]),
    };
    let read: Vec<Reading> = read?.into_iter().map(|reading| Reading { spans: spans.clone(), ..reading }).collect();
    Reading::either(read)
}

fn of_duration(duration: Duration) -> Reading {
    Reading { kind: Kind::Duration, length: Some(duration.length), grain: Some(duration.grain), ..Reading::none() }
}

fn of_meaning(p: &Parser<'_>, meaning: &Meaning) -> Option<Reading> {
    let mut assumed = meaning.assumed.clone();
    let mut moment = |civil: Option<DateTime>| match civil {
        Some(civil) => on_clock(p, civil, meaning.zone.as_ref(), &mut assumed).map(Some),
        None => Some(None),
    };
    let (start, end) = (moment(meaning.start)?, moment(meaning.end)?);
    assumed.dedup();
    let kind = if meaning.interval { Kind::Interval } else { Kind::Instant };
    Some(Reading { kind, start, end, grain: Some(meaning.grain), assumed, ..Reading::none() })
}

fn of_rule(p: &Parser<'_>, rule: &Rule, mut assumed: Vec<&'static str>) -> Option<Reading> {
    let start = on_clock(p, rule.first(p)?, None, &mut assumed)?;
    let until = match rule.until {
        Some(until) => Some(on_clock(p, until, None, &mut assumed)?),
        None => None,
    };
    let until_text =
        until.as_ref().map(|until| until.with_time_zone(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string());
    let grain = match (rule.every, rule.times.is_empty()) {
        (grain @ (Grain::Minute | Grain::Hour), _) => grain,
        (_, false) => Grain::Minute,
        (_, true) => Grain::Day,
    };
    let rrule = Some(rule.rrule(until_text.as_deref())?);
    Some(Reading {
        kind: Kind::Recurrence,
        start: Some(start),
        cron: rule.cron(),
        rrule,
        grain: Some(grain),
        assumed,
        ..Reading::none()
    })
}

/// A civil moment in its zone. One that the clock leaves out is the first after the gap; one that it shows twice, the first.
fn on_clock(
    p: &Parser<'_>,
    civil: DateTime,
    zone: Option<&TimeZone>,
    assumed: &mut Vec<&'static str>,
) -> Option<Zoned> {
    let zone = zone.unwrap_or(p.zone);
    let ambiguous = zone.to_ambiguous_zoned(civil);
    let moment = match ambiguous.offset() {
        AmbiguousOffset::Gap { after, .. } => {
            assumed.push("gap");
            let before_gap = after.to_timestamp(civil).ok()?;
            zone.following(before_gap).next()?.timestamp().to_zoned(zone.clone())
        }
        AmbiguousOffset::Fold { .. } | AmbiguousOffset::Unambiguous { .. } => ambiguous.compatible().ok()?,
    };
    Some(moment.with_time_zone(p.zone.clone()))
}
