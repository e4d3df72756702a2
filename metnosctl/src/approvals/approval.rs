//! `approval`: the cards that wait, and the owner's word on them. It shows what policyd says the
//! card is about, and sends back the digest of exactly what it has shown.

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::masks::{mask, masked};
use metnos_proto::msg::policyd::{Answer, Answered, Approvals, Decide, ShowApproval};
use metnos_proto::payload::Sealed;
use metnos_texts::{Key, card, say, tell};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::command_line::cli::ApprovalCommand;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::escape;
use crate::screen::human;
use crate::screen::table::{Table, cell, inked, wrapped};
use crate::screen::{Ink, Screen};
use crate::turns::run;

/// Does what the command says.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn approval(screen: &mut Screen, instance: &Instance, command: &ApprovalCommand) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    match command {
        ApprovalCommand::List => {
            let (_, [list]) = policyd.approvals(TraceId::NONE, Approvals {}, [])?;
            list_cards(screen, &document(&list)?)
        }
        ApprovalCommand::Show { id } => {
            let card = fetch(&mut policyd, id)?;
            if screen.json() {
                screen.document(&without_keys(card))?;
            } else {
                show(screen, &card)?;
            }
            Ok(Exit::Done)
        }
        ApprovalCommand::Approve { id, digest, turn, always } => {
            let card = fetch(&mut policyd, id)?;
            if !screen.json() {
                show(screen, &card)?;
            }
            let answer = match (turn, always) {
                (true, _) => Answer::Turn,
                (false, Some(days)) => Answer::Always(*days),
                (false, None) => Answer::Once,
            };
            let digest = digest.clone().unwrap_or_else(|| text(&card["digest"]));
            let (answered, [results]) =
                policyd.decide_approval(TraceId::NONE, Decide { id: id.clone(), digest, answer }, [])?;
            done(screen, &card, &answered, &results)
        }
        ApprovalCommand::Deny { id, never } => {
            let card = fetch(&mut policyd, id)?;
            let answer = if *never { Answer::Never } else { Answer::No };
            policyd.decide_approval(
                TraceId::NONE,
                Decide { id: id.clone(), digest: text(&card["digest"]), answer },
                [],
            )?;
            if screen.json() {
                screen.document(&json!({ "ok": true, "id": id, "state": "denied" }))?;
            } else {
                screen.line(&format!("{id} is denied; nothing was done."))?;
            }
            Ok(Exit::Done)
        }
    }
}

