//! Reads the lock back from the kernel, compares it with what was intended, and says
//! it in plain lines. It must never repeat an intention as if it had been seen.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::process::DumpableBehavior;

use crate::error::JailError;

const PATH: &str = "/proc/self/status";

/// Largest status file accepted; lists of processors can make it some KiB long.
const ROOM_BYTES: usize = 64 * 1024;

/// An open `/proc/self/status`: opened before the lock, readable after it.
#[derive(Debug)]
pub(crate) struct StatusFile(File);

/// What the kernel says about this process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Real, effective, saved and file-system user id.
    pub(crate) uids: Vec<u32>,
    pub(crate) gids: Vec<u32>,
    pub(crate) threads: u32,
    pub(crate) no_new_privs: bool,
    pub(crate) seccomp_mode: u32,
    /// `None` before Linux 5.10.
    pub(crate) seccomp_filters: Option<u32>,
    /// Inheritable, permitted, effective, ambient.
    pub(crate) caps: [u64; 4],
    pub(crate) bounding: u64,
    pub(crate) dumpable: bool,
}

impl StatusFile {
    pub(crate) fn open() -> Result<Self, JailError> {
        File::open(PATH).map(StatusFile).map_err(|error| proc(error.to_string()))
    }

    /// Reads it again.
    pub(crate) fn look(&self) -> Result<Seen, JailError> {
        let mut seen = parse(&self.text()?)?;
        let dumpable =
            rustix::process::dumpable_behavior().map_err(|errno| proc(format!("PR_GET_DUMPABLE: {errno}")))?;
        seen.dumpable = dumpable != DumpableBehavior::NotDumpable;
        Ok(seen)
    }

    fn text(&self) -> Result<String, JailError> {
        let mut bytes = vec![0_u8; ROOM_BYTES];
        let mut length = 0;
        while let Some(room) = bytes.get_mut(length..).filter(|room| !room.is_empty()) {
            let offset = u64::try_from(length).map_err(|error| proc(error.to_string()))?;
            match self.0.read_at(room, offset) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) => return Err(proc(error.to_string())),
            }
        }
        bytes.truncate(length);
        String::from_utf8(bytes).map_err(|error| proc(error.to_string()))
    }
}

fn parse(text: &str) -> Result<Seen, JailError> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    let need = |name: &str| field(name).ok_or_else(|| proc(format!("it has no line '{name}'")));
    let number = |name: &str| -> Result<u32, JailError> { decimal(name, need(name)?) };
    let mask = |name: &str| -> Result<u64, JailError> { u64::from_str_radix(need(name)?, 16).map_err(|_| bad(name)) };
    let ids = |name: &str| -> Result<Vec<u32>, JailError> {
        need(name)?.split_whitespace().map(|id| decimal(name, id)).collect()
    };
    Ok(Seen {
        uids: ids("Uid")?,
        gids: ids("Gid")?,
        threads: number("Threads")?,
        no_new_privs: number("NoNewPrivs")? == 1,
        // The line is missing where the kernel has no seccomp at all.
        seccomp_mode: field("Seccomp").map_or(Ok(0), |text| decimal("Seccomp", text))?,
        seccomp_filters: field("Seccomp_filters").map(|text| decimal("Seccomp_filters", text)).transpose()?,
        caps: [mask("CapInh")?, mask("CapPrm")?, mask("CapEff")?, mask("CapAmb")?],
        bounding: mask("CapBnd")?,
        dumpable: true,
    })
}

fn decimal(name: &str, text: &str) -> Result<u32, JailError> {
    text.parse().map_err(|_| bad(name))
}

fn bad(name: &str) -> JailError {
    proc(format!("its line '{name}' is not understood"))
}

fn proc(why: String) -> JailError {
    JailError::Proc { path: PATH, why }
}

/// What the lock intends, and the kernel must show. `None`: waived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Intent {
    pub(crate) no_new_privs: Option<()>,
    pub(crate) not_dumpable: Option<()>,
    pub(crate) caps_empty: Option<()>,
    /// Only where the process may empty it, or found it empty.
    pub(crate) bounding_empty: bool,
    /// How many filters must be there, ours and those that were there before.
    pub(crate) seccomp_filters: Option<u32>,
    pub(crate) uids: Vec<u32>,
}

