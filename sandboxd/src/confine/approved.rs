//! What policyd saw when it decided, held against what is mounted: the copy of a mount that is about to be attached must begin at
//! the very folder that was decided on, whatever stood at its path in between (design: sandbox §1). Nothing is looked up again
//! after that, so nothing can be swapped.

use std::os::fd::AsFd;

use metnos_proto::msg::sandboxd::SeenFolder;

use crate::confine::hidden::Cover;
use crate::plan::{Mount, MountPurpose, OUTSIDE, OUTSIDE_WRITABLE, WORKSPACE, WRITABLE};

/// A folder as the kernel identifies it: the number of its device, and its own there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity(u64, u64);

impl Identity {
    /// Of what is open.
    ///
    /// # Errors
    /// In a sentence.
    pub fn of(fd: impl AsFd) -> Result<Self, String> {
        let stat = rustix::fs::fstat(fd).map_err(|errno| format!("a folder cannot be looked at: {errno}"))?;
        Ok(Self(stat.st_dev, stat.st_ino))
    }
}

/// What a call is shown of what its plan grants.
#[derive(Debug, Clone, Copy)]
pub struct GrantView<'a> {
    /// The folders that were decided on.
    pub approved: Approved<'a>,
    /// What of them is covered; see [`crate::confine::hidden`].
    pub covers: &'a [Cover],
    /// The owner's files that stay as writable as their folder, because the decided call names them; see [`MountPurpose::Kept`].
    pub opens: &'a [String],
}

impl GrantView<'_> {
    /// For what no decision is about.
    pub const ANY: Self = Self { approved: Approved::ANY, covers: &[], opens: &[] };

    /// Whether a mount is put on, if what it shows is there.
    #[must_use]
    pub fn has(&self, mount: &Mount) -> bool {
        mount.purpose != MountPurpose::Kept || !self.opens.contains(&mount.target)
    }
}

/// The folders that a call was granted; `None` for what no decision is about, as the cases of a birth, which lie in memory.
#[derive(Debug, Clone, Copy)]
pub struct Approved<'a>(pub Option<&'a [SeenFolder]>);

impl Approved<'_> {
    /// For what no decision is about.
    pub const ANY: Self = Self(None);

    /// Whether this is the folder that was decided on.
    ///
    /// # Errors
    /// In a sentence, which is not.
    pub fn fits(&self, mount: &Mount, found: Identity) -> Result<(), String> {
        let (from, whole) = match mount.purpose {
            MountPurpose::Grant => (WORKSPACE, false),
            MountPurpose::WriteGrant => (WRITABLE, false),
            MountPurpose::Outside => (OUTSIDE, true),
            MountPurpose::OutsideWrite => (OUTSIDE_WRITABLE, true),
            // Not granted, but put on top of what is.
            MountPurpose::Guard
            | MountPurpose::Kept
            | MountPurpose::Program
            | MountPurpose::Library
            | MountPurpose::Stdlib
            | MountPurpose::Device
            | MountPurpose::Certificates
            | MountPurpose::Command
            | MountPurpose::ProgramData => {
                return Ok(());
            }
        };
        let Some(seen) = self.0 else { return Ok(()) };
        let below = mount.source.strip_prefix(from);
        // Outside it is a path from the root, in the workspace a name.
        let below = below.map(|rest| if whole { rest } else { rest.trim_start_matches('/') });
        let fits = |seen: &SeenFolder| Some(seen.below.as_str()) == below && Identity(seen.device, seen.inode) == found;
        if seen.iter().any(fits) {
            return Ok(());
        }
        Err(format!("{} is not the folder that was decided on: another stands in its place", mount.target))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::plan::MountFlags;

    fn mount(purpose: MountPurpose, source: &str) -> Mount {
        let (source, target) = (source.to_owned(), "/workspace/a".to_owned());
        Mount { source, target, folder: true, purpose, flags: MountFlags::READ }
    }

    #[test]
    fn only_the_folder_that_was_decided_on_fits_and_by_its_own_name() {
        let seen = [SeenFolder { below: "a".to_owned(), device: 1, inode: 2 }];
        let approved = Approved(Some(&seen));
        for purpose in [(MountPurpose::Grant, "/workspace/a"), (MountPurpose::WriteGrant, "/writable/a")] {
            let mount = mount(purpose.0, purpose.1);
            assert!(approved.fits(&mount, Identity(1, 2)).is_ok());
            for other in [Identity(1, 3), Identity(2, 2)] {
                assert!(approved.fits(&mount, other).unwrap_err().contains("/workspace/a"));
                assert!(Approved::ANY.fits(&mount, other).is_ok());
            }
            assert!(Approved(Some(&[])).fits(&mount, Identity(1, 2)).is_err(), "what nobody saw was not decided on");
        }
        for elsewhere in ["/workspace/ab", "/workspace", "/workspace/a/b", "/scratch/1/a"] {
            assert!(approved.fits(&mount(MountPurpose::Grant, elsewhere), Identity(1, 2)).is_err(), "{elsewhere}");
        }
        let seen = [SeenFolder { below: "/srv/a".to_owned(), device: 1, inode: 2 }];
        for purpose in
            [(MountPurpose::Outside, "/outside/srv/a"), (MountPurpose::OutsideWrite, "/outside-writable/srv/a")]
        {
            let mount = mount(purpose.0, purpose.1);
            assert!(Approved(Some(&seen)).fits(&mount, Identity(1, 2)).is_ok());
            assert!(Approved(Some(&seen)).fits(&mount, Identity(1, 3)).is_err(), "another stands there");
            assert!(approved.fits(&mount, Identity(1, 2)).is_err(), "a name of the workspace is another folder");
        }
        assert!(Approved(Some(&seen)).fits(&mount(MountPurpose::Grant, "/workspace/srv/a"), Identity(1, 2)).is_err());
        assert!(approved.fits(&mount(MountPurpose::Guard, "/workspace/executors"), Identity(9, 9)).is_ok());
    }
}
