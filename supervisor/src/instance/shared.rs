//! The folder of the workspace that guests read. Instances from before there were such folders get it at their start.

use std::os::fd::AsFd;

use metnos_proto::executor::guests::SHARED;
use metnos_proto::msg::common::Lang;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Makes the folder where there is none, with a line in it that says what it is for. Whatever stands at its name is left
/// as it is. `workspace` is the workspace's folder.
///
/// # Errors
/// What the kernel says.
pub fn make(workspace: impl AsFd, lang: Lang) -> Result<(), Errno> {
    match rustix::fs::mkdirat(workspace.as_fd(), SHARED, Mode::from(0o750)) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Ok(()),
        Err(errno) => return Err(errno),
    }
    let text = match lang {
        Lang::En => include_str!("../../texts/shared.en.md"),
        Lang::It => include_str!("../../texts/shared.it.md"),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(workspace.as_fd(), SHARED, flags, Mode::empty())?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&folder, "README.md", flags, Mode::from(0o640))?;
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match rustix::io::write(&file, rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_shared_folder_is_made_once_in_the_language_and_never_over_anything() {
        for (lang, word) in [(Lang::En, "Shared"), (Lang::It, "Condivisa")] {
            let dir = tempfile::tempdir().unwrap();
            let workspace = std::fs::File::open(dir.path()).unwrap();
            make(&workspace, lang).unwrap();
            let readme = dir.path().join("shared/README.md");
            assert!(std::fs::read_to_string(&readme).unwrap().contains(word));
            std::fs::write(&readme, "mine").unwrap();
            make(&workspace, lang).unwrap();
            assert_eq!(std::fs::read_to_string(&readme).unwrap(), "mine");
        }
        let dir = tempfile::tempdir().unwrap();
        let workspace = std::fs::File::open(dir.path()).unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("shared")).unwrap();
        make(&workspace, Lang::En).unwrap();
        assert!(dir.path().join("shared").is_symlink());
    }
}
