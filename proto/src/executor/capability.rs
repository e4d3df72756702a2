//! What an executor can be granted, by kind.

use serde::{Deserialize, Serialize};

/// One granted capability, written `{ fs_read = ["workspace/"] }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Reading below these folders.
    FsRead(Vec<String>),
    /// Writing below these folders.
    FsWrite(Vec<String>),
    /// Connecting to these hosts, `host` or `host:port`.
    Net(Vec<String>),
    /// Running these programs, by absolute path; [`ALL_LISTED`](super::commands::ALL_LISTED) for all that the owner lists.
    Exec(Vec<String>),
    /// Receiving these named secrets.
    Secret(Vec<String>),
}

impl Capability {
    /// The name used in manifests.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::FsRead(_) => "fs_read",
            Self::FsWrite(_) => "fs_write",
            Self::Net(_) => "net",
            Self::Exec(_) => "exec",
            Self::Secret(_) => "secret",
        }
    }

    /// What is granted.
    #[must_use]
    pub fn entries(&self) -> &[String] {
        match self {
            Self::FsRead(entries)
            | Self::FsWrite(entries)
            | Self::Net(entries)
            | Self::Exec(entries)
            | Self::Secret(entries) => entries,
        }
    }
}
