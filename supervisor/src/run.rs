//! From the command line to the running set, in order; each step may refuse, and then nothing was started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::Instant;

use metnos_proto::executor::commands;
use metnos_proto::role::RoleName;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::config::{Config, ConfigError};
use crate::ctl;
use crate::event::Event;
use crate::instance::host_folders;
use crate::instance::shared;
use crate::instance::{self, Instance, InstanceError};
use crate::process::ids::{self, IdError};
use crate::process::notify::Notify;
use crate::process::spawn::Spawn;
use crate::process::sys;
use crate::set::{MAX_EVENTS, Set};

/// What `--help` says.
pub const HELP: &str = "\
metnos-supervisor: starts, wires, watches and restarts the daemons of Metnos.
Usually started by `metnosctl up` or by systemd.

  metnos-supervisor --spawn --instance DIR [--log FILE] [--ready-fd N]

  --spawn         run the daemons as its own children
  --instance DIR  the instance's directory; made where there is none
  --log FILE      detach from the terminal; append its words and the daemons' to this file
  --ready-fd N    write `ready`, or why not, to this inherited descriptor (1, or 3 and above)
  --version       print the version
";

/// What the command line says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Args {
    /// `--spawn`.
    pub spawn: bool,
    /// `--instance`.
    pub instance: Option<PathBuf>,
    /// `--log`.
    pub log: Option<PathBuf>,
    /// `--ready-fd`.
    pub ready_fd: Option<RawFd>,
    /// `--daemon ROLE=PATH`, in test builds.
    pub instead: BTreeMap<RoleName, PathBuf>,
}

/// Why the supervisor does not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The command line.
    #[error("{0}; see metnos-supervisor --help")]
    Usage(String),
    /// The instance.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The users.
    #[error(transparent)]
    Ids(#[from] IdError),
    /// The supervisor's own lock.
    #[error(transparent)]
    Jail(#[from] metnos_jail::JailError),
    /// The kernel.
    #[error("{0}: {1}")]
    Os(String, std::io::Error),
    /// Something that a person must put right.
    #[error("{0}")]
    Refused(String),
    /// Not all daemons became ready.
    #[error("the start failed: {0}")]
    Start(String),
}

impl Args {
    /// Reads the command line, without the program's name.
    ///
    /// # Errors
    /// [`RunError::Usage`].
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, RunError> {
        let mut args = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value = |name: &str| words.next().ok_or_else(|| RunError::Usage(format!("{name} needs a value")));
            match word.to_str() {
                Some("--spawn") => args.spawn = true,
                Some("--instance") => args.instance = Some(value("--instance")?.into()),
                Some("--log") => args.log = Some(value("--log")?.into()),
                Some("--ready-fd") => {
                    let number = value("--ready-fd")?;
                    let parsed = number.to_str().and_then(|text| text.parse().ok()).filter(|fd| *fd == 1 || *fd >= 3);
                    let usage = || RunError::Usage("--ready-fd needs 1, or a number from 3 on".to_owned());
                    args.ready_fd = Some(parsed.ok_or_else(usage)?);
                }
                #[cfg(feature = "attack")]
                Some("--daemon") => {
                    let text = value("--daemon")?;
                    let (role, path) = text
                        .to_str()
                        .and_then(|text| text.split_once('='))
                        .and_then(|(role, path)| Some((RoleName::parse(role)?, path)))
                        .ok_or_else(|| RunError::Usage("--daemon needs ROLE=PATH".to_owned()))?;
                    args.instead.insert(role, path.into());
                }
                _ => return Err(RunError::Usage(format!("unknown word {}", word.display()))),
            }
        }
        if !args.spawn {
            return Err(RunError::Usage("say --spawn".to_owned()));
        }
        if args.instance.is_none() {
            return Err(RunError::Usage("say --instance DIR".to_owned()));
        }
        Ok(args)
    }
}

fn os(what: &str) -> impl FnOnce(std::io::Error) -> RunError {
    let what = what.to_owned();
    move |error| RunError::Os(what, error)
}

