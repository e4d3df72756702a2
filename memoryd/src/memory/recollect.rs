//! What is remembered, asked by the owner or for a turn: turns that answer, why they are there, and the traces.

use std::path::Path;

use metnos_proto::envelope::Recalled;
use metnos_proto::msg::common::{RefusalCode, Trust};
use metnos_proto::msg::memoryd::{MAX_RECALLED, Recollect, Recollected, Rehearse, SearchMemory};
use metnos_rank::history::{History, Past};
use metnos_rank::order::{Context, followers};
use serde_json::{Value, json};

use super::record::refused;
use super::{CHUNK, Memory, Told, records};
use crate::chronicle::Chronicle;
use crate::chronicle::event::{Event, trust_name};
use crate::chronicle::index::TurnFacts;
use crate::chronicle::store::is_damage;
use crate::chronicle::time::instant_text;
use crate::error::{Error, Result};
use crate::mnestome::derive::{last_success, successes};
use crate::recall::store::Store;
use crate::recall::{self, Change, Hit};
use crate::rehearsal::Rehearsal;
use crate::tiers::envelope::{MAX_EVIDENCE, MAX_EVIDENCE_CHARS};
use crate::traces::{Link, Traces};

/// How much of a remembered turn is shown, in characters.
pub const MAX_SHOWN_CHARS: usize = 1_200;
/// How many lines of the chain are followed from a remembered one.
pub const MAX_PATH: u32 = 64;
/// How many earlier requests are looked at for what was used.
const MAX_PAST: usize = 12;
/// How many mnests of the last executor are looked at.
const MAX_FOLLOWERS: usize = 64;

/// Opens the index of what was said; one that is damaged, or ahead of the chronicle, is moved aside and begun anew.
pub(super) fn open_store(path: &Path, chronicle: &mut Chronicle) -> Result<Store> {
    let why = match Store::open(path) {
        Ok(store) if store.applied() <= chronicle.head().seq => return Ok(store),
        Ok(store) => format!("it knows event {}, the chronicle ends at {}", store.applied(), chronicle.head().seq),
        Err(error) if is_damage(&error) => error.to_string(),
        Err(Error::Version { found, known, .. }) if found < known => format!("it has version {found}"),
        Err(error) => return Err(error),
    };
    let aside = crate::aside::move_database(path)?;
    chronicle.tell("recall_rebuilt", format!("recall.sqlite was not usable ({why}); moved to {aside}"));
    Store::open(path)
}

impl Memory {
    /// Makes everything durable that was said findable.
    ///
    /// # Errors
    /// When the chronicle cannot be read or the index not be written; what was applied stays.
    pub fn catch_up_recall(&mut self) -> Result<()> {
        loop {
            let rows = self.chronicle.index().rows_from(self.recall.applied() + 1, CHUNK)?;
            let Some(last) = rows.last().map(|row| row.seq) else { return Ok(()) };
            let changes: Vec<Change> = rows
                .iter()
                .filter(|row| row.kind.is_some_and(Change::concerns))
                .map(|row| Ok(Change::of(&self.chronicle.read(row)?)))
                .filter_map(Result::transpose)
                .collect::<Result<_>>()?;
            recall::apply(&mut self.recall, &changes, last)?;
        }
    }

    /// Looks for traces, when it is time to.
    pub(super) fn trace(&mut self) {
        let now = self.mnestome.now();
        if !self.traces.due(now) {
            return;
        }
        let found = self.mnestome.list().and_then(|mnests| {
            let links: Vec<Link> = mnests.iter().filter_map(Link::of).collect();
            let found = Traces::find(&links, &self.traces, now);
            found.store(&self.mnestome_folder).map(|()| found)
        });
        match found {
            Ok(found) => self.traces = found,
            // Tried again with the next event: nothing depends on them.
            Err(error) => tracing::error!(%error, "the traces are as they were"),
        }
    }

    /// The owner asks what is remembered.
    ///
    /// # Errors
    /// When the question is no text, there is no such line, or memory cannot be read.
    pub fn recollect(&mut self, word: &Recollect, beside: &[u8]) -> Told<(Recollected, Vec<u8>)> {
        let (items, found) = match word {
            Recollect::Search(search) => {
                let question = std::str::from_utf8(beside)
                    .map_err(|_| refused(RefusalCode::Invalid, "memory.question", "the question is not UTF-8"))?;
                let items = self.search(search, question)?;
                (items.len(), Value::Array(items))
            }
            Recollect::Late(search) => self.late(search)?,
            Recollect::Explain(seq) => (1, self.explain(*seq)?),
            Recollect::Traces => {
                let traces = serde_json::to_value(&self.traces)
                    .map_err(|error| refused(RefusalCode::Internal, "memory.format", error.to_string()))?;
                (self.traces.traces.len(), traces)
            }
        };
        answer(items, &found)
    }

