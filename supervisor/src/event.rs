//! What the main loop receives: from the daemons, from `metnosctl`, from the kernel.

use std::os::fd::OwnedFd;

use metnos_proto::control::{CtlAnswer, CtlAsk, Report};
use metnos_proto::edge::PeerCred;
use metnos_proto::role::RoleName;
use tokio::sync::oneshot;

/// One thing that the main loop receives.
#[derive(Debug)]
pub enum Event {
    /// A daemon reported.
    Reported {
        /// Which.
        role: RoleName,
        /// Which process of it, counted up.
        incarnation: u32,
        /// What.
        report: Report,
    },
    /// A daemon closed its control line.
    Closed {
        /// Which.
        role: RoleName,
        /// Which process of it.
        incarnation: u32,
    },
    /// What came over a daemon's control line was no report.
    Broke {
        /// Which.
        role: RoleName,
        /// Which process of it.
        incarnation: u32,
        /// How.
        why: String,
    },
    /// A daemon's process is over. Nothing comes from it after this.
    Ended {
        /// Which.
        role: RoleName,
        /// Which process of it.
        incarnation: u32,
    },
    /// `metnosctl` asks.
    Request(CtlRequest),
    /// A daemon has ended, or a signal has stopped or continued one.
    Children,
    /// The supervisor was ordered to stop, by this signal.
    Signal(&'static str),
}

/// An answer, with the descriptor that belongs to it.
#[derive(Debug)]
pub struct Reply {
    /// The words.
    pub answer: CtlAnswer,
    /// The end of a channel, beside [`CtlAnswer::Connected`] only.
    pub fd: Option<OwnedFd>,
}

/// A question of `metnosctl`.
#[derive(Debug)]
pub struct CtlRequest {
    /// Who asks, says the kernel.
    pub peer: PeerCred,
    /// What.
    pub ask: CtlAsk,
    /// Where the answer goes.
    pub reply: oneshot::Sender<Reply>,
}

impl From<CtlAnswer> for Reply {
    fn from(answer: CtlAnswer) -> Self {
        Self { answer, fd: None }
    }
}
