//! `account`: the accounts that persons have elsewhere. A password is read from standard input or typed without being shown; it is
//! never taken from the command line, and never printed.

use metnos_proto::doc::vault::{AccountAnswer, AccountKept, AccountRow};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::accounts::{AccountAsk, AccountKind, AccountOf, AccountPut, MAIN};
use metnos_proto::msg::sandboxd::MAX_SECRET;
use metnos_proto::payload::Sealed;

use crate::command_line::cli::Run;
use crate::command_line::nouns::{AccountCommand, AccountNamed};
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::people::secret::typed;
use crate::screen::escape;
use crate::screen::table::{Table, cell};
use crate::screen::{Ink, Screen};
use crate::turns::run;

/// The executor that shows whether an account of this kind can be used.
const fn tried_by(kind: AccountKind) -> &'static str {
    match kind {
        AccountKind::Mail => "imap_status",
        AccountKind::Calendar => "calendar_events",
    }
}

/// What somebody asks who wants to see whether it can be used.
const fn asked_by(kind: AccountKind) -> &'static str {
    match kind {
        AccountKind::Mail => "do I have new mail?",
        AccountKind::Calendar => "what is on my calendar?",
    }
}

/// Does what `account` says.
///
/// # Errors
/// When policyd refuses or cannot be reached, or no password can be read.
pub fn account(screen: &mut Screen, instance: &Instance, command: &AccountCommand) -> Result<Exit, CtlError> {
    match command {
        AccountCommand::List => answered(screen, instance, AccountAsk::List),
        AccountCommand::Remove { of, person } => {
            answered(screen, instance, AccountAsk::Remove(of_person(of, person.as_ref())))
        }
        AccountCommand::Test { of } => tried(screen, instance, of),
        AccountCommand::Add { of, person, host, port, user } => {
            let password = typed(screen, &format!("the password of {user} at {host}"), MAX_SECRET)?;
            if password.is_empty() || password.len() > MAX_SECRET {
                let what = format!("it has {} bytes; a password has 1 to {MAX_SECRET}", password.len());
                return Err(CtlError::failed("the password", what, "`pass mail | metnosctl account add mail …`"));
            }
            let sealed = Sealed::new(&password).map_err(|error| CtlError::failed("the password", error, ""))?;
            let put = AccountPut {
                of: of_person(of, person.as_ref()),
                host: host.clone(),
                port: port.unwrap_or(0),
                user: user.clone(),
            };
            let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
            let kept = opened(policyd.account_put(TraceId::NONE, put, [sealed])?)?;
            drop(policyd);
            if screen.json() {
                screen.document(&kept)?;
                return Ok(Exit::Done);
            }
            show_kept(screen, &kept)?;
            if person.is_some() {
                let who = escape::line(&kept.account.person);
                screen.line(&format!("Whether it works, {who} sees by asking “{}”.", asked_by(of.kind)))?;
                return Ok(Exit::Done);
            }
            tried(screen, instance, of)
        }
    }
}

fn answered(screen: &mut Screen, instance: &Instance, ask: AccountAsk) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let answer = opened(policyd.accounts(TraceId::NONE, ask, [])?)?;
    if screen.json() {
        screen.document(&answer)?;
        return Ok(Exit::Done);
    }
    match &answer {
        AccountAnswer::Accounts(rows) => list(screen, rows)?,
        AccountAnswer::Removed(gone) => {
            let (person, kind, name) = (escape::line(&gone.person), escape::line(&gone.kind), escape::line(&gone.name));
            screen.line(&format!("The {kind} account {name} of {person} is gone, with its password."))?;
        }
    }
    Ok(Exit::Done)
}

/// The owner's own account, tried as a call that is decided on and recorded like any other.
fn tried(screen: &mut Screen, instance: &Instance, of: &AccountNamed) -> Result<Exit, CtlError> {
    let named = format!("account={}", of.name.as_deref().unwrap_or(MAIN));
    let call = Run { executor: tried_by(of.kind).to_owned(), pairs: vec![named], args: None };
    run::run(screen, instance, &call)
}

fn of_person(of: &AccountNamed, person: Option<&String>) -> AccountOf {
    let (person, name) = (person.cloned().unwrap_or_default(), of.name.clone().unwrap_or_default());
    AccountOf { person, kind: of.kind, name }
}

fn show_kept(screen: &mut Screen, kept: &AccountKept) -> Result<(), CtlError> {
    let AccountRow { person, kind, name, host, port, user, since_ms: _ } = &kept.account;
    let did = if kept.replaced { "is changed" } else { "is added" };
    let (person, user, host) = (escape::line(person), escape::line(user), escape::line(host));
    screen.line(&format!("The {kind} account {name} of {person} {did}: {user} at {host}, port {port}."))?;
    screen
        .aside(Ink::Dim, "Its password is sealed in the vault; it is given to calls of that person's own turns alone.")
}

fn list(screen: &mut Screen, rows: &[AccountRow]) -> Result<(), CtlError> {
    if rows.is_empty() {
        return screen.line("There are no accounts. `metnosctl account add mail` adds a mailbox, `metnosctl account add calendar` a calendar.");
    }
    let mut table = Table::new(&["PERSON", "KIND", "NAME", "SERVER", "USER"]);
    for one in rows {
        let server = format!("{}:{}", one.host, one.port);
        table.row(vec![cell(&one.person), cell(&one.kind), cell(&one.name), cell(server), cell(&one.user)]);
    }
    table.show(screen, 0)
}
