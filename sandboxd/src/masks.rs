//! Closed places directly below a granted folder (`.ssh`, `.config/metnos`, …), covered with nothing where they are there
//! (design: sandbox §1). Which those are is part of the plan. Whoever has one in the way is served by a fresh interpreter, which
//! builds its own root and puts the covers on; what waits warm has its root already.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};

use metnos_proto::executor::forbidden::CLOSED_NAMES;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::mounts;
use crate::order;
use crate::plan::{Memory, MountFlags, Plan};

/// The size of a cover: nothing is ever in it.
const NOTHING: Memory = Memory { bytes: 4096, files: 2 };
/// How many folders are remembered as having none.
const MAX_REMEMBERED: usize = 256;
/// How old the last change of a folder must be, in seconds, for its time to tell it from a later one.
const SETTLED_S: i64 = 2;

/// The closed places below `folder`, as the sandbox names them.
pub fn below(folder: &str) -> impl Iterator<Item = String> + '_ {
    CLOSED_NAMES.iter().map(move |(name, _why)| format!("{folder}/{name}"))
}

/// Covers what is there of `masks`, below the new root.
///
/// # Errors
/// In a sentence, what could not be covered.
pub fn cover(root: BorrowedFd<'_>, masks: &[String]) -> Result<(), String> {
    for path in masks {
        // A link is followed by nobody, and where nobody gets in nothing need be covered.
        let place = match mounts::open_path(root, path) {
            Ok(place) => place,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => continue,
            Err(errno) => return Err(format!("{path}: {errno}")),
        };
        put_on(place.as_fd()).map_err(|errno| format!("{path}: {errno}"))?;
    }
    Ok(())
}

fn put_on(place: BorrowedFd<'_>) -> Result<(), Errno> {
    let folder = FileType::from_raw_mode(rustix::fs::fstat(place)?.st_mode).is_dir();
    let cover = if folder {
        mounts::memory(NOTHING, "0555")?
    } else {
        // A device on a mount without devices: it cannot be opened.
        let null = rustix::fs::openat(CWD, "/dev/null", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        mounts::copy_tree(null.as_fd(), false)?
    };
    mounts::restrict(cover.as_fd(), MountFlags::READ)?;
    mounts::attach(cover.as_fd(), place)
}

/// Which granted folders have nothing to cover, remembered for as long as they do not change.
#[derive(Debug, Default)]
pub struct Known(RefCell<BTreeMap<(u64, u64), (i64, u64)>>);

impl Known {
    /// Whether the folders that `plan` grants hold anything that it covers. What cannot be looked at does.
    #[must_use]
    pub fn any(&self, plan: &Plan) -> bool {
        let granted = plan.spec().mounts.iter().filter(|mount| order::is_granted(mount.purpose));
        let mut folders = granted.filter(|mount| plan.spec().masks.iter().any(|mask| mask.starts_with(&mount.target)));
        folders.any(|mount| self.below(&mount.source).unwrap_or(true))
    }

    fn below(&self, source: &str) -> Result<bool, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat2(CWD, source, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        let stat = rustix::fs::fstat(&folder)?;
        let (which, changed) = ((stat.st_dev, stat.st_ino), (stat.st_ctime, stat.st_ctime_nsec));
        if self.0.borrow().get(&which) == Some(&changed) {
            return Ok(false);
        }
        // Their first parts: what lies deeper can appear without a change of this folder.
        let firsts: BTreeSet<&str> = CLOSED_NAMES.iter().filter_map(|(name, _)| name.split('/').next()).collect();
        let there = |name: &str| {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            rustix::fs::openat2(&folder, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve).is_ok()
        };
        if firsts.into_iter().any(there) {
            return Ok(CLOSED_NAMES.iter().any(|(name, _)| there(name)));
        }
        self.remember(which, changed, &stat);
        Ok(false)
    }

    fn remember(&self, which: (u64, u64), changed: (i64, u64), stat: &Stat) {
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(0));
        let mut known = self.0.borrow_mut();
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        if now.saturating_sub(stat.st_ctime) >= SETTLED_S {
            known.insert(which, changed);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_closed_place_is_seen_at_once_also_in_a_folder_that_was_remembered() {
        let known = Known::default();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        assert_eq!(known.below(path), Ok(false));
        // As if it had not changed for long.
        let stat = rustix::fs::stat(path).unwrap();
        known.0.borrow_mut().insert((stat.st_dev, stat.st_ino), (stat.st_ctime, stat.st_ctime_nsec));
        assert_eq!(known.below(path), Ok(false));
        std::fs::create_dir(folder.path().join(".ssh")).unwrap();
        // The clock of the file system moves in steps.
        while rustix::fs::stat(path).unwrap().st_ctime_nsec == stat.st_ctime_nsec {
            std::fs::write(folder.path().join("a"), "").unwrap();
            std::fs::remove_file(folder.path().join("a")).unwrap();
        }
        assert_eq!(known.below(path), Ok(true));
        std::fs::remove_dir(folder.path().join(".ssh")).unwrap();
        std::fs::create_dir(folder.path().join(".config")).unwrap();
        assert_eq!(known.below(path), Ok(false));
        std::fs::create_dir(folder.path().join(".config/metnos")).unwrap();
        assert_eq!(known.below(path), Ok(true), "deeper than what was looked at first");
        assert!(known.below("/none").is_err());
    }
}
