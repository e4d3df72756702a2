//! Lines of the chronicle for the owner: a range, a search, a proof, and what looks like a secret.

use metnos_proto::doc::chronicle::{LineProof, SecretFound};
use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{LinesWanted, MAX_TAIL, ProofWanted, SearchWanted, Tail, Tailed};
use metnos_proto::secrets as detector;

use super::super::journal::{Answer, refused};
use super::sealed::Seals;
use super::{MAX_PAGE_BYTES, Page};
use crate::at_rest::salt::unsalted;
use crate::chronicle::Chronicle;
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::index::IndexRow;
use crate::chronicle::verify::prove::prove;

/// How many bytes of lines one look reads at most; at least one line.
pub const MAX_READ_BYTES: u64 = 32 * 1024 * 1024;
/// How many rows of the index one look goes through at most.
pub const MAX_ROWS: u32 = 100_000;
/// How many rows of the index are read at once.
const ROWS: u32 = 1024;

/// The lines of a range.
///
/// # Errors
/// When the chronicle cannot be read.
pub(in crate::memory) fn lines(chronicle: &Chronicle, seals: Seals<'_>, wanted: &LinesWanted) -> Answer<Page> {
    let mut page = Page::default();
    let mut from = wanted.from.max(1);
    while from <= wanted.upto {
        let rows = chronicle.index().rows_from(from, ROWS)?;
        if rows.is_empty() {
            return Ok(page);
        }
        for row in rows.iter().take_while(|row| row.seq <= wanted.upto) {
            if !page.has_room_for(row.place.bytes) {
                page.next = row.seq;
                return Ok(page);
            }
            page.add_line(&seals.line(&chronicle.read(row)?));
        }
        from = rows.last().map_or(u64::MAX, |row| row.seq + 1);
    }
    Ok(page)
}

/// The lines that are like what is wanted, the newest first.
///
/// # Errors
/// When the chronicle cannot be read.
pub(in crate::memory) fn search(chronicle: &Chronicle, seals: Seals<'_>, wanted: &SearchWanted) -> Answer<Page> {
    let text = wanted.text.to_lowercase();
    let most = wanted.lines.clamp(1, MAX_TAIL);
    let mut page = Page::default();
    let mut before = if wanted.before == 0 { u64::MAX } else { wanted.before };
    let (mut rows_left, mut bytes_left) = (MAX_ROWS, MAX_READ_BYTES);
    loop {
        let rows = chronicle.index().rows_before(before, ROWS)?;
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
            let event = chronicle.read(row)?;
            if !fits_event(wanted, seals, &event, &text) {
                continue;
            }
            if page.lines >= most || !page.has_room_for(row.place.bytes) {
                page.next = row.seq + 1;
                return Ok(page);
            }
            page.add_line(&seals.line(&event));
        }
        before = last;
        rows_left = rows_left.saturating_sub(ROWS);
        if rows_left == 0 || bytes_left == 0 {
            page.next = before;
            return Ok(page);
        }
    }
}

/// The proof that a line is among the first so many.
///
/// # Errors
/// When there is no such line, or the chronicle cannot be read.
pub(in crate::memory) fn proof(chronicle: &Chronicle, seals: Seals<'_>, wanted: &ProofWanted) -> Answer<Page> {
    let head = chronicle.head().seq;
    if wanted.seq == 0 || wanted.seq > wanted.size || wanted.size > head {
        let why = format!("line {} of the first {}: the chronicle has {head} lines", wanted.seq, wanted.size);
        return Err(refused(RefusalCode::Unknown, "audit.line", why));
    }
    let proof = prove(chronicle, wanted.seq, wanted.size)?;
    let row = chronicle.index().row(wanted.seq)?;
    let row =
        row.ok_or_else(|| refused(RefusalCode::Unknown, "audit.line", format!("there is no line {}", wanted.seq)))?;
    let line = String::from_utf8_lossy(&seals.line(&chronicle.read(&row)?)).into_owned();
    let path: Vec<String> = proof.path.iter().map(ToString::to_string).collect();
    let mut page = Page::default();
    page.add(&LineProof { seq: proof.seq, size: proof.size, line, path, root: proof.root.to_string() })?;
    Ok(page)
}

/// The lines that hold something of the form of a secret.
///
/// # Errors
/// When the chronicle cannot be read.
pub(in crate::memory) fn secrets(chronicle: &Chronicle, from: u64) -> Answer<Page> {
    let mut page = Page::default();
    let mut next = from.max(1);
    let mut bytes_left = MAX_READ_BYTES;
    loop {
        let rows = chronicle.index().rows_from(next, ROWS)?;
        let Some(last) = rows.last().map(|row| row.seq) else { return Ok(page) };
        for row in &rows {
            bytes_left = bytes_left.saturating_sub(row.place.bytes);
            let payload = chronicle.read(row)?.payload;
            let kinds: Vec<String> =
                detector::find(&unsalted(&payload)).iter().map(|secret| secret.kind.to_owned()).collect();
            if !kinds.is_empty() {
                let event_type = row.kind.map_or("", EventType::name).to_owned();
                page.add(&SecretFound { seq: row.seq, event_type, kinds })?;
            }
            if bytes_left == 0 {
                page.next = row.seq + 1;
                return Ok(page);
            }
        }
        next = last + 1;
    }
}

/// The last lines.
///
/// # Errors
/// When they cannot be read.
pub(in crate::memory) fn tail(chronicle: &Chronicle, seals: Seals<'_>, word: &Tail) -> Answer<(Tailed, Vec<u8>)> {
    let rows = chronicle.index().last_rows(word.after, word.lines.min(MAX_TAIL))?;
    let mut kept = Vec::new();
    let mut bytes = 0;
    for row in rows.iter().rev() {
        let line = seals.line(&chronicle.read(row)?);
        bytes += line.len() + 1;
        if bytes > MAX_PAGE_BYTES && !kept.is_empty() {
            break;
        }
        kept.push(line);
    }
    let lines = u32::try_from(kept.len()).unwrap_or(u32::MAX);
    let text = kept.into_iter().rev().flat_map(|line| line.into_iter().chain([b'\n'])).collect();
    Ok((Tailed { lines, last_seq: chronicle.head().seq }, text))
}

/// What the index alone can tell.
fn fits_row(wanted: &SearchWanted, row: &IndexRow) -> bool {
    let turn_fits = || row.turn.map(|turn| turn.to_string()).is_some_and(|turn| turn.ends_with(&wanted.turn));
    (wanted.event_type.is_empty() || row.kind.is_some_and(|kind| kind.name() == wanted.event_type))
        && (wanted.until_ms == 0 || row.ts_ms < wanted.until_ms)
        && (wanted.turn.is_empty() || turn_fits())
}

/// What a sealed line says is not searched: whether it is found would tell what stands in it.
fn fits_event(wanted: &SearchWanted, seals: Seals<'_>, event: &Event, text: &str) -> bool {
    (wanted.emitter.is_empty() || event.emitter.text() == wanted.emitter)
        && (wanted.peer.is_empty() || event.peer == wanted.peer)
        && (text.is_empty() || !seals.hold(&event.peer) && unsalted(&event.payload).to_lowercase().contains(text))
}
