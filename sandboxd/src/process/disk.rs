//! The room that a call takes on a disk (design: sandbox §1): what it may write and how many files it may make are bounded, and no
//! call writes on when the disk would be fuller than its reserve. Bytes are counted as blocks really taken, by file, so that
//! neither sparse files nor many small ones escape; what a process has written is besides counted by the kernel to the page.
//!
//! What is free is looked at before, while it runs and after. Only when that has become less than a call may take is the granted
//! tree walked for what has changed since: others write to the same disk.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::msg::common::Outcome;
use rustix::fs::{AtFlags, FileType, Statx, StatxFlags};
use rustix::io::Errno;
use rustix::time::{ClockId, Timespec};

use crate::machine::walk;
use crate::plan::{Plan, WRITABLE};
use crate::process::limits::{Breach, Finished};

/// What is kept free of a disk, unless that is more than its [`RESERVE_PART`].
pub const RESERVE_BYTES: u64 = 256 << 20;
/// See [`RESERVE_BYTES`]: a fiftieth, 2 %.
pub const RESERVE_PART: u64 = 50;
/// How often what is free is looked at while a call runs.
const EVERY: Duration = Duration::from_millis(20);
/// A call this long is counted file by file where the disk does not tell how many files it has room for.
const LONG: Duration = Duration::from_millis(100);
/// The most folders that are walked to count what a call has made.
const MAX_FOLDERS: usize = 25_000;
/// The most files that are removed after a breach.
const MAX_REMOVED: usize = 100_000;
/// After so many folders the others get their turn.
const SLICE: usize = 64;

/// The calls that write, so that what one of them has made can be told from what another has.
#[derive(Debug, Default)]
pub struct Writers {
    running: Cell<u64>,
    begun: Cell<u64>,
    /// The owner's own programs run as the same user: what a call has made cannot be told from what he has.
    shared: Cell<bool>,
}

impl Writers {
    /// From now on nothing is removed after a breach, because it may be the owner's.
    pub fn share_user(&self) {
        self.shared.set(true);
    }
}

/// What is free on a disk.
#[derive(Debug, Clone, Copy)]
struct Room {
    bytes: u64,
    /// Zero where the disk has as many as fit.
    files: u64,
    reserve: u64,
}

/// A granted folder that may be written.
#[derive(Debug)]
struct Place {
    root: OwnedFd,
    /// It holds the pool of executors, which sandboxd writes and no call.
    pool: bool,
    shown: String,
    before: Room,
}

/// The room that one call takes. What cannot write anywhere has no place.
#[derive(Debug)]
pub struct Disk {
    writers: Rc<Writers>,
    places: Vec<Place>,
    most_bytes: u64,
    most_files: u64,
    /// Whose files the calls make.
    user: u32,
    since: Timespec,
    started: std::time::Instant,
    /// No other call wrote when it began.
    alone: bool,
    begun: u64,
}

/// What was made or changed since a call began.
#[derive(Debug, Default)]
struct ChangedFiles {
    bytes: u64,
    files: u64,
    /// What is new, folders before what lies in them: whose place, the path, whether it is a folder.
    new: Vec<(usize, OsString, bool)>,
}

impl Drop for Disk {
    fn drop(&mut self) {
        if !self.places.is_empty() {
            self.writers.running.set(self.writers.running.get().saturating_sub(1));
        }
    }
}

fn room(root: &OwnedFd) -> Result<Room, Errno> {
    let status = rustix::fs::fstatvfs(root)?;
    let total = status.f_blocks.saturating_mul(status.f_frsize);
    Ok(Room {
        bytes: status.f_bavail.saturating_mul(status.f_frsize),
        files: if status.f_files == 0 { 0 } else { status.f_favail.max(1) },
        reserve: RESERVE_BYTES.min(total / RESERVE_PART),
    })
}

