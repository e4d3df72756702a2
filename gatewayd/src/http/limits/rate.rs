//! How often something may be asked: a bucket that fills with time. It reads the clock of the runtime, which tests move.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::IpAddr;

use tokio::time::Instant;

use crate::http::limits::bounds::MAX_SOURCES;

/// A bucket of so many a minute, full at first.
#[derive(Debug)]
pub struct Bucket {
    per_minute: u32,
    /// In sixty-thousandths of one: what a millisecond adds is `per_minute` of them.
    left: Cell<u64>,
    at: Cell<Instant>,
}

const ONE: u64 = 60_000;

/// Where something comes from; nothing where that is not known.
pub type Source = Option<IpAddr>;

/// So many a minute of each source, and so many of all together: who asks too often is refused, and others are not.
#[derive(Debug)]
pub struct Sources {
    of_one: u32,
    all: Bucket,
    by: RefCell<BTreeMap<Source, Bucket>>,
}

impl Sources {
    /// So many a minute of one source, and so many in all.
    #[must_use]
    pub fn new(of_one: u32, in_all: u32) -> Self {
        Self { of_one, all: Bucket::new(in_all), by: RefCell::default() }
    }

    /// Takes one for this source.
    ///
    /// # Errors
    /// In how many seconds there is one again.
    pub fn take(&self, source: Source) -> Result<(), u64> {
        let mut by = self.by.borrow_mut();
        if !by.contains_key(&source) && by.len() >= MAX_SOURCES {
            by.retain(|_, bucket| !bucket.is_full());
        }
        if by.len() < MAX_SOURCES || by.contains_key(&source) {
            by.entry(source).or_insert_with(|| Bucket::new(self.of_one)).take()?;
        }
        self.all.take()
    }
}

impl Bucket {
    /// So many a minute, and as many at once.
    #[must_use]
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute, left: Cell::new(u64::from(per_minute) * ONE), at: Cell::new(Instant::now()) }
    }

    /// Whether nothing was taken lately.
    fn is_full(&self) -> bool {
        let passed = u64::try_from(self.at.get().elapsed().as_millis()).unwrap_or(u64::MAX);
        let rate = u64::from(self.per_minute.max(1));
        self.left.get().saturating_add(passed.saturating_mul(rate)) >= rate * ONE
    }

    /// Takes one.
    ///
    /// # Errors
    /// In how many seconds there is one again.
    pub fn take(&self) -> Result<(), u64> {
        let now = Instant::now();
        let passed = u64::try_from(now.duration_since(self.at.get()).as_millis()).unwrap_or(u64::MAX);
        let rate = u64::from(self.per_minute.max(1));
        let left = self.left.get().saturating_add(passed.saturating_mul(rate)).min(rate * ONE);
        self.at.set(now);
        if left < ONE {
            self.left.set(left);
            return Err((ONE - left).div_ceil(rate).div_ceil(1_000));
        }
        self.left.set(left - ONE);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::run;

    #[test]
    fn bucket_allows_its_limit_and_refills_with_time() {
        run(async {
            let bucket = Bucket::new(6);
            for _ in 0..6 {
                assert_eq!(bucket.take(), Ok(()));
            }
            assert_eq!(bucket.take(), Err(10));
            tokio::time::advance(Duration::from_millis(9_999)).await;
            assert_eq!(bucket.take(), Err(1));
            tokio::time::advance(Duration::from_millis(1)).await;
            assert_eq!(bucket.take(), Ok(()));
            tokio::time::advance(Duration::from_secs(86_400)).await;
            for _ in 0..6 {
                assert_eq!(bucket.take(), Ok(()), "it holds no more than it is large");
            }
            assert!(bucket.take().is_err());
        });
    }

    #[test]
    fn flood_of_codes_is_refused_for_its_address_only() {
        run(async {
            let sources = Sources::new(4, 32);
            let from = |last: u8| Some(IpAddr::from([127, 0, 0, last]));
            let flood = (0..1_000).filter(|_| sources.take(from(2)).is_ok()).count();
            assert_eq!(flood, 4);
            assert!((0..4).all(|_| sources.take(from(1)).is_ok()), "another source has its own");
            let many = (3..=255).filter(|last| sources.take(from(*last)).is_ok()).count();
            assert_eq!(many, 32 - 8, "all together have a ceiling");
            tokio::time::advance(Duration::from_secs(60)).await;
            assert_eq!(sources.take(from(1)), Ok(()));
        });
    }
}
