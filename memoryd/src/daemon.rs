//! The loop: all asks that have come, one flush, all answers. It blocks nowhere but in `poll` and on the disk.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use metnos_proto::control::{self, ControlError, Drained, Order, Pong, Report, Violation};
use metnos_proto::edge::RawEnd;
use metnos_proto::socket;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::error::Error;
use crate::group_commit::GroupCommit;
use crate::links::{Link, LinkEnd, Notification, VERIFY_SLICE_BYTES, accept};
use crate::memory::Memory;

/// How many links there may be at once: every edge twice, while a peer is restarted, and the owner's.
pub const MAX_LINKS: usize = 32;
/// How many events may wait to be derived from while more come.
pub const MAX_DUE: usize = 256;
/// How soon the next ask must come for the one before to wait for it: what a process takes to receive an answer and to
/// ask again, and about what a call takes between one of its lines and the next.
const MORE_WITHIN: Duration = Duration::from_millis(1);
/// The longest description of a breach that is reported, in characters.
const MAX_BREACH_CHARS: usize = 2_000;

/// Why the daemon ends.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The supervisor is gone, or its messages cannot be read.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The supervisor sent an order that is not valid here.
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
    group_commit: GroupCommit,
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
        let mut daemon = Self {
            control,
            memory,
            links: Vec::new(),
            buffer: socket::buffer(),
            pss_kib,
            group_commit: GroupCommit::default(),
        };
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
        // Everything is closed before the supervisor is notified: the next start finds it in order.
        let Self { control, memory, links, .. } = self;
        drop((memory, links));
        Ok(control::send(control.as_fd(), &Report::Drained(Drained {}), None)?)
    }

    fn serve(&mut self) -> Result<(), DaemonError> {
        let mut more_to_do = true;
        // What was changed while memoryd was down.
        if let Err(error) = self.memory.look_at_files() {
            tracing::error!(%error, "that the six files have changed was not recorded");
        }
        loop {
            let ready = self.wait(more_to_do)?;
            let drain = ready.control && self.orders()?;
            if ready.files {
                self.memory.files_moved();
            }
            self.round(&ready.links)?;
            if drain {
                self.memory.settle()?;
                self.send_last_head();
                return Ok(());
            }
            if !more_to_do && self.has_more()? {
                // The head is sent as often as ever: it needs nothing that is derived.
                self.notify()?;
                continue;
            }
            if self.memory.due() > 0 {
                recorded(self.memory.derive())?;
            }
            self.notify()?;
            more_to_do = self.work();
            if !more_to_do && let Err(error) = self.memory.idle() {
                tracing::error!(%error, "what is due once in a while was not done");
            }
        }
    }

    /// Whether what was just made durable may wait to be derived from, because the next ask comes at once: then many
    /// events share what deriving costs, and the answered client does not wait for the processor meanwhile. An ask about
    /// any of it has it derived from first.
    fn has_more(&mut self) -> Result<bool, DaemonError> {
        if self.memory.due() == 0 || self.memory.due() >= MAX_DUE {
            return Ok(false);
        }
        Ok(self.poll_links(Some(MORE_WITHIN))?.links.contains(&true))
    }

    /// Waits until a link is readable; not at all when there is work to go on with.
    fn wait(&self, more_to_do: bool) -> Result<Ready, DaemonError> {
        let due = [self.memory.head_wait_ms(), self.memory.files_wait_ms()].into_iter().flatten().min();
        let within_ms = if more_to_do { Some(0) } else { due };
        self.poll_links(within_ms.map(Duration::from_millis))
    }

    /// Which links become readable within that time.
    fn poll_links(&self, within: Option<Duration>) -> Result<Ready, DaemonError> {
        let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(&self.control, PollFlags::IN)];
        fds.extend(self.links.iter().map(|link| PollFd::from_borrowed_fd(link.as_fd(), PollFlags::IN)));
        fds.extend(self.memory.files_watch().map(|watch| PollFd::from_borrowed_fd(watch, PollFlags::IN)));
        let within = within.and_then(|within| Timespec::try_from(within).ok());
        loop {
            match rustix::event::poll(&mut fds, within.as_ref()) {
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(DaemonError::Poll(errno.into())),
            }
        }
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        let control = ready.next().unwrap_or(false);
        let links = ready.by_ref().take(self.links.len()).collect();
        Ok(Ready { control, links, files: ready.next().unwrap_or(false) })
    }

    /// One round: take from every link that has something, flush once, let the answers go.
    fn round(&mut self, ready: &[bool]) -> Result<(), DaemonError> {
        let mut endings = Vec::new();
        self.take(ready, &mut endings);
        self.wait_for_group(&mut endings)?;
        let (began, durable) = (Instant::now(), self.memory.waiting_bytes() > 0);
        let mut took = Duration::ZERO;
        let (holding, links) = (self.holding(), &mut self.links);
        // The answers leave as soon as what they promise is on the disk; what follows from it is derived afterwards.
        let flushed = self.memory.flush_answering(|memory| {
            took = began.elapsed();
            for (at, link) in links.iter_mut().enumerate() {
                // A link that broke the protocol still gets what it was promised before.
                if let Err(ending) = link.release(memory)
                    && !endings.iter().any(|(ended, _)| *ended == at)
                {
                    endings.push((at, ending));
                }
            }
        });
        recorded(flushed)?;
        self.group_commit.flushed(durable.then_some(took), holding);
        self.memory.answered();
        self.end(endings)
    }

    /// Takes from every link that has something.
    fn take(&mut self, ready: &[bool], endings: &mut Vec<(usize, LinkEnd)>) {
        for (at, link) in self.links.iter_mut().enumerate() {
            if ready.get(at).copied().unwrap_or(false)
                && !endings.iter().any(|(ended, _)| *ended == at)
                && let Err(ending) = link.take(&mut self.memory, &mut self.buffer)
            {
                endings.push((at, ending));
            }
        }
    }

    /// How many links have answers that wait for the disk.
    fn holding(&self) -> usize {
        self.links.iter().filter(|link| link.holds()).count()
    }

    /// Links that were answered a moment ago often ask again right away: waiting for them for a part of what a sync takes
    /// lets them share the next one, instead of every other. A link alone never waits.
    fn wait_for_group(&mut self, endings: &mut Vec<(usize, LinkEnd)>) -> Result<(), DaemonError> {
        let began = Instant::now();
        while let Some(within) = self.group_commit.wait(self.holding(), began.elapsed()) {
            let ready = self.poll_links(Some(within))?;
            if ready.control || !ready.links.contains(&true) {
                break;
            }
            self.take(&ready.links, endings);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DaemonError> {
        recorded(self.memory.flush())
    }

    /// Notifies policyd of the head of the chain when that is due, syntd that the ager has proposed something, and the
    /// door when the next schedule is due.
    /// Without a policyd it stays due, and a new one asks first; without a syntd nothing is lost, for so does that.
    fn notify(&mut self) -> Result<(), DaemonError> {
        if let Some(head) = self.memory.head_due() {
            if self.notify_all(&Notification::Head(head.clone()))? {
                self.memory.head_notified(&head);
            } else {
                self.memory.head_not_notified();
            }
        }
        if self.memory.ager_proposed() {
            self.notify_all(&Notification::AgerProposed)?;
        }
        // A door that is not there asks when it comes.
        if let Some(due) = self.memory.firing_news() {
            self.notify_all(&Notification::FiringDue(due))?;
        }
        Ok(())
    }

    /// Notifies policyd of the last head, so that no line can be added or cut off while the daemons are down.
    fn send_last_head(&mut self) {
        let Some(head) = self.memory.last_head() else { return };
        let last = Notification::Head(head);
        // Whatever becomes of a link now is not recorded: no line may follow.
        let mut told = false;
        for link in &mut self.links {
            told |= link.notify(&last).unwrap_or(false);
        }
        if !told {
            tracing::info!("the last lines are not signed: policyd does not listen");
        }
    }

    /// Notifies the peers that it is for; whether any was notified.
    fn notify_all(&mut self, unasked: &Notification) -> Result<bool, DaemonError> {
        let mut endings = Vec::new();
        let mut told = false;
        for (at, link) in self.links.iter_mut().enumerate() {
            match link.notify(unasked) {
                Ok(heard) => told |= heard,
                Err(ending) => endings.push((at, ending)),
            }
        }
        self.end(endings)?;
        Ok(told)
    }

    /// Drops links that have ended, and records breaches.
    fn end(&mut self, mut endings: Vec<(usize, LinkEnd)>) -> Result<(), DaemonError> {
        if endings.is_empty() {
            return Ok(());
        }
        endings.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        for (at, ending) in endings {
            let edge = self.links.remove(at).edge();
            match ending {
                LinkEnd::Gone(why) => tracing::debug!(?edge, %why, "a link has ended"),
                LinkEnd::Violation(what) => self.breach(edge, &what),
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
            tracing::error!(%error, "the supervisor could not be notified");
        }
    }

    /// Goes on with what takes longer than a round.
    fn work(&mut self) -> bool {
        let mut more = self.memory.verify_on(VERIFY_SLICE_BYTES).unwrap_or_else(|error| {
            tracing::error!(%error, "the chronicle cannot be read");
            false
        });
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

    /// Carries out the supervisor's orders; `true` when the daemon is to end.
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
    /// peer said last is still received.
    fn add(&mut self, end: RawEnd) {
        let edge = end.edge;
        if self.links.len() >= MAX_LINKS {
            tracing::error!(?edge, "more than {MAX_LINKS} links; this one is closed");
            return;
        }
        match accept(end) {
            Ok(link) => self.links.push(link),
            Err(LinkEnd::Gone(why)) => tracing::debug!(?edge, %why, "a link has ended before it began"),
            Err(LinkEnd::Violation(what)) => self.breach(edge, &what),
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

/// Whether the daemon can go on after a flush. The askers of a round that was not recorded are refused; the loop goes on,
/// since reading still works.
fn recorded(flushed: crate::error::Result<()>) -> Result<(), DaemonError> {
    match flushed {
        Ok(()) => Ok(()),
        Err(killed @ Error::Killed(_)) => Err(killed.into()),
        Err(error) => {
            tracing::error!(%error, "nothing was recorded in this round");
            Ok(())
        }
    }
}

/// What is readable.
struct Ready {
    control: bool,
    links: Vec<bool>,
    /// Something has moved in the workspace.
    files: bool,
}
