//! What is said of one moment: a day, a time of day, a part of the day and a zone, in any order, and what they mean together.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::clock::part::{self, Hour};
use crate::clock::{self, Clock};
use crate::dates::{self, Day, Sort};
use crate::parser::{Found, Parser, longest};
use crate::wall::Point;
use crate::words::{Part, Sort as PartSort, ZONES};
use crate::{Grain, civil};

/// A moment or a stretch of time, before its zone is applied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Meaning {
    pub(crate) start: Option<Point>,
    /// The first moment that no longer belongs to it.
    pub(crate) end: Option<Point>,
    pub(crate) interval: bool,
    pub(crate) grain: Grain,
    pub(crate) assumed: Vec<&'static str>,
    pub(crate) zone: Option<TimeZone>,
}

/// What was said, each sort of thing once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slots {
    pub(crate) day: Option<Day>,
    pub(crate) clock: Option<Clock>,
    pub(crate) range: Option<(Clock, Clock)>,
    pub(crate) part: Option<Part>,
    /// Whether the part of the day stands behind the clock.
    behind: bool,
    /// Whether the part has a word before it, as "in the evening".
    introduced: bool,
    pub(crate) zone: Option<TimeZone>,
}

/// One of the things that can be said.
enum Piece {
    Day(Day),
    Clock(Clock),
    Range(Clock, Clock),
    Part(Part, bool),
    DayPart(Day, Part),
    Zone(TimeZone),
}

fn piece(p: &Parser<'_>, at: usize) -> Found<Piece> {
    longest([
        dates::day(p, at).map(|(day, next)| (Piece::Day(day), next)),
        day_part(p, at),
        clock::range(p, at).map(|((first, second), next)| (Piece::Range(first, second), next)),
        clock::clock(p, at).map(|(clock, next)| (Piece::Clock(clock), next)),
        this_time(p, at).map(|(clock, next)| (Piece::Clock(clock), next)),
        part::introduced(p, at).map(|(part, next)| (Piece::Part(part, !part::is_habit(p, at)), next)),
        p.meaning(at, p.words.parts).map(|(part, next)| (Piece::Part(part, false), next)),
        zone(p, at).map(|(zone, next)| (Piece::Zone(zone), next)),
    ])
}

/// "tonight", "domattina": a day and a part of it in one.
fn day_part(p: &Parser<'_>, at: usize) -> Found<Piece> {
    let ((days, part), next) = p.meaning(at, p.words.day_parts)?;
    let day = Day::new(civil::add_days(civil::midnight(p.now.date()), days)?, Grain::Day, Sort::Relative);
    Some((Piece::DayPart(day, part), next))
}

/// What is assumed of "this time tomorrow".
const SAME_TIME: &str = "same-time";

/// "at this time", "a quest'ora": the time of day that it is.
fn this_time(p: &Parser<'_>, at: usize) -> Found<Clock> {
    let phrases: &[&str] = if p.english() {
        &["at this time", "this time", "same time", "at the same time"]
    } else {
        &["a quest ora", "alla stessa ora"]
    };
    let next = p.one_of(at, phrases)?;
    let clock = Clock {
        hour: p.now.hour(),
        minute: p.now.minute(),
        second: 0,
        grain: Grain::Minute,
        either: false,
        written: true,
        clear: true,
        half: false,
        midnight: false,
        assumed: Some(SAME_TIME),
    };
    Some((clock, next))
}

/// A zone behind a time of day: "CET", "UTC+2", "(EST)", "+01:00", "Z", "ora di Roma".
fn zone(p: &Parser<'_>, at: usize) -> Found<TimeZone> {
    let behind_clock = at > 0;
    if !behind_clock {
        return None;
    }
    let open = p.is(at, "(");
    let start = if open { at + 1 } else { at };
    if p.is(start, "z") && p.glued(start) {
        return Some((TimeZone::UTC, start + 1));
    }
    let named = p.meaning(start, ZONES);
    let sign = named.map_or(start, |(_, next)| next);
    let fixed = offset(p, sign).filter(|_| named.is_none_or(|(rule, _)| rule == "UTC0"));
    let (found, next) = match (fixed, named) {
        (Some(found), _) => found,
        (None, Some((rule, next))) => (TimeZone::posix(rule).ok()?, next),
        (None, None) => return None,
    };
    match (open, p.is(next, ")")) {
        (true, true) => Some((found, next + 1)),
        (true, false) => None,
        (false, _) => Some((found, next)),
    }
}

