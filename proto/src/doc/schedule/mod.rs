//! Documents about schedules: what is to be done at another time, and what became of it.

mod review;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::msg::schedule::ScheduleKind;
use crate::{document, names};
pub use review::{DayLine, DayReview, MAX_LINES};

names! {
    /// Where a schedule stands.
    pub enum ScheduleState {
        /// It fires when it is due.
        Active = "active",
        /// It does not, until it is resumed.
        Paused = "paused",
        /// It fired for the last time.
        Completed = "completed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

names! {
    /// Where one firing of a schedule stands.
    pub enum FiringState {
        /// It was begun, and nobody has said how it ended.
        Begun = "begun",
        /// The person was reached.
        Delivered = "delivered",
        /// The person may have been reached: it is tried again, and says so.
        Unsure = "unsure",
        /// The person is not known here any more, so nothing was sent.
        Refused = "refused",
        /// There was nothing to report, so nothing was sent.
        Silent = "silent",
    }
}

/// What is planned: a reminder, a message, or a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleView {
    /// Its number in the instance.
    pub number: u64,
    /// Whose it is: `channel:sender`.
    pub principal: String,
    /// Who is reminded: `channel:sender`.
    pub to: String,
    /// The name of the person who is reminded, where that is another one than the one whose it is; empty otherwise.
    pub person: String,
    /// What is done when it fires: `reminder`, `message` (which was given at once), `ask` (a question is answered) or `do` (what
    /// was asked for is done).
    pub kind: ScheduleKind,
    /// Of what, or what is asked, in the words in which it was said.
    pub what: String,
    /// When, in those words.
    pub when: String,
    /// When, as it was understood, for a person.
    pub told: String,
    /// What had to be assumed about the time, for programs.
    pub assumed: Vec<String>,
    /// The next times at which it is due, at most three, as RFC 3339 writes them; none for one that does not fire any more.
    pub next: Vec<String>,
    /// The time zone, with its rule.
    pub zone: String,
    /// Where it stands.
    pub state: ScheduleState,
    /// When it was made, in milliseconds since the epoch.
    pub made_ms: u64,
    /// When it was put to another time last, in milliseconds since the epoch; 0 where it never was.
    pub moved_ms: u64,
    /// Until when it is held back because the one who gets it is not disturbed, as RFC 3339 writes it; empty where it is not.
    pub held: String,
    /// Whether it is sent to a Telegram chat of the person, at once or where nobody takes it in a chat or page that is open; else it
    /// waits until the person comes.
    pub in_chat: bool,
    /// Whether the words are another person's, and withheld: `what` and `when` are empty then.
    pub sealed: bool,
    /// Whether this is an existing schedule with the same words and times, returned in place of a duplicate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
}

/// Reminders, the one that is due first before the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ScheduleList(pub Vec<ScheduleView>);

/// One firing of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FiringView {
    /// The time by the clock on the wall at which it was due: no schedule fires twice for one.
    pub due: String,
    /// When it was begun, in milliseconds since the epoch.
    pub begun_ms: u64,
    /// When it ended, in milliseconds since the epoch; 0 as long as nobody knows.
    pub ended_ms: u64,
    /// Where it stands.
    pub state: FiringState,
    /// How many due times before this one went by unnoticed.
    pub missed: u32,
}

/// A reminder with its last firings, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleHistory {
    /// The reminder.
    pub schedule: ScheduleView,
    /// At most [`crate::msg::schedule::MAX_FIRINGS`].
    pub firings: Vec<FiringView>,
}

document!(ScheduleList, ScheduleHistory);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn schedule_documents_keep_every_key_and_miss_none() {
        let schedule = r#"{"number": 1, "principal": "cli:uid:1", "to": "telegram:2", "person": "Anna", "kind": "reminder", "what": "call", "when": "at 9",
            "told": "today at 9:00", "assumed": [], "next": ["2026-11-24T09:00:00+01:00"], "zone": "Europe/Rome",
            "state": "active", "made_ms": 5, "moved_ms": 0, "held": "", "in_chat": false, "sealed": false}"#;
        let firing = r#"{"due": "2026-11-24T09:00", "begun_ms": 1, "ended_ms": 0, "state": "unsure", "missed": 2}"#;
        round_trip::<ScheduleView>(&[schedule]);
        round_trip::<ScheduleList>(&["[]", &format!("[{schedule}]")]);
        round_trip::<FiringView>(&[firing]);
        round_trip::<ScheduleHistory>(&[&format!(r#"{{"schedule": {schedule}, "firings": [{firing}]}}"#)]);
    }
}
