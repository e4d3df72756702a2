//! Days and times as people type them, in English and Italian, read so that they can be
//! compared with what a call wants to use. What is ambiguous is nobody's word: it is not read.

use metnos_proto::msg::common::Lang;

/// A day, perhaps without its year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day {
    /// The year, where it was said.
    pub year: Option<u16>,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
}

impl Day {
    /// Whether a day that was said stands for this full one.
    #[must_use]
    pub fn stands_for(self, full: Self) -> bool {
        (self.month, self.day) == (full.month, full.day) && (self.year.is_none() || self.year == full.year)
    }

    /// `2024-05-15`, for a day with a year.
    #[must_use]
    pub fn iso(self) -> Option<String> {
        self.year.map(|year| format!("{year:04}-{:02}-{:02}", self.month, self.day))
    }
}

/// A time of day in minutes after midnight.
pub type Minutes = u16;

/// A moment as calls write it: `2024-05-15`, with or without a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The day, with its year.
    pub day: Day,
    /// The time of day.
    pub time: Option<Minutes>,
}

impl Moment {
    /// Reads `YYYY-MM-DD`, optionally followed by `T` or a blank, `HH:MM[:SS]` and `Z`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (day, rest) = text.split_at_checked(10)?;
        let day = iso_day(day)?;
        if rest.is_empty() {
            return Some(Self { day, time: None });
        }
        let rest = rest.strip_prefix(['T', ' '])?;
        let rest = rest.strip_suffix('Z').unwrap_or(rest);
        let mut parts = rest.split(':');
        let (hours, minutes) = (parts.next()?, parts.next()?);
        match parts.next() {
            Some("00") | None => {}
            Some(_) => return None,
        }
        if parts.next().is_some() || hours.len() != 2 || minutes.len() != 2 {
            return None;
        }
        Some(Self { day, time: Some(minutes_of(number(hours)?, number(minutes)?)?) })
    }
}

fn iso_day(text: &str) -> Option<Day> {
    let mut parts = text.split(['-', '/']);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() != 4 {
        return None;
    }
    valid(Some(number(year)?), number(month)?, number(day)?)
}

fn number(text: &str) -> Option<u16> {
    let plain = !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn valid(year: Option<u16>, month: u16, day: u16) -> Option<Day> {
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day) && year.is_none_or(|year| year >= 1000);
    fits.then(|| Some(Day { year, month: u8::try_from(month).ok()?, day: u8::try_from(day).ok()? })).flatten()
}

fn minutes_of(hours: u16, minutes: u16) -> Option<Minutes> {
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

/// Reads a time of day as calls write it, `HH:MM` or `HH:MM:00`.
#[must_use]
pub fn time_of_day(text: &str) -> Option<Minutes> {
    let text = text.strip_suffix(":00").filter(|rest| rest.contains(':')).unwrap_or(text);
    let (hours, minutes) = text.split_once(':')?;
    (hours.len() == 2 && minutes.len() == 2).then(|| minutes_of(number(hours)?, number(minutes)?)).flatten()
}

/// What was said about days and times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpokenDates {
    /// Days, in the order in which they were said.
    pub days: Vec<Day>,
    /// Times of day.
    pub times: Vec<Minutes>,
}

impl SpokenDates {
    /// Reads `words`.
    #[must_use]
    pub fn read(words: &str, lang: Lang) -> Self {
        let lower = words.to_lowercase();
        let tokens: Vec<&str> = lower
            .split(|c: char| c.is_whitespace() || "()[]{}\"'`’".contains(c))
            .map(|token| token.trim_matches([',', ';', '!', '?', '.', ':']))
            .filter(|token| !token.is_empty())
            .collect();
        let mut said = Self::default();
        for (at, token) in tokens.iter().enumerate() {
            said.days.extend(numeric_day(token, lang).or_else(|| named_day(&tokens, at)));
            said.times.extend(time_at(&tokens, at));
            // `2024-05-15t10:00` is both.
            if let Some(moment) = Moment::parse(&token.to_uppercase()) {
                said.times.extend(moment.time);
            }
        }
        said
    }

    /// Whether this moment was said: its day, and its time of day unless that is midnight.
    #[must_use]
    pub fn contains(&self, moment: Moment) -> bool {
        let day = self.days.iter().any(|day| day.stands_for(moment.day));
        day && moment.time.is_none_or(|time| time == 0 || self.times.contains(&time))
    }
}

/// `2024-05-15`, `15.05.2024`, `15/05/2024`. Where day and month could be taken for each other, the
/// language decides in Italian and nobody in English.
fn numeric_day(token: &str, lang: Lang) -> Option<Day> {
    let token = token.split('t').next().unwrap_or(token);
    if let Some(day) = iso_day(token) {
        return Some(day);
    }
    let mut parts = token.split(['/', '.', '-']);
    let (first, second, year) = (number(parts.next()?)?, number(parts.next()?)?, parts.next()?);
    if parts.next().is_some() || year.len() != 4 {
        return None;
    }
    let year = Some(number(year)?);
    match lang {
        Lang::It => valid(year, second, first),
        Lang::En if first > 12 || first == second => valid(year, second, first),
        Lang::En if second > 12 => valid(year, first, second),
        Lang::En => None,
    }
}

