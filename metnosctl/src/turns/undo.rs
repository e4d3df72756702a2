//! `undo`: takes back what a turn has done. It decides nothing itself, and says of each act whether it
//! was taken back, as policyd and the executor that did it say.

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::policyd::{Undo, Undoable};
use serde_json::Value;

use crate::approvals::approval::{document, text, without_keys};
use crate::command_line::cli::{UndoCommand, UndoTurn};
use crate::daemons::connection::Connection;
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
        let (_, [acts]) = policyd.undoable(TraceId::NONE, Undoable {}, [])?;
        return list(screen, &document(&acts)?);
    }
    let (_, [done]) = policyd.undo(TraceId::NONE, Undo { turn }, [])?;
    told(screen, &document(&done)?)
}

fn list(screen: &mut Screen, acts: &Value) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(&without_keys(acts.clone()))?;
        return Ok(Exit::Done);
    }
    let acts = acts.as_array().map(Vec::as_slice).unwrap_or_default();
    if acts.is_empty() {
        screen.line("Nothing was done yet that could be taken back.")?;
        return Ok(Exit::Done);
    }
    let now = human::now_ms();
    let mut table = Table::new(&["TURN", "AGO", "STATE", "DID", "TO"]);
    for act in acts {
        let state = text(&act["state"]);
        let ink = match state.as_str() {
            "done" => Ink::Plain,
            "unknown" | "undoing" => Ink::Warn,
            _ => Ink::Dim,
        };
        table.row(vec![
            cell(text(&act["turn"])),
            cell(human::ago(act["at_ms"].as_u64().unwrap_or(0), now)),
            inked(&state, ink),
            cell(text(&act["executor"])),
            cell(place(act)),
        ]);
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

/// What an act was done to.
fn place(act: &Value) -> String {
    let arguments = &act["arguments"];
    match arguments["to"].as_str() {
        Some(to) => format!("{} → {to}", text(&arguments["path"])),
        None => text(&arguments["path"]),
    }
}

fn told(screen: &mut Screen, done: &Value) -> Result<Exit, CtlError> {
    let left = done["left"].as_u64().unwrap_or(0);
    let exit = if left == 0 { Exit::Done } else { Exit::Failed };
    if screen.json() {
        screen.document(&without_keys(done.clone()))?;
        return Ok(exit);
    }
    let acts = done["acts"].as_array().map(Vec::as_slice).unwrap_or_default();
    if acts.is_empty() {
        let turn = text(&done["turn"]);
        screen.line(&format!("Turn {turn} was taken back before; nothing was done."))?;
        return Ok(exit);
    }
    for act in acts {
        let back = matches!(act["state"].as_str(), Some("undone" | "nothing"));
        let colour = screen.colour();
        let mark = if back { Ink::Good.on("ok ", colour) } else { Ink::Bad.on("NOT", colour) };
        let (executor, place) = (text(&act["executor"]), place(act));
        screen.line(&format!("{mark}  {executor} {}: {}", crate::screen::escape::line(&place), text(&act["why"])))?;
        for more in its_words(act) {
            screen.line(&format!("     {}", crate::screen::escape::line(&more)))?;
        }
    }
    let undone = done["undone"].as_u64().unwrap_or(0);
    let rest = if left == 0 {
        String::new()
    } else {
        format!(
            "; {} as before, and `metnosctl undo {}` goes on",
            counted(left, "act is", "acts are"),
            text(&done["turn"])
        )
    };
    screen.line(&format!("{} taken back{rest}.", counted(undone, "act was", "acts were")))?;
    Ok(exit)
}

/// What the inverse itself has said: its error, or where the version is that stood there.
fn its_words(act: &Value) -> Vec<String> {
    let told: Value = serde_json::from_str(act["told"].as_str().unwrap_or_default()).unwrap_or_default();
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

    fn act(state: &str, told: &Value) -> Value {
        json!({
            "call": "c", "executor": "fs_delete", "was": "done", "state": state, "why": "because", "rule": "",
            "arguments": {"path": "a\u{1b}.md", "keep": "K"}, "told": told.to_string(),
        })
    }

    #[test]
    fn undo_lists_each_act_with_its_result() {
        let (mut paper, out, _) = screen(false, [false, false], false);
        let kept = act("done", &json!({"ok": false, "error": {"class": "Changed", "message": "it was changed"}}));
        let undone = act("undone", &json!({"ok": true, "aside": "n/.trash-x"}));
        let done = json!({"turn": "T", "acts": [undone, kept], "undone": 1, "kept": 1, "left": 1, "already": 0});
        assert_eq!(told(&mut paper, &done).unwrap(), Exit::Failed);
        let text = out.text();
        assert!(text.contains("ok   fs_delete a\\x1b.md: because") && text.contains("n/.trash-x"), "{text}");
        assert!(text.contains("NOT  fs_delete") && text.contains("it was changed"), "{text}");
        assert!(text.contains("1 act was taken back; 1 act is as before, and `metnosctl undo T` goes on."), "{text}");
    }

    #[test]
    fn a_second_undo_says_that_it_did_nothing() {
        let (mut paper, out, _) = screen(false, [false, false], false);
        let done = json!({"turn": "T", "acts": [], "undone": 0, "kept": 0, "left": 0, "already": 2});
        assert_eq!(told(&mut paper, &done).unwrap(), Exit::Done);
        assert_eq!(out.text(), "Turn T was taken back before; nothing was done.\n");
    }
}
