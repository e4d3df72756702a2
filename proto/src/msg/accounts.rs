//! Accounts that persons have elsewhere: what the owner says about them at the machine. A password never stands in a word: it
//! comes sealed beside it, and nothing that goes back holds one.

use crate::words;

/// The most accounts of one person.
pub const MAX_ACCOUNTS: usize = 16;
/// The longest user name of an account, in bytes.
pub const MAX_USER: usize = 254;
/// The port of a server that takes mail to be sent where none is said: submission over TLS (RFC 8314 §3.3).
pub const SMTP_PORT: u16 = 465;
/// The longest list of devices, in bytes, and the most of them.
pub const MAX_DEVICES: (usize, usize) = (4_096, 200);
/// The name of an account where none is said.
pub const MAIN: &str = "main";
/// Whose a search server is: the owner connects it once, and each person of the household searches there. No person is called so.
pub const HOUSEHOLD: &str = "household";
/// The user name, and the password, of a search server that wants no login.
pub const NO_LOGIN: &str = "none";

words! {
    /// What an account is for.
    #[derive(Copy, PartialOrd, Ord, Hash)]
    pub enum AccountKind {
        /// A mailbox, by IMAP.
        Mail,
        /// Calendars, by CalDAV.
        Calendar,
        /// The devices of the house, by the REST API of Home Assistant.
        Home,
        /// What is on the web, by the search API of SearXNG. It is the household's: see [`HOUSEHOLD`].
        Search,
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
        /// The devices that may be looked at and switched, as [`is_devices`] has them. For [`AccountKind::Home`] alone.
        pub devices: String,
    }
}

impl AccountKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mail, Self::Calendar, Self::Home, Self::Search];

    /// The name in manifests, commands and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Calendar => "calendar",
            Self::Home => "home",
            Self::Search => "search",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The port of such servers where none is said: that of IMAP over TLS (RFC 8314 §3.2), that of HTTPS, that of Home Assistant, and again that of HTTPS.
    #[must_use]
    pub const fn port(self) -> u16 {
        match self {
            Self::Mail => 993,
            Self::Calendar | Self::Search => 443,
            Self::Home => 8123,
        }
    }
}

/// Whether this is a list of devices: names such as `light.kitchen`, or `light.*` for all of a kind, with commas between.
#[must_use]
pub fn is_devices(text: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let is_device = |one: &str| {
        one.trim_matches(' ')
            .split_once('.')
            .is_some_and(|(kind, name)| is_plain(kind) && (name == "*" || is_plain(name)))
    };
    text.len() <= MAX_DEVICES.0 && text.split(',').count() <= MAX_DEVICES.1 && text.split(',').all(is_device)
}

#[cfg(test)]
mod tests {
    use super::is_devices;

    #[test]
    fn devices_are_names_or_all_of_a_kind() {
        for right in ["light.kitchen", "light.*", "light.*, cover.blinds_2,scene.evening"] {
            assert!(is_devices(right), "{right}");
        }
        for wrong in [
            "",
            "*",
            "light",
            "light.",
            "*.kitchen",
            "light.kit*",
            "light.a,,light.b",
            "light.a;light.b",
            "Light.a",
            "light.a\n",
        ] {
            assert!(!is_devices(wrong), "{wrong:?}");
        }
    }
}
