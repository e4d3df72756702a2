//! The bother budget: a brake that falls with every proposal the owner has heard lately and recovers with time; and
//! quiet hours, which delay what can wait. Scheduled firings have their own consent and never come here.

use metnos_calendar::zone::{self, Zone};

/// Proposals older than this no longer brake, in milliseconds.
pub const WINDOW_MS: u64 = 24 * 3_600_000;
/// The most proposals that are remembered for the brake; more than these brake no further.
pub const MAX_REMEMBERED: usize = 64;
/// How hard one fresh proposal brakes: two of them halve what the next one weighs.
const HARDNESS: f64 = 0.5;
/// When the evening's digest is due, in minutes of the owner's day.
pub const EVENING: u16 = 20 * 60;
/// Minutes of a day.
pub const DAY_MINUTES: u16 = 24 * 60;
const MINUTE_MS: u64 = 60_000;
/// The last minute of the year 9999 since 1970: no clock is taken to be later.
const LAST_MINUTE: i64 = 4_223_371_679;

/// The brake at `now_ms`, in (0, 1], after proposals were heard at these moments. A moment in the future counts as now.
#[must_use]
pub fn brake(heard_ms: &[u64], now_ms: u64) -> f64 {
    let recent = heard_ms.iter().rev().take(MAX_REMEMBERED);
    let load: f64 = recent.map(|at| freshness(now_ms.saturating_sub(*at))).sum();
    1.0 / (1.0 + HARDNESS * load)
}

#[allow(clippy::cast_precision_loss, reason = "milliseconds of a day are exact")]
fn freshness(age_ms: u64) -> f64 {
    if age_ms >= WINDOW_MS { 0.0 } else { 1.0 - age_ms as f64 / WINDOW_MS as f64 }
}

/// Hours of the day in which nothing that can wait is said: from one minute of the day up to, not including, another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    /// The first quiet minute.
    pub from: u16,
    /// The first minute that is not quiet any more.
    pub to: u16,
}

impl Quiet {
    /// Reads `22:00 to 07:00`, or with a dash between.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (from, to) = [" to ", "–", "-"].iter().find_map(|between| text.split_once(between))?;
        let quiet = Self { from: minute(from.trim())?, to: minute(to.trim())? };
        (quiet.from != quiet.to).then_some(quiet)
    }

    /// Whether this minute of the day is quiet.
    #[must_use]
    pub const fn covers(self, minute: u16) -> bool {
        if self.from < self.to {
            self.from <= minute && minute < self.to
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

fn minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let digits = |text: &str, length: usize| {
        (text.len() <= length && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
            .then(|| text.parse::<u16>().ok())
            .flatten()
    };
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2).filter(|_| minutes.len() == 2)?);
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

/// What `USER.md` says of when its reader may be spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Day {
    /// The quiet hours, if the line is there and can be read.
    pub quiet: Option<Quiet>,
    /// Where the owner's clock stands; where that of the machine does as long as `Time zone:` names neither an offset nor a
    /// place with a known rule.
    pub zone: Zone,
}

impl Day {
    /// Reads the lines `Quiet hours:` and `Time zone:` (as `UTC+1`, `+01:00`, a place with its rule behind it, as
    /// `Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)`, or a place alone).
    /// `machine` is the zone of the machine's own clock, written in the same way.
    #[must_use]
    pub fn parse(user: &str, machine: &str) -> Self {
        let zone = Zone::read(&zone::of_user(user, machine)).or_else(|| Zone::read(machine)).unwrap_or_default();
        let hours = user.lines().take(4_096).filter_map(|line| {
            let line = line.trim().trim_start_matches(['-', '*']).trim();
            zone::value_of(line, "quiet hours:")
        });
        Self { quiet: hours.last().and_then(Quiet::parse), zone }
    }

    /// The owner's minute of the day.
    #[must_use]
    pub fn minute(&self, now_ms: u64) -> u16 {
        let minutes = i64::try_from(now_ms / MINUTE_MS).unwrap_or(0).min(LAST_MINUTE);
        let minutes = minutes + self.zone.ahead(minutes * 60) / 60;
        u16::try_from(minutes.rem_euclid(i64::from(DAY_MINUTES))).unwrap_or(0)
    }

    /// Whether nothing that can wait is to be said now, by the owner's hours or by those of an end.
    #[must_use]
    pub fn is_quiet(&self, ends: &[Quiet], now_ms: u64) -> bool {
        let minute = self.minute(now_ms);
        self.quiet.iter().chain(ends).any(|quiet| quiet.covers(minute))
    }

