//! What is kept of an executor so that it can be made to wait, and one that waits.

use std::rc::Rc;

use super::Idle;
use crate::approved::{Approved, Identity};
use crate::frames::{self, Word};
use crate::order;
use crate::plan::Plan;

/// The code of an executor and its sandbox, kept so that it can be made to wait.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) plan: Plan,
    pub(super) code: Rc<[u8]>,
    pub(super) compiled: Option<Rc<[u8]>>,
    pub(super) used: u64,
}

impl Known {
    /// How its code is told to a process of the pool.
    pub(super) fn told(&self) -> Vec<u8> {
        match &self.compiled {
            Some(compiled) if !compiled.is_empty() => frames::frame(Word::Compiled, compiled),
            Some(_) | None => frames::frame(Word::Source, &self.code),
        }
    }
}

/// A process that waits sealed, with its code.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) idle: Idle,
    /// The folders that it has mounted, in the order of its plan.
    pub(super) mounted: Vec<Identity>,
}

impl Waiting {
    /// Whether what it has mounted are the folders that were decided on.
    pub(super) fn fits(&self, plan: &Plan, approved: Approved<'_>) -> bool {
        let granted = plan.spec().mounts.iter().filter(|mount| order::is_granted(mount.purpose));
        granted.zip(&self.mounted).all(|(mount, found)| approved.fits(mount, *found).is_ok())
    }
}
