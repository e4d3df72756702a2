//! The six files the owner writes: read when they have changed, never written.
//!
//! The folder is opened once, at start, and watched; each file is looked at anew for every turn, so that
//! an editor's change is picked up without a restart, however the editor saves. The watch is made before the
//! lock, and only says that something has moved: what, is looked up.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use metnos_proto::envelope::Named;
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::named::{Finder, Reach};
use super::stamp::FileStamp;
use crate::error::{Error, Result};

/// The files, in the order in which they are digested and later shown (design: memory §3).
pub const FILES: [&str; 6] = ["IDENTITY.md", "USER.md", "MEMORY.md", "AGENTS.md", "SOUL.md", "TELOS.md"];
/// The largest of them that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// One file as it was last read; without a mark when it was not there.
#[derive(Debug, Default, Clone)]
struct ReadFile {
    stamp: Option<FileStamp>,
    text: Vec<u8>,
}

/// The folder and what was read from it.
#[derive(Debug)]
pub struct Workspace {
    dir: OwnedFd,
    files: [ReadFile; FILES.len()],
    /// Where the kernel says that something has moved in the folder; `None` when it does not.
    watch: Option<OwnedFd>,
    /// What finds the files that words mean.
    finder: Finder,
}

impl Workspace {
    /// Opens the folder; it stays open.
    ///
    /// # Errors
    /// When it is not there, or not a folder.
    pub fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|errno| Error::io(format!("opening {}", path.display()), errno))?;
        let watch = watched(path).inspect_err(|error| tracing::warn!(%error, "the workspace is not watched")).ok();
        Ok(Self { dir, files: Default::default(), watch, finder: Finder::default() })
    }

    /// What becomes readable when something has moved in the folder; `None` where the kernel watches nothing, and a
    /// change is noticed with the next turn only.
    #[must_use]
    pub fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(AsFd::as_fd)
    }

    /// Takes off what the watch has said.
    pub fn drain_watch(&self) {
        let Some(watch) = &self.watch else { return };
        let mut said = [0; 4096];
        // As often as there is something, within bounds: what is left wakes the loop again.
        for _ in 0..64 {
            match rustix::io::read(watch, &mut said) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
        }
    }

    /// Each of the files as it was last read by [`Workspace::identity`], and its digest: empty when it is not there.
    #[must_use]
    pub fn digests(&self) -> Vec<(&'static str, String)> {
        let digest = |files: &ReadFile| files.stamp.map(|_| Blake3::of(&files.text).hex()).unwrap_or_default();
        FILES.iter().copied().zip(self.files.iter().map(digest)).collect()
    }

    /// The digest of who Metnos is: BLAKE3 over the six files as they are now, each as its
    /// name and its bytes behind their lengths. A missing file counts as an empty one.
    ///
    /// # Errors
    /// A refusal that names the file, when it cannot be read as a text file of a bearable size.
    pub fn identity(&mut self) -> Result<Blake3> {
        let mut digest = blake3::Hasher::new();
        for (name, files) in FILES.iter().zip(&mut self.files) {
            refresh(&self.dir, name, files)?;
            for part in [name.as_bytes(), &files.text] {
                digest.update(&(part.len() as u64).to_be_bytes());
                digest.update(part);
            }
        }
        Ok(Blake3(*digest.finalize().as_bytes()))
    }

    /// The files and folders that the words of a request may mean, best first, then those that the words before it may; `own`
    /// is the name of the requester's private folder, empty for none.
    pub fn named(&mut self, reach: Reach, own: &str, now: &str, before: &str) -> Vec<Named> {
        self.finder.find(&self.dir, reach, own, now, before)
    }

    /// The text of one of the files, as last read by [`Workspace::identity`].
    #[must_use]
    pub fn text(&self, name: &str) -> &[u8] {
        FILES.iter().position(|file| *file == name).map_or(&[], |at| self.files[at].text.as_slice())
    }
}

fn watched(path: &Path) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    let watch = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let moves = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE | WatchFlags::CLOSE_WRITE;
    add_watch(&watch, path, moves | WatchFlags::ONLYDIR)?;
    Ok(watch)
}

fn refused(name: &str, why: &str) -> Error {
    Refusal::new(RefusalCode::Unavailable, "workspace.file", format!("workspace/{name} {why}"))
        .remedy(format!("make workspace/{name} a text file of at most {MAX_FILE_BYTES} bytes, or remove it"))
        .into()
}

