//! The bond between a daemon and the process that started it; it must never leave an orphan.

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::error::JailError;

/// Asks the kernel to kill this process when the **thread** that started it ends,
/// and checks that it had not ended while we asked. A starter that was gone before
/// the first instruction of ours shows as end of file on the control end instead.
/// Starters must therefore start daemons from a thread that lives as long as they do.
///
/// # Errors
/// [`JailError::ParentGone`] when the parent changed meanwhile, [`JailError::Apply`] when the kernel refuses.
pub fn die_with_parent() -> Result<(), JailError> {
    let before = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|errno| JailError::Apply { what: "the parent-death signal", why: errno.to_string() })?;
    if getppid() == before { Ok(()) } else { Err(JailError::ParentGone) }
}
