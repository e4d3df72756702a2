//! The life of a daemon: it hears who it is, takes its ends, locks itself, serves, and ends when it is
//! told to or when the supervisor is gone. Nothing is served before the lock is on.

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use metnos_jail::{JailError, Places, Profile, Pss, Waivers, die_with_parent, lock};
use metnos_proto::boot::{Boot, BootError, Daemon};
use metnos_proto::control::ControlError;
use metnos_proto::role::Role;
use tokio::task::LocalSet;

/// How long what runs may take to end after the supervisor said to, in milliseconds.
pub const DRAIN_WITHIN_MS: u64 = 3_000;

/// Why a daemon could not live.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The control channel, or the ends that came over it.
    #[error(transparent)]
    Boot(#[from] BootError),
    /// A layer of the lock.
    #[error("the lock: {0}")]
    Lock(#[from] JailError),
    /// The runtime.
    #[error("the event loop: {0}")]
    Runtime(#[from] std::io::Error),
}

/// What a daemon has opened before its lock.
#[derive(Debug)]
pub struct Opened<S> {
    /// What serves.
    pub service: S,
    /// The TCP ports that it connects to: no others are left to it.
    pub ports: Vec<u16>,
    /// System calls of its profile that this start has no use for.
    pub spared: Vec<&'static str>,
    /// The TCP port of the loopback at which a place is taken once it is free.
    pub listens: Option<u16>,
}

impl<S> Opened<S> {
    /// What connects nowhere.
    #[must_use]
    pub fn inward(service: S) -> Self {
        Self { service, ports: Vec::new(), spared: Vec::new(), listens: None }
    }
}

/// Lives as role `R`. `open` takes the ends and starts to serve; its service is handed to `drain`
/// when the daemon is to end.
pub fn live<R, S, D>(
    open: impl FnOnce(&mut Daemon<R>) -> Result<Opened<S>, BootError>,
    drain: impl FnOnce(S) -> D,
) -> ExitCode
where
    R: Role,
    D: Future<Output = ()>,
{
    tracing_subscriber::fmt().with_writer(metnos_proto::log::stderr).with_ansi(false).with_target(false).init();
    #[cfg(feature = "attack")]
    let _ = metnos_proto::boot::ATTACK.set(attack);
    match boot(open, drain) {
        Ok(()) => ExitCode::SUCCESS,
        Err(DaemonError::Boot(BootError::Control(ControlError::Gone))) => {
            tracing::info!("the supervisor is gone");
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!(%error, "{} ends", R::NAME);
            ExitCode::FAILURE
        }
    }
}

fn boot<R, S, D>(
    open: impl FnOnce(&mut Daemon<R>) -> Result<Opened<S>, BootError>,
    drain: impl FnOnce(S) -> D,
) -> Result<(), DaemonError>
where
    R: Role,
    D: Future<Output = ()>,
{
    die_with_parent()?;
    let pss = Pss::open()?;
    let boot = Boot::<R>::receive()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut daemon = boot.into_daemon()?;
        let served = serve(&mut daemon, &pss, open, drain).await;
        if let Err(error) = &served {
            daemon.fault(&error.to_string());
        }
        served
    })
}

async fn serve<R, S, D>(
    daemon: &mut Daemon<R>,
    pss: &Pss,
    open: impl FnOnce(&mut Daemon<R>) -> Result<Opened<S>, BootError>,
    drain: impl FnOnce(S) -> D,
) -> Result<(), DaemonError>
where
    R: Role,
    D: Future<Output = ()>,
{
    // Nothing that `open` starts runs before the first wait below, so the lock comes first.
    let Opened { service, ports, spared, listens } = open(daemon)?;
    let waivers = Waivers::from_names(&daemon.start.settings.waive)?;
    let profile = Profile::load(R::NAME.text())?.without(&spared);
    let locked = lock(&profile, &Places::new().with_ports(&ports).with_listen(listens), &waivers)?;
    daemon.ready(locked.report().to_lines(), locked.report().waived.clone())?;
    daemon.control(|| pss.kib().unwrap_or(0)).await?;
    if tokio::time::timeout(Duration::from_millis(DRAIN_WITHIN_MS), drain(service)).await.is_err() {
        tracing::warn!("not everything had ended when the time was over");
    }
    daemon.drained();
    Ok(())
}

/// Test builds only: attempts a forbidden act and says which errno stopped it.
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
