//! One packet on a channel: a fixed header and a postcard body, at most 64 KiB.
//!
//! Decoding is total: whatever bytes come, the answer is a value or an error. Trailing
//! bytes are an error, because postcard would otherwise read a longer message of a
//! newer peer as a shorter one of ours.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ids::TraceId;

/// The most bytes of a packet, header included (design: architecture §2).
pub const MAX_FRAME: usize = 64 * 1024;
/// The bytes of a header.
pub const HEADER: usize = 28;
/// The most descriptors that any word declares.
pub const MAX_FDS: usize = 4;
/// The version of the frames themselves; the words have their schema key.
pub const PROTOCOL: u16 = 1;

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The first packet in each direction.
    Hello,
    /// A question, which has exactly one answer.
    Ask,
    /// The answer to the ask of the same request number.
    Answer,
    /// Something sent downhill, which nobody awaits.
    Note,
}

/// The fixed part of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Which edge of the matrix; 0 for the control star.
    pub edge: u16,
    /// What it is.
    pub kind: Kind,
    /// How many descriptors travel beside it.
    pub fds: u8,
    /// Pairs an answer with its ask; 0 for a hello or a note.
    pub request: u64,
    /// The turn's trace; all zero outside a turn.
    pub trace: TraceId,
}

/// Why a packet is not what it should be. Every one of these closes the edge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Shorter than a header.
    #[error("a packet of {0} bytes is shorter than a header of {HEADER}")]
    Short(usize),
    /// Longer than [`MAX_FRAME`].
    #[error("a packet is longer than {MAX_FRAME} bytes")]
    Long,
    /// No such kind of packet.
    #[error("a packet of the unknown kind {0}")]
    Kind(u8),
    /// More descriptors than any word has.
    #[error("a packet that declares {0} descriptors, at most {MAX_FDS} exist")]
    Fds(u8),
    /// The body is not the message that was expected.
    #[error("a body that is no {what}: {why}")]
    Body {
        /// The message that was expected.
        what: &'static str,
        /// What postcard says.
        why: String,
    },
    /// The body is longer than its message.
    #[error("{0} bytes follow the message")]
    Trailing(usize),
}

/// A packet ready to send.
///
/// # Errors
/// [`FrameError::Long`] when the message does not fit, [`FrameError::Body`] when it cannot be encoded.
pub fn encode<T: Serialize>(header: Header, body: &T) -> Result<Vec<u8>, FrameError> {
    let mut bytes = Vec::with_capacity(256);
    bytes.extend_from_slice(&header.edge.to_le_bytes());
    bytes.push(match header.kind {
        Kind::Hello => 0,
        Kind::Ask => 1,
        Kind::Answer => 2,
        Kind::Note => 3,
    });
    bytes.push(header.fds);
    bytes.extend_from_slice(&header.request.to_le_bytes());
    bytes.extend_from_slice(&header.trace.to_bytes());
    let bytes = postcard::to_extend(body, bytes)
        .map_err(|error| FrameError::Body { what: std::any::type_name::<T>(), why: error.to_string() })?;
    if bytes.len() > MAX_FRAME {
        return Err(FrameError::Long);
    }
    Ok(bytes)
}

/// Splits a packet into header and body.
///
/// # Errors
/// When it is too short or too long, or the header names what does not exist.
pub fn split(packet: &[u8]) -> Result<(Header, &[u8]), FrameError> {
    if packet.len() > MAX_FRAME {
        return Err(FrameError::Long);
    }
    let (head, body) = packet.split_first_chunk::<HEADER>().ok_or(FrameError::Short(packet.len()))?;
    let [e0, e1, kind, fds, rest @ ..] = *head;
    let (request, trace) = rest.split_at(8);
    let (Ok(request), Ok(trace)) = (request.try_into(), trace.try_into()) else {
        return Err(FrameError::Short(packet.len()));
    };
    let kind = match kind {
        0 => Kind::Hello,
        1 => Kind::Ask,
        2 => Kind::Answer,
        3 => Kind::Note,
        other => return Err(FrameError::Kind(other)),
    };
    if usize::from(fds) > MAX_FDS {
        return Err(FrameError::Fds(fds));
    }
    let header = Header {
        edge: u16::from_le_bytes([e0, e1]),
        kind,
        fds,
        request: u64::from_le_bytes(request),
        trace: TraceId::from_bytes(trace),
    };
    Ok((header, body))
}

/// Reads a body whole.
///
/// # Errors
/// When it is not a `T`, or more follows.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, FrameError> {
    let (value, rest) = postcard::take_from_bytes(body)
        .map_err(|error| FrameError::Body { what: std::any::type_name::<T>(), why: error.to_string() })?;
    if rest.is_empty() { Ok(value) } else { Err(FrameError::Trailing(rest.len())) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn header(kind: Kind) -> Header {
        Header { edge: 7, kind, fds: 2, request: 99, trace: TraceId::from_bytes([3; 16]) }
    }

    #[test]
    fn a_packet_is_read_back_as_it_was_written() {
        for kind in [Kind::Hello, Kind::Ask, Kind::Answer, Kind::Note] {
            let packet = encode(header(kind), &"words".to_owned()).unwrap();
            let (read, body) = split(&packet).unwrap();
            assert_eq!(read, header(kind));
            assert_eq!(decode::<String>(body).unwrap(), "words");
        }
    }

    #[test]
    fn a_packet_may_be_exactly_the_limit_and_not_a_byte_more() {
        // A string carries its length in three bytes at this size.
        let fits = "x".repeat(MAX_FRAME - HEADER - 3);
        assert_eq!(encode(header(Kind::Ask), &fits).unwrap().len(), MAX_FRAME);
        assert_eq!(encode(header(Kind::Ask), &format!("{fits}x")), Err(FrameError::Long));
        assert_eq!(split(&vec![0; MAX_FRAME + 1]), Err(FrameError::Long));
        assert_eq!(split(&[0; HEADER - 1]), Err(FrameError::Short(HEADER - 1)));
        assert!(split(&[0; HEADER]).is_ok());
    }

    #[test]
    fn bytes_after_the_message_are_an_error() {
        let mut packet = encode(header(Kind::Ask), &7u8).unwrap();
        packet.push(0);
        assert_eq!(decode::<u8>(split(&packet).unwrap().1), Err(FrameError::Trailing(1)));
    }

    proptest! {
        #[test]
        fn no_bytes_make_decoding_panic(packet in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok((_, body)) = split(&packet) {
                let _ = decode::<Vec<String>>(body);
            }
        }
    }
}
