//! `grant` and `totp`: what the owner has said for longer than once, and the one-time codes with which he
//! answers from elsewhere. A secret is shown once, and a code is never taken from the command line.

use std::io::BufRead;

use metnos_proto::doc::grant::{GrantRow, Says};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::policyd::{CodesConfirm, CodesEnrol, CodesEnrolled, CodesRemove, Grants, RevokeGrant};
use schemars::JsonSchema;
use serde::Serialize;

use crate::approvals::approval::target;
use crate::command_line::cli::{GrantCommand, TotpCommand};
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::table::{Table, cell, inked};
use crate::screen::{Ink, Screen};

/// Does what the command says.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn grant(screen: &mut Screen, instance: &Instance, command: &GrantCommand) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    match command {
        GrantCommand::List => {
            let grants = opened(policyd.grants(TraceId::NONE, Grants {}, [])?)?;
            if screen.json() {
                screen.masked(&grants)?;
                return Ok(Exit::Done);
            }
            list(screen, &grants.0)
        }
        GrantCommand::Revoke { id } => {
            policyd.revoke_grant(TraceId::NONE, RevokeGrant { id: id.clone() }, [])?;
            print_done(screen, &format!("{id} is taken back; it is asked again from now on."))
        }
    }
}

fn list(screen: &mut Screen, grants: &[GrantRow]) -> Result<Exit, CtlError> {
    if grants.is_empty() {
        screen.line("Nothing was said for longer than once.")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["ID", "SAYS", "TO", "WITH", "FOR", "USES"]);
    for grant in grants {
        let ink = match grant.says {
            Says::Never => Ink::Warn,
            Says::Always => Ink::Plain,
        };
        let scope: Vec<String> = grant.scope.iter().map(target).collect();
        table.row(vec![
            cell(&grant.id),
            inked(grant.says.name(), ink),
            cell(format!("{} {}", grant.executor, grant.version)),
            cell(scope.join(", ")),
            cell(&grant.principal),
            cell(grant.uses.to_string()),
        ]);
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

/// Does what the command says.
///
/// # Errors
/// When policyd refuses or cannot be reached, or the code is none.
pub fn totp(screen: &mut Screen, instance: &Instance, command: &TotpCommand) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    match command {
        TotpCommand::Enrol => {
            let (made, []) = policyd.codes_enrol(TraceId::NONE, CodesEnrol {}, [])?;
            if screen.json() {
                let CodesEnrolled { secret, uri } = made;
                screen.document(&TotpEnrolled { ok: true, secret, uri })?;
                return Ok(Exit::Done);
            }
            screen.line("Give this to the program on your phone that makes one-time codes; it is shown once.")?;
            screen.line(&format!("  secret  {}", made.secret))?;
            screen.line(&format!("  address {}", made.uri))?;
            screen.line("Then type the code that it shows: `metnosctl totp confirm`")?;
            Ok(Exit::Done)
        }
        TotpCommand::Confirm => {
            screen.aside(Ink::Dim, "the code that your device shows now:")?;
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            read.map_err(|error| CtlError::failed("no code can be read from standard input", error, ""))?;
            policyd.codes_confirm(TraceId::NONE, CodesConfirm { code: line.trim().to_owned() }, [])?;
            print_done(screen, "One-time codes count from now on.")
        }
        TotpCommand::Remove => {
            policyd.codes_remove(TraceId::NONE, CodesRemove {}, [])?;
            print_done(screen, "No one-time code counts any more.")
        }
    }
}

/// What was asked for was done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Accepted {
    /// It was.
    ok: bool,
}

/// What a device needs to make one-time codes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TotpEnrolled {
    /// It was made.
    ok: bool,
    /// The secret.
    secret: String,
    /// The same, as an address for a picture.
    uri: String,
}

fn print_done(screen: &mut Screen, words: &str) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(&Accepted { ok: true })?;
    } else {
        screen.line(words)?;
    }
    Ok(Exit::Done)
}
