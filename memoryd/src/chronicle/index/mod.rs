//! The index: where each event lies, and the small tables by which memory answers. It can always be rebuilt.
//!
//! `.audit/index.sqlite`. Everything in it is a projection of the log, applied event by
//! event in one transaction per round; it is never asked whether something is true, only
//! where it stands.

mod lookup;
mod pool;
mod project;

use std::cell::RefCell;
use std::path::Path;

use metnos_proto::ids::{CallId, Sha256, TraceId, TurnId};
use metnos_proto::merkle::Frontier;
use metnos_proto::msg::common::{Channel, Trust};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::chronicle::event::{EventType, channel_named, trust_named};
use crate::chronicle::line::borrowed::BorrowedLine;
use crate::chronicle::log::{Place, Placed};
use crate::chronicle::payload;
use crate::chronicle::time::Day;
use crate::error::{During, Error, Result};
use pool::Pool;

/// The version of the tables below.
pub const VERSION: i64 = 3;

/// Pages of four KiB in the write-ahead log before they go into the database, with two syncs that the next answers wait
/// for: nearly every round writes the last pages of the same tables, and a checkpoint writes each once.
const CHECKPOINT_PAGES: u32 = 4_000;
/// For how many rows room is made before they are read.
const ROOM: u32 = 1024;

const TABLES: &str = include_str!("index.sql");

/// Where an event lies, and what the index knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRow {
    /// Its number.
    pub seq: u64,
    /// Its hash.
    pub hash: Sha256,
    /// Where its line lies.
    pub place: Place,
    /// When.
    pub ts_ms: u64,
    /// What happened; `None` when the index has a name that there is not.
    pub kind: Option<EventType>,
    /// The turn.
    pub turn: Option<TurnId>,
    /// The call that its payload names.
    pub call: Option<CallId>,
    /// The digest of its payload.
    pub payload: Sha256,
}

/// What is known of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFacts {
    /// Its trace.
    pub trace: TraceId,
    /// Where it came in.
    pub channel: Channel,
    /// The principal.
    pub peer: String,
    /// What the principal's words are worth.
    pub trust: Trust,
    /// `en` or `it`.
    pub lang: String,
    /// Whether the owner calls without the planner.
    pub direct: bool,
    /// The line of the words.
    pub said: Option<u64>,
    /// The line that opened it.
    pub opened: Option<u64>,
    /// The line of the delivered answer.
    pub delivered: Option<u64>,
    /// The line that closed it.
    pub closed: Option<u64>,
}

impl TurnFacts {
    /// The line that the first call's decision follows from.
    #[must_use]
    pub fn root(&self) -> Option<u64> {
        self.opened.or(self.said)
    }
}

/// The database.
#[derive(Debug)]
pub struct Index {
    db: Connection,
    /// The tree over all events that the transaction, if one is open, has come to.
    tree: RefCell<Frontier>,
    pool: Pool,
}

/// Opens a database the way every projection here is kept: one user, a write-ahead log, no
/// temporary file, no sync but at a checkpoint.
///
/// # Errors
/// When it is no database, or cannot be written.
pub fn open_projection(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open(path)?;
    // Exclusive before the first access: then the write-ahead log needs no shared memory file.
    db.execute_batch(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;",
    )?;
    db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    // Otherwise a statement whose plan might depend on a value is compiled anew for every value.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(db)
}

/// The event as the index describes it.
#[must_use]
pub fn row_of(placed: &Placed) -> IndexRow {
    let event = &placed.event;
    IndexRow {
        seq: event.seq,
        hash: event.hash,
        place: placed.place,
        ts_ms: event.ts_ms,
        kind: Some(event.kind),
        turn: event.turn_id,
        call: call_in(event.kind, &event.payload),
        payload: event.payload_sha256,
    }
}

/// The line as the index should describe it.
#[must_use]
pub fn row_of_line(event: &BorrowedLine<'_>, place: Place) -> IndexRow {
    IndexRow {
        seq: event.seq,
        hash: event.hash,
        place,
        ts_ms: event.ts_ms,
        kind: Some(event.kind),
        turn: event.turn_id,
        call: call_in(event.kind, event.payload),
        payload: event.payload_sha256,
    }
}

