//! Files that are replaced whole or not at all, with the rights and the owner they had: what is killed in between leaves
//! the one before, and a reader never sees half of one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The text of a file; `None` where there is none. Links are not followed.
///
/// # Errors
/// When it is no readable text of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Option<String>> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(Some(text))
}

/// Puts this text in the file's place; one that was not there gets `mode`.
///
/// # Errors
/// When it cannot be written; the one before stays then.
pub fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("it lies nowhere"))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fresh = folder.join(format!(".{name}.{}", std::process::id()));
    let before = match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() => Some(meta),
        Ok(_) => return Err(io::Error::other("it is no file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let written = || -> io::Result<()> {
        let mode = before.as_ref().map_or(mode, |meta| meta.permissions().mode() & 0o777);
        let mut file = File::options().write(true).create_new(true).mode(mode).open(&fresh)?;
        let own = file.metadata()?;
        if let Some(meta) = before.as_ref().filter(|meta| (meta.uid(), meta.gid()) != (own.uid(), own.gid())) {
            std::os::unix::fs::fchown(&file, Some(meta.uid()), Some(meta.gid()))?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&fresh, path)?;
        File::open(folder)?.sync_all()
    };
    written().inspect_err(|_| {
        // Whatever cannot be removed harms nobody.
        let _ = std::fs::remove_file(&fresh);
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_with_the_rights_it_had() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "one").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, "two", 0o600).unwrap();
        assert_eq!(read(&path, 3).unwrap().as_deref(), Some("two"));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        let fresh = folder.path().join("b");
        replace(&fresh, "new", 0o600).unwrap();
        assert_eq!(std::fs::metadata(&fresh).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn symbolic_link_is_not_followed_and_oversized_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("link"));
        std::fs::write(&path, "four").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(read(&link, 100).is_err() && replace(&link, "x", 0o600).is_err() && read(&path, 3).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "four");
        assert_eq!(read(&folder.path().join("none"), 3).unwrap(), None);
    }
}
