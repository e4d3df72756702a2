//! Resource limits of a daemon. They must never be raised here: a limit that is
//! already tighter than the profile's stays.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Deserialize;

use crate::error::JailError;

/// Resource limits of a profile; a missing one is left as it was inherited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Size of a core dump; every profile says 0: a dump would hold secrets.
    pub core_bytes: u64,
    /// Number of open descriptors.
    pub open_files: u64,
    /// Address space.
    pub address_space_bytes: Option<u64>,
    /// Size of a file or memfd written.
    pub file_size_bytes: Option<u64>,
    /// Memory that may be locked.
    pub locked_memory_bytes: Option<u64>,
}

impl Limits {
    fn list(&self) -> impl Iterator<Item = (Resource, u64)> {
        [
            (Resource::Core, Some(self.core_bytes)),
            (Resource::Nofile, Some(self.open_files)),
            (Resource::As, self.address_space_bytes),
            (Resource::Fsize, self.file_size_bytes),
            (Resource::Memlock, self.locked_memory_bytes),
        ]
        .into_iter()
        .filter_map(|(resource, value)| value.map(|value| (resource, value)))
    }
}

/// Sets soft and hard limits, and reads each back.
///
/// # Errors
/// [`JailError::Apply`] when the kernel refuses, [`JailError::Mismatch`] when it shows another value.
pub(crate) fn apply(limits: &Limits) -> Result<(), JailError> {
    for (resource, wanted) in limits.list() {
        let limit = effective(wanted, getrlimit(resource).maximum);
        let new = Rlimit { current: Some(limit), maximum: Some(limit) };
        setrlimit(resource, new).map_err(|errno| JailError::Apply {
            what: "a resource limit",
            why: format!("{resource:?} = {limit}: {errno}"),
        })?;
        let seen = getrlimit(resource);
        if seen.current != Some(limit) || seen.maximum != Some(limit) {
            return Err(JailError::Mismatch {
                what: "a resource limit",
                intended: format!("{resource:?} = {limit}"),
                seen: format!("{:?} of {:?}", seen.current, seen.maximum),
            });
        }
    }
    Ok(())
}

fn effective(wanted: u64, hard: Option<u64>) -> u64 {
    hard.map_or(wanted, |hard| wanted.min(hard))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tighter_inherited_limit_stays() {
        assert_eq!(effective(1024, Some(64)), 64);
        assert_eq!(effective(1024, Some(4096)), 1024);
        assert_eq!(effective(1024, None), 1024);
    }
}