/// The call that a payload is about.
fn call_in(kind: EventType, text: &str) -> Option<CallId> {
    let is_of_a_call = matches!(
        kind,
        EventType::PolicyDecision | EventType::RunStarted | EventType::RunEnded | EventType::WorldAction
    );
    if !is_of_a_call {
        return None;
    }
    #[derive(serde::Deserialize)]
    struct Named {
        call: String,
    }
    serde_json::from_str::<Named>(text).ok().and_then(|named| payload::call_of(&named.call))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

fn maybe_unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.and_then(|number| u64::try_from(number).ok()))
}

fn place(row: &Row<'_>, first: usize) -> rusqlite::Result<Place> {
    Ok(Place { day: Day(row.get(first)?), offset: unsigned(row, first + 1)?, bytes: unsigned(row, first + 2)? })
}

const COLUMNS: &str = "seq, hash, day, offset, bytes, ts, type, turn, call, payload";

fn read_row(row: &Row<'_>) -> rusqlite::Result<IndexRow> {
    Ok(IndexRow {
        seq: unsigned(row, 0)?,
        hash: Sha256(row.get(1)?),
        place: place(row, 2)?,
        ts_ms: unsigned(row, 5)?,
        kind: EventType::parse(row.get_ref(6)?.as_str()?),
        turn: row.get::<_, Option<[u8; 16]>>(7)?.map(TurnId::from_bytes),
        call: row.get::<_, Option<[u8; 16]>>(8)?.map(CallId::from_bytes),
        payload: Sha256(row.get(9)?),
    })
}

