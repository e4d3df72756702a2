//! Which executors fit these words in this context: pure, larger is better. It chooses nothing, it only orders.
//!
//! Lexical: the stems that a field shares with the words, each by how few executors have it, and
//! the character trigrams (so that what no stem finds, a spelling or an inflection, still
//! counts); a field is worth what it tells of the purpose: examples most, then the name, then
//! the summary. Context: how much of what the executor that succeeded last leads to leads
//! here, one hop (design: memory §2), and whether both are of one trace. Each part is
//! normalised by its maximum.

use std::collections::{BTreeMap, HashMap, HashSet};

use metnos_proto::envelope::Candidate;

use crate::recall::lexicon;
use crate::recall::words::{Tongue, stemmed, words};

const EXAMPLES: f64 = 3.0;
const NAME: f64 = 2.0;
const SUMMARY: f64 = 1.0;
/// What shared trigrams are worth beside shared stems.
const GRAMS: f64 = 0.5;
/// What the mnests are worth beside the words.
pub const MNESTS: f64 = 1.0;
/// What being of the same trace is worth beside the words.
pub const TRACE: f64 = 0.1;

/// What happened just before, as far as ranking needs it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Context {
    /// The executors that the last one's mnests lead to, with their weights.
    pub followers: Vec<(String, f64)>,
    /// The executors of its trace.
    pub trace: Vec<String>,
}

/// An executor as ranking reads it.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub summary: &'a str,
    /// Requests it serves.
    pub examples: &'a [String],
}

impl<'a> Fields<'a> {
    const fn of(candidate: &'a Candidate) -> Self {
        Self {
            name: candidate.name.as_str(),
            summary: candidate.summary.as_str(),
            examples: candidate.examples.as_slice(),
        }
    }
}

