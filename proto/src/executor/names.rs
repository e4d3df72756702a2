//! The closed vocabularies of a manifest: classes of effects and roles of arguments (design:
//! policy §7). A name that is not listed here is an error wherever it stands.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Declares an enumeration whose variants have fixed names.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name used in manifests.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|one| one.name() == text).ok_or(())
            }
        }
    };
}

named! {
    /// What an executor does to the world.
    #[derive(Default)]
    Class {
        /// Looks at what is here.
        Read = "read",
        /// Looks at what is on the net.
        NetRead = "net_read",
        /// Makes something new of the owner's own.
        SelfCreate = "self_create",
        /// Changes something of the owner's own.
        SelfModify = "self_modify",
        /// Removes something.
        Destroy = "destroy",
        /// Sends a message to a person.
        #[default]
        Send = "send",
        /// Gives a person access to something.
        Share = "share",
        /// Gives everybody access to something.
        Publish = "publish",
        /// Changes who may do what.
        Acl = "acl",
        /// Moves money.
        Money = "money",
        /// Changes an account.
        Account = "account",
        /// Books something.
        Book = "book",
        /// Runs a command.
        Shell = "shell",
        /// Makes something happen later.
        Schedule = "schedule",
        /// Confirms something with a code.
        Confirm = "confirm",
    }
}

named! {
    /// What an argument is to the call.
    #[derive(Default)]
    Role {
        /// Where something goes.
        Dest = "dest",
        /// What is passed on.
        #[default]
        Payload = "payload",
        /// Which things are meant.
        Selector = "selector",
        /// How much.
        Amount = "amount",
        /// When.
        Time = "time",
        /// A secret.
        Secret = "secret",
        /// A person or a thing.
        Entity = "entity",
        /// A web address.
        Url = "url",
        /// A path in the file system.
        Path = "path",
        /// What is searched for.
        Query = "query",
        /// A command's arguments.
        Argv = "argv",
        /// A switch.
        Flag = "flag",
    }
}
