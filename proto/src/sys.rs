//! The system calls of this crate that safe wrappers do not reach: the only `unsafe` in it.
#![allow(unsafe_code, reason = "each block says why it is needed and why it is sound")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use tokio::io::unix::AsyncFd;

/// Watches a descriptor that nobody else owns. Must run inside a tokio runtime.
///
/// # Errors
/// When the descriptor is of a kind that cannot be watched.
pub fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: `AsyncFd` now owns the `OwnedFd`, which is valid and open until it is dropped, and
    // whose `as_raw_fd` always names the same descriptor. Only shared references to it are handed out.
    Ok(unsafe { AsyncFd::register(fd) }?)
}

/// `SO_PASSRIGHTS` (Linux 6.16, `asm-generic/socket.h`); no wrapper knows it yet.
const SO_PASSRIGHTS: libc::c_int = 83;

/// Has the kernel refuse descriptors sent to this socket. `false` on a kernel that cannot: there a
/// descriptor that came is closed with the edge.
///
/// # Errors
/// When this is no socket.
pub fn refuse_rights(socket: impl AsFd) -> io::Result<bool> {
    let off: libc::c_int = 0;
    // SAFETY: the pointer and the length describe `off`, which outlives the call; the kernel only reads it.
    let done = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PASSRIGHTS,
            std::ptr::from_ref(&off).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOPROTOOPT) => Ok(false),
        _ => Err(error),
    }
}
