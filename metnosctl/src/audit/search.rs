//! `audit search|show|scan`: what the owner looks for in the chronicle, page by page, as memoryd reads it out.

use metnos_proto::doc::chronicle::{EventLine, SecretFound};
use metnos_proto::edges::CtlMemoryd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::memoryd::{LinesWanted, MAX_TAIL, Query, SearchWanted};
use serde_json::Value;

use crate::audit::{documents, list};
use crate::command_line::cli::Search;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::screen::human::{counted, show_object};
use crate::screen::table::{Table, cell};
use crate::screen::{Ink, Screen};

fn unreadable(why: impl ToString) -> CtlError {
    CtlError::failed("the chronicle's lines", why, "check it: `metnosctl audit verify`")
}

/// One page of what is looked for, and where the next begins; 0 when there is none.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn page(reach: &mut Connection, look: Query) -> Result<(Vec<u8>, u64), CtlError> {
    let (looked, [text]) = reach.open::<CtlMemoryd>()?.query(TraceId::NONE, look, [])?;
    Ok((text.read().map_err(unreadable)?, looked.next))
}

/// The lines of a turn, oldest first.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn turn_lines(reach: &mut Connection, turn: &str) -> Result<Vec<EventLine>, CtlError> {
    let mut wanted = SearchWanted {
        text: String::new(),
        event_type: String::new(),
        emitter: String::new(),
        peer: String::new(),
        turn: turn.to_owned(),
        from_ms: 0,
        until_ms: 0,
        before: 0,
        lines: MAX_TAIL,
    };
    let mut found: Vec<EventLine> = Vec::new();
    loop {
        let (bytes, next) = page(reach, Query::Search(wanted.clone()))?;
        found.extend(documents(&bytes).map_err(unreadable)?);
        if next == 0 {
            break;
        }
        wanted.before = next;
    }
    found.sort_by_key(|line| line.seq);
    Ok(found)
}

/// `audit search`.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn search(screen: &mut Screen, reach: &mut Connection, search: &Search) -> Result<Exit, CtlError> {
    let mut wanted = SearchWanted {
        text: search.words.join(" "),
        event_type: search.event_type.clone(),
        emitter: search.by.clone(),
        peer: search.peer.clone(),
        turn: search.turn.clone(),
        from_ms: search.since.unwrap_or(0),
        until_ms: search.until.unwrap_or(0),
        before: 0,
        lines: search.lines,
    };
    let mut found: Vec<EventLine> = Vec::new();
    loop {
        let (bytes, next) = page(reach, Query::Search(wanted.clone()))?;
        found.extend(documents(&bytes).map_err(unreadable)?);
        wanted.before = next;
        wanted.lines = search.lines.saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
        if next == 0 || wanted.lines == 0 {
            break;
        }
    }
    if screen.json() {
        screen.document(&found)?;
    } else if found.is_empty() {
        screen.line("No line is like that.")?;
    } else {
        list(screen, &found)?;
    }
    Ok(Exit::Done)
}

/// `audit show`.
///
/// # Errors
/// When there is no such line, memoryd refuses or cannot be reached.
pub fn show(screen: &mut Screen, reach: &mut Connection, seq: u64) -> Result<Exit, CtlError> {
    let (bytes, _) = page(reach, Query::Lines(LinesWanted { from: seq, upto: seq }))?;
    let Some(event) = documents::<EventLine>(&bytes).map_err(unreadable)?.pop() else {
        return Err(CtlError::failed(
            format!("line {seq}"),
            "there is none",
            "`metnosctl audit tail` shows the last ones",
        ));
    };
    if screen.json() {
        screen.document(&event)?;
    } else if let Ok(Value::Object(fields)) = serde_json::to_value(&event) {
        show_object(screen, &fields, 0)?;
    }
    Ok(Exit::Done)
}

/// `audit scan`.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn scan(screen: &mut Screen, reach: &mut Connection) -> Result<Exit, CtlError> {
    let mut found: Vec<SecretFound> = Vec::new();
    let mut from = 1;
    while from != 0 {
        let (bytes, next) = page(reach, Query::Secrets(from))?;
        found.extend(documents(&bytes).map_err(unreadable)?);
        from = next;
    }
    let exit = if found.is_empty() { Exit::Done } else { Exit::Failed };
    if screen.json() {
        screen.document(&found)?;
    } else if found.is_empty() {
        screen.line("Nothing in the chronicle has the form of a secret.")?;
    } else {
        screen.line(&format!(
            "{} hold something that has the form of a secret:",
            counted(found.len() as u64, "line", "lines")
        ))?;
        let mut table = Table::new(&["SEQ", "WHAT", "LOOKS LIKE"]);
        for one in found {
            table.row(vec![cell(one.seq.to_string()), cell(one.event_type), cell(one.kinds.join(", "))]);
        }
        table.show(screen, 0)?;
        screen
            .aside(Ink::Plain, "  → change those secrets, then take them out: `metnosctl audit redact SEQ --why …`")?;
    }
    Ok(exit)
}
