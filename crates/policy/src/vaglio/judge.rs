//! The judge: how well a finished proposal fits each end, from -1 to 1. It sees the proposal and the telos and nothing
//! of the proposer's reasoning. Where no model judges, words are compared: an estimate, marked as one, which may only
//! ever make the sieve finer.

use std::collections::BTreeSet;
use std::future::Future;

use crate::text::words::fold;
use crate::vaglio::telos::Telos;

/// What a judge is shown: the proposal as the owner would read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown<'a> {
    /// In a line.
    pub title: &'a str,
    /// What would be done.
    pub effect: &'a str,
    /// Whether that can be undone.
    pub reversible: bool,
}

/// Why nothing was judged. The proposal then stays unasked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the judge has not judged: {0}")]
pub struct JudgeError(pub String);

/// A person who says how well a proposal fits each end.
pub trait Judge {
    /// Who judges, as the chronicle has it.
    fn name(&self) -> &'static str;

    /// Whether this is only an estimate: then the thresholds are higher.
    fn is_estimate(&self) -> bool;

    /// One number an end, in their order, from -1 (works against it) to 1 (serves it).
    ///
    /// # Errors
    /// When there is no judgement; nothing is put in its place.
    fn judge(&self, shown: Shown<'_>, ends: &[Telos]) -> impl Future<Output = Result<Vec<f64>, JudgeError>>;
}

/// Compares words. It knows no meaning, so it is an estimate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lexical;

/// Words that say nothing about an end, in both languages, as their first letters.
const EMPTY: [&str; 28] = [
    "about", "after", "again", "alla", "anche", "before", "come", "dalla", "della", "delle", "from", "have", "into",
    "nella", "only", "over", "quand", "quell", "quest", "sono", "sulla", "that", "their", "there", "they", "this",
    "when", "with",
];
/// The shortest word that counts, in characters.
const MIN_WORD: usize = 4;
/// As much of a word as is compared: endings of number, gender and time fall away.
const STEM: usize = 5;
/// That many words in common are a whole fit.
const WHOLE: usize = 4;
/// What an end loses against a proposal that cannot be undone while the end speaks of undoing.
const AGAINST: f64 = -0.5;
/// The stems by which an end says that it cares for the way back.
const WAY_BACK: [&str; 5] = ["undon", "rever", "annul", "recov", "recup"];

impl Judge for Lexical {
    fn name(&self) -> &'static str {
        "lexical"
    }

    fn is_estimate(&self) -> bool {
        true
    }

    async fn judge(&self, shown: Shown<'_>, ends: &[Telos]) -> Result<Vec<f64>, JudgeError> {
        let proposal = stems(&[shown.title, shown.effect]);
        Ok(ends
            .iter()
            .map(|end| {
                let end = stems(&[&end.slug, &end.phrase, &end.note]);
                if !shown.reversible && end.iter().any(|stem| WAY_BACK.contains(&stem.as_str())) {
                    return AGAINST;
                }
                fit(proposal.intersection(&end).count())
            })
            .collect())
    }
}

#[allow(clippy::cast_precision_loss, reason = "four words at most")]
fn fit(common: usize) -> f64 {
    common.min(WHOLE) as f64 / WHOLE as f64
}

fn stems(texts: &[&str]) -> BTreeSet<String> {
    texts
        .iter()
        .flat_map(|text| fold(text).split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect::<Vec<_>>())
        .filter(|word| word.chars().count() >= MIN_WORD)
        .map(|word| word.chars().take(STEM).collect::<String>())
        .filter(|stem| !EMPTY.contains(&stem.as_str()))
        .collect()
}

/// Runs what never waits to its end; for judges that ask nobody.
#[cfg(test)]
pub(crate) fn at_once<T>(work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    match work.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => panic!("it waits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vaglio::telos::{parse, tests::SHIPPED};

    fn judged(title: &str, effect: &str, reversible: bool) -> Vec<f64> {
        at_once(Lexical.judge(Shown { title, effect, reversible }, &parse(SHIPPED).unwrap())).unwrap()
    }

    #[test]
    fn words_in_common_fit_and_others_do_not() {
        let tidy = judged("Keep the papers findable", "Notes and documents of the household go where one looks", true);
        assert!(tidy[0] > 0.9 && tidy[1] < 0.3, "{tidy:?}");
        assert_eq!(judged("Zzz", "", true), [0.0, 0.0, 0.0]);
    }

    #[test]
    fn irreversible_act_scores_against_a_reversibility_telos() {
        assert_eq!(judged("Shown, checked, undone", "prefer what can be explained", false)[2], AGAINST);
        assert!(judged("Shown, checked, undone", "prefer what can be explained", true)[2] > 0.5);
    }
}