fn refresh(dir: &OwnedFd, name: &str, files: &mut ReadFile) -> Result<()> {
    let stat = match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(rustix::io::Errno::NOENT) => {
            *files = ReadFile::default();
            return Ok(());
        }
        Err(errno) => return Err(Error::io(format!("looking at workspace/{name}"), errno)),
    };
    if files.stamp == Some(FileStamp::of(&stat)) {
        return Ok(());
    }
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(refused(name, "is no regular file"));
    }
    // Not followed and not waited for, should it have become something else meanwhile.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let told = |errno| Error::io(format!("reading workspace/{name}"), errno);
    let fd = rustix::fs::openat(dir, name, flags, Mode::empty()).map_err(told)?;
    let stat = rustix::fs::fstat(&fd).map_err(told)?;
    let mut text = Vec::new();
    File::from(fd)
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(|source| Error::io(format!("reading workspace/{name}"), source))?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(refused(name, &format!("is larger than {MAX_FILE_BYTES} bytes")));
    }
    *files = ReadFile { stamp: Some(FileStamp::of(&stat)), text };
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        (dir, workspace)
    }

    #[test]
    fn a_change_is_picked_up_without_a_restart() {
        let (dir, mut workspace) = workspace();
        let empty = workspace.identity().unwrap();
        assert_eq!(workspace.identity().unwrap(), empty);
        std::fs::write(dir.path().join("USER.md"), "Roberto").unwrap();
        let named = workspace.identity().unwrap();
        assert_ne!(named, empty);
        assert_eq!(workspace.text("USER.md"), b"Roberto");
        // As editors save: a new file takes the name.
        std::fs::write(dir.path().join("new"), "Roberta").unwrap();
        std::fs::rename(dir.path().join("new"), dir.path().join("USER.md")).unwrap();
        assert_ne!(workspace.identity().unwrap(), named);
        std::fs::remove_file(dir.path().join("USER.md")).unwrap();
        assert_eq!(workspace.identity().unwrap(), empty);
    }

    #[test]
    fn watch_reports_every_change_and_nothing_else() {
        let (dir, workspace) = workspace();
        let moved = || {
            let mut fds =
                [rustix::event::PollFd::from_borrowed_fd(workspace.watch().unwrap(), rustix::event::PollFlags::IN)];
            rustix::event::poll(&mut fds, Some(&rustix::event::Timespec::default())).unwrap() > 0
        };
        assert!(!moved());
        std::fs::write(dir.path().join("SOUL.md"), "# Laws").unwrap();
        assert!(moved());
        workspace.drain_watch();
        assert!(!moved(), "it was heard");
        std::fs::write(dir.path().join("new"), "# Laws").unwrap();
        std::fs::rename(dir.path().join("new"), dir.path().join("SOUL.md")).unwrap();
        assert!(moved());
        workspace.drain_watch();
        std::fs::read(dir.path().join("SOUL.md")).unwrap();
        assert!(!moved(), "reading changes nothing");
        std::fs::remove_file(dir.path().join("SOUL.md")).unwrap();
        assert!(moved());
    }

    #[test]
    fn text_moved_from_one_file_to_the_next_is_another_identity() {
        let (dir, mut workspace) = workspace();
        std::fs::write(dir.path().join("AGENTS.md"), "words").unwrap();
        let one = workspace.identity().unwrap();
        std::fs::rename(dir.path().join("AGENTS.md"), dir.path().join("SOUL.md")).unwrap();
        assert_ne!(workspace.identity().unwrap(), one);
    }

    #[test]
    fn unsuitable_workspace_file_is_refused_by_name() {
        let (dir, mut workspace) = workspace();
        let path = dir.path().join("SOUL.md");
        std::fs::write(&path, vec![b'x'; MAX_FILE_BYTES as usize]).unwrap();
        assert!(workspace.identity().is_ok());
        std::fs::write(&path, vec![b'x'; MAX_FILE_BYTES as usize + 1]).unwrap();
        assert!(workspace.identity().unwrap_err().to_string().contains("workspace/SOUL.md"));
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(workspace.identity().unwrap_err().to_string().contains("no regular file"));
        std::fs::remove_file(&path).unwrap();
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, mode, 0).unwrap();
        assert!(workspace.identity().unwrap_err().to_string().contains("no regular file"));
    }
}
