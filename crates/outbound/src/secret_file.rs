//! A secret that opens a server: a file that was opened before the lock, or a credential of systemd. No text of the
//! program that holds it ever has it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use zeroize::Zeroizing;

/// The longest secret, in bytes.
pub const MAX_KEY: usize = metnos_proto::msg::mind::MAX_KEY;
/// Where systemd puts credentials.
pub const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// A key.
pub struct Key(Zeroizing<String>);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// For the header of a request, and nothing else.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Where a key comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// There is none.
    None,
    /// The owner gave it.
    Owner,
    /// systemd gave it.
    Credential,
}

impl Origin {
    /// As it is shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Owner => "owner",
            Self::Credential => "credential",
        }
    }
}

/// A secret, and the file that it is kept in.
#[derive(Debug)]
pub struct SecretFile {
    key: Option<Key>,
    origin: Origin,
    file: File,
}

impl SecretFile {
    /// Opens the secret of this name, as a file and as a credential. A credential counts before the owner's file.
    ///
    /// # Errors
    /// When the file cannot be opened, is not this daemon's alone, or holds what is no key.
    pub fn open(folder: &Path, credentials: Option<&Path>, name: &str) -> io::Result<Self> {
        let path = folder.join(name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(&path, flags, Mode::from(0o600))?);
        let stat = rustix::fs::fstat(&file)?;
        let own = rustix::process::geteuid().as_raw();
        let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
        if kind != rustix::fs::FileType::RegularFile
            || stat.st_uid != own
            || stat.st_mode & 0o077 != 0
            || stat.st_nlink != 1
        {
            let why = format!("{} must be a file that only its daemon's user may read (chmod 600)", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        if let Some(key) = credentials.and_then(|folder| File::open(folder.join(name)).ok()) {
            let key = read(&key).map_err(|what| named(&format!("the credential {name}"), what))?;
            return Ok(Self { key, origin: Origin::Credential, file });
        }
        let key = read(&file).map_err(|what| named(&path.display().to_string(), what))?;
        let origin = if key.is_some() { Origin::Owner } else { Origin::None };
        Ok(Self { key, origin, file })
    }

    /// The key, if there is one.
    #[must_use]
    pub const fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// Where it comes from.
    #[must_use]
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    /// Keeps this key instead of the one before, also across restarts; an empty one takes it away.
    ///
    /// # Errors
    /// When it is no key, systemd gives the key, or the disk does not take it.
    pub fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.origin == Origin::Credential {
            return Err(io::Error::other("it is a credential of systemd: change it there"));
        }
        let key = sound(bytes).map_err(|what| named("the key", what))?;
        // One write, then the cut: what a crash leaves behind begins with the new key's line.
        let mut line = Zeroizing::new(Vec::with_capacity(MAX_KEY + 1));
        if let Some(key) = &key {
            line.extend_from_slice(key.0.as_bytes());
        }
        line.push(b'\n');
        let written = rustix::io::pwrite(self.file.as_fd(), &line, 0)?;
        if written != line.len() {
            return Err(io::Error::other("the disk took a part of it"));
        }
        rustix::fs::ftruncate(&self.file, if key.is_some() { line.len() as u64 } else { 0 })?;
        rustix::fs::fdatasync(&self.file)?;
        self.origin = if key.is_some() { Origin::Owner } else { Origin::None };
        self.key = key;
        Ok(())
    }
}

fn named(what: &str, why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} {why}"))
}

/// The first line of a file.
fn read(mut file: &File) -> Result<Option<Key>, &'static str> {
    // With room for all of it, so that no copy of it is left behind when the buffer grows.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_KEY + 64));
    (&mut file).take(MAX_KEY as u64 + 2).read_to_end(&mut bytes).map_err(|_| "cannot be read")?;
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    sound(&bytes[..end])
}

/// A key as a header may hold it; `None` for none.
fn sound(bytes: &[u8]) -> Result<Option<Key>, &'static str> {
    let bytes = bytes.trim_ascii();
    if bytes.len() > MAX_KEY {
        return Err("is longer than a key may be");
    }
    if !bytes.iter().all(u8::is_ascii_graphic) {
        return Err("holds more than letters, digits and signs");
    }
    let text = String::from_utf8(bytes.to_vec()).map_err(|_| "is no text")?;
    Ok((!text.is_empty()).then(|| Key(Zeroizing::new(text))))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn secret_is_stored_replaced_removed_and_credential_takes_precedence() {
        let (folder, credentials) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let open = || SecretFile::open(folder.path(), Some(credentials.path()), "bot").unwrap();
        assert_eq!(open().origin(), Origin::None);
        open().put(b"1234:long-long\n").unwrap();
        open().put(b"1234:short").unwrap();
        assert_eq!(std::fs::read(folder.path().join("bot")).unwrap(), b"1234:short\n");
        assert_eq!((open().key().unwrap().reveal(), open().origin()), ("1234:short", Origin::Owner));
        assert!(!format!("{:?}", open()).contains("short"));
        std::fs::write(credentials.path().join("bot"), "5:systemd").unwrap();
        assert_eq!(open().origin(), Origin::Credential);
        assert!(open().put(b"other").is_err());
        assert_eq!(std::fs::read(folder.path().join("bot")).unwrap(), b"1234:short\n", "and is not overwritten");
        std::fs::remove_file(credentials.path().join("bot")).unwrap();
        // As a crash would leave it between the write and the cut.
        std::fs::write(folder.path().join("bot"), "new\nof the old one").unwrap();
        assert_eq!(open().key().unwrap().reveal(), "new");
        open().put(b"").unwrap();
        assert!(open().key().is_none());
        assert_eq!(std::fs::metadata(folder.path().join("bot")).unwrap().len(), 0);
    }

    #[test]
    fn malformed_or_world_readable_secret_is_refused_without_echo() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mut holder = SecretFile::open(folder.path(), None, "bot").unwrap();
        for bad in [&b"two words"[..], b"line\nline", b"\xff\xfe", &[b'x'; MAX_KEY + 1]] {
            let said = holder.put(bad).unwrap_err().to_string();
            assert!(said.len() < 100 && !said.contains("two words"), "{said}");
        }
        std::fs::set_permissions(folder.path().join("bot"), std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(SecretFile::open(folder.path(), None, "bot").is_err());
    }
}
