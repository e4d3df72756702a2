//! Accounts that persons have elsewhere: what the owner says about them at the machine. A password never stands in a word: it
//! comes sealed beside it, and nothing that goes back holds one.

use crate::words;

/// The most accounts of one person.
pub const MAX_ACCOUNTS: usize = 16;
/// The longest user name of an account, in bytes.
pub const MAX_USER: usize = 254;
/// The port of a server that takes mail to be sent where none is said: submission over TLS (RFC 8314 §3.3).
pub const SMTP_PORT: u16 = 465;
/// The name of an account where none is said.
pub const MAIN: &str = "main";

words! {
    /// What an account is for.
    #[derive(Copy, PartialOrd, Ord, Hash)]
    pub enum AccountKind {
        /// A mailbox, by IMAP.
        Mail,
        /// Calendars, by CalDAV.
        Calendar,
    }

    /// The owner manages accounts. A document comes beside the answer, as JSON.
    pub enum AccountAsk {
        /// List those of everybody.
        List,
        /// Remove this one, with its password.
        Remove(AccountOf),
    }

    /// One account of one person.
    pub struct AccountOf {
        /// Whose; empty for the owner who asks.
        pub person: String,
        /// What it is for.
        pub kind: AccountKind,
        /// What it is called among those of this person and kind; empty for [`MAIN`].
        pub name: String,
    }

    /// An account, with its password beside it: new, or in the place of the one of that name.
    pub struct AccountPut {
        /// Which.
        pub of: AccountOf,
        /// Its server, by name.
        pub host: String,
        /// The port; 0 for [`AccountKind::port`].
        pub port: u16,
        /// The user name there.
        pub user: String,
        /// The server that takes mail to be sent, by name; empty where none is used. For [`AccountKind::Mail`] alone.
        pub smtp_host: String,
        /// Its port; 0 for [`SMTP_PORT`].
        pub smtp_port: u16,
        /// The address that mail is sent from; empty where the user name is one.
        pub address: String,
    }
}

impl AccountKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Mail, Self::Calendar];

    /// The name in manifests, commands and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Calendar => "calendar",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The port of such servers where none is said: that of IMAP over TLS (RFC 8314 §3.2), and that of HTTPS.
    #[must_use]
    pub const fn port(self) -> u16 {
        match self {
            Self::Mail => 993,
            Self::Calendar => 443,
        }
    }
}
