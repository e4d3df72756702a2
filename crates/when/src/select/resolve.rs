//! Readings of what was understood: moments on the clock of their zone, rules with their first time.

use jiff::Zoned;
use jiff::tz::TimeZone;

use crate::duration::Duration;
use crate::moment::Meaning;
use crate::parser::Parser;
use crate::recurrence::rule::Rule;
use crate::wall::{Point, Wall};
use crate::{Grain, Kind, Reading};

pub(super) fn of_duration(duration: Duration) -> Reading {
    Reading { kind: Kind::Duration, length: Some(duration.length), grain: Some(duration.grain), ..Reading::none() }
}

pub(super) fn of_meaning(p: &Parser<'_>, meaning: &Meaning) -> Option<Reading> {
    let mut assumed = meaning.assumed.clone();
    let wall = p.wall.of(meaning.zone.as_ref());
    let mut moment = |point: Option<Point>| match point {
        Some(point) => on_clock(p, wall, point, &mut assumed).map(Some),
        None => Some(None),
    };
    let (start, end) = (moment(meaning.start)?, moment(meaning.end)?);
    // The clock may leave a whole stretch out.
    if start.as_ref().zip(end.as_ref()).is_some_and(|(start, end)| start >= end) {
        return None;
    }
    assumed.dedup();
    let kind = if meaning.interval { Kind::Interval } else { Kind::Instant };
    Some(Reading { kind, start, end, grain: Some(meaning.grain), assumed, ..Reading::none() })
}

pub(super) fn of_rule(p: &Parser<'_>, rule: &Rule, mut assumed: Vec<&'static str>) -> Option<Reading> {
    let first = rule.first(p)?;
    let start = on_clock(p, p.wall, first, &mut assumed)?;
    let shifted = start.datetime() != *first;
    let end = match rule.first_end(*first) {
        Some(end) => {
            let shown = on_clock(p, p.wall, end.into(), &mut assumed)?;
            // Where the clock leaves out all of the first time, it is as long as ever.
            let whole = start.checked_add(end.duration_since(*first)).ok()?;
            Some(if shown > start { shown } else { whole })
        }
        None => None,
    };
    let until = match rule.until {
        Some(until) => Some(on_clock(p, p.wall, until.into(), &mut assumed)?),
        None => None,
    };
    let until_text =
        until.as_ref().map(|until| until.with_time_zone(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string());
    let grain = match (rule.every, rule.times.is_empty()) {
        (grain @ (Grain::Minute | Grain::Hour), _) => grain,
        (_, false) => Grain::Minute,
        (_, true) => Grain::Day,
    };
    let rrule = Some(rule.rrule(until_text.as_deref(), shifted)?);
    assumed.dedup();
    Some(Reading {
        kind: Kind::Recurrence,
        start: Some(start),
        end,
        cron: rule.cron(),
        rrule,
        counted_from: shifted.then_some(*first),
        grain: Some(grain),
        assumed,
        ..Reading::none()
    })
}

/// The first time of a recurrence alone.
pub(super) fn once(recurrence: &Reading) -> Reading {
    let (start, grain) = (recurrence.start.clone(), recurrence.grain);
    Reading { kind: Kind::Instant, start, grain, assumed: recurrence.assumed.clone(), ..Reading::none() }
}

/// A point on the person's clock, with what had to be assumed.
fn on_clock(p: &Parser<'_>, wall: Wall<'_>, point: Point, assumed: &mut Vec<&'static str>) -> Option<Zoned> {
    let (instant, gap) = wall.instant(point)?;
    if gap {
        assumed.push("gap");
    }
    Some(instant.to_zoned(p.wall.zone.clone()))
}