    fn search(&mut self, word: &SearchMemory, question: &str) -> Told<Vec<Value>> {
        self.catch_up_recall()?;
        let today = self.today();
        let limit = word.limit.min(MAX_RECALLED) as usize;
        let hits = recall::search(&mut self.recall, &word.peer, question, today, limit)?;
        let most = hits.first().map_or(1.0, |hit| hit.parts.total());
        hits.iter().map(|hit| self.item(hit, most)).filter_map(Result::transpose).collect()
    }

    /// A turn as it is shown; `None` when its words were taken out meanwhile.
    fn item(&self, hit: &Hit, most: f64) -> Told<Option<Value>> {
        let Some((event, speaker, text)) = self.said_in(hit.doc.doc)? else { return Ok(None) };
        let parts = hit.parts;
        Ok(Some(json!({
            "seq": event.seq,
            "ts": instant_text(event.ts_ms),
            "peer": event.peer,
            "speaker": speaker,
            "trust": trust_name(event.trust),
            "session": hit.doc.session,
            "turn": event.turn_id.map(|id| id.to_string()),
            "text": cut(text, MAX_SHOWN_CHARS),
            "score": rounded(parts.total() / most.max(f64::MIN_POSITIVE)),
            "parts": {
                "words": rounded(parts.words),
                "session": rounded(parts.session),
                "neighbours": rounded(parts.neighbours),
                "speaker": rounded(parts.speaker),
                "date": rounded(parts.date),
                "kind": rounded(parts.kind),
                "salience": rounded(parts.salience),
                "trust": rounded(parts.trust),
            },
        })))
    }

    /// The event of that line, who speaks in it and what is said, if anything is.
    fn said_in(&self, seq: u64) -> Told<Option<(Event, String, String)>> {
        let Some(row) = self.chronicle.index().row(seq)? else { return Ok(None) };
        let event = self.chronicle.read(&row)?;
        Ok(match Change::of(&event) {
            Some(Change::Said { speaker, text, .. }) => Some((event, speaker, text)),
            Some(Change::TakenOut(_) | Change::Shown(_) | Change::Called) | None => None,
        })
    }

    /// What an item rests on: its words, the lines that caused it, and the lines of the chain that follow it.
    fn explain(&self, seq: u64) -> Told<Value> {
        let Some(row) = self.chronicle.index().row(seq)? else {
            let why = format!("the chronicle has no line {seq}");
            return Err(refused(RefusalCode::Unknown, "memory.line", why));
        };
        let event = self.chronicle.read(&row)?;
        let said = Change::of(&event).and_then(|change| match change {
            Change::Said { speaker, text, .. } => {
                Some(json!({ "speaker": speaker, "text": cut(text, MAX_SHOWN_CHARS) }))
            }
            Change::TakenOut(_) | Change::Shown(_) | Change::Called => None,
        });
        let mut causes = Vec::new();
        let mut cause = event.parent;
        while let Some(earlier) = cause.filter(|earlier| *earlier < causes.last().map_or(seq, |(seq, _)| *seq)) {
            let Some(row) = self.chronicle.index().row(earlier)? else { break };
            let event = self.chronicle.read(&row)?;
            cause = event.parent;
            causes.push((earlier, line_of(&event)));
        }
        let mut path = Vec::new();
        let mut holds = true;
        let mut before = event.prev_hash;
        for row in self.chronicle.index().rows_from(seq, MAX_PATH)? {
            let event = self.chronicle.read(&row)?;
            let links = event.prev_hash == before && event.computed_hash() == event.hash;
            holds &= links;
            before = event.hash;
            path.push(json!({ "seq": event.seq, "prev_hash": event.prev_hash.to_string(), "hash": event.hash.to_string(), "holds": links }));
        }
        Ok(json!({
            "item": line_of(&event),
            "peer": event.peer,
            "trust": trust_name(event.trust),
            "said": said,
            "causes": causes.into_iter().map(|(_, line)| line).collect::<Vec<_>>(),
            "path": path,
            "holds": holds,
            "head": self.chronicle.head().seq,
        }))
    }

