//! How full the disk is that the instance lies on, and how much of it is kept free (design: sandbox §1). Nothing that could
//! be done later is begun below that reserve, so that what is under way, and what the owner says, can still be recorded.

use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
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
        let room = Self::from_stat(&rustix::fs::statvfs(path)?);
        Ok(Self { read_only: room.read_only || is_stopped(path), ..room })
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

/// Whether the file system of this path takes nothing more since an error. Linux 6.14 and later do not count that as mounted
/// for reading, and say it among the options alone.
fn is_stopped(path: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    std::fs::metadata(path).is_ok_and(|it| is_shut_down(&mounts, it.dev()))
}

/// What a mountinfo (proc(5)) says of a device.
fn is_shut_down(mounts: &str, device: u64) -> bool {
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let of_it = mounts.lines().filter(|line| line.split(' ').nth(2) == Some(device.as_str()));
    let mut options = of_it.filter_map(|line| line.rsplit(' ').next()).flat_map(|options| options.split(','));
    options.any(|option| matches!(option, "emergency_ro" | "shutdown"))
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
    fn stopped_file_system_is_recognised_by_its_mount_options() {
        let mounts = "30 1 7:0 / /a rw,relatime - ext4 /dev/loop0 rw,abort,errors=remount-ro,emergency_ro\n\
                      31 1 7:1 / /b\\040emergency_ro rw,relatime shared:3 - ext4 /dev/loop1 rw,errors=remount-ro\n";
        let device = |minor| rustix::fs::makedev(7, minor);
        assert!(is_shut_down(mounts, device(0)));
        assert!(!is_shut_down(mounts, device(1)) && !is_shut_down(mounts, device(2)) && !is_shut_down("", device(0)));
        assert!(!Room::at(Path::new("/proc")).is_ok_and(|room| room.read_only));
    }

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
