//! The secrets of the webhooks, in one file of the door that was opened before the lock. The file has two places, which
//! are written in turn, each with a number and a digest: what a crash leaves half written is not read, and what stood
//! before it still holds.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use data_encoding::BASE64;
use metnos_proto::ids::Blake3;
use metnos_proto::msg::people::is_name;
use rustix::fs::{Mode, OFlags};
use zeroize::Zeroizing;

/// The name of the file in the door's folder.
pub const FILE: &str = "hooks";
/// Bytes of a secret.
pub const SECRET: usize = 32;
/// What a secret begins with when it is shown.
const SHOWN: &str = "whsec_";
/// Bytes of one place: room for all secrets that there can be.
const PLACE: usize = 8 * 1024;

/// The secret of a webhook.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<[u8; SECRET]>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// One that nobody knows.
    ///
    /// # Errors
    /// When the kernel gives no random numbers.
    pub fn fresh() -> Result<Self, String> {
        let mut bytes = Zeroizing::new([0; SECRET]);
        getrandom::fill(&mut *bytes).map_err(|error| error.to_string())?;
        Ok(Self(bytes))
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = Zeroizing::new(BASE64.decode(text.strip_prefix(SHOWN)?.as_bytes()).ok()?);
        Some(Self(Zeroizing::new(bytes.as_slice().try_into().ok()?)))
    }

    /// As senders want it.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{SHOWN}{}", BASE64.encode(&*self.0))
    }

    /// To check signatures with.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &*self.0
    }
}

/// The secrets by name, and their file.
#[derive(Debug)]
pub struct HookSecrets {
    file: File,
    secrets: BTreeMap<String, Secret>,
    number: u64,
}

impl HookSecrets {
    /// Opens the file in the door's folder, before the lock.
    ///
    /// # Errors
    /// When it cannot be opened, is not the door's alone, or nothing in it is whole.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(FILE);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(&path, flags, Mode::from(0o600))?);
        let stat = rustix::fs::fstat(&file)?;
        let own = rustix::process::geteuid().as_raw();
        let is_file = rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::RegularFile;
        if !is_file || stat.st_uid != own || stat.st_mode & 0o077 != 0 || stat.st_nlink != 1 {
            let why = format!("{} must be a file that only the door's user may read (chmod 600)", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        if stat.st_size == 0 {
            return Ok(Self { file, secrets: BTreeMap::new(), number: 0 });
        }
        let mut places = [0, PLACE].map(|at| read(&file, at).ok().flatten());
        let newest = if places[1].as_ref().map(|one| one.0) > places[0].as_ref().map(|one| one.0) { 1 } else { 0 };
        let Some((number, secrets)) = places[newest].take() else {
            let why = format!("{} is damaged: remove it, and make the secrets anew", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        };
        Ok(Self { file, secrets, number })
    }

    /// The secret of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.secrets.get(name)
    }

    /// The names that have one.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.secrets.keys().map(String::as_str)
    }

    /// Keeps this secret under this name, or none any more, also across restarts.
    ///
    /// # Errors
    /// When the disk does not take it: then all is as it was.
    pub fn put(&mut self, name: &str, secret: Option<&Secret>) -> io::Result<()> {
        let mut secrets = self.secrets.clone();
        match secret {
            Some(secret) => drop(secrets.insert(name.to_owned(), secret.clone())),
            None => drop(secrets.remove(name)),
        }
        let number = self.number + 1;
        let place = written(number, &secrets)?;
        let at = if number.is_multiple_of(2) { 0 } else { PLACE as u64 };
        if rustix::io::pwrite(self.file.as_fd(), &place, at)? != place.len() {
            return Err(io::Error::other("the disk took a part of it"));
        }
        rustix::fs::fdatasync(&self.file)?;
        // What was taken away is nowhere any more.
        let other = written(number, &secrets)?;
        let _ = rustix::io::pwrite(self.file.as_fd(), &other, PLACE as u64 - at);
        let _ = rustix::fs::fdatasync(&self.file);
        (self.secrets, self.number) = (secrets, number);
        Ok(())
    }
}

