//! `SOCK_SEQPACKET` as this project uses it: whole packets, with their descriptors, never blocking.
//!
//! One implementation for the blocking and the tokio link. It is our own and not
//! `tokio-seqpacket`'s because a truncated packet or a truncated list of descriptors
//! must be an error here, and because descriptors must arrive as owned values that are
//! closed on every path.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

use crate::frame::{MAX_FDS, MAX_FRAME};

/// The most descriptors in a packet that is no word of an edge, but starts a process with all it will have.
pub const MAX_HANDED: usize = 26;

/// A packet as it came: its bytes are in the caller's buffer.
#[derive(Debug)]
pub struct Packet {
    /// How many bytes.
    pub len: usize,
    /// The descriptors that came with it.
    pub fds: Vec<OwnedFd>,
}

/// A fresh pair of connected ends, non-blocking and closed on exec.
///
/// # Errors
/// When there is no descriptor left.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// A fresh pair for an edge: where no word of it brings a descriptor, the kernel lets none through.
///
/// # Errors
/// When there is no descriptor left.
pub fn pair_for(edge: crate::edges::EdgeId) -> io::Result<(OwnedFd, OwnedFd)> {
    let (asker, answerer) = pair()?;
    if !edge.carries_fds() {
        crate::sys::refuse_rights(&asker)?;
        crate::sys::refuse_rights(&answerer)?;
    }
    Ok((asker, answerer))
}

/// Sends one packet with its descriptors, or nothing.
///
/// # Errors
/// `WouldBlock` when the peer does not read, `BrokenPipe` or `ConnectionReset` when it is gone.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let whole = |sent| if sent == bytes.len() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::WriteZero)) };
    if fds.is_empty() {
        // Most packets; the kernel takes them by a shorter way.
        return whole(rustix::net::send(socket, bytes, flags)?);
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_HANDED))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "more descriptors than a packet may carry"));
    }
    whole(rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags)?)
}

/// Receives one packet into `buffer`; `None` when the peer is gone.
///
/// # Errors
/// `WouldBlock` when there is none yet; `InvalidData` when it, or its descriptors, did not fit: what
/// came of them is closed.
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Option<Packet>> {
    receive_with(socket, buffer, RecvFlags::DONTWAIT)
}

/// The same, waiting as long as the socket's own bound allows ([`set_bound`]).
///
/// # Errors
/// As [`receive`]; `WouldBlock` when the bound is over, `Interrupted` when a signal came.
pub fn receive_within_bound(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Option<Packet>> {
    receive_with(socket, buffer, RecvFlags::empty())
}

/// The same, of a packet that hands over a process's descriptors ([`MAX_HANDED`]); waits for it.
///
/// # Errors
/// As [`receive`].
pub fn receive_handed(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Option<Packet>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_HANDED))];
    receive_into(socket, buffer, RecvFlags::empty(), &mut space)
}

fn receive_with(socket: BorrowedFd<'_>, buffer: &mut [u8], wait: RecvFlags) -> io::Result<Option<Packet>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    receive_into(socket, buffer, wait, &mut space)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "rustix's messages are not ours")]
fn receive_into(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    wait: RecvFlags,
    space: &mut [MaybeUninit<u8>],
) -> io::Result<Option<Packet>> {
    let mut control = RecvAncillaryBuffer::new(space);
    let flags = RecvFlags::CMSG_CLOEXEC | wait;
    let mut receive = || rustix::net::recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, flags);
    // A peer that died with unread data: the kernel says so once, ahead of what the peer had still sent.
    let first = receive();
    let received = match if matches!(first, Err(rustix::io::Errno::CONNRESET)) { receive() } else { first } {
        Ok(received) => received,
        Err(rustix::io::Errno::CONNRESET | rustix::io::Errno::PIPE) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut fds = Vec::new();
    let mut foreign = false;
    for message in control.drain() {
        match message {
            RecvAncillaryMessage::ScmRights(rights) => fds.extend(rights),
            _ => foreign = true,
        }
    }
    if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) || foreign {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a packet or its descriptors did not fit"));
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    Ok(Some(Packet { len: received.bytes, fds }))
}

/// A buffer that any packet fits in.
#[must_use]
pub fn buffer() -> Vec<u8> {
    vec![0; MAX_FRAME]
}

/// Lets [`receive_within_bound`] wait on this socket, and at most so long (at least a microsecond).
///
/// # Errors
/// When the kernel refuses.
pub fn set_bound(socket: impl AsFd, bound: std::time::Duration) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&socket)?;
    rustix::fs::fcntl_setfl(&socket, flags - rustix::fs::OFlags::NONBLOCK)?;
    let bound = bound.max(std::time::Duration::from_micros(1));
    Ok(rustix::net::sockopt::set_socket_timeout(&socket, rustix::net::sockopt::Timeout::Recv, Some(bound))?)
}

