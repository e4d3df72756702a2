//! Where a clock stands, as `USER.md` has it: an offset, or a place with its rule as POSIX writes it
//! (`Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)`). The rule was taken there from the system's database, so that no daemon
//! needs tables of places behind its lock. Pure; what it cannot read is no zone.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

/// The longest text of a zone, in bytes.
pub const MAX_TEXT: usize = 128;

/// The longest rule that is read, in bytes.
const MAX_RULE: usize = 80;
/// The farthest a clock may be from UTC, in seconds.
const MAX_OFFSET: i64 = 15 * 3_600;

/// The first of January 2026, in seconds from 1970: a rule is looked at from there on, for a year.
const SAMPLED: i64 = 1_767_225_600;

/// A clock's distance from UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Zone {
    /// Always as many seconds ahead.
    Fixed(i64),
    /// By a rule of POSIX, which may have another number in summer.
    Ruled(TimeZone),
}

impl Default for Zone {
    fn default() -> Self {
        Self::Fixed(0)
    }
}

/// Places by the rule that they share, a rule on a line, as `clock_now` has them; and what people call a place whose zone
/// has another name.
const ZONES: &str = include_str!("zones.txt");
const PLACES: &str = include_str!("places.txt");

/// The zone of a place by its name in the tables, its last part, or what people call it, with its rule:
/// `Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)`. `None` where no place is called so, or places with different rules are.
#[must_use]
pub fn of_place(place: &str) -> Option<String> {
    if place.is_empty() || place.len() > MAX_TEXT {
        return None;
    }
    let mut wanted = place.trim().to_lowercase().replace(' ', "_").replace('à', "a");
    if let Some(zone) = PLACES.lines().find_map(|line| line.strip_prefix(&wanted)?.strip_prefix(' ')) {
        wanted = zone.to_lowercase();
    }
    let mut found: Option<(&str, &str)> = None;
    for line in ZONES.lines() {
        let Some((rule, names)) = line.split_once(' ') else { continue };
        for name in names.split(' ') {
            let low = name.to_lowercase();
            if low == wanted {
                return Some(format!("{name} ({rule})"));
            }
            if low.rsplit('/').next() == Some(&wanted) {
                match found {
                    Some((other, _)) if other != rule => return None,
                    Some(_) => {}
                    None => found = Some((rule, name)),
                }
            }
        }
    }
    found.map(|(rule, name)| format!("{name} ({rule})"))
}

/// The name of a zone in the tables, as they write it; `None` where there is none of this name.
#[must_use]
pub fn name_of(zone: &str) -> Option<&'static str> {
    let all = ZONES.lines().filter_map(|line| line.split_once(' ')).flat_map(|(_, names)| names.split(' '));
    all.filter(|name| name.contains('/')).find(|name| name.eq_ignore_ascii_case(zone))
}

/// The text of the zone that `USER.md` names in its line `Time zone:`, when it can be one; else `machine`, that of the
/// machine's own clock. A bare place gets its rule, from the machine where its clock stands there, else from the tables; one
/// that they do not know is taken as it stands.
#[must_use]
pub fn of_user(user: &str, machine: &str) -> String {
    let named = user.lines().take(4_096).find_map(|line| {
        let line = line.trim().trim_start_matches(['-', '*']).trim();
        value_of(line, "time zone:")
    });
    let is_place = |text: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b'+');
        text.len() <= MAX_TEXT && text.contains('/') && text.bytes().all(plain)
    };
    let of_machine = |text: &str| machine.strip_prefix(text).is_some_and(|rest| rest.starts_with(" ("));
    match named {
        Some(text) if Zone::read(text).is_some() => text.to_owned(),
        Some(text) if text.is_empty() || of_machine(text) => machine.to_owned(),
        Some(text) => {
            of_place(text).or_else(|| is_place(text).then(|| text.to_owned())).unwrap_or_else(|| machine.to_owned())
        }
        None => machine.to_owned(),
    }
}

/// A distance from UTC in seconds as it is written: `+01:00`.
#[must_use]
pub fn offset_text(ahead: i64) -> String {
    let minutes = ahead.abs() / 60;
    format!("{}{:02}:{:02}", if ahead < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
}

/// What stands behind a key, whatever the case of its letters.
#[must_use]
pub fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let head = line.get(..key.len())?;
    head.eq_ignore_ascii_case(key).then(|| line[key.len()..].trim())
}

