//! Which updates are new, and which may be confirmed: an update is asked for again until it is dealt with, and dealt with
//! once. A pure state machine; what a restart forgets, the chronicle knows (`marked`).

use std::collections::BTreeSet;

/// The most updates that are being dealt with at once: more are left at Telegram.
pub const MAX_OPEN: usize = 64;

/// How many later updates are dealt with before an older one that goes on is confirmed all the same: a poll gives no more
/// than a hundred, and anyone who writes much must not keep the others from being heard.
pub const MAX_AHEAD: usize = 80;

/// How many that were dealt with are remembered by their numbers.
pub const MAX_LATELY: usize = 1_024;
/// How far before the first of those a late one may be.
pub const MAX_LATE: u64 = 16;

/// See the module.
#[derive(Debug, Default)]
pub struct Sequence {
    /// Everything below was dealt with.
    floor: u64,
    /// Taken, and not yet dealt with.
    open: BTreeSet<u64>,
    /// Dealt with, not below the floor.
    done: BTreeSet<u64>,
    /// Below the floor and dealt with lately, or taken.
    lately: BTreeSet<u64>,
}

impl Sequence {
    /// Takes an update, unless it was taken before or there is no room. One that comes after later ones were confirmed is
    /// taken as well, as long as it is known that it was not dealt with: a server may say things out of order.
    pub fn take(&mut self, id: u64) -> bool {
        let is_late = id < self.floor;
        if self.open.len() >= MAX_OPEN || self.done.contains(&id) {
            return false;
        }
        if is_late && !self.is_new_all_the_same(id) {
            return false;
        }
        self.open.insert(id)
    }

    /// Whether it is known of one below the floor that it was not dealt with.
    fn is_new_all_the_same(&self, id: u64) -> bool {
        // Before the first that is remembered there was nothing, unless some were forgotten.
        let before = if self.lately.len() < MAX_LATELY { MAX_LATE } else { 0 };
        !self.lately.contains(&id) && self.lately.first().is_some_and(|first| *first <= id.saturating_add(before))
    }

    /// It is dealt with.
    pub fn done(&mut self, id: u64) {
        let was_open = self.open.remove(&id);
        if was_open && id >= self.floor {
            self.done.insert(id);
        }
        if was_open {
            self.lately.insert(id);
            while self.lately.len() > MAX_LATELY {
                self.lately.pop_first();
            }
        }
        if self.done.len() >= MAX_AHEAD {
            // What goes on has been recorded, and is answered unless this door is lost.
            self.floor = self.done.last().copied().unwrap_or(0).saturating_add(1).max(self.floor);
            self.done.clear();
        }
        let least = self.open.range(self.floor..).next().copied().unwrap_or(u64::MAX);
        while let Some(id) = self.done.first().copied().filter(|id| *id < least) {
            self.done.remove(&id);
            self.floor = self.floor.max(id.saturating_add(1));
        }
    }

    /// The first update that is asked for: what is below is confirmed thereby. 0 for whatever there is.
    #[must_use]
    pub const fn floor(&self) -> u64 {
        self.floor
    }

    /// How many are being dealt with.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Begins again, when nothing is open: after a week without any, Telegram counts from another number.
    pub fn forget(&mut self) {
        if self.open.is_empty() {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_is_confirmed_before_what_came_before_it_is_dealt_with() {
        let mut it = Sequence::default();
        assert!(it.take(10) && it.take(11) && it.take(12) && !it.take(11));
        it.done(11);
        assert_eq!((it.floor(), it.take(11)), (0, false));
        it.done(10);
        assert_eq!((it.floor(), it.open()), (12, 1));
        it.done(12);
        assert_eq!(it.floor(), 13);
        assert!(!it.take(12) && it.take(14) && it.take(13));
        it.forget();
        assert_eq!((it.floor(), it.open()), (13, 2));
        it.done(13);
        it.done(14);
        it.forget();
        assert!(it.take(3));
    }

    #[test]
    fn out_of_order_update_is_taken_once_and_old_update_is_dropped() {
        let mut it = Sequence::default();
        for id in [100, 102] {
            assert!(it.take(id));
            it.done(id);
        }
        assert_eq!(it.floor(), 103);
        assert!(it.take(101) && !it.take(101));
        it.done(101);
        assert_eq!((it.floor(), it.open(), it.take(101), it.take(100)), (103, 0, false, false));
        assert!(it.take(99), "it may have been the first");
        assert!(!it.take(100 - MAX_LATE - 2), "that one was before all of this");
        for id in 103..103 + 2 * MAX_LATELY as u64 {
            assert!(it.take(id));
            it.done(id);
        }
        assert_eq!(it.lately.len(), MAX_LATELY);
        assert!(!it.take(101), "what is not remembered any more is not taken for new");
    }

    #[test]
    fn update_without_room_is_left_for_later() {
        let mut it = Sequence::default();
        for id in 0..MAX_OPEN as u64 {
            assert!(it.take(id));
        }
        assert!(!it.take(1_000));
        it.done(0);
        assert!(it.take(1_000));
    }

    #[test]
    fn long_running_update_does_not_block_later_ones() {
        let mut it = Sequence::default();
        assert!(it.take(1));
        for id in 2..=MAX_AHEAD as u64 {
            assert!(it.take(id));
            it.done(id);
            assert_eq!(it.floor(), 0);
        }
        let last = MAX_AHEAD as u64 + 1;
        assert!(it.take(last));
        it.done(last);
        assert_eq!((it.floor(), it.open(), it.take(1)), (last + 1, 1, false));
        it.done(1);
        assert!(!it.take(1) && !it.take(5), "each was dealt with once");
        assert_eq!((it.floor(), it.open()), (last + 1, 0));
    }

    proptest! {
        /// A server that says everything again that is not confirmed, in any order: each is dealt with once, none is
        /// confirmed before, and at the end all are.
        #[test]
        fn each_is_dealt_with_once_whatever_the_order(order in prop::collection::vec((0_u64..20, any::<bool>()), 0..200)) {
            let mut it = Sequence::default();
            let mut times = BTreeMap::<u64, u32>::new();
            let mut open = Vec::new();
            for (id, ends) in order {
                if it.take(id) {
                    *times.entry(id).or_default() += 1;
                    open.push(id);
                }
                if ends && let Some(id) = open.pop() {
                    it.done(id);
                }
                prop_assert!(it.open() <= MAX_OPEN);
            }
            for id in open {
                it.done(id);
            }
            prop_assert!(times.values().all(|times| *times == 1));
            prop_assert_eq!(it.open(), 0);
            prop_assert!(times.keys().all(|id| *id < it.floor()));
        }
    }
}
