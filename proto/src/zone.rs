//! Where a clock stands, as `USER.md` has it: an offset, or a place with its rule as POSIX writes it
//! (`Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)`), which whoever wrote it there has from the system's database, so that no
//! daemon needs tables of places behind its lock. Pure; what it cannot read is no zone.

/// The longest text of a zone, in bytes.
pub const MAX_TEXT: usize = 128;

/// The last instant that is shown, in seconds from 1970: the end of the year 9999.
const LAST_SHOWN: i64 = 253_402_300_799;
/// The longest text of an instant, in bytes.
const MAX_INSTANT: usize = 35;
/// Seconds of a day.
const DAY: i64 = 86_400;
/// The longest rule that is read, in bytes.
const MAX_RULE: usize = 80;
/// The farthest a clock may be from UTC, in seconds.
const MAX_OFFSET: i64 = 15 * 3_600;
/// The farthest a change of the clock may be from the midnight of its day, in seconds.
const MAX_TIME: i64 = 167 * 3_600;

/// A clock's distance from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Always as many seconds ahead.
    Fixed(i64),
    /// Another number in summer.
    Changing {
        /// Seconds ahead in winter, and in summer.
        ahead: [i64; 2],
        /// When summer begins, by the winter's clock, and when it ends, by its own.
        change: [Change; 2],
    },
}

/// When a clock changes, once a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    day: DayOfYear,
    /// Seconds after that day's midnight, on the clock before the change.
    seconds: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DayOfYear {
    /// Month, week (5: the last), day of the week (0: Sunday).
    Weekday(i64, i64, i64),
    /// From 1, the 29th of February never counted.
    Julian(i64),
    /// From 0, the 29th of February counted.
    Counted(i64),
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
fn fixed(text: &str) -> Option<i64> {
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
        let (winter, rest) = offset(name(text)?)?;
        if rest.is_empty() {
            return Some(Self::Fixed(winter));
        }
        let rest = name(rest)?;
        let (summer, rest) = if rest.starts_with(',') { (winter + 3_600, rest) } else { offset(rest)? };
        let (start, end) = rest.strip_prefix(',')?.split_once(',')?;
        Some(Self::Changing { ahead: [winter, summer], change: [Change::read(start)?, Change::read(end)?] })
    }

    /// How many seconds the clock is ahead of UTC at that instant, in seconds since 1970.
    #[must_use]
    pub fn ahead(self, now: i64) -> i64 {
        match self {
            Self::Fixed(ahead) => ahead,
            Self::Changing { ahead: [winter, summer], change: [start, end] } => {
                let (year, _) = year_of((now + winter).div_euclid(DAY));
                let (begins, ends) = (start.instant(year) - winter, end.instant(year) - summer);
                // In the south summer goes over the new year.
                let is_summer =
                    if begins < ends { (begins..ends).contains(&now) } else { !(ends..begins).contains(&now) };
                if is_summer { summer } else { winter }
            }
        }
    }
}

/// What stands behind a zone's abbreviation, which is letters, or anything plain between angle brackets.
fn name(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('<') {
        return rest.split_once('>').map(|(_, rest)| rest);
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    (text.len() - rest.len() >= 3).then_some(rest)
}

/// An offset of POSIX, which counts westward, as seconds ahead; and what stands behind it.
fn offset(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '+' | '-' | ':')).unwrap_or(text.len());
    let west = time(&text[..end]).filter(|west| west.abs() <= MAX_OFFSET)?;
    Some((-west, &text[end..]))
}

/// `[+-]hh[:mm[:ss]]` in seconds.
fn time(text: &str) -> Option<i64> {
    let (sign, rest) = text.strip_prefix('-').map_or((1, text.strip_prefix('+').unwrap_or(text)), |rest| (-1, rest));
    let mut parts = [0; 3];
    for (at, part) in rest.split(':').enumerate() {
        *parts.get_mut(at)? = number(part, if at == 0 { 167 } else { 59 })?;
    }
    Some(sign * (parts[0] * 3_600 + parts[1] * 60 + parts[2]))
}

fn number(text: &str, most: i64) -> Option<i64> {
    let digits = (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number <= most)
}

impl Change {
    fn read(text: &str) -> Option<Self> {
        let (day, at) = text.split_once('/').unwrap_or((text, "2"));
        let day = if let Some(rest) = day.strip_prefix('M') {
            let mut parts = rest.split('.').map(|part| number(part, 12));
            let (month, week, weekday) = (parts.next()??, parts.next()??, parts.next()??);
            let sound = month >= 1 && (1..=5).contains(&week) && weekday <= 6 && parts.next().is_none();
            sound.then_some(DayOfYear::Weekday(month, week, weekday))?
        } else if let Some(rest) = day.strip_prefix('J') {
            DayOfYear::Julian(number(rest, 365).filter(|day| *day >= 1)?)
        } else {
            DayOfYear::Counted(number(day, 365)?)
        };
        Some(Self { day, seconds: time(at).filter(|time| time.abs() <= MAX_TIME)? })
    }

