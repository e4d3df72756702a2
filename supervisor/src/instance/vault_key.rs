//! Opens the file of the vault key for memoryd, which has no access to policyd's folder.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

/// Its path in an instance. policyd creates it at its first start.
const PLACE: &str = ".policy/vault.key";

/// Opens it for reading. As root this looks into a folder that policyd can write, so no symbolic link is followed, and the file
/// must belong to whom the folder belongs.
///
/// # Errors
/// When it is not there, or something else is.
pub fn open(instance: &Path) -> io::Result<OwnedFd> {
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let instance = rustix::fs::open(instance, directory, Mode::empty())?;
    let beneath = |path: &str, flags: OFlags| {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        rustix::fs::openat2(&instance, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
    };
    let folder = beneath(".policy", OFlags::RDONLY | OFlags::DIRECTORY)?;
    let file = beneath(PLACE, OFlags::RDONLY | OFlags::NONBLOCK)?;
    let (folder, stat) = (rustix::fs::fstat(folder)?, rustix::fs::fstat(&file)?);
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile
        || stat.st_uid != folder.st_uid
        || stat.st_nlink != 1
    {
        let why = format!("{PLACE} is no regular file with one name that belongs to policyd's user");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Read;

    fn instance() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".policy")).unwrap();
        dir
    }

    #[test]
    fn key_file_is_opened_for_reading() {
        let dir = instance();
        std::fs::write(dir.path().join(PLACE), [7; 32]).unwrap();
        let mut bytes = Vec::new();
        std::fs::File::from(open(dir.path()).unwrap()).read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, [7; 32]);
    }

    #[test]
    fn link_folder_and_second_name_are_refused() {
        let dir = instance();
        assert_eq!(open(dir.path()).unwrap_err().kind(), io::ErrorKind::NotFound);
        let (place, other) = (dir.path().join(PLACE), dir.path().join("other"));
        std::fs::write(&other, [7; 32]).unwrap();
        std::os::unix::fs::symlink(&other, &place).unwrap();
        assert!(open(dir.path()).is_err());
        std::fs::remove_file(&place).unwrap();
        std::fs::hard_link(&other, &place).unwrap();
        assert!(open(dir.path()).is_err());
        std::fs::remove_file(&place).unwrap();
        std::fs::create_dir(&place).unwrap();
        assert!(open(dir.path()).is_err());
    }
}
