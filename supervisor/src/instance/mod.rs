//! The instance's directory: what lies in it, whose it is, and the lock that keeps a second supervisor out. As root
//! this works inside directories that others can write, so it must never follow a symbolic link there, never give
//! away a file that has a second name, and never leave the file system it began in.

pub(crate) mod acl;
pub mod host_folders;
pub mod shared;
pub mod vault_key;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use metnos_proto::role::RoleName;
use rustix::fs::{AtFlags, FileType, FlockOperation, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use crate::instance::acl::Sharing;
use crate::process::ids::Ids;

/// How deep the directories of an instance may be nested.
pub const MAX_DEPTH: usize = 64;
/// How many files and directories an instance may have.
pub const MAX_ENTRIES: usize = 1_000_000;
/// How many files that were left alone are named.
const MAX_NAMED: usize = 16;
/// A log that is larger than this at the start is rotated, in bytes.
pub const MAX_LOG_BYTES: u64 = 8 * 1024 * 1024;

/// Who a part of the instance belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Owner,
    Daemon(RoleName),
}

/// A directory of the instance.
struct Part {
    path: &'static str,
    whose: Whose,
    /// Of the directories, when started as root.
    dir_mode: u32,
    /// Of the files, when started as root; what is executable stays so. `None`: files are not touched.
    file_mode: Option<u32>,
}

const fn private(path: &'static str, role: RoleName) -> Part {
    Part { path, whose: Whose::Daemon(role), dir_mode: 0o700, file_mode: Some(0o600) }
}

/// All parts; a directory comes before what is in it.
const PARTS: &[Part] = &[
    // The socket in it is open to all; nothing else there is.
    Part { path: "run", whose: Whose::Owner, dir_mode: 0o711, file_mode: None },
    Part { path: "workspace", whose: Whose::Daemon(RoleName::Sandboxd), dir_mode: 0o2750, file_mode: Some(0o640) },
    private(".policy", RoleName::Policyd),
    private(".gateway", RoleName::Gatewayd),
    private(".mind", RoleName::Mind),
    private(".audit", RoleName::Memoryd),
    private(".mnestome", RoleName::Memoryd),
    private(".soul", RoleName::Memoryd),
    private(".runtime", RoleName::Memoryd),
];

/// What is wrong with an instance.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Something about one file or directory.
    #[error("{path}: {why}")]
    At {
        /// Which.
        path: PathBuf,
        /// What, and what to do.
        why: String,
    },
    /// Another supervisor has it.
    #[error("{path} is already run by process {pid}: stop that with `metnosctl down`, or choose another --instance")]
    Taken {
        /// The instance.
        path: PathBuf,
        /// The other supervisor, as it wrote itself down.
        pid: String,
    },
}

/// An instance's directory, open.
#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    fd: OwnedFd,
    owner_uid: u32,
}

/// The sole right to run an instance, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "held, never used")] OwnedFd);

fn at(path: impl Into<PathBuf>) -> impl FnOnce(Errno) -> InstanceError {
    let path = path.into();
    move |errno| {
        let why = match errno {
            Errno::LOOP | Errno::NOTDIR => {
                "a symbolic link or a file stands where a directory must be: remove it".to_owned()
            }
            other => io::Error::from(other).to_string(),
        };
        InstanceError::At { path, why }
    }
}

impl Instance {
    /// Opens the directory, and makes it where there is none.
    ///
    /// # Errors
    /// When it can be neither made nor opened, or belongs to someone else.
    pub fn open(dir: &Path) -> Result<Self, InstanceError> {
        let error = |why: io::Error| InstanceError::At { path: dir.to_owned(), why: why.to_string() };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(error)?;
        let path = dir.canonicalize().map_err(error)?;
        if path.to_str().is_none() {
            return Err(InstanceError::At { path, why: "the path is not UTF-8".to_owned() });
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&path, flags, Mode::empty()).map_err(at(&path))?;
        let owner_uid = rustix::fs::fstat(&fd).map_err(at(&path))?.st_uid;
        let own = rustix::process::geteuid().as_raw();
        if own != 0 && own != owner_uid {
            let why = format!("it belongs to uid {owner_uid}, and this is uid {own}: start as its owner, or as root");
            return Err(InstanceError::At { path, why });
        }
        Ok(Self { path, fd, owner_uid })
    }

