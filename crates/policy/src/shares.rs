//! Places that all share, and how many of them one may have: nobody but the owner gets at the last ones, and no guest at
//! more than his own share. So anyone who floods is refused, and the owner is served (design: policy §8).

use metnos_proto::msg::common::{Refusal, RefusalCode, Standing};

/// A bounded number of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// For all together.
    pub all: usize,
    /// For everybody but the owner together; the rest is the owner's.
    pub others: usize,
    /// For one of those.
    pub one: usize,
}

/// How many are taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// By all together.
    pub all: usize,
    /// By everybody but the owner together.
    pub others: usize,
    /// By the caller.
    pub own: usize,
}

/// Open turns. The planner has room for 128 and sandboxd keeps the results of as many, so the owner's part of those is free,
/// too.
pub const TURNS: Share = Share { all: 256, others: 64, one: 16 };
/// Cards that wait. A turn that waits for one has a place at memoryd and at the door, which have 64.
pub const CARDS: Share = Share { all: 64, others: 32, one: 8 };
/// Calls that run.
pub const RUNNING: Share = Share { all: 56, others: 40, one: 16 };
/// Results that are kept for open turns: each is a descriptor.
pub const HANDLES: Share = Share { all: 512, others: 256, one: 96 };
/// Bytes of those.
pub const KEPT_BYTES: Share = Share { all: 256 << 20, others: 128 << 20, one: 48 << 20 };
/// Files that pass through at once: each is memory of up to 20 MiB here and in sandboxd.
pub const FILES: Share = Share { all: 4, others: 2, one: 1 };
/// Bytes of files whose cards wait for the owner's word.
pub const WAITING_BYTES: Share = Share { all: 100 << 20, others: 60 << 20, one: 20 << 20 };
/// Senders whose calls of the last minute are counted.
pub const RATES: Share = Share { all: 64, others: 48, one: 1 };

impl Share {
    /// How many there may be for the caller, when `taken` are: nothing when there is room, the bound otherwise.
    #[must_use]
    pub const fn full(self, standing: Standing, taken: Taken) -> Option<usize> {
        let owner = matches!(standing, Standing::Owner);
        if taken.all >= self.all {
            Some(self.all)
        } else if owner {
            None
        } else if taken.own >= self.one {
            Some(self.one)
        } else if taken.others >= self.others {
            Some(self.others)
        } else {
            None
        }
    }

    /// Refuses anyone who has his share, or comes when the others have theirs.
    ///
    /// # Errors
    /// [`RefusalCode::Busy`] by this rule, in the words of what there are too many of.
    pub fn admit(self, standing: Standing, taken: Taken, rule: &str, what: &str, remedy: &str) -> Result<(), Refusal> {
        match self.full(standing, taken) {
            None => Ok(()),
            Some(bound) => {
                let why = format!("{bound} {what}, which is the limit");
                Err(Refusal::new(RefusalCode::Busy, rule, why).remedy(remedy))
            }
        }
    }
}

impl Taken {
    /// Counts what everybody has: the name of each, whether he is the owner, and how many he has.
    pub fn of<'a>(name: &str, all: impl Iterator<Item = (&'a str, bool, usize)>) -> Self {
        all.fold(Self::default(), |taken, (whose, owners, count)| Self {
            all: taken.all.saturating_add(count),
            others: taken.others.saturating_add(if owners { 0 } else { count }),
            own: taken.own.saturating_add(if whose == name { count } else { 0 }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Share; 8] = [TURNS, CARDS, RUNNING, HANDLES, KEPT_BYTES, FILES, WAITING_BYTES, RATES];

    #[test]
    fn each_share_leaves_the_owner_a_reserve_and_no_guest_the_whole() {
        for share in ALL {
            assert!(share.one < share.others && share.others < share.all, "{share:?}");
        }
    }

    #[test]
    fn a_guest_is_full_at_his_share_and_the_owner_at_the_end() {
        let taken = |all, others, own| Taken { all, others, own };
        assert_eq!(CARDS.full(Standing::Guest, taken(7, 7, 7)), None);
        assert_eq!(CARDS.full(Standing::Guest, taken(8, 8, 8)), Some(8));
        assert_eq!(CARDS.full(Standing::Guest, taken(32, 32, 0)), Some(32));
        assert_eq!(CARDS.full(Standing::Owner, taken(63, 32, 31)), None);
        assert_eq!(CARDS.full(Standing::Owner, taken(64, 32, 32)), Some(64));
    }

    proptest! {
        #[test]
        fn owner_keeps_his_reserve_whatever_guests_take(asks in prop::collection::vec(0u8..6, 0..400)) {
            for share in [TURNS, CARDS, RUNNING, HANDLES, FILES, RATES] {
                let mut has = [0usize; 6];
                for guest in &asks {
                    let name = guest.to_string();
                    let names: Vec<String> = (0..has.len()).map(|n| n.to_string()).collect();
                    let all = names.iter().zip(has).map(|(name, count)| (name.as_str(), false, count));
                    if share.full(Standing::Guest, Taken::of(&name, all)).is_none() {
                        has[usize::from(*guest)] += 1;
                    }
                }
                let taken: usize = has.iter().sum();
                prop_assert!(taken <= share.others && has.iter().all(|one| *one <= share.one));
                let left = Taken { all: taken, others: taken, own: 0 };
                prop_assert_eq!(share.full(Standing::Owner, left), None);
            }
        }
    }
}