/// Shows what became of an approved card: each act that ran, as `run` shows it.
///
/// # Errors
/// When a result cannot be read, or the output is gone.
pub(crate) fn done(screen: &mut Screen, card: &Value, answered: &Answered, results: &Sealed) -> Result<Exit, CtlError> {
    if answered.state == "denied" && !screen.json() {
        screen.line(&say(card::lang(card), Key::CardDeclined))?;
        return Ok(Exit::Done);
    }
    let results = document(results)?;
    let acts = card["acts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let before = usize::try_from(card["begun"].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
    let names = acts.iter().skip(before).map(|act| text(&act["executor"]));
    if screen.json() && acts.len() != 1 {
        return all_done(screen, card, answered, &results);
    }
    let mut exit = Exit::Done;
    for ((answer, name), at) in answered.runs.iter().zip(names).zip(0..) {
        let result = serde_json::to_vec(&results[at]).unwrap_or_default();
        let ended = run::show(screen, &name, answer, &result)?;
        exit = if exit == Exit::Done { ended } else { exit };
    }
    let left = acts.len().saturating_sub(before).saturating_sub(answered.runs.len());
    if left > 0 {
        let id = text(&card["id"]);
        screen.aside(
            Ink::Warn,
            &format!("{left} more on this card were not begun; `metnosctl approval approve {id}` goes on"),
        )?;
        exit = Exit::Failed;
    }
    Ok(exit)
}

fn all_done(screen: &mut Screen, card: &Value, answered: &Answered, results: &Value) -> Result<Exit, CtlError> {
    use metnos_proto::msg::common::Outcome;
    use metnos_proto::msg::policyd::Acted;
    let runs: Vec<Value> = answered
        .runs
        .iter()
        .zip(0..)
        .map(|(run, at)| match &run.acted {
            Acted::Ran(ran) => json!({
                "turn": run.turn.to_string(), "call": ran.call.to_string(), "outcome": ran.outcome.name(),
                "ok": ran.outcome == Outcome::Ok, "result": results[at], "rule": "", "why": "",
            }),
            Acted::Denied(refusal) => json!({
                "turn": run.turn.to_string(), "call": null, "outcome": "denied", "ok": false, "result": null,
                "rule": refusal.rule, "why": refusal.why,
            }),
        })
        .collect();
    let wanted = card["acts"].as_array().map_or(0, Vec::len);
    let begun = usize::try_from(card["begun"].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
    let ok = runs.iter().all(|run| run["ok"] == true) && begun.saturating_add(runs.len()) == wanted;
    screen.document(&json!({ "ok": ok, "id": card["id"], "state": answered.state, "runs": runs }))?;
    Ok(if ok { Exit::Done } else { Exit::Failed })
}

fn fetch(policyd: &mut BlockingClient<CtlPolicyd>, id: &str) -> Result<Value, CtlError> {
    let (_, [card]) = policyd.show_approval(TraceId::NONE, ShowApproval { id: id.to_owned() }, [])?;
    document(&card)
}

pub(crate) fn document(sealed: &Sealed) -> Result<Value, CtlError> {
    let unreadable =
        |why: String| CtlError::failed("what policyd says cannot be read", why, "look at `metnosctl doctor`");
    let bytes = sealed.read().map_err(|error| unreadable(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list_cards(screen: &mut Screen, cards: &Value) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(&without_keys(cards.clone()))?;
        return Ok(Exit::Done);
    }
    let cards = cards.as_array().map(Vec::as_slice).unwrap_or_default();
    if cards.is_empty() {
        screen.line("No card waits, and none was answered lately.")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["CARD", "STATE", "WOULD DO", "FOR", "WHY"]);
    for card in cards {
        let state = text(&card["state"]);
        let ink = if state == "waiting" { Ink::Warn } else { Ink::Dim };
        let acts = card["acts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let act = acts.first().unwrap_or(&Value::Null);
        let more = if acts.len() > 1 { format!(", and {} more", acts.len() - 1) } else { String::new() };
        let does = format!(
            "{} {}{more}",
            text(&act["executor"]),
            human::both_ends(&masked(&act["arguments"].to_string()), 50)
        );
        table.row(vec![
            cell(text(&card["id"])),
            inked(&state, ink),
            cell(does),
            cell(text(&card["principal"])),
            cell(human::shortened(&text(&act["why"]), 60)),
        ]);
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

/// The card as it is shown on every channel, and behind it what only a person at the machine asks for: together, everything
/// that the card's digest covers.
///
/// # Errors
/// When the output is gone.
pub(crate) fn show(screen: &mut Screen, card: &Value) -> Result<(), CtlError> {
    show_face(screen, card)?;
    for act in card["acts"].as_array().into_iter().flatten() {
        let always: Vec<String> = act["always"].as_array().into_iter().flatten().map(target).collect();
        if !always.is_empty() {
            let always = always.join(", ");
            screen.line(&format!("  always: {} with {}", text(&act["executor"]), escape::line(&always)))?;
        }
        screen.line(&format!("  rule {}, signed {}", escape::line(&text(&act["rule"])), act["signed"]))?;
    }
    let left = card["expires_ms"].as_u64().unwrap_or(0).saturating_sub(human::now_ms()) / 1_000;
    screen.line(&format!("  turn {}; it can be answered for {left} s more", text(&card["turn"])))?;
    screen.line(&format!("  digest {}", text(&card["digest"])))
}

/// The card as it is shown on every channel.
///
/// # Errors
/// When the output is gone.
pub(crate) fn show_face(screen: &mut Screen, shown: &Value) -> Result<(), CtlError> {
    let lang = card::lang(shown);
    let face = card::face(shown, &text(&shown["id"]), lang);
    let colour = screen.colour();
    let state = if face.state.is_empty() { String::new() } else { format!(" ({})", face.state) };
    screen.line(&format!("{}  {}{state}", Ink::Bold.on(&face.asks, colour), escape::line(&face.id)))?;
    if face.parts.is_empty() {
        return screen.line(&format!("  {}", face.too_long));
    }
    let wide = face.parts.iter().map(|part| part.label.width()).max().unwrap_or(0);
    let room = screen.width().map_or(usize::MAX, |width| width.saturating_sub(wide + 4));
    let mut act = 0;
    for part in &face.parts {
        if part.act != act && face.acts > 1 && part.act != 0 {
            let (number, total) = (part.act as u64, face.acts as u64);
            let of = tell(lang, Key::CardOneOf, &[("number", number.into()), ("total", total.into())]);
            screen.line(&format!("  {}", Ink::Dim.on(&of, colour)))?;
        }
        act = part.act;
        let blanks = wide - part.label.width();
        let mut label = format!("  {}{:blanks$}  ", Ink::Dim.on(&part.label, colour), "");
        for line in wrapped(&escape::line(&part.text), room) {
            screen.line(&format!("{label}{line}"))?;
            label = format!("{:1$}", "", wide + 4);
        }
    }
    Ok(())
}

/// A document as it is printed: nothing in an address of it that grants access.
pub(crate) fn without_keys(mut document: Value) -> Value {
    mask(&mut document);
    document
}

/// One argument of a stored word, in words.
pub(crate) fn target(target: &Value) -> String {
    let name = text(&target["pointer"]);
    let name = name.trim_start_matches('/');
    match &target["within"] {
        Value::String(folder) => format!("{name} inside {folder}"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            masked(&format!("{name} = {}", target["is"]))
        }
    }
}
