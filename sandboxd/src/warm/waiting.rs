//! What is kept of an executor so that it can be made to wait, and one that waits.

use std::rc::Rc;

use rustix::fs::{Mode, OFlags};

use super::Idle;
use crate::confine::approved::{GrantView, Identity};
use crate::confine::order;
use crate::plan::{Mount, MountPurpose, Plan};
use crate::process::frames::{self, Instruction};

/// The code of an executor and its sandbox, kept so that it can be made to wait.
#[derive(Debug, Clone)]
pub(super) struct WarmCode {
    pub(super) plan: Plan,
    pub(super) code: Rc<[u8]>,
    pub(super) compiled: Option<Rc<[u8]>>,
    pub(super) used: u64,
}

impl WarmCode {
    /// How its code is sent to a process of the pool.
    pub(super) fn encoded_code(&self) -> Vec<u8> {
        match &self.compiled {
            Some(compiled) if !compiled.is_empty() => frames::frame(Instruction::Compiled, compiled),
            Some(_) | None => frames::frame(Instruction::Source, &self.code),
        }
    }
}

/// What stands at the source of a mount.
fn now(mount: &Mount) -> Option<Identity> {
    let opened =
        rustix::fs::open(mount.source.as_str(), OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    opened.ok().and_then(|file| Identity::of(file).ok())
}

/// A process that waits sealed, with its code.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) idle: Idle,
    /// What it has mounted, by its places.
    pub(super) mounted: Vec<(String, Identity)>,
}

impl Waiting {
    /// Whether what it has mounted are the folders that were decided on, and the owner's files as they are now.
    pub(super) fn fits(&self, plan: &Plan, world: GrantView<'_>) -> bool {
        let mut granted = plan.spec().mounts.iter().filter(|mount| order::is_granted(mount.purpose));
        granted.all(|mount| {
            let found = self.mounted.iter().find(|(place, _)| *place == mount.target).map(|(_, found)| *found);
            match found {
                Some(found) if mount.purpose == MountPurpose::Kept => world.has(mount) && now(mount) == Some(found),
                Some(found) => world.approved.fits(mount, found).is_ok(),
                None => mount.purpose == MountPurpose::Kept && now(mount).is_none(),
            }
        })
    }
}
