//! What is remembered of what was said: turns that answer a question, for the owner or for a turn.

mod again;
mod context;
mod explain;

pub(super) use again::words_of;
pub(super) use context::context;
pub(super) use explain::explain;

use std::path::Path;

use metnos_proto::doc::memory::{RememberedTurn, ScoreParts};
use metnos_proto::envelope::Recalled;
use metnos_proto::msg::common::{RefusalCode, Trust};
use metnos_proto::msg::memoryd::{MAX_RECALLED, Recollected, Rehearse, SearchMemory};
use serde::Serialize;

use self::again::SaidAgain;
use super::journal::{Answer, refused};
use super::projection::{self, CHUNK};
use crate::at_rest::Keys;
use crate::chronicle::Chronicle;
use crate::chronicle::event::{Event, trust_name};
use crate::chronicle::index::TurnFacts;
use crate::chronicle::time::instant_text;
use crate::error::Result;
use crate::recall::store::Store;
use crate::recall::{self, Change, Hit, Today};
use crate::rehearsal::Rehearsal;
use crate::tiers::envelope::{MAX_EVIDENCE, MAX_EVIDENCE_CHARS};

/// How much of a remembered turn is shown, in characters.
pub const MAX_SHOWN_CHARS: usize = 1_200;

/// The index of what was said, and what is rehearsed instead of lived.
#[derive(Debug)]
pub(super) struct Recollection {
    store: Store,
    rehearsal: Option<Rehearsal>,
    /// When the same was said before.
    pub(super) again: SaidAgain,
}

impl Recollection {
    /// Opens the index.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(super) fn open(path: &Path, chronicle: &mut Chronicle, keys: &Keys) -> Result<Self> {
        let open = |path: &Path| Store::open(path, keys.clone());
        let store = projection::open(path, chronicle, "recall_rebuilt", open, Store::applied)?;
        Ok(Self { store, rehearsal: None, again: SaidAgain::default() })
    }

    /// Makes everything durable that was said findable.
    ///
    /// # Errors
    /// When the chronicle cannot be read or the index not be written; what was applied stays.
    pub(super) fn catch_up(&mut self, chronicle: &Chronicle) -> Result<()> {
        loop {
            let rows = chronicle.index().rows_from(self.store.applied() + 1, CHUNK)?;
            let Some(last) = rows.last().map(|row| row.seq) else { return Ok(()) };
            let changes: Vec<Change> = rows
                .iter()
                .filter(|row| row.kind.is_some_and(Change::concerns))
                .map(|row| Ok(Change::of(&chronicle.read(row)?)))
                .filter_map(Result::transpose)
                .collect::<Result<_>>()?;
            recall::apply(&mut self.store, &changes, last)?;
        }
    }

    /// The turns that answer a question, best first.
    ///
    /// # Errors
    /// When the chronicle or the index cannot be read.
    pub(super) fn search(
        &mut self,
        chronicle: &Chronicle,
        word: &SearchMemory,
        question: &str,
        today: Today,
    ) -> Answer<Vec<RememberedTurn>> {
        self.catch_up(chronicle)?;
        let limit = word.limit.min(MAX_RECALLED) as usize;
        let hits = recall::search(&mut self.store, &word.peer, question, today, limit)?;
        let most = hits.first().map_or(1.0, |hit| hit.parts.total());
        hits.iter().map(|hit| item(chronicle, hit, most)).filter_map(Result::transpose).collect()
    }

    /// What the person who speaks in a turn, as these principals, said longer ago that bears on these words, best first. Own words
    /// only: whatever else was said may come from anything that was read. Nothing, when it cannot be looked up.
    pub(super) fn hits(
        &mut self,
        chronicle: &Chronicle,
        (facts, person): (&TurnFacts, &[&str]),
        words: &str,
        today: Today,
    ) -> Vec<Hit> {
        let before = facts.said.unwrap_or(0);
        let most = MAX_RECALLED as usize;
        let hits = self.catch_up(chronicle).and_then(|()| {
            let mut hits = Vec::new();
            for principal in person {
                hits.extend(recall::search(&mut self.store, principal, words, today.clone(), most)?);
            }
            Ok(hits)
        });
        let mut hits = hits.unwrap_or_else(|error| {
            tracing::error!(%error, "nothing is recalled for this turn");
            Vec::new()
        });
        // Within one principal they are in this order already.
        hits.sort_by(|one, other| other.parts.total().total_cmp(&one.parts.total()));
        hits.truncate(most);
        hits.retain(|hit| {
            let clean = matches!(hit.doc.trust, Trust::Owner | Trust::Paired | Trust::Guest);
            clean && hit.doc.doc < before && hit.parts.words > 0.0
        });
        hits
    }

    /// A measurement, where nothing has been lived.
    ///
    /// # Errors
    /// When something was said here, or what came beside the ask is not of its form.
    pub(super) fn rehearse(
        &mut self,
        chronicle: &Chronicle,
        mnests: u64,
        word: &Rehearse,
        beside: &[u8],
    ) -> Answer<(Recollected, Vec<u8>)> {
        self.catch_up(chronicle)?;
        if self.store.count()? > 0 || mnests > 0 {
            let why = "a measurement needs an instance in which nothing was said yet";
            return Err(refused(RefusalCode::Denied, "rehearsal.lived", why));
        }
        let mut rehearsal = match self.rehearsal.take() {
            Some(rehearsal) => rehearsal,
            None => Rehearsal::new()?,
        };
        let done = rehearsal.perform(word, beside);
        self.rehearsal = Some(rehearsal);
        let (items, found) = done?;
        found_items(items, &found)
    }
}

