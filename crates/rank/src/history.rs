//! What was used when something like this was asked before. It counts only as strongly as the most similar earlier request resembles
//! this one (design: mind §3), so that a past that has nothing to do with it says nothing.

use std::collections::{BTreeSet, HashMap};

use super::lexicon;
use super::words::{Language, stemmed, words};

/// The most earlier requests that are looked at; the newest.
pub const MAX_PAST: usize = 4_096;
/// How many of the most similar ones speak.
const NEIGHBOURS: usize = 8;
/// What shared stems are worth beside shared letters, in a likeness.
const STEMS: f64 = 0.7;
/// Below this likeness two requests have nothing to do with each other.
const LEAST: f64 = 0.3;

/// An earlier request and the executors that succeeded in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// Its words.
    pub asked: String,
    /// The executors' names.
    pub used: Vec<String>,
}

/// A request as likeness sees it.
#[derive(Debug)]
struct RequestTerms {
    stems: BTreeSet<String>,
    runs: BTreeSet<[char; 3]>,
}

impl RequestTerms {
    fn of(text: &str) -> Self {
        let heard = words(text);
        let says = |word: &&String| !lexicon::is_stop(word);
        let mut stems: BTreeSet<String> =
            heard.iter().filter(says).map(|word| stemmed(word, Language::Italian)).collect();
        if stems.is_empty() {
            stems = heard.iter().cloned().collect();
        }
        let runs = heard.iter().filter(says).flat_map(|word| {
            let padded: Vec<char> = [' '].into_iter().chain(word.chars()).chain([' ']).collect();
            padded.windows(3).map(|three| [three[0], three[1], three[2]]).collect::<Vec<_>>()
        });
        Self { runs: runs.collect(), stems }
    }
}

/// Earlier requests, read once.
#[derive(Debug, Default)]
pub struct History {
    past: Vec<(RequestTerms, Vec<String>)>,
    /// In how many of them each stem stands.
    with: HashMap<String, usize>,
    /// In how many of them each executor was used.
    uses: HashMap<String, usize>,
}

impl History {
    /// Reads earlier requests, oldest first.
    #[must_use]
    pub fn of(past: &[Past]) -> Self {
        let mut history = Self::default();
        past[past.len().saturating_sub(MAX_PAST)..].iter().for_each(|one| history.add(one));
        history
    }

    /// Takes up one more; of more than [`MAX_PAST`] the oldest is forgotten.
    pub fn add(&mut self, one: &Past) {
        if self.past.len() >= MAX_PAST {
            let (gone, used) = self.past.remove(0);
            for name in used {
                if let Some(uses) = self.uses.get_mut(&name) {
                    *uses = uses.saturating_sub(1);
                }
            }
            for stem in gone.stems {
                if let Some(with) = self.with.get_mut(&stem) {
                    *with = with.saturating_sub(1);
                }
            }
        }
        let heard = RequestTerms::of(&one.asked);
        for stem in &heard.stems {
            *self.with.entry(stem.clone()).or_default() += 1;
        }
        for name in &one.used {
            *self.uses.entry(name.clone()).or_default() += 1;
        }
        self.past.push((heard, one.used.clone()));
    }

    /// How much each of `names` was used at all, whatever for, in [0, 1]: in proportion to the logarithm of how often, so that the
    /// tenth use says less than the first.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "numbers of requests")]
    pub fn prior(&self, names: &[&str]) -> Vec<f64> {
        let most = (self.uses.values().copied().max().unwrap_or(0) as f64).ln_1p();
        let uses = |name: &&str| self.uses.get(*name).copied().unwrap_or(0) as f64;
        names.iter().map(|name| if most > 0.0 { uses(name).ln_1p() / most } else { 0.0 }).collect()
    }

