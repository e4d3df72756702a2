//! What time it is, as something that tests can turn.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A day, in milliseconds. Days are those of UTC, as in the ledger.
pub const DAY_MS: u64 = 86_400_000;

/// A clock.
pub trait Clock {
    /// Milliseconds since some moment, never going back.
    fn monotonic_ms(&self) -> u64;
    /// Milliseconds since the epoch.
    fn wall_ms(&self) -> u64;
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn wall_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}
