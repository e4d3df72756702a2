//! What is encrypted on the disk, under which key, and how: words that a person said or was answered lie nowhere below `.audit` and
//! `.runtime` as they were said (design: people §2).
//!
//! | where | what is encrypted | what stays readable |
//! |---|---|---|
//! | a line of the chronicle that has a principal | its payload ([`payload`]) | who, when, which type, which turn, the hashes |
//! | `recall.sqlite` | each stem, as a keyed digest | whose turn it is, when, how many words it has |
//! | `medium.sqlite` | messages and summaries | whose, when, which executors were used |
//! | `schedules.sqlite` | what is reminded or asked, and the words for the time | whose, when it is due |
//! | `suspended.sqlite` | the state of a turn that waits for an answer | which turn, since when |
//!
//! Each principal has a key of its own, made when it says something for the first time and kept in `.audit/keys` ([`ring`]), wrapped
//! under a key that is derived from the vault's. So a copy of `.audit` and `.runtime` alone can be verified and not read, and one
//! principal's key opens nothing of another's.

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
/// What is no event's number: of a value that stands in no line.
const NO_LINE: u64 = 0;
/// How long the digest of a stem is, in bytes: two stems of one person share one once in 2^40 pairs.
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

/// What a key is for. The text is the context from which BLAKE3 derives it, so no two uses share a key.
#[derive(Debug, Clone, Copy)]
enum Use {
    /// Wraps the keys of principals.
    Wrap,
    /// Encrypts what belongs to no principal.
    Household,
    /// Salts the digests of payloads.
    Salt,
    /// Encrypts what a principal's payloads and projections hold.
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

/// Encrypts and opens values under one key.
struct Cipher {
    words: XChaCha20Poly1305,
    nonces: KeyBytes,
}

impl Cipher {
    fn new(key: &KeyBytes) -> Self {
        Self { words: XChaCha20Poly1305::new(&(*Use::Words.of(key)).into()), nonces: Use::Nonces.of(key) }
    }

    /// The value behind its nonce, bound to a line. The nonce is a keyed digest of both, so that it is never used for two values,
    /// whatever becomes of the file between two writes of the same line.
    fn seal_line(&self, place: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        let mut hasher = blake3::Hasher::new_keyed(&self.nonces);
        hasher.update(&(place.len() as u64).to_le_bytes()).update(place).update(value);
        let mut nonce = [0; NONCE_BYTES];
        hasher.finalize_xof().fill(&mut nonce);
        self.seal(nonce, place, value)
    }

    /// The value behind a random nonce, so that the same value twice does not look the same.
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

/// The keys at work. Copies share them.
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
    /// No keys: everything lies as it is. For indexes that live in memory, and for tests and benchmarks of single parts.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// The keys of principals in `folder`, which the vault's key opens.
    ///
    /// # Errors
    /// When they cannot be read, or the vault's key is another than it was.
    pub fn open(folder: &Path, vault: &KeyBytes) -> Result<Self> {
        let ring = Mutex::new(Ring::open(folder, &Use::Wrap.of(vault))?);
        let household = Cipher::new(&Use::Household.of(vault));
        Ok(Self(Some(Arc::new(Inner { ring, household, salt: Use::Salt.of(vault) }))))
    }

    /// Makes sure that a principal has a key, and that the key is on the disk before anything is encrypted under it.
    ///
    /// # Errors
    /// When a new one cannot be made durable.
    pub fn ensure(&self, principal: &str) -> Result<()> {
        self.with(principal, |_| Ok(()), || Ok(()))
    }

    /// Does something with the keys of a principal; `without` where nothing is encrypted.
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

    /// Whether what is this principal's is encrypted.
    #[must_use]
    pub fn hide(&self, principal: &str) -> bool {
        self.0.is_some() && !principal.is_empty()
    }

    /// What a stem of a principal's words is called in the index.
    ///
    /// # Errors
    /// When the principal has no key and none can be made.
    pub fn stem(&self, principal: &str, stem: &str) -> Result<String> {
        let digest = |keys: &PrincipalKeys| {
            let digest = blake3::keyed_hash(&keys.stems, stem.as_bytes());
            Ok(data_encoding::HEXLOWER.encode(&digest.as_bytes()[..STEM_BYTES]))
        };
        self.with(principal, digest, || Ok(stem.to_owned()))
    }

    /// A text of a principal for a projection; nothing for an empty one.
    ///
    /// # Errors
    /// When the principal has no key and none can be made.
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

    /// The text that [`Keys::seal_text`] has encrypted; nothing stands for an empty one.
    ///
    /// # Errors
    /// When it was encrypted for another principal, or is not what was written.
    pub fn open_text(&self, principal: &str, sealed: &[u8]) -> Result<String> {
        let wrong = || Error::Locked(format!("a text of {principal} in a table does not open with its key"));
        let bytes = match sealed.split_first() {
            None => return Ok(String::new()),
            Some((&SEALED, sealed)) => {
                let place = place(b"text", principal, NO_LINE);
                self.with(principal, |keys| keys.cipher.open(&place, sealed).ok_or_else(wrong), || Err(wrong()))?
            }
            // What is not encrypted was not written with these keys.
            Some((&BARE, text)) if self.0.is_none() || principal.is_empty() => text.to_vec(),
            Some(_) => return Err(wrong()),
        };
        String::from_utf8(bytes).map_err(|_| wrong())
    }

    /// Bytes that belong to no principal that is known where they are written, for this place.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn seal_bytes(&self, at: &[u8], bytes: &[u8]) -> Result<Vec<u8>> {
        self.0.as_ref().map_or_else(|| Ok(bytes.to_vec()), |inner| inner.household.seal_anew(at, bytes))
    }

    /// The bytes that [`Keys::seal_bytes`] has encrypted for this place; `None` where they are others.
    #[must_use]
    pub fn open_bytes(&self, at: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        self.0.as_ref().map_or_else(|| Some(sealed.to_vec()), |inner| inner.household.open(at, sealed))
    }
}

/// How a text in a table begins.
const BARE: u8 = 0;
/// See [`BARE`].
const SEALED: u8 = 1;

/// What a value is bound to: what kind it is, whose, and in which line it stands. A principal has no NUL, so no two places read alike.
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
        assert!(
            keys.open_text("telegram:1", b"\0il regalo").is_err(),
            "what is not encrypted was put there by somebody else"
        );
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
