//! `vaglio`: what Metnos would do of its own accord, how that was weighed, and the owner's answer.

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::vaglio::{ProposalAnswer, VaglioAsk};
use serde_json::Value;

use crate::command_line::nouns::VaglioCommand;
use crate::daemons::connection::{Connection, document};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::escape;
use crate::screen::human;
use crate::screen::table::{Table, cell, inked};
use crate::screen::{Ink, Screen};

/// Does what the command says.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn vaglio(screen: &mut Screen, instance: &Instance, command: &VaglioCommand) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let ask = match command {
        VaglioCommand::Digest => VaglioAsk::Digest,
        VaglioCommand::Unasked => VaglioAsk::Unasked,
        VaglioCommand::Telos => VaglioAsk::Telos,
        VaglioCommand::Explain { id } => VaglioAsk::Explain(id.clone()),
        VaglioCommand::Accept { id } => VaglioAsk::Answer(ProposalAnswer { id: id.clone(), accept: true }),
        VaglioCommand::Refuse { id } => VaglioAsk::Answer(ProposalAnswer { id: id.clone(), accept: false }),
    };
    let (_, [answer]) = policyd.vaglio(TraceId::NONE, ask, [])?;
    let answer = document(&answer)?;
    if screen.json() {
        screen.document(&answer)?;
        return Ok(Exit::Done);
    }
    match command {
        VaglioCommand::Digest => list(screen, &answer, "Nothing waits for your answer.")?,
        VaglioCommand::Unasked => list(screen, &answer, "Nothing was left unasked.")?,
        VaglioCommand::Telos => telos(screen, &answer)?,
        VaglioCommand::Explain { .. } => explain(screen, &answer)?,
        VaglioCommand::Accept { .. } | VaglioCommand::Refuse { .. } => {
            screen.line(&format!("{} is {}.", text(&answer["id"]), text(&answer["state"])))?;
        }
    }
    Ok(Exit::Done)
}

/// Says to a person at a terminal what is due and was not said yet: between turns, and never among the words of an answer.
/// For whoever is not the owner there is nothing.
///
/// # Errors
/// Only when the output is gone.
pub fn say_due(screen: &mut Screen, instance: &Instance) -> Result<(), CtlError> {
    let due = Connection::to(instance).and_then(|mut reach| reach.open::<CtlPolicyd>()).and_then(|mut policyd| {
        let (_, [due]) = policyd.vaglio(TraceId::NONE, VaglioAsk::Due, [])?;
        document(&due)
    });
    // It is said when policyd is there again.
    let Ok(due) = due else { return Ok(()) };
    let due = due.as_array().map(Vec::as_slice).unwrap_or_default();
    if due.is_empty() {
        return Ok(());
    }
    let many = crate::screen::human::counted(due.len() as u64, "thing is", "things are");
    screen.aside(Ink::Warn, &format!("{many} proposed; `metnosctl vaglio accept` or `refuse` answers:"))?;
    for one in due {
        screen.aside(Ink::Plain, &format!("  {}  {}", text(&one["id"]), text(&one["title"])))?;
    }
    Ok(())
}

/// As one line that no terminal takes for an order: whoever proposed may have written anything.
fn text(value: &Value) -> String {
    escape::line(value.as_str().unwrap_or_default())
}

fn number(value: &Value) -> String {
    format!("{:.3}", value.as_f64().unwrap_or(0.0))
}

fn list(screen: &mut Screen, list: &Value, empty: &str) -> Result<(), CtlError> {
    let proposals = list.as_array().map(Vec::as_slice).unwrap_or_default();
    if proposals.is_empty() {
        screen.line(empty)?;
        return Ok(());
    }
    let mut table = Table::new(&["PROPOSAL", "STATE", "KIND", "WHAT", "WHY"]);
    for one in proposals {
        let state = text(&one["state"]);
        let ink = match state.as_str() {
            "waiting" => Ink::Warn,
            "blocked" => Ink::Bad,
            _ => Ink::Dim,
        };
        table.row(vec![
            cell(text(&one["id"])),
            inked(&state, ink),
            cell(text(&one["kind"])),
            cell(human::shortened(&text(&one["title"]), 60)),
            cell(human::shortened(&text(&one["weighed"]["why"]), 60)),
        ]);
    }
    table.show(screen, 0)
}

fn telos(screen: &mut Screen, telos: &Value) -> Result<(), CtlError> {
    if !text(&telos["fault"]).is_empty() {
        screen.line(&format!("{}; what follows is the last good one", text(&telos["fault"])))?;
    }
    let mut table = Table::new(&["END", "WEIGHT", "DECLARED", "LEARNED", "THRESHOLD", "WHAT"]);
    for end in telos["ends"].as_array().into_iter().flatten() {
        table.row(vec![
            cell(format!("t.{}", text(&end["slug"]))),
            cell(number(&end["weight"])),
            cell(number(&end["declared"])),
            cell(number(&end["learned"])),
            cell(number(&end["threshold"])),
            cell(text(&end["phrase"])),
        ]);
    }
    table.show(screen, 0)?;
    let hours = if telos["quiet"] == true { "these are quiet hours" } else { "these are no quiet hours" };
    screen.line(&format!("the brake is {}; {hours}", number(&telos["brake"])))
}

fn explain(screen: &mut Screen, one: &Value) -> Result<(), CtlError> {
    let weighed = &one["weighed"];
    let way_back = if one["reversible"] == true { "it can be undone" } else { "it cannot be undone" };
    screen.line(&format!("{} ({}): {}", text(&one["id"]), text(&one["state"]), text(&one["title"])))?;
    screen.line(&format!("  what      {} about {}, {way_back}", text(&one["kind"]), text(&one["subject"])))?;
    screen.line(&format!("  effect    {}", text(&one["effect"])))?;
    screen.line(&format!("  touches   {}", one["touches"]))?;
    screen.line(&format!(
        "  became    {} [{}]: {}",
        text(&one["way"]),
        text(&weighed["rule"]),
        text(&weighed["why"])
    ))?;
    let judge = text(&weighed["judge"]);
    if judge.is_empty() {
        return screen.line("  judge     was not asked");
    }
    let estimate = if weighed["estimate"] == true { " (an estimate: the thresholds were higher)" } else { "" };
    screen.line(&format!("  judge     {judge}{estimate}"))?;
    screen.line(&format!(
        "  weighed   alignment {} × brake {} = {}; {} was needed",
        number(&weighed["alignment"]),
        number(&weighed["brake"]),
        number(&weighed["product"]),
        number(&weighed["needed"])
    ))?;
    let mut table = Table::new(&["END", "FIT", "THRESHOLD", "WEIGHT", "COUNTS"]);
    for end in weighed["ends"].as_array().into_iter().flatten() {
        table.row(vec![
            cell(format!("t.{}", text(&end["slug"]))),
            cell(number(&end["fit"])),
            cell(number(&end["threshold"])),
            cell(number(&end["weight"])),
            cell(number(&end["part"])),
        ]);
    }
    table.show(screen, 2)
}
