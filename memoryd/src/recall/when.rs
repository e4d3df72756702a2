//! The times that a question names, as days of the calendar; pure, English and Italian, UTC.
//!
//! This is the chronological path's ear: `what did we do on 3 May`, `last week`, `ieri`. It
//! also hears whether a question asks for a time, and whether a text tells one.

use crate::chronicle::time::{DAY_MS, Day};
use metnos_rank::words::words;

/// How long after an event a turn may still be about it, in days.
const TOLD_AFTER_DAYS: u32 = 7;
/// What a day after the one that is named is worth beside it.
const TOLD_AFTER: f64 = 0.5;

/// Days that are named, first and last included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first: Day,
    /// The last.
    pub last: Day,
}

impl Span {
    const fn one(day: Day) -> Self {
        Self { first: day, last: day }
    }

    /// How near a day is: 1 inside, less in the days after (things are told afterwards), 0 elsewhere.
    #[must_use]
    pub fn nearness(&self, day: Day) -> f64 {
        if (self.first..=self.last).contains(&day) {
            1.0
        } else if day > self.last && day.0 - self.last.0 <= TOLD_AFTER_DAYS {
            TOLD_AFTER
        } else {
            0.0
        }
    }
}

const MONTHS: [[&str; 4]; 12] = [
    ["january", "jan", "gennaio", "gen"],
    ["february", "feb", "febbraio", "febr"],
    ["march", "mar", "marzo", "marz"],
    ["april", "apr", "aprile", "april"],
    ["may", "may", "maggio", "mag"],
    ["june", "jun", "giugno", "giu"],
    ["july", "jul", "luglio", "lug"],
    ["august", "aug", "agosto", "ago"],
    ["september", "sept", "settembre", "sett"],
    ["october", "oct", "ottobre", "ott"],
    ["november", "nov", "novembre", "novem"],
    ["december", "dec", "dicembre", "dic"],
];
const WEEKDAYS: [[&str; 2]; 7] = [
    ["monday", "lunedi"],
    ["tuesday", "martedi"],
    ["wednesday", "mercoledi"],
    ["thursday", "giovedi"],
    ["friday", "venerdi"],
    ["saturday", "sabato"],
    ["sunday", "domenica"],
];

/// The month of that name, from 1. `ago` is no month: it mostly says something else.
fn month_of(word: &str) -> Option<u32> {
    let at = MONTHS.iter().position(|names| word != "ago" && names.contains(&word))?;
    u32::try_from(at + 1).ok()
}

fn weekday_of(word: &str) -> Option<u32> {
    u32::try_from(WEEKDAYS.iter().position(|names| names.contains(&word))?).ok()
}

fn day_number(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let ending = &word[digits.len()..];
    let number = digits.parse().ok().filter(|day| (1..=31).contains(day))?;
    ["", "st", "nd", "rd", "th"].contains(&ending).then_some(number)
}

fn year_of(word: &str) -> Option<u32> {
    (word.len() == 4).then(|| word.parse().ok()).flatten().filter(|year| (1970..=2199).contains(year))
}

/// The day of a date, if there is such a day.
#[must_use]
pub fn day(year: u32, month: u32, day: u32) -> Option<Day> {
    Day::from_date(year, month, day)
}

fn whole_month(year: u32, month: u32) -> Option<Span> {
    let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    let first = day(year, month, 1)?;
    Some(Span { first, last: Day(day(next_year, next, 1)?.0.saturating_sub(1)) })
}

/// The times that a question names, asked on day `today` about things between `oldest` and `newest`:
/// a month without a year is meant in each year in between.
#[must_use]
pub fn spans(question: &str, today: Day, oldest: Day, newest: Day) -> Vec<Span> {
    let heard = words(question);
    let years = oldest.year()..=newest.year();
    let mut found = Vec::new();
    for (at, word) in heard.iter().enumerate() {
        if let Some(month) = month_of(word).filter(|_| word != "may" || is_the_month(&heard, at)) {
            let year = near(&heard, at, 2).find_map(|word| year_of(word));
            let number = near(&heard, at, 1).find_map(|word| day_number(word));
            let of = |year| match number {
                Some(number) => day(year, month, number).map(Span::one),
                None => whole_month(year, month),
            };
            match year {
                Some(year) => found.extend(of(year)),
                None => found.extend(years.clone().filter_map(of)),
            }
        } else if let Some(year) = year_of(word) {
            found.extend(numeric(&heard, at).or_else(|| a_year(&heard, at, year)));
        } else {
            found.extend(relative(&heard, at, today));
        }
    }
    found
}

