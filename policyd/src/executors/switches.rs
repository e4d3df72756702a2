//! The owner's switches: everything stopped, or one executor. What is switched off is denied from the first moment, and stays so
//! across restarts until the owner switches it on again; what was running when a switch was thrown is ended (design: executor
//! §4, kill switch). A switch that could not be written down still holds for as long as this process lives.

use std::collections::BTreeMap;

use metnos_proto::edge::RpcError;
use metnos_proto::executor::is_name;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::sandboxd::Kill;
use rusqlite::{Connection, params};

use crate::decision::{Named, Verdict};
use crate::executors::Executors;
use crate::guard::shown;
use crate::people::principal::Principal;
use crate::store::{Store, StoreError};

/// The rule that denies while everything is stopped.
pub const STOPPED: &str = "panic.stopped";
/// The rule that denies an executor that is switched off.
pub const DISABLED: &str = "executor.disabled";
/// The most executors that can be switched off, each by its name.
pub const MAX_DISABLED: usize = 256;
/// Why everything is stopped when the doctor only tries it. The owner's own word takes the place of such a throw, never the
/// other way round, and none of it outlives policyd: a crash in the middle leaves nothing stopped.
pub(crate) const TRY: &str = "the doctor tries it";

/// The table. It is made wherever it is missing: nothing else changes with it.
pub(crate) const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS switches (
        what TEXT PRIMARY KEY, thrown_by TEXT NOT NULL, since_ms INTEGER NOT NULL, why TEXT NOT NULL
    ) STRICT;";

/// What is switched off.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SwitchTarget {
    /// Everything.
    All,
    /// Every version of the executor of this name.
    Executor(String),
}

impl SwitchTarget {
    /// How it stands in the table. No executor has this name: it is the empty one.
    fn text(&self) -> &str {
        match self {
            Self::All => "",
            Self::Executor(name) => name,
        }
    }

    /// The executor that it is about, if it is about one.
    #[must_use]
    pub fn executor(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::Executor(name) => Some(name),
        }
    }

    fn parse(text: String) -> Self {
        if text.is_empty() { Self::All } else { Self::Executor(text) }
    }
}

/// Who has thrown a switch, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thrown {
    /// The principal.
    pub by: String,
    /// In milliseconds since the epoch.
    pub since_ms: u64,
    /// Why, when it was not simply wished.
    pub why: String,
}

impl Thrown {
    fn because(&self) -> String {
        if self.why.is_empty() { String::new() } else { format!(": {}", self.why) }
    }
}

/// Every switch that is thrown.
pub type Switches = BTreeMap<SwitchTarget, Thrown>;

/// Reads them. What was only a try is over.
///
/// # Errors
/// When they cannot be read.
pub(crate) fn load(connection: &Connection) -> Result<Switches, StoreError> {
    connection.execute("DELETE FROM switches WHERE why = ?1", [TRY])?;
    let mut statement = connection.prepare("SELECT what, thrown_by, since_ms, why FROM switches")?;
    let rows = statement.query_map([], |row| {
        let since_ms = u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0);
        Ok((SwitchTarget::parse(row.get(0)?), Thrown { by: row.get(1)?, since_ms, why: row.get(3)? }))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl Store {
    /// Records that a switch is thrown; an earlier throw of it stays, unless that was a try.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn throw(&self, what: SwitchTarget, thrown: Thrown) -> Result<(), StoreError> {
        self.run(move |connection| {
            let since_ms = i64::try_from(thrown.since_ms).unwrap_or(i64::MAX);
            connection
                .execute(
                    "INSERT INTO switches VALUES (?1, ?2, ?3, ?4) ON CONFLICT (what) DO UPDATE SET
                         thrown_by = excluded.thrown_by, since_ms = excluded.since_ms, why = excluded.why
                         WHERE switches.why = ?5",
                    params![what.text(), thrown.by, since_ms, thrown.why, TRY],
                )
                .map(|_| ())
        })
        .await
    }

    /// Records that a switch is not thrown any more.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn release_switch(&self, what: SwitchTarget) -> Result<(), StoreError> {
        self.run(move |connection| {
            connection.execute("DELETE FROM switches WHERE what = ?1", [what.text()]).map(|_| ())
        })
        .await
    }

    /// Records that a try is over. What the owner has thrown stays.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn end_try(&self) -> Result<(), StoreError> {
        self.run(|connection| {
            let ended = "DELETE FROM switches WHERE what = ?1 AND why = ?2";
            connection.execute(ended, [SwitchTarget::All.text(), TRY]).map(|_| ())
        })
        .await
    }
}

