//! How well each turn of a scope answers a question: BM25 of its words, then what surrounds it. It reads no text.
//!
//! The sum is the design's (memory §5), each part normalised by its maximum, and so were its weights: the turn's own words
//! 1; its session's 0.7; the turn before 0.4, after 0.2, two before 0.3, two after 0.2; speaker and date named 0.5. On ten
//! public conversations (LoCoMo, categories 1 to 4) a little less of the neighbours and a little more of speaker and date
//! finds more (`bench/README.md`). Small ones of the same kind stand beside them: a turn that tells a time when a time is asked for, a
//! number when a number is, less for a turn that only asks; a turn that shares no word is
//! found by what surrounds it; kinds find their members; words that say little count less;
//! and each further turn of one session stands a little behind those of others.

use super::Today;
use super::store::{Doc, MARK_NUMBER, MARK_QUESTION, MARK_TIME, Scope, Store, stems_of};
use super::when::{self, Span};
use crate::error::Result;
use metnos_proto::msg::common::Trust;
use metnos_rank::lexicon;
use metnos_rank::words::words;

/// The weights of the parts, and the constants of BM25.
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    /// BM25: how soon more of the same word tells nothing new.
    pub k1: f64,
    /// BM25: how much the length of a turn or session counts.
    pub b: f64,
    /// The session's own score.
    pub session: f64,
    /// The turn before, after, two before, two after.
    pub neighbours: [f64; 4],
    /// Its speaker is named.
    pub speaker: f64,
    /// Its date is named.
    pub date: f64,
    /// It tells a time and one is asked for.
    pub time: f64,
    /// It tells a number and one is asked for.
    pub number: f64,
    /// It only asks.
    pub asks: f64,
    /// A member or synonym of a word of the question, beside the word itself.
    pub related: f64,
    /// A word that says little, beside one that does not.
    pub light: f64,
    /// The least that its neighbours must give a turn that shares no word.
    pub open: f64,
    /// What each better turn of the same session costs.
    pub crowd: f64,
    /// What a turn that was shown in every turn is worth more than one that never was.
    pub salience: f64,
}

/// See [`Weights`].
pub const WEIGHTS: Weights = Weights {
    k1: 0.8,
    b: 0.5,
    session: 0.7,
    neighbours: [0.35, 0.17, 0.25, 0.15],
    speaker: 0.7,
    date: 0.8,
    time: 0.2,
    number: 0.1,
    asks: -0.15,
    related: 0.4,
    light: 0.7,
    open: 0.25,
    crowd: 0.15,
    salience: 0.1,
};

/// A stem that stands in more turns than this, and in more than one of [`COMMON_SHARE`], is read as a stop-word.
pub const COMMON: usize = 4096;
/// See [`COMMON`].
pub const COMMON_SHARE: usize = 16;
/// The most words of a question that are looked up, and the most related words of each.
pub const MAX_CONCEPTS: usize = 24;
/// See [`MAX_CONCEPTS`].
pub const MAX_RELATED: usize = 16;
/// How many of the best are looked at again, so that no session crowds the others out.
pub const MAX_HEAD: usize = 64;

/// So many of the best are spread over sessions: who reads no more than these sees more than one evening's talk, and who
/// reads on gets what was said beside it.
pub const SPREAD: usize = 5;

/// What a turn's score is made of.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Parts {
    /// Its own words, in [0, 1].
    pub words: f64,
    /// Its session, weighed.
    pub session: f64,
    /// Its neighbours, weighed.
    pub neighbours: f64,
    /// The speaker, weighed.
    pub speaker: f64,
    /// The date, weighed: what the chronological path says.
    pub date: f64,
    /// Whether it tells what kind of thing is asked for, weighed.
    pub kind: f64,
    /// How much it was of use before, weighed.
    pub salience: f64,
    /// By how much the sum was multiplied for its trust.
    pub trust: f64,
}

impl Parts {
    /// The whole.
    #[must_use]
    pub fn total(&self) -> f64 {
        let relevance = self.words + self.session + self.neighbours + self.speaker + self.date + self.kind;
        (relevance + self.salience) * self.trust
    }
}

/// A turn and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// Its place in the scope.
    pub place: usize,
    /// What its score is made of.
    pub parts: Parts,
}

/// A question as it is looked up.
#[derive(Debug, Clone)]
pub struct Question {
    /// All its words, folded.
    pub heard: Vec<String>,
    /// Those that carry meaning and name no speaker.
    pub meant: Vec<String>,
    /// The speakers that it names.
    pub speakers: Vec<u16>,
    /// The times that it names.
    pub spans: Vec<Span>,
    /// When it is asked, and by which clock days are told.
    pub today: Today,
}