/// Makes sure that no call on this descriptor ever waits in the kernel.
///
/// # Errors
/// When the kernel refuses.
pub fn set_nonblocking(socket: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&socket)?;
    Ok(rustix::fs::fcntl_setfl(&socket, flags | rustix::fs::OFlags::NONBLOCK)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_packet_arrives_whole_with_its_descriptors() {
        let (ours, theirs) = pair().unwrap();
        let (pipe, _end) = rustix::pipe::pipe().unwrap();
        send(ours.as_fd(), b"words", &[pipe.as_fd(), pipe.as_fd()]).unwrap();
        let mut buffer = buffer();
        let packet = receive(theirs.as_fd(), &mut buffer).unwrap().unwrap();
        assert_eq!((&buffer[..packet.len], packet.fds.len()), (&b"words"[..], 2));
        assert_eq!(receive(theirs.as_fd(), &mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(ours);
        assert!(receive(theirs.as_fd(), &mut buffer).unwrap().is_none());
    }

    #[test]
    fn last_packet_of_a_peer_arrives_although_it_left_data_unread() {
        let (ours, theirs) = pair().unwrap();
        send(ours.as_fd(), b"a question", &[]).unwrap();
        send(theirs.as_fd(), b"why it ends", &[]).unwrap();
        drop(theirs);
        let mut buffer = buffer();
        let packet = receive(ours.as_fd(), &mut buffer).unwrap().unwrap();
        assert_eq!(&buffer[..packet.len], b"why it ends");
        assert!(receive(ours.as_fd(), &mut buffer).unwrap().is_none());
    }

    #[test]
    fn waiting_for_a_packet_ends_with_the_bound() {
        let (ours, theirs) = pair().unwrap();
        set_bound(&theirs, std::time::Duration::from_micros(500)).unwrap();
        let none = receive_within_bound(theirs.as_fd(), &mut buffer()).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
        send(ours.as_fd(), b"words", &[]).unwrap();
        assert_eq!(receive_within_bound(theirs.as_fd(), &mut buffer()).unwrap().unwrap().len, 5);
    }

    #[test]
    fn a_packet_that_does_not_fit_is_an_error_and_its_descriptors_are_closed() {
        let (ours, theirs) = pair().unwrap();
        let (read, write) = rustix::pipe::pipe().unwrap();
        send(ours.as_fd(), &[1; 100], &[write.as_fd()]).unwrap();
        drop(write);
        assert_eq!(receive(theirs.as_fd(), &mut [0; 10]).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let mut byte = [0];
        assert_eq!(rustix::io::read(&read, &mut byte), Ok(0), "the received copy is still open");
    }

    #[test]
    fn an_edge_without_payloads_lets_no_descriptor_through() {
        use crate::edges::EdgeId;
        assert!(!EdgeId::SandboxdMemoryd.carries_fds());
        let (ours, theirs) = pair_for(EdgeId::SandboxdMemoryd).unwrap();
        let (pipe, _end) = rustix::pipe::pipe().unwrap();
        if crate::sys::refuse_rights(&theirs).unwrap() {
            assert!(send(ours.as_fd(), b"words", &[pipe.as_fd()]).is_err());
        } else {
            println!("skipped in part: this kernel has no SO_PASSRIGHTS");
        }
        send(ours.as_fd(), b"words", &[]).unwrap();
        assert_eq!(receive(theirs.as_fd(), &mut buffer()).unwrap().unwrap().fds.len(), 0);
        let (ours, theirs) = pair_for(EdgeId::PlannerPolicyd).unwrap();
        send(ours.as_fd(), b"words", &[pipe.as_fd()]).unwrap();
        assert_eq!(receive(theirs.as_fd(), &mut buffer()).unwrap().unwrap().fds.len(), 1);
    }

    #[test]
    fn a_peer_that_dies_with_unread_data_is_gone_not_broken() {
        let (ours, theirs) = pair().unwrap();
        send(theirs.as_fd(), b"unread by the one who dies", &[]).unwrap();
        drop(ours);
        assert!(receive(theirs.as_fd(), &mut buffer()).unwrap().is_none());
        assert_eq!(send(theirs.as_fd(), b"x", &[]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
