//! What a call at a set time leaves for the next one of the same schedule, so that an executor that keeps nothing goes on where it
//! stopped (design: clock §1, `carry`): the text at [`metnos_proto::executor::SEEN`] of its result is that argument of the next.
//!
//! It is bound to the schedule, the executor and the other arguments. A due time that is begun again, because nobody knows whether
//! its answer arrived, is given what it was given before: nothing that was not told is passed over.

use metnos_proto::ids::Blake3;
use rusqlite::{Connection, OptionalExtension, params};

use crate::store::signed;

/// The table; made wherever it is missing.
pub(crate) const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS carried (
        schedule INTEGER NOT NULL, call BLOB NOT NULL, key TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
        used INTEGER NOT NULL, PRIMARY KEY (schedule, call)
    ) STRICT, WITHOUT ROWID;";
/// The longest text that is carried, in bytes.
pub(crate) const MAX_CARRIED: usize = 4_096;
/// The most texts that are kept; beyond, the one that was used longest ago is forgotten.
const MAX_KEPT: u32 = 512;

/// A due time of a schedule, in whose turn a call is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    /// The schedule's number.
    pub number: u64,
    /// The civil time at which it was due.
    pub key: String,
}

/// What one call is given and leaves.
#[derive(Debug, Clone)]
pub(crate) struct Carry {
    pub(crate) firing: Firing,
    /// Which call: the digest of executor and arguments.
    pub(crate) call: Blake3,
    /// What it is given; empty the first time.
    pub(crate) seen: String,
}

/// What this call of a firing is given; empty the first time.
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

/// Keeps what this call leaves for the next one, at this moment in milliseconds.
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
