//! Moves a damaged projection out of the way, so that it can be rebuilt and looked at later; never the chronicle itself.

use std::path::Path;

use crate::error::{Error, Result};

/// How many damaged databases of one name are kept beside each other.
const MAX_KEPT: u32 = 100;

/// Renames a database and its write-ahead log; gives its new name.
///
/// # Errors
/// When it cannot be renamed, or too many are kept already.
pub fn move_database(path: &Path) -> Result<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let told = |source| Error::io(format!("moving the damaged {name} aside"), source);
    for n in 1..=MAX_KEPT {
        let aside = path.with_file_name(format!("{name}.damaged-{n}"));
        if aside.try_exists().map_err(told)? {
            continue;
        }
        for suffix in ["-wal", "-shm", "-journal"] {
            let from = path.with_file_name(format!("{name}{suffix}"));
            let to = path.with_file_name(format!("{name}.damaged-{n}{suffix}"));
            match std::fs::rename(from, to) {
                Ok(()) => {}
                Err(source) if source.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => return Err(told(source)),
            }
        }
        std::fs::rename(path, &aside).map_err(told)?;
        return Ok(aside.file_name().unwrap_or_default().to_string_lossy().into_owned());
    }
    Err(told(std::io::ErrorKind::AlreadyExists.into()))
}
