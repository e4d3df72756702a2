//! Instants and days of the chronicle: those of the calendar, and the clock that says them. It reads no clock but the one it
//! is given. Only UTC, only milliseconds.

pub use metnos_calendar::day::{DAY_MS, Day, LAST_MS, instant_text, parse_instant};

/// Says what time it is. Injected, so that no test depends on the hour it runs at.
pub trait Clock {
    /// Milliseconds since 1970-01-01T00:00:00Z; never more than [`LAST_MS`].
    fn now_ms(&self) -> u64;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(LAST_MS).min(LAST_MS)
    }
}
