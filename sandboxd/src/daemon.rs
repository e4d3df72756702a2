//! What sandboxd opens before its lock, and what it serves once a sandbox has held against what must fail there. It must
//! never serve with a layer missing, nor as root.

use std::rc::Rc;
use std::time::Duration;

use metnos_daemon::{Daemon, Fatal, Opened, Served};
use metnos_jail::die_with_parent;
use metnos_proto::boot::Boot;
use metnos_proto::edges::{CtlSandboxd, PolicydSandboxd, SandboxdMemoryd};
use metnos_proto::msg::sandboxd::Canary;
use metnos_proto::role::Sandboxd;

use crate::confine::host_folders::HostFolders;
use crate::confine::view::POOL;
use crate::pool::Sandbox;
use crate::pool::files::FileError;
use crate::pool::registry::Registry;
use crate::process::kernel::Kernel;
use crate::serve::Service;

/// How long what runs may take to end by itself after the supervisor said to, in milliseconds.
pub const DRAIN_GRACE_MS: u64 = 1_500;

/// Why sandboxd cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It was started as root, to whom `RLIMIT_NPROC` and much else means nothing.
    #[error("sandboxd never runs as root: start the set through the supervisor, which gives each daemon its own user")]
    Root,
    /// No sandbox can be built here.
    #[error("no sandbox can be built: {0}")]
    Sandbox(String),
    /// The pool.
    #[error("the pool of executors: {0}")]
    Pool(#[from] FileError),
    /// A canary lived.
    #[error("the sandbox does not hold, so nothing may run in it: {0}")]
    Canary(String),
}

/// Its own view of the machine, and the pool of executors in it.
pub struct View {
    sandbox: Kernel,
    registry: Registry,
}

impl Opened for View {
    type Role = Sandboxd;

    fn open(boot: &mut Boot<Sandboxd>) -> Result<Self, Fatal> {
        if rustix::process::getuid().is_root() || rustix::process::geteuid().is_root() {
            return Err(StartError::Root.into());
        }
        let groups = boot.groups.take().unwrap_or_else(|| HostFolders::default().groups);
        let handed = HostFolders { egress: boot.helper.take(), folders: std::mem::take(&mut boot.folders), groups };
        let sandbox = Kernel::prepare(&boot.start, handed).map_err(StartError::Sandbox)?;
        // A change of identity, such as into a namespace of users, may have cleared it.
        die_with_parent()?;
        let registry = Registry::open(POOL.as_ref(), sandbox.installation().clone()).map_err(StartError::Pool)?;
        Ok(Self { sandbox, registry })
    }
}

impl Served for View {
    type Service = Serving;

    async fn serve(self, daemon: &mut Daemon<Sandboxd>) -> Result<Serving, Fatal> {
        // Behind the lock, because it is there that every call runs.
        held(&self.sandbox.canaries().await)?;
        let memory = daemon.asks::<SandboxdMemoryd>()?;
        let service = Service::new(self.sandbox, self.registry, memory);
        let served = Rc::clone(&service);
        daemon.answers::<PolicydSandboxd, _, _>(move |end| Rc::clone(&served).serve_policyd(end))?;
        let served = Rc::clone(&service);
        daemon.answers::<CtlSandboxd, _, _>(move |end| Rc::clone(&served).serve_ctl(end))?;
        Ok(Serving(service))
    }
}

/// The running daemon.
pub struct Serving(Rc<Service<Kernel>>);

impl metnos_daemon::Service<Sandboxd> for Serving {
    fn ready(&self) {
        self.0.ready();
    }

    async fn drain(&self) {
        self.0.drain(Duration::from_millis(DRAIN_GRACE_MS)).await;
    }
}

/// Every canary must have been stopped, and there must have been one.
fn held(canaries: &[Canary]) -> Result<(), StartError> {
    if canaries.is_empty() {
        return Err(StartError::Canary("none was tried".to_owned()));
    }
    let living: Vec<String> = canaries
        .iter()
        .filter(|canary| !canary.stopped)
        .map(|canary| format!("{} ({})", canary.attempt, canary.detail))
        .collect();
    if living.is_empty() { Ok(()) } else { Err(StartError::Canary(living.join("; "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canary(attempt: &str, stopped: bool) -> Canary {
        Canary { attempt: attempt.to_owned(), stopped, detail: "EPERM".to_owned() }
    }

    #[test]
    fn a_sandbox_holds_only_when_canaries_were_tried_and_all_were_stopped() {
        assert!(held(&[]).is_err());
        assert!(held(&[canary("open /etc/passwd", true)]).is_ok());
        let error = held(&[canary("open /etc/passwd", true), canary("socket()", false)]).unwrap_err().to_string();
        assert!(error.contains("socket()") && !error.contains("passwd"), "{error}");
    }
}
