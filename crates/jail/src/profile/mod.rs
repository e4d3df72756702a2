//! What each daemon may do, read from the reviewed files in `profiles/`. A profile
//! must never be built from anything but those files, which are part of the binary.

pub mod condition;
mod constants;
pub mod names;

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::error::JailError;
use crate::layers::limits::Limits;
use condition::Check;
use names::Number;

/// Every role that has a profile.
pub const ROLES: [&str; 7] = ["gatewayd", "planner", "mind", "policyd", "sandboxd", "memoryd", "syntd"];

/// A daemon's profile, checked: every name resolves, none is there twice, each has its reason.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The daemon.
    pub role: String,
    /// One sentence on what this daemon is allowed, for reviewers and `status`.
    pub about: String,
    /// Resource limits.
    pub limits: Limits,
    /// What Landlock must carry.
    pub landlock: Landlock,
    /// System calls that work.
    pub calls: Vec<Call>,
    /// System calls that are answered with an error instead of death.
    pub refuse: Vec<Refusal>,
    /// The error for calls that this release has no name for; `None`: they kill.
    pub unnamed: Option<Errno>,
}

/// The Landlock part of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Landlock {
    /// Who keeps the files away.
    pub fs: Fs,
    /// Whether the daemon may name TCP ports to connect to; no others stay reachable, where the kernel knows ports.
    #[serde(default)]
    pub connect: bool,
    /// Whether the daemon may name one TCP port to take a place at later; no other is left to it, where the kernel knows ports.
    #[serde(default)]
    pub listen: bool,
    /// The places that stay reachable; everything else does not.
    #[serde(default, rename = "place")]
    pub places: Vec<Place>,
}

/// Who keeps the files away from a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fs {
    /// Landlock handles every file-system right that the kernel knows.
    Handled,
    /// The daemon has built itself a mount namespace that holds only what it needs.
    /// Landlock handles no file-system right, because one handled right forbids
    /// `mount`, `move_mount` and `pivot_root` to the daemon **and its children**.
    Namespace,
}

/// A place that a daemon keeps.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Its name; the daemon says which folder it is.
    pub name: String,
    /// What may be done there.
    pub access: Access,
    /// Why it is needed.
    pub why: String,
}

/// What may be done in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Open files for reading, list folders.
    Read,
    /// The same, and create, write, truncate, rename within, remove regular files and folders.
    Write,
}

/// A granted system call.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Why the daemon needs it.
    pub why: String,
    /// Alternatives, one of which the arguments must satisfy; empty: any arguments.
    pub checks: Vec<Check>,
    /// When it happens, for a call that an ordinary hour of the daemon does not show. A test watches the
    /// shipped daemons and finds every rule used, but for these.
    pub rare: Option<String>,
    /// The error for arguments that satisfy no check; `None`: they kill.
    pub otherwise: Option<Errno>,
    /// Its number here, or that it exists on another architecture only.
    pub(crate) number: Number,
}

impl Call {
    /// Whether it exists on the architecture of this build.
    #[must_use]
    pub fn is_here(&self) -> bool {
        matches!(self.number, Number::Here(_))
    }
}

/// A system call that is answered with an error.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// Its name.
    pub name: String,
    /// Why it is not simply deadly.
    pub why: String,
    /// The error the caller sees.
    pub errno: Errno,
    pub(crate) number: Number,
}

/// Errors that a refused call may show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Errno {
    /// Not permitted.
    #[serde(rename = "EPERM")]
    NotPermitted,
    /// As if the kernel did not know the call; callers fall back to an older one.
    #[serde(rename = "ENOSYS")]
    NoSuchCall,
}

