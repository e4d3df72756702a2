//! The pool's files, by descriptor and never by a path that could be led elsewhere: no link on
//! the way is followed, nothing but plain files is read, and never more than its limit.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use metnos_proto::executor::{
    MAX_BIRTH_BYTES, MAX_CODE_BYTES, MAX_MANIFEST_BYTES, MAX_SCHEMA_BYTES, is_name, parse_version,
};
use metnos_proto::msg::common::ExecutorId;
use metnos_proto::msg::policyd::MAX_EXECUTORS;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

/// The most entries of one folder that are looked at.
pub const MAX_ENTRIES: usize = 1024;
/// The longest `profile.lock`, `manifest.sig` or `CURRENT` that is read, in bytes.
pub const MAX_SMALL_BYTES: usize = 256;
/// The most bytes of `profile.json`.
pub const MAX_PROFILE_BYTES: usize = 64 << 10;

/// The files of a version. What its signature covers, and what surrounds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// `manifest.toml`.
    Manifest,
    /// `main.py`.
    Code,
    /// `schema.json`.
    Schema,
    /// `tests/birth.py`.
    Birth,
    /// `profile.lock`.
    Lock,
    /// `profile.json`: the sandbox that `profile.lock` locks, to show what has changed.
    Profile,
    /// `manifest.sig`.
    Signature,
}

impl File {
    /// Its name in the version's folder.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Manifest => "manifest.toml",
            Self::Code => "main.py",
            Self::Schema => "schema.json",
            Self::Birth => "tests/birth.py",
            Self::Lock => "profile.lock",
            Self::Profile => "profile.json",
            Self::Signature => "manifest.sig",
        }
    }

    /// The most bytes it may have.
    #[must_use]
    pub const fn limit(self) -> usize {
        match self {
            Self::Manifest => MAX_MANIFEST_BYTES,
            Self::Code => MAX_CODE_BYTES,
            Self::Schema => MAX_SCHEMA_BYTES,
            Self::Birth => MAX_BIRTH_BYTES,
            Self::Profile => MAX_PROFILE_BYTES,
            Self::Lock | Self::Signature => MAX_SMALL_BYTES,
        }
    }
}

/// Why a file was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It is not there.
    #[error("{0} is not there")]
    Missing(String),
    /// It is no plain file, or a link stands on the way.
    #[error("{0} is no plain file of this folder")]
    NotPlain(String),
    /// It is too long.
    #[error("{name} has more than {max} bytes")]
    TooLong {
        /// Which.
        name: String,
        /// The limit.
        max: usize,
    },
    /// It cannot be read by this user.
    #[error("{name} cannot be read: {errno}")]
    Unreadable {
        /// Which.
        name: String,
        /// What the kernel said.
        errno: Errno,
    },
    /// The machine is short of something: says nothing about the file.
    #[error("{name} cannot be read right now: {errno}")]
    Later {
        /// Which.
        name: String,
        /// What the kernel said.
        errno: Errno,
    },
    /// Something of that name is there already.
    #[error("{0} is in the pool already")]
    Taken(String),
    /// More entries than are ever looked at.
    #[error("{name} has more than {max} entries; move some out of the pool")]
    TooMany {
        /// Which folder.
        name: String,
        /// The limit.
        max: usize,
    },
}

impl FileError {
    fn of(name: &str, errno: Errno) -> Self {
        let name = name.to_owned();
        match errno {
            Errno::NOENT => Self::Missing(name),
            // A link, something else than a folder on the way, or a way out of the pool.
            Errno::LOOP | Errno::NOTDIR | Errno::XDEV | Errno::NXIO => Self::NotPlain(name),
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::INTR | Errno::AGAIN | Errno::IO => {
                Self::Later { name, errno }
            }
            errno => Self::Unreadable { name, errno },
        }
    }
}

/// The pool of executors: `<name>/<version>/…` and `<name>/CURRENT`.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
}

/// One version's folder, open.
#[derive(Debug)]
pub struct Version {
    fd: OwnedFd,
}

