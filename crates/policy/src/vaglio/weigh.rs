//! The arithmetic of the sieve. No model does any of it: a judge gives a number for each end, and everything that
//! follows from them stands here (design: policy §5).

use crate::vaglio::telos::Telos;

/// The least and the most that answers can make of a declared weight (design: policy §5).
pub const LEARNED: (f64, f64) = (0.5, 1.5);
/// A proposal whose braked alignment is below this stays unasked.
pub const SPEAK_FROM: f64 = 0.15;
/// How much higher every threshold is when the judgement is an estimate.
pub const ESTIMATE_MARGIN: f64 = 0.1;
/// What one answer teaches an end that the proposal fits wholly.
const ACCEPTED: f64 = 0.05;
const REFUSED: f64 = -0.05;
const SILENT: f64 = -0.01;

/// What came of a proposal that the owner has heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// He wanted it.
    Accepted,
    /// He did not.
    Refused,
    /// He said nothing until it expired: a weak no.
    Silent,
}

impl Answer {
    /// The name in the store and in the chronicle.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::Silent => "silent",
        }
    }
}

/// One end in a judgement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighed {
    /// Its weight as it counts now.
    pub weight: f64,
    /// How well the proposal must fit it.
    pub threshold: f64,
    /// How well it does, -1 to 1.
    pub fit: f64,
}

impl Weighed {
    /// What it adds to the alignment.
    #[must_use]
    pub fn part(&self) -> f64 {
        let fit = sound(self.fit, -1.0);
        if fit < 0.0 {
            -self.weight * fit.abs()
        } else if fit >= self.threshold {
            self.weight * fit
        } else {
            0.0
        }
    }
}

/// A number that one can reckon with: what is none counts as nothing.
fn sound(number: f64, least: f64) -> f64 {
    if number.is_nan() { least } else { number.clamp(least, 1.0) }
}

/// `clamp01( Σ wᵢ·gate(fitᵢ ≥ thresholdᵢ)·fitᵢ − Σ wᵢ·|negative fitᵢ| ) · urgency · confidence`.
#[must_use]
pub fn alignment(ends: &[Weighed], urgency: f64, confidence: f64) -> f64 {
    let sum: f64 = ends.iter().map(Weighed::part).sum();
    sound(sum, 0.0) * sound(urgency, 0.0) * sound(confidence, 0.0)
}

/// The weight of an end as it counts after what answers have taught: the declared one, times what was learned.
#[must_use]
pub fn effective(end: &Telos, learned: f64) -> f64 {
    end.weight * bounded(learned)
}

/// The threshold as it counts: an estimate only ever raises it.
#[must_use]
pub fn threshold(declared: f64, estimate: bool) -> f64 {
    if estimate { (declared + ESTIMATE_MARGIN).min(1.0).max(declared) } else { declared }
}

/// What a factor becomes by an answer to a proposal that fitted the end like this.
#[must_use]
pub fn taught(learned: f64, fit: f64, answer: Answer) -> f64 {
    let rate = match answer {
        Answer::Accepted => ACCEPTED,
        Answer::Refused => REFUSED,
        Answer::Silent => SILENT,
    };
    bounded(bounded(learned) + rate * sound(fit, -1.0))
}

fn bounded(learned: f64) -> f64 {
    if learned.is_nan() { 1.0 } else { learned.clamp(LEARNED.0, LEARNED.1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn end(weight: f64, threshold: f64, fit: f64) -> Weighed {
        Weighed { weight, threshold, fit }
    }

    #[test]
    fn the_formula_is_the_one_of_the_design() {
        let ends = [end(0.4, 0.5, 0.8), end(0.35, 0.6, 0.59), end(0.25, 0.5, -0.4)];
        // 0.4·0.8 counts, 0.59 is below its threshold, and −0.25·0.4 is taken off: 0.22.
        assert!((alignment(&ends, 0.5, 0.9) - 0.22 * 0.45).abs() < 1e-12);
        assert_eq!(alignment(&[end(1.0, 0.5, -1.0)], 1.0, 1.0).to_bits(), 0.0_f64.to_bits());
        assert_eq!(alignment(&[end(9.0, 0.5, 1.0)], 1.0, 1.0).to_bits(), 1.0_f64.to_bits());
        assert!((alignment(&[end(1.0, 0.5, 0.5)], 1.0, 1.0) - 0.5).abs() < 1e-12, "the threshold itself is enough");
    }

    #[test]
    fn numbers_that_are_none_speak_for_nothing() {
        assert_eq!(alignment(&[end(1.0, 0.5, f64::NAN)], 1.0, 1.0).to_bits(), 0.0_f64.to_bits());
        assert_eq!(alignment(&[end(1.0, 0.5, 1.0)], f64::NAN, 1.0).to_bits(), 0.0_f64.to_bits());
        assert_eq!(alignment(&[end(1.0, 0.5, 1.0)], f64::INFINITY, 1.0).to_bits(), 1.0_f64.to_bits());
        assert_eq!(taught(f64::NAN, f64::NAN, Answer::Accepted).to_bits(), (1.0 - ACCEPTED).to_bits());
    }

    fn answers() -> impl Strategy<Value = Vec<(f64, u8)>> {
        proptest::collection::vec((-2.0f64..2.0, 0u8..3), 0..400)
    }

    proptest! {
        #[test]
        fn alignment_is_between_nothing_and_one(
            parts in proptest::collection::vec((0.0f64..2.0, 0.0f64..1.0, -2.0f64..2.0), 0..8), urgency in -1.0f64..2.0, confidence in -1.0f64..2.0
        ) {
            let ends: Vec<_> = parts.into_iter().map(|(w, t, f)| end(w, t, f)).collect();
            let all = alignment(&ends, urgency, confidence);
            prop_assert!((0.0..=1.0).contains(&all));
            prop_assert!(all <= sound(urgency, 0.0) + 1e-12 && all <= sound(confidence, 0.0) + 1e-12);
        }

        #[test]
        fn telos_weight_stays_within_half_and_one_and_a_half(answers in answers(), weight in 0.001f64..1.0) {
            let telos = Telos { slug: "a".into(), phrase: "a".into(), weight, threshold: 0.5, note: String::new(), quiet: None, emergency: Vec::new() };
            let mut learned = 1.0;
            for (fit, answer) in answers {
                learned = taught(learned, fit, [Answer::Accepted, Answer::Refused, Answer::Silent][usize::from(answer)]);
                let now = effective(&telos, learned);
                prop_assert!(now >= weight * LEARNED.0 - 1e-12 && now <= weight * LEARNED.1 + 1e-12);
            }
        }

        #[test]
        fn yes_raises_no_lowers_and_silence_lowers_less(learned in 0.6f64..1.4, fit in 0.01f64..1.0) {
            let (yes, no, nothing) = (taught(learned, fit, Answer::Accepted), taught(learned, fit, Answer::Refused), taught(learned, fit, Answer::Silent));
            prop_assert!(yes > learned && no < nothing && nothing < learned);
        }

        #[test]
        fn an_estimate_only_raises_the_threshold(declared in 0.0f64..1.0) {
            prop_assert!(threshold(declared, true) >= declared && threshold(declared, true) <= 1.0);
            prop_assert_eq!(threshold(declared, false).to_bits(), declared.to_bits());
        }
    }
}
