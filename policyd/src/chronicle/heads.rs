//! The table of the signed heads, in policyd's own store, where memoryd and anyone who can write its files cannot reach.
//!
//! `anchors` is the list: a head every so many lines or so long, at each start and at each stop; nothing in it ever changes.
//! `signed_head` is the one that was signed last, with every effect, and only ever goes forward.

use std::time::Duration;

use metnos_proto::chain::Anchor;
use metnos_proto::ids::Sha256;
use metnos_proto::msg::policyd::MAX_ANCHORS;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::store::{Store, StoreError};

/// What the last signed head says of the lines after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Lines may follow: Metnos runs, or ended without a stop.
    Open,
    /// It was signed at a stop: no line may follow when the chronicle is opened next.
    Closed,
    /// Lines were found after a stop, and that has not been put right.
    Added,
}

impl End {
    const fn number(self) -> i64 {
        match self {
            Self::Open => 0,
            Self::Closed => 1,
            Self::Added => 2,
        }
    }

    const fn of(number: i64) -> Self {
        match number {
            0 => Self::Open,
            1 => Self::Closed,
            _ => Self::Added,
        }
    }
}

/// The head that was signed last.
#[derive(Debug, Clone, Copy)]
pub struct Last {
    /// The head.
    pub anchor: Anchor,
    /// Its signature.
    pub signature: [u8; 64],
    /// What may follow it.
    pub end: End,
}

/// Makes the tables, beside those of the registry.
pub(crate) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS anchors (
             seq INTEGER PRIMARY KEY CHECK (seq >= 1),
             hash BLOB NOT NULL CHECK (length(hash) = 32), root BLOB NOT NULL CHECK (length(root) = 32),
             ts_ms INTEGER NOT NULL, signature BLOB NOT NULL CHECK (length(signature) = 64)
         ) STRICT;
         CREATE TRIGGER IF NOT EXISTS anchors_stay BEFORE UPDATE ON anchors
             BEGIN SELECT RAISE(ABORT, 'an anchor never changes'); END;
         CREATE TABLE IF NOT EXISTS signed_head (
             one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL CHECK (seq >= 1),
             hash BLOB NOT NULL CHECK (length(hash) = 32), root BLOB NOT NULL CHECK (length(root) = 32),
             ts_ms INTEGER NOT NULL, signature BLOB NOT NULL CHECK (length(signature) = 64), end INTEGER NOT NULL
         ) STRICT;
         CREATE TRIGGER IF NOT EXISTS signed_head_goes_forward BEFORE UPDATE ON signed_head
             WHEN NEW.seq < OLD.seq OR (NEW.seq = OLD.seq AND NEW.hash <> OLD.hash)
             BEGIN SELECT RAISE(ABORT, 'a signed head never goes back'); END;",
    )
}

fn read(row: &Row<'_>) -> rusqlite::Result<(Anchor, [u8; 64])> {
    let number = |column: usize| -> rusqlite::Result<u64> {
        let number: i64 = row.get(column)?;
        u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
    };
    let anchor = Anchor { seq: number(0)?, hash: Sha256(row.get(1)?), root: Sha256(row.get(2)?), ts_ms: number(3)? };
    Ok((anchor, row.get(4)?))
}

/// The head that was signed last. From here on lines may follow it, whatever becomes of this start; what was known before is
/// returned.
pub(crate) fn last(connection: &Connection) -> rusqlite::Result<Option<Last>> {
    let sql = "SELECT seq, hash, root, ts_ms, signature, end FROM signed_head
               UNION ALL SELECT seq, hash, root, ts_ms, signature, 0 FROM anchors ORDER BY seq DESC, end DESC LIMIT 1";
    let whole = |row: &Row<'_>| {
        let (anchor, signature) = read(row)?;
        Ok(Last { anchor, signature, end: End::of(row.get(5)?) })
    };
    let last = connection.query_row(sql, [], whole).optional()?;
    if last.is_some_and(|last| last.end == End::Closed) {
        connection.execute("UPDATE signed_head SET end = 0 WHERE end = 1", [])?;
    }
    Ok(last)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Store {
    /// Keeps a signed head, durably: as the last one, and in the list as well when it is to stay there.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn anchored(
        &self,
        anchor: Anchor,
        signature: [u8; 64],
        listed: bool,
        end: End,
    ) -> Result<(), StoreError> {
        self.run(move |connection| {
            let Anchor { seq, hash, root, ts_ms } = anchor;
            let values = params![signed(seq), hash.0, root.0, signed(ts_ms), signature];
            let both = connection.transaction()?;
            if listed {
                both.execute("INSERT OR IGNORE INTO anchors VALUES (?1, ?2, ?3, ?4, ?5)", values)?;
            }
            let values = params![signed(seq), hash.0, root.0, signed(ts_ms), signature, end.number()];
            both.execute(
                "INSERT INTO signed_head VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE
                 SET seq = ?1, hash = ?2, root = ?3, ts_ms = ?4, signature = ?5, end = ?6",
                values,
            )?;
            both.commit()
        })
        .await
    }

    /// Notes what may follow the head that was signed last.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn ends(&self, end: End) -> Result<(), StoreError> {
        self.run(move |connection| connection.execute("UPDATE signed_head SET end = ?1", [end.number()]).map(drop))
            .await
    }

    /// The whole database as the bytes of one file, consistent while it is in use.
    ///
    /// # Errors
    /// When the database refuses.
    pub async fn copy(&self) -> Result<Vec<u8>, StoreError> {
        self.run(|connection| {
            // What stands in the write-ahead log goes into the copy, too; a file without a log must not say it has one.
            let mut copy = Connection::open_in_memory()?;
            rusqlite::backup::Backup::new(connection, &mut copy)?.run_to_completion(1024, Duration::ZERO, None)?;
            copy.execute_batch("PRAGMA journal_mode = DELETE;")?;
            Ok(copy.serialize("main")?.to_vec())
        })
        .await
    }

    /// The signed heads after line `after`, at most [`MAX_ANCHORS`] and one more; the one that was signed last is the last.
    ///
    /// # Errors
    /// When the database refuses.
    pub async fn anchors(&self, after: u64) -> Result<Vec<(Anchor, [u8; 64])>, StoreError> {
        self.run(move |connection| {
            let sql = "SELECT seq, hash, root, ts_ms, signature FROM anchors WHERE seq > ?1
                       UNION ALL SELECT seq, hash, root, ts_ms, signature FROM signed_head
                       WHERE seq > ?1 AND seq NOT IN (SELECT seq FROM anchors) ORDER BY seq LIMIT ?2";
            connection.prepare(sql)?.query_map([signed(after), i64::from(MAX_ANCHORS) + 1], read)?.collect()
        })
        .await
    }
}
