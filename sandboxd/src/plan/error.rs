//! Why no plan can be made, in sentences that say what to do.

use super::MAX_MOUNTS;

/// Why no plan can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The manifest asks for something that this version cannot grant.
    #[error("the capability `{0}` cannot be granted by this version of Metnos")]
    Unsupported(String),
    /// A mount of something closed.
    #[error("a sandbox may not show `{path}`: {why}")]
    Forbidden {
        /// The path.
        path: String,
        /// Why it is closed.
        why: String,
    },
    /// A mount that could be used for more than it is for.
    #[error("the mount `{path}` {what}")]
    BadMount {
        /// Its place in the sandbox.
        path: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An executor with network trusts authorities, and there are none.
    #[error(
        "an executor with network needs certificate authorities; install ca-certificates, or set `net.ca_bundle` in metnos.toml, and restart sandboxd"
    )]
    NoCertificates,
    /// A folder outside the workspace that the owner has not listed.
    #[error(
        "the folder {0} lies in none that sandbox.{1} of metnos.toml lists; only the owner can list it, and restart Metnos"
    )]
    Unlisted(String, &'static str),
    /// A program that the owner has not listed.
    #[error(
        "the program {0} is not one that sandbox.commands of metnos.toml lists; only the owner can list it, and restart Metnos"
    )]
    UnlistedProgram(String),
    /// A program that is listed, and cannot be shown.
    #[error("the program {0} is listed and cannot be shown: {1}")]
    NoProgram(String, String),
    /// Too many mounts.
    #[error("a sandbox has at most {MAX_MOUNTS} mounts")]
    TooManyMounts,
    /// A limit of zero, or above what any manifest may ask.
    #[error("the limit `{0}` is out of range")]
    BadLimit(&'static str),
}
