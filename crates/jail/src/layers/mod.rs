//! The layers of the lock: their names, and one file for each that takes more than a call.

pub(crate) mod caps_drop;
pub(crate) mod fence;
pub(crate) mod filter;
pub(crate) mod limits;

use std::fmt;

/// One layer of the lock that can be named in a waiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Files, network and scopes by Landlock.
    Landlock,
    /// The allow-list of system calls.
    Seccomp,
    /// No gain of rights by `execve`.
    NoNewPrivs,
    /// Empty capability sets.
    Caps,
    /// No core dump, no attaching by processes of the same uid.
    Dumpable,
}

impl Layer {
    /// Every layer, in the order in which it is applied.
    pub const ALL: [Layer; 5] = [Layer::Caps, Layer::NoNewPrivs, Layer::Dumpable, Layer::Landlock, Layer::Seccomp];

    /// The name used in the configuration and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Layer::Landlock => "landlock",
            Layer::Seccomp => "seccomp",
            Layer::NoNewPrivs => "no_new_privs",
            Layer::Caps => "caps",
            Layer::Dumpable => "dumpable",
        }
    }

    /// All names, for messages.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        Layer::ALL.iter().map(|layer| layer.name()).collect()
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
