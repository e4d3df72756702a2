//! `approval`: the cards that wait, and the owner's word on them. It shows what policyd says the
//! card is about, and sends back the digest of exactly what it has shown.

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::policyd::{Approvals, Approve, DenyApproval, ShowApproval};
use metnos_proto::payload::Sealed;
use serde_json::{Value, json};

use crate::cli::ApprovalCommand;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::reach::Reach;
use crate::screen::{Ink, Screen};
use crate::table::{Table, cell, inked};
use crate::{human, run};

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
        ApprovalCommand::Approve { id, digest } => {
            let card = card(&mut policyd, id)?;
            if !screen.json() {
                show(screen, &card)?;
            }
            let ask = Approve { id: id.clone(), digest: digest.clone().unwrap_or_else(|| text(&card["digest"])) };
            let (answer, [result]) = policyd.approve(TraceId::NONE, ask, [])?;
            let result = result.read().map_err(|error| CtlError::failed("the result cannot be read", error, ""))?;
            run::show(screen, &text(&card["executor"]), &answer, &result)
        }
        ApprovalCommand::Deny { id } => {
            let card = card(&mut policyd, id)?;
            let ask = DenyApproval { id: id.clone(), digest: text(&card["digest"]) };
            policyd.deny_approval(TraceId::NONE, ask, [])?;
            if screen.json() {
                screen.document(&json!({ "ok": true, "id": id, "state": "denied" }))?;
            } else {
                screen.line(&format!("{id} is denied; nothing was done."))?;
            }
            Ok(Exit::Done)
        }
    }
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
        let does = format!("{} {}", text(&card["executor"]), human::shortened(&card["arguments"].to_string(), 60));
        let why = human::shortened(&text(&card["why"]), 60);
        table.row(vec![
            cell(text(&card["id"])),
            inked(&state, ink),
            cell(does),
            cell(text(&card["principal"])),
            cell(why),
        ]);
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

/// Everything that the card's digest covers.
fn show(screen: &mut Screen, card: &Value) -> Result<(), CtlError> {
    let way_back = if card["reversible"] == true { "it can be undone" } else { "it cannot be undone" };
    screen.line(&format!("card {} ({})", text(&card["id"]), text(&card["state"])))?;
    screen.line(&format!(
        "  what     {} {}, class {}, {way_back}",
        text(&card["executor"]),
        text(&card["version"]),
        text(&card["class"])
    ))?;
    screen.line(&format!("  on what  {}", card["arguments"]))?;
    let how_many = match &card["count"] {
        Value::Null => "not counted".to_owned(),
        count => format!("{} files, {} folders, {} bytes", count["files"], count["folders"], count["bytes"]),
    };
    screen.line(&format!("  how many {how_many}"))?;
    screen.line(&format!("  for whom {}", text(&card["principal"])))?;
    screen.line(&format!("  why      {} [{}]", text(&card["why"]), text(&card["rule"])))?;
    for field in card["fields"].as_array().into_iter().flatten() {
        let from = format!("{}, {}", text(&field["label"]), text(&field["source"]));
        screen.line(&format!("  from     {} ({}): {from}", text(&field["pointer"]), text(&field["role"])))?;
    }
    screen.line(&format!("  signed   {}", card["signed"]))?;
    screen.line(&format!("  times    made {} ms, expires {} ms", card["made_ms"], card["expires_ms"]))?;
    screen.line(&format!("  digest   {}", text(&card["digest"])))
}
