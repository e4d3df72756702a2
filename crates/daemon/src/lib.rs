//! The life of a daemon, written once: receive the ends → open → lock → serve → ready → drain. It must never serve
//! a word before the lock holds. Open this file first.
//!
//! A daemon says what is its own by two traits. [`Opened`] is what it holds when it locks itself; [`Service`] is what
//! runs inside the lock. Its `main` is one line:
//!
//! ```no_run
//! use metnos_daemon::{Confinement, Daemon, Fatal, Opened, Served, Service};
//! use metnos_proto::boot::Boot;
//! use metnos_proto::role::Syntd;
//!
//! struct Nothing;
//!
//! impl Opened for Nothing {
//!     type Role = Syntd;
//!     fn open(_: &mut Boot<Syntd>) -> Result<Self, Fatal> {
//!         Ok(Self)
//!     }
//! }
//!
//! impl Served for Nothing {
//!     type Service = Self;
//!     async fn serve(self, daemon: &mut Daemon<Syntd>) -> Result<Self, Fatal> {
//!         // Here: `daemon.asks()` for each edge that it asks on, `daemon.answers()` for each that it answers.
//!         Ok(self)
//!     }
//! }
//!
//! impl Service<Syntd> for Nothing {
//!     async fn drain(&self) {}
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     metnos_daemon::run::<Nothing>()
//! }
//! ```
//!
//! # Order
//! | step | who | what |
//! |---|---|---|
//! | receive | this crate | the log, the parent's death signal, [`Boot::receive`]: who it is, its first ends |
//! | open | [`Opened::open`] | files, sockets, keys, own namespaces; no peer is read yet, and no reactor runs |
//! | lock | this crate | the reactor is made (it opens descriptors), then [`narrow`] with [`Opened::confinement`] |
//! | threads | [`Opened::start_threads`] | a thread that must exist starts between the two halves of the lock and inherits the first |
//! | seal | this crate | seccomp on all threads, and the lock is read back |
//! | serve | [`Served::serve`] | takes the ends, spawns tasks; may wait (sandboxd tries its canaries here) |
//! | settle | [`Service::settle`] | what must be done before *ready*; new ends and pings are served meanwhile |
//! | ready | this crate, [`Service::ready`] | the report of the lock goes to the supervisor |
//! | drain | [`Service::drain`] | after the supervisor's order, at most [`DRAIN_WITHIN`] |
//! | end | [`Service::end`] | the last word to the supervisor |
//!
//! An error of any step ends the process: the supervisor receives it as a fault, the log has it, and the exit code is 1.
//! When the supervisor is gone the daemon ends with success.
//!
//! A daemon with a loop of its own (memoryd) implements [`Opened`] alone and calls [`run_blocking`].
//!
//! With the feature `attack` (test builds only) the supervisor can order a forbidden act, which is attempted inside the
//! lock.

#[cfg(feature = "attack")]
mod attack;

use std::future::{Future, poll_fn, ready};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::process::ExitCode;
use std::task::Poll;
use std::time::Duration;

use metnos_jail::{LockReport, Locked, Places, Profile, Pss, Waivers, die_with_parent, narrow};
use metnos_proto::boot::{Boot, BootError};
use metnos_proto::control::{self, ControlError, Ready, Report};
use metnos_proto::edge::RawEnd;
use metnos_proto::role::{Role, RoleName};
use tokio::task::LocalSet;

pub use metnos_proto::boot::Daemon;

/// How long what runs may take to end after the supervisor's order to drain.
pub const DRAIN_WITHIN: Duration = Duration::from_millis(3_000);

/// Why a daemon ends before its time. Any error of its own will do.
pub type Fatal = Box<dyn std::error::Error>;

/// What a start allows a daemon to keep beyond its lock.
#[derive(Debug, Default)]
pub struct Confinement {
    /// The folders and ports that the profile names, as they are called on this machine.
    pub places: Places,
    /// System calls of the profile that this start has no use for.
    pub unused_calls: Vec<&'static str>,
}