impl Disk {
    /// Looks at the disks that a call in this sandbox may write to.
    ///
    /// # Errors
    /// In a sentence, which is too full to begin, or cannot be looked at.
    pub fn before(plan: &Plan, writers: &Rc<Writers>) -> Result<Self, String> {
        let mut places = Vec::new();
        for mount in plan.spec().mounts.iter().filter(|mount| !mount.flags.read_only && mount.folder) {
            let root = match walk::root(&mount.source) {
                Ok(root) => root,
                // Then it is not mounted either, and the spawner says so.
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(format!("{}: {errno}", mount.target)),
            };
            let before = room(&root).map_err(|errno| format!("{}: {errno}", mount.target))?;
            let place = Place { root, pool: mount.source == WRITABLE, shown: mount.target.clone(), before };
            place.has_room(before)?;
            places.push(place);
        }
        let (alone, begun) = (writers.running.get() == 0, writers.begun.get() + 1);
        if !places.is_empty() {
            writers.running.set(writers.running.get() + 1);
            writers.begun.set(begun);
        }
        Ok(Self {
            writers: Rc::clone(writers),
            places,
            most_bytes: plan.spec().limits.disk_bytes,
            most_files: plan.spec().limits.disk_files.into(),
            user: rustix::process::geteuid().as_raw(),
            // The clock of file systems.
            since: rustix::time::clock_gettime(ClockId::RealtimeCoarse),
            started: std::time::Instant::now(),
            alone,
            begun,
        })
    }

    /// Waits for the call to break its bounds.
    pub async fn breach(&self) -> Breach {
        if self.places.is_empty() {
            std::future::pending::<()>().await;
        }
        loop {
            tokio::time::sleep(EVERY).await;
            if let Some(breach) = self.check_usage(false).await {
                return breach;
            }
        }
    }

    /// Judges a call that has ended: it may have written more than it may, which then does not stay.
    pub async fn settle(&self, finished: &mut Finished) {
        if self.places.is_empty() {
            return;
        }
        let written = finished.resources.written_bytes;
        let breach = if matches!(finished.outcome, Outcome::DiskExceeded | Outcome::DiskFull) {
            None
        } else if written > self.most_bytes {
            Some(Breach::Disk(self.too_much(written)))
        } else {
            self.check_usage(true).await
        };
        if let Some(breach) = breach {
            let (outcome, why) = match breach {
                Breach::Disk(why) => (Outcome::DiskExceeded, why),
                // What it has done is done, and there is room for it.
                Breach::Full(_) | Breach::Wall | Breach::Stopped | Breach::Channel(_) | Breach::NotKept(_) => return,
            };
            (finished.outcome, finished.why) = (outcome, why);
            finished.result.clear();
        }
        if matches!(finished.outcome, Outcome::DiskExceeded | Outcome::DiskFull) {
            let left = self.remove().await;
            finished.why.push_str(left);
        }
    }

    /// Whether it has broken its bounds by now.
    async fn check_usage(&self, ended: bool) -> Option<Breach> {
        let mut counted = ended && self.started.elapsed() > LONG;
        let mut suspect = false;
        for place in &self.places {
            let Ok(now) = room(&place.root) else { continue };
            if let Err(why) = place.has_room(now) {
                return Some(Breach::Full(why));
            }
            suspect |= place.before.bytes.saturating_sub(now.bytes) > self.most_bytes;
            suspect |= place.before.files.saturating_sub(now.files) > self.most_files;
            counted &= now.files == 0;
        }
        if !suspect && !counted {
            return None;
        }
        let made = self.made().await;
        // What several have made together cannot be told apart while they run.
        let several = self.writers.running.get().max(1);
        if made.bytes > self.most_bytes.saturating_mul(several) {
            return Some(Breach::Disk(self.too_much(made.bytes)));
        }
        let most = self.most_files.saturating_mul(several);
        (made.files > most).then(|| Breach::Disk(format!("it made more than {} files and folders", self.most_files)))
    }

    fn too_much(&self, bytes: u64) -> String {
        format!("it wrote {} MiB, and may write {} MiB", bytes >> 20, self.most_bytes >> 20)
    }