/// `UTC`, `UTC+1`, `UTC-03:30`, `+01:00`: seconds ahead of UTC.
pub(crate) fn fixed(text: &str) -> Option<i64> {
    let text = text.strip_prefix("UTC").or_else(|| text.strip_prefix("GMT")).unwrap_or(text).trim();
    if text.is_empty() {
        return Some(0);
    }
    let (sign, rest) =
        text.strip_prefix('+').map(|rest| (1, rest)).or(text.strip_prefix('-').map(|rest| (-1, rest)))?;
    let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "00"));
    let ahead =
        number(hours, 14).filter(|_| hours.len() <= 2)? * 60 + number(minutes, 59).filter(|_| minutes.len() == 2)?;
    (ahead <= 14 * 60).then_some(sign * ahead * 60)
}

fn number(text: &str, most: i64) -> Option<i64> {
    let digits = (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number <= most)
}

impl Zone {
    /// Reads a zone as it is written for people: an offset, or a place with its rule behind it.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let sound =
            !text.is_empty() && text.len() <= MAX_TEXT && text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
        if !sound {
            return None;
        }
        match text.split_once('(') {
            Some((_, rule)) => Self::rule(rule.split_once(')')?.0.trim()),
            None => fixed(text).map(Self::Fixed),
        }
    }

    /// Reads `CET-1CEST,M3.5.0,M10.5.0/3` or `<+0530>-5:30`.
    #[must_use]
    pub fn rule(text: &str) -> Option<Self> {
        if text.len() > MAX_RULE {
            return None;
        }
        let zone = TimeZone::posix(text).ok()?;
        is_near(&zone).then_some(Self::Ruled(zone))
    }

    /// This instant, in seconds since 1970, on the clock of the zone; `None` where the calendar ends before it.
    #[must_use]
    pub fn at(&self, now: i64) -> Option<Zoned> {
        Some(Timestamp::from_second(now).ok()?.to_zoned(self.time_zone()?))
    }

    /// The moment at which the clock of the zone shows this, written as `2026-11-24T10:00`, `2026-11-24T10:00:30` or
    /// `2026-11-24` for midnight. What a change of the clocks leaves out is the next moment there is; what comes twice, the
    /// first.
    #[must_use]
    pub fn civil(&self, text: &str) -> Option<Zoned> {
        let shape = |form: &str| {
            let fits = |(byte, like): (u8, u8)| if like == b'0' { byte.is_ascii_digit() } else { byte == like };
            text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
        };
        let local = match () {
            () if shape("0000-00-00T00:00") => format!("{text}:00").parse::<DateTime>().ok()?,
            () if shape("0000-00-00T00:00:00") => text.parse().ok()?,
            () if shape("0000-00-00") => text.parse::<Date>().ok()?.to_datetime(Time::midnight()),
            () => return None,
        };
        local.to_zoned(self.time_zone()?).ok()
    }

    fn time_zone(&self) -> Option<TimeZone> {
        match self {
            Self::Fixed(ahead) => Some(TimeZone::fixed(Offset::from_seconds(i32::try_from(*ahead).ok()?).ok()?)),
            Self::Ruled(zone) => Some(zone.clone()),
        }
    }

    /// How many seconds the clock is ahead of UTC at that instant, in seconds since 1970.
    #[must_use]
    pub fn ahead(&self, now: i64) -> i64 {
        match self {
            Self::Fixed(ahead) => *ahead,
            Self::Ruled(zone) => {
                let now = now.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
                zone.to_offset(Timestamp::from_second(now).unwrap_or_default()).seconds().into()
            }
        }
    }
}

