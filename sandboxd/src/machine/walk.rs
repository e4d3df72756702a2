//! Reading folders below an open one, step by step, without following a link or leaving its file system.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use metnos_proto::executor::secret_names::SIGNATURE_BYTES;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Opens a granted folder in sandboxd's own view, for naming it only.
///
/// # Errors
/// What the kernel says.
pub fn root(source: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, source, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// A path below a folder as the kernel takes it.
#[must_use]
pub fn here(path: &OsStr) -> &OsStr {
    if path.is_empty() { OsStr::new(".") } else { path }
}

/// The path of an entry of a folder.
#[must_use]
pub fn join(folder: &OsStr, name: &OsStr) -> OsString {
    let mut path = folder.to_owned();
    if !path.is_empty() {
        path.push("/");
    }
    path.push(name);
    path
}

/// Opens a folder below `root`, to read it.
///
/// # Errors
/// What the kernel says.
pub fn open(root: &OwnedFd, path: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOATIME;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let opened = rustix::fs::openat2(root, here(path), flags, Mode::empty(), resolve);
    // Without leaving a time of access only the owner may.
    opened.or_else(|errno| match errno {
        Errno::PERM => rustix::fs::openat2(root, here(path), flags & !OFlags::NOATIME, Mode::empty(), resolve),
        errno => Err(errno),
    })
}

/// The first bytes of a regular file below `root`, as many as tell whether it holds a secret; of what is none, nothing.
///
/// # Errors
/// What the kernel says.
pub fn head(root: &OwnedFd, path: &OsStr) -> Result<Vec<u8>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let file = rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)?;
    if !FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode).is_file() {
        return Ok(Vec::new());
    }
    let mut head = vec![0; SIGNATURE_BYTES];
    let read = rustix::io::pread(&file, &mut head, 0)?;
    head.truncate(read);
    Ok(head)
}

/// Every entry of a folder, for as long as `take` wants more.
///
/// # Errors
/// What the kernel says.
pub fn read(folder: &OwnedFd, mut take: impl FnMut(&OsStr, FileType) -> bool) -> Result<(), Errno> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let status = rustix::fs::statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW);
                status.map_or(FileType::Unknown, |status| FileType::from_raw_mode(status.st_mode))
            }
            kind @ (FileType::RegularFile
            | FileType::Directory
            | FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice) => kind,
        };
        if !take(name, kind) {
            break;
        }
    }
    Ok(())
}
