//! Mounting by descriptor, for sandboxd's own view and for each sandbox. A path string is
//! never given to `mount(2)`: what was opened is what is mounted, and nothing is followed.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags};

use crate::plan::{Memory, MountFlags};
use crate::sys;

/// Opens a path without following any link, for naming it only.
///
/// # Errors
/// What the kernel says; `ELOOP` when there is a link on the way.
pub fn open_path(root: BorrowedFd<'_>, path: impl AsRef<OsStr>) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::IN_ROOT;
    rustix::fs::openat2(root, path.as_ref(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// A detached copy of the mount that `path` (from [`open_path`]) stands on, from there downwards.
///
/// # Errors
/// What the kernel says.
pub fn copy_tree(path: BorrowedFd<'_>, recursive: bool) -> Result<OwnedFd, Errno> {
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    if recursive {
        flags |= OpenTreeFlags::AT_RECURSIVE;
    }
    rustix::mount::open_tree(path, "", flags)
}

/// Takes from a mount what `flags` takes.
///
/// # Errors
/// What the kernel says.
pub fn restrict(mount: BorrowedFd<'_>, flags: MountFlags) -> Result<(), Errno> {
    sys::set_mount_attributes(mount, attributes(flags).bits().into())
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

fn attributes(flags: MountFlags) -> MountAttrFlags {
    let mut attributes = MountAttrFlags::empty();
    attributes.set(MountAttrFlags::MOUNT_ATTR_RDONLY, flags.read_only);
    attributes.set(MountAttrFlags::MOUNT_ATTR_NOSUID, flags.no_suid);
    attributes.set(MountAttrFlags::MOUNT_ATTR_NODEV, flags.no_dev);
    attributes.set(MountAttrFlags::MOUNT_ATTR_NOEXEC, flags.no_exec);
    attributes.set(MountAttrFlags::MOUNT_ATTR_NOSYMFOLLOW, flags.no_symfollow);
    attributes
}

/// A new file system in memory, not yet attached anywhere, that belongs to no other process. Nothing in it can be executed.
///
/// # Errors
/// What the kernel says.
pub fn memory(size: Memory, mode: &str) -> Result<OwnedFd, Errno> {
    memory_with(size, mode, MountAttrFlags::MOUNT_ATTR_NOEXEC)
}

/// The same, for code.
///
/// # Errors
/// What the kernel says.
pub fn memory_for_code(size: Memory, mode: &str) -> Result<OwnedFd, Errno> {
    memory_with(size, mode, MountAttrFlags::empty())
}

fn memory_with(size: Memory, mode: &str, more: MountAttrFlags) -> Result<OwnedFd, Errno> {
    let context = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let fd = context.as_fd();
    rustix::mount::fsconfig_set_string(fd, "size", size.bytes.to_string())?;
    rustix::mount::fsconfig_set_string(fd, "nr_inodes", size.files.to_string())?;
    rustix::mount::fsconfig_set_string(fd, "mode", mode)?;
    rustix::mount::fsconfig_create(fd)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | more;
    rustix::mount::fsmount(fd, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Attaches a detached mount at what `place` names.
///
/// # Errors
/// What the kernel says.
pub fn attach(mount: BorrowedFd<'_>, place: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(mount, "", place, "", flags)
}

/// Makes the folder or empty file `path` below `root`, with all folders on the way, unless it is there.
///
/// # Errors
/// What the kernel says.
pub fn make_place(root: BorrowedFd<'_>, path: &str, folder: bool) -> Result<OwnedFd, Errno> {
    let relative = path.trim_start_matches('/');
    for (at, _) in relative.match_indices('/').chain(folder.then_some((relative.len(), ""))) {
        match rustix::fs::mkdirat(root, &relative[..at], Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST | Errno::ROFS) => {}
            Err(errno) => return Err(errno),
        }
    }
    if !folder {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        match rustix::fs::openat(root, relative, flags, Mode::from_raw_mode(0o444)) {
            // What stands there already (an extension in the standard library) is only mounted over.
            Ok(_) | Err(Errno::ACCESS | Errno::ROFS) => {}
            Err(errno) => return Err(errno),
        }
    }
    open_path(root, relative)
}

/// Writes a new file of these permissions below `root`.
///
/// # Errors
/// What the kernel says.
pub fn write_file(root: BorrowedFd<'_>, path: &str, content: &[u8], mode: u32) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(root, path.trim_start_matches('/'), flags, Mode::from_raw_mode(mode))?;
    let mut rest = content;
    while !rest.is_empty() {
        match rustix::io::write(&file, rest) {
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Makes `root`, a folder that is a mount, the root of this process, and lets go of the old one.
///
/// # Errors
/// What the kernel says.
pub fn change_root(root: BorrowedFd<'_>) -> Result<(), Errno> {
    rustix::process::fchdir(root)?;
    // Old and new root at the same place: the old one ends up on top and is taken off (pivot_root(2), notes).
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", rustix::mount::UnmountFlags::DETACH)?;
    rustix::process::chdir("/")
}

/// Maps exactly one user and one group of the surrounding namespace to `inner`, in this process's
/// own new user namespace. Needs `/proc`.
///
/// # Errors
/// What the kernel says; `EACCES` when this process is not dumpable.
pub fn map_ids(proc_self: BorrowedFd<'_>, inner: u32, uid: u32, gid: u32) -> Result<(), Errno> {
    let write = |name: &str, text: &str| {
        let file = rustix::fs::openat(proc_self, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(&file, text.as_bytes()).map(|_| ())
    };
    write("setgroups", "deny")?;
    write("uid_map", &format!("{inner} {uid} 1\n"))?;
    let inner_gid = if inner == uid { gid } else { inner };
    write("gid_map", &format!("{inner_gid} {gid} 1\n"))
}
