//! How well each turn of a scope answers a question: BM25 of its words, then what surrounds it. It reads no text.
//!
//! The sum is the design's (memory §5), each part normalised by its maximum: the turn's own words ([`super::lexical`]) 1, its
//! conversation's, those of the turns before and after it, its speaker and its date when they are named. A turn that tells a
//! time or a number counts more when one is asked for. A turn that shares no word is found by what surrounds it, and
//! each further turn of one conversation stands a little behind those of others. Own answers stand behind people's
//! words: an answer of a page repeats what it was asked, and would hide who said it. `bench/README.md` has what each is worth.

use super::Today;
use super::lexical::lexical;
use super::store::{Doc, MARK_NUMBER, MARK_TIME, Scope, Store};
pub use super::weights::{MAX_CONCEPTS, WEIGHTS, Weights};
use super::when::{self, Span};
use crate::error::Result;
use metnos_proto::msg::common::Trust;
use metnos_rank::lexicon;
use metnos_rank::words::words;

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
    /// By how much the sum was multiplied for its trust, and for being an own answer.
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
    /// Whether it asks what was answered, not what was told.
    pub own: bool,
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
        let own = asks_for_answer(&heard);
        Self { heard, meant, speakers, spans, own, today }
    }
}

/// Whether a question asks for what was answered: `what did you suggest`, `che cosa mi hai consigliato`.
fn asks_for_answer(heard: &[String]) -> bool {
    const ENGLISH: [&str; 16] = [
        "recommend",
        "recommended",
        "suggest",
        "suggested",
        "say",
        "said",
        "tell",
        "told",
        "give",
        "gave",
        "mention",
        "mentioned",
        "explain",
        "explained",
        "answer",
        "advise",
    ];
    const ITALIAN: [&str; 12] = [
        "detto",
        "consigliato",
        "suggerito",
        "spiegato",
        "risposto",
        "dato",
        "scritto",
        "proposto",
        "indicato",
        "elencato",
        "raccontato",
        "mostrato",
    ];
    let follows = |lead: &[&str], verbs: &[&str]| {
        heard.iter().enumerate().any(|(at, word)| {
            lead.contains(&word.as_str())
                && heard.iter().skip(at + 1).take(2).any(|next| verbs.contains(&next.as_str()))
        })
    };
    heard.iter().any(|word| word == "assistant" || word == "assistente")
        || follows(&["you"], &ENGLISH)
        || follows(&["hai", "avevi"], &ITALIAN)
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
    let lexical = lexical(store, scope, &question.meant, weights)?;
    let mut asked = Vec::new();
    if when::asks_when(&question.heard) {
        asked.push((MARK_TIME, weights.time));
    }
    if when::asks_how_many(&question.heard) {
        asked.push((MARK_NUMBER, weights.number));
    }
    let own = scope.own_speakers();
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
            kind: told,
            salience: weights.salience * doc.salience_at(store.calls()),
            trust: trusted(doc.trust) * if own.contains(&doc.speaker) && !question.own { weights.own } else { 1.0 },
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
