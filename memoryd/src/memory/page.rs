//! Pages for people on a channel: what happened, without what was said or done in it. The words stay where their own
//! conversation is; the whole stays at the machine.

use metnos_proto::msg::memoryd::{PageOf, PageQuery, QueryResult};
use serde_json::json;

use super::look::Page;
use super::{Memory, Told};
use crate::chronicle::event::{Event, trust_name};
use crate::chronicle::time;

/// How many rows of the index one page goes through at most.
const MAX_ROWS: u32 = 1_024;
/// How many rows of the index are read at once.
const ROWS: u32 = 256;
/// The most mnests that are shown at all.
const MAX_MNESTS: u64 = 10_000;

impl Memory {
    /// policyd: one page.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn query_page(&mut self, wanted: &PageQuery) -> Told<(QueryResult, Vec<u8>)> {
        let page = match wanted {
            PageQuery::Audit(wanted) => self.happened(wanted)?,
            PageQuery::Mnests(wanted) => self.used(wanted)?,
        };
        Ok(page.told())
    }

    fn happened(&mut self, wanted: &PageOf) -> Told<Page> {
        self.flush()?;
        let mut page = Page::default();
        let mut before = if wanted.from == 0 { u64::MAX } else { wanted.from };
        let (mut found, mut left) = (0, MAX_ROWS);
        loop {
            let rows = self.chronicle.index().rows_before(before, ROWS)?;
            let Some(last) = rows.last().map(|row| row.seq) else { return Ok(page) };
            for row in &rows {
                if found == wanted.lines {
                    page.next = row.seq + 1;
                    return Ok(page);
                }
                let event = self.chronicle.read(row)?;
                if wanted.principal.is_empty() || event.peer == wanted.principal {
                    page.add(&outline(&event))?;
                    found += 1;
                }
            }
            before = last;
            left = left.saturating_sub(ROWS);
            if left == 0 {
                page.next = before;
                return Ok(page);
            }
        }
    }

    fn used(&mut self, wanted: &PageOf) -> Told<Page> {
        let mut page = Page::default();
        let end = wanted.from.min(MAX_MNESTS).saturating_add(wanted.lines.into());
        let all = self.mnestome.top("", usize::try_from(end + 1).unwrap_or(usize::MAX))?;
        for mnest in all.iter().skip(usize::try_from(wanted.from).unwrap_or(usize::MAX)).take(wanted.lines as usize) {
            page.add(mnest)?;
        }
        page.next = if all.len() as u64 > end && end <= MAX_MNESTS { end } else { 0 };
        Ok(page)
    }
}

/// What happened, without a word of it: the executor is the only part of a payload that is shown.
fn outline(event: &Event) -> serde_json::Value {
    let payload: serde_json::Value = serde_json::from_str(&event.payload).unwrap_or_default();
    let text = |key: &str| payload[key].as_str().map(|text| text.chars().take(64).collect::<String>());
    let mut outline = json!({
        "seq": event.seq, "ts": time::instant_text(event.ts_ms), "event_type": event.kind.name(),
        "emitter": event.emitter.text(), "peer": event.peer, "trust": trust_name(event.trust),
        "hash": event.hash.to_string(),
    });
    for (key, value) in [
        ("turn", event.turn_id.map(|turn| turn.to_string())),
        ("trace", event.trace_id.map(|trace| trace.to_string())),
        ("channel", event.channel.map(|channel| channel.name().to_owned())),
        ("executor", text("executor")),
        ("verdict", text("verdict")),
        ("outcome", text("outcome")),
    ] {
        if let Some(value) = value {
            outline[key] = json!(value);
        }
    }
    outline
}
