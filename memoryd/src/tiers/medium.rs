//! The medium tier: what each peer said and was answered recently, the recent tasks, and what is left of older talk: summaries
//! that cite the lines they cover (design: memory §3). A projection of the chronicle; no text here is the only one.
//!
//! Messages older than [`KEEP_DAYS`], and the older half when a peer has more than [`KEEP_MESSAGES`], become summaries of
//! [`BLOCK`] messages; when there are more than [`KEEP_SUMMARIES`] the oldest become one. Each step depends on the events
//! alone, so deriving everything anew gives the same. What a person said and what was answered are summed up apart, since
//! only a person's own words may be shown at once.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use super::extract::{cited_parts, extract};
use crate::at_rest::Keys;
use crate::chronicle::index::open_projection;
use crate::chronicle::time::{DAY_MS, Day};
use crate::error::{During, Error, Result};

/// The version of the tables.
pub const VERSION: i64 = 2;
/// After so many days a message becomes part of a summary.
pub const KEEP_DAYS: u64 = 14;
/// The most messages of one peer that are kept as they are.
pub const KEEP_MESSAGES: usize = 400;
/// How many messages become one summary.
pub const BLOCK: usize = 50;
/// The most summaries of one peer; beyond, the [`MERGED`] oldest become one.
pub const KEEP_SUMMARIES: usize = 48;
/// See [`KEEP_SUMMARIES`].
pub const MERGED: usize = 8;
/// The most tasks of one peer that are kept.
pub const KEEP_TASKS: usize = 64;
/// The longest summary of a person's own words, in characters.
pub const MAX_OWN_CHARS: usize = 800;
/// The longest summary of what was answered, in characters.
pub const MAX_ANSWERS_CHARS: usize = 400;

const TABLES: &str = include_str!("medium.sql");
const WRITING: &str = "writing the medium memory";
const READING: &str = "reading the medium memory";

/// What an event changes here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// Somebody said something.
    Said {
        /// The line.
        seq: u64,
        /// Whose conversation it is.
        peer: String,
        /// When, in milliseconds.
        ts_ms: u64,
        /// Whether it is the peer's own word, and not an answer.
        own: bool,
        /// The words.
        text: String,
    },
    /// A turn is over.
    Done {
        /// The line that closed it.
        seq: u64,
        /// Whose.
        peer: String,
        /// When, in milliseconds.
        ts_ms: u64,
        /// How it ended.
        ended: String,
        /// The executors that succeeded in it, in their order.
        executors: Vec<String>,
    },
    /// The six files were looked at: those that were others than before, and their digests.
    Files(Vec<(String, String)>),
}

/// A message as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// The line.
    pub seq: u64,
    /// When, in milliseconds.
    pub ts_ms: u64,
    /// Whether it is the peer's own word.
    pub own: bool,
    /// The words.
    pub text: String,
}

/// A task as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Task {
    /// The line that closed its turn.
    pub seq: u64,
    /// When, in milliseconds.
    pub ts_ms: u64,
    /// How it ended.
    pub ended: String,
    /// The executors that succeeded in it.
    pub executors: Vec<String>,
}

/// What is left of older messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The first line that it covers.
    pub from_seq: u64,
    /// The last.
    pub upto_seq: u64,
    /// When the first was said, in milliseconds.
    pub from_ms: u64,
    /// And the last.
    pub upto_ms: u64,
    /// How many messages it covers.
    pub messages: u64,
    /// Of the peer's own words, the sentences that tell the most, each behind its line.
    pub own: String,
    /// Of the answers, likewise.
    pub answers: String,
    /// The lines that the peer's own sentences stand in.
    pub cited: Vec<u64>,
}

/// The database.
#[derive(Debug)]
pub struct Medium {
    db: Connection,
    applied: u64,
    /// The day up to which old messages were looked for.
    day: Day,
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

fn message(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message { seq: number(row, 0)?, ts_ms: number(row, 1)?, own: row.get(2)?, text: row.get(3)? })
}

fn summary(row: &Row<'_>) -> rusqlite::Result<Summary> {
    Ok(Summary {
        from_seq: number(row, 0)?,
        upto_seq: number(row, 1)?,
        from_ms: number(row, 2)?,
        upto_ms: number(row, 3)?,
        messages: number(row, 4)?,
        own: row.get(5)?,
        answers: row.get(6)?,
        cited: serde_json::from_str(row.get_ref(7)?.as_str()?).unwrap_or_default(),
    })
}

