//! The salt of a payload: its first key. Without it, a short payload could be guessed by its digest, which is stored in plain text.
//!
//! It is a keyed digest of turn and payload. A payload that is repeated within a turn is recognised; equal payloads of two turns
//! have different digests.

use std::borrow::Cow;

use data_encoding::BASE64URL_NOPAD;
pub use metnos_proto::chain::SALT_KEY;
use metnos_proto::chain::sha256;
use metnos_proto::ids::{Sha256, TurnId};

use super::Keys;

/// Bytes of a salt.
const SALT_BYTES: usize = 16;
const SALT: (&str, &str) = ("{\"_\":\"", "\"");
/// Length of a salt as text: [`SALT_BYTES`] in base 64 without padding.
const SALT_CHARS: usize = 22;

/// The payload without its salt.
#[must_use]
pub fn unsalted(payload: &str) -> Cow<'_, str> {
    let rest = payload.strip_prefix(SALT.0).and_then(|rest| rest.get(SALT_CHARS..)?.strip_prefix(SALT.1));
    match rest.and_then(|rest| rest.strip_prefix(',').or_else(|| rest.strip_prefix('}').map(|_| "}"))) {
        Some(rest) => Cow::Owned(format!("{{{rest}")),
        None => Cow::Borrowed(payload),
    }
}

impl Keys {
    /// Adds the salt to a payload; without encryption it is returned unchanged.
    #[must_use]
    pub fn salted(&self, principal: &str, turn: Option<TurnId>, payload: String) -> String {
        let Some(inner) = self.0.as_ref().filter(|_| !principal.is_empty()) else { return payload };
        let mut hasher = blake3::Hasher::new_keyed(&inner.salt);
        hasher.update(&turn.unwrap_or(TurnId::NONE).to_bytes()).update(payload.as_bytes());
        let salt = BASE64URL_NOPAD.encode(&hasher.finalize().as_bytes()[..SALT_BYTES]);
        let rest = payload.strip_prefix('{').unwrap_or(&payload);
        let comma = if rest == "}" { "" } else { "," };
        format!("{}{salt}{}{comma}{rest}", SALT.0, SALT.1)
    }

    /// Whether this is the digest of that payload in a line of that turn, for any principal.
    #[must_use]
    pub fn is_digest_of(&self, digest: Sha256, turn: Option<TurnId>, payload: &str) -> bool {
        // The salt does not depend on the principal.
        let salted = || self.salted("anybody", turn, payload.to_owned());
        digest == sha256(payload.as_bytes()) || digest == sha256(salted().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::at_rest::tests::keys;
    use crate::chronicle::canonical::check_object;
    use crate::chronicle::testing::turn;
    use proptest::prelude::*;

    #[test]
    fn salt_comes_first_and_goes_again() {
        let folder = tempfile::tempdir().unwrap();
        let keys = keys(folder.path(), 1).unwrap();
        for payload in ["{}", "{\"lang\":\"it\",\"text\":\"sì\"}"] {
            let salted = keys.salted("cli:uid:1", Some(turn(1)), payload.to_owned());
            assert_eq!(check_object(&salted), Ok(()), "{salted}");
            assert_eq!(unsalted(&salted), payload);
            assert_eq!(unsalted(payload), payload);
            assert_ne!(salted, keys.salted("cli:uid:1", Some(turn(2)), payload.to_owned()), "two turns look alike");
            assert!(keys.is_digest_of(sha256(salted.as_bytes()), Some(turn(1)), payload));
            assert!(!keys.is_digest_of(sha256(salted.as_bytes()), Some(turn(2)), payload));
            assert_eq!(keys.salted("", None, payload.to_owned()), payload, "what is nobody's is not encrypted");
        }
        assert_eq!(unsalted("{\"_\":\"short\",\"a\":1}"), "{\"_\":\"short\",\"a\":1}");
    }

    proptest! {
        #[test]
        fn any_text_is_unsalted_without_a_panic(text in "(\\{\"_\":\")?.{0,40}") {
            let _ = unsalted(&text);
        }
    }
}
