//! The order in which everything ends: the door first, memoryd last, so that what runs can still be recorded. policyd
//! finishes in its turn and lives on until memoryd has ended, so that the last head of the chronicle is signed. A pure
//! core; it must end within [`STOP_WITHIN_MS`] whatever the daemons do.

use std::collections::BTreeSet;

use metnos_proto::role::RoleName;

/// How long the whole stop may take.
pub const STOP_WITHIN_MS: u64 = 5_000;
/// How long the daemons of one rank may take to finish before they are killed. Six ranks: four and a half seconds.
pub const RANK_WITHIN_MS: u64 = 750;
/// How long policyd may live on after all others, to sign the last head. It leaves a tenth of a second for the ends of those
/// who were killed to be seen.
pub const SIGN_WITHIN_MS: u64 = 400;
/// The rank of those who have finished and live on.
const LAST: i8 = i8::MAX - 1;

/// How long the ends of those who were all killed at once are waited for.
pub const HURRY_WITHIN_MS: u64 = 250;

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Tell these to finish.
    Drain(Vec<RoleName>),
    /// Kill these: they had their time.
    Kill(Vec<RoleName>),
    /// Wait until something ends, or until then.
    Wait(u64),
    /// Nobody is left.
    Over,
}

/// A stop under way.
#[derive(Debug)]
pub struct Stop {
    alive: BTreeSet<RoleName>,
    /// Who of them has finished, and lives on until all others have ended.
    finished: BTreeSet<RoleName>,
    /// Whose turn it is, and until when; nobody's yet at the start.
    turn: Option<(i8, u64)>,
    at_once: bool,
}

impl Stop {
    /// Begins with these daemons alive.
    #[must_use]
    pub fn new(alive: impl IntoIterator<Item = RoleName>) -> Self {
        Self { alive: alive.into_iter().collect(), finished: BTreeSet::new(), turn: None, at_once: false }
    }

    /// This one's end was seen.
    pub fn ended(&mut self, role: RoleName) {
        self.alive.remove(&role);
        self.finished.remove(&role);
    }

    /// This one has finished what ran. Only policyd lives on after that; the others are waited for until they end.
    pub fn drained(&mut self, role: RoleName) {
        if role == RoleName::Policyd && self.alive.contains(&role) {
            self.finished.insert(role);
        }
    }

    /// The process that stops us is out of patience: everybody is killed.
    pub fn hurry(&mut self) {
        self.at_once = true;
    }

    /// When [`Stop::next`] is to be asked again, if nobody ends before.
    #[must_use]
    pub fn until_ms(&self) -> Option<u64> {
        self.turn.map(|(_, until_ms)| until_ms)
    }

