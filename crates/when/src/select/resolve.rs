//! Readings of what was understood: moments on the clock of their zone, rules with their first time.

use jiff::Zoned;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use crate::duration::Duration;
use crate::moment::Meaning;
use crate::parser::Parser;
use crate::recurrence::rule::Rule;
use crate::{Grain, Kind, Reading};

pub(super) fn of_duration(duration: Duration) -> Reading {
    Reading { kind: Kind::Duration, length: Some(duration.length), grain: Some(duration.grain), ..Reading::none() }
}

pub(super) fn of_meaning(p: &Parser<'_>, meaning: &Meaning) -> Option<Reading> {
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

pub(super) fn of_rule(p: &Parser<'_>, rule: &Rule, mut assumed: Vec<&'static str>) -> Option<Reading> {
    let first = rule.first(p)?;
    let start = on_clock(p, first, None, &mut assumed)?;
    let end = match rule.first_end(first) {
        Some(end) => Some(on_clock(p, end, None, &mut assumed)?),
        None => None,
    };
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
        end,
        cron: rule.cron(),
        rrule,
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
