//! The owner's files that policyd reads: `SOUL.md`, `TELOS.md` and `USER.md`, anew whenever they matter, so that an
//! editor's change counts at once. Links are not followed, and nothing is ever written.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use metnos_proto::executor::secret_names::{SIGNATURE_BYTES, is_secret_content};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// The largest file that is read, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;

/// What was seen at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// Something is there, or nobody can say that nothing is.
    pub there: bool,
    /// It begins like a file that holds a secret.
    pub secret: bool,
}

/// Looks at `below` in an open folder, without following a link and without leaving its disk.
#[must_use]
pub(crate) fn look(folder: &OwnedFd, below: &str) -> Seen {
    let below = if below.is_empty() { "." } else { below };
    let resolve =
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    let open = |flags| rustix::fs::openat2(folder, below, flags | OFlags::CLOEXEC, Mode::empty(), resolve);
    match open(OFlags::PATH) {
        Err(Errno::NOENT | Errno::NOTDIR) => Seen::default(),
        Err(_) => Seen { there: true, secret: false },
        Ok(found) => {
            let regular =
                rustix::fs::fstat(&found).is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::RegularFile);
            let content = || open(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).ok();
            Seen { there: true, secret: regular && content().is_some_and(|file| begins_secret(&file)) }
        }
    }
}

fn begins_secret(file: &OwnedFd) -> bool {
    let mut head = [0; SIGNATURE_BYTES];
    rustix::io::pread(file, &mut head[..], 0).is_ok_and(|read| is_secret_content(head.get(..read).unwrap_or_default()))
}

/// The folder they lie in, open.
#[derive(Debug)]
pub struct OwnerFiles {
    folder: OwnedFd,
}

impl OwnerFiles {
    /// Opens the folder.
    ///
    /// # Errors
    /// When it is not there, or not a folder.
    pub fn open(workspace: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { folder: rustix::fs::open(workspace, flags, Mode::empty())? })
    }

    /// The numbers of a folder's device and of it there, by its name below the workspace; `None` when it is not there, is a
    /// link, or cannot be seen.
    #[must_use]
    pub fn identity(&self, below: &str) -> Option<(u64, u64)> {
        let name = if below.is_empty() { "." } else { below };
        let stat = rustix::fs::statat(&self.folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        folder.then_some((stat.st_dev, stat.st_ino))
    }

    /// What is at `below` in the workspace.
    #[must_use]
    pub fn look(&self, below: &str) -> Seen {
        look(&self.folder, below)
    }

    /// The bytes of one of them; `None` when there is no such file.
    ///
    /// # Errors
    /// In a sentence, when it is there and cannot be read as a file of a bearable size.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let told = |what: &str| format!("workspace/{name} {what}");
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(&self.folder, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(rustix::io::Errno::LOOP) => return Err(told("is a link, and links are not followed")),
            Err(errno) => return Err(told(&format!("cannot be opened: {errno}"))),
        };
        let stat = rustix::fs::fstat(&file).map_err(|errno| told(&errno.to_string()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(told("is no regular file"));
        }
        let mut bytes = vec![0; MAX_BYTES + 1];
        let mut done = 0;
        while done < bytes.len() {
            match rustix::io::pread(&file, &mut bytes[done..], done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(told(&format!("cannot be read: {errno}"))),
            }
        }
        if done > MAX_BYTES {
            return Err(told(&format!("has more than {MAX_BYTES} bytes")));
        }
        bytes.truncate(done);
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_path_counts_as_existing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let files = OwnerFiles::open(folder.path()).unwrap();
        std::fs::create_dir(at("notes")).unwrap();
        std::fs::write(at("notes/a.md"), "milk").unwrap();
        std::fs::write(at("notes/key.txt"), "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl").unwrap();
        std::os::unix::fs::symlink("nowhere", at("notes/link")).unwrap();
        std::os::unix::fs::symlink("/etc", at("out")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::from_raw_mode(0o600)).unwrap();
        let (none, there) = (Seen::default(), Seen { there: true, secret: false });
        for (below, seen) in [
            ("notes/none.md", none),
            ("none/at/all", none),
            ("notes/a.md/x", none),
            ("notes/a.md", there),
            ("notes", there),
            ("", there),
            ("pipe", there),
            ("notes/link", there),
            ("out/passwd", there),
            ("../x", there),
            ("notes/key.txt", Seen { there: true, secret: true }),
        ] {
            assert_eq!(files.look(below), seen, "{below}");
        }
        assert_eq!(files.look(&"x".repeat(300)), there, "no name of a file");
    }

    #[test]
    fn a_file_is_read_up_to_the_limit_and_nothing_else_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let files = OwnerFiles::open(folder.path()).unwrap();
        assert_eq!(files.read("SOUL.md"), Ok(None));
        std::fs::write(folder.path().join("SOUL.md"), vec![b'a'; MAX_BYTES]).unwrap();
        assert_eq!(files.read("SOUL.md").unwrap().unwrap().len(), MAX_BYTES);
        std::fs::write(folder.path().join("SOUL.md"), vec![b'a'; MAX_BYTES + 1]).unwrap();
        assert!(files.read("SOUL.md").is_err());
        std::os::unix::fs::symlink("SOUL.md", folder.path().join("TELOS.md")).unwrap();
        assert!(files.read("TELOS.md").unwrap_err().contains("link"));
        std::fs::create_dir(folder.path().join("USER.md")).unwrap();
        assert!(files.read("USER.md").is_err());
    }
}