    /// Its absolute path, without symbolic links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who owns the directory.
    #[must_use]
    pub fn owner_uid(&self) -> u32 {
        self.owner_uid
    }

    /// Its `run` directory, made where there is none.
    ///
    /// # Errors
    /// When something else stands there.
    pub fn run_dir(&self) -> Result<OwnedFd, InstanceError> {
        self.dir("run")
    }

    /// The workspace, made where there is none.
    ///
    /// # Errors
    /// When something else stands there.
    pub fn workspace_dir(&self) -> Result<OwnedFd, InstanceError> {
        self.dir("workspace")
    }

    /// Whose the state of policyd is: the ids of last time.
    #[must_use]
    pub fn earlier_uid(&self) -> Option<u32> {
        rustix::fs::statat(&self.fd, ".policy", AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| stat.st_uid)
    }

    /// Takes the instance for this process.
    ///
    /// # Errors
    /// [`InstanceError::Taken`] when another supervisor runs it.
    pub fn lock(&self) -> Result<Lock, InstanceError> {
        let path = self.path.join("run/lock");
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(self.run_dir()?, "lock", flags, Mode::from(0o600)).map_err(at(&path))?;
        match rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(InstanceError::Taken { path: self.path.clone(), pid: read_small(&fd) });
            }
            Err(errno) => return Err(at(&path)(errno)),
        }
        rustix::fs::ftruncate(&fd, 0).map_err(at(&path))?;
        rustix::io::write(&fd, format!("{}\n", std::process::id()).as_bytes()).map_err(at(&path))?;
        Ok(Lock(fd))
    }

    /// The text of `metnos.toml`; empty where there is none.
    ///
    /// # Errors
    /// When it is no readable text of a sane size.
    pub fn configuration(&self) -> Result<String, InstanceError> {
        let path = self.path.join("metnos.toml");
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(&self.fd, "metnos.toml", flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(String::new()),
            Err(errno) => return Err(at(&path)(errno)),
        };
        let stat = rustix::fs::fstat(&fd).map_err(at(&path))?;
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || size > crate::config::MAX_CONFIG_BYTES {
            let why = format!("not a file of at most {} bytes", crate::config::MAX_CONFIG_BYTES);
            return Err(InstanceError::At { path, why });
        }
        io::read_to_string(std::fs::File::from(fd)).map_err(|why| InstanceError::At { path, why: why.to_string() })
    }

    /// Makes what is missing and gives everything to whom it belongs. Run again, it changes nothing. Returns what
    /// it left alone, in words.
    ///
    /// # Errors
    /// When a part cannot be made or given.
    pub fn prepare(&self, ids: &Ids, owner_uid: u32) -> Result<Vec<String>, InstanceError> {
        let as_root = ids.separate();
        let mode = if as_root { 0o711 } else { 0o700 };
        rustix::fs::fchmod(&self.fd, Mode::from(mode)).map_err(at(&self.path))?;
        let mut walk = OwnershipWalk { seen: 0, left: 0, left_alone: Vec::new(), has_no_lists: false };
        for part in PARTS {
            let fd = self.dir(part.path)?;
            if !as_root {
                continue;
            }
            let (uid, gid) = match part.whose {
                Whose::Owner => (owner_uid, None),
                Whose::Daemon(role) => ids.of(role).map_or((owner_uid, None), |id| (id.uid, Some(id.gid))),
            };
            let path = self.path.join(part.path);
            let stat = rustix::fs::fstat(&fd).map_err(at(&path))?;
            let shared = part.path == "workspace" && owner_uid != 0 && owner_uid != uid;
            let sharing = shared.then_some(Sharing { keeper: uid, owner: owner_uid, before: stat.st_uid });
            let ownership = Ownership { uid, gid, dir_mode: part.dir_mode, file_mode: part.file_mode, sharing };
            walk.directory(&ownership, fd.as_fd(), &stat).map_err(at(&path))?;
            if part.file_mode.is_some() {
                walk.tree(&fd, &path, &ownership, stat.st_dev, 0)?;
            }
        }
        if walk.has_no_lists {
            walk.left_alone.push(format!(
                "{}/workspace lies on a file system without POSIX access lists, so its owner (uid {owner_uid}) can read and \
                 change nothing there but through Metnos: put the instance on ext4, XFS, Btrfs or a tmpfs of Linux 6.1 or \
                 newer, or start Metnos as that user",
                self.path.display()
            ));
        }
        if walk.left > 0 {
            walk.left_alone.push(format!("{} files were left as they are", walk.left));
        }
        Ok(walk.left_alone)
    }

    /// The first directory on the way to the instance that other users may not enter.
    #[must_use]
    pub fn closed_ancestor(&self) -> Option<PathBuf> {
        use std::os::unix::fs::MetadataExt;
        let closed = |dir: &&Path| std::fs::metadata(dir).map_or(true, |meta| meta.mode() & 0o001 == 0);
        self.path.ancestors().skip(1).find(closed).map(Path::to_owned)
    }

    fn dir(&self, name: &str) -> Result<OwnedFd, InstanceError> {
        match rustix::fs::mkdirat(&self.fd, name, Mode::from(0o700)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(at(self.path.join(name))(errno)),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.fd, name, flags, Mode::empty()).map_err(at(self.path.join(name)))
    }
}

