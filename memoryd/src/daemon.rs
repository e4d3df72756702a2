//! The loop: all asks that have come, one flush, all answers. It blocks nowhere but in `poll` and on the disk.

use std::os::fd::{AsFd, OwnedFd};

use metnos_proto::control::{self, ControlError, Drained, Order, Pong, Report, Violation};
use metnos_proto::edge::RawEnd;
use metnos_proto::socket;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::error::Error;
use crate::links::{Ending, Link, accept};
use crate::memory::Memory;

/// How many links there may be at once: every edge twice, while a peer is started anew, and the owner's.
pub const MAX_LINKS: usize = 32;
/// The longest description of a breach that is reported, in characters.
const MAX_BREACH_CHARS: usize = 2_000;

/// Why the daemon ends.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The supervisor is gone, or speaks another language.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The supervisor said something that has no place here.
    #[error("out of order: {0}")]
    Protocol(String),
    /// The kernel.
    #[error("waiting for peers: {0}")]
    Poll(std::io::Error),
    /// Memory cannot go on.
    #[error(transparent)]
    Memory(#[from] Error),
}

/// The daemon at work.
pub struct Daemon {
    control: OwnedFd,
    memory: Memory,
    links: Vec<Box<dyn Link>>,
    buffer: Vec<u8>,
    pss_kib: Box<dyn Fn() -> u64>,
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").field("memory", &self.memory).field("links", &self.links.len()).finish_non_exhaustive()
    }
}

impl Daemon {
    /// Takes the control end, memory and the first ends.
    #[must_use]
    pub fn new(control: OwnedFd, memory: Memory, ends: Vec<RawEnd>, pss_kib: Box<dyn Fn() -> u64>) -> Self {
        let mut daemon = Self { control, memory, links: Vec::new(), buffer: socket::buffer(), pss_kib };
        for end in ends {
            daemon.add(end);
        }
        daemon
    }

    /// Serves until the supervisor says to drain.
    ///
    /// # Errors
    /// When the supervisor is gone or the kernel cannot wait: the daemon ends.
    pub fn run(mut self) -> Result<(), DaemonError> {
        if let Err(error) = self.serve() {
            metnos_proto::boot::send_fault(self.control.as_fd(), &error.to_string());
            return Err(error);
        }
        // Everything is closed before the supervisor is told: the next start finds it in order.
        let Self { control, memory, links, .. } = self;
        drop((memory, links));
        Ok(control::send(control.as_fd(), &Report::Drained(Drained {}), None)?)
    }

    fn serve(&mut self) -> Result<(), DaemonError> {
        let mut more_to_do = false;
        loop {
            let ready = self.wait(more_to_do)?;
            let drain = ready.control && self.orders()?;
            self.round(&ready.links)?;
            if drain {
                return Ok(self.memory.settle()?);
            }
            more_to_do = self.work();
        }
    }

