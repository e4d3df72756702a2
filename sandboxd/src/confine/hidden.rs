//! Looks through every folder that a call is granted, for what must not exist in its world: closed places
//! (`forbidden::CLOSED_NAMES`) and files of secrets (`secret_names`), at any depth (design: sandbox §1, policy §2). What a walking
//! executor or a listed program reads is not decided name by name, so it is not there to be read.
//!
//! A folder that has not changed since it was listed is not listed again: its time of change shows that, once it is old enough to be
//! distinguished from a later one. What appears while a call runs is seen by that call; the next one is looked through anew.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use metnos_proto::executor::forbidden::{Places, check};
use metnos_proto::executor::guests::{self, Privacy};
use metnos_proto::executor::secret_names::{is_secret_content, is_secret_name};
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use crate::machine::walk;
use crate::plan::{Mount, MountPurpose, OUTSIDE, Plan, TRASH, WORKSPACE};

/// The most files and folders below one granted folder.
pub const MAX_ENTRIES: usize = 250_000;
/// The most folders below one granted folder.
pub const MAX_FOLDERS: usize = 25_000;
/// The most places that are covered for one call.
pub const MAX_COVERS: usize = 1024;
/// The longest path, in bytes, below which is looked: the kernel takes none of 4096. What lies deeper is covered as a whole.
pub const MAX_PATH: usize = 3500;
/// How many granted folders are remembered.
const MAX_TREES: usize = 16;
/// How old the last change of a folder must be, in seconds, for its time to tell it from a later one.
const SETTLED_S: i64 = 2;
/// After so many folders the others get their turn.
const SLICE: usize = 64;

/// A place below a granted folder that is not shown as it is. Sorted, what lies above comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cover {
    /// Where, as the sandbox names it.
    pub path: OsString,
    /// How.
    pub how: CoverKind,
}

/// See [`Cover`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoverKind {
    /// For reading only.
    ReadOnly,
    /// Not at all.
    Nothing,
}

/// What was found in a folder when it was listed.
#[derive(Debug, Clone)]
struct Folder {
    id: (u64, u64),
    changed: (i64, u64),
    /// Its time of change distinguishes it from a later state.
    settled: bool,
    /// The folders in it, without those that are hidden.
    below: Vec<OsString>,
    /// What is hidden in it.
    hidden: Vec<(OsString, HiddenReason)>,
    /// The other regular files in it.
    files: Vec<OsString>,
    /// What of the trash is in it.
    trash: Vec<OsString>,
    entries: usize,
}

/// Why something is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HiddenReason {
    /// Nobody is shown it.
    Closed,
    /// Shown only to a call that names it.
    Secret,
}

/// What is remembered of one granted folder, by path below it.
type Tree = HashMap<OsString, Folder>;

/// See the head of this file.
#[derive(Debug, Default)]
pub struct HiddenFiles {
    trees: RefCell<BTreeMap<String, Tree>>,
    heads: RefCell<HashMap<(u64, u64), Head>>,
}

/// What the first bytes of a file said when its state was last changed at this time: whether it holds a secret.
type Head = ((i64, u64), bool);

/// One walk.
struct Walk<'a> {
    root: OwnedFd,
    /// What the sandbox calls the granted folder.
    target: &'a str,
    /// Files that the decided call names, as the sandbox names them.
    named: &'a [String],
    /// The name of the private folder that is shown.
    own: &'a str,
    before: Tree,
    after: Tree,
    entries: usize,
    /// What is left to look at: a path below the root, and whether it lies in a place that only a named file opens.
    left: Vec<(OsString, bool)>,
    /// The trash is for reading only.
    keeps_trash: bool,
    /// Files are looked into as well: listed programs read them unasked, and no code of ours stands before that.
    contents: bool,
    heads: &'a RefCell<HashMap<(u64, u64), Head>>,
    covers: &'a mut Vec<Cover>,
}

