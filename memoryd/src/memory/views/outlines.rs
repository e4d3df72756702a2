//! Outlines of events for people on a channel: what happened, without what was said or done in it. The words stay in their
//! own conversation.

use metnos_proto::doc::chronicle::EventOutline;
use metnos_proto::msg::memoryd::PageOf;
use serde::Deserialize;

use super::super::journal::Answer;
use super::{Page, newest_first};
use crate::chronicle::Chronicle;
use crate::chronicle::event::{Event, trust_name};
use crate::chronicle::time;

/// How many rows of the index one page goes through at most.
const MAX_ROWS: u32 = 1_024;

/// A page of outlines, the newest first.
///
/// # Errors
/// When the chronicle cannot be read.
pub(in crate::memory) fn page(chronicle: &Chronicle, wanted: &PageOf) -> Answer<Page> {
    newest_first(chronicle, wanted, MAX_ROWS, |row| {
        let event = chronicle.read(row)?;
        let is_wanted = wanted.principal.is_empty() || event.peer == wanted.principal;
        Ok(is_wanted.then(|| outline(&event)))
    })
}

/// What of a payload may be shown.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Shown {
    executor: Option<String>,
    verdict: Option<String>,
    outcome: Option<String>,
}

/// What happened, without a word of it: the executor is the only part of a payload that is shown.
fn outline(event: &Event) -> EventOutline {
    let shown: Shown = serde_json::from_str(&event.payload).unwrap_or_default();
    let cut = |text: Option<String>| text.map(|text| text.chars().take(64).collect::<String>());
    EventOutline {
        seq: event.seq,
        ts: time::instant_text(event.ts_ms),
        event_type: event.kind.name().to_owned(),
        emitter: event.emitter.text().to_owned(),
        peer: event.peer.clone(),
        trust: trust_name(event.trust).to_owned(),
        hash: event.hash.to_string(),
        turn: event.turn_id.map(|turn| turn.to_string()),
        trace: event.trace_id.map(|trace| trace.to_string()),
        channel: event.channel.map(|channel| channel.name().to_owned()),
        executor: cut(shown.executor),
        verdict: cut(shown.verdict),
        outcome: cut(shown.outcome),
    }
}
