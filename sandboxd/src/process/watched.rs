//! A process and the descriptors by which it is watched. It never outlives its owner.

use std::os::fd::{AsFd, OwnedFd};

use metnos_proto::sys::watch;
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use tokio::io::unix::AsyncFd;

use crate::process::groups::Group;
use crate::process::launch::Launched;
use crate::sys::{self, ProcessEnd};

/// A process that does not outlive its owner.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// `None` once it was handed on to be collected.
    pub(crate) pidfd: Option<AsyncFd<OwnedFd>>,
    /// The kernel's figures of it, opened beforehand: opening it takes twice as long as reading it, and a call waits for this.
    status: Option<OwnedFd>,
    /// Its control group, which goes with it.
    pub(crate) group: Option<Group>,
}

impl Process {
    fn new(pid: i32, pidfd: OwnedFd, group: Option<Group>) -> std::io::Result<Self> {
        let status = rustix::fs::open(format!("/proc/{pid}/status"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        Ok(Self { pid, pidfd: Some(watch(pidfd)?), group, status: status.ok() })
    }

    pub(crate) fn kill(&self) {
        if let Some(group) = &self.group {
            group.kill();
        }
        if let Some(pidfd) = &self.pidfd {
            // It can only be gone already.
            let _ = rustix::process::pidfd_send_signal(pidfd.get_ref(), Signal::KILL);
        }
    }

    pub(crate) async fn end(&mut self) -> Result<ProcessEnd, String> {
        let pidfd = self.pidfd.as_ref().ok_or("it was collected before")?;
        loop {
            let mut ready = pidfd.readable().await.map_err(|error| error.to_string())?;
            match sys::collect(self.pid).map_err(|error| error.to_string())? {
                Some(ended) => {
                    drop(ready);
                    self.pidfd = None;
                    return Ok(ended);
                }
                None => ready.clear_ready(),
            }
        }
    }
}

impl Process {
    /// What it has used so far, as if it had ended well now; `None` when that cannot be said any more.
    pub(crate) fn so_far(&self) -> Option<ProcessEnd> {
        let mut text = [0; 4096];
        let length = rustix::io::pread(self.status.as_ref()?, &mut text, 0).ok()?;
        let status = std::str::from_utf8(text.get(..length)?).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let peak_kib = peak.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        let cpu_us = sys::cpu_us(self.pid).ok()?;
        // Only memory was open to it for writing; see [`AwaitedEnd::AtResult`].
        Some(ProcessEnd { code: Some(0), signal: None, cpu_us, peak_kib, written_bytes: 0 })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if let Some(pidfd) = &self.pidfd {
            let id = rustix::process::WaitId::PidFd(pidfd.get_ref().as_fd());
            let _ = rustix::process::waitid(id, rustix::process::WaitIdOptions::EXITED);
        }
    }
}

/// A process with everything in place to watch it: made ahead of its request, for a call waits for what follows that.
#[derive(Debug)]
pub struct Watched(pub(crate) Result<Ends, String>);

/// What is watched.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) process: Process,
    pub(crate) channel: AsyncFd<OwnedFd>,
    pub(crate) log: AsyncFd<OwnedFd>,
    pub(crate) fault: OwnedFd,
}

impl From<Launched> for Watched {
    fn from(Launched { pid, pidfd, channel, log, fault, group }: Launched) -> Self {
        let watched = || {
            let process = Process::new(pid, pidfd, group)?;
            Ok::<_, std::io::Error>(Ends { process, channel: watch(channel)?, log: watch(log)?, fault })
        };
        Self(watched().map_err(|error| format!("the new process cannot be watched: {error}")))
    }
}
