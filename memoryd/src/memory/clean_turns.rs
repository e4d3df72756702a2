//! Turns in which nothing of lower trust was read, as policyd says of each when it ends. Of no other turn may an answer stand
//! in the clean part of an envelope.
//!
//! It is kept in memory only: after a restart nobody knows it of earlier turns, and their answers are withheld.

use std::collections::{BTreeMap, VecDeque};

use metnos_proto::ids::TurnId;

use crate::tiers::envelope::MAX_EXCHANGES;

/// The most turns of one principal that are known: no envelope shows the answers of more.
pub const MAX_OF_ONE: usize = MAX_EXCHANGES;
/// The most principals; beyond, the one whose last clean turn is longest ago makes room.
pub const MAX_PRINCIPALS: usize = 256;

/// The clean turns of one principal, oldest first, and when the last one came.
#[derive(Debug, Default)]
struct OfOne {
    turns: VecDeque<TurnId>,
    last: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct CleanTurns {
    by: BTreeMap<String, OfOne>,
    count: u64,
}

impl CleanTurns {
    /// Notes a clean turn of this principal.
    pub(super) fn note(&mut self, turn: TurnId, principal: &str) {
        self.count = self.count.saturating_add(1);
        if !self.by.contains_key(principal)
            && self.by.len() >= MAX_PRINCIPALS
            && let Some(oldest) = self.by.iter().min_by_key(|(_, one)| one.last).map(|(name, _)| name.clone())
        {
            self.by.remove(&oldest);
        }
        let one = self.by.entry(principal.to_owned()).or_default();
        one.last = self.count;
        if one.turns.contains(&turn) {
            return;
        }
        if one.turns.len() >= MAX_OF_ONE {
            one.turns.pop_front();
        }
        one.turns.push_back(turn);
    }

    /// Whether this turn of this principal was clean.
    pub(super) fn has(&self, turn: TurnId, principal: &str) -> bool {
        self.by.get(principal).is_some_and(|one| one.turns.contains(&turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(n: u16) -> TurnId {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&n.to_be_bytes());
        TurnId::from_bytes(bytes)
    }

    #[test]
    fn clean_turns_are_bounded_for_each_principal_and_in_all() {
        let mut clean = CleanTurns::default();
        for n in 0..=MAX_OF_ONE {
            clean.note(turn(n as u16), "a");
        }
        assert!(!clean.has(turn(0), "a") && clean.has(turn(1), "a") && clean.has(turn(MAX_OF_ONE as u16), "a"));
        for n in 0..MAX_PRINCIPALS - 1 {
            clean.note(turn(9), &n.to_string());
        }
        assert!(clean.has(turn(1), "a"), "there is room for as many");
        clean.note(turn(9), "one too many");
        assert!(!clean.has(turn(1), "a") && clean.has(turn(9), "0"));
    }

    #[test]
    fn clean_turn_counts_for_its_own_principal_only() {
        let mut clean = CleanTurns::default();
        clean.note(turn(1), "telegram:1");
        assert!(clean.has(turn(1), "telegram:1") && !clean.has(turn(1), "cli:uid:1000"));
    }
}
