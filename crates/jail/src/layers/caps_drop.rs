//! Capabilities: after the lock no set but the bounding one may hold anything, and
//! that one is emptied wherever the process may. Never adds a capability.

use caps::{CapSet, Capability};

use crate::error::JailError;

/// Empties the bounding set of the calling thread, so that nothing it starts can
/// ever gain a capability by `execve`. For the supervisor as root, before it
/// starts the daemons: a process without `CAP_SETPCAP` cannot do it for itself.
/// What the caller itself holds stays.
///
/// # Errors
/// [`JailError::Apply`] when the kernel refuses (no `CAP_SETPCAP`).
pub fn drop_bounding_set() -> Result<(), JailError> {
    clear(CapSet::Bounding)
}

/// Whether this thread may empty its bounding set.
pub(crate) fn may_drop_bounding() -> bool {
    caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).unwrap_or(false)
}

/// Empties ambient, bounding (where allowed), inheritable, effective and permitted
/// sets. Already empty sets are no error; that they are empty is read back later.
pub(crate) fn drop_all() -> Result<(), JailError> {
    clear(CapSet::Ambient)?;
    if may_drop_bounding() {
        clear(CapSet::Bounding)?;
    }
    clear(CapSet::Inheritable)?;
    clear(CapSet::Effective)?;
    clear(CapSet::Permitted)
}

fn clear(set: CapSet) -> Result<(), JailError> {
    caps::clear(None, set)
        .map_err(|error| JailError::Apply { what: "the dropping of capabilities", why: format!("{set:?}: {error}") })
}
