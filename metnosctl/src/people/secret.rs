//! `secret`: the vault, from outside. A value is read from standard input or typed without being shown; it is never
//! taken from the command line, where every user of the machine could read it, and never printed.

use std::io::{BufRead, IsTerminal, Read};

use metnos_proto::doc::vault::{SecretGranted, SecretRow, SecretVersion, SecretWithdrawn, VaultAnswer};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::sandboxd::MAX_SECRET;
use metnos_proto::msg::vault_budget::{SecretFor, VaultAsk, VaultPut};
use metnos_proto::payload::Sealed;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use schemars::JsonSchema;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::command_line::nouns::SecretCommand;
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::escape;
use crate::screen::table::{Table, cell};
use crate::screen::{Ink, Screen};

/// Does what `secret` says.
///
/// # Errors
/// When policyd refuses or cannot be reached, or no value can be read.
pub fn secret(screen: &mut Screen, instance: &Instance, command: &SecretCommand) -> Result<Exit, CtlError> {
    let value = match command {
        SecretCommand::Set { name } | SecretCommand::Rotate { name } => Some(secret_of(screen, name)?),
        SecretCommand::List
        | SecretCommand::Remove { .. }
        | SecretCommand::Grant { .. }
        | SecretCommand::Withdraw { .. } => None,
    };
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let put = |name: &String, rotate| VaultPut { name: name.clone(), rotate };
    let of = |secret: &String, executor: &String| SecretFor { secret: secret.clone(), executor: executor.clone() };
    let (ask, put) = match command {
        SecretCommand::List => (Some(VaultAsk::List), None),
        SecretCommand::Set { name } => (None, Some(put(name, false))),
        SecretCommand::Rotate { name } => (None, Some(put(name, true))),
        SecretCommand::Remove { name } => (Some(VaultAsk::Remove(name.clone())), None),
        SecretCommand::Grant { name, executor } => (Some(VaultAsk::Grant(of(name, executor))), None),
        SecretCommand::Withdraw { name, executor } => (Some(VaultAsk::Withdraw(of(name, executor))), None),
    };
    match (ask, put, value) {
        (Some(ask), _, _) => {
            let answer = opened(policyd.vault(TraceId::NONE, ask, [])?)?;
            if screen.json() { screen.document(&answer)? } else { show(screen, &answer)? }
        }
        (None, Some(put), Some(value)) => {
            let sealed = Sealed::new(&value).map_err(|error| CtlError::failed("the value", error, ""))?;
            let rotated = put.rotate;
            let made = opened(policyd.vault_put(TraceId::NONE, put, [sealed])?)?;
            if screen.json() { screen.document(&made)? } else { show_version(screen, &made, rotated)? }
        }
        (None, _, _) => return Err(CtlError::failed("secret", "there is nothing to do", "")),
    }
    Ok(Exit::Done)
}

fn show_version(screen: &mut Screen, made: &SecretVersion, rotated: bool) -> Result<(), CtlError> {
    let name = escape::line(&made.name);
    if rotated {
        screen.line(&format!("`{name}` has its value number {}; calls from now on are given that.", made.version))
    } else {
        screen.line(&format!("`{name}` is in the vault. An executor is given it only after `metnosctl secret grant`."))
    }
}

fn show(screen: &mut Screen, answer: &VaultAnswer) -> Result<(), CtlError> {
    match answer {
        VaultAnswer::Secrets(rows) => list(screen, rows),
        VaultAnswer::Removed(gone) => {
            screen.line(&format!("`{}` is gone; what needs it is denied from now on.", escape::line(&gone.name)))
        }
        VaultAnswer::Granted(SecretGranted { name, executor, files }) => {
            let (name, executor, files) = (escape::line(name), escape::line(executor), escape::line(files));
            screen.line(&format!("{executor} is given `{name}` from now on, as its files are now ({files})."))
        }
        VaultAnswer::Withdrawn(SecretWithdrawn { name, executor }) => {
            let (name, executor) = (escape::line(name), escape::line(executor));
            screen.line(&format!("{executor} is not given `{name}` any more."))
        }
    }
}

fn list(screen: &mut Screen, rows: &[SecretRow]) -> Result<(), CtlError> {
    if rows.is_empty() {
        return screen.line("The vault is empty.");
    }
    let mut table = Table::new(&["NAME", "VALUE", "GIVEN TO"]);
    for one in rows {
        let given: Vec<&str> = one.given.iter().map(|given| given.executor.as_str()).collect();
        let to = if given.is_empty() { "nobody".to_owned() } else { given.join(", ") };
        table.row(vec![cell(&one.name), cell(format!("number {}", one.version)), cell(to)]);
    }
    table.show(screen, 0)
}

/// Whether the owner has given a key or a token, or taken it away.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Given {
    /// The owner has given it.
    Owner,
    /// There is none.
    None,
}

impl Given {
    /// Whether there is one.
    #[must_use]
    pub const fn is(given: bool) -> Self {
        if given { Self::Owner } else { Self::None }
    }
}

/// The value of a secret.
fn secret_of(screen: &mut Screen, name: &str) -> Result<Zeroizing<Vec<u8>>, CtlError> {
    let value = typed(screen, &format!("the value of `{name}`"), MAX_SECRET)?;
    if value.is_empty() || value.len() > MAX_SECRET {
        let what = format!("it has {} bytes; a secret has 1 to {MAX_SECRET}", value.len());
        return Err(CtlError::failed("the value", what, format!("`printf %s … | metnosctl secret set {name}`")));
    }
    Ok(value)
}

/// What was typed or piped, without the end of its line; at most one byte more than `most`.
pub(crate) fn typed(screen: &mut Screen, what: &str, most: usize) -> Result<Zeroizing<Vec<u8>>, CtlError> {
    let unread = |error| CtlError::failed("no value can be read from standard input", error, "");
    let stdin = std::io::stdin();
    let mut value = Zeroizing::new(Vec::with_capacity(most + 2));
    if stdin.is_terminal() {
        screen.aside(Ink::Dim, &format!("{what} (it is not shown):"))?;
        let quiet = HiddenInput::begin().map_err(unread)?;
        stdin.lock().take(most as u64 + 2).read_until(b'\n', &mut value).map_err(unread)?;
        drop(quiet);
    } else {
        stdin.lock().take(most as u64 + 2).read_to_end(&mut value).map_err(unread)?;
    }
    if value.last() == Some(&b'\n') {
        value.pop();
    }
    Ok(value)
}

/// A terminal that does not show what is typed, until this is dropped.
struct HiddenInput(rustix::termios::Termios);

impl HiddenInput {
    fn begin() -> std::io::Result<Self> {
        let stdin = rustix::stdio::stdin();
        let before = tcgetattr(stdin)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(stdin, OptionalActions::Flush, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // A terminal that is gone needs no echo.
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &self.0);
    }
}
