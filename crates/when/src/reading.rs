//! What was read: a value that prints as JSON.

use std::fmt;
use std::ops::Range;

use jiff::civil::DateTime;
use jiff::{Span, Zoned};
use serde::{Serialize, Serializer};

/// What sort of time an expression names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A point in time, as exact as its grain.
    Instant,
    /// A stretch of time, which may be open at one end.
    Interval,
    /// A length of time.
    Duration,
    /// What happens again and again.
    Recurrence,
    /// Nothing that can be acted on.
    None,
}

/// How exact a time is, from the finest to the coarsest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grain {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A week from Monday on.
    Week,
    /// A month.
    Month,
    /// A quarter of a year.
    Quarter,
    /// A year.
    Year,
    /// Ten years.
    Decade,
}

/// A length of time: months and days are of the calendar, so that they are kept apart from seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Length {
    /// Months; a year is twelve.
    pub months: i64,
    /// Days; a week is seven.
    pub days: i64,
    /// Seconds.
    pub seconds: i64,
}

impl Length {
    /// So many sixtieths of a unit, and the finest unit that they take.
    pub(crate) fn of(sixtieths: i64, grain: Grain) -> Option<(Self, Grain)> {
        let whole = sixtieths % 60 == 0;
        let count = sixtieths / 60;
        let seconds = |of: i64| Some(Self { seconds: sixtieths.checked_mul(of)? / 60, ..Self::default() });
        let months = |of: i64| {
            let months = sixtieths.checked_mul(of)?;
            (months % 60 == 0).then_some(Self { months: months / 60, ..Self::default() })
        };
        Some(match grain {
            Grain::Second => (seconds(1).filter(|_| whole)?, Grain::Second),
            Grain::Minute => (seconds(60)?, if whole { Grain::Minute } else { Grain::Second }),
            Grain::Hour => (seconds(3_600)?, if whole { Grain::Hour } else { Grain::Minute }),
            Grain::Day if whole => (Self { days: count, ..Self::default() }, Grain::Day),
            Grain::Day => (seconds(86_400)?, Grain::Hour),
            Grain::Week if whole => (Self { days: count.checked_mul(7)?, ..Self::default() }, Grain::Week),
            Grain::Week => return None,
            Grain::Month => (months(1)?, Grain::Month),
            Grain::Quarter => (months(3)?, if whole { Grain::Quarter } else { Grain::Month }),
            Grain::Year => (months(12)?, if whole { Grain::Year } else { Grain::Month }),
            Grain::Decade => (months(120)?, if whole { Grain::Decade } else { Grain::Year }),
        })
    }

    /// The sum of two lengths.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        Some(Self {
            months: self.months.checked_add(other.months)?,
            days: self.days.checked_add(other.days)?,
            seconds: self.seconds.checked_add(other.seconds)?,
        })
    }
}

impl fmt::Display for Length {
    /// As ISO 8601 writes it: `P1Y2M3DT4H5M6S`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { months, days, seconds } = *self;
        f.write_str("P")?;
        for (count, unit) in [(months / 12, 'Y'), (months % 12, 'M'), (days, 'D')] {
            if count != 0 {
                write!(f, "{count}{unit}")?;
            }
        }
        if seconds == 0 {
            return if months == 0 && days == 0 { f.write_str("T0S") } else { Ok(()) };
        }
        f.write_str("T")?;
        for (count, unit) in [(seconds / 3_600, 'H'), (seconds / 60 % 60, 'M'), (seconds % 60, 'S')] {
            if count != 0 {
                write!(f, "{count}{unit}")?;
            }
        }
        Ok(())
    }
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a text says about time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reading {
    /// What sort of time it is.
    pub kind: Kind,
    /// The first moment; of a recurrence the first time after now. Prints as RFC 3339 with the offset of its zone.
    #[serde(serialize_with = "rfc_3339")]
    pub start: Option<Zoned>,
    /// The first moment that no longer belongs to an interval; of a recurrence "from 9 to 10", the end of its first time.
    #[serde(serialize_with = "rfc_3339")]
    pub end: Option<Zoned>,
    /// How long a duration is.
    pub length: Option<Length>,
    /// The five fields of cron, where they can say the recurrence.
    pub cron: Option<String>,
    /// The recurrence as RFC 5545 has it, to be counted from `start`.
    pub rrule: Option<String>,
    /// The first time of a recurrence on the wall clock where the clock leaves it out, and `start` is the end of the gap: the
    /// times that follow are counted from here.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "wall_time")]
    pub counted_from: Option<DateTime>,
    /// How exact it is.
    pub grain: Option<Grain>,
    /// The bytes of the text that it was read from, in order; two where other words stand between. Prints as pairs of
    /// begin and end.
    #[serde(rename = "span", serialize_with = "pairs")]
    pub spans: Vec<Range<usize>>,
    /// What was not said and had to be assumed.
    pub assumed: Vec<&'static str>,
    /// Where the text has two readings: both, and the kind is [`Kind::None`].
    pub readings: Vec<Self>,
}

