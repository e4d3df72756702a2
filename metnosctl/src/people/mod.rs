//! `pairing` and `autonomy`: who may speak to this instance, and how far he goes without asking.

pub mod automation;
pub mod secret;
pub mod telegram;

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::people::{ApprovePairing, AutonomyAsk, Invite, PairingAsk, SetLevel, Speaks};
use serde_json::Value;

use crate::command_line::nouns::{AutonomyCommand, PairingCommand};
use crate::daemons::connection::{Connection, document};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;
use crate::screen::table::{Table, cell};

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Does what `pairing` says.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn pairing(screen: &mut Screen, instance: &Instance, command: &PairingCommand) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let ask = match command {
        PairingCommand::List => PairingAsk::List,
        PairingCommand::Approve { channel, code, standing } => {
            PairingAsk::Approve(ApprovePairing { channel: *channel, code: code.clone(), standing: *standing })
        }
        PairingCommand::Invite { channel, standing } => {
            PairingAsk::Invite(Invite { channel: *channel, standing: *standing })
        }
        PairingCommand::Language { principal, lang } => {
            PairingAsk::Speaks(Speaks { principal: principal.clone(), lang: *lang })
        }
        PairingCommand::Revoke { principal } => PairingAsk::Revoke(principal.clone()),
    };
    let (_, [answer]) = policyd.pairing(TraceId::NONE, ask, [])?;
    let answer = document(&answer)?;
    if screen.json() {
        screen.document(&answer)?;
        return Ok(Exit::Done);
    }
    match command {
        PairingCommand::List => people(screen, &answer)?,
        PairingCommand::Approve { .. } => {
            screen.line(&format!(
                "{} is known as {} from now on.",
                text(&answer["principal"]),
                text(&answer["standing"])
            ))?;
        }
        PairingCommand::Invite { .. } => screen.line(&format!(
            "{}\nWhoever shows it on {} within {} s becomes {}; once.",
            text(&answer["code"]),
            text(&answer["channel"]),
            answer["seconds"],
            text(&answer["standing"])
        ))?,
        PairingCommand::Language { .. } => {
            let (who, lang) = (text(&answer["principal"]), text(&answer["lang"]));
            screen.line(&format!("{who} is spoken to in {lang} from now on."))?;
        }
        PairingCommand::Revoke { .. } => {
            screen.line(&format!(
                "{} is a stranger again; {} turns were ended.",
                text(&answer["principal"]),
                answer["turns_ended"]
            ))?;
        }
    }
    Ok(Exit::Done)
}

fn people(screen: &mut Screen, answer: &Value) -> Result<(), CtlError> {
    let rows = |key: &str| answer[key].as_array().cloned().unwrap_or_default();
    let (known, waiting, invitations) = (rows("known"), rows("waiting"), rows("invitations"));
    if known.is_empty() && waiting.is_empty() && invitations.is_empty() {
        return screen.line("Nobody is known beside the owner, and nobody waits.");
    }
    let mut table = Table::new(&["WHO", "IS", "FOR"]);
    for one in &known {
        table.row(vec![cell(text(&one["principal"])), cell(text(&one["standing"])), cell("until revoked")]);
    }
    for one in &waiting {
        let who = format!("{}:{}", text(&one["channel"]), text(&one["sender"]));
        table.row(vec![cell(who), cell("waiting"), cell(format!("{} s", one["seconds"]))]);
    }
    for one in &invitations {
        let who = format!("whoever has the code, on {}", text(&one["channel"]));
        table.row(vec![
            cell(who),
            cell(format!("invited as {}", text(&one["standing"]))),
            cell(format!("{} s", one["seconds"])),
        ]);
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
    let (_, [answer]) = policyd.autonomy(TraceId::NONE, ask, [])?;
    let answer = document(&answer)?;
    if screen.json() {
        screen.document(&answer)?;
        return Ok(Exit::Done);
    }
    let until = |one: &Value| {
        one["raised_until_ms"].as_u64().map_or_else(
            || "for good".to_owned(),
            |until| format!("for {} s more", until.saturating_sub(crate::screen::human::now_ms()) / 1_000),
        )
    };
    match command {
        AutonomyCommand::Show => {
            let mut table = Table::new(&["WHO", "IS", "LEVEL", "HOW LONG"]);
            for one in answer.as_array().into_iter().flatten() {
                table.row(vec![
                    cell(text(&one["principal"])),
                    cell(text(&one["standing"])),
                    cell(text(&one["level"])),
                    cell(until(one)),
                ]);
            }
            table.show(screen, 0)?;
        }
        AutonomyCommand::Set { .. } => {
            screen.line(&format!(
                "{} is {}, {}.",
                text(&answer["principal"]),
                text(&answer["level"]),
                until(&answer)
            ))?;
        }
    }
    Ok(Exit::Done)
}
