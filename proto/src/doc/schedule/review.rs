//! What a person's day was like: what was done at his word, what was not, what he was told, and what is still to come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ScheduleView;
use crate::document;

/// Something of a day that has a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DayLine {
    /// When, as RFC 3339 writes it, on the clock of the household.
    pub at: String,
    /// In the words of the person.
    pub what: String,
}

/// What a person's day was like, or another stretch of time. Each list has its first lines, at most [`MAX_LINES`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DayReview {
    /// How many requests the person has made in that time.
    pub requests: u32,
    /// Requests by which something was changed.
    pub done: Vec<DayLine>,
    /// How many those are altogether.
    pub all_done: u32,
    /// Requests that were not understood, or that nobody here could meet.
    pub unmet: Vec<DayLine>,
    /// How many those are altogether.
    pub all_unmet: u32,
    /// What the person was reminded of.
    pub reminded: Vec<DayLine>,
    /// How many times that was.
    pub all_reminded: u32,
    /// What is still to come within a day of now, the first before the others.
    pub to_come: Vec<ScheduleView>,
    /// How many acts wait for the person's word.
    pub waiting: u32,
}

/// The most lines in one list of a review.
pub const MAX_LINES: usize = 10;

document!(DayReview);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn review_keeps_every_key_and_misses_none() {
        let line = r#"{"at": "2026-11-24T09:00:00+01:00", "what": "call"}"#;
        round_trip::<DayLine>(&[line]);
        let review = |to_come: &str| {
            format!(
                r#"{{"requests": 3, "done": [{line}], "all_done": 1, "unmet": [{line}], "all_unmet": 1, "reminded": [{line}],
                "all_reminded": 1, "to_come": [{to_come}], "waiting": 2}}"#
            )
        };
        round_trip::<DayReview>(&[&review("")]);
    }
}
