//! Which updates are new, and which may be confirmed: an update is asked for again until it is dealt with, and dealt with
//! once. A pure state machine; what a restart forgets, the chronicle knows (`marked`).

use std::collections::BTreeSet;

/// The most updates that are being dealt with at once: more are left at Telegram.
pub const MAX_OPEN: usize = 64;

/// How many later updates are dealt with before an older one that goes on is confirmed all the same: a poll gives no more
/// than a hundred, and whoever writes much must not keep the others from being heard.
pub const MAX_AHEAD: usize = 80;

/// See the module.
#[derive(Debug, Default)]
pub struct Sequence {
    /// Everything below was dealt with.
    floor: u64,
    /// Taken, and not yet dealt with.
    open: BTreeSet<u64>,
    /// Dealt with, not below the floor.
    done: BTreeSet<u64>,
}

impl Sequence {
    /// Takes an update, unless it was taken before or there is no room.
    pub fn take(&mut self, id: u64) -> bool {
        let fresh = id >= self.floor && self.open.len() < MAX_OPEN && !self.done.contains(&id);
        fresh && self.open.insert(id)
    }

    /// It is dealt with.
    pub fn done(&mut self, id: u64) {
        if self.open.remove(&id) && id >= self.floor {
            self.done.insert(id);
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

    /// Begins anew, when nothing is open: after a week without any, Telegram counts from another number.
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
    fn what_there_is_no_room_for_is_left_and_taken_later() {
        let mut it = Sequence::default();
        for id in 0..MAX_OPEN as u64 {
            assert!(it.take(id));
        }
        assert!(!it.take(1_000));
        it.done(0);
        assert!(it.take(1_000));
    }

    #[test]
    fn one_that_goes_on_and_on_does_not_keep_later_ones_from_being_heard() {
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
                prop_assert!(open.iter().all(|id| it.floor() <= *id));
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
