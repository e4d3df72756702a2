//! What the owner looks at: lines, searches, proofs, what slipped in. Each look reads a bounded part and says where to
//! go on; nothing is changed by it.

use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{LinesWanted, MAX_TAIL, MnestsWanted, ProofWanted, Query, QueryResult, SearchWanted};
use serde::Serialize;
use serde_json::json;

use super::recall::MAX_TAIL_BYTES;
use super::record::refused;
use super::{Memory, Told};
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::index::IndexRow;
use crate::chronicle::secrets;
use crate::chronicle::time::Day;
use crate::chronicle::verify::prove::prove;
use crate::mnestome::ager::Proposal;

/// How many bytes of lines one look reads at most; at least one line.
pub const MAX_READ_BYTES: u64 = 32 * 1024 * 1024;
/// How many rows of the index one look goes through at most.
pub const MAX_ROWS: u32 = 100_000;
/// How many rows of the index are read at once.
const ROWS: u32 = 1024;

/// Documents, one a line, and where to go on.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: Vec<u8>,
    lines: u32,
    pub(super) next: u64,
}

impl Page {
    /// As it is told.
    pub(super) fn told(self) -> (QueryResult, Vec<u8>) {
        (QueryResult { lines: self.lines, next: self.next }, self.text)
    }

    /// Adds one document.
    pub(super) fn add(&mut self, document: &impl Serialize) -> Told<()> {
        serde_json::to_writer(&mut self.text, document)
            .map_err(|error| refused(RefusalCode::Internal, "look.format", error.to_string()))?;
        self.end_line();
        Ok(())
    }

    fn add_line(&mut self, line: &[u8]) {
        self.text.extend_from_slice(line);
        self.end_line();
    }

    fn end_line(&mut self) {
        self.text.push(b'\n');
        self.lines += 1;
    }

    fn has_room_for(&self, bytes: u64) -> bool {
        self.lines == 0 || self.text.len() as u64 + bytes <= MAX_TAIL_BYTES as u64
    }
}

impl Memory {
    /// The owner looks at something.
    ///
    /// # Errors
    /// When it is not there, or cannot be read.
    pub fn look(&mut self, look: &Query) -> Told<(QueryResult, Vec<u8>)> {
        let page = match look {
            Query::Lines(wanted) => self.lines(wanted)?,
            Query::Search(wanted) => self.sift(wanted)?,
            Query::Proof(wanted) => self.proof(wanted)?,
            Query::Secrets(from) => self.secrets(*from)?,
            Query::Mnests(wanted) => self.heaviest(wanted)?,
            Query::Proposals => list(self.proposals()?)?,
            Query::Snapshots => list(self.mnestome.snapshots()?)?,
            Query::Ledger => self.spent()?,
            Query::Fitness => list(self.mnestome.fitness()?)?,
        };
        Ok(page.told())
    }

    fn lines(&self, wanted: &LinesWanted) -> Told<Page> {
        let mut page = Page::default();
        let mut from = wanted.from.max(1);
        while from <= wanted.upto {
            let rows = self.chronicle.index().rows_from(from, ROWS)?;
            if rows.is_empty() {
                return Ok(page);
            }
            for row in rows.iter().take_while(|row| row.seq <= wanted.upto) {
                if !page.has_room_for(row.place.bytes) {
                    page.next = row.seq;
                    return Ok(page);
                }
                page.add_line(&self.chronicle.log().read_line(row.place)?);
            }
            from = rows.last().map_or(u64::MAX, |row| row.seq + 1);
        }
        Ok(page)
    }

    fn sift(&self, wanted: &SearchWanted) -> Told<Page> {
        let text = wanted.text.to_lowercase();
        let most = wanted.lines.clamp(1, MAX_TAIL);
        let mut page = Page::default();
        let mut before = if wanted.before == 0 { u64::MAX } else { wanted.before };
        let (mut rows_left, mut bytes_left) = (MAX_ROWS, MAX_READ_BYTES);
        loop {
            let rows = self.chronicle.index().rows_before(before, ROWS)?;
            let Some(last) = rows.last().map(|row| row.seq) else { return Ok(page) };
            for row in rows.iter() {
                // Times never fall, so everything further back is too old as well.
                if row.ts_ms < wanted.from_ms {
                    return Ok(page);
                }
                if !fits_row(wanted, row) {
                    continue;
                }
                bytes_left = bytes_left.saturating_sub(row.place.bytes);
                let event = self.chronicle.read(row)?;
                if !fits_event(wanted, &event, &text) {
                    continue;
                }
                if page.lines >= most || !page.has_room_for(row.place.bytes) {
                    page.next = row.seq + 1;
                    return Ok(page);
                }
                page.add_line(&self.chronicle.log().read_line(row.place)?);
            }
            before = last;
            rows_left = rows_left.saturating_sub(ROWS);
            if rows_left == 0 || bytes_left == 0 {
                page.next = before;
                return Ok(page);
            }
        }
    }

