//! The supervisor's answer to "how is everybody?", as rows and as JSON: shared by `status`,
//! `daemon list` and `doctor`.

use metnos_proto::control::{DaemonRow, DaemonState, EdgeRow, Surveyed};
use schemars::JsonSchema;
use serde::Serialize;

use crate::screen::Ink;
use crate::screen::human::{ago, mib};
use crate::screen::table::{Cell, Table, cell, inked};

/// A daemon.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Daemon")]
pub struct DaemonReport {
    /// Its name.
    name: String,
    /// Its state.
    state: DaemonStanding,
    /// Its process; 0 when there is none.
    pid: u32,
    /// Its user.
    uid: u32,
    /// When it became ready, in milliseconds since the epoch; 0 when it is not.
    since_ms: u64,
    /// How often it was restarted.
    restarts: u32,
    /// How it ended the last time; empty when it never did.
    last_exit: String,
    /// Its memory in KiB, shared pages in proportion.
    pss_kib: u64,
    /// The lock in force, one layer an item.
    lock: Vec<String>,
    /// Layers that are waived.
    waived: Vec<String>,
}

/// The state of a daemon.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DaemonStanding {
    /// Started, not yet ready.
    Starting,
    /// Ready.
    Ready,
    /// Ended; a new one is started in a moment.
    Waiting,
    /// It fails again and again.
    Degraded,
    /// Stopping.
    Stopping,
}

/// A channel between two daemons.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Edge")]
pub struct EdgeReport {
    /// Its number.
    edge: u16,
    /// Its name.
    name: String,
    /// Who asks.
    asker: String,
    /// Who answers.
    answerer: String,
    /// How often it was made.
    generation: u32,
    /// Whether both hold their end.
    up: bool,
}

impl From<&DaemonRow> for DaemonReport {
    fn from(row: &DaemonRow) -> Self {
        Self {
            name: row.role.text().to_owned(),
            state: match row.state {
                DaemonState::Starting => DaemonStanding::Starting,
                DaemonState::Ready => DaemonStanding::Ready,
                DaemonState::Waiting => DaemonStanding::Waiting,
                DaemonState::Degraded => DaemonStanding::Degraded,
                DaemonState::Stopping => DaemonStanding::Stopping,
            },
            pid: row.pid,
            uid: row.uid,
            since_ms: row.since_ms,
            restarts: row.restarts,
            last_exit: row.last_exit.clone(),
            pss_kib: row.pss_kib,
            lock: row.lock.clone(),
            waived: row.waived.clone(),
        }
    }
}

impl From<&EdgeRow> for EdgeReport {
    fn from(row: &EdgeRow) -> Self {
        Self {
            edge: row.edge.number(),
            name: format!("{:?}", row.edge),
            asker: row.edge.asker().text().to_owned(),
            answerer: row.edge.answerer().text().to_owned(),
            generation: row.generation,
            up: row.up,
        }
    }
}

/// The ink of a state.
#[must_use]
pub const fn ink(state: &DaemonState) -> Ink {
    match state {
        DaemonState::Ready => Ink::Good,
        DaemonState::Starting | DaemonState::Waiting | DaemonState::Stopping => Ink::Warn,
        DaemonState::Degraded => Ink::Bad,
    }
}

/// Whether the lock of a daemon is in force, in a word or two.
fn lock(row: &DaemonRow) -> Cell {
    if row.lock.is_empty() {
        inked("–", Ink::Dim)
    } else if row.waived.is_empty() {
        inked("in force", Ink::Good)
    } else {
        inked(format!("waived: {}", row.waived.join(", ")), Ink::Warn)
    }
}

/// The daemons as a table.
#[must_use]
pub fn daemons(rows: &[DaemonRow], now_ms: u64) -> Table {
    let mut table = Table::new(&["DAEMON", "STATE", "PID", "UID", "SINCE", "RESTARTS", "PSS", "LOCK", "LAST END"]);
    for row in rows {
        let pid = if row.pid == 0 { "–".to_owned() } else { row.pid.to_string() };
        let restarts = inked(row.restarts.to_string(), if row.restarts == 0 { Ink::Plain } else { Ink::Warn });
        table.row(vec![
            cell(row.role.text()),
            inked(row.state.name(), ink(&row.state)),
            cell(pid),
            cell(row.uid.to_string()),
            cell(ago(row.since_ms, now_ms)),
            restarts,
            cell(mib(row.pss_kib)),
            lock(row),
            inked(&row.last_exit, Ink::Dim),
        ]);
    }
    table
}

/// What it means for the locks that all daemons share one user; `None` when they do not.
#[must_use]
pub fn uid_statement(survey: &Surveyed) -> Option<String> {
    (!survey.uids_separate).then(|| {
        format!(
            "uid separation is off: every daemon runs as uid {}. Landlock, seccomp, no_new_privs and non-dumpability still \
             separate them; start Metnos as root, or by systemd, to give each a uid of its own.",
            survey.uid
        )
    })
}

#[cfg(test)]
pub mod testing {
    //! A survey in which everything is as it should be.
    use super::*;
    use metnos_proto::edges::EdgeId;
    use metnos_proto::role::RoleName;

    /// All daemons ready and locked, all edges up.
    pub fn well() -> Surveyed {
        let daemon = |(at, role): (u32, RoleName)| DaemonRow {
            role,
            state: DaemonState::Ready,
            pid: 100 + at,
            uid: 64200 + at,
            since_ms: 1_000,
            restarts: 0,
            last_exit: String::new(),
            pss_kib: 2048,
            lock: vec!["landlock_abi 7".to_owned()],
            waived: Vec::new(),
        };
        Surveyed {
            instance: "/srv/metnos".to_owned(),
            mode: "spawn".to_owned(),
            pid: 99,
            uid: 0,
            since_ms: 500,
            ready_after_ms: 90,
            pss_kib: 1024,
            uids_separate: true,
            daemons: (0..).zip(RoleName::daemons()).map(daemon).collect(),
            edges: EdgeId::ALL
                .iter()
                .filter(|edge| !edge.is_admin())
                .map(|edge| EdgeRow { edge: *edge, generation: 1, up: true })
                .collect(),
            alarms: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::testing::well;
    use super::*;
    use crate::screen::testing::screen;

    #[test]
    fn a_waived_layer_is_named_and_a_missing_lock_is_not_called_one() {
        let mut survey = well();
        survey.daemons[0].waived = vec!["landlock".to_owned()];
        survey.daemons[1].lock.clear();
        let (mut paper, out, _) = screen(false, [false, false], false);
        daemons(&survey.daemons, 61_000).show(&mut paper, 0).unwrap();
        let lines: Vec<String> = out.text().lines().map(str::to_owned).collect();
        assert!(lines[1].ends_with("waived: landlock"), "{}", lines[1]);
        assert!(lines[2].ends_with('–') && !lines[2].contains("in force"), "{}", lines[2]);
        assert!(lines[3].contains("1 min") && lines[3].ends_with("in force"), "{}", lines[3]);
        assert_eq!(lines.len(), 1 + survey.daemons.len());
    }

    #[test]
    fn shared_user_of_all_daemons_is_reported() {
        let mut survey = well();
        assert_eq!(uid_statement(&survey), None);
        survey.uids_separate = false;
        survey.uid = 1000;
        assert!(uid_statement(&survey).unwrap().starts_with("uid separation is off: every daemon runs as uid 1000."));
    }
}
