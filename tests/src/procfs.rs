//! What the kernel says about a process, read from outside. It must never believe the process itself.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// `/proc/PID/status`, line by line.
#[derive(Debug, Clone)]
pub struct Status(BTreeMap<String, String>);

impl Status {
    /// Of this process; `None` when there is none.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        Some(Self(lines.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()))
    }

    /// One line's value; empty when the kernel does not have it.
    #[must_use]
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A value of hexadecimal digits, as in the capability sets.
    #[must_use]
    pub fn hex(&self, name: &str) -> Option<u64> {
        u64::from_str_radix(self.get(name), 16).ok()
    }

    /// Real, effective, saved and file-system id of `Uid` or `Gid`.
    #[must_use]
    pub fn ids(&self, name: &str) -> Vec<u32> {
        self.get(name).split_whitespace().filter_map(|id| id.parse().ok()).collect()
    }

    /// How often it was scheduled, of its own accord or not.
    #[must_use]
    pub fn switches(&self) -> u64 {
        let count = |name| self.get(name).parse::<u64>().unwrap_or(0);
        count("voluntary_ctxt_switches") + count("nonvoluntary_ctxt_switches")
    }
}

/// Whether there is such a process that has not ended (a zombie has).
#[must_use]
pub fn alive(pid: u32) -> bool {
    Status::of(pid).is_some_and(|status| !status.get("State").starts_with(['Z', 'X']))
}

/// Proportional set size in KiB; `None` when it cannot be read.
#[must_use]
pub fn pss_kib(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Whether these bytes stand anywhere in the memory of a process, which only root may read; `None` when it cannot be read.
#[must_use]
pub fn memory_holds(pid: u32, wanted: &[u8]) -> Option<bool> {
    use std::os::unix::fs::FileExt;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut read = 0_usize;
    // What is mapped from a file of the disk is the program and its libraries.
    let own = |line: &&str| {
        line.split(' ').nth(1).is_some_and(|rights| rights.starts_with('r'))
            && (!line.contains('/') || line.contains("/memfd:"))
    };
    for line in maps.lines().filter(own) {
        let (from, to) = line.split(' ').next()?.split_once('-')?;
        let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
        let mut bytes = vec![0; usize::try_from(to - from).ok()?];
        // What is only reserved cannot be read; the kernel says so.
        let got = memory.read_at(&mut bytes, from).unwrap_or(0);
        read += got;
        if bytes[..got].windows(wanted.len()).any(|here| here == wanted) {
            return Some(true);
        }
    }
    (read > 0).then_some(false)
}

/// What is its own alone, in KiB: pages that it has written and shares with nobody; `None` when it cannot be read.
#[must_use]
pub fn private_kib(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Private_Dirty:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Every process whose ancestor is `root`, `root` itself not.
#[must_use]
pub fn descendants(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = processes().into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(parents.iter().filter(|(_, parent)| *parent == pid).map(|(child, _)| *child));
        next += 1;
    }
    found.split_off(1)
}

/// Who started it, as far as that one still lives.
#[must_use]
pub fn parent(pid: u32) -> Option<u32> {
    Status::of(pid)?.get("PPid").parse().ok()
}

/// All processes.
#[must_use]
pub fn processes() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc is there");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Every process that has this directory, or something below it, open or as its working directory,
/// or was started with it in its arguments: what a set of daemons could leave behind.
#[must_use]
pub fn users_of(dir: &std::path::Path) -> Vec<u32> {
    let uses = |pid: &u32| {
        let base = PathBuf::from(format!("/proc/{pid}"));
        let links = std::fs::read_dir(base.join("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
        let open = links
            .chain([base.join("cwd"), base.join("exe")])
            .any(|link| std::fs::read_link(link).is_ok_and(|target| target.starts_with(dir)));
        let arguments = std::fs::read(base.join("cmdline")).unwrap_or_default();
        let named = dir.to_str().is_some_and(|dir| String::from_utf8_lossy(&arguments).contains(dir));
        open || named
    };
    let mine = std::process::id();
    processes().into_iter().filter(|pid| *pid != mine).filter(uses).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_has_its_ids_and_some_memory() {
        let pid = std::process::id();
        assert!(alive(pid));
        let status = Status::of(pid).unwrap();
        assert_eq!(status.ids("Uid").len(), 4);
        assert_eq!(status.ids("Uid")[0], rustix::process::getuid().as_raw());
        assert!(pss_kib(pid).unwrap() > 0);
    }

    #[test]
    fn a_child_and_its_child_are_found_and_are_gone_afterwards() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 100 & wait"]).spawn().unwrap();
        let found = crate::until("two descendants", std::time::Duration::from_secs(5), || {
            let found: Vec<u32> = descendants(std::process::id())
                .into_iter()
                .filter(|pid| *pid == child.id() || parent(*pid) == Some(child.id()))
                .collect();
            (found.len() == 2).then_some(found)
        });
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!alive(child.id()));
        for pid in found.into_iter().filter(|pid| *pid != child.id()) {
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
    }
}
