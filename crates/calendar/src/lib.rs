//! Days, instants and time zones, as Metnos reads and writes them: the one place for civil time.
//!
//! The arithmetic is that of the crate `jiff`; here stand the few forms that are accepted and their limits. It reads
//! no clock and opens nothing. [`day`] has days and instants of UTC, in the form that stands in files; [`zone`] has
//! clocks that are ahead of UTC or behind it; [`instant`] reads RFC 3339 from outside and shows a moment on a clock.

pub mod day;
pub mod instant;
pub mod zone;

pub use day::Day;
pub use zone::Zone;

/// A number of decimal digits, all of which are digits.
fn digits(text: &str) -> Option<i16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
