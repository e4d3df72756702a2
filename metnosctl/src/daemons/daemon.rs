//! `daemon`: the daemons one by one, through the supervisor only.

use std::time::Instant;

use metnos_proto::role::RoleName;
use serde_json::{Value, json};

use crate::command_line::cli::DaemonCommand;
use crate::daemons::connection::Connection;
use crate::daemons::survey;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;
use crate::screen::human::now_ms;

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
        screen.document(&Value::Array(survey.daemons.iter().map(survey::daemon_document).collect()))?;
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
    let pid = row.map_or(0, |row| row.pid);
    if screen.json() {
        let row = row.map(survey::daemon_document);
        screen.document(&json!({ "ok": true, "within_ms": within_ms, "daemon": row }))?;
    } else {
        screen.line(&format!("{role} is ready again after {within_ms} ms, as process {pid}."))?;
    }
    Ok(Exit::Done)
}
