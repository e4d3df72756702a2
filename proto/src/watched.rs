//! Descriptors on tokio's reactor: the one place of this crate that needs `unsafe`.
#![allow(unsafe_code, reason = "tokio cannot know that an `OwnedFd` stays open; we can")]

use std::io;
use std::os::fd::OwnedFd;

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