impl Intent {
    /// Compares; the first difference is the error.
    pub(crate) fn check(&self, seen: &Seen) -> Result<(), JailError> {
        let same = |what: &'static str, ok: bool, intended: String, seen: String| {
            if ok { Ok(()) } else { Err(JailError::Mismatch { what, intended, seen }) }
        };
        same("the user ids", self.uids == seen.uids, format!("{:?}", self.uids), format!("{:?}", seen.uids))?;
        same("no_new_privs", self.no_new_privs.is_none() || seen.no_new_privs, "1".into(), "0".into())?;
        same("dumpable", self.not_dumpable.is_none() || !seen.dumpable, "0".into(), "1".into())?;
        same(
            "the capabilities (inheritable, permitted, effective, ambient)",
            self.caps_empty.is_none() || seen.caps == [0; 4],
            "empty".into(),
            format!("{:x?}", seen.caps),
        )?;
        same(
            "the bounding set",
            !self.bounding_empty || seen.bounding == 0,
            "empty".into(),
            format!("{:x}", seen.bounding),
        )?;
        let Some(filters) = self.seccomp_filters else {
            return Ok(());
        };
        const MODE_FILTER: u32 = 2;
        same(
            "the seccomp mode",
            seen.seccomp_mode == MODE_FILTER,
            MODE_FILTER.to_string(),
            seen.seccomp_mode.to_string(),
        )?;
        same(
            "the number of seccomp filters",
            seen.seccomp_filters.is_none_or(|seen| seen == filters),
            filters.to_string(),
            format!("{:?}", seen.seccomp_filters),
        )
    }
}

/// Who keeps the files away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FsFence {
    /// Landlock handles every file-system right that the kernel knows.
    Handled,
    /// The daemon's own mount namespace.
    Namespace,
    /// Nobody but file permissions and the missing system calls: Landlock is waived.
    Waived,
}

/// What carries the promise that no TCP port is bound, nor connected beyond those that are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetFence {
    /// Landlock and the missing system calls.
    Landlock,
    /// The missing system calls alone: the kernel's Landlock is older than ABI 4.
    SeccompOnly,
    /// Landlock is waived.
    Waived,
}

impl fmt::Display for FsFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FsFence::Handled => "handled",
            FsFence::Namespace => "namespace",
            FsFence::Waived => "waived",
        })
    }
}

impl fmt::Display for NetFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NetFence::Landlock => "landlock",
            NetFence::SeccompOnly => "seccomp-only",
            NetFence::Waived => "waived",
        })
    }
}

/// The lock as it is: read back from the kernel where it can be read (ids,
/// privileges, filters, capabilities, dumpability), and what Landlock was seen to
/// stop. Plain data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockReport {
    /// Whose lock.
    pub role: String,
    /// Effective user id.
    pub uid: u32,
    /// Effective group id.
    pub gid: u32,
    /// No right can be gained by `execve`.
    pub no_new_privs: bool,
    /// Whether memory can be dumped or attached to by the same uid; false in a whole lock.
    pub dumpable: bool,
    /// 0 none, 2 filters.
    pub seccomp_mode: u32,
    /// Number of filters on the process; `None` on kernels that do not report it.
    pub seccomp_filters: Option<u32>,
    /// Landlock ABI of the kernel, used in full; 0 where there is none.
    pub landlock_abi: u32,
    /// Who keeps files away.
    pub fs: FsFence,
    /// Who keeps TCP ports away.
    pub net: NetFence,
    /// The TCP ports that may be connected to; empty: none.
    pub connects: Vec<u16>,
    /// Landlock keeps signals and abstract sockets inside (ABI 6).
    pub scopes: bool,
    /// Inheritable, permitted, effective and ambient capabilities are empty.
    pub caps_empty: bool,
    /// The bounding set is empty too (it cannot be for an ordinary user, where `no_new_privs` makes it idle).
    pub bounding_empty: bool,
    /// Layers that are waived, by name.
    pub waived: Vec<String>,
}

impl LockReport {
    /// One `name value` line a field, in a fixed order, for the wire and for people.
    #[must_use]
    pub fn to_lines(&self) -> Vec<String> {
        let filters = self.seccomp_filters.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
        let ports: Vec<String> = self.connects.iter().map(ToString::to_string).collect();
        let connects = if ports.is_empty() { "none".to_owned() } else { ports.join(",") };
        let waived = if self.waived.is_empty() { "none".to_owned() } else { self.waived.join(",") };
        vec![
            format!("role {}", self.role),
            format!("uid {}", self.uid),
            format!("gid {}", self.gid),
            format!("no_new_privs {}", self.no_new_privs),
            format!("dumpable {}", self.dumpable),
            format!("seccomp_mode {}", self.seccomp_mode),
            format!("seccomp_filters {filters}"),
            format!("landlock_abi {}", self.landlock_abi),
            format!("fs {}", self.fs),
            format!("net {}", self.net),
            format!("connects {connects}"),
            format!("scopes {}", self.scopes),
            format!("caps_empty {}", self.caps_empty),
            format!("bounding_empty {}", self.bounding_empty),
            format!("waived {waived}"),
        ]
    }
}

#[cfg(test)]
#[path = "readback_tests.rs"]
mod tests;
