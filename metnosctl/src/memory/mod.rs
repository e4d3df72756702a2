//! `memory`: what is remembered, by the words of a question, and why. memoryd looks it up.

pub mod mnest;
pub mod mnest_list;
pub mod trace;

use metnos_proto::doc::memory::{Explanation, RecentTalk, RememberedTurn};
use metnos_proto::edges::CtlMemoryd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::memoryd::{Recollect, SearchMemory};
use metnos_proto::payload::Sealed;
use serde::de::DeserializeOwned;

use crate::command_line::cli::MemoryCommand;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::escape;
use crate::screen::human::shortened;
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
            found_list(screen, recollect(&mut reach, ask, &words.join(" "))?)
        }
        MemoryCommand::Late { peer, limit } => {
            let peer = peer.clone().unwrap_or_else(own_principal);
            let ask = Recollect::Late(SearchMemory { peer, limit: *limit });
            recent_talk(screen, &recollect(&mut reach, ask, "")?)
        }
        MemoryCommand::Explain { line } => explained(screen, &recollect(&mut reach, Recollect::Explain(*line), "")?),
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
pub fn recollect<T: DeserializeOwned>(reach: &mut Connection, ask: Recollect, words: &str) -> Result<T, CtlError> {
    let unreadable = |why: String| CtlError::failed("what is remembered", why, "look at `metnosctl doctor`");
    let words = Sealed::new(words.as_bytes()).map_err(|error| unreadable(error.to_string()))?;
    let (_, [found]) = reach.open::<CtlMemoryd>()?.recollect(TraceId::NONE, ask, [words])?;
    let bytes = found.read().map_err(|error| unreadable(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))
}

fn found_list(screen: &mut Screen, items: Vec<RememberedTurn>) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(&items)?;
        return Ok(Exit::Done);
    }
    if items.is_empty() {
        screen.line("Nothing that was said shares a word or a day with this.")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["SCORE", "SEQ", "TIME (UTC)", "BY", "WORDS"]);
    for item in items {
        table.row(vec![
            cell(format!("{:.2}", item.score)),
            cell(item.seq.to_string()),
            inked(item.ts, Ink::Dim),
            cell(item.speaker),
            cell(shortened(&item.text, MAX_SHOWN)),
        ]);
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

/// Summaries of older talk, then the last messages, then the last tasks; each names lines of the chronicle.
fn recent_talk(screen: &mut Screen, found: &RecentTalk) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(found)?;
        return Ok(Exit::Done);
    }
    for one in &found.summaries {
        let covers = format!("lines {} to {} ({} messages)", one.from_seq, one.upto_seq, one.messages);
        screen.line(&format!("{covers}: {} {}", escape::line(&one.own), escape::line(&one.answers)))?;
    }
    for one in &found.messages {
        let words = escape::line(&shortened(&one.text, MAX_SHOWN));
        screen.line(&format!("{}  {}  {}: {words}", one.seq, escape::line(&one.ts), one.speaker.name()))?;
    }
    for one in &found.tasks {
        let executors = escape::line(&one.executors.join(", "));
        screen.line(&format!("{}  {}  {}: {executors}", one.seq, escape::line(&one.ts), escape::line(&one.ended)))?;
    }
    if found.summaries.is_empty() && found.messages.is_empty() && found.tasks.is_empty() {
        screen.line("Nothing was said yet.")?;
    }
    Ok(Exit::Done)
}

fn explained(screen: &mut Screen, found: &Explanation) -> Result<Exit, CtlError> {
    let exit = if found.holds { Exit::Done } else { Exit::Failed };
    if screen.json() {
        screen.document(found)?;
        return Ok(exit);
    }
    if let Some(said) = &found.said {
        let words = escape::line(&said.text);
        let (speaker, trust) = (escape::line(&said.speaker), escape::line(&found.trust));
        screen.line(&format!("{speaker} said, trusted as {trust}: {words}"))?;
    }
    let causes = found.causes.iter().map(|line| ("caused by line", line));
    for (word, line) in [("line", &found.item)].into_iter().chain(causes) {
        let what = format!("{word} {}: {} of {}", line.seq, line.event_type, line.emitter);
        screen.line(&escape::line(&format!("{what}, {}, {}", line.ts, line.hash)))?;
    }
    let (last, head) = (found.path.last().map_or(0, |line| line.seq), found.head);
    screen.line(&match found.holds {
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
    use metnos_proto::doc::memory::{ChainLink, LineRef, ScoreParts};

    #[test]
    fn search_results_are_one_row_each_and_empty_is_stated() {
        let (mut paper, out, _) = screen(false, [false, false], false);
        let parts = ScoreParts {
            words: 1.0,
            session: 0.0,
            neighbours: 0.0,
            speaker: 0.0,
            date: 0.0,
            kind: 0.0,
            salience: 0.0,
            trust: 1.0,
        };
        let found = RememberedTurn {
            seq: 7,
            ts: "2023-05-08T13:56:00.000Z".to_owned(),
            peer: "cli:uid:1000".to_owned(),
            speaker: "owner".to_owned(),
            trust: "owner".to_owned(),
            session: 1,
            turn: None,
            text: "hi\u{1b}[2J".to_owned(),
            score: 1.0,
            parts,
        };
        found_list(&mut paper, vec![found]).unwrap();
        let shown = out.text();
        assert!(shown.contains("1.00   7    2023-05-08T13:56:00.000Z  owner  hi"), "{shown}");
        let (mut paper, out, _) = screen(false, [false, false], false);
        found_list(&mut paper, Vec::new()).unwrap();
        assert!(out.text().starts_with("Nothing"));
    }

    #[test]
    fn a_chain_that_does_not_hold_is_a_failure() {
        for (holds, exit) in [(true, Exit::Done), (false, Exit::Failed)] {
            let (mut paper, out, _) = screen(false, [false, false], false);
            let text = String::new;
            let item = LineRef {
                seq: 1,
                ts: text(),
                event_type: text(),
                emitter: text(),
                payload_sha256: text(),
                hash: text(),
            };
            let found = Explanation {
                item,
                peer: text(),
                trust: text(),
                said: None,
                causes: Vec::new(),
                path: vec![ChainLink { seq: 3, prev_hash: text(), hash: text(), holds }],
                holds,
                head: 9,
            };
            assert_eq!(explained(&mut paper, &found).unwrap(), exit);
            assert!(out.text().contains("line 3 of 9"));
        }
    }
}
