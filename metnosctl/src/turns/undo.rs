//! `undo`: takes back what a turn has done. It decides nothing itself, and says of each act whether it
//! was taken back, as policyd and the executor that did it say.

use metnos_proto::doc::undo::{ActRow, ActState, ActTakenBack, UndoReport};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::policyd::{Undo, Undoable};
use serde_json::Value;

use crate::command_line::cli::{UndoCommand, UndoTurn};
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::human::{self, counted};
use crate::screen::table::{Table, cell, inked};
use crate::screen::{Ink, Screen};

/// Does what the command says.
///
/// # Errors
/// When policyd refuses or cannot be reached, or the turn is none.
pub fn undo(screen: &mut Screen, instance: &Instance, asked: &UndoTurn) -> Result<Exit, CtlError> {
    let turn = match &asked.turn {
        None => None,
        Some(name) => Some(name.parse::<TurnId>().map_err(|error| CtlError::Usage {
            what: error.to_string(),
            remedy: "`metnosctl undo list` shows the turns".to_owned(),
        })?),
    };
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    if let Some(UndoCommand::List) = asked.command {
        let acts = opened(policyd.undoable(TraceId::NONE, Undoable {}, [])?)?;
        if screen.json() {
            screen.masked(&acts)?;
            return Ok(Exit::Done);
        }
        return list(screen, &acts.0);
    }
    report(screen, &opened(policyd.undo(TraceId::NONE, Undo { turn }, [])?)?)
}

fn list(screen: &mut Screen, acts: &[ActRow]) -> Result<Exit, CtlError> {
    if acts.is_empty() {
        screen.line("Nothing was done yet that could be taken back.")?;
        return Ok(Exit::Done);
    }
    let now = human::now_ms();
    let mut table = Table::new(&["TURN", "AGO", "STATE", "DID", "TO"]);
    for act in acts {
        let ink = match act.state {
            ActState::Done => Ink::Plain,
            ActState::Unknown | ActState::Undoing => Ink::Warn,
            ActState::Begun | ActState::Failed | ActState::Undone | ActState::Nothing => Ink::Dim,
        };
        table.row(vec![
            cell(&act.turn),
            cell(human::ago(act.at_ms, now)),
            inked(act.state.name(), ink),
            cell(&act.executor),
            cell(place(&act.arguments)),
        ]);
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

/// What an act was done to, by the arguments of its inverse.
fn place(arguments: &Value) -> String {
    let text = |name: &str| arguments[name].as_str();
    let path = text("path").unwrap_or_default();
    text("to").map_or_else(|| path.to_owned(), |to| format!("{path} → {to}"))
}

fn report(screen: &mut Screen, report: &UndoReport) -> Result<Exit, CtlError> {
    let left = report.left;
    let exit = if left == 0 { Exit::Done } else { Exit::Failed };
    if screen.json() {
        screen.masked(report)?;
        return Ok(exit);
    }
    if report.acts.is_empty() {
        screen.line(&format!("Turn {} was taken back before; nothing was done.", report.turn))?;
        return Ok(exit);
    }
    for act in &report.acts {
        let back = matches!(act.state, ActState::Undone | ActState::Nothing);
        let colour = screen.colour();
        let mark = if back { Ink::Good.on("ok ", colour) } else { Ink::Bad.on("NOT", colour) };
        let (executor, place) = (&act.executor, place(&act.arguments));
        screen.line(&format!("{mark}  {executor} {}: {}", crate::screen::escape::line(&place), act.why))?;
        for more in its_words(act) {
            screen.line(&format!("     {}", crate::screen::escape::line(&more)))?;
        }
    }
    let rest = if left == 0 {
        String::new()
    } else {
        format!("; {} as before, and `metnosctl undo {}` goes on", counted(left, "act is", "acts are"), report.turn)
    };
    screen.line(&format!("{} taken back{rest}.", counted(u64::from(report.undone), "act was", "acts were")))?;
    Ok(exit)
}

/// What the inverse itself has said: its error, or where the version is that stood there.
fn its_words(act: &ActTakenBack) -> Vec<String> {
    let told: Value = serde_json::from_str(&act.told).unwrap_or_default();
    let error = told["error"]["message"].as_str().map(str::to_owned);
    let aside = told["aside"].as_str().filter(|aside| !aside.is_empty());
    error.into_iter().chain(aside.map(|aside| format!("what stood there is in {aside}"))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::screen::testing::screen;
    use serde_json::json;

    fn act(state: ActState, told: &Value) -> ActTakenBack {
        ActTakenBack {
            call: "c".into(),
            executor: "fs_delete".into(),
            arguments: json!({"path": "a\u{1b}.md", "keep": "K"}),
            was: ActState::Done,
            state,
            why: "because".into(),
            rule: String::new(),
            told: told.to_string(),
        }
    }

    fn done(acts: Vec<ActTakenBack>, left: u64) -> UndoReport {
        UndoReport { turn: "T".into(), acts, undone: 1, kept: 0, left, already: 0 }
    }

    #[test]
    fn undo_lists_each_act_with_its_result() {
        let (mut paper, out, _) = screen(false, [false, false], false);
        let kept =
            act(ActState::Done, &json!({"ok": false, "error": {"class": "Changed", "message": "it was changed"}}));
        let undone = act(ActState::Undone, &json!({"ok": true, "aside": "n/.trash-x"}));
        assert_eq!(report(&mut paper, &done(vec![undone, kept], 1)).unwrap(), Exit::Failed);
        let text = out.text();
        assert!(text.contains("ok   fs_delete a\\x1b.md: because") && text.contains("n/.trash-x"), "{text}");
        assert!(text.contains("NOT  fs_delete") && text.contains("it was changed"), "{text}");
        assert!(text.contains("1 act was taken back; 1 act is as before, and `metnosctl undo T` goes on."), "{text}");
    }

    #[test]
    fn a_second_undo_says_that_it_did_nothing() {
        let (mut paper, out, _) = screen(false, [false, false], false);
        assert_eq!(report(&mut paper, &done(Vec::new(), 0)).unwrap(), Exit::Done);
        assert_eq!(out.text(), "Turn T was taken back before; nothing was done.\n");
    }
}