fn beneath(folder: impl AsFd, name: &str, flags: OFlags) -> Result<OwnedFd, FileError> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOCTTY;
    rustix::fs::openat2(folder, name, flags, Mode::empty(), resolve).map_err(|errno| FileError::of(name, errno))
}

/// The names in a folder, sorted; those that are no UTF-8 are left out.
fn names(fd: &OwnedFd, what: &str) -> Result<Vec<String>, FileError> {
    let mut found = Vec::new();
    let mut seen = 0;
    for entry in Dir::read_from(fd).map_err(|errno| FileError::of(what, errno))? {
        let entry = entry.map_err(|errno| FileError::of(what, errno))?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        seen += 1;
        if seen > MAX_ENTRIES {
            return Err(FileError::TooMany { name: what.to_owned(), max: MAX_ENTRIES });
        }
        found.extend(std::str::from_utf8(name).ok().map(str::to_owned));
    }
    found.sort();
    Ok(found)
}

impl Folder {
    /// Opens the pool.
    ///
    /// # Errors
    /// When it is no folder that can be read.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let name = path.display().to_string();
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| FileError::of(&name, errno))?;
        Ok(Self { fd })
    }

    /// Every version of every executor, sorted. What has no name of an executor is no executor.
    ///
    /// # Errors
    /// When there are more than [`MAX_EXECUTORS`], or a folder cannot be read.
    pub fn ids(&self) -> Result<Vec<ExecutorId>, FileError> {
        let mut found = Vec::new();
        for name in names(&beneath(&self.fd, ".", OFlags::RDONLY | OFlags::DIRECTORY)?, "the pool")? {
            if is_name(&name) {
                found.extend(self.versions(&name)?);
            }
            if found.len() > MAX_EXECUTORS {
                return Err(FileError::TooMany { name: "the pool".to_owned(), max: MAX_EXECUTORS });
            }
        }
        Ok(found)
    }

    /// Every version of one executor, in the order of versions; none when it is not there.
    ///
    /// # Errors
    /// When its folder cannot be read.
    pub fn versions(&self, name: &str) -> Result<Vec<ExecutorId>, FileError> {
        let folder = match beneath(&self.fd, name, OFlags::RDONLY | OFlags::DIRECTORY) {
            Ok(folder) => folder,
            Err(FileError::Missing(_) | FileError::NotPlain(_)) => return Ok(Vec::new()),
            Err(other) => return Err(other),
        };
        let mut versions: Vec<_> = names(&folder, name)?
            .into_iter()
            .filter_map(|version| Some((parse_version(&version)?, ExecutorId { name: name.to_owned(), version })))
            .collect();
        versions.sort_by_key(|(version, _)| *version);
        Ok(versions.into_iter().map(|(_, id)| id).collect())
    }

    /// Opens one version's folder.
    ///
    /// # Errors
    /// When the id names none, or it is not there.
    pub fn version(&self, id: &ExecutorId) -> Result<Version, FileError> {
        if !is_name(&id.name) || parse_version(&id.version).is_none() {
            return Err(FileError::Missing("an executor of that name and version".to_owned()));
        }
        let name = format!("{}/{}", id.name, id.version);
        Ok(Version { fd: beneath(&self.fd, &name, OFlags::RDONLY | OFlags::DIRECTORY)? })
    }

    /// Puts a version into the pool that is not there yet, whole or not at all.
    ///
    /// # Errors
    /// What the kernel says; [`FileError::Taken`] when something of that name is there.
    pub fn stage(&self, id: &ExecutorId, files: &[(File, &[u8])]) -> Result<(), FileError> {
        let fault = |errno| FileError::of(&id.version, errno);
        if !is_name(&id.name) || parse_version(&id.version).is_none() {
            return Err(FileError::Missing("an executor of that name and version".to_owned()));
        }
        make(&self.fd, &id.name)?;
        let folder = beneath(&self.fd, &id.name, OFlags::RDONLY | OFlags::DIRECTORY)?;
        // What an interrupted one has left is no version, and no other process writes under this name.
        let aside = format!(".{}.new", id.version);
        make(&folder, &aside)?;
        let fresh = Version { fd: beneath(&folder, &aside, OFlags::RDONLY | OFlags::DIRECTORY)? };
        make(&fresh.fd, "tests")?;
        let tests = beneath(&fresh.fd, "tests", OFlags::RDONLY | OFlags::DIRECTORY)?;
        for (file, bytes) in files {
            match file.name().strip_prefix("tests/") {
                Some(name) => put(&tests, name, bytes)?,
                None => put(&fresh.fd, file.name(), bytes)?,
            }
        }
        match rustix::fs::renameat_with(&folder, &*aside, &folder, &*id.version, RenameFlags::NOREPLACE) {
            Ok(()) => rustix::fs::fsync(&folder).map_err(fault),
            Err(Errno::EXIST) => Err(FileError::Taken(id.to_string())),
            Err(errno) => Err(fault(errno)),
        }
    }

    /// The version that `CURRENT` names, if it names one.
    #[must_use]
    pub fn current(&self, name: &str) -> Option<String> {
        let folder = beneath(&self.fd, name, OFlags::RDONLY | OFlags::DIRECTORY).ok()?;
        let bytes = read(&folder, "CURRENT", MAX_SMALL_BYTES).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        parse_version(text.trim_end()).map(|_| text.trim_end().to_owned())
    }

    /// Makes `CURRENT` name this version.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_current(&self, id: &ExecutorId) -> Result<(), FileError> {
        let folder = beneath(&self.fd, &id.name, OFlags::RDONLY | OFlags::DIRECTORY)?;
        put(&folder, "CURRENT", format!("{}\n", id.version).as_bytes())
    }
}

