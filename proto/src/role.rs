//! Who there is, and in which order they may ask.
//!
//! Asks go uphill only: from a smaller rank to a larger one. So no cycle of waiting
//! can exist, whatever the daemons do (design: architecture §2).

use postcard_schema::Schema;
use serde::{Deserialize, Serialize};

/// A process that may hold an end of a channel.
pub trait Role: 'static {
    /// Its name as a value.
    const NAME: RoleName;
    /// Its rank: whom it may ask stands above it.
    const RANK: i8 = Self::NAME.rank();
}

macro_rules! roles {
    ($($(#[$doc:meta])* $name:ident = $rank:literal, $text:literal;)*) => {
        /// Every role, as a value.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Schema)]
        pub enum RoleName {
            $($(#[$doc])* $name,)*
        }

        impl RoleName {
            /// All of them, in order of rank.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name people and files use.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The rank (design: architecture §2).
            #[must_use]
            pub const fn rank(self) -> i8 {
                match self { $(Self::$name => $rank,)* }
            }

            /// The role of this name, if there is one.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|role| role.text() == text)
            }
        }

        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub enum $name {}

            impl Role for $name {
                const NAME: RoleName = RoleName::$name;
            }
        )*
    };
}

roles! {
    /// `metnosctl`, the owner's hand: comes and goes, and is handed its ends by the supervisor.
    Ctl = -1, "metnosctl";
    /// The door.
    Gatewayd = 0, "gatewayd";
    /// The planner: presumed hijacked.
    Planner = 1, "planner";
    /// Proposes growth.
    Syntd = 1, "syntd";
    /// Decides.
    Policyd = 2, "policyd";
    /// Executes.
    Sandboxd = 3, "sandboxd";
    /// Speaks to language models.
    Mind = 4, "mind";
    /// Remembers.
    Memoryd = 5, "memoryd";
}

impl RoleName {
    /// The daemons: every role but `metnosctl`.
    pub fn daemons() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|role| *role != Self::Ctl)
    }
}

impl std::fmt::Display for RoleName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}