    /// What the principal of a turn said longer ago that bears on these words, best first. Own words only: whatever
    /// else was said may come from anything that was read. Nothing, when it cannot be looked up.
    pub(super) fn hits(&mut self, facts: &TurnFacts, words: &str) -> Vec<Hit> {
        let before = facts.said.unwrap_or(0);
        let today = self.today();
        let hits = self
            .catch_up_recall()
            .and_then(|()| recall::search(&mut self.recall, &facts.peer, words, today, MAX_RECALLED as usize));
        let mut hits = hits.unwrap_or_else(|error| {
            tracing::error!(%error, "nothing is recalled for this turn");
            Vec::new()
        });
        hits.retain(|hit| {
            let clean = matches!(hit.doc.trust, Trust::Owner | Trust::Paired | Trust::Guest);
            clean && hit.doc.doc < before && hit.parts.words > 0.0
        });
        hits
    }

    /// The hits as a planner is shown them, without what it is shown anyway.
    pub(super) fn recalled(&self, hits: &[Hit], shown: &[u64]) -> Vec<Recalled> {
        let most = hits.first().map_or(1.0, |hit| hit.parts.total()).max(f64::MIN_POSITIVE);
        let own = hits.iter().filter(|hit| !shown.contains(&hit.doc.doc));
        let read = |hit: &Hit| match self.said_in(hit.doc.doc) {
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

    /// What was used when the principal asked for something like it.
    fn past(&self, facts: &TurnFacts, hits: &[Hit]) -> Result<History> {
        let before = facts.said.unwrap_or(0);
        let mut past = Vec::new();
        for hit in hits.iter().take(MAX_PAST) {
            let Some(turn) = self.chronicle.index().row(hit.doc.doc)?.and_then(|row| row.turn) else { continue };
            let used = successes(&records(&self.chronicle, turn, before)?).into_iter().map(|id| id.name).collect();
            let Ok(Some((.., asked))) = self.said_in(hit.doc.doc) else { continue };
            past.push(Past { asked, used });
        }
        Ok(History::of(&past))
    }

    /// What was used for requests like this one; what the executor leads to that succeeded last in the principal's turn
    /// before, and its trace.
    pub(super) fn context(&self, facts: &TurnFacts, hits: &[Hit]) -> Result<Context> {
        let before = facts.said.unwrap_or(0);
        let past = self.past(facts, hits)?;
        let Some(turn) = self.chronicle.index().said_by(&facts.peer, before, 1)?.pop().and_then(|row| row.turn) else {
            return Ok(Context { past, ..Context::default() });
        };
        let Some(last) = last_success(&records(&self.chronicle, turn, before)?) else {
            return Ok(Context { past, ..Context::default() });
        };
        let mnests = self.mnestome.neighbours(&last.name, &last.version, MAX_FOLLOWERS)?;
        let trace = self.traces.of(&last.name, &last.version).map_or(&[][..], |trace| &trace.members);
        Ok(Context {
            followers: followers(mnests.into_iter().map(|one| (one.name, one.weight))),
            trace: trace.iter().map(|(name, _)| name.clone()).collect(),
            past,
        })
    }

    /// A measurement, where nothing has been lived.
    ///
    /// # Errors
    /// When somebody has spoken here, or what came beside the ask is not of its form.
    pub fn rehearse(&mut self, word: &Rehearse, beside: &[u8]) -> Told<(Recollected, Vec<u8>)> {
        self.catch_up_recall()?;
        if self.recall.count()? > 0 || self.mnestome.count()? > 0 {
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
        answer(items, &found)
    }
}

fn answer(items: usize, found: &Value) -> Told<(Recollected, Vec<u8>)> {
    let bytes = serde_json::to_vec(found)
        .map_err(|error| refused(RefusalCode::Internal, "memory.format", error.to_string()))?;
    Ok((Recollected { items: u32::try_from(items).unwrap_or(u32::MAX) }, bytes))
}

fn line_of(event: &Event) -> Value {
    json!({
        "seq": event.seq,
        "ts": instant_text(event.ts_ms),
        "event_type": event.kind.name(),
        "emitter": event.emitter.text(),
        "payload_sha256": event.payload_sha256.to_string(),
        "hash": event.hash.to_string(),
    })
}

fn cut(mut text: String, chars: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(chars) {
        text.truncate(end);
    }
    text
}

/// Three digits are enough for an order that is told.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
