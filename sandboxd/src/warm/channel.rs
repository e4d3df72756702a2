//! What a waiting process is sent before its request.

use std::io::IoSlice;
use std::os::fd::BorrowedFd;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

use super::{Idle, MAX_TOLD};
use crate::confine::order::layout;

/// Sends a process its code, so that it has it loaded when its request comes; what is still to be sent. `None` when it
/// does not hear any more.
pub(super) fn send_code(idle: &Idle, code: Vec<u8>) -> Option<Vec<u8>> {
    if code.len() > MAX_TOLD {
        return Some(code);
    }
    match send(idle.channel().ok()?, &code, &[]) {
        Ok(()) => Some(Vec::new()),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Some(code),
        Err(error) => {
            tracing::warn!(%error, "a warm process does not hear its code");
            None
        }
    }
}

/// Sends all at once, with descriptors. A channel that nothing was sent over yet has room for an order and code.
pub(super) fn send(channel: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> std::io::Result<()> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(layout::MAX_MOUNTS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(std::io::Error::other("too many mounts"));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let sent = rustix::net::sendmsg(channel, &[IoSlice::new(bytes)], &mut control, flags)?;
    if sent == bytes.len() { Ok(()) } else { Err(std::io::ErrorKind::WriteZero.into()) }
}
