//! What the words of a language mean, as tables that stand side by side: a rule asks the tables of its language.

mod en;
mod holidays;
mod it;
mod zones;

use crate::{Grain, Language};

pub(crate) use holidays::{Feast, HOLIDAYS_EN, HOLIDAYS_IT};
pub(crate) use zones::ZONES;

/// A part of the day, by the hours in which it begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) sort: Sort,
    pub(crate) from: i8,
    /// The hour in which it ends; 24 is the end of the day.
    pub(crate) to: i8,
}

/// What hours a part of the day can say of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Morning,
    Midday,
    Afternoon,
    Evening,
    /// From the evening into the small hours.
    Night,
    /// The small hours of the day that follows.
    SmallHours,
}

/// Which of several that recur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Last,
    This,
    /// The first that is ahead.
    Coming,
    Next,
}

/// A unit of time and how many of its grain it is.
pub(crate) type Unit = (Grain, i64);

/// A table from phrases to meanings. The words of a phrase are separated by blanks.
pub(crate) type Table<T> = &'static [(&'static str, T)];

/// The tables of one language.
pub(crate) struct Words {
    pub(crate) units: Table<Unit>,
    /// Units as one letter or two, right behind a number.
    pub(crate) short_units: Table<Unit>,
    /// Monday is 1.
    pub(crate) weekdays: Table<i8>,
    pub(crate) months: Table<i8>,
    /// Names of days and months that are other words as well.
    pub(crate) doubtful: &'static [&'static str],
    /// Days by their distance from today.
    pub(crate) days: Table<i64>,
    pub(crate) parts: Table<Part>,
    /// Words for a part of today, or of a day at a distance.
    pub(crate) day_parts: Table<(i64, Part)>,
    /// What may stand before a part of the day.
    pub(crate) before_part: &'static [&'static str],
    pub(crate) which: Table<Which>,
    pub(crate) seasons: Table<u8>,
    pub(crate) weekend: &'static [&'static str],
    pub(crate) numbers: Table<i64>,
    pub(crate) tens: Table<i64>,
    pub(crate) ordinals: Table<i64>,
    /// "last" as an ordinal.
    pub(crate) last: &'static [&'static str],
    pub(crate) articles: &'static [&'static str],
    /// "a" and "one" before a unit.
    pub(crate) one: &'static [&'static str],
    pub(crate) and: &'static [&'static str],
    pub(crate) of: &'static [&'static str],
    /// What stands before a time of day.
    pub(crate) at: &'static [&'static str],
    /// What stands before a day.
    pub(crate) on: &'static [&'static str],
    /// Words that only soften a time, or make it exact.
    pub(crate) about: &'static [&'static str],
    pub(crate) exactly: &'static [&'static str],
    pub(crate) noon: &'static [&'static str],
    pub(crate) midnight: &'static [&'static str],
    pub(crate) in_future: &'static [&'static str],
    pub(crate) from_now: &'static [&'static str],
    pub(crate) ago: &'static [&'static str],
    pub(crate) within: &'static [&'static str],
    pub(crate) from: &'static [&'static str],
    pub(crate) to: &'static [&'static str],
    pub(crate) between: &'static [&'static str],
    pub(crate) since: &'static [&'static str],
    pub(crate) after: &'static [&'static str],
    pub(crate) before: &'static [&'static str],
    pub(crate) until: &'static [&'static str],
    pub(crate) by: &'static [&'static str],
    pub(crate) lasting: &'static [&'static str],
    pub(crate) every: &'static [&'static str],
    /// Words that recur by themselves, with their unit.
    pub(crate) adverbs: Table<Unit>,
    /// "once" with the unit that follows.
    pub(crate) once: &'static [&'static str],
    pub(crate) working_days: &'static [&'static str],
    /// Words that speak of time wherever they stand: one that no rule has read makes the whole unreadable.
    pub(crate) telling: &'static [&'static str],
    /// Words that may follow a bare number which is a time: before any other word it counts something.
    pub(crate) followers: &'static [&'static str],
    /// Words beside a time that change it in a way that no rule knows.
    pub(crate) vague: &'static [&'static str],
}

impl Words {
    /// Whether a word names a unit, a day, a month or a part of the day, or which of them.
    pub(crate) fn names(&self, word: &str) -> bool {
        fn has<T>(table: Table<T>, word: &str) -> bool {
            table.iter().any(|(name, _)| *name == word)
        }
        let days = has(self.weekdays, word) || has(self.months, word) || has(self.days, word);
        let parts = has(self.parts, word) || has(self.day_parts, word) || has(self.which, word);
        days || parts || has(self.units, word) || self.weekend.contains(&word)
    }
}

/// The tables of a language.
pub(crate) fn of(language: Language) -> &'static Words {
    match language {
        Language::English => &en::WORDS,
        Language::Italian => &it::WORDS,
    }
}
