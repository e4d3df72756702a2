//! What shows that a file is another, or has changed.

use rustix::fs::Stat;

/// What shows that a file is another, or has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    bytes: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// That of a file as the kernel describes it.
    #[must_use]
    #[allow(clippy::unnecessary_cast, clippy::cast_possible_wrap, reason = "the widths differ between architectures")]
    pub fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            bytes: stat.st_size as i64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }

    /// Which file it is: its device and its number there.
    #[must_use]
    pub const fn file(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}
