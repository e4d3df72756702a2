//! The file `.audit/keys`: one line of JSON for each principal, with its key wrapped under a key that is derived from the vault key.
//! Lines are only appended.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use data_encoding::BASE64;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{KEY_BYTES, KeyBytes, NONCE_BYTES, PrincipalKeys, place};
use crate::error::{Error, Result};

/// The name of the file.
pub const KEYS_FILE: &str = "keys";
/// The most principals that have a key. A household has some dozens: each paired chat, user of the machine and token is one.
const MAX_KEYS: usize = 4_096;
/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    principal: String,
    /// Nonce and wrapped key, in base 64.
    key: String,
}

/// The keys and their file.
pub(super) struct Ring {
    path: PathBuf,
    file: File,
    /// Length of the file up to the last complete line.
    durable: u64,
    wrap: XChaCha20Poly1305,
    keys: HashMap<String, PrincipalKeys>,
}

fn io(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |source| Error::io(format!("{}", path.display()), source)
}

impl Ring {
    /// Opens or creates the file in `folder`. An incomplete last line is left by a crash; nothing was encrypted with its key, and it
    /// is cut off.
    pub(super) fn open(folder: &Path, wrap: &KeyBytes) -> Result<Self> {
        let path = folder.join(KEYS_FILE);
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).create(true).mode(0o600).custom_flags(flags);
        let mut file = options.open(&path).map_err(io(&path))?;
        let meta = file.metadata().map_err(io(&path))?;
        if !meta.is_file() || meta.len() > MAX_FILE_BYTES {
            return Err(Error::Altered(format!("{} is no file of at most {MAX_FILE_BYTES} bytes", path.display())));
        }
        // The name must be as durable as what is encrypted under the keys.
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(io(folder))?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(io(&path))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut ring = Self {
            path,
            file,
            durable: whole as u64,
            wrap: XChaCha20Poly1305::new(&(**wrap).into()),
            keys: HashMap::new(),
        };
        if whole < text.len() {
            ring.cut()?;
        }
        for (at, line) in text[..whole].lines().enumerate() {
            let (principal, key) = ring.unwrapped(line).ok_or_else(|| ring.wrong(at + 1))?;
            ring.keys.insert(principal, PrincipalKeys::new(&key));
        }
        Ok(ring)
    }

    fn wrong(&self, line: usize) -> Error {
        Error::Locked(format!(
            "{} line {line} cannot be unwrapped with the vault key: `.policy/vault.key` or this file was replaced. Restore \
             both from the same backup",
            self.path.display()
        ))
    }

    fn cut(&mut self) -> Result<()> {
        self.file.set_len(self.durable).and_then(|()| self.file.sync_data()).map_err(io(&self.path))
    }

    fn unwrapped(&self, line: &str) -> Option<(String, KeyBytes)> {
        let line: Line = serde_json::from_str(line).ok()?;
        let bytes = BASE64.decode(line.key.as_bytes()).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let bound = place(b"key", &line.principal, 0);
        let opened = self.wrap.decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: &bound }).ok()?;
        let key = Zeroizing::new(<[u8; KEY_BYTES]>::try_from(Zeroizing::new(opened).as_slice()).ok()?);
        Some((line.principal, key))
    }

    /// The keys of a principal, if it has any.
    pub(super) fn get(&self, principal: &str) -> Option<&PrincipalKeys> {
        self.keys.get(principal)
    }

    /// The keys of a principal, generated if it has none.
    pub(super) fn of(&mut self, principal: &str) -> Result<&PrincipalKeys> {
        if !self.keys.contains_key(principal) {
            let key = self.make(principal)?;
            self.keys.insert(principal.to_owned(), key);
        }
        self.keys.get(principal).ok_or_else(|| Error::io("a key that was just made", io::ErrorKind::NotFound))
    }

    fn make(&mut self, principal: &str) -> Result<PrincipalKeys> {
        if self.keys.len() >= MAX_KEYS {
            let why = format!("{MAX_KEYS} principals have a key already, and events of another one are refused");
            return Err(Refusal::new(RefusalCode::Unavailable, "chronicle.keys", why).into());
        }
        let random = |_| Error::io("the kernel gives no random numbers", io::ErrorKind::Other);
        let (mut key, mut nonce) = (Zeroizing::new([0; KEY_BYTES]), [0; NONCE_BYTES]);
        getrandom::fill(key.as_mut()).map_err(random)?;
        getrandom::fill(&mut nonce).map_err(random)?;
        let bound = place(b"key", principal, 0);
        let sealed = self.wrap.encrypt(&XNonce::from(nonce), Payload { msg: key.as_slice(), aad: &bound });
        let sealed = sealed.map_err(|_| Error::io("wrapping a key", io::ErrorKind::OutOfMemory))?;
        let line = Line { principal: principal.to_owned(), key: BASE64.encode(&[nonce.as_slice(), &sealed].concat()) };
        let mut line = serde_json::to_string(&line).map_err(|error| io(&self.path)(error.into()))?;
        line.push('\n');
        // An earlier attempt may have written a part of its line before the disk was full.
        self.cut()?;
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(io(&self.path))?;
        self.durable += line.len() as u64;
        Ok(PrincipalKeys::new(&key))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::tests::keys;
    use super::*;

    #[test]
    fn key_is_kept_wrapped_and_opens_after_restart_under_its_vault_key_only() {
        let folder = tempfile::tempdir().unwrap();
        let sealed = keys(folder.path(), 1).unwrap().seal_text("telegram:1", "words").unwrap();
        assert_eq!(keys(folder.path(), 1).unwrap().open_text("telegram:1", &sealed).unwrap(), "words");
        let why = keys(folder.path(), 2).unwrap_err().to_string();
        assert!(why.contains("vault.key") && why.contains("line 1"), "{why}");
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(folder.path().join(KEYS_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
    }

    #[test]
    fn half_a_line_of_a_crash_is_cut_off_and_a_changed_one_stops_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(KEYS_FILE);
        keys(folder.path(), 1).unwrap().ensure("telegram:1").unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{{\"principal\":\"tele")).unwrap();
        keys(folder.path(), 1).unwrap().ensure("telegram:2").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(&whole) && text.lines().count() == 2);
        // One principal's key does not stand in for another's.
        std::fs::write(&path, text.replace("telegram:1", "telegram:3")).unwrap();
        assert!(keys(folder.path(), 1).is_err());
    }

    #[test]
    fn file_that_cannot_be_written_gives_no_key() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("elsewhere", folder.path().join(KEYS_FILE)).unwrap();
        assert!(keys(folder.path(), 1).is_err());
        std::fs::remove_file(folder.path().join(KEYS_FILE)).unwrap();
        std::fs::create_dir(folder.path().join(KEYS_FILE)).unwrap();
        assert!(keys(folder.path(), 1).is_err());
    }
}
