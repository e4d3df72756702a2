//! Folders outside the workspace, from the supervisor's descriptors into sandboxd's own view. sandboxd's user need not be able to
//! walk to them, and no path is looked up again: what was opened for it is what is shown (design: sandbox §1, §5).
//!
//! A descriptor names a mount of the namespace in which it was opened, and nothing can be copied from there to another one. But
//! who enters a new namespace takes the folder he stands in along; so a child stands in it, enters one, and hands a copy back.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use metnos_proto::socket;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions};

use crate::confine::mounts;
use crate::plan::MountFlags;
use crate::sys::{self, Cloned};

/// What the supervisor has opened for sandboxd.
#[derive(Debug)]
pub struct HostFolders {
    /// A line to what dials for executors, where that was started already.
    pub egress: Option<OwnedFd>,
    /// Listed folders by their paths, open for naming them only.
    pub folders: Vec<(String, OwnedFd)>,
    /// The subtree of control groups that calls get theirs in, or why there is none.
    pub groups: Result<OwnedFd, String>,
}

impl Default for HostFolders {
    fn default() -> Self {
        let groups = Err("the supervisor has said nothing of any".to_owned());
        Self { egress: None, folders: Vec::new(), groups }
    }
}

/// Copies of the mount that `folder` stands on, from there downwards and without what is mounted below it, one for each of
/// `flags`. Call it in a process of one thread that is in its own user namespace, and not yet in its own of mounts.
///
/// # Errors
/// What the kernel says: `INVAL` when something is mounted below it.
pub fn copies<const N: usize>(folder: BorrowedFd<'_>, flags: [MountFlags; N]) -> Result<Vec<OwnedFd>, Errno> {
    let from_io = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let (ours, theirs) = socket::pair().map_err(from_io)?;
    match sys::clone_process(0, None).map_err(from_io)? {
        Cloned::Child => {
            let made = copy(folder, flags);
            let errno = made.as_ref().err().map_or(0, |errno| errno.raw_os_error());
            let fds: Vec<BorrowedFd<'_>> = made.iter().flatten().map(AsFd::as_fd).collect();
            let sent = socket::send(theirs.as_fd(), &errno.to_ne_bytes(), &fds);
            sys::exit_now(i32::from(sent.is_err()))
        }
        Cloned::Parent { pid: _, pidfd } => {
            // With the child's death its end is closed, so this does not wait for ever.
            drop(theirs);
            rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED)?;
            let mut answer = [0; 4];
            let packet = socket::receive_handed(ours.as_fd(), &mut answer).map_err(|_| Errno::PIPE)?;
            match packet.map(|packet| packet.fds) {
                Some(fds) if fds.len() == N => Ok(fds),
                Some(_) | None => Err(Errno::from_raw_os_error(i32::from_ne_bytes(answer).max(1))),
            }
        }
    }
}

/// In the child.
fn copy<const N: usize>(folder: BorrowedFd<'_>, flags: [MountFlags; N]) -> Result<Vec<OwnedFd>, Errno> {
    rustix::process::fchdir(folder)?;
    sys::unshare_mounts().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let private = rustix::mount::MountPropagationFlags::PRIVATE | rustix::mount::MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)?;
    let here = rustix::fs::openat(CWD, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let one = |flags| {
        let tree = mounts::copy_tree(here.as_fd(), false)?;
        mounts::restrict(tree.as_fd(), flags)?;
        Ok(tree)
    };
    flags.into_iter().map(one).collect()
}
