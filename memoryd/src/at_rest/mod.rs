//! Encryption at rest: which parts of `.audit` and `.runtime` are encrypted, under which key, and how (design: people §2). No file
//! there contains the words of a request or of an answer in plain text.
//!
//! | file | encrypted | in plain text |
//! |---|---|---|
//! | `YYYY-MM-DD.jsonl` | the payload of each line that has a principal ([`payload`]) | principal, time, type, turn, hashes |
//! | `recall.sqlite` | stems, as keyed digests | principal, time and number of words of each turn |
//! | `medium.sqlite` | messages and summaries | principal, time, executors used |
//! | `schedules.sqlite` | the text, and the words for the time | principal, due time |
//! | `suspended.sqlite` | the state of the turn | turn, time |
//!
//! Each principal has its own random key. It is generated with the principal's first event and kept in [`KEYS_FILE`],
//! wrapped under a key that is derived from the vault key. A copy of `.audit` and `.runtime` without the vault key can be verified,
//! but not read. The key of one principal decrypts nothing of another one.

pub mod payload;
mod ring;
pub mod salt;
mod sql;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use ring::Ring;

pub use ring::KEYS_FILE;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
/// Bytes of a nonce.
pub const NONCE_BYTES: usize = 24;
/// The line number for values outside of the chronicle; events are numbered from 1.
const NO_LINE: u64 = 0;
/// Bytes of a stem's digest: with 80 bits, a collision is unlikely below 2^40 stems of one principal.
const STEM_BYTES: usize = 10;

/// The bytes of a key, wiped when dropped.
pub type KeyBytes = Zeroizing<[u8; KEY_BYTES]>;

/// Reads the key of 32 bytes in an open file.
///
/// # Errors
/// When the file has another size, or cannot be read.
pub fn read_key(file: OwnedFd) -> Result<KeyBytes> {
    let (file, mut key) = (File::from(file), KeyBytes::new([0; KEY_BYTES]));
    let read = file.metadata().and_then(|meta| {
        let right = meta.is_file() && meta.len() == KEY_BYTES as u64;
        if right { file.read_exact_at(key.as_mut(), 0) } else { Err(std::io::ErrorKind::InvalidData.into()) }
    });
    read.map_err(|source| Error::io(format!("reading the vault's key, a file of {KEY_BYTES} bytes"), source))?;
    Ok(key)
}

/// The purpose of a derived key; BLAKE3's `derive_key` takes its text as the context.
#[derive(Debug, Clone, Copy)]
enum Use {
    /// Wraps the keys of principals.
    Wrap,
    /// Encrypts values without a principal.
    Household,
    /// Salts the digests of payloads.
    Salt,
    /// Encrypts payloads and columns of a principal.
    Words,
    /// Derives the nonces for that.
    Nonces,
    /// Digests the stems of a principal's words.
    Stems,
}

impl Use {
    const fn context(self) -> &'static str {
        match self {
            Self::Wrap => "metnos memoryd 2026-11-30 keys of principals",
            Self::Household => "metnos memoryd 2026-11-30 what has no principal",
            Self::Salt => "metnos memoryd 2026-11-30 salts of payloads",
            Self::Words => "metnos memoryd 2026-11-30 words of a principal",
            Self::Nonces => "metnos memoryd 2026-11-30 nonces of a principal",
            Self::Stems => "metnos memoryd 2026-11-30 stems of a principal",
        }
    }

    fn of(self, key: &KeyBytes) -> KeyBytes {
        Zeroizing::new(blake3::derive_key(self.context(), key.as_slice()))
    }
}

/// Encryption and decryption under one key, XChaCha20-Poly1305.
struct Cipher {
    words: XChaCha20Poly1305,
    nonces: KeyBytes,
}

impl Cipher {
    fn new(key: &KeyBytes) -> Self {
        Self { words: XChaCha20Poly1305::new(&(*Use::Words.of(key)).into()), nonces: Use::Nonces.of(key) }
    }

    /// Nonce and ciphertext of a value, with `place` as associated data. The nonce is a keyed digest of both: no nonce is used for
    /// two values, even if a line is written again after a crash.
    fn seal_line(&self, place: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        let mut hasher = blake3::Hasher::new_keyed(&self.nonces);
        hasher.update(&(place.len() as u64).to_le_bytes()).update(place).update(value);
        let mut nonce = [0; NONCE_BYTES];
        hasher.finalize_xof().fill(&mut nonce);
        self.seal(nonce, place, value)
    }

