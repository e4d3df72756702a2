//! Writes what both languages have in common: clocks, numbers and lists.

use jiff::civil::{Date, Time};

/// Monday to Friday.
pub(super) const WORKDAYS: [usize; 5] = [0, 1, 2, 3, 4];

/// "9:00", "17:20", "17:20:30".
pub(super) fn clock(time: Time) -> String {
    match time.second() {
        0 => format!("{}:{:02}", time.hour(), time.minute()),
        second => format!("{}:{:02}:{second:02}", time.hour(), time.minute()),
    }
}

/// "a, b and c".
pub(super) fn listed(all: &[String], and: &str) -> String {
    match all {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} {and} {last}", most.join(", ")),
    }
}

/// One of several names.
pub(super) fn name<'a>(names: &[&'a str], at: usize) -> &'a str {
    names.get(at).copied().unwrap_or_default()
}

/// A number from two to ten as a word, any other in digits.
pub(super) fn number(names: &[&str], count: i64) -> String {
    let named = usize::try_from(count).ok().and_then(|count| names.get(count.checked_sub(2)?));
    named.map_or_else(|| count.to_string(), |name| (*name).to_owned())
}

/// The month of a date, January being 0.
pub(super) fn month(day: Date) -> usize {
    usize::try_from(day.month() - 1).unwrap_or(0)
}