/// What a daemon holds open when it locks itself.
pub trait Opened: Sized {
    /// Which daemon it is.
    type Role: Role;

    /// Opens everything that the lock would forbid. No peer is read yet. Helpers and folders that came with the first
    /// ends can be taken out of `boot`.
    ///
    /// # Errors
    /// Whatever keeps the daemon from starting.
    fn open(boot: &mut Boot<Self::Role>) -> Result<Self, Fatal>;

    /// What the lock leaves to it.
    fn confinement(&self) -> Confinement {
        Confinement::default()
    }

    /// Starts the threads that it needs, inside everything but the filter of system calls.
    ///
    /// # Errors
    /// Whatever keeps the daemon from starting.
    fn start_threads(&mut self) -> Result<(), Fatal> {
        Ok(())
    }
}

/// What serves on the async runtime once the lock holds.
pub trait Served: Opened {
    /// What runs from then on.
    type Service: Service<Self::Role>;

    /// Takes the ends and spawns what runs beside them. Runs inside a [`LocalSet`].
    fn serve(self, daemon: &mut Daemon<Self::Role>) -> impl Future<Output = Result<Self::Service, Fatal>>;
}

/// A running daemon.
pub trait Service<R: Role> {
    /// Waits for what must be done before the daemon calls itself ready. It bounds its own time.
    fn settle(&self) -> impl Future<Output = ()> {
        ready(())
    }

    /// Runs once the supervisor was notified that the daemon is ready.
    fn ready(&self) {}

    /// Ends what runs. Cut off after [`DRAIN_WITHIN`].
    fn drain(&self) -> impl Future<Output = ()>;

    /// The last step. It must call [`Daemon::drained`], after or before what else is to be done.
    fn end(&self, daemon: &Daemon<R>) -> impl Future<Output = ()> {
        daemon.drained();
        ready(())
    }
}

