//! How a line of the chronicle is hashed, and what an anchor is: the two facts that must be read
//! alike by anyone who writes the chronicle, signs its head, or checks both. It opens nothing.
//!
//! memoryd writes lines with its own writer; [`Link::read`] is a second reader, built on another
//! parser, so that `metnosctl` can check a chain without believing memoryd.

use serde_json::Value;
use sha2::Digest;

use crate::ids::Sha256;

/// What the hash of every event begins with, so that it can be mistaken for no other digest.
pub const DOMAIN: &[u8] = b"metnos-chronicle-v1\0";
/// What a signed anchor begins with.
pub const ANCHOR_DOMAIN: &[u8] = b"metnos-anchor-v1\0";
/// How many fields the hash covers.
pub const FIELDS: usize = 15;
/// The names of the hashed fields, in the order in which the hash covers them.
pub const FIELD_NAMES: [&str; FIELDS] = [
    "seq",
    "prev_hash",
    "parent",
    "ts",
    "emitter",
    "session_key",
    "turn_id",
    "trace_id",
    "event_type",
    "agent_id",
    "model",
    "channel",
    "peer",
    "trust",
    "payload_sha256",
];
/// What the first event names as its predecessor.
pub const GENESIS: Sha256 = Sha256([0; 32]);
/// memoryd reports the head to policyd after so many events (design: memory §1).
pub const ANCHOR_EVERY: u64 = 64;
/// And after so many milliseconds, when there are fewer (design: memory §1).
pub const ANCHOR_WITHIN_MS: u64 = 60_000;

/// The SHA-256 digest of `bytes`.
#[must_use]
pub fn sha256(bytes: &[u8]) -> Sha256 {
    Sha256(sha2::Sha256::digest(bytes).into())
}

/// The bytes that are hashed: the domain, then every field behind its length as u32 big-endian.
///
/// Two different arrays of fields never give the same bytes: the number of fields is
/// fixed and each begins with its length, so nothing can be shifted from one to another.
#[must_use]
pub fn preimage(fields: &[&str; FIELDS]) -> Vec<u8> {
    let size = fields.iter().map(|field| field.len() + 4).sum::<usize>();
    let mut bytes = Vec::with_capacity(DOMAIN.len() + size);
    bytes.extend_from_slice(DOMAIN);
    for field in fields {
        // No field is anywhere near four gigabytes long, so the length always fits.
        let length = u32::try_from(field.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(field.as_bytes());
    }
    bytes
}

/// What stands in the place of a payload of that many bytes once it was taken out by rite; `None` when so few bytes have
/// no room for it. It is exactly as long, so that no line moves.
#[must_use]
pub fn mark(bytes: usize) -> Option<String> {
    let filler = bytes.checked_sub(MARK.0.len() + MARK.1.len())?;
    Some(format!("{}{}{}", MARK.0, "-".repeat(filler), MARK.1))
}

const MARK: (&str, &str) = ("{\"redacted\":\"", "\"}");

/// Whether a payload is such a mark.
#[must_use]
pub fn is_mark(payload: &[u8]) -> bool {
    payload
        .strip_prefix(MARK.0.as_bytes())
        .and_then(|rest| rest.strip_suffix(MARK.1.as_bytes()))
        .is_some_and(|filler| filler.iter().all(|byte| *byte == b'-'))
}

/// What begins the payload of a line that is shown to somebody who may not read it: what follows says how large it is, and little
/// else. It never stands in a file of the chronicle.
const SEALED: &[u8] = b"{\"sealed\":";

/// A payload that says no more than its size, and what may be shown of it.
#[must_use]
pub fn sealed(bytes: usize, shown: &serde_json::Map<String, Value>) -> String {
    let shown = Value::Object(shown.clone());
    format!("{{\"sealed\":{{\"bytes\":{bytes},\"shown\":{shown}}}}}")
}

/// Whether a payload is such a one.
#[must_use]
pub fn is_sealed(payload: &[u8]) -> bool {
    payload.starts_with(SEALED)
}

/// The key of a payload under which its salt stands, where it lies encrypted. It sorts before every other key of a payload, all of
/// which begin with a small letter.
pub const SALT_KEY: &str = "_";

/// What begins and ends the payload of a line that lies encrypted in a file of the chronicle. What is between is its bytes in base 64:
/// without the key of its principal the line's place in the chain can be checked, and its payload cannot.
pub const ENCRYPTED: (&str, &str) = ("{\"encrypted\":\"", "\"}");

/// Whether a payload is such a one.
#[must_use]
pub fn is_encrypted(payload: &[u8]) -> bool {
    payload.starts_with(ENCRYPTED.0.as_bytes()) && payload.ends_with(ENCRYPTED.1.as_bytes())
}

/// What one line says of its place in the chain, after its own hash was recalculated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub seq: u64,
    /// The hash it names as its predecessor's.
    pub prev_hash: Sha256,
    /// Its own hash, which is right.
    pub hash: Sha256,
    /// Whether its payload is there; else the mark of the rite stands in its place, and the digest is all that is left.
    pub payload_holds: bool,
    /// Whether the payload was withheld: it was shown to somebody who may not read it.
    pub sealed: bool,
    /// Whether the payload lies encrypted: the line comes from a file, and was not opened.
    pub encrypted: bool,
    /// Its type.
    pub event_type: String,
}

