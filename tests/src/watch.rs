//! What the processes of a set asked of the kernel once they were locked, by `strace` from outside: the
//! daemons are the shipped ones and know nothing of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use metnos_jail::Profile;
use metnos_jail::profile::Call;

/// How a set is watched: the words that stand before the program. Arguments are printed as numbers, as
/// the filter sees them.
#[must_use]
pub fn strace(log: &Path) -> Vec<String> {
    let log = log.to_str().expect("a temporary path is text");
    ["strace", "-f", "-qq", "-e", "raw=all", "-e", "signal=none", "-o", log].map(str::to_owned).to_vec()
}

/// One system call, as it was entered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    name: String,
    arguments: [u64; 6],
}

/// Everything that one process (with its threads and children) asked after its filter was in place.
#[derive(Debug, Default)]
pub struct Seen {
    calls: BTreeSet<(u32, Entry)>,
}

/// What the log says of these processes.
///
/// # Panics
/// When the log cannot be read.
#[must_use]
pub fn seen(log: &Path, roles: &BTreeMap<u32, String>) -> BTreeMap<String, Seen> {
    let text = String::from_utf8_lossy(&std::fs::read(log).expect("strace wrote its log")).into_owned();
    let lines: Vec<(u32, &str)> = text.lines().filter_map(line).collect();
    // A child speaks before the call that made it returns, so families come first.
    let mut daemon_of: BTreeMap<u32, u32> = roles.keys().map(|pid| (*pid, *pid)).collect();
    for (pid, rest) in &lines {
        if let (Some(daemon), Some(child)) = (daemon_of.get(pid).copied(), made(rest)) {
            daemon_of.entry(child).or_insert(daemon);
        }
    }
    let mut locked = BTreeSet::new();
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    for (pid, rest) in lines {
        let Some(daemon) = daemon_of.get(&pid).copied() else { continue };
        let Some(entry) = entry(rest) else { continue };
        if locked.contains(&daemon) {
            seen.entry(roles[&daemon].clone()).or_default().calls.insert((daemon, entry));
        } else if entry.name == "seccomp" && entry.arguments[0] == SET_MODE_FILTER {
            locked.insert(daemon);
        }
    }
    seen
}

/// Whose line it is, and what it says.
fn line(line: &str) -> Option<(u32, &str)> {
    let (pid, rest) = line.split_once(' ')?;
    Some((pid.parse().ok()?, rest.trim_start()))
}

/// The thread or process that a call made, from the line in which it returns.
fn made(line: &str) -> Option<u32> {
    let name = line.strip_prefix("<... ").unwrap_or(line);
    let name = name.split(['(', ' ']).next()?;
    if !matches!(name, "clone" | "clone3" | "fork" | "vfork") {
        return None;
    }
    let (_, id) = line.rsplit_once(" = ")?;
    u32::try_from(number(id.split_whitespace().next()?)?).ok()
}

/// `SECCOMP_SET_MODE_FILTER` (seccomp(2)).
const SET_MODE_FILTER: u64 = 1;

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// `name(0x1, 0x2 …`; `None` for the second half of a call, and for what is no call.
fn entry(line: &str) -> Option<Entry> {
    let (name, rest) = line.split_once('(')?;
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let inner = rest.split([')', '<']).next()?;
    let mut arguments = [0; 6];
    for (place, text) in arguments.iter_mut().zip(inner.split(',')) {
        *place = number(text.trim()).unwrap_or(0);
    }
    Some(Entry { name: name.to_owned(), arguments })
}

/// A rule that nobody used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unused {
    /// The call.
    pub call: String,
    /// Which of its alternatives, from 1; `None`: the whole rule.
    pub alternative: Option<usize>,
}

impl std::fmt::Display for Unused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.call)?;
        self.alternative.map_or(Ok(()), |place| write!(f, ", alternative {place}"))
    }
}

impl Seen {
    /// Every rule of the profile that nobody used, but for those that are marked rare.
    #[must_use]
    pub fn unused(&self, profile: &Profile) -> Vec<Unused> {
        let unmarked = profile.calls.iter().filter(|call| call.rare.is_none() && call.is_here());
        unmarked.flat_map(|call| self.unused_parts(call)).collect()
    }

    fn unused_parts(&self, call: &Call) -> Vec<Unused> {
        let unused = |alternative| Unused { call: call.name.clone(), alternative };
        let used: Vec<_> = self.calls.iter().filter(|(_, entry)| entry.name == call.name).collect();
        if used.is_empty() {
            return vec![unused(None)];
        }
        let idle = call
            .checks
            .iter()
            .enumerate()
            .filter(|(_, check)| !used.iter().any(|(daemon, entry)| check.holds(*daemon, &entry.arguments)));
        idle.map(|(place, _)| unused(Some(place + 1))).collect()
    }

    /// Every call that was entered and that no rule names: it was answered with an error, or was deadly.
    #[must_use]
    pub fn outside(&self, profile: &Profile) -> BTreeSet<String> {
        self.calls
            .iter()
            .filter(|(_, entry)| !profile.grants(&entry.name))
            .map(|(_, entry)| entry.name.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_is_a_call_with_numbers() {
        let whole = entry("fcntl(0x3, 0x1) = 0x1").unwrap();
        assert_eq!((whole.name.as_str(), whole.arguments), ("fcntl", [3, 1, 0, 0, 0, 0]));
        let begun = entry("futex(0x7f0, 0x80, 0x2 <unfinished ...>").unwrap();
        assert_eq!((begun.name.as_str(), begun.arguments[2]), ("futex", 2));
        assert_eq!(entry("<... futex resumed>) = 0"), None);
        assert_eq!(entry("+++ exited with 0 +++"), None);
    }

    #[test]
    fn trace_counts_syscalls_after_filter_including_threads() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let lines = "7 open(0x1) = 3\n7 seccomp(0x1, 0x0, 0x2) = 0\n7 clone(0x1 <unfinished ...>\n8 read(0x3) = 1\n\
                     7 <... clone resumed>) = 8\n9 write(0x1) = 1\n";
        std::fs::write(&log, lines).unwrap();
        let all = seen(&log, &BTreeMap::from([(7, "policyd".to_owned())]));
        let names: Vec<&str> = all["policyd"].calls.iter().map(|(_, entry)| entry.name.as_str()).collect();
        assert_eq!(names, ["clone", "read"]);
    }
}
