//! Starts one executor's process from its plan. It takes nothing but the plan and the code
//! that was verified: no path, no descriptor and no flag comes from anywhere else.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use metnos_proto::ids::Blake3;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;

use crate::inner::{self, Material};
use crate::plan::{Namespace, Plan};
use crate::seccomp::Filter;
use crate::sys::{self, Cloned};

/// The host script, part of this binary.
pub const HOST: &[u8] = include_bytes!("../../executors/host/host.py");

/// Why no process was started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The plan was made for another filter or host script.
    #[error("the plan was made for another {0} than this sandboxd has")]
    OtherPlan(&'static str),
    /// The kernel.
    #[error("{step}: {error}")]
    Kernel {
        /// What was being done.
        step: &'static str,
        /// What it said.
        error: io::Error,
    },
}

/// Everything that does not change from call to call.
#[derive(Debug)]
pub struct Launcher {
    filter: Filter,
    ids: (u32, u32),
    without_landlock: bool,
}

/// A process on its way to becoming an executor.
#[derive(Debug)]
pub struct Launched {
    /// Its number.
    pub pid: i32,
    /// Readable when it has ended.
    pub pidfd: OwnedFd,
    /// The channel to the host script.
    pub channel: OwnedFd,
    /// What it writes to its standard output and error.
    pub log: OwnedFd,
    /// A sentence when it did not become the interpreter; at its end without one when it did.
    pub fault: OwnedFd,
}

impl Launcher {
    /// A launcher for this process's user. `without_landlock` only when the owner has waived it by name.
    #[must_use]
    pub fn new(filter: Filter, without_landlock: bool) -> Self {
        let ids = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Self { filter, ids, without_landlock }
    }

    /// The digest of the host script.
    #[must_use]
    pub fn host_digest() -> Blake3 {
        Blake3::of(HOST)
    }

    /// Starts the process.
    ///
    /// # Errors
    /// A [`LaunchError`]. What goes wrong inside the new process is reported over [`Launched::fault`].
    pub fn launch(&self, plan: &Plan, code: &[u8]) -> Result<Launched, LaunchError> {
        if plan.spec().seccomp != self.filter.digest() {
            return Err(LaunchError::OtherPlan("system call filter"));
        }
        if plan.spec().host != Self::host_digest() {
            return Err(LaunchError::OtherPlan("host script"));
        }
        let failed =
            |step: &'static str| move |errno: rustix::io::Errno| LaunchError::Kernel { step, error: errno.into() };
        let (channel, inner_channel) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .map_err(failed("making a channel"))?;
        let (log, inner_log) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(failed("making a pipe"))?;
        let (fault, inner_fault) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(failed("making a pipe"))?;
        for fd in [channel.as_fd(), log.as_fd(), fault.as_fd()] {
            rustix::io::ioctl_fionbio(fd, true).map_err(failed("making a channel"))?;
        }
        let cloned = sys::clone_process(clone_flags(&plan.spec().namespaces));
        match cloned.map_err(|error| LaunchError::Kernel { step: "making a process in new namespaces", error })? {
            Cloned::Child => {
                let material = Material {
                    host: HOST,
                    code,
                    filter: &self.filter,
                    channel: inner_channel.as_fd(),
                    log: inner_log.as_fd(),
                    fault: inner_fault.as_fd(),
                    ids: self.ids,
                    without_landlock: self.without_landlock,
                };
                inner::become_executor(plan, &material)
            }
            Cloned::Parent { pid, pidfd } => Ok(Launched { pid, pidfd, channel, log, fault }),
        }
    }
}

fn clone_flags(namespaces: &[Namespace]) -> i32 {
    namespaces.iter().fold(0, |flags, namespace| {
        flags
            | match namespace {
                Namespace::User => libc::CLONE_NEWUSER,
                Namespace::Pid => libc::CLONE_NEWPID,
                Namespace::Mount => libc::CLONE_NEWNS,
                Namespace::Net => libc::CLONE_NEWNET,
                Namespace::Ipc => libc::CLONE_NEWIPC,
                Namespace::Uts => libc::CLONE_NEWUTS,
                Namespace::Cgroup => libc::CLONE_NEWCGROUP,
            }
    })
}
