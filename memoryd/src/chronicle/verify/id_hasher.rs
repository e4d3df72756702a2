//! Hashes ids for tables in memory: millions of them when a chronicle is verified. Not for anything that is stored.
//!
//! Each table has a key of its own, drawn at random, so that no peer can choose ids that all fall into one place.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Makes hashers with one key.
#[derive(Debug, Clone, Copy)]
pub struct IdHasherKey {
    key: [u64; 2],
}

impl Default for IdHasherKey {
    fn default() -> Self {
        let random = RandomState::new();
        // An even number would lose a bit with every multiplication.
        Self { key: [random.hash_one(1_u8), random.hash_one(2_u8) | 1] }
    }
}

impl BuildHasher for IdHasherKey {
    type Hasher = IdHasher;

    fn build_hasher(&self) -> IdHasher {
        IdHasher { mixed: self.key[0], by: self.key[1] }
    }
}

/// One hash in the making.
#[derive(Debug)]
pub struct IdHasher {
    mixed: u64,
    by: u64,
}

/// Both halves of the product: every bit of the factors counts in it.
const fn folded(one: u64, two: u64) -> u64 {
    let product = one as u128 * two as u128;
    (product >> 64) as u64 ^ product as u64
}

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for eight in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..eight.len()].copy_from_slice(eight);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.mixed = folded(self.mixed ^ word, self.by);
    }

    fn write_usize(&mut self, length: usize) {
        // The length of an id, which is always the same.
        let _ = length;
    }

    fn finish(&self) -> u64 {
        folded(self.mixed, self.by.rotate_left(32) | 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metnos_proto::ids::TurnId;
    use std::collections::HashSet;

    #[test]
    fn ids_that_differ_in_little_fall_into_different_places() {
        let mixed = IdHasherKey::default();
        for shift in [0_u32, 17, 40, 64, 80, 100] {
            let ids = (0..4096_u128).map(|n| TurnId::from_bytes((n << shift).to_be_bytes()));
            let places: HashSet<u64> = ids.map(|id| mixed.hash_one(id) >> 48).collect();
            // Of 4096 drawn from 65536, about 3970 are different.
            assert!(places.len() > 3_600, "shifted by {shift}: {}", places.len());
        }
        assert_ne!(mixed.hash_one(TurnId::NONE), IdHasherKey::default().hash_one(TurnId::NONE));
    }
}