    /// What to do at this moment. Ask until it says to wait.
    pub fn next(&mut self, now_ms: u64) -> Next {
        if self.alive.is_empty() {
            return Next::Over;
        }
        let rank = self.alive.difference(&self.finished).map(|role| role.rank()).min().unwrap_or(LAST);
        if self.at_once {
            self.at_once = false;
            self.turn = Some((i8::MAX, now_ms.saturating_add(HURRY_WITHIN_MS)));
            return Next::Kill(self.alive.iter().copied().collect());
        }
        let now_due = |role: &RoleName| rank == LAST || (role.rank() == rank && !self.finished.contains(role));
        let these = || self.alive.iter().copied().filter(now_due).collect();
        match self.turn {
            // Those who were killed but whose end is not seen keep nobody waiting any longer.
            Some((turn, until_ms)) if turn >= rank => {
                if now_ms < until_ms {
                    return Next::Wait(until_ms);
                }
                let killed: Vec<RoleName> = these();
                for role in &killed {
                    self.alive.remove(role);
                    self.finished.remove(role);
                }
                Next::Kill(killed)
            }
            Some(_) | None if rank == LAST => {
                self.turn = Some((rank, now_ms.saturating_add(SIGN_WITHIN_MS)));
                Next::Wait(now_ms.saturating_add(SIGN_WITHIN_MS))
            }
            Some(_) | None => {
                self.turn = Some((rank, now_ms.saturating_add(RANK_WITHIN_MS)));
                Next::Drain(these())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_door_ends_first_and_memoryd_last() {
        let mut stop = Stop::new(RoleName::daemons());
        let mut order = Vec::new();
        loop {
            match stop.next(0) {
                Next::Drain(roles) => {
                    for role in roles {
                        order.push(role);
                        stop.ended(role);
                    }
                }
                Next::Over => break,
                other @ (Next::Kill(_) | Next::Wait(_)) => panic!("{other:?}"),
            }
        }
        assert_eq!(order, RoleName::daemons().collect::<Vec<_>>());
        assert_eq!((order.first(), order.last()), (Some(&RoleName::Gatewayd), Some(&RoleName::Memoryd)));
    }

    #[test]
    fn hanging_daemon_is_killed_and_next_rank_has_its_own_timeout() {
        let mut stop = Stop::new([RoleName::Gatewayd, RoleName::Memoryd]);
        assert_eq!(stop.next(100), Next::Drain(vec![RoleName::Gatewayd]));
        assert_eq!(stop.next(100), Next::Wait(100 + RANK_WITHIN_MS));
        assert_eq!(stop.next(99 + RANK_WITHIN_MS), Next::Wait(100 + RANK_WITHIN_MS));
        assert_eq!(stop.next(100 + RANK_WITHIN_MS), Next::Kill(vec![RoleName::Gatewayd]));
        assert_eq!(stop.next(100 + RANK_WITHIN_MS), Next::Drain(vec![RoleName::Memoryd]));
        stop.ended(RoleName::Memoryd);
        assert_eq!(stop.next(900), Next::Over);
    }

    #[test]
    fn policyd_lives_on_when_it_has_finished_and_ends_after_memoryd() {
        let mut stop = Stop::new([RoleName::Policyd, RoleName::Sandboxd, RoleName::Memoryd]);
        assert_eq!(stop.next(0), Next::Drain(vec![RoleName::Policyd]));
        assert_eq!(stop.next(1), Next::Wait(RANK_WITHIN_MS));
        stop.drained(RoleName::Policyd);
        assert_eq!(stop.next(2), Next::Drain(vec![RoleName::Sandboxd]));
        // Only policyd is not waited for.
        stop.drained(RoleName::Sandboxd);
        assert_eq!(stop.next(2), Next::Wait(2 + RANK_WITHIN_MS));
        stop.ended(RoleName::Sandboxd);
        assert_eq!(stop.next(3), Next::Drain(vec![RoleName::Memoryd]));
        stop.ended(RoleName::Memoryd);
        assert_eq!(stop.next(4), Next::Wait(4 + SIGN_WITHIN_MS));
        let mut stubborn = Stop::new([RoleName::Policyd]);
        assert_eq!(stubborn.next(4), Next::Drain(vec![RoleName::Policyd]));
        stubborn.drained(RoleName::Policyd);
        assert_eq!(stubborn.next(5), Next::Wait(5 + SIGN_WITHIN_MS));
        assert_eq!(stubborn.next(5 + SIGN_WITHIN_MS), Next::Kill(vec![RoleName::Policyd]));
        stop.ended(RoleName::Policyd);
        assert_eq!(stop.next(5), Next::Over);
    }

    #[test]
    fn in_a_hurry_everybody_is_killed_at_once() {
        let mut stop = Stop::new([RoleName::Gatewayd, RoleName::Memoryd]);
        assert_eq!(stop.next(0), Next::Drain(vec![RoleName::Gatewayd]));
        stop.hurry();
        assert_eq!(stop.next(1), Next::Kill(vec![RoleName::Gatewayd, RoleName::Memoryd]));
        assert_eq!(stop.next(1), Next::Wait(1 + HURRY_WITHIN_MS));
        stop.ended(RoleName::Gatewayd);
        stop.ended(RoleName::Memoryd);
        assert_eq!(stop.next(2), Next::Over);
    }

    proptest! {
        #[test]
        fn stop_ends_in_time_for_any_set_of_hanging_daemons(obedient in proptest::collection::vec(any::<bool>(), 7), hurry in 0u64..6_000, lives_on: bool) {
            let mut stop = Stop::new(RoleName::daemons());
            let obeys = |role: RoleName| RoleName::daemons().position(|one| one == role).is_some_and(|at| obedient[at]);
            let (mut now, mut hurried) = (0, false);
            loop {
                if now >= hurry && !hurried {
                    hurried = true;
                    stop.hurry();
                }
                match stop.next(now) {
                    Next::Drain(roles) => for role in roles {
                        if role == RoleName::Policyd && lives_on {
                            stop.drained(role);
                        } else if obeys(role) {
                            stop.ended(role);
                        }
                    },
                    Next::Kill(_) => {}
                    Next::Wait(until) => {
                        prop_assert!(until > now);
                        now = if !hurried && hurry < until { hurry } else { until };
                    }
                    Next::Over => break,
                }
            }
            prop_assert!(now < STOP_WITHIN_MS, "{now}");
        }
    }
}
