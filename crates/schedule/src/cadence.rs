//! Says when something is due on the wall clock: once, by the fields of cron, or by a recurrence rule.

use std::fmt;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cron::Fields;
use crate::invalid::Invalid;
use crate::rule::Rule;

/// When something is due, on the wall clock of a person. Its JSON is `{"once":"2026-11-27T09:00:00"}`,
/// `{"cron":"30 7 * * 1-5"}` or `{"rule":{"start":"2026-11-27T18:00:00","rrule":"FREQ=WEEKLY;INTERVAL=2"}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Cadence {
    /// One time, of a whole second.
    Once(#[serde(with = "wall_time")] DateTime),
    /// Five fields: minute, hour, day of month, month, day of week. Where both sorts of days are restricted, a day that
    /// has either will do; a field that begins with `*` is not restricted, as in Vixie cron.
    Cron(String),
    /// A rule of RFC 5545: `FREQ` from `MINUTELY` to `YEARLY`, `INTERVAL`, `COUNT`, `UNTIL`, `BYMONTH`, `BYMONTHDAY`,
    /// `BYDAY`, `BYHOUR`, `BYMINUTE`.
    Rule {
        /// What it is counted from: a whole second. It is one of its times only where it fits the rule.
        #[serde(with = "wall_time")]
        start: DateTime,
        /// The rule, without `DTSTART` and `RRULE:`. Its `UNTIL` is on the wall clock, without `Z`.
        rrule: String,
    },
}

impl Cadence {
    /// Checks that the cadence can be followed: texts that were stored by hand may say anything.
    ///
    /// # Errors
    /// The field that is wrong, its value, and what was expected.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.plan().map(|_| ())
    }

    /// The first time after another on the wall clock. `None` where the cadence is over or not valid, and where there is no
    /// time before the year 10,000, within 48 years of a cron, or within 400 years of a rule: of so many times its interval
    /// where that is of months or years, and of 20,000 of its days where it is of hours or minutes.
    #[must_use]
    pub fn next_after(&self, key: DateTime) -> Option<DateTime> {
        self.plan().ok()?.next_after(key)
    }

    /// The cadence, read.
    pub(crate) fn plan(&self) -> Result<Plan, Invalid> {
        match self {
            Self::Once(at) if at.subsec_nanosecond() != 0 => {
                Err(Invalid::new("once", &at.to_string(), "a whole second"))
            }
            Self::Once(at) => Ok(Plan::Once(*at)),
            Self::Cron(text) => Fields::read(text).map(Plan::Cron),
            Self::Rule { start, rrule } => Rule::read(*start, rrule).map(Plan::Rule),
        }
    }
}

/// A cadence that was read. All its times are whole seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    Once(DateTime),
    Cron(Fields),
    Rule(Rule),
}

impl Plan {
    /// The first time after another.
    pub(crate) fn next_after(&self, key: DateTime) -> Option<DateTime> {
        self.later(key, 0)
    }

    /// The first time after so many seconds after another.
    pub(crate) fn later(&self, key: DateTime, seconds: i64) -> Option<DateTime> {
        let ahead = SignedDuration::from_secs(seconds.checked_add(1)?);
        let whole = key.with().subsec_nanosecond(0).build().ok()?;
        let from = whole.checked_add(ahead).ok()?;
        match self {
            Self::Once(at) => Some(*at).filter(|at| *at >= from),
            Self::Cron(fields) => fields.not_before(from),
            Self::Rule(rule) => rule.not_before(from),
        }
    }
}

/// A time of the wall clock as `2026-11-27T09:00:00`.
mod wall_time {
    use super::{DateTime, Deserializer, Error, Serializer, Unexpected, Visitor, fmt};

    pub(super) fn serialize<S: Serializer>(at: &DateTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(at)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DateTime, D::Error> {
        deserializer.deserialize_str(WallTime)
    }

    struct WallTime;

    impl Visitor<'_> for WallTime {
        type Value = DateTime;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a time of the wall clock such as 2026-11-27T09:00:00")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<DateTime, E> {
            let found = text.parse::<DateTime>().ok().filter(|at| at.to_string() == text);
            found.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn cadence_keeps_its_form_in_json() {
        let once = Cadence::Once(date(2026, 11, 27).at(9, 0, 0, 0));
        let cron = Cadence::Cron("30 7 * * 1-5".to_owned());
        let rule = Cadence::Rule { start: date(2026, 11, 27).at(18, 0, 0, 0), rrule: "FREQ=DAILY".to_owned() };
        for (cadence, json) in [
            (once, r#"{"once":"2026-11-27T09:00:00"}"#),
            (cron, r#"{"cron":"30 7 * * 1-5"}"#),
            (rule, r#"{"rule":{"start":"2026-11-27T18:00:00","rrule":"FREQ=DAILY"}}"#),
        ] {
            assert_eq!(serde_json::to_string(&cadence).unwrap(), json);
            assert_eq!(serde_json::from_str::<Cadence>(json).unwrap(), cadence);
        }
        for json in [
            r#"{"once":"2026-11-27"}"#,
            r#"{"once":"2026-13-27T09:00:00"}"#,
            r#"{"rule":{"start":"2026-11-27T18:00:00","rrule":"FREQ=DAILY","zone":"UTC"}}"#,
            r#"{"never":null}"#,
        ] {
            assert!(serde_json::from_str::<Cadence>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn invalid_cadence_says_what_was_expected() {
        let wrong = Cadence::Cron("0 25 * * *".to_owned()).validate().unwrap_err();
        assert_eq!((wrong.field, wrong.value.as_str()), ("hour", "25"));
        assert!(wrong.to_string().contains("a number from 0 to 23"), "{wrong}");
        assert_eq!(Cadence::Once(date(2026, 1, 1).at(0, 0, 0, 1)).validate().unwrap_err().field, "once");
        assert_eq!(Cadence::Cron("0 25 * * *".to_owned()).next_after(date(2026, 1, 1).at(0, 0, 0, 0)), None);
    }

    #[test]
    fn next_time_is_strictly_later() {
        let at = date(2026, 11, 27).at(9, 0, 0, 0);
        let once = Cadence::Once(at);
        assert_eq!(once.next_after(date(2026, 11, 27).at(8, 59, 59, 999_999_999)), Some(at));
        assert_eq!(once.next_after(at), None);
        assert_eq!(once.next_after(DateTime::MAX), None);
        assert_eq!(once.next_after(DateTime::MIN), Some(at));
        let daily = Cadence::Cron("0 9 * * *".to_owned());
        assert_eq!(daily.next_after(at), Some(date(2026, 11, 28).at(9, 0, 0, 0)));
    }
}
