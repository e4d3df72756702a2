//! How full the disk is that the instance lies on, and how much of it is kept free (design: sandbox §1). Nothing that could
//! be done later is begun below that reserve, so that what is under way, and what the owner says, can still be recorded.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{StatVfs, StatVfsMountFlags};

/// The most that is kept free.
pub const RESERVE_BYTES: u64 = 256 << 20;
/// What is kept free of a smaller disk: this part of it.
pub const RESERVE_PERCENT: u64 = 2;

/// What is left of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// How many bytes can still be written.
    pub free: u64,
    /// How many the disk has.
    pub total: u64,
    /// Whether it is mounted for reading only.
    pub read_only: bool,
}

impl Room {
    /// Of the disk on which this file or folder lies.
    ///
    /// # Errors
    /// When the kernel cannot say.
    pub fn of(file: impl AsFd) -> std::io::Result<Self> {
        Ok(Self::from_stat(&rustix::fs::fstatvfs(file)?))
    }

    /// Of the disk on which this path lies.
    ///
    /// # Errors
    /// When the kernel cannot say.
    pub fn at(path: &Path) -> std::io::Result<Self> {
        Ok(Self::from_stat(&rustix::fs::statvfs(path)?))
    }

    fn from_stat(stat: &StatVfs) -> Self {
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        let read_only = stat.f_flag.contains(StatVfsMountFlags::RDONLY);
        Self { free: bytes(stat.f_bavail), total: bytes(stat.f_blocks), read_only }
    }

    /// How much of it is kept free.
    #[must_use]
    pub const fn reserve(&self) -> u64 {
        let part = self.total / 100 * RESERVE_PERCENT;
        if part < RESERVE_BYTES { part } else { RESERVE_BYTES }
    }

    /// How many bytes must be freed before anything new is begun; 0 when there is room.
    #[must_use]
    pub const fn missing(&self) -> u64 {
        self.reserve().saturating_sub(self.free)
    }
}

/// A number of bytes as people read it.
#[must_use]
pub fn shown(bytes: u64) -> String {
    match bytes {
        0..=1_023 => format!("{bytes} B"),
        1_024..=1_048_575 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        _ => format!("{} MiB", bytes.div_ceil(1 << 20)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_two_percent_and_never_more_than_256_mib() {
        let room = |free, total| Room { free, total, read_only: false };
        assert_eq!(room(0, 100 << 20).reserve(), 2 << 20);
        assert_eq!(room(0, 1 << 40).reserve(), RESERVE_BYTES);
        assert_eq!(room(RESERVE_BYTES - 1, 1 << 40).missing(), 1);
        assert_eq!(room(RESERVE_BYTES, 1 << 40).missing(), 0);
        assert_eq!(room(0, 0).missing(), 0, "a file system without a size");
        assert!(Room::at(Path::new("/")).is_ok_and(|room| room.total > 0));
    }

    #[test]
    fn a_number_of_bytes_is_shown_in_the_unit_that_fits() {
        assert_eq!([shown(7), shown(1_024), shown(1_025), shown(3 << 20)], ["7 B", "1 KiB", "2 KiB", "3 MiB"]);
    }
}