impl Reading {
    /// Nothing read.
    pub(crate) fn none() -> Self {
        Self {
            kind: Kind::None,
            start: None,
            end: None,
            length: None,
            cron: None,
            rrule: None,
            counted_from: None,
            grain: None,
            spans: Vec::new(),
            assumed: Vec::new(),
            readings: Vec::new(),
        }
    }

    /// The same with one thing more that was assumed.
    pub(crate) fn assuming(mut self, what: &'static str) -> Self {
        self.assumed.push(what);
        self
    }

    /// Several readings of the same words; the only one itself.
    pub(crate) fn either(mut readings: Vec<Self>) -> Option<Self> {
        if readings.len() < 2 {
            return readings.pop();
        }
        let spans = readings.first()?.spans.clone();
        Some(Self { spans, readings, ..Self::none() })
    }

    /// The first moment of an instant or an interval, and the first that no longer belongs to it: an instant is as long as its
    /// grain, but an hour at least. `None` for an interval that is open, and for everything else.
    #[must_use]
    pub fn stretch(&self) -> Option<(Zoned, Zoned)> {
        let start = self.start.clone()?;
        let end = match self.kind {
            Kind::Interval => self.end.clone()?,
            Kind::Instant => {
                let span = match self.grain? {
                    Grain::Second | Grain::Minute | Grain::Hour => Span::new().hours(1),
                    Grain::Day => Span::new().days(1),
                    Grain::Week => Span::new().weeks(1),
                    Grain::Month => Span::new().months(1),
                    Grain::Quarter => Span::new().months(3),
                    Grain::Year => Span::new().years(1),
                    Grain::Decade => Span::new().years(10),
                };
                start.checked_add(span).ok()?
            }
            Kind::Duration | Kind::Recurrence | Kind::None => return None,
        };
        (start < end).then_some((start, end))
    }

    /// The text outside of the time expression: of "remind me tomorrow at 9 to call", "remind me to call".
    #[must_use]
    pub fn outside(&self, text: &str) -> String {
        let edge = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':');
        let mut parts = Vec::new();
        let mut from = 0;
        for span in &self.spans {
            parts.push(text.get(from..span.start).unwrap_or_default());
            from = span.end;
        }
        parts.push(text.get(from..).unwrap_or_default());
        let parts = parts.into_iter().map(|part| part.trim_matches(edge)).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    }
}

/// Ranges as pairs of begin and end.
fn pairs<S: Serializer>(spans: &[Range<usize>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(spans.iter().map(|span| [span.start, span.end]))
}

/// A time of the wall clock as `2027-03-28T02:30:00`.
fn wall_time<S: Serializer>(time: &Option<DateTime>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.collect_str(time),
        None => serializer.serialize_none(),
    }
}

/// A moment as RFC 3339 writes it, with the offset that its zone has then.
fn rfc_3339<S: Serializer>(moment: &Option<Zoned>, serializer: S) -> Result<S::Ok, S::Error> {
    match moment {
        Some(moment) => serializer.collect_str(&moment.timestamp().display_with_offset(moment.offset())),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_prints_as_iso_8601() {
        let length = |sixtieths, grain| Length::of(sixtieths, grain).map(|(length, _)| length.to_string());
        assert_eq!(length(90, Grain::Hour).as_deref(), Some("PT1H30M"));
        assert_eq!(length(60, Grain::Week).as_deref(), Some("P7D"));
        assert_eq!(length(90, Grain::Year).as_deref(), Some("P1Y6M"));
        assert_eq!(length(0, Grain::Minute).as_deref(), Some("PT0S"));
        assert_eq!(length(90, Grain::Month), None);
    }

    #[test]
    fn text_outside_of_the_spans_is_joined() {
        let reading = |spans: &[(usize, usize)]| Reading {
            spans: spans.iter().map(|(from, to)| *from..*to).collect(),
            ..Reading::none()
        };
        let text = "remind me tomorrow at 9 to call";
        assert_eq!(reading(&[(10, 23)]).outside(text), "remind me to call");
        let text = "every Monday, remind me at 7:30 to go";
        assert_eq!(reading(&[(0, 12), (24, 31)]).outside(text), "remind me to go");
        assert_eq!(reading(&[]).outside("hello"), "hello");
    }
}
