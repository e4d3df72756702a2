//! Recall: what was said, found by the words and times of a question. It reads and ranks, and never acts.
//!
//! Two paths run together (design: memory §5): the chronological one reads which days a question names
//! ([`when`]), the other looks its words up ([`metnos_rank::words`], [`store`], [`lexical`]); [`score`] merges them into one order,
//! whose parts are shown with each item. Each peer is a scope of its own.

pub mod lexical;
pub mod score;
pub mod store;
#[cfg(test)]
mod tests;
mod weights;
pub mod when;

use metnos_calendar::Zone;
use metnos_proto::msg::common::{Channel, Trust};
use metnos_proto::msg::memoryd::MAX_QUESTION_BYTES;
use serde::Deserialize;

use crate::chronicle::event::{Event, EventType};
use crate::chronicle::payload;
use crate::chronicle::time::Day;
use crate::error::Result;
use score::{Parts, Question, WEIGHTS, best};
use store::{Doc, Store};

/// Who Metnos is when it speaks.
pub const SPEAKER_METNOS: &str = "metnos";
/// Who speaks in an own answer; the second one in conversations of a file.
pub const OWN_SPEAKERS: [&str; 2] = [SPEAKER_METNOS, "assistant"];

/// A turn that answers a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Which.
    pub doc: Doc,
    /// What its score is made of.
    pub parts: Parts,
}

/// The day on which a question is asked, and the clock by which days begin and end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Today {
    /// The day on that clock.
    pub day: Day,
    /// Where the clock stands.
    pub zone: Zone,
}

impl Today {
    /// The day on a clock at an instant.
    #[must_use]
    pub fn at(now_ms: u64, zone: Zone) -> Self {
        let mut today = Self { day: Day(0), zone };
        today.day = today.day_of(now_ms);
        today
    }

    /// The day of an instant on this clock.
    #[must_use]
    pub fn day_of(&self, ts_ms: u64) -> Day {
        let ahead = self.zone.ahead(i64::try_from(ts_ms / 1_000).unwrap_or(0));
        Day::of(ts_ms.saturating_add_signed(ahead.saturating_mul(1_000)))
    }
}

impl From<Day> for Today {
    /// A day of UTC.
    fn from(day: Day) -> Self {
        Self { day, zone: Zone::default() }
    }
}

/// Asks one peer's memory today: at most `limit` turns, best first. Of a question that is longer
/// than [`MAX_QUESTION_BYTES`] the beginning is looked up.
///
/// # Errors
/// When the index cannot be read.
pub fn search(
    store: &mut Store,
    peer: &str,
    question: &str,
    today: impl Into<Today>,
    limit: usize,
) -> Result<Vec<Hit>> {
    store.scope(peer)?;
    let Some(scope) = store.held(peer) else { return Ok(Vec::new()) };
    let end = question.floor_char_boundary(MAX_QUESTION_BYTES);
    let question = Question::of(&question[..end], scope, today.into());
    let found = best(store, scope, &question, &WEIGHTS, limit)?;
    Ok(found.into_iter().map(|one| Hit { doc: scope.docs[one.place], parts: one.parts }).collect())
}

/// What an event changes in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Somebody said something.
    Said {
        /// The line.
        seq: u64,
        /// Whose conversation it is.
        peer: String,
        /// Who speaks.
        speaker: String,
        /// When, in milliseconds since 1970.
        ts_ms: u64,
        /// The words.
        text: String,
        /// Where they come from.
        trust: Trust,
    },
    /// The payload of a line was taken out: it is to be found no more.
    TakenOut(u64),
    /// These lines were shown in a turn.
    Shown(Vec<u64>),
    /// An executor was called: the clock of use moves.
    Called,
}

impl Change {
    /// Whether events of this type can change the index.
    #[must_use]
    pub const fn concerns(kind: EventType) -> bool {
        matches!(
            kind,
            EventType::OwnerMessage
                | EventType::AssistantMessage
                | EventType::PayloadRedacted
                | EventType::TurnOpen
                | EventType::RunStarted
        )
    }

    /// Reads what an event changes; a payload that is not of its type's shape, or was taken out, changes nothing.
    #[must_use]
    pub fn of(event: &Event) -> Option<Self> {
        let said = |speaker: &str, text: String| Self::Said {
            seq: event.seq,
            peer: event.peer.clone(),
            speaker: speaker.to_owned(),
            ts_ms: event.ts_ms,
            text,
            trust: event.trust,
        };
        // What is asked by itself every day, and its answers, would be found before what a person has said.
        let is_asked_by_itself = event.channel == Some(Channel::Scheduler);
        if is_asked_by_itself && matches!(event.kind, EventType::OwnerMessage | EventType::AssistantMessage) {
            None
        } else if event.kind == EventType::OwnerMessage {
            let words = payload::OwnerMessage::decode(&event.payload).ok()?;
            Some(said(&words.standing, words.text))
        } else if event.kind == EventType::AssistantMessage {
            let words = payload::AssistantMessage::decode(&event.payload).ok()?;
            Some(said(SPEAKER_METNOS, words.text))
        } else if event.kind == EventType::TurnOpen {
            payload::TurnOpen::decode(&event.payload).ok().map(|open| Self::Shown(open.shown))
        } else if event.kind == EventType::RunStarted {
            Some(Self::Called)
        } else if event.kind == EventType::PayloadRedacted {
            #[derive(Deserialize)]
            struct Redacted {
                seq: u64,
            }
            serde_json::from_str::<Redacted>(&event.payload).ok().map(|redacted| Self::TakenOut(redacted.seq))
        } else {
            None
        }
    }
}

/// Applies changes, in the order of their events, up to line `applied`.
///
/// # Errors
/// When the database says no; then none of them is applied.
pub fn apply(store: &mut Store, changes: &[Change], applied: u64) -> Result<()> {
    let steps: Vec<store::Step<'_>> = changes
        .iter()
        .map(|change| match change {
            Change::Said { seq, peer, speaker, ts_ms, text, trust } => store::Step::Add(store::Turn {
                doc: *seq,
                peer,
                session: None,
                speaker,
                ts_ms: *ts_ms,
                text,
                trust: *trust,
            }),
            Change::TakenOut(seq) => store::Step::Forget(*seq),
            Change::Shown(lines) => store::Step::Use(lines),
            Change::Called => store::Step::Call,
        })
        .collect();
    store.apply_steps(&steps, applied)
}