    #[allow(clippy::cast_precision_loss, reason = "numbers of requests")]
    fn mass<'a>(&self, stems: impl Iterator<Item = &'a String>) -> f64 {
        let all = self.past.len() as f64;
        // A stem that stands in all of them still says a little.
        stems.map(|stem| (1.5 + all / (1.0 + self.with.get(stem).copied().unwrap_or(0) as f64)).ln()).sum()
    }

    /// How alike two requests are, in [0, 1].
    #[allow(clippy::cast_precision_loss, reason = "numbers of letters")]
    fn likeness(&self, one: &RequestTerms, other: &RequestTerms) -> f64 {
        let shared = self.mass(one.stems.intersection(&other.stems));
        let both = self.mass(one.stems.iter()) * self.mass(other.stems.iter());
        let stems = if both > 0.0 { shared / both.sqrt() } else { 0.0 };
        let runs = one.runs.len() + other.runs.len();
        let letters =
            if runs == 0 { 0.0 } else { 2.0 * one.runs.intersection(&other.runs).count() as f64 / runs as f64 };
        STEMS * stems + (1.0 - STEMS) * letters
    }

    /// What each of `names` was used for requests like this one, in [0, 1]; the less the most similar one resembles, the faster it fades.
    #[must_use]
    pub fn scores(&self, asked: &str, names: &[&str]) -> Vec<f64> {
        let asked = RequestTerms::of(asked);
        let mut alike: Vec<(f64, &Vec<String>)> = self
            .past
            .iter()
            .map(|(heard, used)| (self.likeness(&asked, heard), used))
            .filter(|(how, _)| *how >= LEAST)
            .collect();
        alike.sort_by(|one, other| other.0.total_cmp(&one.0));
        alike.truncate(NEIGHBOURS);
        let most = alike.first().map_or(0.0, |(how, _)| *how);
        // The nearest speak louder than in proportion.
        let all: f64 = alike.iter().map(|(how, _)| how * how).sum();
        names
            .iter()
            .map(|name| {
                let used = alike.iter().filter(|(_, used)| used.iter().any(|one| one == name));
                if all > 0.0 { most * most * used.map(|(how, _)| how * how).sum::<f64>() / all } else { 0.0 }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn past(asked: &str, used: &[&str]) -> Past {
        Past { asked: asked.to_owned(), used: used.iter().map(|name| (*name).to_owned()).collect() }
    }

    #[test]
    fn executor_used_for_same_words_scores_high_and_others_score_zero() {
        let history = History::of(&[past("paga la bolletta del gas", &["pay"]), past("che tempo fa", &["weather"])]);
        let scores = history.scores("paga la bolletta del gas", &["pay", "weather", "other"]);
        assert!(scores[0] > 0.9 && scores[1] == 0.0 && scores[2] == 0.0, "{scores:?}");
    }

    #[test]
    fn history_score_is_scaled_by_similarity_of_nearest_request() {
        let history = History::of(&[past("paga la bolletta del gas", &["pay"])]);
        let near = history.scores("paga la bolletta della luce", &["pay"])[0];
        let far = history.scores("stampa il contratto", &["pay"])[0];
        assert!(near > 0.2 && near < 0.9 && far == 0.0, "{near} {far}");
    }

    #[test]
    fn oldest_request_is_forgotten_beyond_the_limit() {
        let mut history = History::default();
        history.add(&past("unico esemplare", &["first"]));
        for n in 0..MAX_PAST {
            history.add(&past(&format!("richiesta numero {n}"), &["other"]));
        }
        assert_eq!(history.scores("unico esemplare", &["first"]), [0.0]);
    }

    #[test]
    fn prior_follows_how_often_each_was_used_and_forgets_with_the_past() {
        let mut history = History::of(&[past("a", &["pay"]), past("b", &["pay"]), past("c", &["weather"])]);
        let prior = history.prior(&["pay", "weather", "other"]);
        assert!(prior[0] > prior[1] && prior[1] > 0.0 && prior[2] == 0.0, "{prior:?}");
        assert_eq!(History::default().prior(&["pay"]), [0.0]);
        for _ in 0..MAX_PAST {
            history.add(&past("d", &["other"]));
        }
        assert_eq!(history.prior(&["pay", "other"]), [0.0, 1.0]);
    }

    proptest! {
        #[test]
        fn history_scores_are_between_zero_and_one(asked in "\\PC{0,60}", before in "\\PC{0,60}") {
            let history = History::of(&[past(&before, &["a"])]);
            let score = history.scores(&asked, &["a"])[0];
            prop_assert!((0.0..=1.000_001).contains(&score), "{score}");
        }
    }
}
