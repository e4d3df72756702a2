//! Everything that can keep a daemon from being locked, as sentences for a person;
//! never a panic, and never a value that a caller could take for success.

use std::path::PathBuf;

use crate::layers::Layer;

/// Why a daemon is not locked. Every one of them means: do not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JailError {
    /// No profile of that name is built in.
    #[error("there is no lock profile for '{0}'; roles with one: {list}", list = crate::profile::ROLES.join(", "))]
    UnknownRole(String),
    /// A profile that does not hold together. It is data of the release, so this is a bug of the release.
    #[error("the lock profile of {role} is wrong: {what}")]
    Profile {
        /// Whose profile.
        role: String,
        /// What is wrong in it, with the entry's name.
        what: String,
    },
    /// The process still runs as root.
    #[error(
        "{role} would run as root (one of its user ids is 0); start it through the supervisor, which gives each daemon its own uid, or as an ordinary user"
    )]
    Root {
        /// The role that was to be locked.
        role: String,
    },
    /// Threads exist that Landlock and the dropping of capabilities would not reach.
    #[error(
        "{role} has {threads} threads before its lock; capabilities and Landlock reach only one, so start the others between narrow() and seal()"
    )]
    Threads {
        /// The role that was to be locked.
        role: String,
        /// How many threads there are.
        threads: u32,
    },
    /// The daemon did not say where one of its profile's places is.
    #[error("the lock profile of {role} needs the place '{name}', which was not given")]
    MissingPlace {
        /// The role.
        role: String,
        /// The place's name in the profile.
        name: String,
    },
    /// The daemon gave a place that its profile does not know: it would be cut off from it.
    #[error("{role} names the place '{name}', which its lock profile does not grant")]
    ForeignPlace {
        /// The role.
        role: String,
        /// The name given.
        name: String,
    },
    /// A granted place cannot be opened.
    #[error("the place '{name}' ({path}) cannot be opened: {why}; create it before {role} starts")]
    Place {
        /// The role.
        role: String,
        /// The place's name.
        name: String,
        /// Where it should be.
        path: PathBuf,
        /// The kernel's reason.
        why: String,
    },
    /// A waiver that names no layer.
    #[error("'{0}' is no layer that can be waived; known: {list}", list = Layer::names().join(", "))]
    UnknownWaiver(String),
    /// Waivers that contradict each other.
    #[error(
        "no_new_privs can only be waived together with landlock and seccomp, which the kernel does not allow without it"
    )]
    WaiverAlone,
    /// The kernel lacks a layer, and nobody has waived it.
    #[error(
        "this kernel cannot apply {layer}: {why}; use a kernel that can, or waive it by name with waive = [\"{layer}\"] in the configuration"
    )]
    Lacking {
        /// The missing layer.
        layer: Layer,
        /// What the kernel answered.
        why: String,
    },
    /// A layer exists but could not be applied.
    #[error("{what} could not be applied: {why}")]
    Apply {
        /// The layer or setting.
        what: &'static str,
        /// The kernel's reason.
        why: String,
    },
    /// The kernel does not show what was asked of it.
    #[error("the lock does not hold: {what} should be {intended} and is {seen}")]
    Mismatch {
        /// Which part of the lock.
        what: &'static str,
        /// What was intended.
        intended: String,
        /// What the kernel shows.
        seen: String,
    },
    /// `/proc/self` cannot be read or is not what it should be.
    #[error("{path} cannot be used: {why}")]
    Proc {
        /// The file.
        path: &'static str,
        /// Why not.
        why: String,
    },
    /// The starter of this process is gone.
    #[error("the process that started this one is gone")]
    ParentGone,
}
