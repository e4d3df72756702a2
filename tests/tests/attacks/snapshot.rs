//! Folders as the kernel shows them, before and after: contents, modes, links and attributes, read from outside. It must
//! never ask a daemon.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The largest file that anything here is allowed to make.
const LARGEST: u64 = 2_000_000;
/// What may be read and kept to be put back.
const KEPT: u64 = 1 << 20;

/// One file, folder or whatever else stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub mode: u32,
    pub links: u64,
    pub owner: (u32, u32),
    pub size: u64,
    pub digest: Option<blake3::Hash>,
    pub target: Option<PathBuf>,
    pub attributes: Vec<u8>,
    /// Changes with every change of the file: where it is the same, nothing is read again.
    stamp: (u64, u64, i64, i64),
}

const KIND: u32 = 0o170_000;

impl Entry {
    fn of(path: &Path, before: Option<&Self>) -> Option<Self> {
        let meta = path.symlink_metadata().ok()?;
        let stamp = (meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec());
        if let Some(before) = before.filter(|before| before.stamp == stamp && before.links == meta.nlink()) {
            return Some(before.clone());
        }
        let readable = meta.is_file() && meta.len() <= KEPT;
        let digest = readable.then(|| std::fs::read(path).ok().map(|bytes| blake3::hash(&bytes))).flatten();
        let mut names = vec![0; 4_096];
        let length = rustix::fs::llistxattr(path, &mut names).unwrap_or(0);
        names.truncate(length);
        Some(Self {
            mode: meta.mode(),
            links: if meta.is_dir() { 1 } else { meta.nlink() },
            owner: (meta.uid(), meta.gid()),
            size: if meta.is_dir() { 0 } else { meta.len() },
            digest,
            target: std::fs::read_link(path).ok(),
            attributes: names,
            stamp,
        })
    }

    pub fn is_file(&self) -> bool {
        self.mode & KIND == 0o100_000
    }

    pub fn is_folder(&self) -> bool {
        self.mode & KIND == 0o040_000
    }

    /// Whether anything that can be seen of it is different; a folder's size and times are not.
    pub fn differs(&self, other: &Self) -> bool {
        let seen = |it: &Self| (it.mode, it.links, it.owner, it.size, it.digest, it.target.clone());
        seen(self) != seen(other) || self.attributes != other.attributes
    }

    /// What nothing here may have, no matter who made it and with whose consent.
    pub fn fault(&self) -> Option<String> {
        let mode = format!("mode {:o}", self.mode);
        if self.mode & 0o6_000 != 0 {
            Some(format!("set-id bits: {mode}"))
        } else if self.target.is_none() && self.mode & 0o002 != 0 {
            Some(format!("writable by everybody: {mode}"))
        } else if !self.is_file() && !self.is_folder() {
            Some(format!("neither a file nor a folder: {mode}"))
        } else if self.is_file() && self.links > 1 {
            Some(format!("{} hard links", self.links))
        } else if !self.attributes.is_empty() {
            Some(format!("extended attributes: {}", String::from_utf8_lossy(&self.attributes)))
        } else if self.size > LARGEST {
            Some(format!("{} bytes", self.size))
        } else {
            None
        }
    }
}

/// Everything below some folders.
#[derive(Debug, Clone, Default)]
pub struct Snapshot(pub BTreeMap<PathBuf, Entry>);

/// What is different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Added(PathBuf),
    Changed(PathBuf),
    Removed(PathBuf),
}

impl Change {
    pub fn path(&self) -> &Path {
        match self {
            Self::Added(path) | Self::Changed(path) | Self::Removed(path) => path,
        }
    }
}

impl Snapshot {
    /// What stands below these folders now; what has not changed since `before` is not read again.
    pub fn of(folders: &[PathBuf], before: &Self) -> Self {
        let mut found = BTreeMap::new();
        let mut waiting: Vec<PathBuf> = folders.to_vec();
        while let Some(path) = waiting.pop() {
            let Some(entry) = Entry::of(&path, before.0.get(&path)) else { continue };
            if entry.is_folder() {
                let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
                waiting.extend(entries.map(|entry| entry.path()));
            }
            found.insert(path, entry);
        }
        Self(found)
    }

