//! Control groups of calls, where the service has some delegated (design: sandbox §1): each process of an executor begins in
//! a group of its own, which bounds the memory, the threads and the processors of all that it is, and by which all of it is
//! ended. A group is made before its process, ahead of the call, and is gone after it.
//!
//! The groups are reached by the descriptor that the supervisor has handed over: sandboxd's view has no `/sys`.

use std::cell::{Cell, RefCell};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use metnos_jail::delegated::SANDBOXD;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::plan::Limits;
use crate::sys::{self, Cloned};

/// One processor's time, and no more, however many threads: so much of each period, in microseconds.
const CPU_MAX: &str = "100000 100000";
/// What a process has that waits for its call, and has no plan yet.
const WAITING: Limits = Limits {
    wall_s: 0,
    cpu_s: 0,
    address_bytes: 256 << 20,
    output_bytes: 0,
    processes: 16,
    open_files: 0,
    file_bytes: 0,
    stack_bytes: 0,
    disk_bytes: 0,
    gives_bytes: 0,
    disk_files: 0,
};
/// The most groups that could not be removed yet. With more, something is wrong, and no other is made.
const MAX_LEFT: usize = 256;

/// The subtree of this sandboxd's groups.
#[derive(Debug)]
pub struct Groups {
    subtree: OwnedFd,
    next: Cell<u64>,
    left: RefCell<Vec<String>>,
}

/// The group of one process. Dropped, everything in it ends, and it is gone.
#[derive(Debug)]
pub struct Group {
    groups: Rc<Groups>,
    name: String,
    folder: OwnedFd,
}

/// What a group has stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stopped {
    /// Its memory was over, and the kernel ended it.
    pub memory: bool,
    /// It wanted more threads than it may have.
    pub processes: bool,
}

impl Groups {
    /// Takes over a subtree, removes what an earlier sandboxd has left in it, and tries once whether a process can begin in a
    /// group.
    ///
    /// # Errors
    /// In a sentence, what does not work.
    pub fn open(subtree: OwnedFd) -> Result<Rc<Self>, String> {
        let groups = Rc::new(Self { subtree, next: Cell::new(0), left: RefCell::default() });
        groups.sweep().map_err(|errno| format!("looking for old control groups: {errno}"))?;
        let group = groups.make().map_err(|errno| format!("making a control group: {errno}"))?;
        let failed = |error: std::io::Error| format!("starting a process in a control group: {error}");
        match sys::clone_process(0, Some(group.folder())).map_err(failed)? {
            Cloned::Child => sys::exit_now(0),
            Cloned::Parent { pid: _, pidfd } => {
                let id = rustix::process::WaitId::PidFd(pidfd.as_fd());
                let ended = rustix::process::waitid(id, rustix::process::WaitIdOptions::EXITED);
                ended.map_err(|errno| failed(errno.into()))?;
            }
        }
        Ok(groups)
    }

    /// Ends and removes every group but sandboxd's own.
    fn sweep(&self) -> Result<(), Errno> {
        for name in self.names()? {
            if let Ok(folder) = self.folder(&name) {
                // It has ended already, if it fails.
                let _ = write(folder.as_fd(), "cgroup.kill", "1");
            }
            self.remove(name);
        }
        Ok(())
    }

    /// A new group, with all that does not depend on a plan.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn make(self: &Rc<Self>) -> Result<Group, Errno> {
        // Of those whose processes had not quite ended when they were dropped.
        let left = std::mem::take(&mut *self.left.borrow_mut());
        left.into_iter().for_each(|name| self.remove(name));
        if self.left.borrow().len() >= MAX_LEFT {
            return Err(Errno::AGAIN);
        }
        let number = self.next.get();
        self.next.set(number + 1);
        let name = format!("call-{number}");
        rustix::fs::mkdirat(&self.subtree, &name, Mode::from(0o755))?;
        let folder = self.folder(&name).inspect_err(|_| self.remove(name.clone()))?;
        let group = Group { groups: Rc::clone(self), name, folder };
        group.prepare()?;
        Ok(group)
    }

    /// The groups that are there, but for sandboxd's own.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn names(&self) -> Result<Vec<String>, Errno> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.subtree)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type() == rustix::fs::FileType::Directory && ![".", "..", SANDBOXD].contains(&name.as_str()) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn folder(&self, name: &str) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.subtree, name, flags, Mode::empty())
    }

    fn remove(&self, name: String) {
        match rustix::fs::unlinkat(&self.subtree, &name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(_) => self.left.borrow_mut().push(name),
        }
    }
}

impl Group {
    /// It, for the kernel to start a process in.
    #[must_use]
    pub fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    fn prepare(&self) -> Result<(), Errno> {
        write(self.folder(), "memory.oom.group", "1")?;
        match write(self.folder(), "memory.swap.max", "0") {
            // A kernel that does not count swap has no such file.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
        write(self.folder(), "cpu.max", CPU_MAX)?;
        self.limit(&WAITING)
    }

    /// Bounds it as the plan of its call says.
    ///
    /// # Errors
    /// What the kernel says; the process must then not run.
    pub fn limit(&self, limits: &Limits) -> Result<(), Errno> {
        write(self.folder(), "memory.max", &limits.address_bytes.to_string())?;
        write(self.folder(), "pids.max", &limits.processes.to_string())
    }

    /// Ends all that is in it.
    pub fn kill(&self) {
        // Where this fails nothing is in it, and its process is killed by its descriptor besides.
        let _ = write(self.folder(), "cgroup.kill", "1");
    }

    /// What it has stopped so far.
    #[must_use]
    pub fn stopped(&self) -> Stopped {
        let count = |file: &str, key: &str| {
            let text = read(self.folder(), file).unwrap_or_default();
            text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        Stopped {
            memory: count("memory.events", "oom_kill ") + count("memory.events", "oom_group_kill ") > 0,
            processes: count("pids.events", "max ") > 0,
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        self.groups.remove(std::mem::take(&mut self.name));
    }
}

fn open(folder: BorrowedFd<'_>, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(folder, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn write(folder: BorrowedFd<'_>, name: &str, text: &str) -> Result<(), Errno> {
    rustix::io::write(open(folder, name, OFlags::WRONLY)?, text.as_bytes()).map(drop)
}

/// A short file.
fn read(folder: BorrowedFd<'_>, name: &str) -> Result<String, Errno> {
    let mut text = [0_u8; 1024];
    let length = rustix::io::read(open(folder, name, OFlags::RDONLY)?, &mut text)?;
    Ok(String::from_utf8_lossy(text.get(..length).unwrap_or_default()).into_owned())
}

#[cfg(test)]
#[path = "groups_tests.rs"]
mod tests;