/// How well each executor fits the words, in [0, 1]; all 0 when none shares anything with them.
#[must_use]
pub fn lexical(asked: &str, executors: &[Fields<'_>]) -> Vec<f64> {
    let asked = Bag::of(asked);
    let bags: Vec<[Vec<Bag>; 3]> = executors
        .iter()
        .map(|one| {
            let examples = one.examples.iter().map(|example| Bag::of(example)).collect();
            [examples, vec![Bag::of(&spaced(one.name))], vec![Bag::of(one.summary)]]
        })
        .collect();
    let rarity = Rarity::of(&bags);
    let weights = [EXAMPLES, NAME, SUMMARY];
    let best = |field: &Vec<Bag>| field.iter().map(|bag| asked.overlap(bag, &rarity)).fold(0.0, f64::max);
    let mut scores: Vec<f64> = bags
        .iter()
        .map(|fields| fields.iter().zip(weights).map(|(field, weight)| weight * best(field)).sum())
        .collect();
    normalise(&mut scores);
    scores
}

/// How well each executor fits the words and the context.
#[must_use]
pub fn scores(asked: &str, executors: &[Fields<'_>], context: &Context) -> Vec<f64> {
    let mut mnests: Vec<f64> = executors
        .iter()
        .map(|one| context.followers.iter().filter(|(name, _)| name == one.name).map(|(_, weight)| weight).sum())
        .collect();
    normalise(&mut mnests);
    let trace = |one: &Fields<'_>| if context.trace.iter().any(|name| name == one.name) { TRACE } else { 0.0 };
    let lexical = lexical(asked, executors);
    executors
        .iter()
        .zip(lexical.iter().zip(&mnests))
        .map(|(one, (words, mnest))| words + MNESTS * mnest + trace(one))
        .collect()
}

/// The order by score, best first, equals by name: places among `executors`.
#[must_use]
pub fn order(asked: &str, executors: &[Fields<'_>], context: &Context) -> Vec<usize> {
    let scores = scores(asked, executors, context);
    let mut order: Vec<usize> = (0..executors.len()).collect();
    order.sort_by(|one, two| {
        scores[*two].total_cmp(&scores[*one]).then_with(|| executors[*one].name.cmp(executors[*two].name))
    });
    order
}

/// Orders candidates by their score and keeps the first `limit`.
#[must_use]
pub fn ranked(asked: &str, candidates: Vec<Candidate>, context: &Context, limit: usize) -> Vec<Candidate> {
    let fields: Vec<Fields<'_>> = candidates.iter().map(Fields::of).collect();
    let order = order(asked, &fields, context);
    let mut waiting: Vec<Option<Candidate>> = candidates.into_iter().map(Some).collect();
    order.into_iter().take(limit).filter_map(|at| waiting[at].take()).collect()
}

fn normalise(scores: &mut [f64]) {
    let most = scores.iter().copied().fold(0.0, f64::max);
    if most > 0.0 {
        scores.iter_mut().for_each(|score| *score /= most);
    }
}

/// `getStockInfo` as `get Stock Info`.
fn spaced(name: &str) -> String {
    let mut spaced = String::new();
    let mut small = false;
    for c in name.chars() {
        if small && c.is_uppercase() {
            spaced.push(' ');
        }
        small = c.is_lowercase() || c.is_numeric();
        spaced.push(c);
    }
    spaced
}

/// How much a stem tells: the more, the fewer executors have it.
struct Rarity {
    of: HashMap<String, f64>,
    unknown: f64,
}

impl Rarity {
    #[allow(clippy::cast_precision_loss, reason = "numbers of executors")]
    fn of(bags: &[[Vec<Bag>; 3]]) -> Self {
        let mut with: HashMap<&str, usize> = HashMap::new();
        for fields in bags {
            let own: HashSet<&str> =
                fields.iter().flatten().flat_map(|bag| bag.stems.iter().map(String::as_str)).collect();
            for stem in own {
                *with.entry(stem).or_default() += 1;
            }
        }
        let all = bags.len() as f64;
        let rarity = |with: usize| (1.0 + (all - with as f64 + 0.5) / (with as f64 + 0.5)).ln();
        Self { of: with.into_iter().map(|(stem, with)| (stem.to_owned(), rarity(with))).collect(), unknown: rarity(0) }
    }

    fn mass<'a>(&self, stems: impl Iterator<Item = &'a String>) -> f64 {
        stems.map(|stem| self.of.get(stem).copied().unwrap_or(self.unknown)).sum()
    }
}

struct Bag {
    stems: HashSet<String>,
    grams: HashSet<[char; 3]>,
}

impl Bag {
    fn of(text: &str) -> Self {
        let heard = words(text);
        let meant = heard.iter().filter(|word| !lexicon::is_stop(word));
        let mut stems: HashSet<String> =
            meant.flat_map(|word| [stemmed(word, Tongue::English), stemmed(word, Tongue::Italian)]).collect();
        // Where there is nothing else, small words are what there is to go by.
        if stems.is_empty() {
            stems = heard.iter().cloned().collect();
        }
        let grams = heard
            .iter()
            .flat_map(|word| {
                let padded: Vec<char> = [' '].into_iter().chain(word.chars()).chain([' ']).collect();
                padded.windows(3).map(|three| [three[0], three[1], three[2]]).collect::<Vec<_>>()
            })
            .collect();
        Self { stems, grams }
    }

    /// In [0, 1 + GRAMS]: how much the two share, relative to both.
    fn overlap(&self, other: &Self, rarity: &Rarity) -> f64 {
        let shared = rarity.mass(self.stems.intersection(&other.stems));
        let both = rarity.mass(self.stems.iter()) * rarity.mass(other.stems.iter());
        let stems = if both > 0.0 { shared / both.sqrt() } else { 0.0 };
        stems + GRAMS * dice(&self.grams, &other.grams)
    }
}

#[allow(clippy::cast_precision_loss, reason = "numbers of trigrams")]
fn dice<T: Eq + std::hash::Hash>(one: &HashSet<T>, two: &HashSet<T>) -> f64 {
    let all = one.len() + two.len();
    if all == 0 { 0.0 } else { 2.0 * one.intersection(two).count() as f64 / all as f64 }
}

/// What a list of mnests leads to, each executor once.
#[must_use]
pub fn followers(mnests: impl IntoIterator<Item = (String, f64)>) -> Vec<(String, f64)> {
    let mut found: BTreeMap<String, f64> = BTreeMap::new();
    for (name, weight) in mnests {
        *found.entry(name).or_default() += weight;
    }
    found.into_iter().collect()
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

    fn names(words: &str, context: &Context, limit: usize) -> Vec<String> {
        ranked(words, pool(), context, limit).into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn words_find_their_executor_in_both_languages() {
        let best = |words: &str| names(words, &Context::default(), 1).remove(0);
        assert_eq!(best("read notes/welcome.md"), "fs_read");
        assert_eq!(best("leggi notes/welcome.md"), "fs_read");
        assert_eq!(best("how many words are in notes/welcome.md"), "text_stats");
        assert_eq!(best("quante parole ci sono"), "text_stats");
        assert_eq!(best("elenca notes"), "fs_list");
    }

    #[test]
    fn all_are_kept_up_to_the_limit_and_the_order_is_total() {
        assert_eq!(names("nothing in common: xyzzy", &Context::default(), 16).len(), 3);
        assert_eq!(names("", &Context::default(), 16), ["fs_list", "fs_read", "text_stats"]);
        assert_eq!(names("read", &Context::default(), 2).len(), 2);
    }

    #[test]
    fn what_usually_follows_comes_first_when_the_words_say_nothing() {
        let followers = vec![("text_stats".to_owned(), 0.15), ("fs_read".to_owned(), 0.3)];
        let context = Context { followers, trace: Vec::new() };
        assert_eq!(names("go on", &context, 3), ["fs_read", "text_stats", "fs_list"]);
        // And the words still count for as much.
        assert_eq!(names("quante parole", &context, 1), ["text_stats"]);
    }

    #[test]
    fn of_equals_the_one_of_the_same_trace_comes_first() {
        let context = Context { followers: Vec::new(), trace: vec!["text_stats".to_owned()] };
        assert_eq!(names("", &context, 1), ["text_stats"]);
    }

    #[test]
    fn a_name_is_read_as_its_words() {
        assert_eq!(spaced("getStockInfo_v2"), "get Stock Info_v2");
        let tools = [("closeTicket", "Ends it."), ("getStockInfo", "Looks it up.")];
        let fields: Vec<Fields<'_>> =
            tools.iter().map(|(name, summary)| Fields { name, summary, examples: &[] }).collect();
        assert_eq!(order("what is the stock at", &fields, &Context::default()), [1, 0]);
    }

    #[test]
    fn an_executor_of_several_versions_is_followed_once() {
        let both = followers([("b".to_owned(), 0.1), ("a".to_owned(), 0.2), ("b".to_owned(), 0.3)]);
        assert_eq!(both, [("a".to_owned(), 0.2), ("b".to_owned(), 0.4)]);
    }
}
