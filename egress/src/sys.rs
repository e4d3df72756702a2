//! The one system call that safe wrappers do not reach: the only `unsafe` of this crate.
#![allow(unsafe_code, reason = "the block says why it is needed and why it is sound")]

use std::io;

/// Which side of a fork this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forked {
    /// The new process.
    Child,
    /// The one that forked.
    Parent,
}

/// Forks this process, which must have one thread.
///
/// # Errors
/// What the kernel says.
pub fn fork() -> io::Result<Forked> {
    // SAFETY: with one thread the copy is whole: no lock is held by a thread that the child does not have.
    match unsafe { libc::fork() } {
        0 => Ok(Forked::Child),
        pid if pid > 0 => Ok(Forked::Parent),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Leaves the process at once: no destructor, no exit handler.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process and touches no memory.
    unsafe { libc::_exit(code) }
}

/// Closes a descriptor by its number. Only for those that a fresh process has inherited and will not use.
pub fn close(number: i32) {
    // SAFETY: right after the fork, before anything of this process is opened; the owners of these numbers live in
    // the parent, and their values in this process are never touched again: it never returns into the parent's code.
    unsafe {
        libc::close(number);
    }
}

/// Maps memory and lets it go, for a test of what may be mapped.
///
/// # Errors
/// What the kernel says.
#[cfg(test)]
pub fn map(size: usize, flags: rustix::mm::ProtFlags) -> rustix::io::Result<()> {
    // SAFETY: the kernel chooses a free place, and nothing ever looks into it.
    unsafe {
        let place = rustix::mm::mmap_anonymous(std::ptr::null_mut(), size, flags, rustix::mm::MapFlags::PRIVATE)?;
        rustix::mm::munmap(place, size)
    }
}
