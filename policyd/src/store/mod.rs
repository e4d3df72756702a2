//! `policy.sqlite`: which executors were signed and what became of them, and the cards. One thread of its
//! own holds the connection; everybody else sends it a word and waits. It never forgets a
//! quarantine, and never holds the key.

pub mod cards;

use metnos_proto::msg::common::{ExecutorDigests, ExecutorId, Refusal, RefusalCode};
use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

use crate::key;

/// The database's file, in policyd's own folder.
pub const STORE_FILE: &str = "policy.sqlite";
/// The form of the database this version writes.
pub(crate) const FORM: i64 = 10;
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

    pub(crate) fn parse(text: &str) -> Option<Self> {
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
pub enum ReportedState {
    /// Nothing.
    Nothing,
    /// That it was born.
    Born,
    /// That it is lost.
    Lost,
}

impl ReportedState {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Born => "born",
            Self::Lost => "lost",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
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
    pub told: ReportedState,
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

/// What the thread is given to do.
type Work = Box<dyn FnOnce(&mut Connection) + Send>;

/// The way to the thread that holds the database.
#[derive(Debug, Clone)]
pub struct Store {
    work: mpsc::Sender<Work>,
}

impl Store {
    /// Starts the thread, and waits until it runs: what a thread needs to begin, a filter that comes
    /// afterwards may forbid. Call it where new threads inherit the rest of the lock.
    ///
    /// # Errors
    /// [`StoreError::Gone`] when there is no thread to be had.
    pub(crate) fn start(mut connection: Connection) -> Result<Self, StoreError> {
        let (work, mut waiting) = mpsc::channel::<Work>(MAX_WAITING);
        let (begun, beginning) = std::sync::mpsc::sync_channel::<()>(1);
        let thread = std::thread::Builder::new().name("registry".to_owned()).spawn(move || {
            let _ = begun.send(());
            while let Some(task) = waiting.blocking_recv() {
                task(&mut connection);
            }
        });
        thread.map_err(|_| StoreError::Gone)?;
        beginning.recv().map_err(|_| StoreError::Gone)?;
        Ok(Self { work })
    }

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
    pub async fn set_reported(&self, id: ExecutorId, told: ReportedState) -> Result<(), StoreError> {
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
        let zero = metnos_proto::ids::Blake3([0; 32]);
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
            told: ReportedState::Nothing,
        }
    }
}