impl Version {
    /// All bytes of a file, as they are now.
    ///
    /// # Errors
    /// A [`FileError`].
    pub fn read(&self, file: File) -> Result<Vec<u8>, FileError> {
        read(&self.fd, file.name(), file.limit())
    }

    /// Puts a file in its place, whole or not at all, and onto the disk.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn put(&self, file: File, bytes: &[u8]) -> Result<(), FileError> {
        put(&self.fd, file.name(), bytes)
    }
}

/// Makes a folder, unless it is there.
fn make(folder: &OwnedFd, name: &str) -> Result<(), FileError> {
    match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o750)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(FileError::of(name, errno)),
    }
}

fn read(folder: &OwnedFd, name: &str, max: usize) -> Result<Vec<u8>, FileError> {
    let later = |errno| FileError::of(name, errno);
    // A pipe must not be waited for; it is refused once it is open.
    let fd = beneath(folder, name, OFlags::RDONLY | OFlags::NONBLOCK)?;
    let stat = rustix::fs::fstat(&fd).map_err(later)?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(FileError::NotPlain(name.to_owned()));
    }
    // The file may grow while it is read, so it is the bytes that are counted, not what it said of itself.
    let mut bytes = Vec::with_capacity(usize::try_from(stat.st_size).unwrap_or(max).min(max).saturating_add(1));
    while bytes.len() <= max {
        let room = bytes.spare_capacity_mut().len();
        bytes.reserve(if room == 0 { 4096 } else { 0 });
        match rustix::io::read(&fd, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(0) => return Ok(bytes),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(later(errno)),
        }
    }
    Err(FileError::TooLong { name: name.to_owned(), max })
}

fn put(folder: &OwnedFd, name: &str, bytes: &[u8]) -> Result<(), FileError> {
    let fault = |errno| FileError::of(name, errno);
    let aside = format!(".{name}.new");
    match rustix::fs::unlinkat(folder, aside.as_str(), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(fault(errno)),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(folder, aside.as_str(), flags, Mode::from_raw_mode(0o640)).map_err(fault)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        match rustix::io::write(&fd, rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(fault(errno)),
        }
    }
    rustix::fs::fsync(&fd).map_err(fault)?;
    rustix::fs::renameat(folder, aside.as_str(), folder, name).map_err(fault)?;
    rustix::fs::fsync(folder).map_err(fault)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
