//! What must not exist in a call's world or not be changed there, covered: closed places and files of secrets below a granted folder, as
//! [`crate::confine::hidden`] found them (design: sandbox §1). A call with one in the way is served by a fresh interpreter, which builds its
//! own root and puts the covers on; what waits warm has its root already.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::confine::hidden::{Cover, CoverKind};
use crate::confine::mounts;
use crate::plan::{Memory, MountFlags};

/// The size of a cover: nothing is ever in it.
const NOTHING: Memory = Memory { bytes: 4096, files: 2 };

/// Covers what is there of `covers`, below the new root.
///
/// # Errors
/// In a sentence, what could not be covered.
pub fn cover(root: BorrowedFd<'_>, covers: &[Cover]) -> Result<(), String> {
    for Cover { path, how } in covers {
        // No link is followed, and what cannot be entered need not be covered.
        let place = match mounts::open_path(root, path) {
            Ok(place) => place,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => continue,
            Err(errno) => return Err(format!("{}: {errno}", path.display())),
        };
        put_cover(place.as_fd(), *how).map_err(|errno| format!("{}: {errno}", path.display()))?;
    }
    Ok(())
}

fn put_cover(place: BorrowedFd<'_>, how: CoverKind) -> Result<(), Errno> {
    let folder = FileType::from_raw_mode(rustix::fs::fstat(place)?.st_mode).is_dir();
    let cover = if how == CoverKind::ReadOnly {
        mounts::copy_tree(place, false)?
    } else if folder {
        mounts::memory(NOTHING, "0555")?
    } else {
        // A device on a mount without devices: it cannot be opened.
        let null = rustix::fs::openat(CWD, "/dev/null", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        mounts::copy_tree(null.as_fd(), false)?
    };
    mounts::restrict(cover.as_fd(), MountFlags::READ)?;
    mounts::attach(cover.as_fd(), place)
}
