//! Turns that wait for a person's answer: the state that the planner left behind, handed back once and not interpreted.

use std::path::Path;

use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{MAX_SUSPENDED_BYTES, SuspendTurn};
use rusqlite::{Connection, OptionalExtension, params};

use super::journal::{Answer, refused};
use super::projection;
use crate::at_rest::Keys;
use crate::chronicle::Chronicle;
use crate::chronicle::index::open_projection;
use crate::error::{During, Result};

/// The most turns that are suspended; beyond, the oldest is given up.
pub const MAX_SUSPENDED: usize = 64;
/// How long a turn may be suspended, in milliseconds: longer than a card for a call can be answered.
pub const SUSPENDED_MS: u64 = 3_600_000;
const TABLES: &str = "CREATE TABLE IF NOT EXISTS aside (
    turn BLOB PRIMARY KEY CHECK (length(turn) = 16),
    at_ms INTEGER NOT NULL,
    state BLOB NOT NULL
) STRICT;";
const WRITING: &str = "suspending a turn";

/// The turns that are suspended.
#[derive(Debug)]
pub(super) struct SuspendedTurns {
    db: Connection,
    keys: Keys,
}

fn ms(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl SuspendedTurns {
    /// Opens the database; when it is damaged, no turn is suspended.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(super) fn open(path: &Path, chronicle: &mut Chronicle, keys: &Keys) -> Result<Self> {
        projection::open(path, chronicle, "suspended_lost", |path| Self::of(path, keys.clone()), |_| 0)
    }

    fn of(path: &Path, keys: Keys) -> Result<Self> {
        let db = open_projection(path).during(WRITING)?;
        // Unlike a projection this is kept nowhere else.
        db.execute_batch("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;").during(WRITING)?;
        db.execute_batch(TABLES).during(WRITING)?;
        Ok(Self { db, keys })
    }

    pub(super) fn has(&self, turn: TurnId, now_ms: u64) -> Result<bool> {
        let since = ms(now_ms.saturating_sub(SUSPENDED_MS));
        let sql = "SELECT 1 FROM aside WHERE turn = ?1 AND at_ms >= ?2";
        let found = self
            .db
            .prepare_cached(sql)
            .and_then(|mut ask| ask.query_row(params![turn.to_bytes().as_slice(), since], |_| Ok(())).optional());
        Ok(found.during(WRITING)?.is_some())
    }

    /// Keeps a state, and gives up what is too old or too much.
    fn put(&self, turn: TurnId, now_ms: u64, state: &[u8]) -> Result<()> {
        let since = ms(now_ms.saturating_sub(SUSPENDED_MS));
        let most = i64::try_from(MAX_SUSPENDED).unwrap_or(i64::MAX);
        self.db.execute("DELETE FROM aside WHERE at_ms < ?1", [since]).during(WRITING)?;
        let place = turn.to_bytes();
        let state = self.keys.seal_bytes(&place, state)?;
        self.db
            .execute(
                "INSERT OR REPLACE INTO aside (turn, at_ms, state) VALUES (?1, ?2, ?3)",
                params![turn.to_bytes().as_slice(), ms(now_ms), state],
            )
            .during(WRITING)?;
        self.db
            .execute(
                "DELETE FROM aside WHERE turn NOT IN (SELECT turn FROM aside ORDER BY at_ms DESC, turn DESC LIMIT ?1)",
                [most],
            )
            .during(WRITING)?;
        Ok(())
    }

    /// Takes a state out: it is there no more.
    pub(super) fn take(&self, turn: TurnId, now_ms: u64) -> Result<Option<Vec<u8>>> {
        let since = ms(now_ms.saturating_sub(SUSPENDED_MS));
        let sql = "DELETE FROM aside WHERE turn = ?1 RETURNING state, at_ms";
        let taken: Option<(Vec<u8>, i64)> = self
            .db
            .query_row(sql, [turn.to_bytes().as_slice()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .during(WRITING)?;
        // What does not open was not put there with these keys: the turn is not suspended.
        let place = turn.to_bytes();
        Ok(taken.filter(|(_, at)| *at >= since).and_then(|(state, _)| self.keys.open_bytes(&place, &state)))
    }

    /// Suspends a turn.
    ///
    /// # Errors
    /// When its state is too large.
    pub(super) fn suspend(&self, word: &SuspendTurn, now_ms: u64, state: &[u8]) -> Answer<()> {
        if state.len() > MAX_SUSPENDED_BYTES {
            let why = format!("{} bytes are to be put aside; at most {MAX_SUSPENDED_BYTES} are kept", state.len());
            return Err(refused(RefusalCode::Invalid, "suspend.size", why));
        }
        Ok(self.put(word.turn, now_ms, state)?)
    }

    /// Gives up a turn, if it is suspended.
    pub(super) fn forget(&self, turn: TurnId) -> Result<()> {
        self.db.execute("DELETE FROM aside WHERE turn = ?1", [turn.to_bytes().as_slice()]).during(WRITING)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::at_rest::tests::keys;

    fn aside() -> (tempfile::TempDir, SuspendedTurns) {
        let dir = tempfile::tempdir().unwrap();
        let aside = SuspendedTurns::of(&dir.path().join("suspended.sqlite"), keys(dir.path(), 1).unwrap()).unwrap();
        (dir, aside)
    }

    #[test]
    fn suspended_turn_is_handed_back_once_after_restart() {
        let (dir, aside) = aside();
        let turn = TurnId::new();
        aside.put(turn, 1_000, b"state").unwrap();
        drop(aside);
        let aside = SuspendedTurns::of(&dir.path().join("suspended.sqlite"), keys(dir.path(), 1).unwrap()).unwrap();
        assert!(aside.has(turn, 1_000).unwrap());
        assert_eq!(aside.take(turn, 2_000).unwrap().unwrap(), b"state");
        assert!(aside.take(turn, 2_000).unwrap().is_none() && !aside.has(turn, 2_000).unwrap());
    }

    #[test]
    fn expired_suspended_turn_is_dropped_and_oldest_evicted() {
        let (_dir, aside) = aside();
        let old = TurnId::new();
        aside.put(old, 0, b"x").unwrap();
        assert!(aside.has(old, SUSPENDED_MS).unwrap() && !aside.has(old, SUSPENDED_MS + 1).unwrap());
        assert!(aside.take(old, SUSPENDED_MS + 1).unwrap().is_none());
        let turns: Vec<TurnId> = (0..=MAX_SUSPENDED).map(|_| TurnId::new()).collect();
        for (at, turn) in turns.iter().enumerate() {
            aside.put(*turn, at as u64, b"x").unwrap();
        }
        assert!(!aside.has(turns[0], 0).unwrap());
        assert!(turns[1..].iter().all(|turn| aside.has(*turn, 0).unwrap()));
    }
}
