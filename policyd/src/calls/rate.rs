//! How many calls a principal may make, by an injected clock. It only ever refuses: room
//! here is no permission.

use std::collections::BTreeMap;

use metnos_proto::msg::common::Standing;

use crate::shares::{RATES, Taken};

/// The most calls a minute that any configuration can grant a principal: as many as the
/// sandbox is built to carry.
pub const MAX_CALLS_PER_MINUTE: u32 = 60_000;
/// The most principals that are counted at once.
pub const MAX_PRINCIPALS: usize = RATES.all;

const MINUTE_MS: u64 = 60_000;

/// A leaky bucket per principal.
#[derive(Debug)]
pub struct Rate {
    per_minute: u32,
    buckets: BTreeMap<String, Bucket>,
}

/// Whether there is room for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// There is, and it is taken.
    Yes,
    /// There is none, for the first time since there was.
    NoMore,
    /// There is still none: a line in the chronicle for each would be a flood of its own.
    Still,
}

#[derive(Debug, Default)]
struct Bucket {
    /// Calls in the bucket, in sixty-thousandths, so that every millisecond drains a whole number.
    level: u64,
    at_ms: u64,
    refused: bool,
    /// Not the owner's.
    others: bool,
}

/// What one call weighs in a bucket.
const CALL: u64 = MINUTE_MS;

impl Bucket {
    fn level_at(&self, now_ms: u64, per_minute: u32) -> u64 {
        let drained = now_ms.saturating_sub(self.at_ms).saturating_mul(u64::from(per_minute));
        self.level.saturating_sub(drained)
    }
}

impl Rate {
    /// A count that admits `per_minute` calls of each principal, at least one and at most [`MAX_CALLS_PER_MINUTE`].
    #[must_use]
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute: per_minute.clamp(1, MAX_CALLS_PER_MINUTE), buckets: BTreeMap::new() }
    }

    /// The calls of a principal admitted in a minute.
    #[must_use]
    pub const fn per_minute(&self) -> u32 {
        self.per_minute
    }

    /// Counts one call of `principal` at `now_ms` (monotonic), if there is room.
    pub fn admit(&mut self, principal: &str, standing: Standing, now_ms: u64) -> Admission {
        let per_minute = self.per_minute;
        if !self.buckets.contains_key(principal) {
            if RATES.full(standing, self.taken()).is_some() {
                self.buckets.retain(|_, bucket| bucket.level_at(now_ms, per_minute) > 0);
            }
            if RATES.full(standing, self.taken()).is_some() {
                return Admission::NoMore;
            }
            let others = standing != Standing::Owner;
            self.buckets.insert(principal.to_owned(), Bucket { at_ms: now_ms, others, ..Bucket::default() });
        }
        let Some(bucket) = self.buckets.get_mut(principal) else { return Admission::NoMore };
        let level = bucket.level_at(now_ms, per_minute).saturating_add(CALL);
        if level > CALL * u64::from(per_minute) {
            return if std::mem::replace(&mut bucket.refused, true) { Admission::Still } else { Admission::NoMore };
        }
        *bucket = Bucket { level, at_ms: now_ms.max(bucket.at_ms), refused: false, others: bucket.others };
        Admission::Yes
    }

    fn taken(&self) -> Taken {
        let others = self.buckets.values().filter(|bucket| bucket.others).count();
        Taken { all: self.buckets.len(), others, own: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u32 = 600;

    fn admitted(rate: &mut Rate, principal: &str, now_ms: u64) -> u32 {
        let mut count = 0;
        while rate.admit(principal, Standing::Owner, now_ms) == Admission::Yes {
            count += 1;
        }
        count
    }

    #[test]
    fn a_minutes_worth_is_admitted_and_not_one_more() {
        let mut rate = Rate::new(LIMIT);
        assert_eq!(admitted(&mut rate, "cli:uid:1", 7), LIMIT);
        assert_eq!(
            rate.admit("cli:uid:1", Standing::Owner, 7),
            Admission::Still,
            "the first refusal was the loop's last"
        );
        assert_eq!(rate.admit("cli:uid:2", Standing::Owner, 7), Admission::Yes, "another principal has its own");
    }

    #[test]
    fn time_makes_room_and_a_clock_that_goes_back_does_not() {
        let mut rate = Rate::new(LIMIT);
        admitted(&mut rate, "p", 1_000);
        assert_eq!(rate.admit("p", Standing::Owner, 0), Admission::Still);
        assert_eq!(rate.admit("p", Standing::Owner, 1_000 + MINUTE_MS / u64::from(LIMIT)), Admission::Yes);
        assert_eq!(rate.admit("p", Standing::Owner, 1_100), Admission::NoMore);
        assert_eq!(admitted(&mut rate, "p", 1_100 + MINUTE_MS), LIMIT);
    }

    #[test]
    fn more_principals_than_can_be_counted_are_refused_until_others_are_quiet() {
        let mut rate = Rate::new(LIMIT);
        for n in 0..MAX_PRINCIPALS {
            assert_eq!(rate.admit(&n.to_string(), Standing::Owner, 0), Admission::Yes);
        }
        assert_eq!(rate.admit("one more", Standing::Owner, 0), Admission::NoMore);
        assert_eq!(rate.admit("one more", Standing::Owner, MINUTE_MS), Admission::Yes);
    }

    #[test]
    fn guests_without_number_leave_the_owner_a_bucket() {
        let mut rate = Rate::new(LIMIT);
        let served =
            (0..MAX_PRINCIPALS).filter(|n| rate.admit(&n.to_string(), Standing::Guest, 0) == Admission::Yes).count();
        assert_eq!(served, RATES.others);
        assert_eq!(rate.admit("the owner", Standing::Owner, 0), Admission::Yes);
        assert_eq!(rate.admit("one more", Standing::Guest, 0), Admission::NoMore);
    }

    #[test]
    fn no_configuration_grants_nothing_or_everything() {
        assert_eq!(Rate::new(0).per_minute(), 1);
        assert_eq!(Rate::new(u32::MAX).per_minute(), MAX_CALLS_PER_MINUTE);
    }
}
