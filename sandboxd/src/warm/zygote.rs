//! The zygote: an interpreter that has started already, and of which warm children are forked (design: sandbox §4). It
//! never runs an executor's code and never holds a path of the owner's, a secret or a result.

use std::os::fd::{AsFd, OwnedFd};

use rustix::net::SocketType;

use super::Idle;
use super::line::{BrokerLine, LineError};
use crate::confine::inner::ProcessRole;
use crate::confine::order;
use crate::plan::Plan;
use crate::process::frames::{self, Instruction};
use crate::process::groups::Group;
use crate::process::launch::{Launched, Launcher, Pipes};

/// The zygote and the line to it.
#[derive(Debug)]
pub struct Zygote {
    line: BrokerLine,
    /// Ends it when dropped.
    process: Idle,
    /// `/proc` of the view, for the id maps of children; each gets it for a moment.
    proc: OwnedFd,
}

impl Zygote {
    /// See [`Idle::memory_kib`].
    pub fn memory_kib(&self) -> Option<u64> {
        self.process.memory_kib()
    }

    /// Starts one and waits until it can fork. `plan` says what an interpreter consists of; no grant of it is given.
    ///
    /// # Errors
    /// In a sentence, why there is none.
    pub async fn start(launcher: &Launcher, plan: &Plan) -> Result<Self, String> {
        let proc = rustix::fs::open(
            "/proc",
            rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        );
        let proc = proc.map_err(|errno| format!("opening /proc: {errno}"))?;
        let launched = launcher.launch(plan, ProcessRole::Zygote).map_err(|error| error.to_string())?;
        let line = launched.channel.try_clone().and_then(BrokerLine::new).map_err(|error| error.to_string())?;
        let zygote = Self { line, process: Idle::new(launched), proc };
        let order = frames::frame(Instruction::Seal, &order::of_zygote());
        let (head, body) = order.split_at_checked(frames::HEAD).unwrap_or_default();
        let mut sealed = [0; frames::HEAD];
        let asked = zygote.line.ask(&[head, body], &[], &mut sealed).await;
        asked.map_err(|error| zygote.why(&error))?;
        if sealed != *b"S\0\0\0\0" {
            return Err("the zygote did not seal itself".to_owned());
        }
        Ok(zygote)
    }

    /// Has a child forked, in this control group. It is not warm yet, but will be by the time it reads what it is sent: with time to
    /// `rehearse` it first takes the way of a call once.
    ///
    /// # Errors
    /// In a sentence, why there is none; the zygote should then be replaced.
    pub async fn fork(&self, rehearse: bool, group: Option<Group>) -> Result<Idle, String> {
        let Pipes { channel, log, fault, inner } = Pipes::new(SocketType::STREAM).map_err(|error| error.to_string())?;
        let mut fds = vec![self.proc.as_fd(), inner.channel.as_fd(), inner.log.as_fd(), inner.fault.as_fd()];
        fds.extend(group.as_ref().map(Group::folder));
        let mut answer = [0; 8];
        let word: &[u8] = if rehearse { b"F" } else { b"N" };
        let asked = self.line.ask(&[word], &fds, &mut answer).await;
        drop(inner);
        let packet = asked.map_err(|error| self.why(&error))?;
        let number = i64::from_ne_bytes(answer);
        let pid = i32::try_from(number).ok().filter(|pid| *pid > 0);
        match (pid, packet.fds.into_iter().next()) {
            (Some(pid), Some(pidfd)) => Ok(Idle::new(Launched { pid, pidfd, channel, log, fault, group })),
            (Some(_) | None, _) => Err(format!("the zygote cannot fork: error {}", number.saturating_neg())),
        }
    }

    /// Tells it to end; the process, to be collected.
    #[must_use]
    pub fn end(self) -> Idle {
        self.process.end();
        self.process
    }

    /// Whether it can still be asked.
    #[must_use]
    pub const fn in_step(&self) -> bool {
        self.line.in_step()
    }

    /// What it has said about its end.
    fn why(&self, error: &LineError) -> String {
        let said = self.process.last_words();
        if said.is_empty() { format!("the zygote: {error}") } else { format!("the zygote: {error}: {said}") }
    }
}