    /// Nonce and ciphertext of a value, with a random nonce: equal values have different ciphertexts.
    fn seal_anew(&self, place: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce)
            .map_err(|_| Error::io("the kernel gives no random numbers", std::io::ErrorKind::Other))?;
        self.seal(nonce, place, value)
    }

    fn seal(&self, nonce: [u8; NONCE_BYTES], place: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        let sealed = self.words.encrypt(&XNonce::from(nonce), Payload { msg: value, aad: place });
        let sealed = sealed.map_err(|_| Error::io("encrypting", std::io::ErrorKind::OutOfMemory))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    fn open(&self, place: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        self.words.decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: place }).ok()
    }
}

/// The keys of one principal.
struct PrincipalKeys {
    cipher: Cipher,
    stems: KeyBytes,
}

impl PrincipalKeys {
    fn new(key: &KeyBytes) -> Self {
        Self { cipher: Cipher::new(key), stems: Use::Stems.of(key) }
    }
}

/// The keys of all principals. Clones share them.
#[derive(Clone)]
pub struct Keys(Option<Arc<Inner>>);

struct Inner {
    ring: Mutex<Ring>,
    household: Cipher,
    salt: KeyBytes,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Keys(..)" } else { "Keys(none)" })
    }
}

impl Keys {
    /// No keys: nothing is encrypted. For indexes in memory, and for tests of single parts.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Reads the keys in `folder` and unwraps them with the vault key.
    ///
    /// # Errors
    /// When the file cannot be read, or was written under another vault key.
    pub fn open(folder: &Path, vault: &KeyBytes) -> Result<Self> {
        let ring = Mutex::new(Ring::open(folder, &Use::Wrap.of(vault))?);
        let household = Cipher::new(&Use::Household.of(vault));
        Ok(Self(Some(Arc::new(Inner { ring, household, salt: Use::Salt.of(vault) }))))
    }

    /// Generates a key for a principal that has none. The key is durable before anything is encrypted with it.
    ///
    /// # Errors
    /// When a new key cannot be made durable.
    pub fn ensure(&self, principal: &str) -> Result<()> {
        self.with(principal, |_| Ok(()), || Ok(()))
    }

    /// Calls `with` with the keys of a principal, or `without` if nothing of it is encrypted.
    fn with<T>(
        &self,
        principal: &str,
        with: impl FnOnce(&PrincipalKeys) -> Result<T>,
        without: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let Some(inner) = self.0.as_ref().filter(|_| !principal.is_empty()) else { return without() };
        let mut ring = inner.ring.lock().unwrap_or_else(PoisonError::into_inner);
        with(ring.of(principal)?)
    }

    /// Decrypts with the key of a principal; `None` if it has none or the value was changed. No key is generated for reading.
    fn opened(&self, principal: &str, place: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let ring = self.0.as_ref()?.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.get(principal)?.cipher.open(place, sealed)
    }

    /// Whether values of this principal are encrypted.
    #[must_use]
    pub fn encrypts(&self, principal: &str) -> bool {
        self.0.is_some() && !principal.is_empty()
    }

    /// The token that stands for a stem in the index: a keyed digest, hexadecimal.
    ///
    /// # Errors
    /// When the principal has no key, and none can be generated.
    pub fn stem(&self, principal: &str, stem: &str) -> Result<String> {
        let digest = |keys: &PrincipalKeys| {
            let digest = blake3::keyed_hash(&keys.stems, stem.as_bytes());
            Ok(data_encoding::HEXLOWER.encode(&digest.as_bytes()[..STEM_BYTES]))
        };
        self.with(principal, digest, || Ok(stem.to_owned()))
    }

