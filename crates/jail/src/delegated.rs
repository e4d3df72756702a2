//! The subtree of control groups that a service manager has delegated to the service, arranged so that sandboxd can give
//! each call a group of its own. It never touches a group that is not marked as delegated, and never one above it.
//!
//! A group whose controllers are open to its children may hold no process itself, so everybody moves out of it first:
//! `supervisor/` for the supervisor and the daemons, `sandbox/sandboxd/` for sandboxd. `sandbox/` is sandboxd's, with the
//! groups of calls beside its own; what bounds `sandbox/` as a whole is not.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

/// What a group of a call needs.
const NEEDED: [&str; 3] = ["memory", "pids", "cpu"];
/// How it is opened to children.
const ENABLE: &str = "+memory +pids +cpu";
/// Where the supervisor and what it starts stay.
const SUPERVISOR: &str = "supervisor";
/// Below what sandboxd makes its groups.
const SANDBOX: &str = "sandbox";
/// Where sandboxd itself stays.
pub const SANDBOXD: &str = "sandboxd";
/// The mark of systemd (252 and later): `1` on what was delegated.
const MARK: &str = "user.delegate";
/// How often processes are moved out; what is started meanwhile is moved the next time.
const MAX_PASSES: usize = 8;
/// The longest file that is read here.
const MAX_FILE: usize = 256 << 10;

/// See the head of this file.
#[derive(Debug)]
pub struct Delegated {
    subtree: OwnedFd,
    home: OwnedFd,
}

impl Delegated {
    /// Finds the own group, and arranges it if it was delegated.
    ///
    /// # Errors
    /// In a sentence, why there are no groups for calls.
    pub fn take() -> Result<Self, String> {
        let read = |path: &str| std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
        let own = read("/proc/self/cgroup")?;
        let own = own_path(&own).ok_or("this kernel has no control groups of version 2")?;
        let place = place_of(&read("/proc/self/mountinfo")?, own);
        let place = place.ok_or("control groups of version 2 are mounted nowhere")?;
        let group = rustix::fs::open(&place, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let group = group.map_err(|errno| format!("{place}: {errno}"))?;
        let mut mark = [0_u8; 8];
        match rustix::fs::fgetxattr(&group, MARK, &mut mark) {
            Ok(1) if mark.first() == Some(&b'1') => Self::arrange(&group),
            Ok(_) | Err(_) => Err(format!("the control group {own} was not delegated to Metnos")),
        }
    }

    /// Arranges a delegated group.
    ///
    /// # Errors
    /// In a sentence, what it lacks.
    pub fn arrange(group: &OwnedFd) -> Result<Self, String> {
        let have = read(group.as_fd(), "cgroup.controllers")?;
        let lacks: Vec<&str> =
            NEEDED.into_iter().filter(|name| !have.split_whitespace().any(|one| one == *name)).collect();
        if !lacks.is_empty() {
            return Err(format!("what was delegated lacks the control of {}", lacks.join(", ")));
        }
        move_out(group.as_fd(), folder(group.as_fd(), SUPERVISOR)?.as_fd())?;
        write(group.as_fd(), "cgroup.subtree_control", ENABLE)?;
        let subtree = folder(group.as_fd(), SANDBOX)?;
        write(subtree.as_fd(), "cgroup.subtree_control", ENABLE)?;
        let home = folder(subtree.as_fd(), SANDBOXD)?;
        Ok(Self { subtree, home })
    }

    /// Gives sandboxd's part to its user: making groups, and moving processes between them. Its bounds as a whole stay
    /// with the one that delegated.
    ///
    /// # Errors
    /// In a sentence, what the kernel says.
    pub fn give(&self, uid: u32, gid: u32) -> Result<(), String> {
        let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        let give = |folder: BorrowedFd<'_>| {
            rustix::fs::fchown(folder, uid, gid)?;
            rustix::fs::chownat(folder, "cgroup.procs", uid, gid, AtFlags::SYMLINK_NOFOLLOW)
        };
        give(self.subtree.as_fd())
            .and_then(|()| give(self.home.as_fd()))
            .map_err(|errno| format!("giving sandboxd its control groups: {errno}"))
    }

    /// Puts sandboxd's process into its own group, before it starts any.
    ///
    /// # Errors
    /// In a sentence, what the kernel says.
    pub fn place(&self, pid: u32) -> Result<(), String> {
        write(self.home.as_fd(), "cgroup.procs", &pid.to_string())
    }

    /// What sandboxd makes its groups below.
    #[must_use]
    pub fn subtree(&self) -> BorrowedFd<'_> {
        self.subtree.as_fd()
    }
}

/// The own group of version 2, of the text of `/proc/self/cgroup`.
fn own_path(text: &str) -> Option<&str> {
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    // What lies outside of the own namespace begins with `/..`.
    (path.starts_with('/') && !path.split('/').any(|name| name == "..")).then_some(path)
}

/// Where that group is found, of the text of `/proc/self/mountinfo`.
fn place_of(mounts: &str, own: &str) -> Option<String> {
    mounts.lines().find_map(|line| {
        let (head, tail) = line.split_once(" - ")?;
        let mut fields = head.split(' ').skip(3);
        let (root, target) = (fields.next()?, fields.next()?);
        let below = if root == "/" { own } else { own.strip_prefix(root)? };
        let fits = tail.starts_with("cgroup2 ") && (below.is_empty() || below.starts_with('/'));
        fits.then(|| format!("{target}{below}").trim_end_matches('/').to_owned())
    })
}