impl Question {
    /// Hears a question that is asked of this scope today.
    #[must_use]
    pub fn of(text: &str, scope: &Scope, today: Today) -> Self {
        let heard = words(text);
        let names: Vec<Vec<String>> = scope.speakers.iter().map(|name| words(name)).collect();
        let is_named = |name: &Vec<String>| name.iter().any(|part| part.len() > 1 && heard.contains(part));
        let speakers =
            (0_u16..).zip(&names).filter(|(_, name)| is_named(name)).map(|(number, _)| number).collect::<Vec<_>>();
        let mut meant: Vec<String> = Vec::new();
        for word in heard.iter().filter(|word| !lexicon::is_stop(word)) {
            if !meant.contains(word) && !names.iter().any(|name| name.contains(word)) && meant.len() < MAX_CONCEPTS {
                meant.push(word.clone());
            }
        }
        // Nothing but names and small words: then these are what is asked for.
        if meant.is_empty() {
            meant = heard.iter().filter(|word| !lexicon::is_stop(word)).take(MAX_CONCEPTS).cloned().collect();
        }
        let range = scope.docs.first().zip(scope.docs.last());
        let spans = range.map_or_else(Vec::new, |(first, last)| {
            when::spans(text, today.day, today.day_of(first.ts_ms), today.day_of(last.ts_ms))
        });
        Self { heard, meant, speakers, spans, today }
    }
}

/// What the words of a question give each turn and each session, both normalised.
struct Lexical {
    turns: Vec<f64>,
    sessions: Vec<f64>,
}

/// Robertson's weight of a word that stands in `with` of `all`: never below what a word is worth that stands everywhere.
#[allow(clippy::cast_precision_loss, reason = "numbers of turns")]
fn rarity(with: usize, all: usize) -> f64 {
    let (with, all) = (with as f64, all as f64);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

/// Finds the turns of one word of the question after the other, on the same paper.
struct Finder<'a> {
    store: &'a Store,
    scope: &'a Scope,
    weights: &'a Weights,
    average: f64,
    most: usize,
    /// Of each turn the best score of this word or what is related to it, and how often that stands there.
    best: Vec<(f64, f64)>,
}

impl Finder<'_> {
    /// The turns that have a word or what is related to it, in order: place, score, how often.
    fn turns(&mut self, word: &str) -> Result<Vec<(usize, f64, f64)>> {
        let light = if lexicon::is_light(word) { self.weights.light } else { 1.0 };
        let mut touched = Vec::new();
        let mut seen = Vec::new();
        let related =
            lexicon::related(word).iter().take(MAX_RELATED).map(|other| (*other, light * self.weights.related));
        for (word, weight) in std::iter::once((word, light)).chain(related) {
            for stem in stems_of(self.scope, word) {
                if seen.contains(&stem) {
                    continue;
                }
                let places = self.store.places(self.scope, &stem, self.most)?;
                seen.push(stem);
                self.add(&places.unwrap_or_default(), weight, &mut touched);
            }
        }
        touched.sort_unstable();
        Ok(touched
            .into_iter()
            .map(|place| {
                let (score, times) = std::mem::take(&mut self.best[place]);
                (place, score, times)
            })
            .collect())
    }

    fn add(&mut self, places: &[(u32, u32)], weight: f64, touched: &mut Vec<usize>) {
        let rarity = rarity(places.len(), self.scope.docs.len());
        for (place, times) in places {
            let place = *place as usize;
            let (times, length) = (f64::from(*times), f64::from(self.scope.docs[place].words));
            let score = weight * rarity * self.saturated(times, length, self.average);
            if self.best[place].0 == 0.0 {
                touched.push(place);
            }
            if score > self.best[place].0 {
                self.best[place] = (score, weight * times);
            }
        }
    }

    fn saturated(&self, times: f64, length: f64, average: f64) -> f64 {
        let Weights { k1, b, .. } = self.weights;
        times * (k1 + 1.0) / (times + k1 * (1.0 - b + b * length / average.max(1.0)))
    }
}

#[allow(clippy::cast_precision_loss, reason = "numbers of words")]
fn lexical(store: &Store, scope: &Scope, question: &Question, weights: &Weights) -> Result<Lexical> {
    let count = scope.docs.iter().map(|doc| doc.session as usize + 1).max().unwrap_or(0);
    let mut lengths = vec![0.0; count];
    for doc in &scope.docs {
        lengths[doc.session as usize] += f64::from(doc.words);
    }
    let total: f64 = lengths.iter().sum();
    let held = lengths.iter().filter(|length| **length > 0.0).count();
    let session_average = total / held.max(1) as f64;
    let mut finder = Finder {
        store,
        scope,
        weights,
        average: total / scope.docs.len().max(1) as f64,
        most: COMMON.max(scope.docs.len() / COMMON_SHARE),
        best: vec![(0.0, 0.0); scope.docs.len()],
    };
    let mut turns = vec![0.0; scope.docs.len()];
    let mut sessions = vec![0.0; count];
    for word in &question.meant {
        let mut times: Vec<(usize, f64)> = Vec::new();
        for (place, score, times_here) in finder.turns(word)? {
            turns[place] += score;
            let session = scope.docs[place].session as usize;
            match times.last_mut() {
                Some((last, sum)) if *last == session => *sum += times_here,
                _ => times.push((session, times_here)),
            }
        }
        let rarity = rarity(times.len(), held);
        for (session, times) in times {
            sessions[session] += rarity * finder.saturated(times, lengths[session], session_average);
        }
    }
    normalise(&mut turns);
    normalise(&mut sessions);
    Ok(Lexical { turns, sessions })
}