    /// Encrypts a text of a principal for a column. An empty text gives no bytes.
    ///
    /// # Errors
    /// When the principal has no key, and none can be generated.
    pub fn seal_text(&self, principal: &str, text: &str) -> Result<Vec<u8>> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let place = place(b"text", principal, NO_LINE);
        let bare = || Ok([&[BARE], text.as_bytes()].concat());
        self.with(
            principal,
            |keys| Ok([&[SEALED], keys.cipher.seal_anew(&place, text.as_bytes())?.as_slice()].concat()),
            bare,
        )
    }

    /// Decrypts what [`Keys::seal_text`] returned.
    ///
    /// # Errors
    /// When it was encrypted for another principal, was changed, or is not encrypted.
    pub fn open_text(&self, principal: &str, sealed: &[u8]) -> Result<String> {
        let wrong = || Error::Locked(format!("a text of {principal} in a table cannot be decrypted with its key"));
        let bytes = match sealed.split_first() {
            None => return Ok(String::new()),
            Some((&SEALED, sealed)) => {
                self.opened(principal, &place(b"text", principal, NO_LINE), sealed).ok_or_else(wrong)?
            }
            // These keys never write plain text.
            Some((&BARE, text)) if self.0.is_none() || principal.is_empty() => text.to_vec(),
            Some(_) => return Err(wrong()),
        };
        String::from_utf8(bytes).map_err(|_| wrong())
    }

    /// Encrypts bytes under the household's key, with `at` as associated data.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn seal_bytes(&self, at: &[u8], bytes: &[u8]) -> Result<Vec<u8>> {
        self.0.as_ref().map_or_else(|| Ok(bytes.to_vec()), |inner| inner.household.seal_anew(at, bytes))
    }

    /// Decrypts what [`Keys::seal_bytes`] returned for the same `at`; `None` if it was changed.
    #[must_use]
    pub fn open_bytes(&self, at: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        self.0.as_ref().map_or_else(|| Some(sealed.to_vec()), |inner| inner.household.open(at, sealed))
    }
}

/// First byte of a column in plain text.
const BARE: u8 = 0;
/// First byte of an encrypted column.
const SEALED: u8 = 1;

/// The associated data of a value: its kind, principal and line number. Principals contain no NUL, so the encoding is unambiguous.
fn place(kind: &[u8], principal: &str, line: u64) -> Vec<u8> {
    [b"metnos at rest 1\0".as_slice(), kind, b"\0", principal.as_bytes(), b"\0", &line.to_le_bytes()].concat()
}

#[cfg(test)]
pub mod tests {
    #![allow(clippy::unwrap_used, missing_docs)]
    use super::*;
    use proptest::prelude::*;

    /// The keys of a folder under a vault key of these bytes.
    pub fn keys(folder: &Path, byte: u8) -> Result<Keys> {
        Keys::open(folder, &Zeroizing::new([byte; KEY_BYTES]))
    }

    #[test]
    fn one_principals_text_opens_for_no_other_and_not_without_keys() {
        let folder = tempfile::tempdir().unwrap();
        let keys = keys(folder.path(), 1).unwrap();
        let sealed = keys.seal_text("telegram:1", "il regalo per Bruno").unwrap();
        assert!(!sealed.windows(6).any(|part| part == b"regalo"));
        assert_eq!(keys.open_text("telegram:1", &sealed).unwrap(), "il regalo per Bruno");
        assert!(keys.open_text("telegram:2", &sealed).is_err());
        assert!(Keys::none().open_text("telegram:1", &sealed).is_err());
        assert!(keys.open_text("telegram:1", b"\0il regalo").is_err(), "plain text is refused");
        assert_eq!(keys.open_text("telegram:1", b"").unwrap(), "");
    }

    #[test]
    fn stems_are_the_same_for_one_principal_and_other_ones_for_another() {
        let folder = tempfile::tempdir().unwrap();
        let keys = keys(folder.path(), 1).unwrap();
        let stem = keys.stem("telegram:1", "e7present").unwrap();
        assert_eq!(stem, keys.stem("telegram:1", "e7present").unwrap());
        assert_ne!(stem, keys.stem("telegram:2", "e7present").unwrap());
        assert_ne!(stem, keys.stem("telegram:1", "e7presents").unwrap());
        assert!(stem.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(Keys::none().stem("telegram:1", "e7present").unwrap(), "e7present");
    }

    #[test]
    fn bytes_open_at_their_place_only() {
        let folder = tempfile::tempdir().unwrap();
        let keys = keys(folder.path(), 1).unwrap();
        let sealed = keys.seal_bytes(b"a", b"state").unwrap();
        assert_eq!(keys.open_bytes(b"a", &sealed).unwrap(), b"state");
        assert!(keys.open_bytes(b"b", &sealed).is_none());
        assert!(keys.open_bytes(b"a", b"short").is_none());
    }

    proptest! {
        #[test]
        fn text_with_flipped_bit_does_not_open(text in ".{1,40}", at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let folder = tempfile::tempdir().unwrap();
            let keys = keys(folder.path(), 1).unwrap();
            let mut sealed = keys.seal_text("cli:uid:1", &text).unwrap();
            let at = at.index(sealed.len());
            sealed[at] ^= 1 << bit;
            prop_assert!(keys.open_text("cli:uid:1", &sealed).is_err());
        }
    }
}
