//! Which executors may be called, as a number: a cache of what follows from them compares it to see that it is out of date.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which executors may be called, as a number that is another one whenever others may, for as long as this process lives.
#[derive(Debug)]
pub(super) struct Pool(Cell<u64>);

impl Default for Pool {
    fn default() -> Self {
        let pool = Self(Cell::new(0));
        pool.changes();
        pool
    }
}

impl Pool {
    /// The number; never 0.
    pub(super) const fn number(&self) -> u64 {
        self.0.get()
    }

    /// Others may be called from now on.
    pub(super) fn changes(&self) {
        static POOLS: AtomicU64 = AtomicU64::new(0);
        self.0.set(POOLS.fetch_add(1, Ordering::Relaxed) + 1);
    }
}
