//! What is read from the mnestome: lists, neighbours, wishes. Nothing here changes a row.

use rusqlite::params;

use super::graph::{COLUMNS, Mnest, Mnestome, Wish, number, read_mnest};
use super::weight::use_days;
use crate::error::{During, Result};

/// Where a mnest leads, and how strongly now.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// The executor.
    pub name: String,
    /// Its version.
    pub version: String,
    /// In [0, 1].
    pub weight: f64,
}

impl Mnestome {
    /// One mnest.
    ///
    /// # Errors
    /// When the database says no.
    pub fn one(&self, id: &str) -> Result<Option<Mnest>> {
        Ok(self.read(&format!("SELECT {COLUMNS} FROM mnests WHERE id = ?1"), [id])?.pop())
    }

    /// Every mnest, heaviest first, with its weight now.
    ///
    /// # Errors
    /// When the database says no.
    pub fn list(&self) -> Result<Vec<Mnest>> {
        self.read(&format!("SELECT {COLUMNS} FROM mnests ORDER BY lw DESC, id"), [])
    }

    /// The heaviest mnests, all or those that lead from one executor in any version.
    ///
    /// # Errors
    /// When the database says no.
    pub fn top(&self, name: &str, limit: usize) -> Result<Vec<Mnest>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        if name.is_empty() {
            return self.read(&format!("SELECT {COLUMNS} FROM mnests ORDER BY lw DESC, id LIMIT ?1"), [limit]);
        }
        let sql = format!("SELECT {COLUMNS} FROM mnests WHERE src_executor = ?1 ORDER BY lw DESC, id LIMIT ?2");
        self.read(&sql, params![name, limit])
    }

    /// The executors that one leads to by its heaviest mnests that can be followed, at most `limit`, heaviest first.
    ///
    /// # Errors
    /// When the database says no.
    pub fn neighbours(&self, name: &str, version: &str, limit: usize) -> Result<Vec<Neighbour>> {
        // One walk along the index for each state; all that is needed stands in it.
        const SQL: &str = "SELECT lw, dst_executor, dst_version, decay_lambda FROM mnests INDEXED BY mnests_from
             WHERE src_executor = ?1 AND src_version = ?2 AND state = ?3 ORDER BY lw DESC LIMIT ?4";
        let what = "reading the mnestome";
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let now = use_days(self.clock.now);
        let mut walk = self.db.prepare_cached(SQL).during(what)?;
        let mut found = Vec::with_capacity(limit.min(64));
        for state in ["active", "decaying"] {
            let mut rows = walk.query(params![name, version, state, most]).during(what)?;
            while let Some(row) = rows.next().during(what)? {
                let (lw, lambda): (f64, f64) = (row.get(0).during(what)?, row.get(3).during(what)?);
                // What is stored is the logarithm of the weight, put forward to the clock's beginning.
                let weight = (lw - lambda * now).exp().min(1.0);
                found.push(Neighbour { name: row.get(1).during(what)?, version: row.get(2).during(what)?, weight });
            }
        }
        found.sort_by(|one, two| two.weight.total_cmp(&one.weight));
        found.truncate(limit);
        Ok(found)
    }

    fn read(&self, sql: &str, params: impl rusqlite::Params) -> Result<Vec<Mnest>> {
        let now = self.clock.now;
        self.db
            .prepare_cached(sql)
            .and_then(|mut all| all.query_map(params, |row| read_mnest(row, now))?.collect())
            .during("reading the mnestome")
    }

    /// When the oldest mnest was first used, in milliseconds; `None` when there is none.
    ///
    /// # Errors
    /// When the database says no.
    pub fn oldest_ms(&self) -> Result<Option<u64>> {
        self.db
            .prepare_cached("SELECT min(ts_first) FROM mnests")
            .and_then(|mut one| one.query_row([], |row| row.get::<_, Option<i64>>(0)))
            .map(|oldest| oldest.map(i64::unsigned_abs))
            .during("reading the mnestome")
    }

    /// How many mnests there are, of whatever state.
    ///
    /// # Errors
    /// When the database says no.
    pub fn count(&self) -> Result<u64> {
        self.db
            .prepare_cached("SELECT count(*) FROM mnests")
            .and_then(|mut one| one.query_row([], |row| number(row, 0)))
            .during("reading the mnestome")
    }

    /// What was wished for and does not exist, most wished for first.
    ///
    /// # Errors
    /// When the database says no.
    pub fn wishes(&self, limit: usize) -> Result<Vec<Wish>> {
        let sql = "SELECT dst_executor, sum(uses) AS times FROM mnests WHERE state = 'proto'
                   GROUP BY dst_executor ORDER BY times DESC, dst_executor LIMIT ?1";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.db
            .prepare_cached(sql)
            .and_then(|mut all| {
                all.query_map([limit], |row| Ok(Wish { text: row.get(0)?, times: number(row, 1)? }))?.collect()
            })
            .during("reading the mnestome")
    }
}
