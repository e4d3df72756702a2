//! The reader against phrases with what they mean, and against anything at all.

#![allow(clippy::unwrap_used)]

mod elapsed;
mod phrases;
mod plain;
mod properties;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use metnos_when::{Context, Language};

/// The clock of Rome, as a rule: there are no tables of zones here.
fn rome() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
}

/// A context at a moment in Rome.
fn at(now: &str, language: Language) -> Context {
    let now: DateTime = now.parse().unwrap();
    Context::new(now.to_zoned(rome()).unwrap(), language)
}
