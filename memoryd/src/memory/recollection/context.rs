//! What bears on the order of executors in a turn: what was used for requests like this one, and what followed from it.

use std::collections::BTreeSet;

use metnos_rank::history::{History, Past};
use metnos_rank::order::{Context, followers};

use super::super::journal::records;
use super::super::usage::Usage;
use super::said_in;
use crate::chronicle::Chronicle;
use crate::chronicle::index::TurnFacts;
use crate::error::Result;
use crate::mnestome::derive::{last_success, successes};
use crate::recall::Hit;

/// How many earlier requests are looked at for what was used.
const MAX_PAST: usize = 12;
/// How many of the principal's last requests are looked at beside them, alike or not: what is used most is likelier.
const MAX_RECENT: u32 = 16;
/// How many mnests of the last executor are looked at.
const MAX_FOLLOWERS: usize = 64;

/// What was used when the principal asked for something like it, and what was used last, oldest first.
fn past(chronicle: &Chronicle, facts: &TurnFacts, hits: &[Hit]) -> Result<History> {
    let before = facts.said.unwrap_or(0);
    let recent = chronicle.index().said_by(&facts.peer, before, MAX_RECENT)?;
    let alike = hits.iter().take(MAX_PAST).map(|hit| hit.doc.doc);
    let lines: BTreeSet<u64> = recent.iter().map(|row| row.seq).chain(alike).collect();
    let mut past = Vec::new();
    for line in lines {
        let Some(turn) = chronicle.index().row(line)?.and_then(|row| row.turn) else { continue };
        let used: Vec<String> = successes(&records(chronicle, turn, before)?).into_iter().map(|id| id.name).collect();
        if used.is_empty() {
            continue;
        }
        let Ok(Some((.., asked))) = said_in(chronicle, line) else { continue };
        past.push(Past { asked, used });
    }
    Ok(History::of(&past))
}

/// What was used for requests like this one; what the executor leads to that succeeded last in the principal's turn
/// before, and its trace.
///
/// # Errors
/// When the chronicle or the mnestome cannot be read.
pub(in crate::memory) fn context(
    chronicle: &Chronicle,
    usage: &Usage,
    facts: &TurnFacts,
    hits: &[Hit],
) -> Result<Context> {
    let before = facts.said.unwrap_or(0);
    let past = past(chronicle, facts, hits)?;
    let Some(turn) = chronicle.index().said_by(&facts.peer, before, 1)?.pop().and_then(|row| row.turn) else {
        return Ok(Context { past, ..Context::default() });
    };
    let Some(last) = last_success(&records(chronicle, turn, before)?) else {
        return Ok(Context { past, ..Context::default() });
    };
    let mnests = usage.mnestome.neighbours(&last.name, &last.version, MAX_FOLLOWERS)?;
    let trace = usage.trace_of(&last).map_or(&[][..], |trace| &trace.members);
    Ok(Context {
        followers: followers(mnests.into_iter().map(|one| (one.name, one.weight))),
        trace: trace.iter().map(|(name, _)| name.clone()).collect(),
        past,
    })
}
