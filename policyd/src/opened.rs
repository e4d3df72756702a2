//! `policy.sqlite` as it is opened before the lock: brought to the form of this version, compared with the key of the
//! instance, and read. Each part of policyd takes over what is its own.

use std::path::Path;

use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId};
use rusqlite::{Connection, OptionalExtension};

use crate::budget::count::Used;
use crate::budget::daily::Daily;
use crate::calls::carried;
use crate::chronicle::heads::{self, Last};
use crate::executors::{self, archive, failure_limit, origins, switches};
use crate::key::{self, SecretBytes as VaultKey};
use crate::store::cards::{self, Words};
use crate::store::{FORM, ReportedState, Row, RowState, STORE_FILE, Store, StoreError};
use crate::vaglio::constitution::Constitution;
use crate::vaglio::{self, Vaglio};
use crate::vault::accounts::Accounts;
use crate::vault::{self, Vault};
use crate::{budget, people, undo};

/// What each form has brought, oldest first: the first entry makes form 2 out of form 1.
const STEPS: [&str; 9] = [
    cards::FIRST_TABLE,
    undo::store::TABLE,
    cards::TABLES,
    cards::TRACE_COLUMN,
    archive::FOR_EVER,
    undo::store::THINGS_COLUMN,
    vault::accounts::SENDING_COLUMNS,
    vault::accounts::DEVICES_COLUMN,
    cards::MATTER_COLUMN,
];
const _: () = assert!(STEPS.len() as i64 == FORM - 1, "every form has its step");

/// What was in the database when it was opened, by the part of policyd that it belongs to.
#[derive(Debug)]
pub struct StoredState {
    /// The executors.
    pub executors: executors::StoredExecutors,
    /// The cards, stored words and codes.
    pub words: Words,
    /// The head of the chronicle that was signed last.
    pub last_anchor: Option<Last>,
    pub(crate) people: people::StoredPeople,
    pub(crate) proposals: (Constitution, Vaglio),
    pub(crate) budgets: (Used, Daily),
    pub(crate) vault: (Vault, Accounts),
}

impl StoredState {
    /// Makes the tables where they are missing, and reads what is in them.
    fn load(connection: &Connection, vault_key: &VaultKey) -> Result<Self, StoreError> {
        for tables in [vaglio::TABLES, budget::TABLES, origins::TABLES, carried::TABLES] {
            connection.execute_batch(tables)?;
        }
        let vault = vault::load(connection, vault_key)?;
        Ok(Self {
            executors: executors::StoredExecutors {
                rows: rows(connection)?,
                origins: origins::load(connection)?,
                switches: switches::load(connection)?,
                strikes: failure_limit::load(connection)?,
            },
            words: cards::load(connection, &vault.0)?,
            last_anchor: heads::last(connection)?,
            people: people::StoredPeople::load(connection)?,
            proposals: (Constitution::load(connection)?, Vaglio::load(connection)?),
            budgets: (budget::load(connection)?, Daily::load(connection)?),
            vault,
        })
    }
}

/// The database, opened and checked, before its thread is started.
#[derive(Debug)]
pub struct Opened {
    /// Until the thread has it.
    connection: Option<Connection>,
    /// What was in it.
    pub kept: StoredState,
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
        let kept = StoredState::load(&connection, &key::kept(folder, vault::KEY_FILE)?)?;
        Ok(Self { connection: Some(connection), kept })
    }

    /// Starts the thread that holds the database. Call it where new threads inherit the rest of the lock.
    ///
    /// # Errors
    /// [`StoreError::Gone`] when there is no thread to be had, or it was started before.
    pub fn start(&mut self) -> Result<Store, StoreError> {
        Store::start(self.connection.take().ok_or(StoreError::Gone)?)
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

/// Every executor in it.
fn rows(connection: &Connection) -> Result<Vec<Row>, StoreError> {
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
            let states = (RowState::parse(&row.get::<_, String>(9)?), ReportedState::parse(&row.get::<_, String>(13)?));
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
        assert_eq!(rows, [Row { state: RowState::Active, since_ms: 5, told: ReportedState::Born, ..row("a") }]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn quarantine_is_never_left() {
        let folder = tempfile::tempdir().unwrap();
        let store = Opened::open(folder.path(), &KEY).unwrap().start().unwrap();
        store.signed(row("a")).await.unwrap();
        store.quarantined(row("a").id, "a bit flipped".into(), 5).await.unwrap();
        store.born(row("a").id, 6).await.unwrap();
        store.quarantined(row("a").id, "later".into(), 7).await.unwrap();
        store.set_reported(row("a").id, ReportedState::Lost).await.unwrap();
        drop(store);
        let rows = reopened(folder.path());
        assert_eq!(
            (rows[0].state, rows[0].why.as_str(), rows[0].since_ms),
            (RowState::Quarantined, "a bit flipped", 5)
        );
        assert_eq!(rows[0].told, ReportedState::Lost);
    }

    #[test]
    fn a_registry_of_another_key_or_form_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        drop(Opened::open(folder.path(), &KEY).unwrap());
        assert!(matches!(Opened::open(folder.path(), &[2; 32]), Err(StoreError::OtherKey)));
        Connection::open(folder.path().join(STORE_FILE)).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
        assert!(matches!(Opened::open(folder.path(), &KEY), Err(StoreError::Form(99))));
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
                Ok(opened) => return opened.kept.executors.rows,
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