impl Executors {
    /// Why nothing may happen now; `None` when it may.
    pub(crate) fn everything_stopped(&self) -> Option<Verdict> {
        let switches = self.switches.borrow();
        let thrown = switches.get(&SwitchTarget::All)?;
        let why = format!("{} has stopped everything{}", shown(&thrown.by), thrown.because());
        Some(Verdict::deny(STOPPED, why).with_remedy("`metnosctl resume` lets calls happen again"))
    }

    /// Why this executor may not be called now, whatever else holds; `None` when no switch is in the way.
    pub(crate) fn switched_off(&self, executor: &str) -> Option<Verdict> {
        if let Some(stopped) = self.everything_stopped() {
            return Some(stopped);
        }
        let switches = self.switches.borrow();
        let thrown = switches.get(&SwitchTarget::Executor(executor.to_owned()))?;
        let why = format!("{} has switched {} off{}", shown(&thrown.by), shown(executor), thrown.because());
        let remedy = format!("`metnosctl executor enable {executor}` switches it on again");
        Some(Verdict::deny(DISABLED, why).with_remedy(&remedy))
    }

    /// Stops everything for a moment, to see that it stops. [`Executors::end_try`] ends it.
    ///
    /// # Errors
    /// When it was not written down, or sandboxd did not answer; it is stopped all the same.
    pub(crate) async fn try_stop(&self, principal: &Principal) -> Result<(), Refusal> {
        self.base.event("panic", &format!("{} has stopped everything: {TRY}", principal.name), None);
        self.throw(SwitchTarget::All, principal, TRY, None).await.map(|_| ())
    }

    /// Whether everything is stopped, and whether that is only a try.
    pub(crate) fn stopped(&self) -> Option<bool> {
        self.switches.borrow().get(&SwitchTarget::All).map(|thrown| thrown.why == TRY)
    }

    /// Ends a try; whether there was one. What the owner himself has stopped stays stopped, whenever he did.
    ///
    /// # Errors
    /// When that was not written down; calls happen again all the same, as they would in the next policyd.
    pub(crate) async fn end_try(&self) -> Result<bool, Refusal> {
        let ended = self.base.store.end_try().await;
        let was = self.stopped() == Some(true);
        if was {
            self.switches.borrow_mut().remove(&SwitchTarget::All);
            self.base.event("resume", &format!("calls happen again: {TRY}"), None);
        }
        ended.map_err(|error| unwritten("it stays written down until policyd ends", &error)).map(|()| was)
    }

    /// Lets calls happen again.
    ///
    /// # Errors
    /// When that was not written down: then it stays stopped.
    pub(crate) async fn resume(&self, principal: &Principal) -> Result<bool, Refusal> {
        let was = self.release_switch(SwitchTarget::All).await?;
        if was {
            self.base.event("resume", &format!("{} lets calls happen again", principal.name), None);
        }
        Ok(was)
    }

    /// Switches one executor off, and ends its calls (with the turns that they belong to), or on again.
    ///
    /// # Errors
    /// When there is none of this name, or it was not written down.
    pub(crate) async fn set_executor(&self, principal: &Principal, name: &str, on: bool) -> Result<bool, Refusal> {
        let what = SwitchTarget::Executor(name.to_owned());
        let known =
            !matches!(self.registry.borrow().named(name), Named::Unknown) || self.switches.borrow().contains_key(&what);
        if !is_name(name) || !known {
            let why = format!("there is no executor named {}", shown(name));
            return Err(Refusal::new(RefusalCode::Unknown, "executor.unknown", why)
                .remedy("`metnosctl executor list` shows those that there are"));
        }
        if on {
            let was = self.release_switch(what).await?;
            if was {
                self.strikes.borrow_mut().forget(name);
                let forgotten = self.base.store.forget_strikes(name.to_owned()).await;
                forgotten.map_err(|error| unwritten("it is on, and its failures still count", &error))?;
                self.base.event("executor_enabled", &format!("{} has switched {name} on", principal.name), None);
            }
            return Ok(was);
        }
        if self.switches.borrow().contains_key(&what) {
            return Ok(false);
        }
        if self.switches.borrow().len() > MAX_DISABLED {
            let why = format!("{MAX_DISABLED} executors are switched off, which is the limit");
            return Err(Refusal::new(RefusalCode::Busy, "executor.disabled", why));
        }
        let turns = self.running.turns_running(name);
        let killed = self.throw(what, principal, "", Some(turns)).await?;
        let text = format!("{} has switched {name} off; {killed} calls were ended", principal.name);
        self.base.event("executor_disabled", &text, None);
        Ok(true)
    }

