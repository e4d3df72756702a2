//! The clock of use: it advances with calls and stands still with the machine. No calendar moves it.
//!
//! So many calls make a use-day, and a calendar day has at most one (design: memory §2).

use super::weight::{USE_DAY, UseTime};
use crate::chronicle::time::Day;

/// Calls that make a use-day, unless configured otherwise.
pub const CALLS_PER_USE_DAY: u32 = 50;

/// The clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UseClock {
    /// What it shows.
    pub now: UseTime,
    /// The calendar day of the last call.
    pub day: Day,
    /// How far it has advanced on that day.
    pub today: UseTime,
}

impl UseClock {
    /// The clock of an instance on which nothing has run.
    pub const START: Self = Self { now: 0, day: Day(0), today: 0 };

    /// A call has run on `day`.
    pub fn tick(&mut self, day: Day, calls_per_use_day: u32) {
        if day != self.day {
            self.day = day;
            self.today = 0;
        }
        let step = (USE_DAY / u64::from(calls_per_use_day.max(1))).min(USE_DAY - self.today);
        self.today += step;
        self.now += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_calls_make_a_use_day_and_a_calendar_day_has_no_more() {
        let mut clock = UseClock::START;
        for _ in 0..CALLS_PER_USE_DAY {
            clock.tick(Day(1), CALLS_PER_USE_DAY);
        }
        assert_eq!(clock.now, USE_DAY);
        clock.tick(Day(1), CALLS_PER_USE_DAY);
        assert_eq!(clock.now, USE_DAY, "the fifty-first call of a day moves nothing");
        clock.tick(Day(2), CALLS_PER_USE_DAY);
        assert_eq!(clock.now, USE_DAY + USE_DAY / 50);
    }

    #[test]
    fn days_without_calls_do_not_move_it() {
        let mut clock = UseClock::START;
        clock.tick(Day(1), 50);
        clock.tick(Day(1000), 50);
        assert_eq!(clock.now, 2 * USE_DAY / 50);
    }

    #[test]
    fn a_configuration_of_zero_calls_is_read_as_one() {
        let mut clock = UseClock::START;
        clock.tick(Day(1), 0);
        assert_eq!(clock.now, USE_DAY);
    }
}