/// Runs until ordered to stop. `began` is when the process started. Anyone who waits for readiness is notified, whatever
/// happens.
///
/// # Errors
/// When the start fails.
pub fn run(args: &Args, began: Instant) -> Result<(), RunError> {
    // Before anything else opens a descriptor.
    let ready = args.ready_fd.map(take_ready).transpose().map_err(os("--ready-fd"))?;
    sys::keep_inherited_descriptors_to_ourselves().map_err(os("the inherited descriptors"))?;
    let mut notify = Some(Notify::new(ready));
    let result = prepare(args).and_then(|prepared| serve(prepared, &mut notify, began));
    if let (Err(error), Some(notify)) = (&result, &mut notify) {
        notify.failed(&error.to_string());
    }
    result
}

fn take_ready(number: RawFd) -> std::io::Result<OwnedFd> {
    if number == 1 {
        let copy = rustix::io::fcntl_dupfd_cloexec(std::io::stdout(), 3)?;
        rustix::stdio::dup2_stdout(null()?)?;
        return Ok(copy);
    }
    sys::take_inherited(number)
}

fn null() -> std::io::Result<OwnedFd> {
    Ok(rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}

/// Everything that is needed before the first daemon is started.
struct Prepared {
    instance: Instance,
    _lock: instance::Lock,
    _ids: ids::Chosen,
    settings: metnos_proto::control::Settings,
    listener: OwnedFd,
    front: Spawn,
}

fn prepare(args: &Args) -> Result<Prepared, RunError> {
    harden()?;
    let dir = args.instance.as_deref().unwrap_or(Path::new("."));
    let instance = Instance::open(dir)?;
    let run_dir = instance.run_dir()?;
    if let Some(log) = &args.log {
        detach(&instance::open_log(log)?)?;
    }
    log_to_stderr();
    let lock = instance.lock()?;
    let config = Config::parse(&instance.configuration()?)?;
    let mut settings = config.settings(instance.owner_uid());
    check_settings(&settings)?;
    if let Some(why) = commands::refused_list(&settings.commands) {
        return Err(RunError::Refused(format!("sandbox.commands: {why}")));
    }
    let place = instance.path().display().to_string();
    let home = ids::home_of(settings.owner_uid);
    settings.folders = host_folders::read(&settings.folders, home, &place).map_err(RunError::Refused)?;
    let chosen = ids::choose(config.uid_range(), instance.earlier_uid())?;
    if chosen.ids.separate() {
        reachable(&instance)?;
        // No daemon may ever gain a capability, whatever it executes.
        metnos_jail::drop_bounding_set()?;
    }
    if let Err(errno) = instance.workspace_dir().map(|workspace| shared::make(workspace, settings.lang))? {
        tracing::warn!("workspace/shared cannot be made: {errno}");
    }
    for left in instance.prepare(&chosen.ids, settings.owner_uid)? {
        tracing::warn!("{left}");
    }
    let exe = std::env::current_exe().map_err(os("the place of this program"))?;
    let programs = exe.parent().unwrap_or(Path::new("/")).to_owned();
    // Before anybody is started, who would be in the way.
    let groups = metnos_jail::Delegated::take()
        .inspect_err(|why| tracing::info!("calls are bounded without control groups: {why}"));
    let front = Spawn::new(&programs, chosen.ids.clone(), args.instead.clone(), groups);
    let front = front.map_err(os("the daemons' programs"))?;
    let run_path = instance.path().join("run");
    let listener = ctl::listen(&run_dir, &run_path, settings.owner_uid).map_err(os("run/control.sock"))?;
    Ok(Prepared { instance, _lock: lock, _ids: chosen, settings, listener, front })
}

/// The little that a supervisor can renounce: its memory is nobody's to read, and no program that it starts can gain
/// a right by being executed.
fn harden() -> Result<(), RunError> {
    rustix::process::umask(Mode::from(0o027));
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::setrlimit(Resource::Core, none).map_err(|errno| os("the limit of core dumps")(errno.into()))?;
    metnos_jail::set_not_dumpable()?;
    // A daemon's user is taken on by system call, which this allows; no file can give anything back.
    rustix::thread::set_no_new_privs(true).map_err(|errno| os("no_new_privs")(errno.into()))?;
    std::env::set_current_dir("/").map_err(os("/"))
}

/// Leaves the terminal: from now on everything is said to the log.
fn detach(log: &OwnedFd) -> Result<(), RunError> {
    let moved = null().and_then(|null| {
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(log)?;
        Ok(rustix::stdio::dup2_stderr(log)?)
    });
    moved.map_err(os("the log"))?;
    // Anyone who leads a group already has left it.
    let _ = rustix::process::setsid();
    Ok(())
}

fn log_to_stderr() {
    let ansi = std::io::stderr().is_terminal();
    let subscriber =
        tracing_subscriber::fmt().with_writer(metnos_proto::log::stderr).with_ansi(ansi).with_target(false);
    // A second call in one process keeps the first, which is as good.
    drop(subscriber.with_max_level(tracing::Level::INFO).try_init());
}

fn check_settings(settings: &metnos_proto::control::Settings) -> Result<(), RunError> {
    let own = rustix::process::geteuid().as_raw();
    if own != 0 && settings.owner_uid != own {
        let why =
            format!("instance.owner_uid is {}, and only root can run an instance for another user", settings.owner_uid);
        return Err(RunError::Refused(why));
    }
    if !Path::new(&settings.interpreter).is_file() {
        let why = format!(
            "{}: no such file; set executors.interpreter in metnos.toml to a Python 3 interpreter (Debian: apt install python3)",
            settings.interpreter
        );
        return Err(RunError::Refused(why));
    }
    Ok(())
}

/// Daemons with users of their own must be able to walk to the instance.
fn reachable(instance: &Instance) -> Result<(), RunError> {
    let Some(closed) = instance.closed_ancestor() else { return Ok(()) };
    Err(RunError::Refused(format!(
        "each daemon runs as a user of its own, and such users may not enter {}, where {} lies: \
         choose another place with --instance (for example /var/lib/metnos), or allow it with chmod o+x",
        closed.display(),
        instance.path().display()
    )))
}

fn serve(prepared: Prepared, notify: &mut Option<Notify>, began: Instant) -> Result<(), RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(os("the event loop"))?;
    let local = tokio::task::LocalSet::new();
    let run_dir = prepared.instance.run_dir()?;
    let ended = local.block_on(&runtime, async {
        let (events, mut receiver) = mpsc::channel(MAX_EVENTS);
        for (kind, name) in [
            (SignalKind::terminate(), "SIGTERM"),
            (SignalKind::interrupt(), "SIGINT"),
            (SignalKind::hangup(), "SIGHUP"),
        ] {
            let mut signals = signal(kind).map_err(os(name))?;
            let events = events.clone();
            tokio::task::spawn_local(async move {
                while signals.recv().await.is_some() && events.send(Event::Signal(name)).await.is_ok() {}
            });
        }
        // Sent also when a signal stops or continues a child.
        let mut children = signal(SignalKind::child()).map_err(os("SIGCHLD"))?;
        let changed = events.clone();
        tokio::task::spawn_local(async move {
            while children.recv().await.is_some() && changed.send(Event::Children).await.is_ok() {}
        });
        let listener = metnos_proto::sys::watch(prepared.listener).map_err(os("run/control.sock"))?;
        tokio::task::spawn_local(ctl::serve(listener, prepared.settings.owner_uid, events.clone()));
        let instance = prepared.instance.path().display().to_string();
        let notify = notify.take().unwrap_or_default();
        let owned = prepared.instance;
        let reload = Box::new(move || {
            let text = owned.configuration().map_err(|error| error.to_string())?;
            Ok(Config::parse(&text).map_err(|error| error.to_string())?.settings(owned.owner_uid()))
        });
        let (shown, in_the_way) = host_folders::open(&prepared.settings.folders, Path::new(&instance));
        let set = Set::new(prepared.front, instance, prepared.settings, notify, began, events);
        let mut set = set.showing(shown, &in_the_way).reloading(reload);
        set.run(&mut receiver).await.map_err(RunError::Start)
    });
    if let Err(error) = rustix::fs::unlinkat(run_dir.as_fd(), ctl::SOCKET, rustix::fs::AtFlags::empty()) {
        tracing::debug!(%error, "run/control.sock stays; the next start replaces it");
    }
    ended
}
