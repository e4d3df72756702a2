//! The arithmetic of a mnest's weight: pure, and the only place where it stands.
//!
//! `w ← clamp01(w · e^(−λ·Δt) + r)`. Decay is never a sweep: `lw = ln w₀ + λ·t₀` orders the
//! edges of one λ for all time, since all of them lose the same factor.

/// Decay per use-day (design: memory §2).
pub const LAMBDA: f64 = 0.018;
/// What one success adds.
pub const REWARD: f64 = 0.15;
/// What a row of a young mnestome begins with (design: memory §2).
pub const BOOTSTRAP: f64 = 0.30;
/// Below this a mnest is decaying: still usable, but flagged.
pub const DECAYING_BELOW: f64 = 0.20;

/// Below this a proto-mnest is removed, and another may be proposed for archival (design: memory §2).
pub const GONE_BELOW: f64 = 0.05;
/// A mnest is proposed for archival only when it was not used for so long.
pub const UNUSED_FOR: UseTime = 90 * USE_DAY;
/// Synthesis is considered from this weight and so many uses on.
pub const SYNTHESIS_FROM: f64 = 0.30;
/// See [`SYNTHESIS_FROM`].
pub const SYNTHESIS_USES: u64 = 3;
/// The ager comes after so many calls (design: memory §2).
pub const AGER_EVERY: u64 = 50;
/// From so many uses on a fusion or specialisation is considered.
pub const FUSION_USES: u64 = 10;

/// An instant of the clock of use, in millionths of a use-day since the instance was born.
pub type UseTime = u64;
/// Millionths in a use-day.
pub const USE_DAY: u64 = 1_000_000;

/// Use-days as a number to calculate with.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "exact below 2^53 millionths, which is 24 million years")]
pub fn use_days(time: UseTime) -> f64 {
    time as f64 / USE_DAY as f64
}

/// The weight now of what was `weight` at `then`.
#[must_use]
pub fn decayed(weight: f64, lambda: f64, then: UseTime, now: UseTime) -> f64 {
    weight * (-lambda * use_days(now.saturating_sub(then))).exp()
}

/// The weight after a success at `now`.
#[must_use]
pub fn reinforced(weight: f64, lambda: f64, then: UseTime, now: UseTime, reward: f64) -> f64 {
    (decayed(weight, lambda, then, now) + reward).clamp(0.0, 1.0)
}

/// What edges are ordered by: the larger, the heavier at any later time.
#[must_use]
pub fn lw(weight: f64, lambda: f64, at: UseTime) -> f64 {
    weight.ln() + lambda * use_days(at)
}

/// When a mnest of this weight at `at` passes `threshold` on its way down; `None` when it is below already.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturating is right")]
pub fn crossing(weight: f64, lambda: f64, at: UseTime, threshold: f64) -> Option<UseTime> {
    if weight <= threshold || lambda <= 0.0 {
        return None;
    }
    let days = (weight / threshold).ln() / lambda;
    Some(at.saturating_add((days * USE_DAY as f64).ceil() as u64))
}

/// When the ager must look at a mnest next. One that exists: when it begins to decay, then when its archival can be
/// proposed. One that was wished for: when it is forgotten.
#[must_use]
pub fn due(weight: f64, lambda: f64, at: UseTime, proto: bool) -> Option<UseTime> {
    if proto {
        return Some(crossing(weight, lambda, at, GONE_BELOW).unwrap_or(at));
    }
    crossing(weight, lambda, at, DECAYING_BELOW).or_else(|| Some(archival_due(weight, lambda, at)))
}

/// When the archival of a mnest of this weight, used last at `at`, can be proposed.
#[must_use]
pub fn archival_due(weight: f64, lambda: f64, at: UseTime) -> UseTime {
    crossing(weight, lambda, at, GONE_BELOW).unwrap_or(at).max(at.saturating_add(UNUSED_FOR))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// `e^(−x)` by its series, with nothing of the standard library's transcendental functions in it.
    fn independent_decay(x: f64) -> f64 {
        let halves = 64;
        let small = x / f64::from(halves);
        let (mut term, mut sum) = (1.0, 1.0);
        for n in 1..30 {
            term *= small / f64::from(n);
            sum += term;
        }
        (0..halves).fold(1.0, |product, _| product / sum)
    }

    #[test]
    fn the_first_use_and_the_next_have_their_known_weights() {
        assert_eq!(reinforced(0.0, LAMBDA, 0, 0, REWARD), 0.15);
        let second = reinforced(0.15, LAMBDA, 0, 10 * USE_DAY, REWARD);
        // 0.15 · e^(−0.18) + 0.15
        assert!((second - 0.275_290_531).abs() < 1e-8, "{second}");
        assert_eq!(crossing(0.15, LAMBDA, 5, DECAYING_BELOW), None);
    }

    proptest! {
        #[test]
        fn the_weight_is_what_an_independent_calculation_says(
            uses in prop::collection::vec(0_u64..200 * USE_DAY, 1..30),
        ) {
            let (mut weight, mut then, mut expected) = (0.0, 0, 0.0_f64);
            let mut now = 0;
            for gap in uses {
                now += gap;
                weight = reinforced(weight, LAMBDA, then, now, REWARD);
                expected = (expected * independent_decay(0.018 * (gap as f64 / 1e6)) + 0.15).min(1.0);
                then = now;
                prop_assert!((weight - expected).abs() < 1e-9);
                prop_assert!((0.0..=1.0).contains(&weight));
            }
        }

        #[test]
        fn an_idle_clock_ages_nothing(weight in 0.0..1.0, at in 0_u64..1_000_000_000) {
            prop_assert_eq!(decayed(weight, LAMBDA, at, at), weight);
        }

        #[test]
        fn the_order_by_lw_is_the_order_by_weight_at_any_later_time(
            one in 0.01..1.0, two in 0.01..1.0, then in 0_u64..100 * USE_DAY, apart in 0_u64..100 * USE_DAY, later in 0_u64..100 * USE_DAY,
        ) {
            let now = then + apart + later;
            let (now_one, now_two) = (decayed(one, LAMBDA, then, now), decayed(two, LAMBDA, then + apart, now));
            prop_assume!((now_one - now_two).abs() > 1e-9);
            prop_assert_eq!(now_one > now_two, lw(one, LAMBDA, then) > lw(two, LAMBDA, then + apart));
        }

        #[test]
        fn the_crossing_is_the_first_instant_below_the_threshold(weight in 0.2001..1.0, at in 0_u64..100 * USE_DAY) {
            let cross = crossing(weight, LAMBDA, at, DECAYING_BELOW).unwrap();
            prop_assert!(decayed(weight, LAMBDA, at, cross) <= DECAYING_BELOW + 1e-9);
            prop_assert!(decayed(weight, LAMBDA, at, cross - 2) > DECAYING_BELOW - 1e-9);
        }
    }
}
