//! Group commit: how long a round waits for producers that will ask again in a moment, so that one sync serves them all.
//! Pure: it reads no clock.
//!
//! Eight producers that each await their answer fall into two halves otherwise: while the lines of one half are made
//! durable, those of the other come in, and every sync serves four. A wait is never longer than [`WAIT_AT_MOST`], nor
//! than a part of what the last sync took.

use std::time::Duration;

/// The longest that a round waits for others.
pub const WAIT_AT_MOST: Duration = Duration::from_micros(500);
/// A round waits at most this part of what the last one took to become durable: one half.
const PART: u32 = 2;

/// How many had lines in the last round, and what making them durable took.
#[derive(Debug, Default)]
pub struct GroupCommit {
    /// Links whose answers waited for the disk.
    last: usize,
    /// How long.
    took: Duration,
}

impl GroupCommit {
    /// How long to wait on, when `here` links have lines in this round, which has waited for `waited`; `None` to wait no
    /// longer. A producer that is alone, in this round or in the last, does not wait.
    #[must_use]
    pub fn wait(&self, here: usize, waited: Duration) -> Option<Duration> {
        if here == 0 || self.last < 2 || here >= self.last {
            return None;
        }
        let longest = (self.took / PART).min(WAIT_AT_MOST);
        longest.checked_sub(waited).filter(|left| !left.is_zero())
    }

    /// A round is over: `took` to make lines durable, if there were any, of `here` links.
    pub fn flushed(&mut self, took: Option<Duration>, here: usize) {
        let Some(took) = took else { return };
        self.took = took;
        self.last = here;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn group_commit_does_not_wait_for_a_single_producer() {
        let mut group = GroupCommit::default();
        assert_eq!(group.wait(1, Duration::ZERO), None);
        group.flushed(Some(MS), 1);
        assert_eq!(group.wait(1, Duration::ZERO), None, "one producer has one sync a line, and no wait");
        assert_eq!(group.wait(0, Duration::ZERO), None);
    }

    #[test]
    fn group_commit_waits_for_last_rounds_producers_within_bounds() {
        let mut group = GroupCommit::default();
        group.flushed(Some(MS / 2), 8);
        assert_eq!(group.wait(4, Duration::ZERO), Some(MS / 4));
        assert_eq!(group.wait(7, MS / 5), Some(MS / 20));
        assert_eq!(group.wait(8, Duration::ZERO), None, "all are there");
        assert_eq!(group.wait(4, MS / 4), None, "it took too long");
        group.flushed(Some(MS * 20), 8);
        assert_eq!(group.wait(4, Duration::ZERO), Some(WAIT_AT_MOST));
        group.flushed(None, 0);
        assert_eq!(group.wait(4, Duration::ZERO), Some(WAIT_AT_MOST), "a round without lines says nothing");
        group.flushed(Some(MS), 3);
        assert_eq!(group.wait(3, Duration::ZERO), None, "who has left is waited for once");
    }
}
