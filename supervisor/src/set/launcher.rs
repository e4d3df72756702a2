//! What a way of running the daemons must be able to do. Spawn mode is one ([`crate::process::spawn`]); one systemd unit per
//! daemon is meant to be the other. A front end must never make a channel between daemons, nor keep an end of one:
//! it brings control lines, the rest is the broker's.
//!
//! The difference between the two is only when a daemon *arrives*, which is to say, has a control line: in spawn
//! mode [`Launcher::bring`] returns the arrival at once; where the service manager starts daemons, it returns `None`,
//! and the arrival comes later, from the rendezvous, through [`crate::set::Set::arrived`].

use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use metnos_proto::role::RoleName;
use rustix::process::Signal;
use tokio::io::unix::AsyncFd;

/// A daemon that has a control line.
#[derive(Debug)]
pub struct Arrival {
    /// Who it is.
    pub role: RoleName,
    /// Our end of its control line.
    pub line: OwnedFd,
    /// Its process.
    pub process: Process,
    /// sandboxd's line to what dials for executors, where that has a user of its own.
    pub helper: Option<OwnedFd>,
    /// For sandboxd alone: the control groups of calls, or why there are none.
    pub groups: Option<Result<OwnedFd, String>>,
}

/// A daemon's process, named by a descriptor that cannot come to mean another one.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its number, for people.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    pidfd: Rc<AsyncFd<OwnedFd>>,
}

impl Process {
    /// A process by its pidfd. Must run inside a tokio runtime.
    ///
    /// # Errors
    /// When the descriptor cannot be watched.
    pub fn new(pid: u32, uid: u32, pidfd: OwnedFd) -> std::io::Result<Self> {
        Ok(Self { pid, uid, pidfd: Rc::new(metnos_proto::sys::watch(pidfd)?) })
    }

    /// Returns when the process has ended.
    ///
    /// # Errors
    /// When the kernel no longer watches it.
    pub async fn over(&self) -> std::io::Result<()> {
        self.pidfd.readable().await.map(drop)
    }

    /// Kills it, if it lives.
    pub fn kill(&self) {
        match rustix::process::pidfd_send_signal(self.pidfd.get_ref(), Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(errno) => tracing::error!(pid = self.pid, %errno, "a daemon could not be killed"),
        }
    }

    /// The pidfd.
    #[must_use]
    pub fn pidfd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.pidfd.get_ref().as_fd()
    }
}

/// A daemon that could not be brought to life.
#[derive(Debug, thiserror::Error)]
#[error("{role} cannot be started: {why}")]
pub struct LaunchError {
    /// Which.
    pub role: RoleName,
    /// Why, and what to do.
    pub why: String,
}

/// A way of running the daemons.
pub trait Launcher {
    /// `spawn` or `systemd`, as `status` shows it.
    fn mode(&self) -> &'static str;

    /// Whether each daemon has a uid of its own.
    fn uids_separate(&self) -> bool;

    /// Has this daemon started. `Some` when it is there already.
    ///
    /// # Errors
    /// When it cannot be started; it is tried again later.
    fn bring(&mut self, role: RoleName) -> Result<Option<Arrival>, LaunchError>;

    /// Whether a signal has stopped this process since this was asked last (`true`), or it goes on again (`false`).
    fn halted(&mut self, process: &Process) -> Option<bool>;

    /// How a process ended that is over, in words; releases it.
    fn ended(&mut self, process: &Process) -> String;
}
