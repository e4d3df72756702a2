//! What a principal has said and was answered, for that principal's own page, and what the same person has said elsewhere: nobody
//! else's words are among them, and none that were redacted.

use metnos_proto::doc::chronicle::Exchange;
use metnos_proto::msg::memoryd::{PageOf, RememberedOf};
use metnos_rank::words::words;

use super::super::journal::Answer;
use super::{Page, newest_first};
use crate::chronicle::Chronicle;
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::index::IndexRow;
use crate::chronicle::payload::{AssistantMessage, OwnerMessage};

/// How many rows of the index one page goes through at most.
const MAX_ROWS: u32 = 4_096;

/// A page of exchanges, the newest first. A principal that is not named has none.
///
/// # Errors
/// When the chronicle cannot be read.
pub(in crate::memory) fn page(chronicle: &Chronicle, wanted: &PageOf) -> Answer<Page> {
    if wanted.principal.is_empty() {
        return Ok(Page::default());
    }
    newest_first(chronicle, wanted, MAX_ROWS, |row| match row.kind {
        Some(EventType::AssistantMessage) => exchange(chronicle, row, &[&wanted.principal]),
        Some(_) | None => Ok(None),
    })
}

/// A page of what these principals, who are one person, have said and were answered; only where the words stand that are looked for.
///
/// # Errors
/// When the chronicle cannot be read.
pub(in crate::memory) fn remembered(chronicle: &Chronicle, wanted: &RememberedOf, own: &[&str]) -> Answer<Page> {
    if wanted.page.principal.is_empty() {
        return Ok(Page::default());
    }
    let looked_for = words(&wanted.words);
    newest_first(chronicle, &wanted.page, MAX_ROWS, |row| match row.kind {
        Some(EventType::AssistantMessage) => {
            // What was taken out is remembered no more.
            let found = exchange(chronicle, row, own)?;
            Ok(found.filter(|one| !one.redacted && !one.said.is_empty() && holds(one, &looked_for)))
        }
        Some(_) | None => Ok(None),
    })
}

/// Whether each of these words, or one that begins with it, stands in what was said or answered.
fn holds(exchange: &Exchange, looked_for: &[String]) -> bool {
    let said: Vec<String> = words(&exchange.said).into_iter().chain(words(&exchange.answer)).collect();
    looked_for.iter().all(|word| said.iter().any(|one| one.starts_with(word.as_str())))
}

/// The answer of this line with what it answers; `None` where that is none of these principals'.
fn exchange(chronicle: &Chronicle, row: &IndexRow, own: &[&str]) -> Answer<Option<Exchange>> {
    let answer = chronicle.read(row)?;
    let Some(turn) = answer.turn_id.filter(|_| own.contains(&answer.peer.as_str())) else { return Ok(None) };
    let facts = chronicle.index().turn(turn)?;
    let said = match facts.and_then(|facts| facts.said) {
        Some(seq) => chronicle.index().row(seq)?.map(|row| chronicle.read(&row)).transpose()?,
        None => None,
    };
    // A line is shown only to the one whose it is, whatever the index says.
    let said = said.filter(|event| event.peer == answer.peer);
    let words = said.as_ref().and_then(|event| OwnerMessage::decode(&event.payload).ok());
    let told = AssistantMessage::decode(&answer.payload).ok();
    let redacted = answer.is_redacted() || said.as_ref().is_some_and(Event::is_redacted);
    Ok(Some(Exchange {
        turn: turn.to_string(),
        channel: answer.peer.split(':').next().unwrap_or_default().to_owned(),
        at_ms: said.as_ref().map_or(answer.ts_ms, |event| event.ts_ms),
        said: words.map_or_else(String::new, |words| words.text),
        end: told.as_ref().map_or_else(String::new, |told| told.end.clone()),
        answer: told.map_or_else(String::new, |told| told.text),
        redacted,
    }))
}
