//! What a line rests on: its words, the lines that caused it, and the lines of the chain that follow it.

use metnos_proto::doc::memory::{ChainLink, Explanation, LineRef, SaidWords};
use metnos_proto::msg::common::RefusalCode;

use super::super::journal::{Answer, refused};
use super::{MAX_SHOWN_CHARS, cut};
use crate::chronicle::Chronicle;
use crate::chronicle::event::{Event, trust_name};
use crate::chronicle::time::instant_text;
use crate::recall::Change;

/// How many lines of the chain are followed from a remembered one.
pub const MAX_PATH: u32 = 64;

/// What an item rests on: its words, the lines that caused it, and the lines of the chain that follow it.
///
/// # Errors
/// When there is no such line, or the chronicle cannot be read.
pub(in crate::memory) fn explain(chronicle: &Chronicle, seq: u64) -> Answer<Explanation> {
    let Some(row) = chronicle.index().row(seq)? else {
        let why = format!("the chronicle has no line {seq}");
        return Err(refused(RefusalCode::Unknown, "memory.line", why));
    };
    let event = chronicle.read(&row)?;
    let said = Change::of(&event).and_then(|change| match change {
        Change::Said { speaker, text, .. } => Some(SaidWords { speaker, text: cut(text, MAX_SHOWN_CHARS) }),
        Change::TakenOut(_) | Change::Shown(_) | Change::Called => None,
    });
    let mut causes = Vec::new();
    let mut cause = event.parent;
    while let Some(earlier) = cause.filter(|earlier| *earlier < causes.last().map_or(seq, |(seq, _)| *seq)) {
        let Some(row) = chronicle.index().row(earlier)? else { break };
        let event = chronicle.read(&row)?;
        cause = event.parent;
        causes.push((earlier, line_of(&event)));
    }
    let mut path = Vec::new();
    let mut holds = true;
    let mut before = event.prev_hash;
    for row in chronicle.index().rows_from(seq, MAX_PATH)? {
        let event = chronicle.read(&row)?;
        let links = event.prev_hash == before && event.computed_hash() == event.hash;
        holds &= links;
        before = event.hash;
        let (prev_hash, hash) = (event.prev_hash.to_string(), event.hash.to_string());
        path.push(ChainLink { seq: event.seq, prev_hash, hash, holds: links });
    }
    Ok(Explanation {
        item: line_of(&event),
        trust: trust_name(event.trust).to_owned(),
        peer: event.peer,
        said,
        causes: causes.into_iter().map(|(_, line)| line).collect(),
        path,
        holds,
        head: chronicle.head().seq,
    })
}

fn line_of(event: &Event) -> LineRef {
    LineRef {
        seq: event.seq,
        ts: instant_text(event.ts_ms),
        event_type: event.kind.name().to_owned(),
        emitter: event.emitter.text().to_owned(),
        payload_sha256: event.payload_sha256.to_string(),
        hash: event.hash.to_string(),
    }
}