fn normalise(scores: &mut [f64]) {
    let most = scores.iter().copied().fold(0.0, f64::max);
    if most > 0.0 {
        scores.iter_mut().for_each(|score| *score /= most);
    }
}

/// By how much a turn's score is multiplied for where it comes from.
const fn trusted(trust: Trust) -> f64 {
    match trust {
        Trust::Owner | Trust::Paired | Trust::Guest | Trust::System => 1.0,
        Trust::Tool => 0.9,
        Trust::Web => 0.8,
    }
}

/// The best turns of a scope for a question, best first, equals in the order in which they were said.
///
/// # Errors
/// When the index cannot be read.
pub fn best(store: &Store, scope: &Scope, question: &Question, weights: &Weights, limit: usize) -> Result<Vec<Scored>> {
    let lexical = lexical(store, scope, question, weights)?;
    let mut asked = Vec::new();
    if when::asks_when(&question.heard) {
        asked.push((MARK_TIME, weights.time));
    }
    if when::asks_how_many(&question.heard) {
        asked.push((MARK_NUMBER, weights.number));
    }
    let mut found = Vec::new();
    for (place, doc) in scope.docs.iter().enumerate() {
        let date =
            question.spans.iter().map(|span| span.nearness(question.today.day_of(doc.ts_ms))).fold(0.0, f64::max);
        let words = lexical.turns[place];
        let neighbours = neighbours(&scope.docs, &lexical.turns, place, weights);
        // What shares no word is found by its date, or between turns that do.
        if words == 0.0 && date == 0.0 && neighbours < weights.open {
            continue;
        }
        let told: f64 = asked.iter().filter(|(mark, _)| doc.marks & mark != 0).map(|(_, weight)| weight).sum();
        let parts = Parts {
            words,
            session: weights.session * lexical.sessions[doc.session as usize],
            neighbours,
            speaker: if question.speakers.contains(&doc.speaker) { weights.speaker } else { 0.0 },
            date: weights.date * date,
            kind: told + if doc.marks & MARK_QUESTION == 0 { 0.0 } else { weights.asks },
            salience: weights.salience * doc.salience_at(store.calls()),
            trust: trusted(doc.trust),
        };
        found.push(Scored { place, parts });
    }
    let head = MAX_HEAD.max(limit);
    if found.len() > head {
        found.select_nth_unstable_by(head, better);
        found.truncate(head);
    }
    found.sort_by(better);
    Ok(spread(&scope.docs, found, weights, limit))
}

fn better(one: &Scored, two: &Scored) -> std::cmp::Ordering {
    two.parts.total().total_cmp(&one.parts.total()).then(one.place.cmp(&two.place))
}

/// Takes the best one after the other; among the first [`SPREAD`] each further one of a session stands a little behind.
fn spread(docs: &[Doc], mut found: Vec<Scored>, weights: &Weights, limit: usize) -> Vec<Scored> {
    let mut taken: Vec<Scored> = Vec::new();
    while taken.len() < limit && !found.is_empty() {
        let crowd = if taken.len() < SPREAD { weights.crowd } else { 0.0 };
        let standing = |one: &Scored| {
            let session = docs[one.place].session;
            let before = taken.iter().filter(|other| docs[other.place].session == session).count();
            one.parts.total() - crowd * f64::from(u32::try_from(before).unwrap_or(u32::MAX))
        };
        let mut next = (0, f64::NEG_INFINITY);
        for (at, one) in found.iter().enumerate() {
            let standing = standing(one);
            if standing > next.1 {
                next = (at, standing);
            }
        }
        taken.push(found.remove(next.0));
    }
    taken
}

/// What the turns around one of the same session add to it.
fn neighbours(docs: &[Doc], scores: &[f64], place: usize, weights: &Weights) -> f64 {
    let beside = |at: Option<usize>| {
        at.filter(|at| docs.get(*at).is_some_and(|doc| doc.session == docs[place].session)).map_or(0.0, |at| scores[at])
    };
    let around = [place.checked_sub(1), place.checked_add(1), place.checked_sub(2), place.checked_add(2)];
    around.into_iter().zip(weights.neighbours).map(|(at, weight)| weight * beside(at)).sum()
}