/// `may` is the month only beside a number, or after a word that leads to a time.
fn is_the_month(heard: &[String], at: usize) -> bool {
    let before = at.checked_sub(1).map_or("", |before| heard[before].as_str());
    let after = heard.get(at + 1).map_or("", String::as_str);
    day_number(before).is_some()
        || day_number(after).is_some()
        || year_of(after).is_some()
        || ["in", "of", "last", "since", "until", "during", "this", "mid", "early", "late"].contains(&before)
}

/// The words around one, at most `far` away, itself excluded.
fn near(heard: &[String], at: usize, far: usize) -> impl Iterator<Item = &String> {
    let around = at.saturating_sub(far)..(at + far + 1).min(heard.len());
    around.filter(move |other| *other != at).map(|other| &heard[other])
}

/// `2023-05-08`, as three words.
fn numeric(heard: &[String], at: usize) -> Option<Span> {
    let number = |offset: usize| heard.get(at + offset)?.parse::<u32>().ok();
    day(year_of(&heard[at])?, number(1)?, number(2)?).map(Span::one)
}

/// A year that stands for itself, and not beside a month that has taken it.
fn a_year(heard: &[String], at: usize, year: u32) -> Option<Span> {
    if near(heard, at, 2).any(|word| month_of(word).is_some()) {
        return None;
    }
    Some(Span { first: day(year, 1, 1)?, last: day(year, 12, 31)? })
}

/// Times that are meant from today.
fn relative(heard: &[String], at: usize, today: Day) -> Option<Span> {
    let before = at.checked_sub(1).map_or("", |before| heard[before].as_str());
    let after = heard.get(at + 1).map_or("", String::as_str);
    let back = |days: u32| Day(today.0.saturating_sub(days));
    let weekday = today.weekday();
    let past = ["last", "past", "scorso", "scorsa"];
    let is_past = past.contains(&before) || past.contains(&after);
    match heard[at].as_str() {
        "today" | "oggi" => Some(Span::one(today)),
        "yesterday" => Some(Span::one(back(1))),
        "ieri" if before != "l" => Some(Span::one(back(1))),
        "ieri" => Some(Span::one(back(2))),
        "week" | "settimana" if is_past => Some(Span { first: back(weekday + 7), last: back(weekday + 1) }),
        "week" | "settimana" if ["this", "questa"].contains(&before) => {
            Some(Span { first: back(weekday), last: today })
        }
        "month" | "mese" if is_past => {
            let (year, month) = (today.year(), today.month());
            if month == 1 { whole_month(year - 1, 12) } else { whole_month(year, month - 1) }
        }
        "year" | "anno" if is_past => {
            Some(Span { first: day(today.year() - 1, 1, 1)?, last: day(today.year() - 1, 12, 31)? })
        }
        "days" | "giorni" if ["ago", "fa"].contains(&after) => {
            Some(Span::one(back(before.parse().ok().filter(|days| *days < 36_500)?)))
        }
        word => {
            let wanted = weekday_of(word).filter(|_| is_past)?;
            let ago = (weekday + 7 - wanted) % 7;
            Some(Span::one(back(if ago == 0 { 7 } else { ago })))
        }
    }
}

/// Whether a question asks for a time.
#[must_use]
pub fn asks_when(heard: &[String]) -> bool {
    let has = |word: &str| heard.iter().any(|other| other == word);
    let pair =
        |one: &str, others: &[&str]| heard.windows(2).any(|two| two[0] == one && others.contains(&two[1].as_str()));
    has("when")
        || has("quando")
        || pair("how", &["long"])
        || pair("da", &["quanto"])
        || ["what", "which", "che", "quale"].iter().any(|ask| {
            pair(ask, &["date", "day", "month", "year", "time", "week", "data", "giorno", "mese", "anno", "ora"])
        })
}