/// Whether the clocks of a rule stay within [`MAX_OFFSET`], in summer an hour more.
fn is_near(zone: &TimeZone) -> bool {
    let days = (0..73).filter_map(|at| Timestamp::from_second(SAMPLED + at * 5 * 86_400).ok());
    days.map(|instant| zone.to_offset_info(instant)).all(|clock| {
        let most = if clock.dst().is_dst() { MAX_OFFSET + 3_600 } else { MAX_OFFSET };
        i64::from(clock.offset().seconds()).abs() <= most
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_zone_that_user_md_names_counts_before_that_of_the_machine() {
        let machine = "Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)";
        for (line, text) in [
            ("- Time zone: America/New_York (EST5EDT,M3.2.0,M11.1.0)", "America/New_York (EST5EDT,M3.2.0,M11.1.0)"),
            ("* time zone: UTC+2", "UTC+2"),
            ("- Time zone:", machine),
            ("- Time zone: Europe/Rome", machine),
            ("- Time zone: Asia/Tokyo", "Asia/Tokyo (JST-9)"),
            ("- Time zone: Tokio", "Asia/Tokyo (JST-9)"),
            ("- Time zone: New York", "America/New_York (EST5EDT,M3.2.0,M11.1.0)"),
            ("- Time zone: Nowhere/Far", "Nowhere/Far"),
            ("- Time zone: somewhere", machine),
            ("- Time zone: nowhere (at all)", machine),
            ("- Time zone: \u{1b}[2J", machine),
            ("", machine),
        ] {
            assert_eq!(super::of_user(&format!("# User\n\n{line}\n"), machine), text, "{line}");
        }
    }

    /// Seconds since 1970 of an instant of UTC.
    fn at(year: u32, month: u32, day: u32, hour: i64) -> i64 {
        i64::from(crate::Day::from_date(year, month, day).unwrap().0) * 86_400 + hour * 3_600
    }

    #[test]
    fn every_place_of_the_tables_has_a_rule_that_can_be_read() {
        for (rule, names) in ZONES.lines().map(|line| line.split_once(' ').unwrap()) {
            assert!(Zone::rule(rule).is_some(), "{rule}");
            for name in names.split(' ') {
                let text = of_place(name).unwrap();
                assert!(text.starts_with(&format!("{name} (")) && Zone::read(&text).is_some(), "{text}");
            }
        }
        for place in PLACES.lines().map(|line| line.split_once(' ').unwrap().0) {
            assert!(of_place(place).is_some(), "{place}");
        }
        // The executor that tells the time has the same tables: its sandbox sees no file of Metnos.
        let executor = include_str!("../../../executors/clock_now/main.py");
        assert!(executor.contains(ZONES.trim_end()));
        let also: Vec<&str> = PLACES.lines().collect();
        let theirs = executor.split_once("ALSO = \"\"\"\n").unwrap().1.split_once("\n\"\"\"").unwrap().0;
        assert_eq!(theirs.split(['|', '\n']).collect::<Vec<_>>(), also);
    }

    #[test]
    fn a_place_has_its_summer_as_the_tables_have_it() {
        // Each: a rule, an instant, seconds ahead; as `zdump -v` says.
        let rome = "CET-1CEST,M3.5.0,M10.5.0/3";
        for (rule, now, ahead) in [
            (rome, at(2026, 3, 29, 1) - 1, 3_600),
            (rome, at(2026, 3, 29, 1), 7_200),
            (rome, at(2026, 10, 25, 1) - 1, 7_200),
            (rome, at(2026, 10, 25, 1), 3_600),
            (rome, at(2027, 1, 1, 0), 3_600),
            ("GMT0BST,M3.5.0/1,M10.5.0", at(2026, 7, 1, 0), 3_600),
            ("EST5EDT,M3.2.0,M11.1.0", at(2026, 3, 8, 7) - 1, -18_000),
            ("EST5EDT,M3.2.0,M11.1.0", at(2026, 3, 8, 7), -14_400),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", at(2026, 1, 1, 0), 39_600),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", at(2026, 4, 4, 16), 36_000),
            ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", at(2026, 12, 31, 23), 39_600),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", at(2026, 12, 1, 0), 0),
            ("<+0545>-5:45", at(2026, 6, 1, 0), 20_700),
            ("<-03>3", at(2026, 6, 1, 0), -10_800),
            ("AAA0BBB,J60/0,300/0", at(2024, 3, 1, 0), 3_600),
            ("AAA0BBB,J60/0,300/0", at(2024, 3, 1, 0) - 1, 0),
        ] {
            assert_eq!(Zone::rule(rule).unwrap().ahead(now), ahead, "{rule} at {now}");
        }
    }

    #[test]
    fn malformed_zone_rule_is_rejected() {
        for text in [
            "",
            "CET",
            "Europe/Rome",
            "CET-1CEST",
            "CET-1CEST,M3.5.0",
            "CET-16",
            "CET-1CEST,M13.5.0,M10.5.0",
            "CET-1CEST,M3.6.0,M10.5.0",
            "CET-1CEST,M3.5.7,M10.5.0",
            "CET-1CEST,M3.5.0,M10.5.0/200",
            "<CET-1",
            "C-1",
            "CET-1CEST,J0,J1",
            "CET-1CEST,366,1",
        ] {
            assert_eq!(Zone::rule(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_and_no_instant_is_too_odd(text in "[A-Z<>+0-9:,./MJ-]{0,40}", now in -100_000_000_000i64..100_000_000_000) {
            if let Some(zone) = Zone::rule(&text) {
                prop_assert!(zone.ahead(now).abs() <= MAX_OFFSET + 3_600);
            }
        }
    }
}
