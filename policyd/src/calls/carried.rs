//! State that a scheduled call passes to the next call of the same schedule (design: clock §1, `carry`): the text at
//! [`metnos_proto::executor::SEEN`] of its result becomes that argument of the next call. So a stateless executor can continue where
//! it stopped.
//!
//! The state belongs to the schedule, the executor and the other arguments. If a firing is repeated because its delivery is unsure,
//! it gets the same state as before: no item is skipped that may not have arrived.

use metnos_proto::ids::Blake3;
use rusqlite::{Connection, OptionalExtension, params};

use crate::store::signed;

/// The table; made wherever it is missing.
pub(crate) const TABLE: &str = "
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
    /// The schedule's number.
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
