//! `policy.sqlite`: which executors were signed and what became of them, and the cards. One thread of its
//! own holds the connection; everybody else sends it a word and waits. It never forgets a
//! quarantine, and never holds the key.

pub mod cards;

use std::path::Path;

use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId, Refusal, RefusalCode};
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::{mpsc, oneshot};

use crate::chronicle::heads::{self, Last};
use crate::executors::archive;
use crate::executors::failure_limit::{self, FailureLimit};
use crate::executors::switches::{self, Switches};
use crate::house::House;
use crate::key;
use crate::{undo, vault};

/// The database's file, in policyd's own folder.
pub const STORE_FILE: &str = "policy.sqlite";
/// The form of the database this version writes.
const FORM: i64 = 6;
/// What each form has brought, oldest first: the first entry makes form 2 out of form 1.
const STEPS: [&str; 5] =
    [cards::FIRST_TABLE, undo::store::TABLE, cards::TABLES, cards::TRACE_COLUMN, archive::FOR_EVER];
const _: () = assert!(STEPS.len() as i64 == FORM - 1, "every form has its step");
/// The most words waiting for the thread.
const MAX_WAITING: usize = 64;

/// Why the registry cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database said no.
    #[error("policy.sqlite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// It was written by another version.
    #[error("policy.sqlite has the form {0}, this version reads form {FORM}: start the Metnos that wrote it")]
    Form(i64),
    /// It belongs to another key.
    #[error(
        "policy.sqlite belongs to an instance with another key: restore instance.key and policy.sqlite from the same backup"
    )]
    OtherKey,
    /// A row cannot be read.
    #[error("policy.sqlite: the row of {0} is damaged: restore it from a backup")]
    Damaged(String),
    /// The vault has no key.
    #[error(transparent)]
    Key(#[from] key::KeyError),
    /// The thread has ended.
    #[error("the registry's thread has ended")]
    Gone,
}

/// Where an executor stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowState {
    /// Signed; its birth is not finished.
    Signed,
    /// Callable, as long as its files are what was signed.
    Active,
    /// Not callable.
    Quarantined,
    /// Put away by the owner.
    Archived {
        /// Out of quarantine, to which alone it comes back.
        from_quarantine: bool,
    },
    /// Disowned: no other state ever follows.
    Revoked,
}

impl RowState {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Signed => "signed",
            Self::Active => "active",
            Self::Quarantined => "quarantined",
            Self::Archived { from_quarantine: false } => "archived",
            Self::Archived { from_quarantine: true } => "archived_quarantined",
            Self::Revoked => "revoked",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let archived = [true, false].map(|from_quarantine| Self::Archived { from_quarantine });
        let all = [Self::Signed, Self::Active, Self::Quarantined, Self::Revoked].into_iter().chain(archived);
        all.into_iter().find(|state| state.name() == text)
    }

    /// Whether it is signed, and nothing was found or said against it.
    #[must_use]
    pub const fn is_good(self) -> bool {
        match self {
            Self::Signed | Self::Active => true,
            Self::Quarantined | Self::Archived { .. } | Self::Revoked => false,
        }
    }
}

/// What memoryd was last told about an executor, durably.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Nothing.
    Nothing,
    /// That it was born.
    Born,
    /// That it is lost.
    Lost,
}

impl Told {
    const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Born => "born",
            Self::Lost => "lost",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Nothing, Self::Born, Self::Lost].into_iter().find(|told| told.name() == text)
    }
}

/// An executor as the registry holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Name and version.
    pub id: ExecutorId,
    /// What was signed.
    pub digests: ExecutorDigests,
    /// The signature, 64 bytes.
    pub signature: Vec<u8>,
    /// The text of `manifest.toml`, as signed.
    pub manifest: String,
    /// The text of `schema.json`, as signed.
    pub schema: String,
    /// Where it stands.
    pub state: RowState,
    /// Why, when it is not active.
    pub why: String,
    /// Since when, in milliseconds since the epoch.
    pub since_ms: u64,
    /// When it was signed, in milliseconds since the epoch.
    pub born_ms: u64,
    /// What memoryd knows of it.
    pub told: Told,
}

/// What cannot be made durable does not count.
pub(crate) fn not_durable(error: &StoreError) -> Refusal {
    full_or(error, "policyd.store", format!("it could not be made durable: {error}"))
}

