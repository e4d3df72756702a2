//! The zygote: an interpreter that has started already, and of which warm children are forked (design: sandbox §4). It
//! never runs an executor's code and never holds a path of the owner's, a secret or a result.

use std::os::fd::{AsFd, OwnedFd};

use metnos_proto::socket;
use metnos_proto::sys::watch;
use rustix::net::SocketType;
use tokio::io::unix::AsyncFd;
use tokio::sync::Mutex;

use super::Idle;
use crate::frames::{self, Word};
use crate::inner::Becoming;
use crate::launch::{Launched, Launcher, Pipes};
use crate::order;
use crate::plan::Plan;

/// The zygote and the line to it.
#[derive(Debug)]
pub struct Zygote {
    line: Mutex<AsyncFd<OwnedFd>>,
    /// Ends it when dropped.
    process: Idle,
    /// `/proc` of the view, for the id maps of children; each gets it for a moment.
    proc: OwnedFd,
}

impl Zygote {
    /// Starts one and waits until it can fork. `plan` tells what an interpreter consists of; no grant of it is given.
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
        let launched = launcher.launch(plan, Becoming::Zygote).map_err(|error| error.to_string())?;
        let line = launched.channel.try_clone().and_then(watch).map_err(|error| error.to_string())?;
        let zygote = Self { line: Mutex::new(line), process: Idle::new(launched), proc };
        let order = frames::frame(Word::Seal, &order::of_zygote());
        let (head, body) = order.split_at_checked(frames::HEAD).unwrap_or_default();
        {
            let line = zygote.line.lock().await;
            for packet in [head, body] {
                socket::send(line.get_ref().as_fd(), packet, &[]).map_err(|error| error.to_string())?;
            }
            let mut sealed = [0; frames::HEAD];
            receive(&line, &mut sealed).await.map_err(|why| zygote.why(&why))?;
            if sealed != *b"S\0\0\0\0" {
                return Err("the zygote did not seal itself".to_owned());
            }
        }
        Ok(zygote)
    }

    /// Has a child forked. It is not warm yet, but will be by the time it reads what it is told.
    ///
    /// # Errors
    /// In a sentence, why there is none; the zygote should then be replaced.
    pub async fn fork(&self) -> Result<Idle, String> {
        let Pipes { channel, log, fault, inner } = Pipes::new(SocketType::STREAM).map_err(|error| error.to_string())?;
        let line = self.line.lock().await;
        let fds = [self.proc.as_fd(), inner.channel.as_fd(), inner.log.as_fd(), inner.fault.as_fd()];
        socket::send(line.get_ref().as_fd(), b"F", &fds).map_err(|error| error.to_string())?;
        drop(inner);
        let mut answer = [0; 8];
        let fds = receive(&line, &mut answer).await.map_err(|why| self.why(&why))?;
        let number = i64::from_ne_bytes(answer);
        let pid = i32::try_from(number).ok().filter(|pid| *pid > 0);
        match (pid, fds.into_iter().next()) {
            (Some(pid), Some(pidfd)) => Ok(Idle::new(Launched { pid, pidfd, channel, log, fault })),
            (Some(_) | None, _) => Err(format!("the zygote cannot fork: error {}", number.saturating_neg())),
        }
    }

    /// What it has said about its end.
    fn why(&self, why: &str) -> String {
        let said = self.process.last_words();
        if said.is_empty() { why.to_owned() } else { format!("{why}: {said}") }
    }
}

async fn receive(line: &AsyncFd<OwnedFd>, buffer: &mut [u8]) -> Result<Vec<OwnedFd>, String> {
    loop {
        let mut ready = line.readable().await.map_err(|error| error.to_string())?;
        match socket::receive(line.get_ref().as_fd(), buffer) {
            Ok(Some(packet)) => return Ok(packet.fds),
            Ok(None) => return Err("the zygote is gone".to_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => ready.clear_ready(),
            Err(error) => return Err(error.to_string()),
        }
    }
}