const SUMMARY: &str = "from_seq, upto_seq, from_ts, upto_ts, messages, opened(peer, own), opened(peer, answers), cited";

impl Medium {
    /// Opens the database, empty when there was none, whose words lie encrypted under these keys.
    ///
    /// # Errors
    /// When it is no database or of another version.
    pub fn open(path: &Path, keys: &Keys) -> Result<Self> {
        let what = "opening the medium memory";
        let db = open_projection(path).during(what)?;
        keys.serve(&db).during(what)?;
        // What is deleted is overwritten: words that were taken out must not stay in a page that is free.
        db.execute_batch("PRAGMA secure_delete = ON;").during(what)?;
        let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).during(what)?;
        match version {
            0 => {
                let script = format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;");
                db.execute_batch(&script).during("creating the medium memory")?;
            }
            VERSION => {}
            found => return Err(Error::Version { file: "medium.sqlite", found, known: VERSION }),
        }
        let mut medium = Self { db, applied: 0, day: Day(0) };
        medium.reload()?;
        Ok(medium)
    }

    fn reload(&mut self) -> Result<()> {
        (self.applied, self.day) = self
            .db
            .query_row("SELECT applied, day FROM progress", [], |row| Ok((number(row, 0)?, Day(row.get(1)?))))
            .during(READING)?;
        Ok(())
    }

    /// Up to which line everything is known.
    #[must_use]
    pub const fn applied(&self) -> u64 {
        self.applied
    }

    /// Forgets everything, to be derived anew: what it was derived from has changed.
    ///
    /// # Errors
    /// When the database says no.
    pub fn forget_everything(&mut self) -> Result<()> {
        self.db
            .execute_batch(
                "BEGIN IMMEDIATE; DELETE FROM messages; DELETE FROM tasks; DELETE FROM summaries; DELETE FROM files;
                 UPDATE progress SET applied = 0, day = 0; COMMIT;",
            )
            .during(WRITING)?;
        self.reload()
    }

    /// Has nothing stand in the write-ahead log any more that was deleted since.
    ///
    /// # Errors
    /// When the database says no.
    pub fn leave_nothing_behind(&self) -> Result<()> {
        self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)).map(|_| ()).during(WRITING)
    }

    /// Applies entries in the order of their events, and notes that everything up to line `applied` is known. All or
    /// nothing.
    ///
    /// # Errors
    /// When the database says no; then nothing of it is known.
    pub fn apply(&mut self, entries: &[Entry], applied: u64) -> Result<()> {
        if entries.is_empty() {
            // Nothing to store: after a restart the same lines are passed over once more.
            self.applied = self.applied.max(applied);
            return Ok(());
        }
        self.db.execute_batch("BEGIN IMMEDIATE").during(WRITING)?;
        let done = self.apply_inside(entries).and_then(|()| {
            self.db
                .prepare_cached("UPDATE progress SET applied = ?1, day = ?2")
                .and_then(|mut set| set.execute(params![signed(applied), self.day.0]))
                .and_then(|_| self.db.execute_batch("COMMIT"))
                .during(WRITING)
        });
        if done.is_ok() {
            self.applied = applied;
        } else {
            if !self.db.is_autocommit() {
                self.db.execute_batch("ROLLBACK").during(WRITING)?;
            }
            self.reload()?;
        }
        done
    }

    fn apply_inside(&mut self, entries: &[Entry]) -> Result<()> {
        for entry in entries {
            match entry {
                Entry::Said { seq, peer, ts_ms, own, text } => {
                    self.a_day_begins(*ts_ms)?;
                    self.db
                        .prepare_cached("INSERT OR IGNORE INTO messages VALUES (?1, ?2, ?3, ?4, sealed(?2, ?5))")
                        .and_then(|mut add| add.execute(params![signed(*seq), peer, signed(*ts_ms), own, text]))
                        .during(WRITING)?;
                    if self.count("messages", peer)? > KEEP_MESSAGES {
                        // A block at a time: everybody waits for it.
                        self.compress(peer, BLOCK, i64::MAX)?;
                    }
                }
                Entry::Done { seq, peer, ts_ms, ended, executors } => {
                    self.a_day_begins(*ts_ms)?;
                    let executors = serde_json::Value::from(executors.clone()).to_string();
                    self.db
                        .prepare_cached("INSERT OR IGNORE INTO tasks VALUES (?1, ?2, ?3, ?4, ?5)")
                        .and_then(|mut add| add.execute(params![signed(*seq), peer, signed(*ts_ms), ended, executors]))
                        .during(WRITING)?;
                    self.db
                        .prepare_cached(
                            "DELETE FROM tasks WHERE peer = ?1 AND seq <=
                             (SELECT seq FROM tasks WHERE peer = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
                        )
                        .and_then(|mut old| old.execute(params![peer, KEEP_TASKS as i64]))
                        .during(WRITING)?;
                }
                Entry::Files(files) => {
                    for (name, digest) in files {
                        self.db
                            .prepare_cached("INSERT INTO files VALUES (?1, ?2) ON CONFLICT DO UPDATE SET digest = ?2")
                            .and_then(|mut set| set.execute([name, digest]))
                            .during(WRITING)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn count(&self, table: &str, peer: &str) -> Result<usize> {
        self.db
            .prepare_cached(&format!("SELECT count(*) FROM {table} WHERE peer = ?1"))
            .and_then(|mut one| one.query_row([peer], |row| row.get::<_, i64>(0)))
            .map(|count| usize::try_from(count).unwrap_or(0))
            .during(READING)
    }

    /// With the first event of a day, what has become too old is summed up, for every peer.
    fn a_day_begins(&mut self, ts_ms: u64) -> Result<()> {
        let day = Day::of(ts_ms);
        if day <= self.day {
            return Ok(());
        }
        self.day = day;
        let before = signed((u64::from(day.0) * DAY_MS).saturating_sub(KEEP_DAYS * DAY_MS));
        let peers: Vec<String> = self
            .db
            .prepare_cached("SELECT DISTINCT peer FROM messages WHERE ts < ?1 ORDER BY peer")
            .and_then(|mut all| all.query_map([before], |row| row.get(0))?.collect())
            .during(READING)?;
        peers.iter().try_for_each(|peer| self.compress(peer, usize::MAX, before))
    }

    /// Sums up the oldest messages of a peer: at most so many, and only those from before an instant.
    fn compress(&self, peer: &str, most: usize, before_ms: i64) -> Result<()> {
        let old: Vec<Message> = self
            .db
            .prepare_cached("SELECT seq, ts, own, opened(peer, text) FROM messages WHERE peer = ?1 AND ts < ?2 ORDER BY seq LIMIT ?3")
            .and_then(|mut all| {
                let most = i64::try_from(most).unwrap_or(i64::MAX);
                all.query_map(params![peer, before_ms, most], message)?.collect()
            })
            .during(READING)?;
        for block in old.chunks(BLOCK) {
            self.sum_up(peer, block)?;
        }
        while self.count("summaries", peer)? > KEEP_SUMMARIES {
            self.merge_oldest(peer)?;
        }
        Ok(())
    }

    fn sum_up(&self, peer: &str, block: &[Message]) -> Result<()> {
        let (Some(first), Some(last)) = (block.first(), block.last()) else { return Ok(()) };
        let said = |own: bool, chars: usize| {
            let texts: Vec<(u64, &str)> =
                block.iter().filter(|one| one.own == own).map(|one| (one.seq, one.text.as_str())).collect();
            extract(&texts, chars)
        };
        let ((own, cited), (answers, _)) = (said(true, MAX_OWN_CHARS), said(false, MAX_ANSWERS_CHARS));
        self.keep(
            peer,
            &Summary {
                from_seq: first.seq,
                upto_seq: last.seq,
                from_ms: first.ts_ms,
                upto_ms: last.ts_ms,
                messages: block.len() as u64,
                own,
                answers,
                cited,
            },
        )?;
        self.db
            .prepare_cached("DELETE FROM messages WHERE peer = ?1 AND seq BETWEEN ?2 AND ?3")
            .and_then(|mut gone| gone.execute(params![peer, signed(first.seq), signed(last.seq)]))
            .during(WRITING)?;
        Ok(())
    }

    /// The oldest summaries become one: of what they hold, the sentences that tell the most.
    fn merge_oldest(&self, peer: &str) -> Result<()> {
        let sql = format!("SELECT {SUMMARY} FROM summaries WHERE peer = ?1 ORDER BY from_seq LIMIT ?2");
        let old: Vec<Summary> = self
            .db
            .prepare_cached(&sql)
            .and_then(|mut all| all.query_map(params![peer, MERGED as i64], summary)?.collect())
            .during(READING)?;
        let (Some(first), Some(last)) = (old.first(), old.last()) else { return Ok(()) };
        let said = |text: fn(&Summary) -> &str, chars: usize| {
            let parts: Vec<(u64, &str)> = old.iter().flat_map(|one| cited_parts(text(one))).collect();
            extract(&parts, chars)
        };
        let ((own, cited), (answers, _)) =
            (said(|one| &one.own, MAX_OWN_CHARS), said(|one| &one.answers, MAX_ANSWERS_CHARS));
        let merged = Summary {
            from_seq: first.from_seq,
            upto_seq: last.upto_seq,
            from_ms: first.from_ms,
            upto_ms: last.upto_ms,
            messages: old.iter().map(|one| one.messages).sum(),
            own,
            answers,
            cited,
        };
        self.db
            .prepare_cached("DELETE FROM summaries WHERE peer = ?1 AND from_seq <= ?2")
            .and_then(|mut gone| gone.execute(params![peer, signed(last.from_seq)]))
            .during(WRITING)?;
        self.keep(peer, &merged)
    }

    fn keep(&self, peer: &str, one: &Summary) -> Result<()> {
        let cited = serde_json::Value::from(one.cited.clone()).to_string();
        self.db
            .prepare_cached(
                "INSERT OR REPLACE INTO summaries VALUES (?1, ?2, ?3, ?4, ?5, ?6, sealed(?1, ?7), sealed(?1, ?8), ?9)",
            )
            .and_then(|mut add| {
                add.execute(params![
                    peer,
                    signed(one.from_seq),
                    signed(one.upto_seq),
                    signed(one.from_ms),
                    signed(one.upto_ms),
                    signed(one.messages),
                    one.own,
                    one.answers,
                    cited
                ])
            })
            .during(WRITING)?;
        Ok(())
    }

    /// Whether a line whose words were taken out was ever known here, as a message or in a summary.
    ///
    /// # Errors
    /// When the database says no.
    pub fn knows(&self, seq: u64) -> Result<bool> {
        self.db
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM messages WHERE seq = ?1)
                     OR EXISTS (SELECT 1 FROM summaries WHERE from_seq <= ?1 AND upto_seq >= ?1)",
            )
            .and_then(|mut one| one.query_row([signed(seq)], |row| row.get(0)))
            .during(READING)
    }

    /// A peer's last messages, oldest first.
    ///
    /// # Errors
    /// When the database says no.
    pub fn messages(&self, peer: &str, limit: usize) -> Result<Vec<Message>> {
        let sql = "SELECT seq, ts, own, opened(peer, text) FROM messages WHERE peer = ?1 ORDER BY seq DESC LIMIT ?2";
        let mut found: Vec<Message> = self.last(sql, peer, limit, message)?;
        found.reverse();
        Ok(found)
    }

    /// A peer's last summaries, oldest first.
    ///
    /// # Errors
    /// When the database says no.
    pub fn summaries(&self, peer: &str, limit: usize) -> Result<Vec<Summary>> {
        let sql = format!("SELECT {SUMMARY} FROM summaries WHERE peer = ?1 ORDER BY from_seq DESC LIMIT ?2");
        let mut found: Vec<Summary> = self.last(&sql, peer, limit, summary)?;
        found.reverse();
        Ok(found)
    }

    /// A peer's last tasks, oldest first.
    ///
    /// # Errors
    /// When the database says no.
    pub fn tasks(&self, peer: &str, limit: usize) -> Result<Vec<Task>> {
        let sql = "SELECT seq, ts, ended, executors FROM tasks WHERE peer = ?1 ORDER BY seq DESC LIMIT ?2";
        let read = |row: &Row<'_>| {
            Ok(Task {
                seq: number(row, 0)?,
                ts_ms: number(row, 1)?,
                ended: row.get(2)?,
                executors: serde_json::from_str(row.get_ref(3)?.as_str()?).unwrap_or_default(),
            })
        };
        let mut found: Vec<Task> = self.last(sql, peer, limit, read)?;
        found.reverse();
        Ok(found)
    }

    fn last<T>(
        &self,
        sql: &str,
        peer: &str,
        limit: usize,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.db
            .prepare_cached(sql)
            .and_then(|mut all| all.query_map(params![peer, limit], read)?.collect())
            .during(READING)
    }

    /// The digest of one of the six files as it was last recorded; `None` when it never was.
    ///
    /// # Errors
    /// When the database says no.
    pub fn file(&self, name: &str) -> Result<Option<String>> {
        self.db
            .prepare_cached("SELECT digest FROM files WHERE name = ?1")
            .and_then(|mut one| one.query_row([name], |row| row.get(0)).optional())
            .during(READING)
    }
}

#[cfg(test)]
#[path = "medium_tests.rs"]
mod tests;
