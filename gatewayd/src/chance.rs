//! Numbers drawn by chance: for pauses between tries, never for secrets.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Draws a number below the one that is given.
pub type Chance = dyn Fn(u64) -> u64;

/// A number below that one.
#[must_use]
pub fn draw(below: u64) -> u64 {
    RandomState::new().build_hasher().finish().checked_rem(below).unwrap_or(0)
}