impl Index {
    /// Opens the index, empty when there was none.
    ///
    /// # Errors
    /// When it is no database or of another version.
    pub fn open(path: &Path) -> Result<Self> {
        let db = open_projection(path).during("opening the index")?;
        let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).during("opening the index")?;
        match version {
            0 => {
                let script = format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;");
                db.execute_batch(&script).during("creating the index")?;
            }
            VERSION => {}
            found => return Err(Error::Version { file: "index.sqlite", found, known: VERSION }),
        }
        let index = Self { db, tree: RefCell::default(), pool: Pool::default() };
        index.reload_tree()?;
        Ok(index)
    }

    /// Goes back to the tree that is stored.
    fn reload_tree(&self) -> Result<()> {
        let stored: Option<Vec<u8>> = self
            .db
            .query_row("SELECT frontier FROM tree", [], |row| row.get(0))
            .optional()
            .during("reading the tree")?;
        let frontier = match stored {
            None => Frontier::default(),
            Some(bytes) => Frontier::from_bytes(&bytes).ok_or_else(|| {
                Error::Altered("the tree in the index is none; move .audit/index.sqlite away".to_owned())
            })?,
        };
        *self.tree.borrow_mut() = frontier;
        Ok(())
    }

    /// The root of the tree over all events that the index knows, and how many they are.
    #[must_use]
    pub fn root(&self) -> (u64, Sha256) {
        let tree = self.tree.borrow();
        (tree.size(), tree.root())
    }

    /// The last event that the index knows.
    ///
    /// # Errors
    /// When the database says no.
    pub fn head(&self) -> Result<Option<IndexRow>> {
        let sql = format!("SELECT {COLUMNS} FROM events ORDER BY seq DESC LIMIT 1");
        self.db
            .prepare_cached(&sql)
            .and_then(|mut all| all.query_row([], read_row).optional())
            .during("reading the index")
    }

    /// Where event `seq` lies.
    ///
    /// # Errors
    /// When the database says no.
    pub fn row(&self, seq: u64) -> Result<Option<IndexRow>> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE seq = ?1");
        self.db
            .prepare_cached(&sql)
            .and_then(|mut one| one.query_row([signed(seq)], read_row).optional())
            .during("reading the index")
    }

    /// At most `limit` events from number `from` upwards.
    ///
    /// # Errors
    /// When the database says no.
    pub fn rows_from(&self, from: u64, limit: u32) -> Result<Vec<IndexRow>> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE seq >= ?1 ORDER BY seq LIMIT ?2");
        // A verification comes here for every row there is: room is made once for each time.
        let mut found = Vec::with_capacity(limit.min(ROOM) as usize);
        let mut read = || {
            let mut many = self.db.prepare_cached(&sql)?;
            let mut rows = many.query(params![signed(from), limit])?;
            while let Some(row) = rows.next()? {
                found.push(read_row(row)?);
            }
            Ok(())
        };
        read().during("reading the index")?;
        Ok(found)
    }

    /// The last `limit` events with a number above `after`, ascending.
    ///
    /// # Errors
    /// When the database says no.
    pub fn last_rows(&self, after: u64, limit: u32) -> Result<Vec<IndexRow>> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE seq > ?1 ORDER BY seq DESC LIMIT ?2");
        let mut rows = self.rows(&sql, params![signed(after), limit])?;
        rows.reverse();
        Ok(rows)
    }

    /// The events of a turn before number `before`, ascending.
    ///
    /// # Errors
    /// When the database says no.
    pub fn of_turn(&self, turn: TurnId, before: u64) -> Result<Vec<IndexRow>> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE turn = ?1 AND seq < ?2 ORDER BY seq");
        self.rows(&sql, params![turn.to_bytes(), signed(before)])
    }

    /// The first event of a turn.
    ///
    /// # Errors
    /// When the database says no.
    pub fn first_of_turn(&self, turn: TurnId) -> Result<Option<u64>> {
        self.db
            .prepare_cached("SELECT min(seq) FROM events WHERE turn = ?1")
            .and_then(|mut one| one.query_row([turn.to_bytes()], |row| maybe_unsigned(row, 0)))
            .during("reading the index")
    }

    /// The last event of that type about a call.
    ///
    /// # Errors
    /// When the database says no.
    pub fn of_call(&self, call: CallId, kind: EventType) -> Result<Option<IndexRow>> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE call = ?1 AND type = ?2 ORDER BY seq DESC LIMIT 1");
        Ok(self.rows(&sql, params![call.to_bytes(), kind.name()])?.pop())
    }

    fn rows(&self, sql: &str, params: impl rusqlite::Params) -> Result<Vec<IndexRow>> {
        self.db
            .prepare_cached(sql)
            .and_then(|mut many| many.query_map(params, read_row)?.collect())
            .during("reading the index")
    }

    /// What is known of a turn.
    ///
    /// # Errors
    /// When the database says no.
    pub fn turn(&self, turn: TurnId) -> Result<Option<TurnFacts>> {
        let sql = "SELECT trace, channel, peer, trust, lang, direct, said, opened, delivered, closed
                   FROM turns WHERE turn = ?1";
        let read = |row: &Row<'_>| {
            let odd = |column| rusqlite::Error::InvalidColumnType(column, "name".into(), rusqlite::types::Type::Text);
            Ok(TurnFacts {
                trace: TraceId::from_bytes(row.get(0)?),
                channel: channel_named(&row.get::<_, String>(1)?).ok_or_else(|| odd(1))?,
                peer: row.get(2)?,
                trust: trust_named(&row.get::<_, String>(3)?).ok_or_else(|| odd(3))?,
                lang: row.get(4)?,
                direct: row.get(5)?,
                said: maybe_unsigned(row, 6)?,
                opened: maybe_unsigned(row, 7)?,
                delivered: maybe_unsigned(row, 8)?,
                closed: maybe_unsigned(row, 9)?,
            })
        };
        self.db
            .prepare_cached(sql)
            .and_then(|mut one| one.query_row([turn.to_bytes()], read).optional())
            .during("reading the turns")
    }

    /// The last turn that was opened by words of this mark.
    ///
    /// # Errors
    /// When the database says no.
    pub fn marked(&self, peer: &str, mark: &str) -> Result<Option<TurnId>> {
        let sql = "SELECT turn FROM marks WHERE peer = ?1 AND mark = ?2 ORDER BY said DESC LIMIT 1";
        self.db
            .prepare_cached(sql)
            .and_then(|mut one| one.query_row([peer, mark], |row| row.get(0)).optional())
            .map(|turn: Option<[u8; 16]>| turn.map(TurnId::from_bytes))
            .during("reading the marks")
    }

    /// Whether a call was decided in this turn.
    ///
    /// # Errors
    /// When the database says no.
    pub fn has_decision(&self, turn: TurnId) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM events WHERE turn = ?1 AND type = 'policy_decision')";
        self.db
            .prepare_cached(sql)
            .and_then(|mut one| one.query_row([turn.to_bytes()], |row| row.get(0)))
            .during("reading the turns")
    }

    /// The lines of what a principal said last, before number `before`, newest first. What was asked by itself, at a set time, is not
    /// said.
    ///
    /// # Errors
    /// When the database says no.
    pub fn said_by(&self, peer: &str, before: u64, limit: u32) -> Result<Vec<IndexRow>> {
        let columns = COLUMNS.split(", ").map(|column| format!("events.{column}")).collect::<Vec<_>>().join(", ");
        let sql = format!(
            "SELECT {columns} FROM turns JOIN events ON events.seq = turns.said
             WHERE turns.peer = ?1 AND turns.said < ?2 AND turns.channel <> 'scheduler' ORDER BY turns.said DESC LIMIT ?3"
        );
        self.rows(&sql, params![peer, signed(before), limit])
    }

    /// Whether an executor may be called, and the event that last said so; `None` when it was never born.
    ///
    /// # Errors
    /// When the database says no.
    pub fn executor(&self, name: &str, version: &str) -> Result<Option<(bool, u64)>> {
        self.db
            .prepare_cached("SELECT callable, seq FROM executors WHERE name = ?1 AND version = ?2")
            .and_then(|mut one| one.query_row([name, version], |row| Ok((row.get(0)?, unsigned(row, 1)?))).optional())
            .during("reading the executors")
    }

    /// Up to where the executors' view of which day was written.
    ///
    /// # Errors
    /// When the database says no.
    pub fn view_end(&self) -> Result<Option<(Day, u64)>> {
        self.db
            .prepare_cached("SELECT day, bytes FROM view")
            .and_then(|mut one| one.query_row([], |row| Ok((Day(row.get(0)?), unsigned(row, 1)?))).optional())
            .during("reading the view's end")
    }

    /// Begins a transaction, which [`Index::commit`] ends.
    ///
    /// # Errors
    /// When the database says no.
    pub fn begin(&self) -> Result<()> {
        self.db.execute_batch("BEGIN IMMEDIATE").during("writing the index")
    }

    /// Ends the transaction.
    ///
    /// # Errors
    /// When the database says no; nothing of the transaction stays.
    pub fn commit(&self) -> Result<()> {
        let frontier = self.tree.borrow().to_bytes();
        self.db
            .prepare_cached("INSERT INTO tree VALUES (1, ?1) ON CONFLICT DO UPDATE SET frontier = ?1")
            .and_then(|mut set| set.execute([frontier]))
            .and_then(|_| self.db.execute_batch("COMMIT"))
            .during("writing the index")
            .inspect_err(|_| self.abandon())
    }

    /// Drops what the open transaction has done, if one is open.
    pub fn abandon(&self) {
        if !self.db.is_autocommit()
            && let Err(error) = self.db.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "the index's transaction cannot be rolled back");
        }
        if let Err(error) = self.reload_tree() {
            tracing::error!(%error, "the index's tree cannot be read back");
        }
    }

    /// Notes up to where the executors' view is written, inside the transaction.
    ///
    /// # Errors
    /// When the database says no.
    pub fn set_view_end(&self, day: Day, bytes: u64) -> Result<()> {
        self.db
            .prepare_cached("INSERT INTO view VALUES (1, ?1, ?2) ON CONFLICT DO UPDATE SET day = ?1, bytes = ?2")
            .and_then(|mut set| set.execute(params![day.0, signed(bytes)]))
            .during("writing the view's end")?;
        Ok(())
    }

    /// Adds one event, inside the transaction.
    ///
    /// # Errors
    /// When the database says no, an event of that number being there already included.
    pub fn apply(&self, placed: &Placed) -> Result<()> {
        let row = row_of(placed);
        self.insert(&row).during("writing the index")?;
        self.tree.borrow_mut().push(&row.hash);
        self.project(placed).during("writing the index")
    }

    fn insert(&self, row: &IndexRow) -> rusqlite::Result<()> {
        let sql = format!("INSERT INTO events ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
        self.db.prepare_cached(&sql)?.execute(params![
            signed(row.seq),
            row.hash.0,
            row.place.day.0,
            signed(row.place.offset),
            signed(row.place.bytes),
            signed(row.ts_ms),
            row.kind.map(EventType::name),
            row.turn.map(TurnId::to_bytes),
            row.call.map(CallId::to_bytes),
            row.payload.0,
        ])?;
        Ok(())
    }
}