impl HiddenFiles {
    /// What is to be covered for a call in this sandbox, as the sandbox names it, but for the files of secrets that it names and
    /// the private folder called `own`.
    ///
    /// # Errors
    /// In a sentence, which folder cannot be looked through. The call must not run then.
    pub async fn covers(&self, plan: &Plan, named: &[String], own: &str) -> Result<Vec<Cover>, String> {
        let mut covers = Vec::new();
        for mount in plan.spec().mounts.iter().filter(|mount| is_granted(mount)) {
            if !plan.spec().masks.contains(&mount.target) {
                continue;
            }
            let keeps_trash = plan.spec().keeps_trash && !mount.flags.read_only;
            let looks = (keeps_trash, !plan.spec().commands.is_empty());
            self.find_covers((&mount.source, &mount.target), (named, own), looks, &mut covers).await?;
        }
        covers.sort();
        covers.dedup();
        Ok(covers)
    }

    async fn find_covers(
        &self,
        (source, target): (&str, &str),
        (named, own): (&[String], &str),
        (keeps_trash, contents): (bool, bool),
        covers: &mut Vec<Cover>,
    ) -> Result<(), String> {
        let root = match walk::root(source) {
            Ok(root) => root,
            // What is not there is not mounted either; the spawner says so.
            Err(Errno::NOENT | Errno::ACCESS) => return Ok(()),
            Err(errno) => return Err(format!("{} cannot be looked through: {errno}", shown(target))),
        };
        // Another call may look through it at the same time; it then lists everything, and the later one is remembered.
        let before = self.trees.borrow_mut().remove(source).unwrap_or_default();
        let (after, left) = (Tree::with_capacity(before.len()), vec![(OsString::new(), false)]);
        let heads = &self.heads;
        let mut looked =
            Walk { root, target, named, own, before, after, entries: 0, left, keeps_trash, contents, heads, covers };
        let walked = looked.all().await;
        let mut trees = self.trees.borrow_mut();
        if trees.len() >= MAX_TREES {
            trees.clear();
        }
        trees.insert(source.to_owned(), looked.after);
        walked
    }
}

const fn is_granted(mount: &Mount) -> bool {
    matches!(
        mount.purpose,
        MountPurpose::Grant | MountPurpose::WriteGrant | MountPurpose::Outside | MountPurpose::OutsideWrite
    )
}

/// A granted folder as people call it.
fn shown(target: &str) -> &str {
    target.strip_prefix(OUTSIDE).unwrap_or_else(|| target.trim_start_matches('/'))
}