/// Moves every process of `group` into `to`.
fn move_out(group: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<(), String> {
    for _ in 0..MAX_PASSES {
        let processes = read(group, "cgroup.procs")?;
        if processes.trim().is_empty() {
            return Ok(());
        }
        for pid in processes.split_whitespace() {
            match put(to, "cgroup.procs", pid) {
                // It has ended meanwhile.
                Ok(()) | Err(Errno::SRCH) => {}
                Err(errno) => {
                    return Err(format!("process {pid} cannot be moved within the own control group: {errno}"));
                }
            }
        }
    }
    Err("the own control group does not become empty".to_owned())
}

fn folder(parent: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, String> {
    match rustix::fs::mkdirat(parent, name, Mode::from(0o755)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(format!("making the control group {name}: {errno}")),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty()).map_err(|errno| format!("the control group {name}: {errno}"))
}

fn read(folder: BorrowedFd<'_>, name: &str) -> Result<String, String> {
    let failed = |errno: Errno| format!("{name}: {errno}");
    let file = rustix::fs::openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    let (mut text, mut piece) = (Vec::new(), [0_u8; 4096]);
    while text.len() < MAX_FILE {
        let length = rustix::io::read(&file, &mut piece).map_err(failed)?;
        if length == 0 {
            break;
        }
        text.extend_from_slice(piece.get(..length).unwrap_or_default());
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn write(folder: BorrowedFd<'_>, name: &str, text: &str) -> Result<(), String> {
    put(folder, name, text).map_err(|errno| format!("writing {text} to {name}: {errno}"))
}

fn put(folder: BorrowedFd<'_>, name: &str, text: &str) -> Result<(), Errno> {
    let file = rustix::fs::openat(folder, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.as_bytes()).map(drop)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use super::*;

    const MOUNTS: &str = "\
        30 24 0:26 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n\
        31 30 0:27 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn the_own_group_is_found_and_none_outside_of_what_is_seen() {
        let own = own_path("12:pids:/x\n0::/system.slice/metnos.service\n").unwrap();
        assert_eq!(place_of(MOUNTS, own).unwrap(), "/sys/fs/cgroup/system.slice/metnos.service");
        assert_eq!(place_of(MOUNTS, "/").unwrap(), "/sys/fs/cgroup");
        let below = MOUNTS.replace("0:27 / ", "0:27 /system.slice ");
        assert_eq!(place_of(&below, own).unwrap(), "/sys/fs/cgroup/metnos.service");
        assert_eq!(place_of(&below, "/system.slices/x"), None);
        assert_eq!(place_of("", own), None);
        assert_eq!(own_path("0::/../other\n"), None);
        assert_eq!(own_path("3:memory:/a\n"), None);
    }

    /// A folder that looks like a group, with the folders that the kernel would fill.
    fn fake(root: &Path, controllers: &str) -> OwnedFd {
        for folder in ["", "supervisor", "sandbox", "sandbox/sandboxd"] {
            let folder = root.join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            for file in ["cgroup.procs", "cgroup.subtree_control"] {
                std::fs::write(folder.join(file), "").unwrap();
            }
        }
        std::fs::write(root.join("cgroup.controllers"), controllers).unwrap();
        rustix::fs::open(root, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).unwrap()
    }

    #[test]
    fn cgroup_controllers_are_delegated_to_calls_and_sandboxd_has_own_group() {
        let root = tempfile::tempdir().unwrap();
        let group = fake(root.path(), "cpuset cpu io memory pids\n");
        let delegated = Delegated::arrange(&group).unwrap();
        delegated.place(4711).unwrap();
        let text = |path: &str| std::fs::read_to_string(root.path().join(path)).unwrap();
        assert_eq!(text("cgroup.subtree_control"), ENABLE);
        assert_eq!(text("sandbox/cgroup.subtree_control"), ENABLE);
        assert_eq!(text("sandbox/sandboxd/cgroup.procs"), "4711");
        assert_eq!(text("sandbox/sandboxd/cgroup.subtree_control"), "");
        assert_eq!(text("sandbox/cgroup.procs"), "");
    }

    #[test]
    fn a_group_without_a_controller_or_that_never_becomes_empty_is_not_used() {
        let root = tempfile::tempdir().unwrap();
        let why = Delegated::arrange(&fake(root.path(), "cpuset cpu io\n")).unwrap_err();
        assert!(why.contains("memory, pids"), "{why}");
        let group = fake(root.path(), "cpu memory pids\n");
        // Nobody moves anything in a folder of files.
        std::fs::write(root.path().join("cgroup.procs"), "17\n").unwrap();
        let why = Delegated::arrange(&group).unwrap_err();
        assert!(why.contains("does not become empty"), "{why}");
        assert_eq!(std::fs::read_to_string(root.path().join("cgroup.subtree_control")).unwrap(), "");
        assert!(std::fs::read_to_string(root.path().join("supervisor/cgroup.procs")).unwrap().contains("17"));
    }
}