    /// When what waits for the evening is due: the next evening, later when that is quiet, at most a day later.
    #[must_use]
    pub fn evening(&self, ends: &[Quiet], now_ms: u64) -> u64 {
        let now = self.minute(now_ms);
        let until = (EVENING + DAY_MINUTES - now) % DAY_MINUTES;
        let start = now_ms - now_ms % MINUTE_MS + u64::from(until) * MINUTE_MS;
        let due = (0..u64::from(DAY_MINUTES)).map(|later| start + later * MINUTE_MS);
        due.into_iter().find(|due| !self.is_quiet(ends, *due)).unwrap_or(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: u64 = 3_600_000;

    #[test]
    fn quiet_hours_may_go_over_midnight() {
        let quiet = Quiet::parse("22:00 to 07:00").unwrap();
        for (minute, covered) in
            [(21 * 60 + 59, false), (22 * 60, true), (0, true), (6 * 60 + 59, true), (7 * 60, false)]
        {
            assert_eq!(quiet.covers(minute), covered, "{minute}");
        }
        assert!(Quiet::parse("13:00-15:00").unwrap().covers(14 * 60));
        for text in ["", "22:00", "22 to 7", "24:00 to 07:00", "22:60 to 1:00", "1:00 to 1:00", "-1:00 to 2:00"] {
            assert_eq!(Quiet::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_owners_day_is_read_from_user_md() {
        let day = Day::parse(include_str!("../../../../examples/workspace/USER.md"), "UTC");
        assert_eq!(day, Day { quiet: Quiet::parse("22:00 to 07:00"), zone: Zone::Fixed(0) });
        assert_eq!(Day::parse("Time zone: UTC+2", "UTC").minute(23 * HOUR), 60);
        assert_eq!(Day::parse("- Time zone: -03:30", "UTC").zone, Zone::Fixed(-210 * 60));
        let rome = Day::parse("- Time zone: Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)", "UTC");
        let (winter, summer) = (1_767_225_600_000, 1_782_864_000_000);
        assert_eq!((rome.minute(winter), rome.minute(summer)), (60, 120), "New Year 2026, and the first of July");
        assert_eq!(
            Day::parse("Time zone: Europe/Rome", "UTC"),
            Day { quiet: None, ..rome },
            "a bare place has its rule"
        );
        for zone in [
            "Time zone: Atlantis",
            "Time zone: +99:00",
            "Time zone: +1:2",
            "Time zone: Europe/Rome (CET",
            "Time zone: X (no rule)",
        ] {
            assert_eq!(Day::parse(zone, "UTC").zone, Zone::Fixed(0), "{zone}");
        }
    }

    #[test]
    fn the_evening_is_the_next_one_that_is_not_quiet() {
        let day = Day::default();
        assert_eq!(day.evening(&[], 10 * HOUR), 20 * HOUR);
        assert_eq!(day.evening(&[], 21 * HOUR), 44 * HOUR);
        let late = Quiet::parse("19:00 to 09:00").unwrap();
        assert_eq!(day.evening(&[late], 10 * HOUR), 33 * HOUR);
    }

    proptest! {
        #[test]
        fn the_brake_is_above_nothing_and_at_most_whole(
            heard in proptest::collection::vec(0u64..1_000_000_000, 0..200), now in 0u64..2_000_000_000
        ) {
            let brake = brake(&heard, now);
            prop_assert!(brake > 0.0 && brake <= 1.0);
        }

        #[test]
        fn brake_tightens_with_proposals_and_loosens_with_time(
            mut heard in proptest::collection::vec(0u64..WINDOW_MS, 0..MAX_REMEMBERED - 1), now in WINDOW_MS..2 * WINDOW_MS, later in 0u64..WINDOW_MS
        ) {
            heard.sort_unstable();
            let before = brake(&heard, now);
            prop_assert!(brake(&heard, now + later) >= before);
            heard.push(now);
            prop_assert!(brake(&heard, now) < before);
            prop_assert!((brake(&heard, now + WINDOW_MS) - 1.0).abs() < 1e-12, "a day heals it whole");
        }

        #[test]
        fn the_evening_is_never_before_now_by_more_than_a_minute(now in 0u64..10 * WINDOW_MS, ahead in -840i16..840) {
            let day = Day { quiet: None, zone: Zone::Fixed(i64::from(ahead) * 60) };
            let due = day.evening(&[], now);
            prop_assert!(due + MINUTE_MS > now && due <= now + WINDOW_MS);
            prop_assert_eq!(day.minute(due), EVENING);
        }

        #[test]
        fn no_text_stops_the_reading(text in "\\PC{0,80}(\\n\\PC{0,40}){0,4}") {
            let _ = (Day::parse(&text, "UTC"), Quiet::parse(&text));
        }
    }
}
