//! Folders outside the workspace, as policyd sees them: by the descriptors that the supervisor has opened, and by nothing else.
//! What a call names there is looked at without following a link and without leaving the folder's own disk; whatever cannot be
//! looked at is denied. It can only forbid: that a folder is listed allows nothing (design: sandbox §5, executor §2).

use std::os::fd::{AsFd, OwnedFd};

use metnos_proto::control::FolderSettings;
use metnos_proto::executor::outside::{self, Declared};
use metnos_proto::executor::{Manifest, Role};
use metnos_proto::msg::common::RefusalCode;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::arguments::{self, Filled, field};
use crate::decision::Verdict;
use crate::executors::registry::Signed;
use crate::guard::shown;
use crate::paths;
use crate::perimeter::Perimeter;
use crate::perimeter::owner_files::{self, Seen};

/// The listed folders, as far as they could be opened.
#[derive(Debug, Default)]
pub struct Folders {
    listed: FolderSettings,
    opened: Vec<(String, OwnedFd)>,
}

/// Why nothing is known of a place in a listed folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unseen {
    /// There is nothing of this name.
    None,
    /// A link, or another disk, is on the way.
    Elsewhere,
    /// policyd's user may not look.
    Closed,
    /// The folder was not opened, or it is something else.
    Other,
}

impl Folders {
    /// These, of which the owner has listed `listed`.
    #[must_use]
    pub const fn new(listed: FolderSettings, opened: Vec<(String, OwnedFd)>) -> Self {
        Self { listed, opened }
    }

    /// What a manifest declares outside the workspace.
    #[must_use]
    pub fn declared(&self, manifest: &Manifest) -> Vec<Declared> {
        outside::declared(manifest, &self.listed)
    }

    /// The numbers of the device and of the folder at `path`, absolute; `None` when it is in no listed folder, is not there, or
    /// is no folder.
    #[must_use]
    pub fn identity(&self, path: &str) -> Option<(u64, u64)> {
        let opened = self.open(path).ok()?;
        let stat = rustix::fs::fstat(&opened).ok()?;
        (FileType::from_raw_mode(stat.st_mode) == FileType::Directory).then_some((stat.st_dev, stat.st_ino))
    }

    /// What is at `path`, absolute; what lies in no listed folder counts as there.
    #[must_use]
    pub(crate) fn look(&self, path: &str) -> Seen {
        let found = self.opened.iter().find_map(|(folder, fd)| Some((fd, outside::below(path, folder)?)));
        found.map_or(Seen { there: true, secret: false }, |(folder, below)| owner_files::look(folder, below))
    }

    fn open(&self, path: &str) -> Result<OwnedFd, Unseen> {
        let found = self.opened.iter().find_map(|(folder, fd)| Some((fd, outside::below(path, folder)?)));
        let (folder, below) = found.ok_or(Unseen::Other)?;
        let below = if below.is_empty() { "." } else { below };
        // For naming it only: no right to read is needed, and nothing is read.
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        rustix::fs::openat2(folder.as_fd(), below, flags, Mode::empty(), resolve).map_err(|errno| match errno {
            Errno::NOENT | Errno::NOTDIR => Unseen::None,
            Errno::LOOP | Errno::XDEV => Unseen::Elsewhere,
            Errno::ACCESS | Errno::PERM => Unseen::Closed,
            _ => Unseen::Other,
        })
    }

    /// Why an executor that declares these cannot run now, if it cannot.
    fn unfit(&self, declared: &[Declared]) -> Option<Verdict> {
        declared.iter().find_map(|folder| {
            let path = folder.path.as_deref().filter(|path| self.listed.listed(path, folder.write).is_some());
            let Some(path) = path else {
                let key = if folder.write { "writable" } else { "folders" };
                let why = format!("{} lies in no folder that the owner has listed under sandbox.{key}", folder.entry);
                return Some(
                    Verdict::deny("folder.unlisted", why).with_remedy("list it in metnos.toml and restart Metnos"),
                );
            };
            if self.identity(path).is_some() {
                return None;
            }
            let why =
                format!("{} cannot be shown: it is not there, or a link or another disk is in its place", folder.entry);
            let remedy = "`metnosctl status` says why a listed folder is not shown; put it back, and restart Metnos";
            Some(Verdict::deny("folder.gone", why).with_remedy(remedy).with_code(RefusalCode::Unavailable))
        })
    }

