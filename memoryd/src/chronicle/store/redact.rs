//! Taking a payload out by the owner's rite. The chain covers the payload's digest and not its bytes, so it still
//! holds; nothing else of a line can ever be changed here.
//!
//! First the event that says so is durable, then the bytes go, then what was copied from them. A process that
//! ended in between goes on at its next start: an event that is on the disk is always carried out.

use metnos_proto::msg::common::{Refusal, RefusalCode};

use crate::chronicle::event::{Event, EventType, mark};
use crate::chronicle::index::{Index, IndexRow};
use crate::chronicle::log::Log;
use crate::chronicle::view::View;
use crate::error::{Error, Result};
use crate::faults::Faults;

/// The types whose payload may be taken out: those that carry words or values of people. What the witnesses
/// compare of the others (who ran what, on which decision) stays.
pub const REDACTABLE: [EventType; 11] = [
    EventType::OwnerMessage,
    EventType::AssistantMessage,
    EventType::PolicyDecision,
    EventType::TurnClose,
    EventType::Thought,
    EventType::ToolCall,
    EventType::ToolResult,
    EventType::WorldAction,
    EventType::Approval,
    EventType::SystemEvent,
    EventType::ScheduleEvent,
];

/// Checks that an event's payload may be taken out and is still there.
///
/// # Errors
/// Why not.
pub fn check(event: &Event) -> Result<()> {
    let refused = |rule: &str, why: String| Err(Refusal::new(RefusalCode::Invalid, rule, why).into());
    if !REDACTABLE.contains(&event.kind) {
        let why = format!(
            "line {} is a {}: what it holds is no person's, and others lean on it",
            event.seq,
            event.kind.name()
        );
        return refused("redact.type", why);
    }
    if event.is_redacted() {
        return refused("redact.twice", format!("the payload of line {} was taken out before", event.seq));
    }
    if mark(event.payload.len()).is_none() {
        let bytes = event.payload.len();
        return refused(
            "redact.small",
            format!("the payload of line {} has {bytes} bytes: there is nothing in it", event.seq),
        );
    }
    Ok(())
}

/// Carries out every redaction that an event on the disk has ordered and that is not done yet; gives how many those were.
///
/// # Errors
/// When a line cannot be read or written.
pub fn carry_out(log: &Log, index: &Index, view: &mut View, faults: &mut dyn Faults) -> Result<usize> {
    let mut done = 0;
    for seq in index.redacted()? {
        let Some(row) = index.row(seq)? else { continue };
        // A line that is torn inside its payload is what an interrupted redaction leaves: its place is known.
        match log.read(row.place) {
            Ok(event) if event.is_redacted() => continue,
            Ok(_) | Err(Error::Altered(_) | Error::Locked(_)) => {}
            Err(error) => return Err(error),
        }
        write_redaction_mark(log, &row, faults)?;
        copies(index, log, view, &row)?;
        done += 1;
    }
    Ok(done)
}

/// Puts the mark in the payload's place: it begins behind the key, and ends before the hash.
fn write_redaction_mark(log: &Log, row: &IndexRow, faults: &mut dyn Faults) -> Result<()> {
    const KEY: &[u8] = b",\"payload\":";
    let line = log.read_line(row.place)?;
    let altered = |why: &str| Error::Altered(format!("line {} cannot be taken apart: {why}", row.seq));
    let at = line.windows(KEY.len()).position(|window| window == KEY).ok_or_else(|| altered("it has no payload"))?;
    let (at, end) = (at + KEY.len(), line.len().saturating_sub(crate::chronicle::line::TAIL));
    let mark = end.checked_sub(at).and_then(mark).ok_or_else(|| altered("its payload is too short"))?;
    log.put(row.place, at as u64, mark.as_bytes(), faults)
}

/// What was copied from the payload into files for people.
fn copies(index: &Index, log: &Log, view: &mut View, row: &IndexRow) -> Result<()> {
    let Some(turn) = row.turn.filter(|_| row.kind == Some(EventType::PolicyDecision)) else { return Ok(()) };
    index.begin()?;
    let rewritten = index.days_of_turn(turn)?.into_iter().try_for_each(|day| view.rewrite(index, log, day, 1));
    match rewritten {
        Ok(()) => index.commit(),
        Err(error) => {
            index.abandon();
            Err(error)
        }
    }
}