    fn proof(&self, wanted: &ProofWanted) -> Told<Page> {
        let head = self.chronicle.head().seq;
        if wanted.seq == 0 || wanted.seq > wanted.size || wanted.size > head {
            let why = format!("line {} of the first {}: the chronicle has {head} lines", wanted.seq, wanted.size);
            return Err(refused(RefusalCode::Unknown, "audit.line", why));
        }
        let proof = prove(&self.chronicle, wanted.seq, wanted.size)?;
        let row = self.chronicle.index().row(wanted.seq)?;
        let row =
            row.ok_or_else(|| refused(RefusalCode::Unknown, "audit.line", format!("there is no line {}", wanted.seq)))?;
        let line = String::from_utf8_lossy(&self.chronicle.log().read_line(row.place)?).into_owned();
        let path: Vec<String> = proof.path.iter().map(ToString::to_string).collect();
        let mut page = Page::default();
        page.add(&json!({
            "seq": proof.seq, "size": proof.size, "line": line, "path": path, "root": proof.root.to_string(),
        }))?;
        Ok(page)
    }

    fn secrets(&self, from: u64) -> Told<Page> {
        let mut page = Page::default();
        let mut next = from.max(1);
        let mut bytes_left = MAX_READ_BYTES;
        loop {
            let rows = self.chronicle.index().rows_from(next, ROWS)?;
            let Some(last) = rows.last().map(|row| row.seq) else { return Ok(page) };
            for row in &rows {
                bytes_left = bytes_left.saturating_sub(row.place.bytes);
                let payload = self.chronicle.read(row)?.payload;
                let kinds: Vec<&str> = secrets::find(&payload).iter().map(|secret| secret.kind).collect();
                if !kinds.is_empty() {
                    page.add(
                        &json!({ "seq": row.seq, "event_type": row.kind.map_or("", EventType::name), "kinds": kinds }),
                    )?;
                }
                if bytes_left == 0 {
                    page.next = row.seq + 1;
                    return Ok(page);
                }
            }
            next = last + 1;
        }
    }

    fn spent(&self) -> Told<Page> {
        let mut page = Page::default();
        page.add(&self.ledger.forecast(Day::of(self.chronicle.now_ms()))?)?;
        self.ledger.totals()?.iter().try_for_each(|total| page.add(total))?;
        Ok(page)
    }

    /// What the ager proposes; a fusion only of two that belong to one trace, as the traces are now.
    fn proposals(&self) -> Told<Vec<Proposal>> {
        let mut kept = Vec::new();
        for one in self.mnestome.proposals()? {
            if one.kind == "fusion" && one.state == "open" && !self.in_one_trace(&one.mnest)? {
                continue;
            }
            kept.push(one);
        }
        Ok(kept)
    }

    fn in_one_trace(&self, id: &str) -> Told<bool> {
        let Some(mnest) = self.mnestome.one(id)? else { return Ok(false) };
        let trace = |name: &str, version: &str| self.traces.of(name, version).map(|trace| trace.id.clone());
        let src = trace(&mnest.src_executor, &mnest.src_version);
        Ok(src.is_some() && src == trace(&mnest.dst_executor, mnest.dst_version.as_deref().unwrap_or("")))
    }

    fn heaviest(&self, wanted: &MnestsWanted) -> Told<Page> {
        let limit = usize::try_from(wanted.lines.clamp(1, MAX_TAIL)).unwrap_or(usize::MAX);
        let mut page = Page::default();
        for mnest in self.mnestome.top(&wanted.from, limit)? {
            page.add(&mnest)?;
        }
        Ok(page)
    }
}

fn list(documents: Vec<impl Serialize>) -> Told<Page> {
    let mut page = Page::default();
    documents.iter().try_for_each(|document| page.add(document))?;
    Ok(page)
}

/// What the index alone can tell.
fn fits_row(wanted: &SearchWanted, row: &IndexRow) -> bool {
    let turn_fits = || row.turn.map(|turn| turn.to_string()).is_some_and(|turn| turn.ends_with(&wanted.turn));
    (wanted.event_type.is_empty() || row.kind.is_some_and(|kind| kind.name() == wanted.event_type))
        && (wanted.until_ms == 0 || row.ts_ms < wanted.until_ms)
        && (wanted.turn.is_empty() || turn_fits())
}

fn fits_event(wanted: &SearchWanted, event: &Event, text: &str) -> bool {
    (wanted.emitter.is_empty() || event.emitter.text() == wanted.emitter)
        && (wanted.peer.is_empty() || event.peer == wanted.peer)
        && (text.is_empty() || event.payload.to_lowercase().contains(text))
}