/// The refusal for what could not be kept: when the disk is full or can only be read, that is what is said, and else `rule`.
pub(crate) fn full_or(error: &StoreError, rule: &str, why: String) -> Refusal {
    use rusqlite::ErrorCode;
    let code = match error {
        StoreError::Sqlite(error) => error.sqlite_error_code(),
        StoreError::Form(_) | StoreError::OtherKey | StoreError::Damaged(_) | StoreError::Key(_) | StoreError::Gone => {
            None
        }
    };
    let refusal = |rule: &str| Refusal::new(RefusalCode::Unavailable, rule, why);
    match code {
        Some(ErrorCode::DiskFull) => refusal("policy.disk_full").remedy(
            "free some space on the disk of the instance (`metnosctl status` says how much); nothing else need be done",
        ),
        Some(ErrorCode::ReadOnly) => refusal("policy.read_only")
            .remedy("find out why (`dmesg`), and have the disk mounted for writing again; nothing else need be done"),
        _ => refusal(rule).remedy("look at the disk, then try again"),
    }
}

/// A number as SQLite holds it.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number as SQLite holds it, read back; what is negative is 0.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

type Work = Box<dyn FnOnce(&mut Connection) + Send>;

/// The way to the thread that holds the database.
#[derive(Debug, Clone)]
pub struct Store {
    work: mpsc::Sender<Work>,
}

/// The database, opened and checked, before its thread is started.
#[derive(Debug)]
pub struct Opened {
    /// Until the thread has it.
    connection: Option<Connection>,
    /// Every executor in it, by name and version.
    pub rows: Vec<Row>,
    /// The cards, stored words and codes in it.
    pub words: cards::Words,
    /// Every switch that is thrown.
    pub switches: Switches,
    /// The strikes of every executor.
    pub strikes: FailureLimit,
    /// The head of the chronicle that was signed last.
    pub last_anchor: Option<Last>,
    /// What else policyd keeps.
    pub house: House,
}

impl Opened {
    /// Opens the database in `folder`, or makes it, for the instance with this public key.
    ///
    /// # Errors
    /// When it cannot be read, or belongs to another key or version.
    pub fn open(folder: &Path, public_key: &[u8; 32]) -> Result<Self, StoreError> {
        let connection = Connection::open(folder.join(STORE_FILE))?;
        // Exclusive: no shared-memory file, nobody else reads; full: a row is durable when it is said to be.
        connection.execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA secure_delete = ON;",
        )?;
        prepare(&connection, public_key)?;
        heads::prepare(&connection)?;
        let rows = load(&connection)?;
        let words = cards::load(&connection)?;
        let (switches, strikes) = (switches::load(&connection)?, failure_limit::load(&connection)?);
        let last_anchor = heads::last(&connection)?;
        let house = House::load(&connection, &key::kept(folder, vault::KEY_FILE)?)?;
        Ok(Self { connection: Some(connection), rows, words, switches, strikes, last_anchor, house })
    }

    /// Starts the thread, and waits until it runs: what a thread needs to begin, a filter that comes
    /// afterwards may forbid. Call it where new threads inherit the rest of the lock.
    ///
    /// # Errors
    /// [`StoreError::Gone`] when there is no thread to be had, or it was started before.
    pub fn start(&mut self) -> Result<Store, StoreError> {
        let (work, mut waiting) = mpsc::channel::<Work>(MAX_WAITING);
        let (begun, beginning) = std::sync::mpsc::sync_channel::<()>(1);
        let mut connection = self.connection.take().ok_or(StoreError::Gone)?;
        let thread = std::thread::Builder::new().name("registry".to_owned()).spawn(move || {
            let _ = begun.send(());
            while let Some(task) = waiting.blocking_recv() {
                task(&mut connection);
            }
        });
        thread.map_err(|_| StoreError::Gone)?;
        beginning.recv().map_err(|_| StoreError::Gone)?;
        Ok(Store { work })
    }
}