impl Walk<'_> {
    async fn all(&mut self) -> Result<(), String> {
        let mut since = 0;
        while let Some((path, closed)) = self.left.pop() {
            let Some(folder) = self.folder(&path)? else { continue };
            self.entries += folder.entries;
            if self.entries > MAX_ENTRIES || self.after.len() >= MAX_FOLDERS {
                return Err(format!(
                    "{} holds more than {MAX_ENTRIES} files or {MAX_FOLDERS} folders, so it cannot be looked through for files of \
                     secrets before each call; move some of it elsewhere",
                    shown(self.target)
                ));
            }
            self.take(&path, &folder, closed)?;
            self.after.insert(path, folder);
            since += 1;
            if since % SLICE == 0 {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// What a folder holds; `None` when it is not there any more, or this user cannot look into it.
    fn folder(&mut self, path: &OsStr) -> Result<Option<Folder>, String> {
        let status = match rustix::fs::statat(&self.root, walk::here(path), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => status,
            Err(errno) => return gone(errno, path),
        };
        let known = self.before.remove(path).filter(|known| known.settled && known.is(&status));
        if let Some(known) = known {
            return Ok(Some(known));
        }
        match list(&self.root, path) {
            Ok(folder) => Ok(Some(folder)),
            Err(errno) => gone(errno, path),
        }
    }

    /// Covers what is hidden in a folder, and goes on below it.
    fn take(&mut self, path: &OsStr, folder: &Folder, closed: bool) -> Result<(), String> {
        let place = self.called_in_workspace(path);
        match place.as_deref().map_or(Privacy::Open, guests::privacy) {
            Privacy::People => return self.take_people(path),
            // The whole grant lies in it, so there is no folder above in which it could be covered.
            Privacy::Of(of) if of != self.own => return self.cover(path, CoverKind::Nothing),
            Privacy::Of(_) | Privacy::Open => {}
        }
        for (name, why) in &folder.hidden {
            let place = walk::join(path, name);
            match why {
                HiddenReason::Secret if self.is_named(&place) => self.left.push((place, false)),
                // What a call names may lie in a folder that is a secret itself: of that it sees what it names.
                HiddenReason::Secret if self.leads_to_named(&place) => self.left.push((place, true)),
                HiddenReason::Closed | HiddenReason::Secret => self.cover(&place, CoverKind::Nothing)?,
            }
        }
        if self.contents && !closed {
            for name in &folder.files {
                let place = walk::join(path, name);
                if !self.is_named(&place) && self.holds_secret(&place)? {
                    self.cover(&place, CoverKind::Nothing)?;
                }
            }
        }
        let kept = if self.keeps_trash && !closed { folder.trash.as_slice() } else { &[] };
        for name in kept {
            let place = walk::join(path, name);
            if !self.is_named(&place) {
                self.cover(&place, CoverKind::ReadOnly)?;
            }
        }
        for name in &folder.below {
            let place = walk::join(path, name);
            let named = closed && self.is_named(&place);
            if self.target.len() + place.len() > MAX_PATH || (closed && !named && !self.leads_to_named(&place)) {
                self.cover(&place, CoverKind::Nothing)?;
            } else {
                self.left.push((place, closed && !named));
            }
        }
        if closed { self.cover_files(path) } else { Ok(()) }
    }

    /// A place as it is called from the workspace on; `None` outside of it.
    fn called_in_workspace(&self, path: &OsStr) -> Option<String> {
        let root = self.target.strip_prefix(WORKSPACE).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        let whole = format!("{root}/{}", path.to_string_lossy());
        Some(whole.trim_matches('/').to_owned())
    }

    /// Of what lies in the folder of the private folders, only the own one is shown.
    fn take_people(&mut self, path: &OsStr) -> Result<(), String> {
        let entries = entries(&self.root, path).map_err(|errno| format!("{}: {errno}", path.display()))?;
        for (name, kind) in entries {
            let place = walk::join(path, &name);
            if kind == FileType::Directory && name == self.own {
                self.left.push((place, false));
            } else if kind != FileType::Symlink {
                // A link leads to what is covered itself, and none can be covered.
                self.cover(&place, CoverKind::Nothing)?;
            }
        }
        Ok(())
    }

    /// The files of a folder that only a named file opens.
    fn cover_files(&mut self, path: &OsStr) -> Result<(), String> {
        let entries = entries(&self.root, path).map_err(|errno| format!("{}: {errno}", path.display()))?;
        for (name, kind) in entries {
            let place = walk::join(path, &name);
            if kind != FileType::Directory && !self.is_named(&place) {
                self.cover(&place, CoverKind::Nothing)?;
            }
        }
        Ok(())
    }

    /// Whether the first bytes of a file are those of a secret. What this user cannot read, no call reads either.
    fn holds_secret(&self, place: &OsStr) -> Result<bool, String> {
        let status = match rustix::fs::statat(&self.root, place, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => status,
            Err(errno) => return gone(errno, place).map(|none: Option<bool>| none.unwrap_or(false)),
        };
        let (id, changed) = ((status.st_dev, status.st_ino), (status.st_ctime, status.st_ctime_nsec));
        if let Some((_, secret)) = self.heads.borrow().get(&id).filter(|(then, _)| *then == changed) {
            return Ok(*secret);
        }
        let head = match walk::head(&self.root, place) {
            Ok(head) => head,
            Err(errno) => return gone(errno, place).map(|none: Option<bool>| none.unwrap_or(false)),
        };
        let secret = is_secret_content(&head);
        if seconds_now().saturating_sub(status.st_ctime) >= SETTLED_S {
            let mut heads = self.heads.borrow_mut();
            if heads.len() >= MAX_ENTRIES {
                heads.clear();
            }
            heads.insert(id, (changed, secret));
        }
        Ok(secret)
    }

    fn cover(&mut self, place: &OsStr, how: CoverKind) -> Result<(), String> {
        if self.covers.len() >= MAX_COVERS {
            return Err(format!(
                "{} holds more than {MAX_COVERS} files of secrets, closed places or deleted files, which cannot all be kept from a \
                 call; move some of them elsewhere",
                shown(self.target)
            ));
        }
        let mut whole = OsString::from(self.target);
        if !place.is_empty() {
            whole.push("/");
            whole.push(place);
        }
        self.covers.push(Cover { path: whole, how });
        Ok(())
    }

    /// Whether the call names this very place, or what it names was put into the trash there.
    fn is_named(&self, place: &OsStr) -> bool {
        let before = in_its_place(place);
        self.named_below().any(|named| named == place.as_bytes() || before.as_deref() == Some(named))
    }

    fn leads_to_named(&self, place: &OsStr) -> bool {
        let leads = |named: &[u8]| named.strip_prefix(place.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'/'));
        self.named_below().any(leads)
    }

    /// What the call names below this folder, from there.
    fn named_below(&self) -> impl Iterator<Item = &[u8]> {
        let below = |named: &String| named.strip_prefix(self.target)?.strip_prefix('/').map(str::len);
        self.named.iter().filter_map(move |named| Some(&named.as_bytes()[named.len() - below(named)?..]))
    }
}

/// What cannot be looked at because it is not there, or not for this user, is not there for a call either.
fn gone<T>(errno: Errno, path: &OsStr) -> Result<Option<T>, String> {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::XDEV => Ok(None),
        errno => Err(format!("{} cannot be looked through: {errno}", path.display())),
    }
}

