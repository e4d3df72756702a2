//! The other side of the recent talk: what came of the words of a turn that is over.
//!
//! What was said to a person may stem from anything that was read in the turn: a page, a mail, another one's file. So it is
//! shown only of a turn that policyd has called clean; of the others, what sandboxd has recorded, without arguments.

use metnos_proto::envelope::{Answered, RanBefore};
use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::planner::TurnEnd;

use super::super::clean_turns::CleanTurns;
use super::super::journal::{Answer, records, refused};
use crate::chronicle::Chronicle;
use crate::chronicle::index::{IndexRow, TurnFacts};
use crate::chronicle::payload;
use crate::mnestome::derive::ends;

/// What came of the words in this line; `None` when their turn is not over.
///
/// # Errors
/// When the chronicle cannot be read.
pub(super) fn answered(
    chronicle: &Chronicle,
    clean: &CleanTurns,
    said: &IndexRow,
    before: u64,
) -> Answer<Option<Answered>> {
    let Some(turn) = said.turn else { return Ok(None) };
    let Some(facts) = chronicle.index().turn(turn)? else { return Ok(None) };
    if facts.closed.is_none() && facts.delivered.is_none() {
        return Ok(None);
    }
    let (ended, text) = delivered(chronicle, &facts)?;
    let ran = ends(&records(chronicle, turn, before)?)
        .into_iter()
        .map(|(id, outcome)| RanBefore { executor: id.name, outcome: outcome.name().to_owned() });
    let withheld = !clean.has(turn, &facts.peer);
    let text = if withheld { String::new() } else { text };
    Ok(Some(Answered { ended, text, withheld, ran: ran.collect() }))
}

/// How the turn ended, and what the person was told; the latter is empty when the owner has had it taken out.
fn delivered(chronicle: &Chronicle, facts: &TurnFacts) -> Answer<(String, String)> {
    let broken = || TurnEnd::Broken.name().to_owned();
    let Some(row) = facts.delivered.map(|seq| chronicle.index().row(seq)).transpose()?.flatten() else {
        return Ok((broken(), String::new()));
    };
    let event = chronicle.read(&row)?;
    if event.is_redacted() {
        return Ok((TurnEnd::Answered.name().to_owned(), String::new()));
    }
    payload::AssistantMessage::decode(&event.payload)
        .map(|answer| (answer.end, answer.text))
        .map_err(|error| refused(RefusalCode::Internal, "envelope.answer", error.to_string()))
}
