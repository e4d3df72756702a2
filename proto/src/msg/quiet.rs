//! Quiet hours: when a person is not disturbed by what others send.

use std::fmt;

use postcard_schema::Schema;
use serde::{Deserialize, Serialize};

/// How many minutes a day has on the clock.
const DAY: u16 = 24 * 60;

/// From one time of day up to another, which may be that of the next day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub struct Quiet {
    /// The first minute of the day that belongs to it.
    from: u16,
    /// The first that does not.
    upto: u16,
}

impl Quiet {
    /// Reads `22:00-7:00`; `None` for what is none, or would be the whole day or nothing of it.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (from, upto) = text.split_once('-')?;
        let (from, upto) = (minute(from.trim())?, minute(upto.trim())?);
        (from != upto).then_some(Self { from, upto })
    }

    /// How many minutes of it are left at this minute of the day; `None` where it is not quiet then.
    #[must_use]
    pub fn left(self, at: u16) -> Option<u16> {
        let Self { from, upto } = self;
        let (from, upto, at) = (from % DAY, upto % DAY, at % DAY);
        let within = if from < upto { from <= at && at < upto } else { from <= at || at < upto };
        within.then(|| (upto + DAY - at) % DAY)
    }
}

fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str| text.parse::<u16>().ok().filter(|_| (1..=2).contains(&text.len()));
    let (hour, minute) = (number(hour)?, number(minute).filter(|_| minute.len() == 2)?);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

impl fmt::Display for Quiet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, upto) = (self.from % DAY, self.upto % DAY);
        write!(f, "{}:{:02}-{}:{:02}", from / 60, from % 60, upto / 60, upto % 60)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hours_are_read_as_they_are_written_and_nothing_else_is() {
        for (text, shown) in
            [("22:00-7:00", "22:00-7:00"), (" 13:30 - 15:00 ", "13:30-15:00"), ("0:00-06:05", "0:00-6:05")]
        {
            assert_eq!(Quiet::read(text).map(|quiet| quiet.to_string()).as_deref(), Some(shown));
        }
        for text in
            ["", "22-7", "22:00", "24:00-7:00", "22:60-7:00", "22:0-7:00", "7:00-7:00", "-1:00-7:00", "22:00-7:00-8:00"]
        {
            assert_eq!(Quiet::read(text), None, "{text}");
        }
    }

    #[test]
    fn night_is_quiet_over_midnight() {
        let night = Quiet::read("22:00-7:00");
        let left = |hour: u16, minute: u16| night.and_then(|night| night.left(hour * 60 + minute));
        assert_eq!(
            [left(21, 59), left(22, 0), left(0, 0), left(6, 59), left(7, 0)],
            [None, Some(540), Some(420), Some(1), None]
        );
    }

    proptest! {
        #[test]
        fn what_is_left_ends_at_the_first_minute_that_is_not_quiet(from in 0..DAY, upto in 0..DAY, at in 0..DAY) {
            let quiet = Quiet { from, upto };
            if let Some(left) = quiet.left(at).filter(|_| from != upto) {
                prop_assert!(left > 0 && quiet.left((at + left) % DAY).is_none());
                prop_assert!((0..left).all(|more| quiet.left((at + more) % DAY).is_some()));
            }
        }
    }
}
