//! What the words of a question give each turn and each conversation: BM25 of whole turns and of their best passage.
//!
//! A turn of one sentence and an answer of a page are compared here. Two things keep the page from winning by its length:
//! BM25 counts a turn's length, and the words of a question must stand together, in one passage, to count in full. The
//! places of the words come from the index ([`Store::postings`]), so that no text is read.

use metnos_rank::lexicon;

use super::store::{Scope, Store};
use super::weights::{MAX_CONCEPTS, Weights};
use crate::error::Result;

/// A stem that stands in more turns than this, and in more than one of [`COMMON_SHARE`], is read as a stop-word.
pub const COMMON: usize = 4096;
/// See [`COMMON`].
pub const COMMON_SHARE: usize = 16;
/// The most related words of each word of a question that are looked up.
pub const MAX_RELATED: usize = 16;
/// How many words that carry meaning make half a passage; a passage begins at each half.
pub const HALF_PASSAGE: u32 = 16;
/// How many words a passage has, small ones included: a turn of no more words is one passage.
const PASSAGE_WORDS: u32 = 64;

/// What the words of a question give each turn and each conversation, each in [0, 1].
#[derive(Debug)]
pub struct Lexical {
    /// By the turn's place.
    pub turns: Vec<f64>,
    /// By the conversation's number.
    pub sessions: Vec<f64>,
}

/// Where a word of the question, or one that is related to it, stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    place: u32,
    /// Which of the turn's words that carry meaning it is.
    offset: u32,
    concept: u32,
    /// How much the word that stands there counts, in millionths: an order over it must be total.
    strength: u32,
}

impl Found {
    /// In which half of a passage it stands.
    const fn half(&self) -> u32 {
        self.offset / HALF_PASSAGE
    }
}

/// How long turns, passages and conversations are.
struct Lengths {
    turn: f64,
    passage: f64,
    session: f64,
    sessions: Vec<f64>,
    held: usize,
}

