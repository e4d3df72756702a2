//! Opens what is derived from the chronicle, and replaces what cannot be used: everything in it can be derived again.

use std::path::Path;

use crate::chronicle::Chronicle;
use crate::chronicle::store::is_damage;
use crate::damaged_db;
use crate::error::{Error, Result};

/// How many rows of the index are read in one step of catching up.
pub(super) const CHUNK: u32 = 1024;

/// Opens a projection. One that is damaged, of an earlier version, or ahead of the chronicle is moved aside and begun anew;
/// `event` is what the chronicle calls that.
///
/// # Errors
/// When it cannot be opened, or is of a later version.
pub(super) fn open<T>(
    path: &Path,
    chronicle: &mut Chronicle,
    event: &str,
    open: impl Fn(&Path) -> Result<T>,
    applied: impl Fn(&T) -> u64,
) -> Result<T> {
    let end = chronicle.head().seq;
    let why = match open(path) {
        Ok(opened) if applied(&opened) <= end => return Ok(opened),
        Ok(opened) => format!("it knows event {}, the chronicle ends at {end}", applied(&opened)),
        Err(error) if is_damage(&error) => error.to_string(),
        Err(Error::Version { found, known, .. }) if found < known => format!("it has version {found}"),
        Err(error) => return Err(error),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = damaged_db::move_database(path)?;
    chronicle.note(event, format!("{name} was not usable ({why}); moved to {aside}"));
    open(path)
}