    /// Everything below its places that was made or changed since it began.
    async fn made(&self) -> ChangedFiles {
        let mut made = ChangedFiles::default();
        let mut since = 0;
        for (number, place) in self.places.iter().enumerate() {
            let mut left = vec![OsString::new()];
            while let Some(path) = left.pop() {
                since += 1;
                if since > MAX_FOLDERS {
                    return made;
                }
                if since % SLICE == 0 {
                    tokio::task::yield_now().await;
                }
                self.count(number, place, &path, &mut made, &mut left);
            }
        }
        made
    }

    fn count(&self, number: usize, place: &Place, path: &OsStr, made: &mut ChangedFiles, left: &mut Vec<OsString>) {
        let Ok(folder) = walk::open(&place.root, path) else { return };
        // A folder that cannot be read to its end counts as far as it can.
        let _ = walk::read(&folder, |name, kind| {
            let below = walk::join(path, name);
            if place.pool && path.is_empty() && name == crate::plan::POOL_NAME {
                return true;
            }
            let wanted = StatxFlags::BTIME | StatxFlags::CTIME | StatxFlags::BLOCKS | StatxFlags::UID;
            let Ok(status) = rustix::fs::statx(&folder, name, AtFlags::SYMLINK_NOFOLLOW, wanted) else { return true };
            let is_folder = kind == FileType::Directory;
            // What another user makes meanwhile, such as the owner, is no call's.
            let own = status.stx_uid == self.user;
            if own && self.is_new(&status) {
                made.files += 1;
                if made.new.len() < MAX_REMOVED {
                    made.new.push((number, below.clone(), is_folder));
                }
            }
            if own && !is_folder && self.is_since(status.stx_ctime.tv_sec, status.stx_ctime.tv_nsec) {
                made.bytes = made.bytes.saturating_add(status.stx_blocks.saturating_mul(512));
            }
            if is_folder {
                left.push(below);
            }
            true
        });
    }

    fn is_new(&self, status: &Statx) -> bool {
        status.stx_mask & StatxFlags::BTIME.bits() != 0
            && self.is_since(status.stx_btime.tv_sec, status.stx_btime.tv_nsec)
    }

    fn is_since(&self, seconds: i64, nanos: u32) -> bool {
        (seconds, i64::from(nanos)) >= (self.since.tv_sec, self.since.tv_nsec)
    }

    /// Removes what is new since it began; what is to be said of that. While another call wrote nothing is removed: it may be
    /// that one's.
    async fn remove(&self) -> &'static str {
        if self.writers.shared.get() {
            return "; you and the executors are one user here, so what it left cannot be told from yours and was not removed";
        }
        if !self.alone || self.writers.begun.get() != self.begun {
            return "; other calls were writing at the same time, so what it left was not removed";
        }
        let made = self.made().await;
        for (number, path, folder) in made.new.iter().rev() {
            let Some(place) = self.places.get(*number) else { continue };
            if let Err(errno) = remove(&place.root, path, *folder) {
                tracing::warn!(%errno, path = %path.display(), "what a call had no room for could not be removed");
            }
        }
        "; what it had made was removed"
    }
}

fn remove(root: &OwnedFd, path: &OsStr, folder: bool) -> Result<(), Errno> {
    let path = std::path::Path::new(path);
    let (Some(name), parent) = (path.file_name(), path.parent().map(std::path::Path::as_os_str).unwrap_or_default())
    else {
        return Ok(());
    };
    let parent = walk::open(root, parent)?;
    let flags = if folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    match rustix::fs::unlinkat(&parent, name, flags) {
        // A folder into which something old was moved stays.
        Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY) => Ok(()),
        Err(errno) => Err(errno),
    }
}

impl Place {
    fn has_room(&self, now: Room) -> Result<(), String> {
        if now.bytes >= now.reserve {
            return Ok(());
        }
        Err(format!(
            "the disk of {} has {} MiB free, and {} MiB of it are kept free",
            self.shown.trim_start_matches('/'),
            now.bytes >> 20,
            now.reserve >> 20
        ))
    }
}
