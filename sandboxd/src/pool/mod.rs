//! What may run, what came of it, and what later calls may take from it. Nothing here builds a
//! sandbox: that is behind [`Sandbox`], so that all of this is tested without a kernel's help.

use std::future::Future;

use metnos_proto::msg::sandboxd::Canary;
use serde_json::Value;

use crate::confine::hidden::Cover;
use crate::plan::{Installation, Mode, Plan};

pub mod candidates;
pub mod files;
mod finished;
pub mod named;
pub mod registry;
pub mod results;
pub mod running;
pub(crate) mod sandbox_job;
pub mod secret_injection;
pub mod secrets;
pub mod speculative;
#[cfg(test)]
pub(crate) mod testing;

pub use finished::Finished;
pub use sandbox_job::{Entry, Job, JobFile, Keeper, Keeping};
pub use secrets::Secrets;

/// Where calls run.
pub trait Sandbox: 'static {
    /// The files of one birth case; gone when it is dropped.
    type Scratch: ScratchFolder;

    /// What plans are made from.
    fn installation(&self) -> &Installation;

    /// The step of the ladder in force.
    fn mode(&self) -> Mode;

    /// The daemon is ready, and what is only for speed may begin.
    fn serving(&self);

    /// What carries each layer, one `layer: carrier` a line.
    fn layers(&self) -> Vec<String>;

    /// Mounts below the workspace, because of which nothing of it can be granted.
    fn mounted(&self) -> &[String] {
        &[]
    }

    /// What must not exist in the world of a call in this sandbox that names these files, in a turn of the person
    /// whose private folder is called `own`; see [`crate::confine::hidden`].
    ///
    /// # Errors
    /// In a sentence, why it cannot be said. Nothing must run then.
    fn find_covers(&self, plan: &Plan, named: &[String], own: &str)
    -> impl Future<Output = Result<Vec<Cover>, String>>;

    /// Whether the disks that a call in this sandbox may write to have room.
    ///
    /// # Errors
    /// In a sentence, which is too full.
    fn room(&self, plan: &Plan) -> Result<(), String>;

    /// Tries in a sandbox what must fail there.
    fn canaries(&self) -> impl Future<Output = Vec<Canary>>;

    /// A fresh sandbox, one call, gone.
    fn run(&self, job: Job<'_>) -> impl Future<Output = Finished>;

    /// The same on a fresh interpreter, whatever waits: the step of the ladder that needs nothing but the plan.
    fn run_fresh(&self, job: Job<'_>) -> impl Future<Output = Finished>;

    /// What plans of hostile code are made from that can make any system call, for the escape suite; `None` where this
    /// machine has no such module.
    fn armed(&self) -> Option<&Installation>;

    /// Writes the files of a birth case.
    ///
    /// # Errors
    /// In a sentence, why they cannot be written.
    fn scratch(&self, files: &Value) -> Result<Self::Scratch, String>;
}

/// See [`Sandbox::Scratch`].
pub trait ScratchFolder {
    /// Where they are, for [`crate::plan::Plan::with_scratch`].
    fn folder(&self) -> &str;
}
