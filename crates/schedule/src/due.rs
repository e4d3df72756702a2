//! Turns times of the wall clock into instants: what is due next, and what is overdue.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::cadence::{Cadence, Plan};

/// How many missed times are counted at most.
pub const MAX_MISSED: u32 = 10_000;

/// One time at which a schedule is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The firing key: the time on the wall clock. The same time never comes twice, not even where the clock shows it twice.
    pub key: DateTime,
    /// The instant: the earlier one where the clock shows the key twice, the end of the gap where it never does.
    pub at: Timestamp,
}

/// What should have happened by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdue {
    /// The latest time that is not after now.
    pub latest: Due,
    /// How many times before it went by, [`MAX_MISSED`] at most.
    pub missed: u32,
}

impl Cadence {
    /// The next time after a key: one that was taken before, or the [`key_at`] of now. Times that fall on one and the same
    /// instant, as all those within a gap, are one, with the latest of their keys; an earlier one of these keys, once taken,
    /// took that time. Instants grow strictly with their keys. `None` where [`Cadence::next_after`] has none, or the instant
    /// lies outside of the calendar.
    #[must_use]
    pub fn next_due(&self, zone: &TimeZone, after_key: DateTime) -> Option<Due> {
        next(&self.plan().ok()?, zone, after_key)
    }

    /// The latest time after a key that is due at an instant, and how many before it were missed; `None` where nothing is.
    #[must_use]
    pub fn overdue(&self, zone: &TimeZone, after_key: DateTime, now: Timestamp) -> Option<Overdue> {
        let plan = self.plan().ok()?;
        let first = next(&plan, zone, after_key).filter(|first| first.at <= now)?;
        let latest = latest(&plan, zone, after_key, now).unwrap_or(first);
        let (mut missed, mut due) = (0, first);
        while due.key < latest.key && missed < MAX_MISSED {
            missed += 1;
            let Some(later) = next(&plan, zone, due.key) else { break };
            due = later;
        }
        Some(Overdue { latest, missed })
    }

    /// How many seconds lie between the instant of a key and the next time after it.
    #[must_use]
    pub fn period(&self, zone: &TimeZone, key: DateTime) -> Option<i64> {
        let (from, to) = (instant(zone, key)?, self.next_due(zone, key)?.at);
        to.as_second().checked_sub(from.as_second())
    }
}

/// The key that stands for an instant: what is due by a later key is due after the instant. It is the wall clock then; where
/// the clock shows a time for the second time, the last second that it shows twice. `None` outside of the calendar.
#[must_use]
pub fn key_at(zone: &TimeZone, now: Timestamp) -> Option<DateTime> {
    let wall = zone.to_datetime(now);
    let AmbiguousOffset::Fold { before, .. } = zone.to_ambiguous_timestamp(wall).offset() else { return Some(wall) };
    if before.to_timestamp(wall).ok()? >= now {
        return Some(wall);
    }
    let just_after = now.checked_add(SignedDuration::from_nanos(1)).ok()?;
    let back = zone.preceding(just_after).next()?.timestamp();
    before.to_datetime(back).checked_sub(SignedDuration::from_secs(1)).ok()
}

/// The instant of a key: the earlier one where the clock shows it twice, the end of the gap where it never does.
pub(crate) fn instant(zone: &TimeZone, key: DateTime) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(key);
    match ambiguous.offset() {
        AmbiguousOffset::Gap { after, .. } => {
            let before_gap = after.to_timestamp(key).ok()?;
            Some(zone.following(before_gap).next()?.timestamp())
        }
        AmbiguousOffset::Fold { .. } | AmbiguousOffset::Unambiguous { .. } => ambiguous.compatible().ok(),
    }
}

fn due(zone: &TimeZone, key: DateTime) -> Option<Due> {
    Some(Due { key, at: instant(zone, key)? })
}

/// The next time of a plan after a key.
fn next(plan: &Plan, zone: &TimeZone, after_key: DateTime) -> Option<Due> {
    let mut found = due(zone, plan.next_after(after_key)?)?;
    // A key within a gap is the same time as one at its end.
    if let Some(before) = instant(zone, after_key).filter(|before| *before >= found.at) {
        found = due(zone, plan.next_after(zone.to_datetime(before))?)?;
    }
    match zone.to_ambiguous_timestamp(found.key).offset() {
        AmbiguousOffset::Gap { .. } => latest(plan, zone, after_key, found.at),
        AmbiguousOffset::Fold { .. } | AmbiguousOffset::Unambiguous { .. } => Some(found),
    }
}

/// The latest time of a plan after a key that is not after an instant. It halves the stretch between: the farther from the
/// key one asks for the next time, the later that is.
fn latest(plan: &Plan, zone: &TimeZone, after_key: DateTime, now: Timestamp) -> Option<Due> {
    let asked = |seconds: i64| due(zone, plan.later(after_key, seconds)?).filter(|due| due.at <= now);
    let mut found = asked(0)?;
    // A day more than the wall clock: keys of a fold may be ahead of it.
    let span = zone.to_datetime(now).duration_since(after_key).as_secs().checked_add(86_400)?;
    let (mut least, mut most) = (0, span.max(1));
    while most - least > 1 {
        let middle = least + (most - least) / 2;
        match asked(middle) {
            Some(due) => (found, least) = (due, middle),
            None => most = middle,
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests;