    /// Why what a call names at `path` is not touched, if it is not.
    fn unfit_path(&self, field: &str, text: &str, path: &str) -> Option<Verdict> {
        let (rule, what, remedy) = match self.open(path) {
            // What is to be made is not there yet; all that leads to it was seen.
            Ok(_) | Err(Unseen::None) => return None,
            Err(Unseen::Elsewhere) => {
                ("folder.link", "a link or another disk is on the way to it", "name the file itself, where it lies")
            }
            Err(Unseen::Closed) => (
                "folder.closed",
                "policyd's user may not look at it, so nobody knows what it is",
                "let others pass through the folders on the way (chmod o+x)",
            ),
            Err(Unseen::Other) => ("folder.gone", "it cannot be looked at", "`metnosctl status` says what is shown"),
        };
        Some(Verdict::deny(rule, format!("{field} is {}: {what}", shown(text))).with_remedy(remedy))
    }
}

impl Perimeter {
    /// Why a call of an executor that declares folders outside the workspace is denied, if it is.
    pub(crate) fn not_shown(&self, signed: &Signed, filled: &Filled) -> Option<Verdict> {
        let folders = &self.folders;
        let declared = folders.declared(&signed.manifest);
        if declared.is_empty() {
            return None;
        }
        if let Some(no) = folders.unfit(&declared) {
            return Some(no);
        }
        let named = arguments::named(&signed.spec, &filled.value, |role| {
            matches!(role, Role::Path | Role::Selector | Role::Dest)
        });
        named.into_iter().find_map(|(pointer, text)| {
            let path = paths::resolve(text, &self.setting.places).path;
            let within = |folder: &Declared| folder.path.as_deref().is_some_and(|folder| paths::within(&path, folder));
            let outside = declared.iter().any(within);
            outside.then(|| folders.unfit_path(&field(&pointer), text, &path)).flatten()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    fn folders(folder: &std::path::Path) -> Folders {
        let path = folder.to_str().unwrap().to_owned();
        let fd = rustix::fs::open(folder, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let listed = FolderSettings { read: vec![path.clone()], ..FolderSettings::default() };
        Folders::new(listed, vec![(path, fd)])
    }

    #[test]
    fn outside_path_is_opened_by_descriptor_without_following_links() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::write(at("a/file"), "x").unwrap();
        symlink("/etc", at("a/out")).unwrap();
        symlink("b", at("a/in")).unwrap();
        let folders = folders(folder.path());
        let whole = |name: &str| at(name).to_str().unwrap().to_owned();
        for (name, rule) in [
            ("a/file", None),
            ("a/none/deeper", None),
            ("a/file/x", None),
            ("a", None),
            ("a/out", Some("folder.link")),
            ("a/out/passwd", Some("folder.link")),
            ("a/in/none", Some("folder.link")),
        ] {
            let no = folders.unfit_path("path", name, &whole(name));
            assert_eq!(no.map(|no| no.rule).as_deref(), rule, "{name}");
        }
        assert_eq!(folders.unfit_path("path", "x", "/etc/passwd").map(|no| no.rule).as_deref(), Some("folder.gone"));
        let real = std::fs::metadata(at("a")).unwrap();
        assert_eq!(folders.identity(&whole("a")), Some((real.dev(), real.ino())));
        for none in ["a/file", "a/in", "a/none"] {
            assert_eq!(folders.identity(&whole(none)), None, "{none}");
        }
    }

    #[test]
    fn unlisted_and_missing_folders_are_distinguished() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let folders = folders(folder.path());
        let declared = |path: Option<String>, write| [Declared { entry: "it/".to_owned(), path, write }];
        let rule = |declared: &[Declared]| folders.unfit(declared).map(|no| no.rule);
        let whole = |name: &str| Some(folder.path().join(name).to_str().unwrap().to_owned());
        assert_eq!(rule(&declared(whole("a"), false)), None);
        assert_eq!(rule(&declared(whole("a"), true)).as_deref(), Some("folder.unlisted"), "only to read");
        assert_eq!(rule(&declared(None, false)).as_deref(), Some("folder.unlisted"));
        assert_eq!(rule(&declared(Some("/srv/x".to_owned()), false)).as_deref(), Some("folder.unlisted"));
        assert_eq!(rule(&declared(whole("b"), false)).as_deref(), Some("folder.gone"));
    }
}