/// Whether a question asks for a number.
#[must_use]
pub fn asks_how_many(heard: &[String]) -> bool {
    heard.windows(2).any(|two| two[0] == "how" && ["many", "much", "old"].contains(&two[1].as_str()))
        || heard.iter().any(|word| ["quanti", "quante", "quanto", "quanta"].contains(&word.as_str()))
}

/// Whether a text tells a time: a day, a month, a year, or one counted from when it was said.
#[must_use]
pub fn states_time(heard: &[String]) -> bool {
    const ALONE: [&str; 17] = [
        "yesterday",
        "today",
        "tonight",
        "tomorrow",
        "ago",
        "ieri",
        "oggi",
        "domani",
        "stasera",
        "stamattina",
        "scorso",
        "scorsa",
        "prossimo",
        "prossima",
        "weekend",
        "since",
        "recently",
    ];
    const LEADS: [&str; 9] = ["last", "next", "this", "past", "few", "couple", "every", "coming", "following"];
    const UNITS: [&str; 16] = [
        "day", "days", "week", "weeks", "weekend", "month", "months", "year", "years", "night", "morning", "summer",
        "winter", "spring", "fall", "time",
    ];
    heard.iter().enumerate().any(|(at, word)| {
        let word = word.as_str();
        let after = heard.get(at + 1).map_or("", String::as_str);
        ALONE.contains(&word)
            || weekday_of(word).is_some()
            || year_of(word).is_some()
            || month_of(word).is_some_and(|_| word.len() > 3 || (word == "may" && is_the_month(heard, at)))
            || (LEADS.contains(&word) && (UNITS.contains(&after) || month_of(after).is_some()))
    })
}