    /// On that clock, in seconds since 1970.
    fn instant(self, year: i64) -> i64 {
        let day = match self.day {
            DayOfYear::Weekday(month, week, weekday) => {
                let first = days(year, month, 1);
                // The 1st of January 1970 was a Thursday.
                let day = first + (weekday - (first + 4)).rem_euclid(7) + (week - 1) * 7;
                let next = if month == 12 { days(year + 1, 1, 1) } else { days(year, month + 1, 1) };
                if day < next { day } else { day - 7 }
            }
            DayOfYear::Julian(day) => days(year, 1, 1) + day - 1 + i64::from(is_leap(year) && day > 59),
            DayOfYear::Counted(day) => days(year, 1, 1) + day,
        };
        day * DAY + self.seconds
    }
}

/// A moment as a clock and a calendar show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// The year.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
    /// The day of the week, 0 for Sunday.
    pub weekday: i64,
    /// Minutes since midnight.
    pub minute: i64,
}

/// What a clock shows that is so many seconds ahead of UTC at an instant, in seconds since 1970.
#[must_use]
pub fn shown(now: i64, ahead: i64) -> Shown {
    let local = now.saturating_add(ahead).clamp(-LAST_SHOWN, LAST_SHOWN);
    let day = local.div_euclid(DAY);
    let (year, of_year) = year_of(day);
    let month = (1..=12).rev().find(|month| days(year, *month, 1) - days(year, 1, 1) <= of_year).unwrap_or(1);
    let of_month = day - days(year, month, 1) + 1;
    // The 1st of January 1970 was a Thursday.
    Shown { year, month, day: of_month, weekday: (day + 4).rem_euclid(7), minute: local.rem_euclid(DAY) / 60 }
}

/// Reads an instant as RFC 3339 writes it, such as `2026-11-24T13:31:05Z` or `2026-11-24T14:31:05+01:00`: seconds since
/// 1970, and how far its own clock is ahead of UTC where it says so.
#[must_use]
pub fn instant(text: &str) -> Option<(i64, Option<i64>)> {
    let bytes = text.as_bytes();
    if !text.is_ascii() || bytes.len() < 20 || bytes.len() > MAX_INSTANT {
        return None;
    }
    let shape = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if shape.iter().any(|(at, sign)| bytes[*at] != *sign) {
        return None;
    }
    let part = |range: std::ops::Range<usize>, most: i64| {
        let text = &text[range];
        text.parse::<i64>().ok().filter(|it| text.bytes().all(|b| b.is_ascii_digit()) && *it <= most)
    };
    let (year, month, day) = (part(0..4, 9_999)?, part(5..7, 12)?, part(8..10, 31)?);
    let (hour, minute, second) = (part(11..13, 23)?, part(14..16, 59)?, part(17..19, 60)?);
    if year < 1 || month < 1 || day < 1 {
        return None;
    }
    let rest = &text[19..];
    let rest = rest.strip_prefix('.').map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let ahead = if rest == "Z" { None } else { Some(fixed(rest).filter(|_| rest.len() == 6)?) };
    let local = days(year, month, day) * DAY + hour * 3_600 + minute * 60 + second;
    Some((local - ahead.unwrap_or(0), ahead))
}

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days from 1970 to a day, in the calendar as it is now.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March: the leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    before + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// The year of a day since 1970, and which day of it that is, from 0.
const fn year_of(day: i64) -> (i64, i64) {
    // Never more than a year off: then one step mends it.
    let mut year = 1970 + day.div_euclid(366);
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    (year, day - days(year, 1, 1))
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
    fn at(year: i64, month: i64, day: i64, hour: i64) -> i64 {
        days(year, month, day) * DAY + hour * 3_600
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
        let executor = include_str!("../../executors/clock_now/main.py");
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
    fn what_is_no_rule_is_none() {
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

    #[test]
    fn days_are_counted_as_the_calendar_has_them() {
        assert_eq!((days(1970, 1, 1), days(2000, 3, 1), days(2026, 11, 22)), (0, 11_017, 20_779));
        assert_eq!((year_of(20_779), year_of(-1), year_of(0)), ((2026, 325), (1969, 364), (1970, 0)));
    }

    #[test]
    fn an_instant_is_read_and_shown_as_a_clock_and_a_calendar_do() {
        let (now, own) = instant("2026-11-24T13:31:05Z").unwrap();
        assert_eq!((now, own), (at(2026, 11, 24, 13) + 31 * 60 + 5, None));
        let wanted = Shown { year: 2026, month: 11, day: 24, weekday: 2, minute: 14 * 60 + 31 };
        assert_eq!(shown(now, 3_600), wanted);
        assert_eq!(instant("2026-11-24T14:31:05.123+01:00").unwrap(), (now, Some(3_600)));
        let leap = Shown { year: 2024, month: 2, day: 29, weekday: 4, minute: 23 * 60 + 30 };
        assert_eq!(shown(at(2024, 3, 1, 0), -1_800), leap);
        for bad in [
            "",
            "2026-11-24",
            "2026-13-24T00:00:00Z",
            "2026-11-24T25:00:00Z",
            "2026-11-24T00:00:00",
            "2026-11-24 00:00:00Z",
            "20é6-11-24T00:00:00Z",
        ] {
            assert_eq!(instant(bad), None, "{bad}");
        }
        for odd in [i64::MIN, i64::MAX] {
            assert!(shown(odd, 3_600).month <= 12);
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
