//! `memory`: what is remembered, by the words of a question, and why. memoryd looks it up.

pub mod mnest;
pub mod mnest_list;
pub mod trace;

use metnos_proto::edges::CtlMemoryd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::memoryd::{Recollect, SearchMemory};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::command_line::cli::MemoryCommand;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::escape;
use crate::screen::human::{scalar, shortened};
use crate::screen::table::{Table, cell, inked};
use crate::screen::{Ink, Screen};

/// The most characters of a turn in the list for people.
const MAX_SHOWN: usize = 100;

/// `memory search|late|explain`.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn memory(screen: &mut Screen, instance: &Instance, command: &MemoryCommand) -> Result<Exit, CtlError> {
    let mut reach = Connection::to(instance)?;
    match command {
        MemoryCommand::Search { words, peer, limit } => {
            let peer = peer.clone().unwrap_or_else(own_principal);
            let ask = Recollect::Search(SearchMemory { peer, limit: *limit });
            let found = recollect(&mut reach, ask, &words.join(" "))?;
            found_list(screen, &found)
        }
        MemoryCommand::Late { peer, limit } => {
            let peer = peer.clone().unwrap_or_else(own_principal);
            let ask = Recollect::Late(SearchMemory { peer, limit: *limit });
            let found = recollect(&mut reach, ask, "")?;
            of_late(screen, &found)
        }
        MemoryCommand::Explain { line } => {
            let found = recollect(&mut reach, Recollect::Explain(*line), "")?;
            explained(screen, &found)
        }
    }
}

/// Who the person at this terminal is to Metnos.
fn own_principal() -> String {
    format!("cli:uid:{}", rustix::process::getuid().as_raw())
}

/// Asks memoryd, and reads the document it answers with.
///
/// # Errors
/// When it refuses or cannot be reached.
pub fn recollect(reach: &mut Connection, ask: Recollect, words: &str) -> Result<Value, CtlError> {
    let unreadable = |why: String| CtlError::failed("what is remembered", why, "look at `metnosctl doctor`");
    let words = Sealed::new(words.as_bytes()).map_err(|error| unreadable(error.to_string()))?;
    let (_, [found]) = reach.open::<CtlMemoryd>()?.recollect(TraceId::NONE, ask, [words])?;
    let bytes = found.read().map_err(|error| unreadable(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).filter(|value| !value.is_null()).map_or_else(String::new, scalar)
}

fn found_list(screen: &mut Screen, found: &Value) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(found)?;
        return Ok(Exit::Done);
    }
    let items = found.as_array().map(Vec::as_slice).unwrap_or_default();
    if items.is_empty() {
        screen.line("Nothing that was said shares a word or a day with this.")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["SCORE", "SEQ", "TIME (UTC)", "BY", "WORDS"]);
    for item in items {
        let score = item.get("score").and_then(Value::as_f64).map_or_else(String::new, |score| format!("{score:.2}"));
        table.row(vec![
            cell(score),
            cell(text(item, "seq")),
            inked(text(item, "ts"), Ink::Dim),
            cell(text(item, "speaker")),
            cell(shortened(&text(item, "text"), MAX_SHOWN)),
        ]);
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

/// What is said of older talk, then of late, then what was done; each line of it names lines of the chronicle.
fn of_late(screen: &mut Screen, found: &Value) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(found)?;
        return Ok(Exit::Done);
    }
    let list = |key: &str| found.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for one in list("summaries") {
        let covers = format!(
            "lines {} to {} ({} messages)",
            text(one, "from_seq"),
            text(one, "upto_seq"),
            text(one, "messages")
        );
        screen.line(&format!(
            "{covers}: {} {}",
            escape::line(&text(one, "own")),
            escape::line(&text(one, "answers"))
        ))?;
    }
    for one in list("messages") {
        let words = escape::line(&shortened(&text(one, "text"), MAX_SHOWN));
        screen.line(&format!("{}  {}  {}: {words}", text(one, "seq"), text(one, "ts"), text(one, "speaker")))?;
    }
    for one in list("tasks") {
        let executors = one.get("executors").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let executors = executors.iter().map(scalar).collect::<Vec<_>>().join(", ");
        screen.line(&format!("{}  {}  {}: {executors}", text(one, "seq"), text(one, "ts"), text(one, "ended")))?;
    }
    if ["summaries", "messages", "tasks"].iter().all(|key| list(key).is_empty()) {
        screen.line("Nothing was said yet.")?;
    }
    Ok(Exit::Done)
}

fn explained(screen: &mut Screen, found: &Value) -> Result<Exit, CtlError> {
    let holds = found.get("holds").and_then(Value::as_bool).unwrap_or(false);
    let exit = if holds { Exit::Done } else { Exit::Failed };
    if screen.json() {
        screen.document(found)?;
        return Ok(exit);
    }
    if let Some(said) = found.get("said").filter(|said| !said.is_null()) {
        let words = escape::line(&text(said, "text"));
        screen.line(&format!("{} said, trusted as {}: {words}", text(said, "speaker"), text(found, "trust")))?;
    }
    let causes = found.get("causes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (word, line) in found
        .get("item")
        .map(|item| ("line", item))
        .into_iter()
        .chain(causes.iter().map(|line| ("caused by line", line)))
    {
        let what = format!("{word} {}: {} of {}", text(line, "seq"), text(line, "event_type"), text(line, "emitter"));
        screen.line(&format!("{what}, {}, {}", text(line, "ts"), text(line, "hash")))?;
    }
    let path = found.get("path").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let (last, head) = (path.last().map(|line| text(line, "seq")).unwrap_or_default(), text(found, "head"));
    screen.line(&match holds {
        true => format!("It is in the chain: every hash up to line {last} of {head} holds."),
        false => format!("The chain does NOT hold between it and line {last} of {head}: see `metnosctl audit verify`."),
    })?;
    Ok(exit)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::screen::testing::screen;

    #[test]
    fn search_results_are_one_row_each_and_empty_is_stated() {
        let (mut paper, out, _) = screen(false, [false, false], false);
        let found = serde_json::json!([{"score": 1.0, "seq": 7, "ts": "2023-05-08T13:56:00.000Z", "speaker": "owner", "text": "hi\u{1b}[2J"}]);
        found_list(&mut paper, &found).unwrap();
        let shown = out.text();
        assert!(shown.contains("1.00   7    2023-05-08T13:56:00.000Z  owner  hi"), "{shown}");
        let (mut paper, out, _) = screen(false, [false, false], false);
        found_list(&mut paper, &serde_json::json!([])).unwrap();
        assert!(out.text().starts_with("Nothing"));
    }

    #[test]
    fn a_chain_that_does_not_hold_is_a_failure() {
        for (holds, exit) in [(true, Exit::Done), (false, Exit::Failed)] {
            let (mut paper, out, _) = screen(false, [false, false], false);
            let found =
                serde_json::json!({"holds": holds, "item": {"seq": 1}, "path": [{"seq": 3}], "head": 9, "causes": []});
            assert_eq!(explained(&mut paper, &found).unwrap(), exit);
            assert!(out.text().contains("line 3 of 9"));
        }
    }
}
