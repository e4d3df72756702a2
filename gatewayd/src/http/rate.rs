//! How often something may be asked: a bucket that fills with time. It reads the clock of the runtime, which tests move.

use std::cell::Cell;

use tokio::time::Instant;

/// A bucket of so many a minute, full at first.
#[derive(Debug)]
pub struct Bucket {
    per_minute: u32,
    /// In sixty-thousandths of one: what a millisecond adds is `per_minute` of them.
    left: Cell<u64>,
    at: Cell<Instant>,
}

const ONE: u64 = 60_000;

impl Bucket {
    /// So many a minute, and as many at once.
    #[must_use]
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute, left: Cell::new(u64::from(per_minute) * ONE), at: Cell::new(Instant::now()) }
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
    fn as_many_as_the_limit_and_then_as_many_as_time_gives() {
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
}
