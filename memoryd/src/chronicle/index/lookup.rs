//! What proofs, searches and redactions look up in the index. It only reads.

use rusqlite::{OptionalExtension, params};

use metnos_proto::ids::{Sha256, TurnId};
use metnos_proto::msg::common::ExecutorId;

use super::{COLUMNS, Index, IndexRow, maybe_unsigned, signed, unsigned};
use crate::chronicle::time::Day;
use crate::error::{During, Result};

impl Index {
    /// A number that is another one when [`Index::callable`] may give others than before; never 0.
    #[must_use]
    pub const fn pool(&self) -> u64 {
        self.pool.number()
    }

    /// The contracts of the executors that may be called: of each name the version born last.
    ///
    /// # Errors
    /// When the database says no.
    pub fn callable(&self) -> Result<Vec<String>> {
        let sql = "SELECT candidate FROM executors AS one WHERE callable = 1 AND seq =
                     (SELECT max(seq) FROM executors WHERE name = one.name AND callable = 1) ORDER BY name";
        self.db
            .prepare_cached(sql)
            .and_then(|mut all| all.query_map([], |row| row.get(0))?.collect())
            .during("reading the executors")
    }

    /// The number of the first line that was written at this moment or later, of lines up to `head`; one more than `head` when none
    /// was. It halves what is left, so it looks at few lines. Where the clock was set back, it is one of those about there.
    ///
    /// # Errors
    /// When the database says no.
    pub fn first_since(&self, ts_ms: u64, head: u64) -> Result<u64> {
        let (mut low, mut high) = (1, head.saturating_add(1));
        while low < high {
            let middle = low + (high - low) / 2;
            match self.row(middle)? {
                Some(row) if row.ts_ms >= ts_ms => high = middle,
                Some(_) | None => low = middle + 1,
            }
        }
        Ok(low)
    }

    /// The effect class of an executor that was born once; `None` for any other.
    ///
    /// # Errors
    /// When the database says no.
    pub fn class_of(&self, id: &ExecutorId) -> Result<Option<String>> {
        let sql = "SELECT json_extract(candidate, '$.class') FROM executors WHERE name = ?1 AND version = ?2";
        self.db
            .prepare_cached(sql)
            .and_then(|mut one| {
                one.query_row([&id.name, &id.version], |row| row.get::<_, Option<String>>(0)).optional()
            })
            .map(Option::flatten)
            .during("reading the executors")
    }

    /// The events whose payload is to be taken out, ascending.
    ///
    /// # Errors
    /// When the database says no.
    pub fn redacted(&self) -> Result<Vec<u64>> {
        self.db
            .prepare_cached("SELECT seq FROM redacted ORDER BY seq")
            .and_then(|mut all| all.query_map([], |row| unsigned(row, 0))?.collect())
            .during("reading the redactions")
    }

    /// At most `limit` events before number `before`, newest first.
    ///
    /// # Errors
    /// When the database says no.
    pub fn rows_before(&self, before: u64, limit: u32) -> Result<Vec<IndexRow>> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2");
        self.rows(&sql, params![signed(before), limit])
    }

    /// The hashes of the events `from` to before `to`, in order, each handed to `take`.
    ///
    /// # Errors
    /// When the database says no.
    pub fn hashes(&self, from: u64, to: u64, mut take: impl FnMut(Sha256)) -> Result<()> {
        let mut each = || -> rusqlite::Result<()> {
            let mut all =
                self.db.prepare_cached("SELECT hash FROM events WHERE seq >= ?1 AND seq < ?2 ORDER BY seq")?;
            let mut rows = all.query([signed(from), signed(to)])?;
            while let Some(row) = rows.next()? {
                take(Sha256(row.get(0)?));
            }
            Ok(())
        };
        each().during("reading the index")
    }

    /// The days on which a turn has events, ascending.
    ///
    /// # Errors
    /// When the database says no.
    pub fn days_of_turn(&self, turn: TurnId) -> Result<Vec<Day>> {
        self.db
            .prepare_cached("SELECT DISTINCT day FROM events WHERE turn = ?1 ORDER BY day")
            .and_then(|mut all| all.query_map([turn.to_bytes()], |row| Ok(Day(row.get(0)?)))?.collect())
            .during("reading the index")
    }

    /// The first and the last event of a day.
    ///
    /// # Errors
    /// When the database says no.
    pub fn span_of_day(&self, from: u64, day: Day) -> Result<Option<(u64, u64)>> {
        // Days follow each other as their events do, so the search begins at an event of that day or before it.
        self.db
            .prepare_cached("SELECT min(seq), max(seq) FROM events WHERE day = ?1 AND seq >= ?2")
            .and_then(|mut one| {
                one.query_row(params![day.0, signed(from)], |row| {
                    Ok(maybe_unsigned(row, 0)?.zip(maybe_unsigned(row, 1)?))
                })
            })
            .during("reading the index")
    }
}