/// A step of this crate that failed.
#[derive(Debug, thiserror::Error)]
enum StepError {
    #[error("the lock: {0}")]
    Lock(#[from] metnos_jail::JailError),
    #[error("the event loop: {0}")]
    Runtime(std::io::Error),
}

/// Lives as a daemon on a single-threaded runtime.
#[must_use]
pub fn run<O: Served>() -> ExitCode {
    exit_code(O::Role::NAME, receive::<O::Role>().and_then(|(boot, pss)| live::<O>(boot, &pss)))
}

/// What a daemon with a loop of its own gets once its lock holds and the supervisor knows that it is ready.
pub struct Blocking<O> {
    /// What it has opened.
    pub opened: O,
    /// The control channel, which is its own to serve from here on.
    pub control: OwnedFd,
    /// The first ends.
    pub ends: Vec<RawEnd>,
    /// Its memory use.
    pub pss: Pss,
}

/// Lives as a daemon with a loop of its own.
#[must_use]
pub fn run_blocking<O: Opened>(serve: impl FnOnce(Blocking<O>) -> Result<(), Fatal>) -> ExitCode {
    exit_code(O::Role::NAME, receive::<O::Role>().and_then(|(boot, pss)| live_blocking(boot, pss, serve)))
}

fn exit_code(name: RoleName, lived: Result<(), Fatal>) -> ExitCode {
    match lived {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if supervisor_is_gone(&error) => {
            tracing::info!("the supervisor is gone");
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!(%error, "{name} ends");
            ExitCode::FAILURE
        }
    }
}

fn supervisor_is_gone(error: &Fatal) -> bool {
    let control = match error.downcast_ref::<BootError>() {
        Some(BootError::Control(control)) => Some(control),
        Some(_) => None,
        None => error.downcast_ref::<ControlError>(),
    };
    matches!(control, Some(ControlError::Gone))
}

fn receive<R: Role>() -> Result<(Boot<R>, Pss), Fatal> {
    metnos_proto::log::abort_on_panic();
    tracing_subscriber::fmt().with_writer(metnos_proto::log::stderr).with_ansi(false).with_target(false).init();
    #[cfg(feature = "attack")]
    attack::register();
    die_with_parent()?;
    // Opened first: a daemon that moves into a view of its own may not find it there.
    let pss = Pss::open()?;
    Ok((Boot::receive()?, pss))
}

fn live<O: Served>(mut boot: Boot<O::Role>, pss: &Pss) -> Result<(), Fatal> {
    // The reactor opens descriptors, so it is made before the lock; it runs nothing until then.
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(StepError::Runtime);
    let prepared = O::open(&mut boot).and_then(|opened| Ok((runtime()?, confine(opened, &boot)?)));
    let (runtime, (opened, locked)) = faulting(&boot, prepared)?;
    LocalSet::new().block_on(&runtime, async {
        let mut daemon = boot.into_daemon()?;
        let served = serve(&mut daemon, pss, opened, locked.report()).await;
        if let Err(error) = &served
            && !supervisor_is_gone(error)
        {
            daemon.fault(&error.to_string());
        }
        served
    })
}

fn live_blocking<O: Opened>(
    mut boot: Boot<O::Role>,
    pss: Pss,
    serve: impl FnOnce(Blocking<O>) -> Result<(), Fatal>,
) -> Result<(), Fatal> {
    let prepared = O::open(&mut boot).and_then(|opened| confine(opened, &boot));
    let (opened, locked) = faulting(&boot, prepared)?;
    let (control, _, ends) = boot.into_parts();
    let report = locked.report();
    let ready = Ready { lock: report.to_lines(), waived: report.waived.clone() };
    control::send(control.as_fd(), &Report::Ready(ready), None)?;
    serve(Blocking { opened, control, ends, pss })
}

/// Puts the lock on, with the threads in its middle.
fn confine<O: Opened>(mut opened: O, boot: &Boot<O::Role>) -> Result<(O, Locked), Fatal> {
    let Confinement { places, unused_calls } = opened.confinement();
    let lock = || -> Result<_, metnos_jail::JailError> {
        let waivers = Waivers::from_names(&boot.start.settings.waive)?;
        narrow(&Profile::load(O::Role::NAME.text())?.without(&unused_calls), &places, &waivers)
    };
    let narrowed = lock().map_err(StepError::Lock)?;
    opened.start_threads()?;
    Ok((opened, narrowed.seal().map_err(StepError::Lock)?))
}

/// Has the supervisor know why a start fails.
fn faulting<R: Role, T>(boot: &Boot<R>, prepared: Result<T, Fatal>) -> Result<T, Fatal> {
    prepared.inspect_err(|error| boot.fault(&error.to_string()))
}

async fn serve<O: Served>(
    daemon: &mut Daemon<O::Role>,
    pss: &Pss,
    opened: O,
    report: &LockReport,
) -> Result<(), Fatal> {
    let service = opened.serve(daemon).await?;
    let pss_kib = || pss.kib().unwrap_or(0);
    // Ends of peers that are restarted come over the control line, so it is served meanwhile.
    let is_stopped = {
        let (mut settled, mut stopped) = (pin!(service.settle()), pin!(daemon.control(pss_kib)));
        poll_fn(|cx| match settled.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Ok(false)),
            Poll::Pending => stopped.as_mut().poll(cx).map_ok(|()| true),
        })
        .await?
    };
    if !is_stopped {
        daemon.ready(report.to_lines(), report.waived.clone())?;
        service.ready();
        daemon.control(pss_kib).await?;
    }
    if tokio::time::timeout(DRAIN_WITHIN, service.drain()).await.is_err() {
        tracing::warn!("not everything had ended when the time was over");
    }
    service.end(daemon).await;
    Ok(())
}
