//! State that a scheduled call passes to the next call of the same schedule (design: clock §1, `carry`): the text at
//! [`metnos_proto::executor::SEEN`] of its result becomes that argument of the next call. So a stateless executor can continue where
//! it stopped.
//!
//! The state belongs to the schedule, the executor and the other arguments. If a firing is repeated because its delivery is unsure,
//! it gets the same state as before: no item is skipped that may not have arrived.

use metnos_proto::ids::Blake3;
use rusqlite::{Connection, OptionalExtension, params};

use crate::store::signed;

/// The tables; made wherever they are missing.
pub(crate) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS fired_again (schedule INTEGER PRIMARY KEY, of INTEGER NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS carried (
        schedule INTEGER NOT NULL, call BLOB NOT NULL, key TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
        used INTEGER NOT NULL, PRIMARY KEY (schedule, call)
    ) STRICT, WITHOUT ROWID;";
/// The longest state, in bytes.
pub(crate) const MAX_CARRIED: usize = 4_096;
/// The most states that are kept; beyond, the least recently used one is deleted.
const MAX_KEPT: u32 = 512;

/// The firing that opened a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    /// The schedule's number; of one that has another fire once more, the number of that other.
    pub number: u64,
    /// The civil time at which it was due.
    pub key: String,
}

/// The state of one call.
#[derive(Debug, Clone)]
pub(crate) struct Carry {
    pub(crate) firing: Firing,
    /// Which call: the digest of executor and arguments.
    pub(crate) call: Blake3,
    /// What the previous call left; empty for the first one.
    pub(crate) seen: String,
}

/// What the previous call left for this one; empty for the first one.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn seen(db: &Connection, firing: &Firing, call: Blake3) -> rusqlite::Result<String> {
    let sql = "SELECT key, before, after FROM carried WHERE schedule = ?1 AND call = ?2";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let kept: Option<(String, String, String)> =
        db.query_row(sql, params![signed(firing.number), call.0.as_slice()], read).optional()?;
    Ok(match kept {
        Some((key, before, _)) if key == firing.key => before,
        Some((_, _, after)) => after,
        None => String::new(),
    })
}

/// Stores the state for the next call.
///
/// # Errors
/// When it cannot be written; then nothing has changed.
pub(crate) fn keep(db: &mut Connection, carry: &Carry, after: &str, now_ms: u64) -> rusqlite::Result<()> {
    let change = db.transaction()?;
    let Carry { firing, call, seen } = carry;
    change.execute(
        "INSERT OR REPLACE INTO carried VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![signed(firing.number), call.0.as_slice(), firing.key, seen, after, signed(now_ms)],
    )?;
    change.execute(
        "DELETE FROM carried WHERE (schedule, call) NOT IN (SELECT schedule, call FROM carried ORDER BY used DESC LIMIT ?1)",
        [MAX_KEPT],
    )?;
    change.commit()
}

/// Stores that schedule `number` has schedule `of` fire once more: it continues where that one stopped.
///
/// # Errors
/// When it cannot be written; then nothing has changed.
pub(crate) fn fires_again(db: &mut Connection, number: u64, of: u64) -> rusqlite::Result<()> {
    let change = db.transaction()?;
    // What has another fire once more may be fired once more itself.
    let of = of_which(&change, of)?;
    change.execute("INSERT OR REPLACE INTO fired_again VALUES (?1, ?2)", params![signed(number), signed(of)])?;
    change.execute(
        "DELETE FROM fired_again WHERE schedule NOT IN (SELECT schedule FROM fired_again ORDER BY schedule DESC LIMIT ?1)",
        [MAX_KEPT],
    )?;
    change.commit()
}

/// The schedule whose state a firing of `number` continues: another one's where it has that one fire once more.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn of_which(db: &Connection, number: u64) -> rusqlite::Result<u64> {
    let sql = "SELECT of FROM fired_again WHERE schedule = ?1";
    let of: Option<i64> = db.query_row(sql, [signed(number)], |row| row.get(0)).optional()?;
    Ok(of.and_then(|of| u64::try_from(of).ok()).unwrap_or(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carry(number: u64, key: &str, seen: &str) -> Carry {
        let firing = Firing { number, key: key.to_owned() };
        Carry { firing, call: Blake3([1; 32]), seen: seen.to_owned() }
    }

    #[test]
    fn firing_once_more_continues_where_the_schedule_stopped() {
        let mut db = Connection::open_in_memory().unwrap();
        db.execute_batch(TABLES).unwrap();
        keep(&mut db, &carry(7, "2026-12-01T08:00:00", ""), "mail 40", 1).unwrap();
        fires_again(&mut db, 9, 7).unwrap();
        fires_again(&mut db, 11, 9).unwrap();
        assert_eq!((of_which(&db, 9).unwrap(), of_which(&db, 11).unwrap(), of_which(&db, 7).unwrap()), (7, 7, 7));
        let now = carry(of_which(&db, 9).unwrap(), "2026-12-01T11:30:00", "mail 40");
        assert_eq!(seen(&db, &now.firing, now.call).unwrap(), "mail 40");
        keep(&mut db, &now, "mail 44", 2).unwrap();
        // Tried again because its delivery was unsure, it begins where it began; the next morning goes on behind it.
        assert_eq!(seen(&db, &now.firing, now.call).unwrap(), "mail 40");
        assert_eq!(seen(&db, &carry(7, "2026-12-02T08:00:00", "").firing, now.call).unwrap(), "mail 44");
    }

    #[test]
    fn so_many_are_kept_and_no_more() {
        let mut db = Connection::open_in_memory().unwrap();
        db.execute_batch(TABLES).unwrap();
        for number in 0..u64::from(MAX_KEPT) + 3 {
            fires_again(&mut db, 1_000 + number, 7).unwrap();
        }
        assert_eq!((of_which(&db, 1_002).unwrap(), of_which(&db, 1_003).unwrap()), (1_002, 7));
    }
}
