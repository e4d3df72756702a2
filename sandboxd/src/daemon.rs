//! The life of sandboxd: it hears who it is, moves into its own view, locks itself, tries in a
//! sandbox what must fail there, and only then serves. It must never serve with a layer missing,
//! nor as root.

use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use metnos_jail::{JailError, Places, Profile, Pss, Waivers, die_with_parent, lock};
use metnos_proto::boot::{Boot, BootError, Daemon};
use metnos_proto::control::{ControlError, Start};
use metnos_proto::edges::{CtlSandboxd, PolicydSandboxd, SandboxdMemoryd};
use metnos_proto::msg::sandboxd::Canary;
use metnos_proto::role::Sandboxd;
use tokio::task::LocalSet;

use crate::handed::Handed;
use crate::pool::Sandbox;
use crate::pool::files::FileError;
use crate::pool::registry::Registry;
use crate::serve::Service;

/// How long what runs may take to end by itself after the supervisor said to, in milliseconds.
pub const DRAIN_GRACE_MS: u64 = 1_500;
/// How long draining may take in all, in milliseconds.
pub const DRAIN_WITHIN_MS: u64 = 3_000;

/// Why sandboxd cannot start, or had to end.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The control channel, or the ends that came over it.
    #[error(transparent)]
    Boot(#[from] BootError),
    /// It was started as root, to whom `RLIMIT_NPROC` and much else means nothing.
    #[error("sandboxd never runs as root: start the set through the supervisor, which gives each daemon its own user")]
    Root,
    /// No sandbox can be built here.
    #[error("no sandbox can be built: {0}")]
    Sandbox(String),
    /// The pool.
    #[error("the pool of executors: {0}")]
    Pool(#[from] FileError),
    /// A layer of the lock.
    #[error("the lock: {0}")]
    Lock(#[from] JailError),
    /// A canary lived.
    #[error("the sandbox does not hold, so nothing may run in it: {0}")]
    Canary(String),
    /// The runtime.
    #[error("the event loop: {0}")]
    Runtime(#[from] std::io::Error),
}

/// Lives. `prepare` moves this process into its view, from where the pool is at `pool`.
pub fn live<S: Sandbox>(pool: &str, prepare: impl FnOnce(&Start, Handed) -> Result<S, String>) -> ExitCode {
    tracing_subscriber::fmt().with_writer(metnos_proto::log::stderr).with_ansi(false).with_target(false).init();
    #[cfg(feature = "attack")]
    let _ = metnos_proto::boot::ATTACK.set(attack);
    match boot(pool, prepare) {
        Ok(()) => ExitCode::SUCCESS,
        Err(DaemonError::Boot(BootError::Control(ControlError::Gone))) => {
            tracing::info!("the supervisor is gone");
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!(%error, "sandboxd ends");
            ExitCode::FAILURE
        }
    }
}

fn boot<S: Sandbox>(pool: &str, prepare: impl FnOnce(&Start, Handed) -> Result<S, String>) -> Result<(), DaemonError> {
    die_with_parent()?;
    // Before the own view, in which it may not be found.
    let pss = Pss::open()?;
    let mut boot = Boot::<Sandboxd>::receive()?;
    let groups = boot.groups.take().unwrap_or_else(|| Handed::default().groups);
    let handed = Handed { egress: boot.helper.take(), folders: std::mem::take(&mut boot.folders), groups };
    let opened = open(pool, &boot.start, |start| prepare(start, handed));
    let (sandbox, registry) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            boot.fault(&error.to_string());
            return Err(error);
        }
    };
    // The reactor opens descriptors, so it comes before the lock.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut daemon = boot.into_daemon()?;
        let served = serve(&mut daemon, &pss, sandbox, registry).await;
        if let Err(error) = &served {
            daemon.fault(&error.to_string());
        }
        served
    })
}

fn open<S: Sandbox>(
    pool: &str,
    start: &Start,
    prepare: impl FnOnce(&Start) -> Result<S, String>,
) -> Result<(S, Registry), DaemonError> {
    if rustix::process::getuid().is_root() || rustix::process::geteuid().is_root() {
        return Err(DaemonError::Root);
    }
    let sandbox = prepare(start).map_err(DaemonError::Sandbox)?;
    // A change of identity, such as into a namespace of users, may have cleared it.
    die_with_parent()?;
    let registry = Registry::open(pool.as_ref(), sandbox.installation().clone())?;
    Ok((sandbox, registry))
}

async fn serve<S: Sandbox>(
    daemon: &mut Daemon<Sandboxd>,
    pss: &Pss,
    sandbox: S,
    registry: Registry,
) -> Result<(), DaemonError> {
    let waivers = Waivers::from_names(&daemon.start.settings.waive)?;
    let locked = lock(&Profile::load("sandboxd")?, &Places::new(), &waivers)?;
    // Behind the lock, because it is there that every call runs.
    held(&sandbox.canaries().await)?;
    let memory = daemon.asks::<SandboxdMemoryd>()?;
    let service = Service::new(sandbox, registry, memory);
    answer(daemon, &service)?;
    daemon.ready(locked.report().to_lines(), locked.report().waived.clone())?;
    service.ready();
    daemon.control(|| pss.kib().unwrap_or(0)).await?;
    let drained = service.drain(Duration::from_millis(DRAIN_GRACE_MS));
    if tokio::time::timeout(Duration::from_millis(DRAIN_WITHIN_MS), drained).await.is_err() {
        tracing::warn!("not everything had ended when the time was over");
    }
    daemon.drained();
    Ok(())
}

fn answer<S: Sandbox>(daemon: &mut Daemon<Sandboxd>, service: &Rc<Service<S>>) -> Result<(), BootError> {
    let served = Rc::clone(service);
    daemon.answers::<PolicydSandboxd, _, _>(move |end| Rc::clone(&served).serve_policyd(end))?;
    let served = Rc::clone(service);
    daemon.answers::<CtlSandboxd, _, _>(move |end| Rc::clone(&served).serve_ctl(end))
}

/// Every canary must have been stopped, and there must have been one.
fn held(canaries: &[Canary]) -> Result<(), DaemonError> {
    if canaries.is_empty() {
        return Err(DaemonError::Canary("none was tried".to_owned()));
    }
    let living: Vec<String> = canaries
        .iter()
        .filter(|canary| !canary.stopped)
        .map(|canary| format!("{} ({})", canary.attempt, canary.detail))
        .collect();
    if living.is_empty() { Ok(()) } else { Err(DaemonError::Canary(living.join("; "))) }
}

/// Test builds only: attempts a forbidden act inside the lock and says which errno stopped it.
#[cfg(feature = "attack")]
fn attack(name: &str, target: &str) -> (i32, String) {
    match name.parse::<metnos_jail::attack::Attempt>() {
        Ok(act) => match metnos_jail::attack::attempt(act, (!target.is_empty()).then_some(target)) {
            Ok(achieved) => (0, achieved),
            Err(errno) => (errno, String::new()),
        },
        Err(unknown) => (-1, unknown.to_string()),
    }
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
