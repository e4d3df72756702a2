//! Says how near a day is, so that people need no date for tomorrow and no year for this one.

use jiff::civil::Date;

use crate::days;

/// A day as people would name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Near {
    Yesterday,
    Today,
    Tomorrow,
    /// A weekday within the next six days; 0 is Sunday.
    Weekday(usize),
    /// A date of this year.
    OfYear(Date),
    /// A date of another year.
    Far(Date),
}

impl Near {
    /// How people name a day on another.
    pub(super) fn new(day: Date, today: Date) -> Self {
        match days::number(day) - days::number(today) {
            -1 => Self::Yesterday,
            0 => Self::Today,
            1 => Self::Tomorrow,
            2..=6 => Self::Weekday(weekday(day)),
            _ => Self::date(day, today),
        }
    }

    /// The date of a day, with its year where it is another.
    pub(super) fn date(day: Date, today: Date) -> Self {
        if day.year() == today.year() { Self::OfYear(day) } else { Self::Far(day) }
    }
}

fn weekday(day: Date) -> usize {
    usize::try_from(days::weekday(day)).unwrap_or(0)
}