fn prepare(connection: &Connection, public_key: &[u8; 32]) -> Result<(), StoreError> {
    let form: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    match form {
        0 => connection.execute_batch(&format!(
            "BEGIN IMMEDIATE;
             CREATE TABLE instance (public_key BLOB NOT NULL) STRICT;
             CREATE TABLE executors (
                 name TEXT NOT NULL, version TEXT NOT NULL,
                 manifest_digest BLOB NOT NULL, code_digest BLOB NOT NULL,
                 schema_digest BLOB NOT NULL, profile_digest BLOB NOT NULL,
                 signature BLOB NOT NULL, manifest TEXT NOT NULL, schema TEXT NOT NULL,
                 state TEXT NOT NULL, why TEXT NOT NULL, since_ms INTEGER NOT NULL,
                 born_ms INTEGER NOT NULL, told TEXT NOT NULL,
                 PRIMARY KEY (name, version)
             ) STRICT;
             {steps}
             PRAGMA user_version = {FORM};
             COMMIT;",
            steps = STEPS.concat()
        ))?,
        1..FORM => {
            let steps = STEPS.get(usize::try_from(form - 1).unwrap_or(usize::MAX)..).unwrap_or_default().concat();
            connection.execute_batch(&format!("BEGIN IMMEDIATE; {steps} PRAGMA user_version = {FORM}; COMMIT;"))?;
        }
        FORM => {}
        other => return Err(StoreError::Form(other)),
    }
    undo::store::settle(connection)?;
    connection.execute_batch(switches::TABLE)?;
    connection.execute_batch(failure_limit::TABLE)?;
    let owner: Option<Vec<u8>> =
        connection.query_row("SELECT public_key FROM instance", [], |row| row.get(0)).optional()?;
    match owner {
        None => {
            connection.execute("INSERT INTO instance (public_key) VALUES (?1)", [public_key.as_slice()])?;
            Ok(())
        }
        Some(key) if key == public_key => Ok(()),
        Some(_) => Err(StoreError::OtherKey),
    }
}

fn load(connection: &Connection) -> Result<Vec<Row>, StoreError> {
    let mut statement = connection.prepare(
        "SELECT name, version, manifest_digest, code_digest, schema_digest, profile_digest, signature,
                manifest, schema, state, why, since_ms, born_ms, told FROM executors ORDER BY name, version",
    )?;
    let rows = statement.query_map([], |row| {
        let id = ExecutorId { name: row.get(0)?, version: row.get(1)? };
        let read = || -> rusqlite::Result<Option<Row>> {
            let digest = |at: usize| -> rusqlite::Result<Option<Blake3>> {
                Ok(<[u8; 32]>::try_from(row.get::<_, Vec<u8>>(at)?).ok().map(Blake3))
            };
            let (Some(manifest), Some(code), Some(schema), Some(profile)) =
                (digest(2)?, digest(3)?, digest(4)?, digest(5)?)
            else {
                return Ok(None);
            };
            let states = (RowState::parse(&row.get::<_, String>(9)?), Told::parse(&row.get::<_, String>(13)?));
            let times = (u64::try_from(row.get::<_, i64>(11)?), u64::try_from(row.get::<_, i64>(12)?));
            let ((Some(state), Some(told)), (Ok(since_ms), Ok(born_ms))) = (states, times) else { return Ok(None) };
            Ok(Some(Row {
                id: id.clone(),
                digests: ExecutorDigests { manifest, code, schema, profile },
                signature: row.get(6)?,
                manifest: row.get(7)?,
                schema: row.get(8)?,
                state,
                why: row.get(10)?,
                since_ms,
                born_ms,
                told,
            }))
        };
        Ok(read()?.ok_or_else(|| StoreError::Damaged(id.to_string())))
    })?;
    rows.map(|row| row?).collect()
}

impl Store {
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Connection) -> Result<T, rusqlite::Error> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let work: Work = Box::new(move |connection| {
            // Nobody waits any more for an answer that nobody wants.
            let _ = answer.send(task(connection));
        });
        self.work.send(work).await.map_err(|_| StoreError::Gone)?;
        Ok(answered.await.map_err(|_| StoreError::Gone)??)
    }

    /// Records an executor as signed, before anybody learns the signature. What was signed before, or
    /// stands in quarantine, is not replaced.
    ///
    /// # Errors
    /// When the row could not be made durable.
    pub async fn signed(&self, row: Row) -> Result<(), StoreError> {
        self.run(move |connection| {
            connection
                .execute(
                    "INSERT INTO executors VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
                    params![
                        row.id.name,
                        row.id.version,
                        row.digests.manifest.0.as_slice(),
                        row.digests.code.0.as_slice(),
                        row.digests.schema.0.as_slice(),
                        row.digests.profile.0.as_slice(),
                        row.signature,
                        row.manifest,
                        row.schema,
                        row.state.name(),
                        row.why,
                        i64::try_from(row.since_ms).unwrap_or(i64::MAX),
                        i64::try_from(row.born_ms).unwrap_or(i64::MAX),
                        row.told.name(),
                    ],
                )
                .map(|_| ())
        })
        .await
    }

    /// Records that an executor is active, and that memoryd knows. Quarantine is not left by this.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn born(&self, id: ExecutorId, now_ms: u64) -> Result<(), StoreError> {
        self.run(move |connection| {
            connection
                .execute(
                    "UPDATE executors SET state = 'active', why = '', since_ms = ?3, told = 'born'
                     WHERE name = ?1 AND version = ?2 AND state = 'signed'",
                    params![id.name, id.version, i64::try_from(now_ms).unwrap_or(i64::MAX)],
                )
                .map(|_| ())
        })
        .await
    }

    /// Records that an executor is in quarantine, for good. An earlier reason stays.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn quarantined(&self, id: ExecutorId, why: String, now_ms: u64) -> Result<(), StoreError> {
        self.run(move |connection| {
            connection
                .execute(
                    "UPDATE executors SET state = 'quarantined', why = ?3, since_ms = ?4
                     WHERE name = ?1 AND version = ?2 AND state IN ('signed', 'active')",
                    params![id.name, id.version, why, i64::try_from(now_ms).unwrap_or(i64::MAX)],
                )
                .map(|_| ())
        })
        .await
    }

    /// Records what memoryd has made durable about an executor.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn set_told(&self, id: ExecutorId, told: Told) -> Result<(), StoreError> {
        self.run(move |connection| {
            connection
                .execute(
                    "UPDATE executors SET told = ?3 WHERE name = ?1 AND version = ?2",
                    params![id.name, id.version, told.name()],
                )
                .map(|_| ())
        })
        .await
    }
}