impl Folder {
    fn is(&self, status: &Stat) -> bool {
        self.id == (status.st_dev, status.st_ino) && self.changed == (status.st_ctime, status.st_ctime_nsec)
    }
}

/// Lists a folder. Its state is taken before it is read, so that a change meanwhile is seen the next time.
fn list(root: &OwnedFd, path: &OsStr) -> Result<Folder, Errno> {
    let opened = walk::open(root, path)?;
    let status = rustix::fs::fstat(&opened)?;
    let now = seconds_now();
    let (mut below, mut hidden, mut trash, mut files, mut count) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), 0);
    walk::read(&opened, |name, kind| {
        count += 1;
        if name.as_bytes().starts_with(TRASH.as_bytes()) {
            trash.push(name.to_owned());
        }
        match why(path, name) {
            Some(why) => hidden.push((name.to_owned(), why)),
            None if kind == FileType::Directory => below.push(name.to_owned()),
            None if kind == FileType::RegularFile => files.push(name.to_owned()),
            None => {}
        }
        count <= MAX_ENTRIES
    })?;
    Ok(Folder {
        id: (status.st_dev, status.st_ino),
        changed: (status.st_ctime, status.st_ctime_nsec),
        settled: now.saturating_sub(status.st_ctime) >= SETTLED_S,
        below,
        hidden,
        trash,
        files,
        entries: count,
    })
}

fn seconds_now() -> i64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(0))
}

fn entries(root: &OwnedFd, path: &OsStr) -> Result<Vec<(OsString, FileType)>, Errno> {
    let opened = walk::open(root, path)?;
    let mut all = Vec::new();
    walk::read(&opened, |name, kind| {
        all.push((name.to_owned(), kind));
        all.len() <= MAX_ENTRIES
    })?;
    Ok(all)
}

/// Whether an entry of this folder is hidden, and why. What is no text is read as one.
fn why(folder: &OsStr, name: &OsStr) -> Option<HiddenReason> {
    let text = name.to_string_lossy();
    // A closed place of several parts ends with this name, and begins at most one part less above it.
    let path = format!("{}/{text}", folder.to_string_lossy());
    let parts: Vec<&str> = path.split('/').collect();
    let tail = parts.get(parts.len().saturating_sub(3)..).unwrap_or_default().join("/");
    // Read as below a folder: from the root it would be another place.
    if check(tail.trim_start_matches('/'), &Places::default()).is_some() {
        return Some(HiddenReason::Closed);
    }
    let before = trashed(&text).is_some_and(is_secret_name);
    (before || is_secret_name(&text)).then_some(HiddenReason::Secret)
}

/// What something was called before it was put into the trash beside its place: `.trash-KEEP-NAME`.
fn trashed(name: &str) -> Option<&str> {
    name.strip_prefix(TRASH)?.strip_prefix('-')?.split_once('-').map(|(_, name)| name)
}

/// The path that something in the trash had.
fn in_its_place(place: &OsStr) -> Option<Vec<u8>> {
    let text = place.to_str()?;
    let (folder, name) = text.rsplit_once('/').unwrap_or(("", text));
    let name = trashed(name)?;
    Some(if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }.into_bytes())
}

#[cfg(test)]
#[path = "hidden_tests.rs"]
mod tests;
