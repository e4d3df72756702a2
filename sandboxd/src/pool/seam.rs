//! What goes into a sandbox and what comes out of one.

use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::{Outcome, Resources};
use tokio::sync::oneshot;

use crate::plan::Plan;

/// What is called of the code.
#[derive(Debug)]
pub enum Entry {
    /// `run`, with these arguments.
    Call {
        /// A JSON object.
        args: Vec<u8>,
    },
    /// `cases`, of birth tests.
    Cases,
}

/// One run.
pub struct Job<'a> {
    /// The turn it belongs to; a birth has none.
    pub turn: Option<TurnId>,
    /// The sandbox.
    pub plan: &'a Plan,
    /// The code, verified.
    pub code: &'a [u8],
    /// What of it.
    pub entry: Entry,
    /// Hears how far it is: done, total.
    pub progress: &'a dyn Fn(u64, u64),
    /// Ends it.
    pub kill: oneshot::Receiver<()>,
}

/// How it ended.
#[derive(Debug)]
pub struct Finished {
    /// `Ok` means: exactly one result came.
    pub outcome: Outcome,
    /// The result, unparsed.
    pub result: Option<Vec<u8>>,
    /// Why, for a person.
    pub detail: String,
    /// What it wrote to its standard output and error.
    pub log: String,
    /// What it used.
    pub resources: Resources,
}