/// "+01:00", "-0330", "+2".
fn offset(p: &Parser<'_>, at: usize) -> Found<TimeZone> {
    let sign = match p.text(at) {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let glued = p.glued(at) || p.digits(at + 1).is_some_and(|(_, length)| length == 4) || p.is(at + 2, ":");
    let (number, length) = p.digits(at + 1).filter(|_| glued && p.glued(at + 1))?;
    let (hours, minutes, next) = match length {
        4 => (number / 100, number % 100, at + 2),
        1 | 2 if p.is(at + 2, ":") && p.glued(at + 2) => (number, p.digits(at + 3)?.0, at + 4),
        1 | 2 => (number, 0, at + 2),
        _ => return None,
    };
    let seconds = i32::try_from(sign * (hours * 60 + minutes) * 60).ok().filter(|_| hours <= 14 && minutes < 60)?;
    Some((TimeZone::fixed(jiff::tz::Offset::from_seconds(seconds).ok()?), next))
}

impl Slots {
    /// Adds what was said next; `false` where its place is taken.
    fn add(&mut self, piece: Piece) -> bool {
        let timed = self.clock.is_some() || self.range.is_some();
        if let (Piece::Day(year), Some(day)) = (&piece, &self.day) {
            // "Tue Dec 1 10:00:00 2026" has its year at the end.
            let dated = dates::in_year(day, year.start.year()).filter(|_| timed && year.grain == Grain::Year);
            return dated.map(|dated| self.day = Some(dated)).is_some();
        }
        let free = match &piece {
            Piece::Day(_) => self.day.is_none(),
            Piece::Clock(_) | Piece::Range(..) => !timed,
            // "lunch tomorrow" is what one has; "tomorrow at lunch" is when.
            Piece::Part(part, introduced) => {
                self.part.is_none() && (*introduced || part.sort != PartSort::Midday || self.day.is_some())
            }
            Piece::DayPart(..) => self.day.is_none() && self.part.is_none(),
            Piece::Zone(_) => self.zone.is_none() && timed,
        };
        if !free {
            return false;
        }
        match piece {
            Piece::Day(day) => self.day = Some(day),
            Piece::Clock(clock) => self.clock = Some(clock),
            Piece::Range(first, second) => self.range = Some((first, second)),
            Piece::Part(part, introduced) => {
                (self.part, self.introduced, self.behind) = (Some(part), introduced, timed);
            }
            Piece::DayPart(day, part) => {
                (self.day, self.part, self.introduced, self.behind) = (Some(day), Some(part), true, false);
            }
            Piece::Zone(zone) => self.zone = Some(zone),
        }
        true
    }

    /// Whether the words alone hardly say a time.
    pub(crate) fn is_weak(&self) -> bool {
        let timed = self.clock.is_some() || self.range.is_some();
        match (&self.day, self.part) {
            (Some(day), None) => day.weak && !timed,
            (Some(_), Some(_)) => false,
            (None, Some(_)) => !self.introduced && !timed,
            (None, None) => !timed,
        }
    }

    /// Both together, where no thing was said twice.
    pub(crate) fn merged(&self, other: &Self) -> Option<Self> {
        let timed = |slots: &Self| slots.clock.is_some() || slots.range.is_some();
        let twice = (self.day.is_some() && other.day.is_some())
            || (timed(self) && timed(other))
            || (self.part.is_some() && other.part.is_some());
        let behind = if other.part.is_some() { other.behind } else { self.behind };
        (!twice).then(|| Self {
            day: self.day.clone().or_else(|| other.day.clone()),
            clock: self.clock.or(other.clock),
            range: self.range.or(other.range),
            part: self.part.or(other.part),
            behind,
            introduced: self.introduced || other.introduced,
            zone: self.zone.clone().or_else(|| other.zone.clone()),
        })
    }

    /// The same on this day.
    pub(crate) fn on(&self, day: Day) -> Self {
        Self { day: Some(day), ..self.clone() }
    }

    /// Whether it says a time of day and no day.
    pub(crate) fn is_time_only(&self) -> bool {
        self.day.is_none() && (self.clock.is_some() || self.part.is_some())
    }
}

/// All that is said of one moment, from a position on.
pub(crate) fn slots(p: &Parser<'_>, at: usize) -> Found<Slots> {
    slots_with(p, Slots::default(), at)
}

/// The same behind a word that only an hour can follow, as "dopo le".
pub(crate) fn slots_from_hour(p: &Parser<'_>, at: usize) -> Found<Slots> {
    let hour = clock::core(p, at, true).and_then(|(clock, next)| {
        let next = p.skip(next, p.words.exactly);
        slots_with(p, Slots { clock: Some(clock), ..Slots::default() }, next)
    });
    longest([slots(p, at), hour])
}

/// Adds to slots what follows.
fn slots_with(p: &Parser<'_>, mut slots: Slots, mut end: usize) -> Found<Slots> {
    for count in 0..6 {
        let next = if (count > 0 || slots.clock.is_some()) && p.any(end, &[",", "t"]) { end + 1 } else { end };
        let plain = piece(p, next);
        let joined = p.one_of(next, p.words.on).and_then(|joint| piece(p, joint));
        let owned = (count > 0 && p.is(next, "s")).then(|| piece(p, next + 1)).flatten();
        let iso = count > 0 && p.is(end, "t") && p.glued(end) && p.glued(next);
        let Some((mut piece, after)) = longest([plain, joined, owned]) else { break };
        // ISO 8601 has the clock of 24 hours.
        if let Piece::Clock(clock) = &mut piece
            && iso
        {
            *clock = Clock { assumed: None, ..clock.certain() };
        }
        if !slots.add(piece) {
            break;
        }
        end = after;
    }
    let empty = slots.day.is_none() && slots.clock.is_none() && slots.range.is_none() && slots.part.is_none();
    let nothing_new = slots.day.is_none() && slots.clock.is_some_and(|clock| clock.assumed == Some(SAME_TIME));
    (!empty && !nothing_new).then_some((slots, end))
}

/// What the slots mean: nothing where they contradict each other, two meanings where it is not said which.
pub(crate) fn meanings(p: &Parser<'_>, slots: &Slots) -> Vec<Meaning> {
    // "la sera alle 8" may be every evening.
    let timed = slots.clock.is_some() || slots.range.is_some();
    if slots.day.is_none() && timed && slots.part.is_some() && !slots.introduced && !slots.behind {
        return Vec::new();
    }
    // "3:15 del pomeriggio" is not by the clock of 24 hours.
    let halved = |clock: Clock| if slots.part.is_some() { clock.halved() } else { clock };
    let range = slots.range.map(|(first, second)| (halved(first), halved(second)));
    let found = match (&slots.day, slots.clock.map(halved), range) {
        (Some(day), Some(clock), None) => on_day(slots, day, clock),
        (Some(day), None, Some((first, second))) => range_on_day(slots, day, first, second),
        (Some(day), None, None) => part_of_day(slots, day).into_iter().collect(),
        (None, Some(clock), None) => next_clock(p, slots, clock),
        (None, None, Some((first, second))) => next_range(p, slots, first, second),
        (None, None, None) => next_part(p, slots).into_iter().collect(),
        (_, Some(_), Some(_)) => Vec::new(),
    };
    found.into_iter().map(|meaning| Meaning { zone: slots.zone.clone(), ..meaning }).collect()
}

fn instant(start: impl Into<Point>, grain: Grain, assumed: Vec<&'static str>) -> Meaning {
    Meaning { start: Some(start.into()), end: None, interval: false, grain, assumed, zone: None }
}

fn interval(start: impl Into<Point>, end: impl Into<Point>, grain: Grain, assumed: Vec<&'static str>) -> Meaning {
    Meaning { start: Some(start.into()), end: Some(end.into()), interval: true, grain, assumed, zone: None }
}

/// The moment of an hour on a date.
fn at_hour(date: DateTime, hour: Hour, clock: Clock) -> Option<DateTime> {
    let date = civil::add_days(civil::midnight(date.date()), hour.days)?;
    civil::at(date.date(), hour.hour, clock.minute, clock.second)
}

fn with(day: &[&'static str], more: impl IntoIterator<Item = Option<&'static str>>) -> Vec<&'static str> {
    let mut all = day.to_vec();
    all.extend(more.into_iter().flatten());
    all
}

/// A time of day on a day.
fn on_day(slots: &Slots, day: &Day, clock: Clock) -> Vec<Meaning> {
    if !day.is_one_day() {
        return Vec::new();
    }
    // The midnight of a day that is not today is at its beginning for some and at its end for others.
    if clock.midnight && slots.part.is_none() && clock.minute == 0 {
        let (begin, end) = (civil::midnight(day.start.date()), civil::add_days(civil::midnight(day.start.date()), 1));
        return [Some(begin), end]
            .into_iter()
            .flatten()
            .map(|start| instant(start, Grain::Hour, day.assumed.clone()))
            .collect();
    }
    let hours = part::hours(clock, slots.part, slots.behind);
    let moments = hours.into_iter().filter_map(|hour| Some((at_hour(*day.start, hour, clock)?, hour)));
    moments
        .map(|(start, hour)| instant(start, clock.grain, with(&day.assumed, [clock.assumed, hour.assumed])))
        .collect()
}

/// A day or a longer stretch without a time of day, or a part of a day.
fn part_of_day(slots: &Slots, day: &Day) -> Option<Meaning> {
    match slots.part {
        None => match day.end {
            Some(end) => Some(interval(day.start, end, day.grain, day.assumed.clone())),
            None => Some(instant(day.start, day.grain, day.assumed.clone())),
        },
        // The night of a feast is the one that leads to it, not the one behind.
        Some(part) if day.sort == Sort::Feast && part.sort == PartSort::SmallHours => None,
        Some(part) if day.is_one_day() => {
            let (from, to) = bounds(*day.start, part)?;
            Some(interval(from, to, Grain::Hour, day.assumed.clone()))
        }
        Some(_) => None,
    }
}

/// Where a part of a day begins and ends; the small hours are those of the day after.
fn bounds(day: DateTime, part: Part) -> Option<(DateTime, DateTime)> {
    let midnight = civil::midnight(day.date());
    let shift = i64::from(part.sort == PartSort::SmallHours);
    let midnight = civil::add_days(midnight, shift)?;
    Some((civil::add(midnight, Grain::Hour, part.from.into())?, civil::add(midnight, Grain::Hour, part.to.into())?))
}

/// The next time that a clock shows an hour.
pub(crate) fn next_hour(after: DateTime, hour: Hour, clock: Clock) -> Option<DateTime> {
    let today = civil::at(after.date(), hour.hour, clock.minute, clock.second)?;
    if today > after { Some(today) } else { civil::add_days(today, 1) }
}

/// A time of day without a day: the next one, where only one reading is likely.
fn next_clock(p: &Parser<'_>, slots: &Slots, clock: Clock) -> Vec<Meaning> {
    // A clock of another zone is looked for on that zone's calendar.
    let after = slots.zone.as_ref().map_or(p.after, |zone| shifted(p, zone));
    let at = |hour: Hour| next_hour(after, Hour { days: 0, ..hour }, clock);
    let read = |start: DateTime, hour: Hour| {
        instant(start, clock.grain, with(&["next-future"], [clock.assumed, hour.assumed]))
    };
    let hours = part::hours(clock, slots.part, slots.behind);
    if slots.part.is_some() || !clock.either {
        return hours.into_iter().filter_map(|hour| Some(read(at(hour)?, hour))).collect();
    }
    let sure = |hour: i8, assumed| Hour { hour, days: 0, assumed };
    if clock.hour == 12 {
        let noon = sure(12, Some("noon"));
        return at(noon).map(|start| read(start, noon)).into_iter().collect();
    }
    let (early, late) = (sure(clock.hour, None), sure(clock.hour + 12, Some("afternoon")));
    let (Some(first), Some(second)) = (at(early), at(late)) else { return Vec::new() };
    // Nobody who speaks at ten in the morning means three at night.
    let clear = clock.hour <= 5 && second.date() == after.date() && first.date() > after.date();
    if clear {
        return vec![read(second, late)];
    }
    let mut both = vec![read(first, early), read(second, sure(clock.hour + 12, None))];
    both.sort_by_key(|meaning| meaning.start.map(|start| *start));
    both
}

/// The reference moment on the calendar of another zone; the person's own where it cannot be told.
fn shifted(p: &Parser<'_>, zone: &TimeZone) -> DateTime {
    let own = p.wall.instant(if p.after == *p.now { p.now } else { p.after.into() });
    own.map_or(p.after, |(own, _)| zone.to_datetime(own))
}

/// A range of hours on a day.
fn range_on_day(slots: &Slots, day: &Day, first: Clock, second: Clock) -> Vec<Meaning> {
    if !day.is_one_day() {
        return Vec::new();
    }
    let begins = part::hours(first, slots.part, slots.behind);
    begins.into_iter().filter_map(|hour| ending(slots, *day.start, &day.assumed, (hour, first), second)).collect()
}

/// The range that begins with an hour of a day and ends with the next such hour.
fn ending(
    slots: &Slots,
    day: DateTime,
    assumed: &[&'static str],
    (hour, first): (Hour, Clock),
    second: Clock,
) -> Option<Meaning> {
    let start = at_hour(day, hour, first)?;
    let midday = Hour { hour: second.hour, days: 0, assumed: None };
    let early = next_hour(start, midday, second)?;
    let late = next_hour(start, Hour { hour: (second.hour + 12) % 24, ..midday }, second)?;
    let parted = slots.part.and_then(|_| part::hours(second, slots.part, slots.behind).first().copied());
    let end = match (second.either, parted) {
        (_, Some(hour)) => next_hour(start, Hour { days: 0, ..hour }, second)?,
        (false, None) => early,
        (true, None) => early.min(late),
    };
    let grain = first.grain.min(second.grain);
    Some(interval(start, end, grain, with(assumed, [first.assumed, hour.assumed])))
}

/// A range of hours without a day: the next one.
fn next_range(p: &Parser<'_>, slots: &Slots, first: Clock, second: Clock) -> Vec<Meaning> {
    let halves = if slots.part.is_none() && first.either && first.hour != 12 {
        let half = |hour: i8| Hour { hour, days: 0, assumed: None };
        vec![half(first.hour), half(first.hour + 12)]
    } else {
        part::hours(first, slots.part, slots.behind)
    };
    let begins =
        halves.into_iter().filter_map(|hour| Some((next_hour(p.after, Hour { days: 0, ..hour }, first)?, hour)));
    begins
        .filter_map(|(start, hour)| ending(slots, start, &["next-future"], (Hour { days: 0, ..hour }, first), second))
        .collect()
}

/// "in the afternoon": the next one, where it is not on.
fn next_part(p: &Parser<'_>, slots: &Slots) -> Option<Meaning> {
    let part = slots.part.filter(|_| slots.introduced)?;
    let (mut from, mut to) = bounds(p.after, part)?;
    if p.after >= to {
        (from, to) = bounds(civil::add_days(p.after, 1)?, part)?;
    }
    (p.after < from).then(|| interval(from, to, Grain::Hour, vec!["next-future"]))
}