/// Robertson's weight of a word that stands in `with` of `all`: never below what a word is worth that stands everywhere.
#[allow(clippy::cast_precision_loss, reason = "numbers of turns")]
fn rarity(with: usize, all: usize) -> f64 {
    let (with, all) = (with as f64, all as f64);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

/// BM25's share of a word that stands there `times`, in something of this length.
fn saturated(weights: &Weights, times: f64, length: f64, average: f64) -> f64 {
    let Weights { k1, b, .. } = weights;
    times * (k1 + 1.0) / (times + k1 * (1.0 - b + b * length / average.max(1.0)))
}

/// How well the words fit the turns and conversations of a scope.
///
/// # Errors
/// When the index cannot be read.
pub fn lexical(store: &Store, scope: &Scope, meant: &[String], weights: &Weights) -> Result<Lexical> {
    let lengths = lengths(scope);
    let mut found: Vec<Found> = Vec::new();
    for (concept, word) in (0_u32..).zip(meant) {
        look_up(store, scope, weights, (concept, word), &mut found)?;
    }
    found.sort_unstable();
    let mut turns = vec![0.0; scope.docs.len()];
    for of_turn in found.chunk_by(|one, other| one.place == other.place) {
        let place = of_turn[0].place as usize;
        turns[place] = turn_score(scope, place, of_turn, weights, &lengths);
    }
    let mut sessions = session_scores(scope, &found, weights, &lengths);
    normalise(&mut turns);
    normalise(&mut sessions);
    Ok(Lexical { turns, sessions })
}

#[allow(clippy::cast_precision_loss, reason = "numbers of words")]
fn lengths(scope: &Scope) -> Lengths {
    let count = scope.docs.iter().map(|doc| doc.session as usize + 1).max().unwrap_or(0);
    let mut sessions = vec![0.0; count];
    let mut passages = 0.0;
    for doc in &scope.docs {
        sessions[doc.session as usize] += f64::from(doc.words);
        passages += f64::from(doc.words.min(PASSAGE_WORDS));
    }
    let total: f64 = sessions.iter().sum();
    let held = sessions.iter().filter(|length| **length > 0.0).count();
    let turns = scope.docs.len().max(1) as f64;
    Lengths { turn: total / turns, passage: passages / turns, session: total / held.max(1) as f64, sessions, held }
}

/// Finds where a word of the question stands, and what is related to it.
fn look_up(
    store: &Store,
    scope: &Scope,
    weights: &Weights,
    (concept, word): (u32, &String),
    found: &mut Vec<Found>,
) -> Result<()> {
    let most = COMMON.max(scope.docs.len() / COMMON_SHARE);
    let light = if lexicon::is_light(word) { weights.light } else { 1.0 };
    let related = lexicon::related(word).iter().take(MAX_RELATED).map(|other| (*other, light * weights.related));
    let mut seen = Vec::new();
    for (word, weight) in std::iter::once((word.as_str(), light)).chain(related) {
        for stem in store.stems_of(scope, word)? {
            if seen.contains(&stem) {
                continue;
            }
            let postings = store.postings(scope, &stem, most)?.unwrap_or_default();
            seen.push(stem);
            let with = postings.chunk_by(|one, other| one.place == other.place).count();
            let strength = millionths(weight * rarity(with, scope.docs.len()));
            let at = |one: &super::store::Posting| Found { place: one.place, offset: one.offset, concept, strength };
            found.extend(postings.iter().map(at));
        }
    }
    Ok(())
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a weight is small and above zero")]
fn millionths(weight: f64) -> u32 {
    (weight * 1e6) as u32
}

#[allow(clippy::cast_precision_loss, reason = "sums of weights")]
fn millions(sum: u64) -> f64 {
    sum as f64 / 1e6
}

/// What the words that stand in one turn give it: those of its best passage, and those that follow one another.
fn turn_score(scope: &Scope, place: usize, found: &[Found], weights: &Weights, lengths: &Lengths) -> f64 {
    let pairs = weights.pairs * pairs(found);
    let length = scope.docs[place].words;
    if length <= PASSAGE_WORDS {
        return concepts(found, weights, f64::from(length), lengths.turn) + pairs;
    }
    let halves: Vec<&[Found]> = found.chunk_by(|one, other| one.half() == other.half()).collect();
    let mut best = 0.0_f64;
    let mut begin = 0;
    for (at, half) in halves.iter().enumerate() {
        let next = halves.get(at + 1).filter(|next| next[0].half() == half[0].half() + 1).map_or(0, |next| next.len());
        let inside = &found[begin..begin + half.len() + next];
        best = best.max(concepts(inside, weights, f64::from(PASSAGE_WORDS), lengths.passage));
        begin += half.len();
    }
    best + pairs
}

/// What the words that stand in a conversation give it, whoever says them.
#[allow(clippy::cast_precision_loss, reason = "numbers of words")]
fn session_scores(scope: &Scope, found: &[Found], weights: &Weights, lengths: &Lengths) -> Vec<f64> {
    let mut told: Vec<(u32, u32)> =
        found.iter().map(|one| (one.concept, scope.docs[one.place as usize].session)).collect();
    told.sort_unstable();
    let mut sessions = vec![0.0; lengths.sessions.len()];
    for of_word in told.chunk_by(|one, other| one.0 == other.0) {
        let with = of_word.chunk_by(|one, other| one == other).count();
        for of_session in of_word.chunk_by(|one, other| one == other) {
            let session = of_session[0].1 as usize;
            let times = saturated(weights, of_session.len() as f64, lengths.sessions[session], lengths.session);
            sessions[session] += rarity(with, lengths.held) * times;
        }
    }
    sessions
}

/// The sum of what each word of the question gives.
fn concepts(found: &[Found], weights: &Weights, length: f64, average: f64) -> f64 {
    let mut strongest = [0_u32; MAX_CONCEPTS];
    let mut sums = [0_u64; MAX_CONCEPTS];
    for one in found {
        let at = one.concept as usize % MAX_CONCEPTS;
        strongest[at] = strongest[at].max(one.strength);
        sums[at] += u64::from(one.strength);
    }
    let one = |(strongest, sum): (u32, u64)| {
        // What is less than the word itself is less than one more of it.
        let times = millions(sum) * 1e6 / f64::from(strongest.max(1));
        f64::from(strongest) / 1e6 * saturated(weights, times, length, average)
    };
    strongest.into_iter().zip(sums).filter(|(strongest, _)| *strongest > 0).map(one).sum()
}

/// What it gives that words which follow one another in the question do so here, each such pair once.
fn pairs(found: &[Found]) -> f64 {
    let mut sum = 0.0;
    let mut done = [false; MAX_CONCEPTS];
    for two in found.windows(2) {
        let (one, next) = (&two[0], &two[1]);
        let follows = next.concept == one.concept + 1 && next.offset == one.offset + 1;
        let done = &mut done[one.concept as usize % MAX_CONCEPTS];
        if follows && !std::mem::replace(done, follows) {
            sum += millions(u64::from(one.strength.min(next.strength)));
        }
    }
    sum
}

fn normalise(scores: &mut [f64]) {
    let most = scores.iter().copied().fold(0.0, f64::max);
    if most > 0.0 {
        scores.iter_mut().for_each(|score| *score /= most);
    }
}
