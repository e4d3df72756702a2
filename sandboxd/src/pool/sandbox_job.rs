//! What goes into a sandbox.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;

use metnos_proto::ids::TurnId;
use metnos_proto::payload::{Filling, Sealed};
use tokio::sync::oneshot;

use super::secrets::Secrets;
use crate::confine::approved::Approved;
use crate::confine::hidden::Cover;
use crate::plan::Plan;

/// What is called of the code.
#[derive(Debug)]
pub enum Entry {
    /// `run`, with these arguments.
    Call {
        /// A JSON object.
        args: Vec<u8>,
        /// What a model has said about them, a JSON object, where the manifest asks for it.
        thought: Option<Vec<u8>>,
    },
    /// `run`, with these arguments and a file.
    Filed {
        /// A JSON object.
        args: Vec<u8>,
        /// The file.
        file: JobFile,
    },
    /// `run`, with these arguments, for an inverse.
    Undoing {
        /// A JSON object.
        args: Vec<u8>,
        /// What the call that it takes back had kept, a JSON object.
        before: Option<Vec<u8>>,
    },
    /// `cases`, of birth tests.
    Cases,
}

/// A file on its way.
#[derive(Debug)]
pub enum JobFile {
    /// In.
    Takes(Sealed),
    /// Out: into this memory, which the asker has as well.
    Gives(Rc<RefCell<Filling>>),
}

impl Entry {
    /// The arguments; none of what describes cases.
    #[must_use]
    pub fn args(&self) -> Option<&[u8]> {
        match self {
            Self::Call { args, .. } | Self::Filed { args, .. } | Self::Undoing { args, .. } => Some(args),
            Self::Cases => None,
        }
    }

    /// The file that it takes.
    #[must_use]
    pub const fn takes(&self) -> Option<&Sealed> {
        match self {
            Self::Filed { file: JobFile::Takes(file), .. } => Some(file),
            Self::Filed { file: JobFile::Gives(_), .. } | Self::Call { .. } | Self::Undoing { .. } | Self::Cases => {
                None
            }
        }
    }

    /// Where the file that it gives goes.
    #[must_use]
    pub fn gives(&self) -> Option<&RefCell<Filling>> {
        match self {
            Self::Filed { file: JobFile::Gives(into), .. } => Some(into),
            Self::Filed { file: JobFile::Takes(_), .. } | Self::Call { .. } | Self::Undoing { .. } | Self::Cases => {
                None
            }
        }
    }
}

/// What becomes of what a call keeps: `Ok` once it is durable.
pub type Keeping<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + 'a>>;

/// Makes durable what a call is about to change, before it changes it.
pub trait Keeper: std::fmt::Debug {
    /// Has this kept.
    fn keep(&self, before: Vec<u8>) -> Keeping<'_>;
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
    /// Its secrets.
    pub secrets: &'a Secrets,
    /// Receives how far it is: done, total.
    pub progress: &'a dyn Fn(u64, u64),
    /// Which folders it was granted.
    pub approved: Approved<'a>,
    /// What of those is to be covered, as [`Sandbox::find_covers`](super::Sandbox::find_covers) has found it; `None` when that
    /// was not looked for yet.
    pub covers: Option<&'a [Cover]>,
    /// The owner's files that it may write, because the call names them.
    pub opens: &'a [String],
    /// Ends it.
    pub kill: oneshot::Receiver<()>,
    /// Notified when its start is recorded: until then everything may be made ready, and not a line of it may run. When
    /// the sender is dropped, it must not run at all. `None` for what needs no record, as the cases of a birth.
    pub begin: Option<oneshot::Receiver<()>>,
    /// For a call whose manifest says that it keeps what it is about to change.
    pub keeper: Option<&'a dyn Keeper>,
}

impl Job<'_> {
    /// Waits until it may run; `false` when it must not.
    pub async fn may_begin(begin: Option<oneshot::Receiver<()>>) -> bool {
        match begin {
            None => true,
            Some(recorded) => recorded.await.is_ok(),
        }
    }
}