    /// From this one to a later one.
    pub fn changes(&self, later: &Self) -> Vec<Change> {
        let mut changes = Vec::new();
        for (path, entry) in &later.0 {
            match self.0.get(path) {
                None => changes.push(Change::Added(path.clone())),
                Some(before) if before.differs(entry) => changes.push(Change::Changed(path.clone())),
                Some(_) => {}
            }
        }
        changes.extend(self.0.keys().filter(|path| !later.0.contains_key(*path)).cloned().map(Change::Removed));
        changes
    }
}

/// The bytes of files, to put everything back as it was.
#[derive(Debug, Default)]
pub struct Copies(BTreeMap<PathBuf, Vec<u8>>);

impl Copies {
    pub fn of(snapshot: &Snapshot) -> Self {
        let files = snapshot.0.iter().filter(|(_, entry)| entry.is_file() && entry.size <= KEPT);
        Self(files.filter_map(|(path, _)| Some((path.clone(), std::fs::read(path).ok()?))).collect())
    }

    pub fn get(&self, path: &Path) -> Option<&[u8]> {
        self.0.get(path).map(Vec::as_slice)
    }

    /// Undoes these changes; `before` is how everything was.
    pub fn put_back(&self, changes: &[Change], before: &Snapshot) {
        // What was added goes, the deepest first; then what was there comes back, the shallowest first.
        let mut added: Vec<&PathBuf> = changes
            .iter()
            .filter_map(|change| match change {
                Change::Added(path) => Some(path),
                Change::Changed(_) | Change::Removed(_) => None,
            })
            .collect();
        added.sort_by_key(|path| std::cmp::Reverse(path.as_os_str().as_bytes().len()));
        for path in added {
            if std::fs::remove_file(path).is_err() {
                let _ = std::fs::remove_dir_all(path);
            }
        }
        let mut lost: Vec<&Path> = changes
            .iter()
            .filter_map(|change| match change {
                Change::Added(_) => None,
                Change::Changed(path) | Change::Removed(path) => Some(path.as_path()),
            })
            .collect();
        lost.sort_by_key(|path| path.as_os_str().as_bytes().len());
        for path in lost {
            let Some(entry) = before.0.get(path) else { continue };
            self.put_one_back(path, entry);
        }
    }

    fn put_one_back(&self, path: &Path, entry: &Entry) {
        if entry.is_folder() {
            let _ = std::fs::create_dir_all(path);
        } else if let Some(bytes) = self.get(path) {
            let _ = std::fs::remove_file(path);
            std::fs::write(path, bytes).expect("a file can be put back");
        }
        let _ = std::os::unix::fs::lchown(path, Some(entry.owner.0), Some(entry.owner.1));
        if entry.target.is_none() {
            let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(entry.mode & 0o7_777));
        }
    }
}

#[test]
fn snapshot_sees_every_kind_of_change() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let places = [folder.path().to_owned()];
    std::fs::create_dir(at("d")).unwrap();
    for name in ["same", "text", "mode", "gone", "d/deep"] {
        std::fs::write(at(name), "before").unwrap();
    }
    let before = Snapshot::of(&places, &Snapshot::default());
    let copies = Copies::of(&before);
    std::fs::write(at("text"), "after!").unwrap();
    std::fs::set_permissions(at("mode"), std::fs::Permissions::from_mode(0o4_755)).unwrap();
    std::fs::remove_file(at("gone")).unwrap();
    std::fs::remove_dir_all(at("d")).unwrap();
    std::fs::hard_link(at("same"), at("linked")).unwrap();
    std::os::unix::fs::symlink("/etc", at("link")).unwrap();
    let after = Snapshot::of(&places, &before);
    let changes = before.changes(&after);
    let has = |change: Change| assert!(changes.contains(&change), "{change:?} in {changes:#?}");
    has(Change::Changed(at("text")));
    has(Change::Changed(at("mode")));
    has(Change::Changed(at("same")));
    has(Change::Removed(at("gone")));
    has(Change::Removed(at("d/deep")));
    has(Change::Added(at("linked")));
    has(Change::Added(at("link")));
    for (name, what) in [("mode", "set-id"), ("same", "hard links"), ("link", "neither")] {
        let fault = after.0[&at(name)].fault().unwrap_or_default();
        assert!(fault.contains(what), "{name}: {fault}");
    }
    copies.put_back(&changes, &before);
    let again = Snapshot::of(&places, &Snapshot::default());
    assert_eq!(before.changes(&again), []);
}
