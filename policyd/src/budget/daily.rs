//! What an executor may write in a day: how many calls that can write, and how many bytes of them reached a disk (design:
//! executor §2, §4). A day is one of UTC. A call counts when it is allowed, which is written down before it runs; its bytes
//! count when it has ended. Bytes of calls that ended with policyd itself are lost, and what one call writes is known only
//! afterwards, so the last one of a day may go over the limit of bytes, by what its own limits let it write.

use std::collections::BTreeMap;

use metnos_proto::executor::{Capability, Manifest};
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::sandboxd::RunReport;
use rusqlite::{Connection, params};

use crate::budget::Budgets;
use crate::clock::DAY_MS;
use crate::decision::Verdict;
use crate::executors::registry::Signed;
use crate::guard::shown;
use crate::store::{Store, StoreError, not_durable, signed};

/// The table; made wherever it is missing.
pub(crate) const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS written (
        name TEXT PRIMARY KEY, day INTEGER NOT NULL, calls INTEGER NOT NULL, bytes INTEGER NOT NULL
    ) STRICT;";

/// What one executor, in any version, has written on one day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Days since the epoch.
    pub day: u64,
    /// Calls that could write.
    pub calls: u64,
    /// Bytes of them that reached a disk.
    pub bytes: u64,
}

/// What each executor has written, of the last day on which it wrote.
#[derive(Debug, Default)]
pub struct Daily(BTreeMap<String, Written>);

impl Daily {
    /// Reads it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        connection.execute_batch(TABLE)?;
        let mut statement = connection.prepare("SELECT name, day, calls, bytes FROM written")?;
        let rows = statement.query_map([], |row| {
            let number = |at: usize| row.get::<_, i64>(at).map(|number| u64::try_from(number).unwrap_or(u64::MAX));
            Ok((row.get(0)?, Written { day: number(1)?, calls: number(2)?, bytes: number(3)? }))
        })?;
        Ok(Self(rows.collect::<rusqlite::Result<_>>()?))
    }

    /// What it has written on this day.
    fn on(&self, name: &str, day: u64) -> Written {
        self.0.get(name).copied().filter(|written| written.day == day).unwrap_or(Written { day, ..Written::default() })
    }

    /// Why it may not write any more today; `None` when it may, or never can.
    #[must_use]
    pub fn over(&self, manifest: &Manifest, now_ms: u64) -> Option<Verdict> {
        if !writes(manifest) {
            return None;
        }
        let (name, quotas) = (&manifest.executor.name, &manifest.sandbox.quotas);
        let today = self.on(name, now_ms / DAY_MS);
        let (rule, what, most) = if today.calls >= quotas.writes_per_day.into() {
            ("quota.writes_per_day", "calls that write", u64::from(quotas.writes_per_day))
        } else if today.bytes >= quotas.bytes_per_day {
            ("quota.bytes_per_day", "bytes written", quotas.bytes_per_day)
        } else {
            return None;
        };
        let why = format!("{} has used up what its manifest grants in a day: {most} {what}", shown(name));
        Some(Verdict::deny(rule, why).with_remedy("the count begins anew at midnight (UTC)"))
    }

    /// One more call that can write, or what it wrote; the count as it is then.
    fn add(&mut self, name: &str, now_ms: u64, calls: u64, bytes: u64) -> Written {
        let before = self.on(name, now_ms / DAY_MS);
        let now =
            Written { calls: before.calls.saturating_add(calls), bytes: before.bytes.saturating_add(bytes), ..before };
        self.0.insert(name.to_owned(), now);
        now
    }
}

/// Whether it can write anything that stays.
fn writes(manifest: &Manifest) -> bool {
    manifest.sandbox.capabilities.iter().any(|one| matches!(one, Capability::FsWrite(folders) if !folders.is_empty()))
}

impl Store {
    /// Records what an executor has written today; a count never goes down within a day.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn written(&self, name: String, now: Written) -> Result<(), StoreError> {
        self.run(move |connection| {
            let (day, calls, bytes) = (signed(now.day), signed(now.calls), signed(now.bytes));
            connection
                .execute(
                    "INSERT INTO written VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name) DO UPDATE SET
                         calls = CASE WHEN day = ?2 THEN max(calls, ?3) ELSE ?3 END,
                         bytes = CASE WHEN day = ?2 THEN max(bytes, ?4) ELSE ?4 END, day = ?2",
                    params![name, day, calls, bytes],
                )
                .map(|_| ())
        })
        .await
    }
}

