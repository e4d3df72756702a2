//! The limit of failures: an executor that fails by its own fault three times within a day is quarantined until the owner
//! lifts it (design: executor §4); a drafted one twice in its first ten calls. Denials, bad arguments, stopped calls and limits of this machine do not count.

use std::collections::BTreeMap;
use std::rc::Rc;

use metnos_proto::doc::executor::{Drafting, Origin};
use metnos_proto::msg::common::{ExecutorId, Outcome};
use rusqlite::{Connection, params};

use crate::clock::DAY_MS;
use crate::executors::Executors;
use crate::store::{Store, StoreError};

/// How many set it aside.
pub const MOST: usize = 3;
/// How many set a drafted executor aside that is on probation (design: synt §2).
pub const MOST_ON_PROBATION: usize = 2;
/// How many calls a probation has.
pub const PROBATION: u8 = 10;
/// Within how long, in milliseconds.
pub const WITHIN_MS: u64 = DAY_MS;

/// The table; made wherever it is missing.
pub(crate) const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS strikes (
        name TEXT NOT NULL, version TEXT NOT NULL, at_ms INTEGER NOT NULL
    ) STRICT;";

/// The strikes of each executor and version, as times in milliseconds since the epoch: at most [`MOST`] each.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct FailureLimit(BTreeMap<(String, String), Vec<u64>>);

impl FailureLimit {
    /// One more, at this time; whether that makes `most` of them, which sets it aside. What is older than a day is forgotten.
    pub fn strike(&mut self, id: &ExecutorId, now_ms: u64, most: usize) -> bool {
        self.0.retain(|_, times| {
            times.retain(|at| now_ms.saturating_sub(*at) < WITHIN_MS);
            !times.is_empty()
        });
        let times = self.0.entry((id.name.clone(), id.version.clone())).or_default();
        times.push(now_ms);
        if times.len() > MOST {
            times.remove(0);
        }
        times.len() >= most
    }

    /// The owner has let it back: it begins again.
    pub fn forget(&mut self, name: &str) {
        self.0.retain(|(known, _), _| known != name);
    }
}

/// Reads them.
///
/// # Errors
/// When they cannot be read.
pub(crate) fn load(connection: &Connection) -> Result<FailureLimit, StoreError> {
    let mut statement = connection.prepare("SELECT name, version, at_ms FROM strikes ORDER BY at_ms")?;
    let rows = statement
        .query_map([], |row| Ok(((row.get(0)?, row.get(1)?), u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0))))?;
    let mut strikes = FailureLimit::default();
    for row in rows {
        let (id, at_ms): ((String, String), u64) = row?;
        let times = strikes.0.entry(id).or_default();
        times.push(at_ms);
        if times.len() > MOST {
            times.remove(0);
        }
    }
    Ok(strikes)
}

impl Store {
    /// Records a strike, and forgets those that are too old to count.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn strike(&self, id: ExecutorId, now_ms: u64) -> Result<(), StoreError> {
        self.run(move |connection| {
            let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            connection.execute("DELETE FROM strikes WHERE at_ms < ?1", [signed(now_ms.saturating_sub(WITHIN_MS))])?;
            connection
                .execute("INSERT INTO strikes VALUES (?1, ?2, ?3)", params![id.name, id.version, signed(now_ms)])
                .map(|_| ())
        })
        .await
    }

    /// Forgets the strikes of every version of an executor.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn forget_strikes(&self, name: String) -> Result<(), StoreError> {
        self.run(move |connection| connection.execute("DELETE FROM strikes WHERE name = ?1", [name]).map(|_| ())).await
    }
}

impl Executors {
    /// A call has ended like this: a failure of its own is a strike, and the last of them sets it aside.
    pub(crate) async fn judge_conduct(self: &Rc<Self>, id: &ExecutorId, outcome: Outcome) {
        let most = self.count_on_probation(id).await;
        if !outcome.is_its_own_failure() {
            return;
        }
        let now_ms = self.base.clock.wall_ms();
        let last = self.strikes.borrow_mut().strike(id, now_ms, most);
        if let Err(error) = self.base.store.strike(id.clone(), now_ms).await {
            tracing::error!(%error, %id, "a strike is remembered only until policyd ends");
        }
        if !last || !self.registry.borrow().may_be_set_aside(id) {
            return;
        }
        let why = format!("{most} failures of its own making within a day, the last of them: {}", outcome.name());
        self.base.event("strikes", &format!("{id} is set aside: {why}"), None);
        self.quarantine(id, &why).await;
        let executors = Rc::clone(self);
        tokio::task::spawn_local(async move { executors.tell_losses().await });
    }

    /// Counts a call of a drafted executor while it is on probation; how many failures within a day set it aside.
    async fn count_on_probation(&self, id: &ExecutorId) -> usize {
        let counted = match self.registry.borrow().origin(id) {
            Some(Origin::Drafted(drafting)) if drafting.calls < PROBATION => {
                Origin::Drafted(Box::new(Drafting { calls: drafting.calls + 1, ..(**drafting).clone() }))
            }
            Some(_) | None => return MOST,
        };
        if let Err(refusal) = self.remember(id, &counted).await {
            tracing::error!(%refusal, %id, "a call on probation is not counted");
        }
        MOST_ON_PROBATION
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn id(version: &str) -> ExecutorId {
        ExecutorId { name: "a".to_owned(), version: version.to_owned() }
    }

    #[test]
    fn third_failure_within_a_day_quarantines_executor() {
        let mut strikes = FailureLimit::default();
        assert!(!strikes.strike(&id("1.0.0"), 0, MOST) && !strikes.strike(&id("1.0.0"), 1, MOST));
        assert!(strikes.clone().strike(&id("1.0.0"), WITHIN_MS - 1, MOST));
        // A day after the first, that one does not count any more.
        assert!(!strikes.strike(&id("1.0.0"), WITHIN_MS, MOST));
    }

    #[test]
    fn second_failure_on_probation_quarantines_executor() {
        let mut strikes = FailureLimit::default();
        assert!(!strikes.strike(&id("1.0.0"), 0, MOST_ON_PROBATION));
        assert!(strikes.strike(&id("1.0.0"), 1, MOST_ON_PROBATION));
    }

    #[test]
    fn versions_are_counted_apart_and_all_forgotten_together() {
        let mut strikes = FailureLimit::default();
        for at in 0..2 {
            assert!(!strikes.strike(&id("1.0.0"), at, MOST) && !strikes.strike(&id("2.0.0"), at, MOST));
        }
        strikes.forget("a");
        assert!(!strikes.strike(&id("1.0.0"), 3, MOST));
        assert_eq!(strikes.0.len(), 1);
    }

    #[test]
    fn only_what_is_of_its_own_making_counts() {
        let none = [Outcome::Ok, Outcome::Error, Outcome::Killed, Outcome::Interrupted, Outcome::SandboxFailed];
        let refused_it = [Outcome::DiskFull, Outcome::Failed];
        assert!(refused_it.into_iter().all(|outcome| !outcome.is_its_own_failure()));
        assert!(none.into_iter().all(|outcome| !outcome.is_its_own_failure()));
        let own = [Outcome::Timeout, Outcome::Crashed, Outcome::BadOutput, Outcome::DiskExceeded];
        assert!(own.into_iter().all(Outcome::is_its_own_failure));
    }
}
