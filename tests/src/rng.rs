//! Chance that can be repeated: the same seed gives the same numbers, here and everywhere. It must
//! never be used for a secret.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// Chance from this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed of this run: from `METNOS_SEED`, else from the clock. Printed, so that a failing run can be repeated.
    #[must_use]
    pub fn announced() -> Self {
        let seed = match std::env::var("METNOS_SEED") {
            Ok(text) => text.parse().expect("METNOS_SEED is a whole number"),
            Err(_) => u64::try_from(
                std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_millis(),
            )
            .unwrap_or(0),
        };
        println!("chance: METNOS_SEED={seed}");
        Self::new(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let index = self.below(of.len() as u64);
        &of[usize::try_from(index).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_published_sequence() {
        let mut rng = Rng::new(1_234_567);
        assert_eq!([rng.number(), rng.number()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
