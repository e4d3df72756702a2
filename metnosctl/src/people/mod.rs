//! `pairing` and `autonomy`: who may speak to this instance, and how far he goes without asking.

pub mod account;
pub mod automation;
pub mod persons;
pub mod seal;
pub mod secret;
pub mod telegram;
pub mod web;

use metnos_proto::doc::people::{AutonomyAnswer, PairingAnswer, PeopleList};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::people::{ApprovePairing, AutonomyAsk, Invite, PairingAsk, SetLevel, Speaks};

use crate::command_line::nouns::{AutonomyCommand, PairingCommand};
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;
use crate::screen::table::{Table, cell};

/// Does what `pairing` says.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn pairing(screen: &mut Screen, instance: &Instance, command: &PairingCommand) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let ask = match command {
        PairingCommand::List => PairingAsk::List,
        PairingCommand::Approve { channel, code, standing, person } => {
            let (code, person) = (code.clone(), person.clone().unwrap_or_default());
            PairingAsk::Approve(ApprovePairing { channel: *channel, code, standing: *standing, person })
        }
        PairingCommand::Invite { channel, standing, person } => {
            let person = person.clone().unwrap_or_default();
            PairingAsk::Invite(Invite { channel: *channel, standing: *standing, person })
        }
        PairingCommand::Language { principal, lang } => {
            PairingAsk::Speaks(Speaks { principal: principal.clone(), lang: *lang })
        }
        PairingCommand::Revoke { principal } => PairingAsk::Revoke(principal.clone()),
    };
    let answer = opened(policyd.pairing(TraceId::NONE, ask, [])?)?;
    if screen.json() {
        screen.document(&answer)?;
        return Ok(Exit::Done);
    }
    match answer {
        PairingAnswer::People(list) => people(screen, &list)?,
        PairingAnswer::Known(now) => {
            screen.line(&format!("{} is known as {} from now on.", now.principal, now.standing.name()))?;
        }
        PairingAnswer::Invited(made) => screen.line(&format!(
            "{}\nThe first who shows it on {} within {} s becomes {}.",
            made.code,
            made.channel,
            made.seconds,
            made.standing.name()
        ))?,
        PairingAnswer::Speaks(set) => {
            screen.line(&format!("{} is spoken to in {} from now on.", set.principal, set.lang.name()))?;
        }
        PairingAnswer::Revoked(gone) => {
            let (who, ended) = (gone.principal, gone.turns_ended);
            screen.line(&format!("{who} is a stranger again; {ended} turns were ended."))?;
        }
    }
    Ok(Exit::Done)
}

fn people(screen: &mut Screen, list: &PeopleList) -> Result<(), CtlError> {
    if list.known.is_empty() && list.waiting.is_empty() && list.invitations.is_empty() {
        return screen.line("Nobody is known beside the owner, and nobody waits.");
    }
    let mut table = Table::new(&["WHO", "IS", "PERSON", "FOR"]);
    for one in &list.known {
        table.row(vec![
            cell(&one.principal),
            cell(one.standing.name()),
            cell(one.person.as_deref().unwrap_or("-")),
            cell("until revoked"),
        ]);
    }
    for one in &list.waiting {
        let who = format!("{}:{}", one.channel, one.sender);
        table.row(vec![cell(who), cell("waiting"), cell("-"), cell(format!("{} s", one.seconds))]);
    }
    for one in &list.invitations {
        let who = format!("the bearer of the code, on {}", one.channel);
        let is = format!("invited as {}", one.standing.name());
        table.row(vec![cell(who), cell(is), cell("-"), cell(format!("{} s", one.seconds))]);
    }
    table.show(screen, 0)
}

/// Does what `autonomy` says.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn autonomy(screen: &mut Screen, instance: &Instance, command: &AutonomyCommand) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let ask = match command {
        AutonomyCommand::Show => AutonomyAsk::Show,
        AutonomyCommand::Set { principal, level, time } => {
            AutonomyAsk::Set(SetLevel { principal: principal.clone(), level: *level, seconds: time.unwrap_or(0) })
        }
    };
    let answer = opened(policyd.autonomy(TraceId::NONE, ask, [])?)?;
    if screen.json() {
        screen.document(&answer)?;
        return Ok(Exit::Done);
    }
    match answer {
        AutonomyAnswer::Levels(levels) => {
            let mut table = Table::new(&["WHO", "IS", "LEVEL", "HOW LONG"]);
            for one in &levels {
                table.row(vec![
                    cell(&one.principal),
                    cell(one.standing.name()),
                    cell(one.level.name()),
                    cell(how_long(one.raised_until_ms)),
                ]);
            }
            table.show(screen, 0)?;
        }
        AutonomyAnswer::Set(set) => {
            let (level, long) = (set.level.name(), how_long(set.raised_until_ms));
            screen.line(&format!("{} is {level}, {long}.", set.principal))?;
        }
    }
    Ok(Exit::Done)
}

fn how_long(until_ms: Option<u64>) -> String {
    until_ms.map_or_else(
        || "for good".to_owned(),
        |until| format!("for {} s more", until.saturating_sub(crate::screen::human::now_ms()) / 1_000),
    )
}