impl Errno {
    pub(crate) fn number(self) -> u32 {
        match self {
            Errno::NotPermitted => libc::EPERM.unsigned_abs(),
            Errno::NoSuchCall => libc::ENOSYS.unsigned_abs(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    role: String,
    about: String,
    limits: Limits,
    landlock: Landlock,
    seccomp: RawSeccomp,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSeccomp {
    calls: Vec<RawCall>,
    #[serde(default)]
    refuse: Vec<RawRefusal>,
    unnamed: Option<RawUnnamed>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawUnnamed {
    errno: Errno,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall {
    name: String,
    why: String,
    #[serde(default)]
    when: Vec<String>,
    rare: Option<String>,
    otherwise: Option<Errno>,
    arch: Option<Arch>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRefusal {
    name: String,
    why: String,
    errno: Errno,
    arch: Option<Arch>,
}

#[derive(Deserialize)]
enum Arch {
    #[serde(rename = "x86_64")]
    X86_64,
}

impl Profile {
    /// The same without these calls: what this start of the daemon has no use for, it does not keep.
    #[must_use]
    pub fn without(mut self, calls: &[&str]) -> Self {
        self.calls.retain(|call| !calls.contains(&call.name.as_str()));
        self
    }

    /// The profile of a role.
    ///
    /// # Errors
    /// [`JailError::UnknownRole`]; [`JailError::Profile`] for a file that does not hold together.
    pub fn load(role: &str) -> Result<Self, JailError> {
        let text = match role {
            "gatewayd" => include_str!("../../profiles/gatewayd.toml"),
            "planner" => include_str!("../../profiles/planner.toml"),
            "mind" => include_str!("../../profiles/mind.toml"),
            "policyd" => include_str!("../../profiles/policyd.toml"),
            "sandboxd" => include_str!("../../profiles/sandboxd.toml"),
            "memoryd" => include_str!("../../profiles/memoryd.toml"),
            "syntd" => include_str!("../../profiles/syntd.toml"),
            other => return Err(JailError::UnknownRole(other.to_owned())),
        };
        parse(role, text).map_err(|what| JailError::Profile { role: role.to_owned(), what })
    }

    /// Whether a system call is granted, whatever its arguments.
    #[must_use]
    pub fn grants(&self, call: &str) -> bool {
        self.calls.iter().any(|granted| granted.name == call)
    }
}

/// Reads and checks one file.
pub(crate) fn parse(role: &str, text: &str) -> Result<Profile, String> {
    let raw: RawProfile = toml::from_str(text).map_err(|error| error.to_string())?;
    if raw.role != role {
        return Err(format!("it says it is the profile of '{}'", raw.role));
    }
    given("about", &raw.about)?;
    check_places(&raw.landlock)?;
    let mut seen = BTreeSet::new();
    let mut once = |name: &str| {
        if seen.insert(name.to_owned()) { Ok(()) } else { Err(format!("'{name}' is there twice")) }
    };
    let mut calls = Vec::with_capacity(raw.seccomp.calls.len());
    for call in raw.seccomp.calls {
        once(&call.name)?;
        calls.push(check_call(call)?);
    }
    let mut refuse = Vec::with_capacity(raw.seccomp.refuse.len());
    for refusal in raw.seccomp.refuse {
        once(&refusal.name)?;
        given(&refusal.name, &refusal.why)?;
        if matches!(refusal.name.as_str(), "seccomp" | "prctl") {
            return Err(format!("'{}' cannot be refused with an error: the filters that follow need it", refusal.name));
        }
        refuse.push(Refusal {
            number: number(&refusal.name, refusal.arch.as_ref())?,
            name: refusal.name,
            why: refusal.why,
            errno: refusal.errno,
        });
    }
    if let Some(unnamed) = &raw.seccomp.unnamed {
        given("unnamed", &unnamed.why)?;
    }
    Ok(Profile {
        role: raw.role,
        about: raw.about,
        limits: raw.limits,
        landlock: raw.landlock,
        calls,
        refuse,
        unnamed: raw.seccomp.unnamed.map(|unnamed| unnamed.errno),
    })
}

fn check_call(call: RawCall) -> Result<Call, String> {
    given(&call.name, &call.why)?;
    if let Some(rare) = &call.rare {
        given(&format!("{}: rare", call.name), rare)?;
    }
    let checks = call
        .when
        .iter()
        .map(|text| Check::parse(text).map_err(|why| format!("{}: {why}", call.name)))
        .collect::<Result<Vec<_>, _>>()?;
    if call.otherwise.is_some() && (checks.is_empty() || !checks.iter().all(Check::is_plain)) {
        return Err(format!("{}: `otherwise` needs checks, each one equality without a mask", call.name));
    }
    Ok(Call {
        number: number(&call.name, call.arch.as_ref())?,
        otherwise: call.otherwise,
        name: call.name,
        why: call.why,
        checks,
        rare: call.rare,
    })
}

fn check_places(landlock: &Landlock) -> Result<(), String> {
    if landlock.fs == Fs::Namespace && !landlock.places.is_empty() {
        return Err("places mean nothing where the namespace keeps the files away".to_owned());
    }
    let mut seen = BTreeSet::new();
    for place in &landlock.places {
        given(&place.name, &place.why)?;
        if !seen.insert(&place.name) {
            return Err(format!("the place '{}' is there twice", place.name));
        }
    }
    Ok(())
}

fn given(name: &str, reason: &str) -> Result<(), String> {
    if reason.trim().is_empty() { Err(format!("'{name}' has no reason")) } else { Ok(()) }
}

/// The number of a call; an entry is marked `arch` exactly when its name is not everywhere.
fn number(name: &str, arch: Option<&Arch>) -> Result<Number, String> {
    let number = names::syscall(name).ok_or_else(|| format!("'{name}' is no known system call"))?;
    match (names::is_x86_64_only(name), arch) {
        (true, Some(Arch::X86_64)) | (false, None) => Ok(number),
        (true, None) => Err(format!("'{name}' needs arch = \"x86_64\"")),
        (false, Some(Arch::X86_64)) => Err(format!("'{name}' is not only on x86_64")),
    }
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
