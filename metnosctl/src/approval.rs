//! `approval`: the cards that wait, and the owner's word on them. It shows what policyd says the
//! card is about, and sends back the digest of exactly what it has shown.

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::policyd::{Answer, Answered, Approvals, Decide, ShowApproval};
use metnos_proto::payload::Sealed;
use serde_json::{Value, json};

use crate::cli::ApprovalCommand;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::reach::Reach;
use crate::screen::{Ink, Screen};
use crate::table::{Table, cell, inked};
use crate::{escape, human, run};

/// Does what the command says.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn approval(screen: &mut Screen, instance: &Instance, command: &ApprovalCommand) -> Result<Exit, CtlError> {
    let mut policyd = Reach::to(instance)?.open::<CtlPolicyd>()?;
    match command {
        ApprovalCommand::List => {
            let (_, [list]) = policyd.approvals(TraceId::NONE, Approvals {}, [])?;
            list_cards(screen, &document(&list)?)
        }
        ApprovalCommand::Show { id } => {
            let card = card(&mut policyd, id)?;
            if screen.json() {
                screen.document(&card)?;
            } else {
                show(screen, &card)?;
            }
            Ok(Exit::Done)
        }
        ApprovalCommand::Approve { id, digest, turn, always } => {
            let card = card(&mut policyd, id)?;
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
            let card = card(&mut policyd, id)?;
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

fn card(policyd: &mut BlockingClient<CtlPolicyd>, id: &str) -> Result<Value, CtlError> {
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
        screen.document(cards)?;
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
        let does = format!("{} {}{more}", text(&act["executor"]), human::shortened(&act["arguments"].to_string(), 50));
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

/// Everything that the card's digest covers.
///
/// # Errors
/// When the output is gone.
pub(crate) fn show(screen: &mut Screen, card: &Value) -> Result<(), CtlError> {
    let acts = card["acts"].as_array().map(Vec::as_slice).unwrap_or_default();
    screen.line(&format!("card {} ({})", text(&card["id"]), text(&card["state"])))?;
    screen.line(&format!("  for whom {}, in turn {}", text(&card["principal"]), text(&card["turn"])))?;
    for (act, number) in acts.iter().zip(1..) {
        if acts.len() > 1 {
            screen.line(&format!("  {number} of {}", acts.len()))?;
        }
        show_act(screen, act)?;
    }
    if card["hard"] == true {
        screen.line("  answered at the machine, or with a one-time code")?;
    }
    screen.line(&format!("  times    made {} ms, expires {} ms", card["made_ms"], card["expires_ms"]))?;
    screen.line(&format!("  digest   {}", text(&card["digest"])))
}

fn show_act(screen: &mut Screen, act: &Value) -> Result<(), CtlError> {
    let way_back = if act["reversible"] == true { "it can be undone" } else { "it cannot be undone" };
    let (executor, version, class) = (text(&act["executor"]), text(&act["version"]), text(&act["class"]));
    screen.line(&format!("  what     {executor} {version}, class {class}, {way_back}"))?;
    screen.line(&format!("  on what  {}", escape::line(&act["arguments"].to_string())))?;
    let how_many = match &act["count"] {
        Value::Null => "not counted".to_owned(),
        count => format!("{} files, {} folders, {} bytes", count["files"], count["folders"], count["bytes"]),
    };
    screen.line(&format!("  how many {how_many}"))?;
    screen.line(&format!("  why      {} [{}]", escape::line(&text(&act["why"])), text(&act["rule"])))?;
    for field in act["fields"].as_array().into_iter().flatten() {
        let from = format!("{}, {}", text(&field["label"]), text(&field["source"]));
        screen.line(&format!("  from     {} ({}): {from}", text(&field["pointer"]), text(&field["role"])))?;
    }
    let always: Vec<String> = act["always"].as_array().into_iter().flatten().map(target).collect();
    if !always.is_empty() {
        screen.line(&format!("  always   would mean {executor} with {}", escape::line(&always.join(", "))))?;
    }
    screen.line(&format!("  signed   {}", act["signed"]))
}

/// One argument of a stored word, in words.
pub(crate) fn target(target: &Value) -> String {
    let name = text(&target["pointer"]);
    let name = name.trim_start_matches('/');
    match &target["within"] {
        Value::String(folder) => format!("{name} inside {folder}"),
        _ => format!("{name} = {}", target["is"]),
    }
}