    /// Throws a switch: first for every decision from now on, then for what runs (of these turns, or all), then for good.
    pub(crate) async fn throw(
        &self,
        what: SwitchTarget,
        principal: &Principal,
        why: &str,
        turns: Option<Vec<TurnId>>,
    ) -> Result<u32, Refusal> {
        let thrown = Thrown { by: principal.name.clone(), since_ms: self.base.clock.wall_ms(), why: why.to_owned() };
        let tried = |before: &mut Thrown| {
            if before.why == TRY {
                *before = thrown.clone();
            }
        };
        self.switches.borrow_mut().entry(what.clone()).and_modify(tried).or_insert_with(|| thrown.clone());
        let turns = match turns {
            Some(turns) => turns.into_iter().map(Some).collect(),
            None => vec![None],
        };
        let (killed, deaf) = self.end_calls(turns).await;
        self.base.store.throw(what, thrown).await.map_err(|error| unwritten("it is off until policyd ends", &error))?;
        match deaf {
            None => Ok(killed),
            Some(error) => {
                let why = format!("nothing new is allowed, but sandboxd did not end what runs: {error}");
                Err(Refusal::new(RefusalCode::Unavailable, "sandbox.gone", why)
                    .remedy("`metnosctl daemon restart sandboxd` ends it"))
            }
        }
    }

    /// Ends what runs in these turns, or everywhere; how many calls that were, and why sandboxd could not be reached.
    pub(crate) async fn end_calls(&self, turns: impl IntoIterator<Item = Option<TurnId>>) -> (u32, Option<RpcError>) {
        let mut killed = 0;
        let mut deaf = None;
        for turn in turns {
            match self.base.ask_sandbox(self.base.sandbox.kill(TraceId::NONE, Kill { turn }, [])).await {
                Ok((count, [])) => killed += count.killed,
                // With sandboxd its executors have ended.
                Err(RpcError::Gone(_)) => {}
                Err(error) => deaf = Some(error),
            }
        }
        (killed, deaf)
    }

    async fn release_switch(&self, what: SwitchTarget) -> Result<bool, Refusal> {
        self.base.store.release_switch(what.clone()).await.map_err(|error| unwritten("it stays off", &error))?;
        Ok(self.switches.borrow_mut().remove(&what).is_some())
    }
}

fn unwritten(so: &str, error: &StoreError) -> Refusal {
    let why = format!("the switch could not be written down, so {so}: {error}");
    Refusal::new(RefusalCode::Internal, "policyd.internal", why).remedy("look at `metnosctl doctor`")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::opened::Opened;

    #[tokio::test(flavor = "current_thread")]
    async fn a_thrown_switch_is_thrown_at_the_next_start_and_the_first_throw_counts() {
        let folder = tempfile::tempdir().unwrap();
        let store = Opened::open(folder.path(), &[1; 32]).unwrap().start().unwrap();
        let thrown = |by: &str| Thrown { by: by.to_owned(), since_ms: 5, why: String::new() };
        let reader = SwitchTarget::Executor("fs_read".to_owned());
        store.throw(SwitchTarget::All, thrown("a")).await.unwrap();
        store.throw(SwitchTarget::All, thrown("b")).await.unwrap();
        store.throw(reader.clone(), thrown("b")).await.unwrap();
        store.release_switch(reader).await.unwrap();
        drop(store);
        let opened = loop {
            // The thread releases the file a moment later.
            match Opened::open(folder.path(), &[1; 32]) {
                Ok(opened) => break opened,
                Err(_) => std::thread::yield_now(),
            }
        };
        assert_eq!(opened.kept.executors.switches, Switches::from([(SwitchTarget::All, thrown("a"))]));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn trial_switch_is_dropped_at_start_and_never_replaces_owners_switch() {
        let thrown = |why: &str| Thrown { by: "a".to_owned(), since_ms: 5, why: why.to_owned() };
        for (throws, left) in [
            (vec![TRY], None),
            (vec![TRY, ""], Some("")),
            (vec!["", TRY], Some("")),
            (vec![TRY, "", "end"], Some("")),
            (vec![TRY, "end", ""], Some("")),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let store = Opened::open(folder.path(), &[1; 32]).unwrap().start().unwrap();
            for why in &throws {
                match *why {
                    "end" => store.end_try().await.unwrap(),
                    why => store.throw(SwitchTarget::All, thrown(why)).await.unwrap(),
                }
            }
            drop(store);
            let opened = loop {
                match Opened::open(folder.path(), &[1; 32]) {
                    Ok(opened) => break opened,
                    Err(_) => std::thread::yield_now(),
                }
            };
            let left: Switches = left.map(|why| (SwitchTarget::All, thrown(why))).into_iter().collect();
            assert_eq!(opened.kept.executors.switches, left, "{throws:?}");
        }
    }
}
