//! Packets that no honest peer sends, one after the other on a channel's end. It must know nothing of
//! what the daemon does with them: the test asks the daemon's supervisor end for that.

use std::os::fd::{AsFd, OwnedFd};

use metnos_proto::edge::{Edge, RawEnd};
use metnos_proto::frame::{HEADER, Header, Kind, MAX_FRAME};
use metnos_proto::ids::TraceId;
use metnos_proto::link::Hello;
use metnos_proto::{frame, socket};

/// One way to lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// The first packet is not a hello.
    NoHello,
    /// A hello of another protocol version.
    OldProtocol,
    /// A hello with another schema key.
    WrongSchema,
    /// A second hello.
    SecondHello,
    /// A hello with bytes after it.
    LongHello,
    /// A packet of another edge.
    ForeignEdge,
    /// A packet of the control star.
    ControlEdge,
    /// A kind of packet that does not exist.
    UnknownKind,
    /// Shorter than a header.
    Short,
    /// One byte over the limit.
    Oversize,
    /// An ask whose number no word has.
    UnknownWord,
    /// An ask of random bytes.
    Noise,
    /// A header that declares more descriptors than exist.
    TooManyDeclared,
    /// A header that declares a descriptor where none comes.
    MissingDescriptor,
    /// Descriptors beside a packet that declares none.
    ExtraDescriptors,
}

impl Lie {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::NoHello,
        Self::OldProtocol,
        Self::WrongSchema,
        Self::SecondHello,
        Self::LongHello,
        Self::ForeignEdge,
        Self::ControlEdge,
        Self::UnknownKind,
        Self::Short,
        Self::Oversize,
        Self::UnknownWord,
        Self::Noise,
        Self::TooManyDeclared,
        Self::MissingDescriptor,
        Self::ExtraDescriptors,
    ];

    /// Tells the lie on an end of edge `E`, as the side that `kind` belongs to: an asker lies with
    /// [`Kind::Ask`], an answerer with [`Kind::Note`].
    pub fn tell<E: Edge>(self, end: &RawEnd, kind: Kind) {
        let mut hello = Hello::of::<E>();
        match self {
            Self::NoHello => return send(end, &raw(E::ID.number(), kind, 0, &[]), &[]),
            Self::OldProtocol => hello.protocol = hello.protocol.wrapping_sub(1),
            Self::WrongSchema => hello.schema[0] ^= 1,
            Self::LongHello => {
                let mut packet = packet_of_hello::<E>(&hello);
                packet.push(0);
                return send(end, &packet, &[]);
            }
            Self::SecondHello
            | Self::ForeignEdge
            | Self::ControlEdge
            | Self::UnknownKind
            | Self::Short
            | Self::Oversize
            | Self::UnknownWord
            | Self::Noise
            | Self::TooManyDeclared
            | Self::MissingDescriptor
            | Self::ExtraDescriptors => {}
        }
        send(end, &packet_of_hello::<E>(&hello), &[]);
        let number = E::ID.number();
        let spare = || -> OwnedFd { rustix::pipe::pipe().unwrap().0 };
        match self {
            Self::NoHello | Self::OldProtocol | Self::WrongSchema | Self::LongHello => {}
            Self::SecondHello => send(end, &packet_of_hello::<E>(&hello), &[]),
            Self::ForeignEdge => send(end, &raw(number ^ 1, kind, 0, &[0]), &[]),
            Self::ControlEdge => send(end, &raw(0, Kind::Note, 0, &[0]), &[]),
            Self::UnknownKind => {
                let mut packet = raw(number, kind, 0, &[0]);
                packet[2] = 9;
                send(end, &packet, &[]);
            }
            Self::Short => send(end, &raw(number, kind, 0, &[])[..HEADER - 1], &[]),
            Self::Oversize => send(end, &raw(number, kind, 0, &vec![0; MAX_FRAME - HEADER + 1]), &[]),
            Self::UnknownWord => send(end, &raw(number, kind, 0, &[120, 0, 0, 0]), &[]),
            Self::Noise => send(end, &raw(number, kind, 0, &[0xff; 40]), &[]),
            Self::TooManyDeclared => send(end, &raw(number, kind, 5, &[0]), &[]),
            Self::MissingDescriptor => send(end, &raw(number, kind, 4, &[0]), &[]),
            Self::ExtraDescriptors => {
                send(end, &raw(number, kind, 0, &[0]), &[spare(), spare(), spare(), spare()]);
            }
        }
    }
}

fn packet_of_hello<E: Edge>(hello: &Hello) -> Vec<u8> {
    let header = Header { edge: E::ID.number(), kind: Kind::Hello, fds: 0, request: 0, trace: TraceId::NONE };
    frame::encode(header, hello).unwrap()
}

/// A packet with any header and any body, also such as cannot be.
#[must_use]
pub fn raw(edge: u16, kind: Kind, fds: u8, body: &[u8]) -> Vec<u8> {
    let header = Header { edge, kind, fds, request: 1, trace: TraceId::NONE };
    let mut packet = frame::encode(header, &()).unwrap();
    packet.truncate(HEADER);
    packet.extend_from_slice(body);
    packet
}

/// Sends it; that the other side has closed already is no reason to stop lying.
fn send(end: &RawEnd, packet: &[u8], fds: &[OwnedFd]) {
    let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
    let _ = socket::send(end.fd.as_fd(), packet, &fds);
}
