//! Creating an instance: whole or not at all, and never over anything that is there. The
//! workspace is built beside its place and moved there in one act; until then there is none.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};

use crate::error::CtlError;
use crate::instance::seeds;
use crate::instance::{CONFIG, Content, Instance, NEW, WORKSPACE};

/// Creates the instance if it does not exist yet; `true` if it was created.
///
/// # Errors
/// When the directory holds other things, or cannot be written.
pub fn create(instance: &Instance) -> Result<bool, CtlError> {
    let directory = instance.directory();
    let failed = |error: io::Error| cannot(directory, &error);
    match instance.content().map_err(failed)? {
        Content::Instance => return Ok(false),
        Content::Other(names) => {
            return Err(CtlError::failed(
                format!("no instance is created in {}", directory.display()),
                format!("it holds other things ({})", names.join(", ")),
                "name an empty directory, or one that does not exist yet: `metnosctl --instance DIR up`",
            ));
        }
        Content::Nothing => {}
    }
    let files = seeds::workspace_files()?;
    folder(directory).map_err(failed)?;
    sweep(directory);
    let new = directory.join(format!("{NEW}{}", std::process::id()));
    let created = fill(directory, &new, &files);
    // What was not moved into its place is of no use to anybody.
    let _swept = std::fs::remove_dir_all(&new);
    created.map_err(failed)
}

/// Makes the folder of an instance if it does not exist yet.
pub(crate) fn folder(directory: &Path) -> io::Result<()> {
    // What lies above it is made as everywhere; the instance itself is nobody else's to read.
    if let Some(above) = directory.parent() {
        DirBuilder::new().recursive(true).create(above)?;
    }
    DirBuilder::new().mode(0o700).recursive(true).create(directory)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "io::ErrorKind grows with the standard library")]
fn cannot(directory: &Path, error: &io::Error) -> CtlError {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => "choose a directory of your own: `metnosctl --instance DIR up`",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room on that disk",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => "name a directory, not a file",
        _ => "look at the directory's rights and its file system, then try again",
    };
    CtlError::failed(format!("no instance can be created in {}", directory.display()), error, remedy)
}

/// Builds everything in `new`, then moves it into place; whether this process was the one that did.
fn fill(directory: &Path, new: &Path, files: &[(PathBuf, Vec<u8>)]) -> io::Result<bool> {
    DirBuilder::new().mode(0o700).create(new)?;
    let workspace = new.join(WORKSPACE);
    DirBuilder::new().mode(0o750).create(&workspace)?;
    for (path, bytes) in files {
        let path = workspace.join(path);
        if let Some(folder) = path.parent() {
            DirBuilder::new().mode(0o750).recursive(true).create(folder)?;
        }
        write(&path, bytes)?;
    }
    let config = new.join(CONFIG);
    write(&config, seeds::CONFIG)?;
    match rustix::fs::renameat_with(CWD, &config, CWD, directory.join(CONFIG), RenameFlags::NOREPLACE) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    // Replaces an empty directory at most: a workspace that someone else has made meanwhile stays.
    match rustix::fs::rename(&workspace, directory.join(WORKSPACE)) {
        Ok(()) => {}
        Err(rustix::io::Errno::NOTEMPTY | rustix::io::Errno::EXIST) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    File::open(directory)?.sync_all()?;
    Ok(true)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o640).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Removes what creators left behind that were killed in the middle.
fn sweep(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let creator = name.strip_prefix(NEW).and_then(|pid| pid.parse::<u32>().ok());
        if creator.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            // Whatever cannot be removed harms nobody.
            let _swept = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_new_instance_is_whole_and_nothing_else_is_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let instance = Instance::at(&dir.path().join("a/b")).unwrap();
        assert!(create(&instance).unwrap());
        assert_eq!(names(instance.directory()), [CONFIG, WORKSPACE]);
        for (path, bytes) in seeds::workspace_files().unwrap() {
            let file = instance.directory().join(WORKSPACE).join(&path);
            assert_eq!(std::fs::read(&file).unwrap(), bytes, "{}", file.display());
        }
        assert_eq!(instance.content().unwrap(), Content::Instance);
    }

    #[test]
    fn an_instance_that_exists_is_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let instance = Instance::at(dir.path()).unwrap();
        assert!(create(&instance).unwrap());
        let welcome = dir.path().join(WORKSPACE).join("notes/welcome.md");
        std::fs::write(&welcome, "mine").unwrap();
        std::fs::remove_file(dir.path().join(WORKSPACE).join("TELOS.md")).unwrap();
        assert!(!create(&instance).unwrap());
        assert_eq!(std::fs::read_to_string(&welcome).unwrap(), "mine");
        assert!(!dir.path().join(WORKSPACE).join("TELOS.md").exists(), "what the owner removed stays removed");
    }

    #[test]
    fn a_configuration_that_was_there_before_stays() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(CONFIG), "[instance]\nlang = \"it\"\n").unwrap();
        std::fs::create_dir(dir.path().join(WORKSPACE)).unwrap();
        assert!(create(&Instance::at(dir.path()).unwrap()).unwrap());
        assert_eq!(std::fs::read_to_string(dir.path().join(CONFIG)).unwrap(), "[instance]\nlang = \"it\"\n");
        assert!(dir.path().join(WORKSPACE).join("SOUL.md").exists());
    }

    #[test]
    fn a_directory_with_other_things_or_a_file_is_refused_untouched() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("thesis.tex"), "years").unwrap();
        let error = create(&Instance::at(dir.path()).unwrap()).unwrap_err();
        assert!(error.to_string().contains("thesis.tex"), "{error}");
        assert_eq!(names(dir.path()), ["thesis.tex"]);
        assert!(create(&Instance::at(&dir.path().join("thesis.tex")).unwrap()).is_err());
    }

    #[test]
    fn leftover_of_killed_creator_is_removed_but_not_of_a_live_one() {
        let dir = tempfile::tempdir().unwrap();
        let (dead, alive) = (dir.path().join(format!("{NEW}4294967294")), dir.path().join(format!("{NEW}1")));
        std::fs::create_dir_all(dead.join(WORKSPACE)).unwrap();
        std::fs::create_dir(&alive).unwrap();
        assert!(create(&Instance::at(dir.path()).unwrap()).unwrap());
        assert!(!dead.exists() && alive.exists());
    }
}
