//! `executor`: the pool as policyd knows it, and as sandboxd finds it on the disk.

use metnos_proto::edges::{CtlPolicyd, CtlSandboxd};
use metnos_proto::ids::TraceId;
use metnos_proto::msg::policyd::{ExecutorRow, ExecutorState, Executors, ShowExecutor};
use metnos_proto::msg::sandboxd::{PoolEntry, VerifyExecutor};
use serde_json::{Value, json};

use crate::command_line::cli::ExecutorCommand;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::executors::archive;
use crate::executors::fitness::{self, BELOW, Standings};
use crate::executors::parcel;
use crate::executors::profile;
use crate::executors::record;
use crate::executors::switches;
use crate::executors::unquarantine;
use crate::instance::Instance;
use crate::screen::human;
use crate::screen::table::{Table, cell, inked};
use crate::screen::{Ink, Screen};

/// The most characters of a reason or a summary in the list.
const MAX_SHOWN: usize = 80;
/// From so many columns on the list has room for the fitness.
const WIDE: usize = 80;

/// `executor list|show|profile|diff|disable|enable|lift|relock|archive|restore|revoke|export|import|sign|verify`.
///
/// # Errors
/// When policyd or sandboxd refuses or cannot be reached.
pub fn executor(screen: &mut Screen, instance: &Instance, command: &ExecutorCommand) -> Result<Exit, CtlError> {
    let mut reach = Connection::to(instance)?;
    match command {
        ExecutorCommand::List => list(screen, &mut reach),
        ExecutorCommand::Show { name } => show(screen, &mut reach, name),
        ExecutorCommand::Profile { name } => profile::profile(screen, &mut reach, name),
        ExecutorCommand::Diff { name } => profile::diff(screen, &mut reach, name),
        ExecutorCommand::Disable { name } => switches::executor(screen, &mut reach, name, false),
        ExecutorCommand::Enable { name } => switches::executor(screen, &mut reach, name, true),
        ExecutorCommand::Lift { name, confirm } => {
            unquarantine::lift_quarantine(screen, &mut reach, Some(name), false, confirm.as_deref())
        }
        ExecutorCommand::Relock { name, all: _, confirm } => {
            unquarantine::lift_quarantine(screen, &mut reach, name.as_deref(), true, confirm.as_deref())
        }
        ExecutorCommand::Archive { name, reason } => archive::archive(screen, &mut reach, name, reason.as_deref()),
        ExecutorCommand::Restore { name, reason } => archive::restore(screen, &mut reach, name, reason),
        ExecutorCommand::Revoke { name, reason, confirm } => {
            archive::revoke(screen, &mut reach, name, reason, confirm.as_deref())
        }
        ExecutorCommand::Export { name, file } => parcel::export(screen, &mut reach, name, file),
        ExecutorCommand::Import { file } => parcel::import(screen, &mut reach, file),
        ExecutorCommand::Sign { name, confirm } => parcel::sign(screen, &mut reach, name, confirm.as_deref()),
        ExecutorCommand::Verify { name } => verify(screen, &mut reach, name.as_deref()),
    }
}

/// The registry.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn rows(reach: &mut Connection) -> Result<Vec<ExecutorRow>, CtlError> {
    let (list, []) = reach.open::<CtlPolicyd>()?.executors(TraceId::NONE, Executors {}, [])?;
    Ok(list.rows)
}

/// The ink of a state.
const fn ink(state: &ExecutorState) -> Ink {
    match state {
        ExecutorState::Staged => Ink::Warn,
        ExecutorState::Active => Ink::Good,
        ExecutorState::Quarantined | ExecutorState::Revoked => Ink::Bad,
        ExecutorState::Archived => Ink::Plain,
    }
}

fn row_document(row: &ExecutorRow) -> Value {
    json!({
        "name": row.id.name, "version": row.id.version, "state": row.state.name(), "why": row.why,
        "class": row.class, "summary": row.summary,
    })
}