/// Whether a text tells a number.
#[must_use]
pub fn states_number(heard: &[String]) -> bool {
    const NUMBERS: [&str; 26] = [
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "dozen", "twice", "couple", "hundred",
        "thousand", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove", "dieci", "dozzina", "cento",
        "mille",
    ];
    heard.iter().any(|word| NUMBERS.contains(&word.as_str()) || word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads the time of a turn of a file: `2023-05-08`, `2023-05-08T13:56:00Z` (a blank for the `T`, seconds
/// and zone optional), `1:56 pm on 8 May, 2023`, or milliseconds or seconds since 1970. UTC.
#[must_use]
pub fn instant(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<u64>() {
        // Seconds reach this number in the year 5138.
        return Some(if number < 100_000_000_000 { number * 1000 } else { number });
    }
    // The sign between day and hour would make them one word.
    let heard = words(&text.replace('T', " "));
    let on = heard.iter().enumerate().find_map(|(at, word)| {
        let year = year_of(word)?;
        numeric(&heard, at).or_else(|| {
            let month = near(&heard, at, 2).find_map(|word| month_of(word))?;
            let number = near(&heard, at, 3).find_map(|word| day_number(word).filter(|_| word.len() <= 4))?;
            let named = heard.iter().position(|word| month_of(word).is_some())?;
            let number = near(&heard, named, 1).find_map(|word| day_number(word)).unwrap_or(number);
            day(year, month, number).map(Span::one)
        })
    })?;
    Some(u64::from(on.first.0) * DAY_MS + minute_of(text, &heard).unwrap_or(0) * 60_000)
}

/// The minute of the day that a text like `1:56 pm` or `T13:56` names.
fn minute_of(text: &str, heard: &[String]) -> Option<u64> {
    let (before, after) = text.split_once(':')?;
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let hour: String = digits(&before.chars().rev().collect::<String>()).chars().rev().collect();
    let (hour, minute): (u64, u64) = (hour.parse().ok()?, digits(after).parse().ok()?);
    let named = |half: &str| {
        heard.iter().any(|word| {
            word == half || word.strip_prefix(|c: char| c.is_ascii_digit()).is_some_and(|rest| rest.ends_with(half))
        })
    };
    let hour = if named("pm") && hour < 12 {
        hour + 12
    } else if named("am") && hour == 12 {
        0
    } else {
        hour
    };
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn d(text: &str) -> Day {
        Day::parse(text).unwrap()
    }

    fn named(question: &str) -> Vec<(String, String)> {
        // A Wednesday.
        let found = spans(question, d("2023-08-16"), d("2022-11-01"), d("2023-12-31"));
        found.into_iter().map(|span| (span.first.to_string(), span.last.to_string())).collect()
    }

    fn one(first: &str, last: &str) -> Vec<(String, String)> {
        vec![(first.to_owned(), last.to_owned())]
    }

    #[test]
    fn dates_are_heard_in_both_languages() {
        for question in ["What happened on 8 May, 2023?", "on May 8th 2023", "l'8 maggio 2023", "2023-05-08?"] {
            assert_eq!(named(question), one("2023-05-08", "2023-05-08"), "{question}");
        }
        assert_eq!(named("in July 2023"), one("2023-07-01", "2023-07-31"));
        assert_eq!(named("in December"), [one("2022-12-01", "2022-12-31"), one("2023-12-01", "2023-12-31")].concat());
        assert_eq!(named("during 2022"), one("2022-01-01", "2022-12-31"));
        assert_eq!(named("on 30 February 2023"), []);
    }

    #[test]
    fn times_are_counted_from_today() {
        assert_eq!(named("what did I say yesterday"), one("2023-08-15", "2023-08-15"));
        assert_eq!(named("cosa ho detto l'altro ieri"), one("2023-08-15", "2023-08-15"));
        assert_eq!(named("last week"), one("2023-08-07", "2023-08-13"));
        assert_eq!(named("la settimana scorsa"), one("2023-08-07", "2023-08-13"));
        assert_eq!(named("il mese scorso"), one("2023-07-01", "2023-07-31"));
        assert_eq!(named("last Wednesday"), one("2023-08-09", "2023-08-09"));
        assert_eq!(named("3 days ago"), one("2023-08-13", "2023-08-13"));
    }

    #[test]
    fn text_resembling_a_time_is_not_a_time() {
        for question in ["what may it be", "she may go", "long ago", "10 apples", "the last word"] {
            assert_eq!(named(question), [], "{question}");
        }
    }

    #[test]
    fn a_time_in_a_text_and_a_question_for_one_are_recognised() {
        let heard = |text: &str| words(text);
        assert!(asks_when(&heard("When did she go?")) && asks_when(&heard("In what year?")));
        assert!(asks_when(&heard("quando è nato")) && !asks_when(&heard("What did she buy?")));
        assert!(asks_how_many(&heard("How many dogs?")) && asks_how_many(&heard("quanti cani")));
        for told in ["I went yesterday", "last Friday", "two weeks ago", "in June", "since 2016", "sabato scorso"] {
            assert!(states_time(&heard(told)), "{told}");
        }
        assert!(!states_time(&heard("I like to paint, it may help")));
        assert!(
            states_number(&heard("I have 3")) && states_number(&heard("due cani")) && !states_number(&heard("a dog"))
        );
    }

    #[test]
    fn the_time_of_a_turn_is_read_however_it_is_written() {
        let may = u64::from(d("2023-05-08").0) * DAY_MS;
        let at = may + (13 * 60 + 56) * 60_000;
        for text in ["2023-05-08T13:56:00Z", "2023-05-08 13:56", "1:56 pm on 8 May, 2023", "13:56, 8 May 2023"] {
            assert_eq!(instant(text), Some(at), "{text}");
        }
        assert_eq!(instant("2023-05-08"), Some(may));
        assert_eq!(instant("1683504000"), Some(may));
        assert_eq!(instant("12:09 am on 13 September, 2023"), Some(u64::from(d("2023-09-13").0) * DAY_MS + 9 * 60_000));
        assert_eq!(instant("some day"), None);
    }

    #[test]
    fn mention_days_later_is_near_and_earlier_one_is_not() {
        let span = Span::one(d("2023-05-08"));
        assert_eq!(span.nearness(d("2023-05-08")), 1.0);
        assert_eq!(span.nearness(d("2023-05-15")), TOLD_AFTER);
        assert_eq!(span.nearness(d("2023-05-16")), 0.0);
        assert_eq!(span.nearness(d("2023-05-07")), 0.0);
    }

    proptest! {
        #[test]
        fn parsed_time_span_begins_before_it_ends(question in "(\\PC{0,20}|last|may|2023|12|31|week|days ago| ){0,8}") {
            for span in spans(&question, Day(19_000), Day(18_000), Day(19_500)) {
                prop_assert!(span.first <= span.last);
            }
            let _ = instant(&question);
        }
    }
}
