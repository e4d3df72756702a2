//! Reads words about time in English and Italian: "tomorrow at 9", "ogni due settimane", "dal 3 al 7 marzo".
//!
//! [`read`] finds the one time expression of a text and says what it means: an instant, an interval, a duration or a
//! recurrence, with the bytes that it came from and what had to be assumed. It has no model, no clock and no tables of
//! zones: the caller passes the moment with its zone. What it does not wholly understand it does not read: a time word that
//! is left over, two unrelated expressions, a day that does not exist. Where there are two readings, as of "at 8" at ten in
//! the morning, it reads nothing and gives both, so that the caller can ask.
//!
//! Conventions, which are those of duckling where languages and libraries differ:
//! - `start` is the first moment; `end`, which only intervals have, is the first moment that no longer belongs to it. What
//!   ends with a day includes the day ("from Monday to Friday" ends on Saturday at midnight), what ends at a time of day does
//!   not ("from 3 to 5pm" ends at five). An open interval has only one of them.
//! - A day, week, month, quarter or year is an instant with that grain, and starts at its first midnight.
//! - "in 3 days" is as exact as the hour, "in a week" as the day, "in a year" as the month.
//! - "the next 3 hours" and "the last 2 weeks" are whole units of the clock or the calendar, of which the first is still to begin
//!   or the last has ended; "in the next 3 hours" and "within 3 hours" begin now.
//! - "the week of October 7th" is the one that holds the day; where that is a Sunday, the one that follows.
//! - Days and longer units are counted on the clock of the zone, hours and less as elapsed time: "in an hour" is an hour from
//!   now even where the clock goes forward or back. "In a day and 2 hours" counts the day first.
//! - A time that the clock leaves out is the end of the gap, which is assumed as "gap"; a recurrence keeps its time of day. A
//!   time that the clock shows twice is the first, or the second where only that is still to come.
//! - The morning is 0 to 12 in English and 4 to 12 in Italian; the afternoon 12 to 19, the evening 18 to 24; "night" is the
//!   evening in English, and 0 to 4 of the next day in Italian. A weekend is Friday 18:00 to Monday 0:00.
//! - "next Friday" is the Friday of next week. "March 3" is the next one.

mod civil;
mod clock;
mod dates;
mod duration;
mod interval;
mod moment;
mod number;
mod parser;
mod reading;
mod recurrence;
mod select;
mod spelling;
mod token;
mod wall;
mod words;

pub use reading::{Grain, Kind, Length, Reading};

pub use jiff::Zoned;
use serde::{Deserialize, Serialize};

/// The longest text that is read, in bytes.
pub const MAX_TEXT: usize = 512;

/// The language of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    /// English.
    #[serde(rename = "en")]
    English,
    /// Italian.
    #[serde(rename = "it")]
    Italian,
}

/// What a text is read against.
#[derive(Debug, Clone)]
pub struct Context {
    /// The moment at which it was said, in the zone of the person who said it.
    pub now: Zoned,
    /// The language of the text.
    pub language: Language,
    /// Whether the day stands before the month in `3/4`; `None` is the custom of the language: not in English, where the
    /// month is first, and so in Italian.
    pub day_first: Option<bool>,
}

impl Context {
    /// A context with the customs of the language.
    #[must_use]
    pub fn new(now: Zoned, language: Language) -> Self {
        Self { now, language, day_first: None }
    }
}

/// Parses the time expression in a text. If there is none, more than one, or one that is not fully understood, the kind is
/// [`Kind::None`]; if it is ambiguous, [`Reading::readings`] has both readings.
#[must_use]
pub fn read(text: &str, context: &Context) -> Reading {
    if text.len() > MAX_TEXT {
        return Reading::none();
    }
    let mut tokens = token::tokens(text);
    spelling::correct(&mut tokens, context.language);
    select::select(&parser::Parser::new(&tokens, context)).unwrap_or_else(Reading::none)
}

/// A bare hour as the words about time have it: "10" in "move it to 10" is "at 10". `None` for anything else.
#[must_use]
pub fn bare_hour(text: &str, language: Language) -> Option<String> {
    let is_hour = text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let hour = text.parse::<u8>().ok().filter(|hour| is_hour && *hour < 24)?;
    Some(match language {
        Language::English => format!("at {hour}"),
        Language::Italian => format!("alle {hour}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_hour_is_a_number_of_the_clock_and_nothing_else() {
        assert_eq!(bare_hour("10", Language::Italian).as_deref(), Some("alle 10"));
        assert_eq!(bare_hour("7", Language::English).as_deref(), Some("at 7"));
        for text in ["24", "010", "-1", "10 ", "ten", ""] {
            assert_eq!(bare_hour(text, Language::English), None, "{text}");
        }
    }
}
