//! What a manifest may ask to be granted, read strictly: a grant that two readers could
//! understand differently is no grant.

mod quotas;

use super::commands;
use super::forbidden::{self, Places};
use super::{Capability, MAX_CAPABILITIES, ManifestError, Sandbox};
use crate::ids::Blake3;
use crate::msg::accounts::AccountKind;
pub use quotas::{Quotas, SYNTH};

/// A granted folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathGrant {
    /// Below the workspace; the part behind `workspace/`, without slashes at its ends.
    Workspace(String),
    /// Below the owner's home; the part behind `~/`.
    Home(String),
    /// By absolute path.
    Absolute(String),
}

impl PathGrant {
    /// Reads `workspace/…/`, `~/…/` or `/…/`: ending in a slash, no empty, `.` or `..` part.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let folder = text.strip_suffix('/')?;
        let plain = |rest: &str| {
            rest.len() <= 1024
                && !rest.chars().any(char::is_control)
                && rest.split('/').all(|part| !matches!(part, "" | "." | ".."))
        };
        if folder == "workspace" {
            return Some(Self::Workspace(String::new()));
        }
        if let Some(rest) = folder.strip_prefix("workspace/") {
            return plain(rest).then(|| Self::Workspace(rest.to_owned()));
        }
        if let Some(rest) = folder.strip_prefix("~/") {
            return plain(rest).then(|| Self::Home(rest.to_owned()));
        }
        let rest = folder.strip_prefix('/')?;
        plain(rest).then(|| Self::Absolute(folder.to_owned()))
    }
}

/// A granted destination on the net.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetGrant {
    /// A host by name.
    Host {
        /// The name; without the `*.` of a wildcard.
        host: String,
        /// Whether any name below it is meant, and not it itself.
        below: bool,
        /// The port; 443 when none is named.
        port: u16,
    },
    /// Exactly the host and port of the address in this argument, which policyd has decided on: written
    /// `argument /url`.
    Argument(String),
    /// The server of an account of the person whose turn it is, with its user name and password: written `account mail`.
    Account(AccountKind),
    /// The server that takes mail to be sent from such a mail account: written `account mail sending`.
    Sending,
}

/// How [`NetGrant::Sending`] is written.
const SENDING: &str = "account mail sending";

impl NetGrant {
    /// The kind of the account whose server this is; `None` for every other place.
    #[must_use]
    pub const fn account(&self) -> Option<AccountKind> {
        match self {
            Self::Account(kind) => Some(*kind),
            Self::Sending => Some(AccountKind::Mail),
            Self::Host { .. } | Self::Argument(_) => None,
        }
    }

    /// Reads `host`, `host:port`, `*.host`, `*.host:port` (design: sandbox §2): labels of `[a-z0-9-]`, at least two, no
    /// address literal, no trailing dot; or `argument /pointer`, or `account mail`, or `account mail sending`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(pointer) = text.strip_prefix("argument ") {
            return crate::json::is_pointer(pointer).then(|| Self::Argument(pointer.to_owned()));
        }
        if text == SENDING {
            return Some(Self::Sending);
        }
        if let Some(kind) = text.strip_prefix("account ") {
            return AccountKind::named(kind).map(Self::Account);
        }
        let (name, port) = match text.split_once(':') {
            Some((name, digits)) => {
                let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
                (name, plain.then(|| digits.parse::<u16>().ok()).flatten()?)
            }
            None => (text, 443),
        };
        let (host, below) = name.strip_prefix("*.").map_or((name, false), |host| (host, true));
        is_host_name(host).then(|| Self::Host { host: host.to_owned(), below, port })
    }
}

impl std::fmt::Display for NetGrant {
    /// As [`NetGrant::parse`] reads it, always with the port.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host { host, below: false, port } => write!(f, "{host}:{port}"),
            Self::Host { host, below: true, port } => write!(f, "*.{host}:{port}"),
            Self::Argument(pointer) => write!(f, "argument {pointer}"),
            Self::Account(kind) => write!(f, "account {}", kind.name()),
            Self::Sending => f.write_str(SENDING),
        }
    }
}

/// Whether this is an IPv4 address as it is always written. Nothing but an account of the owner's own words leads to one.
#[must_use]
pub fn is_address_literal(host: &str) -> bool {
    host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.to_string() == host)
}

/// Whether this is a name of a host, strictly (design: sandbox §2): labels of `[a-z0-9-]`, at least two, no address
/// literal, no trailing dot, no zone.
#[must_use]
pub fn is_host_name(host: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let labels: Vec<&str> = host.split('.').collect();
    // No top-level domain begins with a digit; every address literal ends in such a label.
    let named = labels.last().is_some_and(|top| top.starts_with(|first: char| first.is_ascii_lowercase()));
    host.len() <= 253 && labels.len() >= 2 && named && labels.iter().all(|label| is_label(label))
}

/// The longest mail address, in bytes (RFC 5321 §4.5.3.1.3, without the brackets).
const MAX_ADDRESS: usize = 254;

/// Whether this is a mail address as servers take it: one `@`, plain ASCII before it without quotation, and a host name behind it.
#[must_use]
pub fn is_mail_address(text: &str) -> bool {
    let Some((local, host)) = text.split_once('@') else { return false };
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.".contains(&byte);
    let dots = local.starts_with('.') || local.ends_with('.') || local.contains("..");
    text.len() <= MAX_ADDRESS
        && (1..=64).contains(&local.len())
        && local.bytes().all(is_sign)
        && !dots
        && is_host_name(&host.to_ascii_lowercase())
}

