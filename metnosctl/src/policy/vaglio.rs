//! `vaglio`: what Metnos would do of its own accord, how that was weighed, and the owner's answer.

use metnos_proto::doc::vaglio::{Proposal, ProposalState, TelosReport, VaglioAnswer};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::vaglio::{ProposalAnswer, VaglioAsk};

use crate::command_line::nouns::VaglioCommand;
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::escape;
use crate::screen::human;
use crate::screen::table::{Table, cell, inked};
use crate::screen::{Ink, Screen};

/// The kinds of proposals that a draft would serve.
pub(crate) const GROWTH: [&str; 4] = ["synthesis", "merge", "generalise", "specialise"];

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
    let answer = opened(policyd.vaglio(TraceId::NONE, ask, [])?)?;
    if screen.json() {
        screen.document(&answer)?;
        return Ok(Exit::Done);
    }
    let empty = match command {
        VaglioCommand::Unasked => "Nothing was left unasked.",
        VaglioCommand::Digest
        | VaglioCommand::Telos
        | VaglioCommand::Explain { .. }
        | VaglioCommand::Accept { .. }
        | VaglioCommand::Refuse { .. } => "Nothing waits for your answer.",
    };
    match (answer, command) {
        (VaglioAnswer::Proposals(proposals), _) => list(screen, &proposals, empty)?,
        (VaglioAnswer::Telos(report), _) => telos(screen, &report)?,
        (VaglioAnswer::Proposal(one), VaglioCommand::Accept { .. } | VaglioCommand::Refuse { .. }) => {
            screen.line(&format!("{} is {}.", escape::line(&one.id), one.state.name()))?;
            if one.state == ProposalState::Accepted && GROWTH.contains(&one.kind.as_str()) {
                screen.line("  → metnosctl synt run WISH…: has it drafted")?;
            }
        }
        (VaglioAnswer::Proposal(one), _) => explain(screen, &one)?,
    }
    Ok(Exit::Done)
}

/// Says to a person at a terminal what is due and was not said yet: between turns, and never among the words of an answer.
/// Empty for callers other than the owner.
///
/// # Errors
/// Only when the output is gone.
pub fn say_due(screen: &mut Screen, instance: &Instance) -> Result<(), CtlError> {
    let due = Connection::to(instance)
        .and_then(|mut reach| reach.open::<CtlPolicyd>())
        .and_then(|mut policyd| opened(policyd.vaglio(TraceId::NONE, VaglioAsk::Due, [])?));
    // It is said when policyd is there again.
    let Ok(VaglioAnswer::Proposals(due)) = due else { return Ok(()) };
    if due.is_empty() {
        return Ok(());
    }
    let many = crate::screen::human::counted(due.len() as u64, "thing is", "things are");
    screen.aside(Ink::Warn, &format!("{many} proposed; `metnosctl vaglio accept` or `refuse` answers:"))?;
    for one in due {
        screen.aside(Ink::Plain, &format!("  {}  {}", escape::line(&one.id), escape::line(&one.title)))?;
    }
    Ok(())
}

fn number(number: f64) -> String {
    format!("{number:.3}")
}

/// Lists proposals; `empty` where there are none.
///
/// # Errors
/// Only when the output is gone.
pub(crate) fn list(screen: &mut Screen, proposals: &[Proposal], empty: &str) -> Result<(), CtlError> {
    if proposals.is_empty() {
        screen.line(empty)?;
        return Ok(());
    }
    let mut table = Table::new(&["PROPOSAL", "STATE", "KIND", "WHAT", "WHY"]);
    for one in proposals {
        let ink = match one.state {
            ProposalState::Waiting => Ink::Warn,
            ProposalState::Blocked => Ink::Bad,
            ProposalState::Later
            | ProposalState::Accepted
            | ProposalState::Refused
            | ProposalState::Silent
            | ProposalState::Unasked => Ink::Dim,
        };
        table.row(vec![
            cell(escape::line(&one.id)),
            inked(one.state.name(), ink),
            cell(escape::line(&one.kind)),
            cell(human::shortened(&escape::line(&one.title), 60)),
            cell(human::shortened(&escape::line(&one.weighed.why), 60)),
        ]);
    }
    table.show(screen, 0)
}

fn telos(screen: &mut Screen, telos: &TelosReport) -> Result<(), CtlError> {
    if !telos.fault.is_empty() {
        screen.line(&format!("{}; what follows is the last good one", escape::line(&telos.fault)))?;
    }
    let mut table = Table::new(&["END", "WEIGHT", "DECLARED", "LEARNED", "THRESHOLD", "WHAT"]);
    for end in &telos.ends {
        table.row(vec![
            cell(format!("t.{}", escape::line(&end.slug))),
            cell(number(end.weight)),
            cell(number(end.declared)),
            cell(number(end.learned)),
            cell(number(end.threshold)),
            cell(escape::line(&end.phrase)),
        ]);
    }
    table.show(screen, 0)?;
    let hours = if telos.quiet { "these are quiet hours" } else { "these are no quiet hours" };
    screen.line(&format!("the brake is {}; {hours}", number(telos.brake)))
}

/// Each text as one line that no terminal takes for an order: the author of a proposal may have written anything.
fn explain(screen: &mut Screen, one: &Proposal) -> Result<(), CtlError> {
    let weighed = &one.weighed;
    let way_back = if one.reversible { "it can be undone" } else { "it cannot be undone" };
    let (id, title) = (escape::line(&one.id), escape::line(&one.title));
    let touches = serde_json::Value::from(one.touches.clone());
    screen.line(&format!("{id} ({}): {title}", one.state.name()))?;
    screen.line(&format!(
        "  what      {} about {}, {way_back}",
        escape::line(&one.kind),
        escape::line(&one.subject)
    ))?;
    screen.line(&format!("  effect    {}", escape::line(&one.effect)))?;
    screen.line(&format!("  touches   {touches}"))?;
    let (rule, why) = (escape::line(&weighed.rule), escape::line(&weighed.why));
    screen.line(&format!("  became    {} [{rule}]: {why}", one.way.name()))?;
    let judge = escape::line(&weighed.judge);
    if judge.is_empty() {
        return screen.line("  judge     was not asked");
    }
    let estimate = if weighed.estimate { " (an estimate: the thresholds were higher)" } else { "" };
    screen.line(&format!("  judge     {judge}{estimate}"))?;
    screen.line(&format!(
        "  weighed   alignment {} × brake {} = {}; {} was needed",
        number(weighed.alignment),
        number(weighed.brake),
        number(weighed.product),
        number(weighed.needed)
    ))?;
    let mut table = Table::new(&["END", "FIT", "THRESHOLD", "WEIGHT", "COUNTS"]);
    for end in &weighed.ends {
        table.row(vec![
            cell(format!("t.{}", escape::line(&end.slug))),
            cell(number(end.fit)),
            cell(number(end.threshold)),
            cell(number(end.weight)),
            cell(number(end.part)),
        ]);
    }
    table.show(screen, 2)
}
