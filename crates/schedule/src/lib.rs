//! Says when a schedule is due: once, by the five fields of cron, or by a recurrence rule, on the wall clock of a person.
//!
//! A [`Cadence`] gives civil times, the firing keys; a zone turns each into the instant of a [`Due`]. In a gap, where a
//! clock goes forward, that is the next valid instant, the end of the gap; in an overlap, where it goes back, the earlier of
//! the two, once. [`Cadence::overdue`] says what went by while nobody looked. [`Cadence::of_reading`] makes a cadence of
//! words that `metnos-when` read, [`Cadence::told`] words of a cadence.
//!
//! Nothing here has a clock, does I/O or opens a database of zones: the caller passes both the moment and the zone. Every
//! search is bounded, and jumps by month, day, hour and minute.
//!
//! The fields of cron are evaluated here and not by the crate `croner`. Version 4.0.3 pulls in `chrono` by default, and
//! without it still the macros of `derive_builder` and `strum`. It searches in a zone and not on the wall clock, fires lists
//! and steps twice in an overlap, and knows further forms that other readers of cron do not. What is needed of it is small.

mod cadence;
mod cron;
mod days;
mod due;
mod invalid;
mod moved;
mod reading;
mod rrule;
mod rule;
mod words;

pub use cadence::Cadence;
pub use due::{Due, MAX_MISSED, Overdue, key_at};
pub use invalid::Invalid;
pub use metnos_when::Language;
pub use reading::{Assumed, Unfit};
pub use words::moment;
