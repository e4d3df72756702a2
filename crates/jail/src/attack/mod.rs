//! The battery of forbidden acts, in test builds only: each is really attempted,
//! inside the process that calls it. It must never be part of a build that is shipped.

mod attempt;

pub use attempt::{Attempt, UnknownAttempt};

use crate::sys::acts;

/// Attempts one act, in this process, now. `aim` is what it is aimed at (a path, a
/// pid, a port, a name; each act has a default). When nothing stops it, says what was
/// achieved; `exec` and `memfd-exec` do not come back then (`memfd-exec` ends with
/// [`MEMFD_EXIT`]). A filter that kills ends the process with `SIGSYS`.
///
/// # Errors
/// The errno with which the kernel stopped it.
pub fn attempt(act: Attempt, aim: Option<&str>) -> Result<String, i32> {
    acts::perform(act, aim)
}

/// Exit status of the program that `memfd-exec` becomes.
pub const MEMFD_EXIT: i32 = 42;