/// A turn as it is shown; `None` when its words were taken out meanwhile.
fn item(chronicle: &Chronicle, hit: &Hit, most: f64) -> Answer<Option<RememberedTurn>> {
    let Some((event, speaker, text)) = said_in(chronicle, hit.doc.doc)? else { return Ok(None) };
    let parts = hit.parts;
    Ok(Some(RememberedTurn {
        seq: event.seq,
        ts: instant_text(event.ts_ms),
        peer: event.peer,
        speaker,
        trust: trust_name(event.trust).to_owned(),
        session: hit.doc.session.into(),
        turn: event.turn_id.map(|id| id.to_string()),
        text: cut(text, MAX_SHOWN_CHARS),
        score: rounded(parts.total() / most.max(f64::MIN_POSITIVE)),
        parts: ScoreParts {
            words: rounded(parts.words),
            session: rounded(parts.session),
            neighbours: rounded(parts.neighbours),
            speaker: rounded(parts.speaker),
            date: rounded(parts.date),
            kind: rounded(parts.kind),
            salience: rounded(parts.salience),
            trust: rounded(parts.trust),
        },
    }))
}

/// The event of that line, who speaks in it and what is said, if anything is.
fn said_in(chronicle: &Chronicle, seq: u64) -> Answer<Option<(Event, String, String)>> {
    let Some(row) = chronicle.index().row(seq)? else { return Ok(None) };
    let event = chronicle.read(&row)?;
    Ok(match Change::of(&event) {
        Some(Change::Said { speaker, text, .. }) => Some((event, speaker, text)),
        Some(Change::TakenOut(_) | Change::Shown(_) | Change::Called) | None => None,
    })
}

/// The hits as a planner is shown them, without what it is shown anyway.
pub(super) fn recalled(chronicle: &Chronicle, hits: &[Hit], shown: &[u64]) -> Vec<Recalled> {
    let most = hits.first().map_or(1.0, |hit| hit.parts.total()).max(f64::MIN_POSITIVE);
    let own = hits.iter().filter(|hit| !shown.contains(&hit.doc.doc));
    let read = |hit: &Hit| match said_in(chronicle, hit.doc.doc) {
        Ok(Some((event, _, text))) => Some(Recalled {
            seq: event.seq,
            ts: instant_text(event.ts_ms),
            relevance: rounded(hit.parts.total() / most),
            text: cut(text, MAX_EVIDENCE_CHARS),
        }),
        Ok(None) | Err(_) => None,
    };
    own.filter_map(read).take(MAX_EVIDENCE).collect()
}

/// The answer of a recollection: how many items, and the document.
pub(super) fn found_items(items: usize, found: &impl Serialize) -> Answer<(Recollected, Vec<u8>)> {
    let bytes = serde_json::to_vec(found)
        .map_err(|error| refused(RefusalCode::Internal, "memory.format", error.to_string()))?;
    Ok((Recollected { items: u32::try_from(items).unwrap_or(u32::MAX) }, bytes))
}

fn cut(mut text: String, chars: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(chars) {
        text.truncate(end);
    }
    text
}

/// Three digits are enough for an order that is shown.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
