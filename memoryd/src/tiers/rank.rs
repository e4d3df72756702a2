//! Which executors fit these words: a pure lexical score, larger is better. It chooses nothing, it only orders.
//!
//! Words shared with a field count whole, their character trigrams count less (so that
//! `words` still finds `word`, and Italian inflections find each other); a field is worth
//! what it tells of the purpose: examples most, then the name, then the summary.

use std::collections::HashSet;

use metnos_proto::envelope::Candidate;

const EXAMPLES: f64 = 3.0;
const NAME: f64 = 2.0;
const SUMMARY: f64 = 1.0;
/// What a shared trigram is worth beside a shared word.
const GRAMS: f64 = 0.5;

/// The score of an executor for these words; 0 when they share nothing.
#[must_use]
pub fn score(words: &str, candidate: &Candidate) -> f64 {
    let asked = Bag::of(words);
    let example = candidate.examples.iter().map(|example| asked.overlap(&Bag::of(example))).fold(0.0, f64::max);
    let name = asked.overlap(&Bag::of(&candidate.name));
    let summary = asked.overlap(&Bag::of(&candidate.summary));
    EXAMPLES * example + NAME * name + SUMMARY * summary
}

/// Orders candidates by their score, best first, equals by name, and keeps the first `limit`.
#[must_use]
pub fn ranked(words: &str, candidates: Vec<Candidate>, limit: usize) -> Vec<Candidate> {
    let mut scored: Vec<(f64, Candidate)> =
        candidates.into_iter().map(|candidate| (score(words, &candidate), candidate)).collect();
    scored.sort_by(|(one, a), (two, b)| two.total_cmp(one).then_with(|| a.name.cmp(&b.name)));
    scored.into_iter().take(limit).map(|(_, candidate)| candidate).collect()
}

struct Bag {
    words: HashSet<String>,
    grams: HashSet<[char; 3]>,
}

impl Bag {
    fn of(text: &str) -> Self {
        let lower = text.to_lowercase();
        let words: HashSet<String> =
            lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let grams = words
            .iter()
            .flat_map(|word| {
                let padded: Vec<char> = [' '].into_iter().chain(word.chars()).chain([' ']).collect();
                padded.windows(3).map(|three| [three[0], three[1], three[2]]).collect::<Vec<_>>()
            })
            .collect();
        Self { words, grams }
    }

    /// In [0, 1 + GRAMS]: how much the two share, relative to both.
    fn overlap(&self, other: &Self) -> f64 {
        dice(&self.words, &other.words) + GRAMS * dice(&self.grams, &other.grams)
    }
}

#[allow(clippy::cast_precision_loss, reason = "numbers of words")]
fn dice<T: Eq + std::hash::Hash>(one: &HashSet<T>, two: &HashSet<T>) -> f64 {
    let all = one.len() + two.len();
    if all == 0 { 0.0 } else { 2.0 * one.intersection(two).count() as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(name: &str, summary: &str, examples: &[&str]) -> Candidate {
        Candidate {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            summary: summary.to_owned(),
            examples: examples.iter().map(|text| (*text).to_owned()).collect(),
            class: "read".to_owned(),
            input: serde_json::json!({}),
            output: serde_json::json!({}),
            roles: Vec::new(),
        }
    }

    fn pool() -> Vec<Candidate> {
        vec![
            candidate("fs_list", "List a folder of the workspace.", &["list notes", "elenca la cartella notes"]),
            candidate(
                "fs_read",
                "Read a file of the workspace.",
                &["read notes/journal.md", "leggi la lista della spesa"],
            ),
            candidate(
                "text_stats",
                "Count lines, words and characters.",
                &["how many words are in notes/a.md", "quante parole"],
            ),
        ]
    }

    fn best(words: &str) -> String {
        ranked(words, pool(), 1).remove(0).name
    }

    #[test]
    fn words_find_their_executor_in_both_languages() {
        assert_eq!(best("read notes/welcome.md"), "fs_read");
        assert_eq!(best("leggi notes/welcome.md"), "fs_read");
        assert_eq!(best("how many words are in notes/welcome.md"), "text_stats");
        assert_eq!(best("quante parole ci sono"), "text_stats");
        assert_eq!(best("elenca notes"), "fs_list");
    }

    #[test]
    fn all_are_kept_up_to_the_limit_and_the_order_is_total() {
        assert_eq!(ranked("nothing in common: xyzzy", pool(), 16).len(), 3);
        let names: Vec<String> = ranked("", pool(), 16).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["fs_list", "fs_read", "text_stats"]);
        assert_eq!(ranked("read", pool(), 2).len(), 2);
    }
}