/// Checks `[sandbox]` but for its quotas.
pub(super) fn validate_sandbox(sandbox: &Sandbox) -> Result<(), ManifestError> {
    let profile = &sandbox.profile;
    let named = profile.len() <= 64
        && profile.starts_with(|first: char| first.is_ascii_lowercase())
        && profile.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !named {
        return Err(ManifestError::field("sandbox.profile", profile, "a name such as `fs-read-workspace`"));
    }
    if let Some(hash) = &sandbox.hash
        && Blake3::parse(hash).is_none()
    {
        return Err(ManifestError::field("sandbox.hash", hash, "`blake3:` and 64 hexadecimal digits"));
    }
    if sandbox.capabilities.len() > MAX_CAPABILITIES {
        let expected = format!("at most {MAX_CAPABILITIES} entries");
        return Err(ManifestError::field("sandbox.capabilities", sandbox.capabilities.len(), expected));
    }
    for (index, capability) in sandbox.capabilities.iter().enumerate() {
        validate_capability(capability)?;
        if sandbox.capabilities[..index].iter().any(|earlier| earlier.name() == capability.name()) {
            return Err(ManifestError::field("sandbox.capabilities", capability.name(), "each kind once"));
        }
    }
    account_alone(sandbox)?;
    profile_agrees(sandbox)
}

/// Whoever is given the password of an account reaches its servers and nothing else: no other host, no secret, no file.
fn account_alone(sandbox: &Sandbox) -> Result<(), ManifestError> {
    let nets = sandbox.capabilities.iter().flat_map(|capability| match capability {
        Capability::Net(entries) => entries.as_slice(),
        Capability::FsRead(_) | Capability::FsWrite(_) | Capability::Exec(_) | Capability::Secret(_) => &[],
    });
    let kinds: Vec<Option<AccountKind>> =
        nets.clone().map(|entry| NetGrant::parse(entry).and_then(|grant| grant.account())).collect();
    let Some(kind) = kinds.iter().flatten().next() else { return Ok(()) };
    // A mail account has two servers.
    let alone = sandbox.capabilities.len() == 1 && kinds.iter().all(|other| *other == Some(*kind));
    let twice = nets.clone().enumerate().any(|(at, entry)| nets.clone().take(at).any(|earlier| earlier == entry));
    if alone && !twice {
        return Ok(());
    }
    Err(ManifestError::field("sandbox.capabilities", kind.name(), "an account alone, without another grant beside it"))
}

fn validate_capability(capability: &Capability) -> Result<(), ManifestError> {
    let field = format!("sandbox.capabilities.{}", capability.name());
    let entries = capability.entries();
    if entries.is_empty() || entries.len() > MAX_CAPABILITIES {
        return Err(ManifestError::field(field, entries.len(), format!("1 to {MAX_CAPABILITIES} entries")));
    }
    for entry in entries {
        let (holds, expected) = match capability {
            Capability::FsRead(_) | Capability::FsWrite(_) => {
                (grantable(entry), "a folder such as `workspace/`, ending in a slash, that no core rule forbids")
            }
            Capability::Net(_) => (
                NetGrant::parse(entry).is_some(),
                "a host name such as `example.org` or `example.org:443`, `argument /url`, `account mail`, `account mail sending`, `account calendar` or `account home`",
            ),
            Capability::Exec(_) => (
                entry == commands::ALL_LISTED || commands::refused(entry).is_none(),
                "the absolute path of a program, or `*` for all that the owner lists",
            ),
            Capability::Secret(_) => (super::is_name(entry), "the name of a secret"),
        };
        if !holds {
            return Err(ManifestError::field(field, entry, expected));
        }
    }
    Ok(())
}

/// Whether a folder may be granted at all, as far as its text shows.
fn grantable(text: &str) -> bool {
    let path = match PathGrant::parse(text) {
        Some(PathGrant::Workspace(rest)) => rest,
        Some(PathGrant::Home(rest)) => format!("~/{rest}"),
        Some(PathGrant::Absolute(path)) => path,
        None => return false,
    };
    let places = Places::default();
    forbidden::check(&path, &places).is_none() && forbidden::covers(&path, &places).is_none()
}

/// A profile's name promises what is granted; the grants must keep it.
fn profile_agrees(sandbox: &Sandbox) -> Result<(), ManifestError> {
    let workspace = |kind: &str| {
        sandbox.capabilities.len() == 1
            && sandbox.capabilities.iter().all(|capability| {
                capability.name() == kind && capability.entries().iter().all(|entry| entry.starts_with("workspace/"))
            })
    };
    let only = |kinds: &[&str]| sandbox.capabilities.iter().all(|capability| kinds.contains(&capability.name()));
    let holds = match sandbox.profile.as_str() {
        "pure" | super::SYNTH => sandbox.capabilities.is_empty(),
        "fs-read-workspace" => workspace("fs_read"),
        "fs-write-workspace" => {
            let entries = || sandbox.capabilities.iter().flat_map(Capability::entries);
            only(&["fs_read", "fs_write"])
                && sandbox.capabilities.iter().any(|capability| capability.name() == "fs_write")
                && entries().all(|entry| entry.starts_with("workspace/"))
        }
        "shell-listed" => only(&["fs_read", "fs_write", "exec"]),
        name if name.starts_with("fs-") => only(&["fs_read", "fs_write"]),
        name if name.starts_with("net-") => only(&["net", "secret"]),
        _ => {
            let expected = "`pure`, `synth`, `fs-…`, `net-…` or `shell-listed`";
            return Err(ManifestError::field("sandbox.profile", &sandbox.profile, expected));
        }
    };
    if holds {
        return Ok(());
    }
    let granted: Vec<_> = sandbox.capabilities.iter().map(Capability::name).collect();
    let expected = format!("only what the profile `{}` promises", sandbox.profile);
    Err(ManifestError::field("sandbox.capabilities", granted.join(", "), expected))
}