/// To whom, and with which rights.
struct Ownership {
    uid: u32,
    gid: Option<u32>,
    dir_mode: u32,
    file_mode: Option<u32>,
    /// Whom else the part is shared with.
    sharing: Option<Sharing>,
}

impl Ownership {
    fn apply(&self, fd: BorrowedFd<'_>, stat: &Stat, mode: u32) -> Result<(), Errno> {
        if !self.owned(stat) {
            rustix::fs::fchown(fd, Some(Uid::from_raw(self.uid)), self.gid.map(Gid::from_raw))?;
        }
        // After the change of owner, which clears the set-gid bit.
        if !self.owned(stat) || stat.st_mode & 0o7777 != mode {
            rustix::fs::fchmod(fd, Mode::from(mode))?;
        }
        Ok(())
    }

    fn owned(&self, stat: &Stat) -> bool {
        stat.st_uid == self.uid && self.gid.is_none_or(|gid| stat.st_gid == gid)
    }

    fn file_mode(&self, stat: &Stat) -> u32 {
        let mode = self.file_mode.unwrap_or(0o600);
        // Anyone who may read it may execute it, where its owner could.
        if stat.st_mode & 0o100 == 0 { mode } else { mode | (mode & 0o440) >> 2 }
    }
}

/// A walk through one part.
struct OwnershipWalk {
    seen: usize,
    left: usize,
    left_alone: Vec<String>,
    /// The file system keeps no access lists: it is not asked again, and reported once.
    has_no_lists: bool,
}

impl OwnershipWalk {
    fn directory(&mut self, ownership: &Ownership, fd: BorrowedFd<'_>, stat: &Stat) -> Result<(), Errno> {
        self.apply(ownership, fd, stat, ownership.dir_mode, |sharing| sharing.folder(fd))
    }

    /// Gives what is open to whom it belongs. With an access list the bits of the group are its mask, which says what those
    /// who are named may at most.
    fn apply(
        &mut self,
        ownership: &Ownership,
        fd: BorrowedFd<'_>,
        stat: &Stat,
        mode: u32,
        share: impl FnOnce(Sharing) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let Some(sharing) = ownership.sharing.filter(|_| !self.has_no_lists) else {
            return ownership.apply(fd, stat, mode);
        };
        let masked = mode | (mode & 0o700) >> 3;
        let same = stat.st_mode & 0o7777 == masked;
        ownership.apply(fd, stat, if same { masked } else { mode })?;
        match share(sharing) {
            Err(Errno::OPNOTSUPP) => {
                self.has_no_lists = true;
                ownership.apply(fd, &rustix::fs::fstat(fd)?, mode)
            }
            other => other,
        }
    }