fn list(screen: &mut Screen, reach: &mut Connection) -> Result<Exit, CtlError> {
    let rows = rows(reach)?;
    let standings = Standings::ask(reach);
    let told = |row: &ExecutorRow| {
        let mut document = row_document(row);
        standings.put_into(&mut document);
        document
    };
    let documents: Vec<Value> = rows.iter().map(told).collect();
    if screen.json() {
        screen.document(&Value::Array(documents))?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        screen.line("There are no executors.")?;
        return Ok(Exit::Done);
    }
    // On a narrow terminal there is room for what it does, or for this; `show` tells it.
    let wide = screen.width().is_none_or(|columns| columns >= WIDE);
    let of_all = ["NAME", "VERSION", "STATE", "FITNESS", "CLASS", "DOES"];
    let mut table = Table::new(&of_all.into_iter().filter(|one| wide || *one != "FITNESS").collect::<Vec<_>>());
    for (row, document) in rows.iter().zip(&documents) {
        let text = |key: &str| document[key].as_str().unwrap_or_default();
        let does = if text("why").is_empty() { &row.summary } else { text("why") };
        let ink = if text("state") == BELOW { Ink::Plain } else { ink(&row.state) };
        let mut cells = vec![cell(&row.id.name), cell(&row.id.version), inked(text("state"), ink)];
        cells.extend(wide.then(|| cell(fitness::number(document))));
        cells.extend([cell(&row.class), cell(human::shortened(does, MAX_SHOWN))]);
        table.row(cells);
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

fn show(screen: &mut Screen, reach: &mut Connection, name: &str) -> Result<Exit, CtlError> {
    let ask = ShowExecutor { name: name.to_owned() };
    let (_, [record]) = reach.open::<CtlPolicyd>()?.show_executor(TraceId::NONE, ask, [])?;
    let unreadable = |why: String| CtlError::failed(format!("the record of {name}"), why, "look at `metnosctl doctor`");
    let bytes = record.read().map_err(|error| unreadable(error.to_string()))?;
    let mut document: Value = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
    if document.is_object() {
        Standings::ask(reach).put_into(&mut document);
    }
    if screen.json() {
        screen.document(&document)?;
    } else {
        record::show(screen, &document, human::now_ms())?;
    }
    Ok(Exit::Done)
}

/// One verified version: what sandboxd found, beside what policyd holds of it.
#[derive(Debug)]
pub struct Checked {
    /// What lies on the disk.
    pub entry: PoolEntry,
    /// The state in policyd's registry; none when it does not know this version.
    pub state: Option<ExecutorState>,
}

impl Checked {
    /// Whether it is signed, whole and callable.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.entry.fault.is_empty() && self.entry.signed && matches!(self.state, Some(ExecutorState::Active))
    }

    /// Whether the owner himself has taken it out of use, so that nothing about it needs mending.
    #[must_use]
    pub const fn is_inactive(&self) -> bool {
        matches!(self.state, Some(ExecutorState::Archived | ExecutorState::Revoked))
    }

    /// What is wrong, for a person; empty when it holds.
    #[must_use]
    pub fn why(&self) -> String {
        match &self.state {
            _ if !self.entry.fault.is_empty() => self.entry.fault.clone(),
            _ if !self.entry.signed => "its signature is missing, or does not fit the files".to_owned(),
            None => "policyd does not know it".to_owned(),
            Some(ExecutorState::Active) => String::new(),
            Some(
                state @ (ExecutorState::Staged
                | ExecutorState::Quarantined
                | ExecutorState::Archived
                | ExecutorState::Revoked),
            ) => format!("it is {}", state.name()),
        }
    }
}

/// Has one executor, or every one in the registry, verified.
///
/// # Errors
/// When policyd or sandboxd refuses or cannot be reached.
pub fn check(reach: &mut Connection, name: Option<&str>) -> Result<Vec<Checked>, CtlError> {
    let rows = rows(reach)?;
    let mut names: Vec<&str> = match name {
        Some(name) => vec![name],
        None => rows.iter().map(|row| row.id.name.as_str()).collect(),
    };
    names.dedup();
    let mut sandboxd = reach.open::<CtlSandboxd>()?;
    let mut checked = Vec::new();
    for name in names {
        let (verified, []) = sandboxd.verify_executor(TraceId::NONE, VerifyExecutor { name: name.to_owned() }, [])?;
        for entry in verified.entries {
            let state = rows.iter().find(|row| row.id == entry.id).map(|row| row.state.clone());
            checked.push(Checked { entry, state });
        }
    }
    Ok(checked)
}

fn verify(screen: &mut Screen, reach: &mut Connection, name: Option<&str>) -> Result<Exit, CtlError> {
    let checked = check(reach, name)?;
    let ok = checked.iter().all(Checked::holds);
    if screen.json() {
        screen.document(&Value::Array(checked.iter().map(checked_document).collect()))?;
    } else if checked.is_empty() {
        screen.line("There are no executors.")?;
    } else {
        let mut table = Table::new(&["NAME", "VERSION", "VERDICT", "WHY"]);
        for one in &checked {
            let verdict = if one.holds() { inked("holds", Ink::Good) } else { inked("does not hold", Ink::Bad) };
            table.row(vec![cell(&one.entry.id.name), cell(&one.entry.id.version), verdict, cell(one.why())]);
        }
        table.show(screen, 0)?;
    }
    Ok(if ok { Exit::Done } else { Exit::Failed })
}

fn checked_document(one: &Checked) -> Value {
    let digests = &one.entry.digests;
    json!({
        "name": one.entry.id.name, "version": one.entry.id.version, "ok": one.holds(), "why": one.why(),
        "signed": one.entry.signed, "state": one.state.as_ref().map(ExecutorState::name),
        "digests": {
            "manifest": digests.manifest.to_string(), "code": digests.code.to_string(),
            "schema": digests.schema.to_string(), "profile": digests.profile.to_string(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use metnos_proto::ids::Blake3;
    use metnos_proto::msg::common::{ExecutorDigests, ExecutorId};

    fn one(fault: &str, signed: bool, state: Option<ExecutorState>) -> Checked {
        let digest = Blake3::of(b"x");
        let digests = ExecutorDigests { manifest: digest, code: digest, schema: digest, profile: digest };
        let id = ExecutorId { name: "fs_read".into(), version: "1.0.0".into() };
        Checked { entry: PoolEntry { id, digests, fault: fault.into(), signed }, state }
    }

    #[test]
    fn an_executor_holds_only_when_it_is_whole_signed_and_active() {
        assert!(one("", true, Some(ExecutorState::Active)).holds());
        for bad in [
            one("main.py is missing", true, Some(ExecutorState::Active)),
            one("", false, Some(ExecutorState::Active)),
            one("", true, Some(ExecutorState::Quarantined)),
            one("", true, Some(ExecutorState::Staged)),
            one("", true, None),
        ] {
            assert!(!bad.holds() && !bad.why().is_empty(), "{bad:?}");
        }
    }
}