/// `,"hash":"sha256:` + 64 digits + `"}`.
const TAIL: usize = 16 + 64 + 2;

impl Link {
    /// Reads a line without its newline, and calculates its hash.
    ///
    /// # Errors
    /// In a sentence, what is wrong with it; a hash that is not the line's own is.
    pub fn read(line: &[u8]) -> Result<Self, String> {
        let document: Value = serde_json::from_slice(line).map_err(|error| format!("it is no JSON: {error}"))?;
        let text = |name: &str| match document.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(Value::Null) => Ok(String::new()),
            Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => Err(format!("`{name}` is no text")),
        };
        let fields = FIELD_NAMES.iter().map(|name| text(name)).collect::<Result<Vec<_>, _>>()?;
        let mut shown = [""; FIELDS];
        for (place, field) in shown.iter_mut().zip(&fields) {
            *place = field;
        }
        let digest = |name: &str| Sha256::parse(&text(name)?).ok_or_else(|| format!("`{name}` is no digest"));
        let hash = digest("hash")?;
        if sha256(&preimage(&shown)) != hash {
            return Err("it does not have the hash that it claims".to_owned());
        }
        let payload = payload_of(line).ok_or("it has no payload")?;
        let payload_holds = sha256(payload) == digest("payload_sha256")?;
        let sealed = !payload_holds && is_sealed(payload);
        let encrypted = !payload_holds && is_encrypted(payload);
        if !payload_holds && !is_mark(payload) && !sealed && !encrypted {
            return Err("its payload does not have the digest that it claims".to_owned());
        }
        Ok(Self {
            seq: document["seq"].as_u64().ok_or("`seq` is no number")?,
            prev_hash: digest("prev_hash")?,
            hash,
            payload_holds,
            sealed,
            encrypted,
            event_type: text("event_type")?,
        })
    }
}

/// The bytes of a line's payload. Inside a text of JSON no quote stands bare, so the first match is the key.
fn payload_of(line: &[u8]) -> Option<&[u8]> {
    const KEY: &[u8] = b",\"payload\":";
    let at = line.windows(KEY.len()).position(|window| window == KEY)?;
    line.get(at + KEY.len()..line.len().checked_sub(TAIL)?)
}

/// The head of the chain as policyd signs it: the last line, and the root of the tree over all lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// The number of the last line.
    pub seq: u64,
    /// Its hash.
    pub hash: Sha256,
    /// The root of the Merkle tree over the hashes of lines 1 to `seq` ([`crate::merkle`]).
    pub root: Sha256,
    /// When policyd signed it, in milliseconds since 1970.
    pub ts_ms: u64,
}

