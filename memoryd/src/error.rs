//! What can go wrong in memoryd, and how it is reported; every error on the way to the disk stops the append.

use metnos_proto::msg::common::{Refusal, RefusalCode};

/// What to do when the disk is full.
pub const FREE_SPACE: &str =
    "free some space on the disk of the instance (`metnosctl status` says how much); nothing else need be done";

/// The result of whatever touches memory.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file said no.
    #[error("{what}: {source}")]
    Io {
        /// What was being done, and to which file.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A projection's database said no.
    #[error("{what}: {source}")]
    Sqlite {
        /// What was being done.
        what: &'static str,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// What is on the disk is not what was written.
    #[error("the chronicle was altered: {0}")]
    Altered(String),
    /// Encrypted data cannot be decrypted with the present keys.
    #[error("encrypted data cannot be decrypted: {0}")]
    Locked(String),
    /// The words do not fit.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The process is to end here, as if it had been killed. Tests only: see [`crate::faults`].
    #[error("killed at {0:?}")]
    Killed(crate::step::Step),
    /// A database of a version that this program does not know.
    #[error("{file} has version {found}, this program knows {known}")]
    Version {
        /// Which database.
        file: &'static str,
        /// What it says.
        found: i64,
        /// What is known.
        known: i64,
    },
}

impl Error {
    /// An error of a file.
    pub fn io(what: impl Into<String>, source: impl Into<std::io::Error>) -> Self {
        Self::Io { what: what.into(), source: source.into() }
    }

    /// Whether there is no room left: on the disk, or in what its user may have of it.
    #[must_use]
    pub fn is_full(&self) -> bool {
        use rustix::io::Errno;
        match self {
            Self::Io { source, .. } => {
                [Errno::NOSPC, Errno::DQUOT].iter().any(|errno| source.raw_os_error() == Some(errno.raw_os_error()))
            }
            Self::Sqlite { source, .. } => source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::Altered(_) | Self::Locked(_) | Self::Refused(_) | Self::Killed(_) | Self::Version { .. } => false,
        }
    }

    /// Whether the disk is mounted for reading only.
    fn is_read_only(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.raw_os_error() == Some(rustix::io::Errno::ROFS.raw_os_error()),
            Self::Sqlite { source, .. } => source.sqlite_error_code() == Some(rusqlite::ErrorCode::ReadOnly),
            Self::Altered(_) | Self::Locked(_) | Self::Refused(_) | Self::Killed(_) | Self::Version { .. } => false,
        }
    }

    /// The same as a refusal for the asker.
    #[must_use]
    pub fn to_refusal(&self) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal.clone(),
            _ if self.is_full() => {
                Refusal::new(RefusalCode::Unavailable, "chronicle.disk_full", format!("the disk is full, so nothing can be recorded: {self}"))
                    .remedy(FREE_SPACE)
            }
            _ if self.is_read_only() => {
                Refusal::new(RefusalCode::Unavailable, "chronicle.read_only", format!("the disk can only be read, so nothing can be recorded: {self}"))
                    .remedy("find out why (`dmesg`), and have it mounted for writing again; nothing else need be done")
            }
            Self::Io { .. } => {
                Refusal::new(RefusalCode::Unavailable, "chronicle.write", format!("nothing can be recorded: {self}"))
                    .remedy("look at the disk, then `metnosctl daemon restart memoryd`")
            }
            Self::Sqlite { .. } | Self::Version { .. } => {
                Refusal::new(RefusalCode::Unavailable, "memory.index", format!("memory cannot be read: {self}"))
                    .remedy("`metnosctl daemon restart memoryd` catches up; index.sqlite and mnest.sqlite can be moved away and are then rebuilt")
            }
            Self::Altered(_) => Refusal::new(RefusalCode::Unavailable, "chronicle.altered", format!("nothing is recorded: {self}"))
                .remedy("`metnosctl audit verify` shows where; restore .audit from a backup, or move .audit/index.sqlite away once the loss is understood"),
            Self::Locked(_) => Refusal::new(RefusalCode::Unavailable, "chronicle.locked", format!("memory cannot be read: {self}"))
                .remedy("restore .audit/keys and .policy/vault.key, both from the same backup"),
            Self::Killed(_) => Refusal::new(RefusalCode::Internal, "memory.killed", self.to_string()),
        }
    }
}

/// Names what was being done with a database.
pub trait During<T> {
    /// The same result, with the deed named.
    ///
    /// # Errors
    /// The same.
    fn during(self, what: &'static str) -> Result<T>;
}

impl<T> During<T> for rusqlite::Result<T> {
    fn during(self, what: &'static str) -> Result<T> {
        self.map_err(|source| Error::Sqlite { what, source })
    }
}