/// `15 May 2024`, `May 15th, 2024`, `15th of May`, `15 maggio`.
fn named_day(tokens: &[&str], at: usize) -> Option<Day> {
    let month = month_of(tokens.get(at)?)?;
    let get = |index: Option<usize>| index.and_then(|index| tokens.get(index).copied());
    let year_at = |index: usize| {
        let index = if get(Some(index)) == Some("of") || get(Some(index)) == Some("del") { index + 1 } else { index };
        get(Some(index)).filter(|token| token.len() == 4).and_then(number).filter(|year| *year >= 1000)
    };
    let before = get(at.checked_sub(1));
    let before = if matches!(before, Some("of" | "di")) { get(at.checked_sub(2)) } else { before };
    if let Some(day) = before.and_then(ordinal) {
        return valid(year_at(at + 1), month, day);
    }
    let day = get(Some(at + 1)).and_then(ordinal)?;
    valid(year_at(at + 2), month, day)
}

fn ordinal(token: &str) -> Option<u16> {
    let digits = ["st", "nd", "rd", "th", "°", "º"].iter().find_map(|end| token.strip_suffix(end)).unwrap_or(token);
    (digits.len() <= 2).then(|| number(digits)).flatten()
}

fn month_of(token: &str) -> Option<u16> {
    const NAMES: [[&str; 3]; 12] = [
        ["january", "gennaio", "jan"],
        ["february", "febbraio", "feb"],
        ["march", "marzo", "mar"],
        ["april", "aprile", "apr"],
        ["may", "maggio", "mag"],
        ["june", "giugno", "jun"],
        ["july", "luglio", "jul"],
        ["august", "agosto", "aug"],
        ["september", "settembre", "sep"],
        ["october", "ottobre", "oct"],
        ["november", "novembre", "nov"],
        ["december", "dicembre", "dec"],
    ];
    let found = NAMES.iter().position(|names| names.contains(&token))?;
    u16::try_from(found + 1).ok()
}

/// `10:00`, `10.30`, `10am`, `10 pm`, `at 10`, `alle 20`.
fn time_at(tokens: &[&str], at: usize) -> Option<Minutes> {
    let token = *tokens.get(at)?;
    match token {
        "noon" | "midday" | "mezzogiorno" => return Some(12 * 60),
        "midnight" | "mezzanotte" => return Some(0),
        _ => {}
    }
    let (bare, half) =
        match token.strip_suffix("am").map(|bare| (bare, 0)).or(token.strip_suffix("pm").map(|b| (b, 12))) {
            Some((bare, half)) => (bare, Some(half)),
            None => match tokens.get(at + 1) {
                Some(&("am" | "a.m")) => (token, Some(0)),
                Some(&("pm" | "p.m")) => (token, Some(12)),
                Some(_) | None => (token, None),
            },
        };
    let named = at
        .checked_sub(1)
        .and_then(|before| tokens.get(before))
        .is_some_and(|before| matches!(*before, "at" | "alle" | "ore" | "dalle" | "from" | "to" | "until" | "till"));
    let (hours, minutes, clock) = match bare.split_once([':', '.']) {
        Some((hours, minutes)) if minutes.len() == 2 => (number(hours)?, number(minutes)?, bare.contains(':')),
        Some(_) => return None,
        None => (number(bare)?, 0, false),
    };
    match half {
        Some(_) if hours == 0 || hours > 12 => None,
        Some(half) => minutes_of(hours % 12 + half, minutes),
        None if clock || named => minutes_of(hours, minutes),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(words: &str, moment: &str) -> bool {
        SpokenDates::read(words, Lang::En).contains(Moment::parse(moment).unwrap())
    }

    #[test]
    fn a_day_is_found_however_it_is_written() {
        for words in [
            "on May 15th, 2024",
            "the 15th of May 2024",
            "on 15 May 2024.",
            "2024-05-15",
            "by 15/05/2024",
            "il 15 maggio 2024",
            "may 15",
        ] {
            assert!(said(words, "2024-05-15"), "{words}");
        }
        for words in ["on May 16th, 2024", "on May 15th, 2023", "15 June", "in May", "05 2024", "the 15th"] {
            assert!(!said(words, "2024-05-15"), "{words}");
        }
    }

    #[test]
    fn ambiguous_date_is_rejected_in_english_and_day_first_in_italian() {
        assert!(!said("on 03/04/2024", "2024-03-04"));
        assert!(!said("on 03/04/2024", "2024-04-03"));
        let italian = SpokenDates::read("il 03/04/2024", Lang::It);
        assert!(italian.contains(Moment::parse("2024-04-03").unwrap()));
        assert!(!italian.contains(Moment::parse("2024-03-04").unwrap()));
    }

    #[test]
    fn a_time_of_day_must_have_been_said_as_one() {
        for words in ["May 15 at 10", "May 15 10:00", "15 maggio alle 10", "May 15, 10 am", "May 15 10am"] {
            assert!(said(words, "2024-05-15 10:00"), "{words}");
        }
        assert!(said("May 15 at 3pm", "2024-05-15T15:00:00"));
        assert!(!said("May 15 with 10 friends", "2024-05-15 10:00"));
        assert!(!said("May 15 at 11", "2024-05-15 10:00"));
    }

    #[test]
    fn a_time_that_a_call_writes_is_the_one_that_was_said() {
        for (words, text) in [("at 3pm", "15:00"), ("alle 20", "20:00:00"), ("at noon", "12:00"), ("10:30", "10:30")] {
            assert!(
                SpokenDates::read(words, Lang::En).times.contains(&time_of_day(text).unwrap()),
                "{text} in {words}"
            );
        }
        assert!(!SpokenDates::read("with 3 friends", Lang::En).times.contains(&time_of_day("03:00").unwrap()));
        for text in ["3:00", "24:00", "10:00:30", "10", "a:bb", ""] {
            assert_eq!(time_of_day(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "\\PC{0,60}") {
            let _ = Moment::parse(&text);
            let _ = SpokenDates::read(&text, Lang::It);
        }
    }
}
