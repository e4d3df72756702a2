//! The payload of a line as it is stored. In memory, in answers and in exports a payload is the JSON object of its event type, with
//! a salt as its first key ([`super::salt`]). In the file it is `{"encrypted":"BASE64"}`.
//!
//! The chain covers the digest of the salted object, not of the ciphertext. So an exported line is verified without a key, and the
//! chain of the files is followed without one.

use std::borrow::Cow;

use data_encoding::BASE64;
use metnos_proto::chain::ENCRYPTED;

use super::{Keys, place};
use crate::error::{Error, Result};

/// The most bytes that encrypting adds to a payload of that many: salt, nonce, tag, and four characters for three bytes.
#[must_use]
pub const fn longest(payload: usize) -> usize {
    (payload + 128).div_ceil(3) * 4 + 64
}

impl Keys {
    /// Encrypts the payload of the line of this number and principal.
    ///
    /// # Errors
    /// When the principal has no key, and none can be generated.
    pub fn to_file<'a>(&self, seq: u64, principal: &str, payload: &'a str) -> Result<Cow<'a, str>> {
        let place = place(b"payload", principal, seq);
        let sealed =
            self.with(principal, |keys| keys.cipher.seal_line(&place, payload.as_bytes()).map(Some), || Ok(None))?;
        Ok(match sealed {
            Some(sealed) => Cow::Owned(format!("{}{}{}", ENCRYPTED.0, BASE64.encode(&sealed), ENCRYPTED.1)),
            None => Cow::Borrowed(payload),
        })
    }

    /// Decrypts the payload of the line of this number and principal; one in plain text is returned unchanged.
    ///
    /// # Errors
    /// When its key is missing, or it was changed.
    pub fn from_file<'a>(&self, seq: u64, principal: &str, payload: &'a str) -> Result<Cow<'a, str>> {
        let Some(sealed) = payload.strip_prefix(ENCRYPTED.0).and_then(|rest| rest.strip_suffix(ENCRYPTED.1)) else {
            return Ok(Cow::Borrowed(payload));
        };
        let wrong = || {
            let what = "its payload cannot be decrypted with the key of its principal in `.audit/keys`";
            Error::Locked(format!("line {seq}: {what}"))
        };
        let bytes = BASE64.decode(sealed.as_bytes()).map_err(|_| wrong())?;
        let opened = self.opened(principal, &place(b"payload", principal, seq), &bytes).ok_or_else(wrong)?;
        String::from_utf8(opened).map(Cow::Owned).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::at_rest::tests::keys;
    use crate::chronicle::event::Event;
    use crate::chronicle::testing::{MORNING, any_event, event, note};
    use metnos_proto::chain::is_encrypted;
    use proptest::prelude::*;

    fn filed(keys: &Keys, event: &Event) -> String {
        keys.to_file(event.seq, &event.peer, &event.payload).unwrap().into_owned()
    }

    #[test]
    fn payload_opens_in_its_own_line_only() {
        let folder = tempfile::tempdir().unwrap();
        let keys = keys(folder.path(), 1).unwrap();
        let event = event(7);
        let filed = filed(&keys, &event);
        assert!(is_encrypted(filed.as_bytes()) && filed.len() <= longest(event.payload.len()));
        assert_eq!(keys.from_file(7, &event.peer, &filed).unwrap(), event.payload);
        assert!(keys.from_file(8, &event.peer, &filed).is_err());
        assert!(keys.from_file(7, "telegram:9", &filed).is_err());
        assert!(Keys::none().from_file(7, &event.peer, &filed).is_err());
        assert!(keys.from_file(7, &event.peer, "{\"encrypted\":\"no base64\"}").is_err());
        assert_eq!(
            keys.from_file(7, &event.peer, &event.payload).unwrap(),
            event.payload,
            "lines of earlier versions are read"
        );
    }

    #[test]
    fn line_written_again_has_another_nonce_when_it_says_something_else() {
        let folder = tempfile::tempdir().unwrap();
        let keys = keys(folder.path(), 1).unwrap();
        let of = |n| Event::seal(note(n), 3, crate::chronicle::event::GENESIS, MORNING);
        let (one, other) = (of(1), of(2));
        let nonce = |event: &Event| filed(&keys, event)[ENCRYPTED.0.len()..][..32].to_owned();
        assert_eq!(nonce(&one), nonce(&one));
        assert_ne!(nonce(&one), nonce(&other));
    }

    proptest! {
        #[test]
        fn every_payload_survives_the_file(event in any_event()) {
            let folder = tempfile::tempdir().unwrap();
            let keys = keys(folder.path(), 1).unwrap();
            let filed = filed(&keys, &event);
            prop_assert!(filed.len() <= longest(event.payload.len()));
            prop_assert_eq!(keys.from_file(event.seq, &event.peer, &filed).unwrap(), event.payload.as_str());
        }

        #[test]
        fn any_text_is_read_from_the_file_without_a_panic(text in "(\\{\"encrypted\":\")?.{0,80}(\"\\})?") {
            let folder = tempfile::tempdir().unwrap();
            let _ = keys(folder.path(), 1).unwrap().from_file(1, "cli:uid:1", &text);
        }
    }
}