#[cfg(test)]
impl Row {
    /// A signed row about which nothing matters but its name.
    pub(crate) fn for_tests(id: ExecutorId) -> Self {
        let zero = Blake3([0; 32]);
        Self {
            id,
            digests: ExecutorDigests { manifest: zero, code: zero, schema: zero, profile: zero },
            signature: vec![7; 64],
            manifest: "manifest".into(),
            schema: "schema".into(),
            state: RowState::Signed,
            why: String::new(),
            since_ms: 1,
            born_ms: 1,
            told: Told::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [1; 32];

    fn row(name: &str) -> Row {
        Row::for_tests(ExecutorId { name: name.into(), version: "1.0.0".into() })
    }

    #[tokio::test(flavor = "current_thread")]
    async fn stored_records_survive_restart() {
        let folder = tempfile::tempdir().unwrap();
        let store = Opened::open(folder.path(), &KEY).unwrap().start().unwrap();
        store.signed(row("a")).await.unwrap();
        assert!(store.signed(row("a")).await.is_err(), "nothing is signed over");
        store.born(row("a").id, 5).await.unwrap();
        drop(store);
        let rows = reopened(folder.path());
        assert_eq!(rows, [Row { state: RowState::Active, since_ms: 5, told: Told::Born, ..row("a") }]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn quarantine_is_never_left() {
        let folder = tempfile::tempdir().unwrap();
        let store = Opened::open(folder.path(), &KEY).unwrap().start().unwrap();
        store.signed(row("a")).await.unwrap();
        store.quarantined(row("a").id, "a bit flipped".into(), 5).await.unwrap();
        store.born(row("a").id, 6).await.unwrap();
        store.quarantined(row("a").id, "later".into(), 7).await.unwrap();
        store.set_told(row("a").id, Told::Lost).await.unwrap();
        drop(store);
        let rows = reopened(folder.path());
        assert_eq!(
            (rows[0].state, rows[0].why.as_str(), rows[0].since_ms),
            (RowState::Quarantined, "a bit flipped", 5)
        );
        assert_eq!(rows[0].told, Told::Lost);
    }

    #[test]
    fn a_registry_of_another_key_or_form_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        drop(Opened::open(folder.path(), &KEY).unwrap());
        assert!(matches!(Opened::open(folder.path(), &[2; 32]), Err(StoreError::OtherKey)));
        Connection::open(folder.path().join(STORE_FILE)).unwrap().execute_batch("PRAGMA user_version = 9").unwrap();
        assert!(matches!(Opened::open(folder.path(), &KEY), Err(StoreError::Form(9))));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_damaged_row_stops_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let store = Opened::open(folder.path(), &KEY).unwrap().start().unwrap();
        store.signed(row("a")).await.unwrap();
        drop(store);
        reopened(folder.path());
        let direct = Connection::open(folder.path().join(STORE_FILE)).unwrap();
        direct.execute("UPDATE executors SET code_digest = x'00'", []).unwrap();
        drop(direct);
        assert!(matches!(Opened::open(folder.path(), &KEY), Err(StoreError::Damaged(_))));
    }

    /// The rows, once the thread has let go of the file.
    fn reopened(folder: &Path) -> Vec<Row> {
        loop {
            match Opened::open(folder, &KEY) {
                Ok(opened) => return opened.rows,
                Err(StoreError::Sqlite(error))
                    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) =>
                {
                    std::thread::yield_now();
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}