    fn tree(
        &mut self,
        dir: &OwnedFd,
        path: &Path,
        ownership: &Ownership,
        device: u64,
        depth: usize,
    ) -> Result<(), InstanceError> {
        if depth > MAX_DEPTH {
            let why = format!("directories are nested deeper than {MAX_DEPTH}");
            return Err(InstanceError::At { path: path.to_owned(), why });
        }
        for entry in rustix::fs::Dir::read_from(dir).map_err(at(path))? {
            self.seen += 1;
            if self.seen > MAX_ENTRIES {
                let why = format!("there are more than {MAX_ENTRIES} files");
                return Err(InstanceError::At { path: path.to_owned(), why });
            }
            let entry = entry.map_err(at(path))?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                let below = path.join(std::ffi::OsStr::new(&*name.to_string_lossy()));
                self.entry(dir, name, &below, ownership, device, depth)?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        dir: &OwnedFd,
        name: &std::ffi::CStr,
        path: &Path,
        ownership: &Ownership,
        device: u64,
        depth: usize,
    ) -> Result<(), InstanceError> {
        let stat = match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(at(path)(errno)),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if stat.st_dev == device => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let fd = rustix::fs::openat(dir, name, flags, Mode::empty()).map_err(at(path))?;
                let opened = rustix::fs::fstat(&fd).map_err(at(path))?;
                self.directory(ownership, fd.as_fd(), &opened).map_err(at(path))?;
                self.tree(&fd, path, ownership, device, depth + 1)
            }
            FileType::RegularFile if stat.st_dev == device && stat.st_nlink == 1 => {
                self.file(dir, name, path, ownership, &stat)
            }
            FileType::Directory | FileType::RegularFile => {
                self.leave(path, "it has another name elsewhere, or lies on another file system");
                Ok(())
            }
            // Links, pipes, sockets and devices are nobody's business here; executors meet them and refuse.
            FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Ok(()),
        }
    }

    fn file(
        &mut self,
        dir: &OwnedFd,
        name: &std::ffi::CStr,
        path: &Path,
        ownership: &Ownership,
        stat: &Stat,
    ) -> Result<(), InstanceError> {
        if ownership.sharing.is_none() && ownership.owned(stat) && stat.st_mode & 0o7777 == ownership.file_mode(stat) {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(dir, name, flags, Mode::empty()).map_err(at(path))?;
        let opened = rustix::fs::fstat(&fd).map_err(at(path))?;
        // What was opened must be what was looked at: another process may be exchanging files meanwhile.
        if (opened.st_dev, opened.st_ino, opened.st_nlink) != (stat.st_dev, stat.st_ino, 1) {
            self.leave(path, "it changed while it was looked at");
            return Ok(());
        }
        let (mode, is_program) = (ownership.file_mode(&opened), opened.st_mode & 0o100 != 0);
        self.apply(ownership, fd.as_fd(), &opened, mode, |sharing| sharing.file(fd.as_fd(), is_program))
            .map_err(at(path))
    }

    fn leave(&mut self, path: &Path, why: &str) {
        self.left += 1;
        if self.left_alone.len() < MAX_NAMED {
            self.left_alone.push(format!("{} keeps its owner: {why}", path.display()));
        }
    }
}

/// The first line of a small file, as far as it is harmless to show.
fn read_small(fd: &OwnedFd) -> String {
    let mut bytes = [0; 16];
    let length = rustix::io::pread(fd, &mut bytes, 0).unwrap_or(0);
    bytes[..length].iter().take_while(|byte| byte.is_ascii_digit()).map(|byte| char::from(*byte)).collect()
}

/// Opens a log for appending; one that has grown large is rotated first, under the name with `.1`.
///
/// # Errors
/// When it cannot be opened, or is no file with one name.
pub fn open_log(path: &Path) -> Result<OwnedFd, InstanceError> {
    let error = |why: String| InstanceError::At { path: path.to_owned(), why };
    if std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > MAX_LOG_BYTES) {
        let mut aside = path.as_os_str().to_owned();
        aside.push(".1");
        std::fs::rename(path, aside).map_err(|why| error(why.to_string()))?;
    }
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from(0o600)).map_err(at(path))?;
    let stat = rustix::fs::fstat(&fd).map_err(at(path))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_nlink != 1 {
        return Err(error("a log must be a file with one name".to_owned()));
    }
    Ok(fd)
}

#[cfg(test)]
mod tests;
