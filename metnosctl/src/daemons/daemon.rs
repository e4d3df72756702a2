//! `daemon`: the daemons one by one, through the supervisor only.

use std::time::Instant;

use metnos_proto::role::RoleName;
use schemars::JsonSchema;
use serde::Serialize;

use crate::command_line::cli::DaemonCommand;
use crate::daemons::connection::Connection;
use crate::daemons::survey::{self, DaemonReport};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::json_constant::ConstTrue;
use crate::screen::Screen;
use crate::screen::human::now_ms;

/// A daemon was restarted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DaemonRestarted {
    /// It was done.
    ok: ConstTrue,
    /// How long that took.
    within_ms: u64,
    /// The new one.
    daemon: DaemonReport,
}

/// `daemon list|restart`.
///
/// # Errors
/// When the supervisor refuses or cannot be reached.
pub fn daemon(screen: &mut Screen, instance: &Instance, command: &DaemonCommand) -> Result<Exit, CtlError> {
    let mut reach = Connection::to(instance)?;
    match command {
        DaemonCommand::List => list(screen, &mut reach),
        DaemonCommand::Restart { name } => restart(screen, &mut reach, *name),
    }
}

fn list(screen: &mut Screen, reach: &mut Connection) -> Result<Exit, CtlError> {
    let survey = reach.survey()?;
    if screen.json() {
        screen.document(&survey.daemons.iter().map(DaemonReport::from).collect::<Vec<_>>())?;
    } else {
        survey::daemons(&survey.daemons, now_ms()).show(screen, 0)?;
    }
    Ok(Exit::Done)
}

fn restart(screen: &mut Screen, reach: &mut Connection, role: RoleName) -> Result<Exit, CtlError> {
    let began = Instant::now();
    reach.restart(role)?;
    let within_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let survey = reach.survey()?;
    let row = survey.daemons.iter().find(|row| row.role == role);
    let row = row.ok_or_else(|| CtlError::supervisor(format!("it does not name the daemon {role}")))?;
    if screen.json() {
        screen.document(&DaemonRestarted { ok: ConstTrue, within_ms, daemon: row.into() })?;
    } else {
        screen.line(&format!("{role} is ready again after {within_ms} ms, as process {}.", row.pid))?;
    }
    Ok(Exit::Done)
}