impl Anchor {
    /// The bytes that are signed: every field has a fixed length, so they can be read in one way only.
    #[must_use]
    pub fn signed_bytes(&self) -> Vec<u8> {
        let mut bytes = ANCHOR_DOMAIN.to_vec();
        bytes.extend_from_slice(&self.seq.to_be_bytes());
        bytes.extend_from_slice(&self.hash.0);
        bytes.extend_from_slice(&self.root.0);
        bytes.extend_from_slice(&self.ts_ms.to_be_bytes());
        bytes
    }

    /// The anchor and its signature as one line of JSON, without a newline.
    #[must_use]
    pub fn to_line(&self, signature: &[u8; 64]) -> String {
        let (seq, hash, root, ts_ms) = (self.seq, self.hash, self.root, self.ts_ms);
        let signature = signature.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        format!(r#"{{"seq":{seq},"hash":"{hash}","root":"{root}","ts_ms":{ts_ms},"signature":"{signature}"}}"#)
    }

    /// Reads what [`Anchor::to_line`] writes, keys in any order. Whether the signature is right is another question.
    #[must_use]
    pub fn from_json(document: &Value) -> Option<(Self, [u8; 64])> {
        let digest = |name: &str| Sha256::parse(document.get(name)?.as_str()?);
        let text = document.get("signature")?.as_str()?;
        if text.len() != 128 || !text.is_ascii() {
            return None;
        }
        let mut signature = [0; 64];
        for (at, byte) in signature.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()?;
        }
        let (seq, ts_ms) = (document.get("seq")?.as_u64()?, document.get("ts_ms")?.as_u64()?);
        Some((Self { seq, hash: digest("hash")?, root: digest("root")?, ts_ms }, signature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn anchor() -> Anchor {
        Anchor { seq: 64, hash: Sha256([1; 32]), root: Sha256([2; 32]), ts_ms: 7 }
    }

    #[test]
    fn an_anchor_survives_writing_and_reading() {
        let signature: [u8; 64] = std::array::from_fn(|at| at as u8 * 3);
        let line = anchor().to_line(&signature);
        let read = Anchor::from_json(&serde_json::from_str(&line).unwrap());
        assert_eq!(read, Some((anchor(), signature)));
        assert_eq!(Anchor::from_json(&serde_json::json!({ "seq": 1 })), None);
    }

    #[test]
    fn a_mark_is_as_long_as_what_it_stands_for() {
        assert_eq!(mark(14), None);
        for bytes in [15, 16, 400] {
            let mark = mark(bytes).unwrap();
            assert!(mark.len() == bytes && is_mark(mark.as_bytes()));
        }
        assert!(!is_mark(b"{\"redacted\":\"x\"}") && !is_mark(b"{}"));
    }

    #[test]
    fn every_field_of_an_anchor_is_signed() {
        let all = [
            anchor(),
            Anchor { seq: 65, ..anchor() },
            Anchor { hash: Sha256([9; 32]), ..anchor() },
            Anchor { root: Sha256([9; 32]), ..anchor() },
            Anchor { ts_ms: 8, ..anchor() },
        ];
        let signed: std::collections::HashSet<_> = all.iter().map(Anchor::signed_bytes).collect();
        assert_eq!(signed.len(), all.len());
        assert!(signed.iter().all(|bytes| bytes.len() == ANCHOR_DOMAIN.len() + 8 + 32 + 32 + 8));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_link_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Link::read(&bytes);
        }

        #[test]
        fn nothing_can_be_shifted_from_one_field_to_the_next(one in "[ab]{0,3}", two in "[ab]{0,3}", three in "[ab]{0,3}", four in "[ab]{0,3}") {
            let fields = |first: &str, second: &str| {
                let mut fields = [""; FIELDS];
                (fields[3], fields[4]) = ("", "");
                let owned = [first.to_owned(), second.to_owned()];
                let mut shown = fields;
                (shown[3], shown[4]) = (&owned[0], &owned[1]);
                preimage(&shown)
            };
            prop_assert_eq!(fields(&one, &two) == fields(&three, &four), (&one, &two) == (&three, &four));
        }
    }
}