/// A place: the digest of what follows, the number, a line for each secret, and blanks.
fn written(number: u64, secrets: &BTreeMap<String, Secret>) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut body = Zeroizing::new(format!("{number}\n"));
    body.reserve(PLACE);
    for (name, secret) in secrets {
        body.push_str(name);
        body.push(' ');
        body.push_str(&Zeroizing::new(secret.reveal()));
        body.push('\n');
    }
    let digest = Blake3::of(body.as_bytes()).hex();
    let mut place = Zeroizing::new(Vec::with_capacity(PLACE));
    place.extend_from_slice(digest.as_bytes());
    place.push(b'\n');
    place.extend_from_slice(body.as_bytes());
    if place.len() > PLACE {
        return Err(io::Error::other("there is no room for more secrets"));
    }
    place.resize(PLACE, b' ');
    Ok(place)
}

type Place = (u64, BTreeMap<String, Secret>);

/// What stands in a place, when it is whole.
fn read(file: &File, at: usize) -> io::Result<Option<Place>> {
    let mut place = Zeroizing::new(vec![0; PLACE]);
    let mut len = 0;
    while len < PLACE {
        match rustix::io::pread(file, &mut place[len..], (at + len) as u64)? {
            0 => break,
            more => len += more,
        }
    }
    let Ok(text) = std::str::from_utf8(&place[..len]) else { return Ok(None) };
    let Some((digest, body)) = text.trim_end_matches(' ').split_once('\n') else { return Ok(None) };
    if Blake3::of(body.as_bytes()).hex() != digest {
        return Ok(None);
    }
    let mut lines = body.lines();
    let number = lines.next().and_then(|number| number.parse().ok());
    let secrets = lines.map(|line| {
        let (name, secret) = line.split_once(' ')?;
        Some((name.to_owned(), Secret::parse(secret)?)).filter(|(name, _)| is_name(name))
    });
    Ok(number.zip(secrets.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_kept_changed_and_forgotten_across_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let open = || HookSecrets::open(folder.path()).unwrap();
        let (one, other) = (Secret::fresh().unwrap(), Secret::fresh().unwrap());
        open().put("mail", Some(&one)).unwrap();
        open().put("door", Some(&other)).unwrap();
        assert_eq!((open().get("mail"), open().get("door")), (Some(&one), Some(&other)));
        open().put("mail", Some(&other)).unwrap();
        assert_eq!(open().get("mail"), Some(&other));
        let on_disk = || String::from_utf8(std::fs::read(folder.path().join(FILE)).unwrap()).unwrap();
        assert!(!on_disk().contains(&one.reveal()), "the one before is nowhere any more");
        open().put("mail", None).unwrap();
        open().put("door", None).unwrap();
        assert_eq!(open().names().count(), 0);
        assert!(!on_disk().contains(&other.reveal()));
        assert_eq!(format!("{one:?}"), "Secret(..)");
    }

    #[test]
    fn half_written_hook_file_is_ignored_and_previous_one_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let secret = Secret::fresh().unwrap();
        HookSecrets::open(folder.path()).unwrap().put("mail", Some(&secret)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for place in [0, PLACE] {
            for at in [0, 10, 70, 100, PLACE - 1] {
                let mut torn = whole.clone();
                torn[place + at..place + PLACE].fill(b'x');
                std::fs::write(&path, &torn).unwrap();
                assert_eq!(HookSecrets::open(folder.path()).unwrap().get("mail"), Some(&secret), "{place} {at}");
            }
        }
        std::fs::write(&path, vec![b'x'; 2 * PLACE]).unwrap();
        assert!(HookSecrets::open(folder.path()).is_err());
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        drop(HookSecrets::open(folder.path()).unwrap());
        std::fs::set_permissions(folder.path().join(FILE), std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(HookSecrets::open(folder.path()).is_err());
    }
}
