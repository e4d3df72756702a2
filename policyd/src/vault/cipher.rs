//! How secrets lie on the disk: XChaCha20-Poly1305 under a key of its own, each value bound to its name and version, so
//! that no row can stand in another's place. Pure.

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::key::SecretBytes;

/// Bytes of a nonce: so many that random ones never meet.
pub const NONCE_BYTES: usize = 24;
/// Bytes that sealing adds: the nonce, and the tag.
pub const ADDED: usize = NONCE_BYTES + 16;

/// The vault's key. Wiped from memory when dropped; nothing can read it out.
pub struct VaultKey {
    cipher: XChaCha20Poly1305,
    digests: Zeroizing<[u8; 32]>,
}

/// What the key of digests is derived for (BLAKE3's mode of that name).
const DIGESTS: &str = "metnos policyd 2026-11-30 keyed digests";

impl std::fmt::Debug for VaultKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("VaultKey(..)")
    }
}

impl VaultKey {
    /// The key of these bytes.
    #[must_use]
    pub(crate) fn new(bytes: &SecretBytes) -> Self {
        let digests = Zeroizing::new(blake3::derive_key(DIGESTS, &**bytes));
        Self { cipher: XChaCha20Poly1305::new(&(**bytes).into()), digests }
    }

    /// A digest that stands for these texts, in hexadecimal digits, and cannot be made of them without the key.
    #[must_use]
    pub fn digest(&self, texts: &[&str]) -> String {
        let mut hasher = blake3::Hasher::new_keyed(&self.digests);
        for text in texts {
            hasher.update(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// A value, sealed for this place and no other; `None` when the kernel gives no random numbers.
    #[must_use]
    pub fn seal(&self, name: &str, version: u64, value: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).ok()?;
        let payload = Payload { msg: value, aad: &place(name, version) };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload).ok()?;
        Some([nonce.as_slice(), &sealed].concat())
    }

    /// The value that was sealed for this place; `None` when it is another's, was changed, or the key is another.
    #[must_use]
    pub fn open(&self, name: &str, version: u64, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg: sealed, aad: &place(name, version) };
        self.cipher.decrypt(&XNonce::from(*nonce), payload).ok().map(Zeroizing::new)
    }
}

/// What a value is bound to. A name has no NUL, so no two places read alike.
fn place(name: &str, version: u64) -> Vec<u8> {
    [b"metnos vault 1\0".as_slice(), name.as_bytes(), b"\0", &version.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn key(byte: u8) -> VaultKey {
        VaultKey::new(&SecretBytes::new([byte; 32]))
    }

    /// draft-irtf-cfrg-xchacha-03, appendix A.3.1.
    #[test]
    fn the_cipher_is_that_of_the_draft() {
        let bytes: [u8; 32] = std::array::from_fn(|at| 0x80 + u8::try_from(at).unwrap());
        let nonce: [u8; 24] = std::array::from_fn(|at| 0x40 + u8::try_from(at).unwrap());
        let text = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.";
        let aad = [0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
        let sealed = VaultKey::new(&SecretBytes::new(bytes))
            .cipher
            .encrypt(&XNonce::from(nonce), Payload { msg: text, aad: &aad })
            .unwrap();
        assert_eq!(sealed[..4], [0xbd, 0x6d, 0x17, 0x9d]);
        assert_eq!(sealed[sealed.len() - 16..][..4], [0xc0, 0x87, 0x59, 0x24]);
    }

    #[test]
    fn sealed_secret_opens_only_with_its_key_name_and_version() {
        let sealed = key(1).seal("imap", 2, b"hunter2").unwrap();
        assert_eq!(sealed.len(), 7 + ADDED);
        assert_eq!(key(1).open("imap", 2, &sealed).unwrap().as_slice(), b"hunter2");
        for (by, name, version) in [(2, "imap", 2), (1, "smtp", 2), (1, "imap", 1), (1, "", 2)] {
            assert!(key(by).open(name, version, &sealed).is_none());
        }
        assert_ne!(key(1).seal("imap", 2, b"hunter2").unwrap(), sealed, "a nonce is used once");
    }

    #[test]
    fn digest_differs_by_key_and_by_where_a_text_ends() {
        let digest = key(1).digest(&["habit", "ab"]);
        assert_eq!(digest, key(1).digest(&["habit", "ab"]));
        for other in [key(2).digest(&["habit", "ab"]), key(1).digest(&["habita", "b"]), key(1).digest(&["habitab"])] {
            assert_ne!(digest, other);
        }
    }

    proptest! {
        #[test]
        fn sealed_secret_with_flipped_bit_does_not_open(value in prop::collection::vec(any::<u8>(), 0..64), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let mut sealed = key(1).seal("a", 1, &value).unwrap();
            let at = at.index(sealed.len());
            sealed[at] ^= 1 << bit;
            prop_assert!(key(1).open("a", 1, &sealed).is_none());
        }

        #[test]
        fn garbage_does_not_open(sealed in prop::collection::vec(any::<u8>(), 0..96)) {
            prop_assert!(key(1).open("a", 1, &sealed).is_none());
        }
    }
}