impl Budgets {
    /// A call that can write was allowed: it counts from now on.
    pub(crate) fn will_write(&self, manifest: &Manifest) {
        if writes(manifest) {
            self.daily.borrow_mut().add(&manifest.executor.name, self.base.clock.wall_ms(), 1, 0);
        }
    }

    /// Has what was counted written down, so that no end of policyd gives a call back.
    ///
    /// # Errors
    /// When it could not be: then the call does not run.
    pub(crate) async fn keep_written(&self, manifest: &Manifest) -> Result<(), Refusal> {
        if !writes(manifest) {
            return Ok(());
        }
        let name = &manifest.executor.name;
        let now = self.daily.borrow().on(name, self.base.clock.wall_ms() / DAY_MS);
        self.base.store.written(name.clone(), now).await.map_err(|error| not_durable(&error))
    }

    /// What this executor has used up of its day; `None` when there is something left.
    pub(crate) fn used_up(&self, found: &Signed) -> Option<Verdict> {
        self.daily.borrow().over(&found.manifest, self.base.clock.wall_ms())
    }

    /// A call has ended: what it has written, and how it ended, is held against its executor.
    pub(crate) async fn account(&self, executor: &Signed, report: &RunReport) {
        let manifest = &executor.manifest;
        if writes(manifest) {
            let (name, bytes) = (&manifest.executor.name, report.resources.written_bytes);
            let now = self.daily.borrow_mut().add(name, self.base.clock.wall_ms(), 0, bytes);
            if let Err(error) = self.base.store.written(name.clone(), now).await {
                tracing::error!(%error, name, "what was written is remembered only until policyd ends");
            }
        }
        self.executors.judge_conduct(&manifest.id(), report.outcome).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::manifest_text;

    fn writer(quotas: &str) -> Manifest {
        let text = manifest_text("a", &[("/path", "path")])
            .replace("fs-read", "fs-write")
            .replace("fs_read = [", "fs_write = [")
            .replace("[effects]", &format!("quotas = {{ {quotas} }}\n[effects]"));
        Manifest::parse(text.as_bytes()).unwrap()
    }

    fn rule(daily: &Daily, manifest: &Manifest, now_ms: u64) -> Option<String> {
        daily.over(manifest, now_ms).map(|verdict| verdict.rule)
    }

    #[test]
    fn daily_write_quota_ends_at_manifest_limit_and_resets_next_day() {
        let (mut daily, writer) = (Daily::default(), writer("writes_per_day = 2, bytes_per_day = 100"));
        for _ in 0..2 {
            assert_eq!(rule(&daily, &writer, 5), None);
            daily.add("a", 5, 1, 0);
        }
        assert_eq!(rule(&daily, &writer, DAY_MS - 1).as_deref(), Some("quota.writes_per_day"));
        assert_eq!(rule(&daily, &writer, DAY_MS), None);
    }

    #[test]
    fn bytes_count_apart_from_calls_and_names_apart_from_each_other() {
        let (mut daily, writer) = (Daily::default(), writer("writes_per_day = 9, bytes_per_day = 100"));
        daily.add("a", 0, 0, 99);
        daily.add("b", 0, 0, 100);
        assert_eq!(rule(&daily, &writer, 0), None);
        daily.add("a", 0, 0, 1);
        assert_eq!(rule(&daily, &writer, 0).as_deref(), Some("quota.bytes_per_day"));
    }

    #[test]
    fn writer_without_quota_is_denied_and_readers_are_not_counted() {
        assert_eq!(rule(&Daily::default(), &writer(""), 0).as_deref(), Some("quota.writes_per_day"));
        let reader = Manifest::parse(manifest_text("a", &[]).as_bytes()).unwrap();
        assert_eq!(rule(&Daily::default(), &reader, 0), None);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_count_is_there_at_the_next_start_and_does_not_go_down() {
        let folder = tempfile::tempdir().unwrap();
        let mut opened = crate::opened::Opened::open(folder.path(), &[1; 32]).unwrap();
        assert!(opened.kept.budgets.1.0.is_empty());
        let store = opened.start().unwrap();
        let written = |calls, bytes| Written { day: 7, calls, bytes };
        for now in [written(2, 10), written(1, 20)] {
            store.written("a".to_owned(), now).await.unwrap();
        }
        drop(store);
        let opened = loop {
            // The thread releases the file a moment later.
            match crate::opened::Opened::open(folder.path(), &[1; 32]) {
                Ok(opened) => break opened,
                Err(_) => std::thread::yield_now(),
            }
        };
        assert_eq!(opened.kept.budgets.1.0, BTreeMap::from([("a".to_owned(), written(2, 20))]));
    }
}
