//! `executor`: the pool as policyd knows it, and as sandboxd finds it on the disk.

use metnos_proto::doc::executor::{Digests, State};
use metnos_proto::edges::{CtlPolicyd, CtlSandboxd};
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::ExecutorId;
use metnos_proto::msg::policyd::{ExecutorRow, ExecutorState, Executors, ShowExecutor};
use metnos_proto::msg::sandboxd::{PoolEntry, VerifyExecutor};
use schemars::JsonSchema;
use serde::Serialize;

use crate::command_line::cli::ExecutorCommand;
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::executors::archive;
use crate::executors::fitness::{Standing, Standings};
use crate::executors::parcel;
use crate::executors::profile;
use crate::executors::record::{self, ExecutorShown};
use crate::executors::scaffold;
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

/// `executor list|show|profile|diff|disable|enable|lift|relock|archive|restore|revoke|new|export|import|sign|verify`.
///
/// # Errors
/// When policyd or sandboxd refuses or cannot be reached.
pub fn executor(screen: &mut Screen, instance: &Instance, command: &ExecutorCommand) -> Result<Exit, CtlError> {
    // A stopped instance has a pool as well, so `new` connects to nothing.
    let reach = || Connection::to(instance);
    match command {
        ExecutorCommand::New { name } => scaffold::new(screen, instance, name),
        ExecutorCommand::List => list(screen, &mut reach()?),
        ExecutorCommand::Show { name } => show(screen, &mut reach()?, name),
        ExecutorCommand::Profile { name } => profile::profile(screen, &mut reach()?, name),
        ExecutorCommand::Diff { name } => profile::diff(screen, &mut reach()?, name),
        ExecutorCommand::Disable { name } => switches::executor(screen, &mut reach()?, name, false),
        ExecutorCommand::Enable { name } => switches::executor(screen, &mut reach()?, name, true),
        ExecutorCommand::Lift { name, confirm } => {
            unquarantine::lift_quarantine(screen, &mut reach()?, Some(name), false, confirm.as_deref())
        }
        ExecutorCommand::Relock { name, all: _, confirm } => {
            unquarantine::lift_quarantine(screen, &mut reach()?, name.as_deref(), true, confirm.as_deref())
        }
        ExecutorCommand::Archive { name, reason } => archive::archive(screen, &mut reach()?, name, reason.as_deref()),
        ExecutorCommand::Restore { name, reason } => archive::restore(screen, &mut reach()?, name, reason),
        ExecutorCommand::Revoke { name, reason, confirm } => {
            archive::revoke(screen, &mut reach()?, name, reason, confirm.as_deref())
        }
        ExecutorCommand::Export { name, file } => parcel::export(screen, &mut reach()?, name, file),
        ExecutorCommand::Import { file } => parcel::import(screen, &mut reach()?, file),
        ExecutorCommand::Sign { name, confirm } => parcel::sign(screen, &mut reach()?, name, confirm.as_deref()),
        ExecutorCommand::Verify { name } => verify(screen, &mut reach()?, name.as_deref()),
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

/// The names of those that may be called.
///
/// # Errors
/// As [`rows`].
pub fn active(reach: &mut Connection) -> Result<Vec<String>, CtlError> {
    let is_active = |row: &ExecutorRow| State::from(&row.state) == State::Active;
    Ok(rows(reach)?.into_iter().filter(is_active).map(|row| row.id.name).collect())
}

/// The ink of a state.
const fn ink(state: State) -> Ink {
    match state {
        State::Staged | State::Signed => Ink::Warn,
        State::Active => Ink::Good,
        State::Quarantined | State::Revoked => Ink::Bad,
        State::BelowThreshold | State::Archived => Ink::Plain,
    }
}

/// An executor in the list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExecutorListed {
    /// Its name.
    name: String,
    /// Its version.
    version: String,
    /// How it stands.
    state: State,
    /// Why it stands so; empty where there is nothing to say.
    why: String,
    /// What kind of effect it has.
    class: String,
    /// What it does.
    summary: String,
    /// How useful it has been; null where memoryd does not say.
    fitness: Option<Standing>,
}

impl ExecutorListed {
    fn of(row: ExecutorRow, standings: &Standings) -> Self {
        let (mut state, mut why) = (State::from(&row.state), row.why);
        let ExecutorId { name, version } = row.id;
        let fitness = standings.judge((&name, &version), &mut state, &mut why);
        Self { name, version, state, why, class: row.class, summary: row.summary, fitness }
    }
}

fn list(screen: &mut Screen, reach: &mut Connection) -> Result<Exit, CtlError> {
    let rows = rows(reach)?;
    let standings = Standings::ask(reach);
    let listed: Vec<ExecutorListed> = rows.into_iter().map(|row| ExecutorListed::of(row, &standings)).collect();
    if screen.json() {
        screen.document(&listed)?;
        return Ok(Exit::Done);
    }
    if listed.is_empty() {
        screen.line("There are no executors.")?;
        return Ok(Exit::Done);
    }
    // On a narrow terminal there is room for what it does, or for this; `show` tells it.
    let wide = screen.width().is_none_or(|columns| columns >= WIDE);
    let of_all = ["NAME", "VERSION", "STATE", "FITNESS", "CLASS", "DOES"];
    let mut table = Table::new(&of_all.into_iter().filter(|one| wide || *one != "FITNESS").collect::<Vec<_>>());
    for one in &listed {
        let does = if one.why.is_empty() { &one.summary } else { &one.why };
        let mut cells = vec![cell(&one.name), cell(&one.version), inked(one.state.name(), ink(one.state))];
        cells.extend(wide.then(|| cell(one.fitness.as_ref().map_or_else(|| "-".to_owned(), Standing::number))));
        cells.extend([cell(&one.class), cell(human::shortened(does, MAX_SHOWN))]);
        table.row(cells);
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

fn show(screen: &mut Screen, reach: &mut Connection, name: &str) -> Result<Exit, CtlError> {
    let ask = ShowExecutor { name: name.to_owned() };
    let record = opened(reach.open::<CtlPolicyd>()?.show_executor(TraceId::NONE, ask, [])?)?;
    let shown = ExecutorShown::of(record, &Standings::ask(reach));
    if screen.json() {
        screen.document(&shown)?;
    } else {
        record::show(screen, &shown, human::now_ms())?;
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
        screen.document(&checked.iter().map(ExecutorVerified::of).collect::<Vec<_>>())?;
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

/// A version of an executor, verified.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExecutorVerified {
    /// Its name.
    name: String,
    /// Its version.
    version: String,
    /// Whether it is signed, whole and callable.
    ok: bool,
    /// What is wrong; empty when nothing is.
    why: String,
    /// Whether its signature fits its files.
    signed: bool,
    /// How it stands in the registry; null when policyd does not know it.
    state: Option<State>,
    /// What lies on the disk.
    digests: Digests,
}

impl ExecutorVerified {
    fn of(one: &Checked) -> Self {
        let ExecutorId { name, version } = one.entry.id.clone();
        Self {
            name,
            version,
            ok: one.holds(),
            why: one.why(),
            signed: one.entry.signed,
            state: one.state.as_ref().map(State::from),
            digests: (&one.entry.digests).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metnos_proto::ids::Blake3;
    use metnos_proto::msg::common::ExecutorDigests;

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
