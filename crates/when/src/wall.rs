//! Wall clocks and the points in time that they show. Days and longer units are counted on the clock, hours and less as
//! elapsed time: what is counted so keeps its instant, which the clock alone does not tell where it shows a time twice.

use std::ops::Deref;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::{Grain, civil};

/// A time on a wall clock, with its instant where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    civil: DateTime,
    instant: Option<Timestamp>,
}

impl From<DateTime> for Point {
    fn from(civil: DateTime) -> Self {
        Self { civil, instant: None }
    }
}

impl Deref for Point {
    type Target = DateTime;

    fn deref(&self) -> &DateTime {
        &self.civil
    }
}

/// The wall clock of a zone, at the moment against which a text is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wall<'a> {
    pub(crate) zone: &'a TimeZone,
    pub(crate) now: Timestamp,
}

impl<'a> Wall<'a> {
    /// The clock of another zone, where one was said.
    pub(crate) fn of(self, zone: Option<&'a TimeZone>) -> Self {
        Self { zone: zone.unwrap_or(self.zone), ..self }
    }

    /// An instant as the clock shows it.
    pub(crate) fn point(self, instant: Timestamp) -> Point {
        Point { civil: self.zone.to_datetime(instant), instant: Some(instant) }
    }

    /// The instant of a point, and whether the clock leaves its time out: then it is the end of the gap. Of a time that the
    /// clock shows twice it is the first, but the second where only that is still to come.
    pub(crate) fn instant(self, point: Point) -> Option<(Timestamp, bool)> {
        if let Some(instant) = point.instant {
            return Some((instant, false));
        }
        let ambiguous = self.zone.to_ambiguous_timestamp(point.civil);
        match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { .. } => Some((ambiguous.compatible().ok()?, false)),
            AmbiguousOffset::Gap { after, .. } => {
                let before_gap = after.to_timestamp(point.civil).ok()?;
                Some((self.zone.following(before_gap).next()?.timestamp(), true))
            }
            AmbiguousOffset::Fold { before, after } => {
                let (first, second) = (before.to_timestamp(point.civil).ok()?, after.to_timestamp(point.civil).ok()?);
                let ahead = point.civil > self.zone.to_datetime(self.now);
                Some((if ahead && first <= self.now { second } else { first }, false))
            }
        }
    }

    /// The point so many elapsed seconds later.
    pub(crate) fn later(self, point: Point, seconds: i64) -> Option<Point> {
        if seconds == 0 {
            return Some(point);
        }
        let (instant, _) = self.instant(point)?;
        instant.checked_add(SignedDuration::from_secs(seconds)).ok().map(|instant| self.point(instant))
    }

    /// The beginning of the unit that the point lies in.
    pub(crate) fn floor(self, point: Point, grain: Grain) -> Option<Point> {
        let floor = civil::floor(point.civil, grain)?;
        match point.instant {
            Some(instant) if grain <= Grain::Hour => {
                let within = point.civil.duration_since(floor);
                instant.checked_sub(within).ok().map(|instant| self.point(instant))
            }
            Some(_) | None => Some(floor.into()),
        }
    }
}