    /// Waits for somebody to say something; not at all when there is work to go on with.
    fn wait(&self, more_to_do: bool) -> Result<Ready, DaemonError> {
        let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(&self.control, PollFlags::IN)];
        fds.extend(self.links.iter().map(|link| PollFd::from_borrowed_fd(link.as_fd(), PollFlags::IN)));
        let now = Timespec::default();
        loop {
            match rustix::event::poll(&mut fds, more_to_do.then_some(&now)) {
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(DaemonError::Poll(errno.into())),
            }
        }
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        Ok(Ready { control: ready.next().unwrap_or(false), links: ready.collect() })
    }

    /// One round: take from every link that has something, flush once, let the answers go.
    fn round(&mut self, ready: &[bool]) -> Result<(), DaemonError> {
        let mut endings = Vec::new();
        for (at, link) in self.links.iter_mut().enumerate() {
            if ready.get(at).copied().unwrap_or(false)
                && let Err(ending) = link.take(&mut self.memory, &mut self.buffer)
            {
                endings.push((at, ending));
            }
        }
        self.flush()?;
        for (at, link) in self.links.iter_mut().enumerate() {
            // A link that broke the protocol still gets what it was promised before.
            if let Err(ending) = link.release(&self.memory)
                && !endings.iter().any(|(ended, _)| *ended == at)
            {
                endings.push((at, ending));
            }
        }
        self.memory.answered();
        self.end(endings)
    }

    fn flush(&mut self) -> Result<(), DaemonError> {
        match self.memory.flush() {
            Ok(()) => Ok(()),
            Err(killed @ Error::Killed(_)) => Err(killed.into()),
            // The askers of this round are told; the loop goes on, since reading still works.
            Err(error) => {
                tracing::error!(%error, "nothing was recorded in this round");
                Ok(())
            }
        }
    }

    /// Drops links that have ended, and records breaches.
    fn end(&mut self, mut endings: Vec<(usize, Ending)>) -> Result<(), DaemonError> {
        endings.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        for (at, ending) in endings {
            let edge = self.links.remove(at).edge();
            match ending {
                Ending::Gone(why) => tracing::debug!(?edge, %why, "a link has ended"),
                Ending::Violation(what) => self.breach(edge, &what),
            }
        }
        self.flush()
    }

    /// Reports a breach of protocol to the supervisor, and records it.
    fn breach(&mut self, edge: metnos_proto::edges::EdgeId, what: &str) {
        tracing::error!(?edge, %what, "breach of protocol, channel closed");
        self.memory.violated(edge.asker().text(), what);
        let what = what.chars().take(MAX_BREACH_CHARS).collect();
        let report = Report::Violation(Violation { edge, what });
        if let Err(error) = control::send(self.control.as_fd(), &report, None) {
            tracing::error!(%error, "the supervisor could not be told");
        }
    }

    /// Goes on with what takes longer than a round.
    fn work(&mut self) -> bool {
        let mut more = false;
        let memory = &mut self.memory;
        self.links.retain_mut(|link| match link.work(memory) {
            Ok(left) => {
                more |= left;
                true
            }
            Err(ending) => {
                tracing::debug!(?ending, "a link has ended");
                false
            }
        });
        more
    }

    /// Hears the supervisor out; `true` when the daemon is to end.
    fn orders(&mut self) -> Result<bool, DaemonError> {
        while let Some((order, fd)) = control::receive::<Order>(self.control.as_fd(), &mut self.buffer)? {
            match (order, fd) {
                (Order::Edge(end), Some(fd)) => self.add(end.with(fd)),
                (Order::Ping(ping), None) => {
                    let pong = Pong { number: ping.number, pss_kib: (self.pss_kib)() };
                    control::send(self.control.as_fd(), &Report::Pong(pong), None)?;
                }
                (Order::Drain(_), None) => return Ok(true),
                #[cfg(feature = "attack")]
                (Order::Attempt(attempt), None) => self.attempt(attempt)?,
                (other, _) => return Err(DaemonError::Protocol(format!("{other:?}"))),
            }
        }
        Ok(false)
    }

    /// Takes a new end. An earlier link of the same edge stays until its peer is gone: what the
    /// peer said last is still heard.
    fn add(&mut self, end: RawEnd) {
        let edge = end.edge;
        if self.links.len() >= MAX_LINKS {
            tracing::error!(?edge, "more than {MAX_LINKS} links; this one is closed");
            return;
        }
        match accept(end) {
            Ok(link) => self.links.push(link),
            Err(Ending::Gone(why)) => tracing::debug!(?edge, %why, "a link has ended before it began"),
            Err(Ending::Violation(what)) => self.breach(edge, &what),
        }
    }

    #[cfg(feature = "attack")]
    fn attempt(&mut self, attempt: control::Attempt) -> Result<(), DaemonError> {
        let (errno, detail) = match metnos_proto::boot::ATTACK.get() {
            Some(attack) => attack(&attempt.name, &attempt.target),
            None => return Err(DaemonError::Protocol("no attack is registered".to_owned())),
        };
        let report = Report::Attempted(control::Attempted { name: attempt.name, errno, detail });
        Ok(control::send(self.control.as_fd(), &report, None)?)
    }
}

/// Who has something to say.
struct Ready {
    control: bool,
    links: Vec<bool>,
}
