//! Names of things on the wire: each id is a type of its own, so that a turn can
//! never be passed where a trace is meant.

use std::fmt;
use std::str::FromStr;

use postcard_schema::Schema;
use serde::{Deserialize, Serialize};

/// Declares ids that are ULIDs: sortable by time, printed in Crockford's base 32.
macro_rules! ulid_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Schema)]
        pub struct $name([u8; 16]);

        impl $name {
            /// A new id from the wall clock and the kernel's random numbers.
            #[must_use]
            #[allow(clippy::new_without_default, reason = "a default id would be a fresh one, which surprises")]
            pub fn new() -> Self {
                Self(ulid::Ulid::generate().to_bytes())
            }

            /// The id with exactly these bytes, as stored or received.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// The id of nothing: all bytes zero.
            pub const NONE: Self = Self([0; 16]);

            /// The sixteen bytes of the id.
            #[must_use]
            pub const fn to_bytes(self) -> [u8; 16] {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                ulid::Ulid::from_bytes(self.0).fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                ulid::Ulid::from_string(text)
                    .map(|id| Self(id.to_bytes()))
                    .map_err(|_| BadId { kind: stringify!($name), text: text.chars().take(40).collect() })
            }
        }
    )*};
}

ulid_ids! {
    /// One turn: from a person's words to the answer. Minted by policyd when the door registers the words.
    TurnId;
    /// What ties the records of all witnesses of one turn together.
    TraceId;
    /// One call of an executor. Minted by policyd when it decides.
    CallId;
    /// The right to name one result; the bytes stay with policyd until released.
    HandleId;
    /// One run of one daemon, or one session of one client; the tail of `session_key`.
    SessionId;
}

/// A text that is not an id of the kind that was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {kind}: expected 26 characters of Crockford's base 32, as printed by the other commands")]
pub struct BadId {
    kind: &'static str,
    text: String,
}

/// Declares digests: 32 bytes, printed as `<algorithm>:<hex>`.
macro_rules! digests {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Schema)]
        pub struct $name(pub [u8; 32]);

        impl $name {
            /// The digest as bare hexadecimal digits, as in file formats.
            #[must_use]
            pub fn hex(&self) -> String {
                hex(&self.0)
            }

            /// Reads what [`fmt::Display`] writes; `None` for anything else.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                unhex(text.strip_prefix(concat!($prefix, ":"))?).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!($prefix, ":"))?;
                f.write_str(std::str::from_utf8(&digits(&self.0)).unwrap_or_default())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

digests! {
    /// A BLAKE3 digest: files of executors, arguments, results, leaves.
    Blake3 = "blake3";
    /// A SHA-256 digest: the chronicle (design: memory §1).
    Sha256 = "sha256";
}

impl Blake3 {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

/// A digest of bytes that come in pieces.
#[derive(Debug, Default)]
pub struct Digesting(blake3::Hasher);

impl Digesting {
    /// Takes the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The digest of all pieces, in their order.
    #[must_use]
    pub fn end(&self) -> Blake3 {
        Blake3(*self.0.finalize().as_bytes())
    }
}

/// As small hexadecimal digits, in one piece: each line of the chronicle has four such texts, and is written before anybody is answered.
fn digits(bytes: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut digits = [0; 64];
    for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    }
    digits
}

fn hex(bytes: &[u8; 32]) -> String {
    String::from_utf8_lossy(&digits(bytes)).into_owned()
}

/// The bytes of 64 small hexadecimal digits. Without a branch for each: their values are as good as random, and a
/// verification reads three million of them a second.
fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
    let (mut nibbles, mut none) = ([0_u8; 64], false);
    for (nibble, digit) in nibbles.iter_mut().zip(digits) {
        let (number, letter) = (digit.wrapping_sub(b'0'), digit.wrapping_sub(b'a'));
        none |= number > 9 && letter > 5;
        *nibble = if number <= 9 { number } else { letter.wrapping_add(10) };
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(nibbles.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1] & 15;
    }
    (!none).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_64_small_digits_and_nothing_else() {
        let digest = Sha256(std::array::from_fn(|at| (at * 37 + 11) as u8));
        let text = digest.to_string();
        assert_eq!(Sha256::parse(&text), Some(digest));
        for at in "sha256:".len()..text.len() {
            for byte in 0..=255_u8 {
                let mut changed = text.clone().into_bytes();
                changed[at] = byte;
                let Ok(changed) = String::from_utf8(changed) else { continue };
                let read = Sha256::parse(&changed);
                assert_eq!(read.is_some(), matches!(byte, b'0'..=b'9' | b'a'..=b'f'), "{changed}");
                assert!(read.is_none_or(|read| read.to_string() == changed));
            }
        }
        assert!(Sha256::parse(&text[..text.len() - 1]).is_none() && Sha256::parse(&(text + "0")).is_none());
    }

    #[test]
    fn an_id_survives_printing_and_reading() {
        let id = TurnId::new();
        assert_eq!(id.to_string().parse::<TurnId>().unwrap(), id);
        assert!("not an id".parse::<TurnId>().is_err());
    }

    #[test]
    fn a_digest_survives_printing_and_reading() {
        let digest = Blake3::of(b"words");
        assert_eq!(Blake3::parse(&digest.to_string()), Some(digest));
        assert_eq!(Sha256::parse(&digest.to_string()), None);
        assert_eq!(Blake3::parse("blake3:zz"), None);
    }
}
