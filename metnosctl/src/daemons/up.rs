//! `up`: creates the instance when there is none, looks whether this machine can carry it, and
//! starts the supervisor. What it starts is the supervisor's alone from then on.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::policyd::PolicyStatus;
use rustix::event::PollFlags;
use schemars::JsonSchema;
use serde::Serialize;

use crate::birth;
use crate::command_line::cli::Up;
use crate::daemons::connection::Connection;
use crate::daemons::down::ready_until;
use crate::error::{CtlError, Exit};
use crate::health::host;
use crate::instance::Instance;
use crate::json_constant::ConstTrue;
use crate::screen::human::counted;
use crate::screen::{Ink, Screen};

/// The name of the program beside this one.
pub const SUPERVISOR: &str = "metnos-supervisor";
/// What the supervisor says when everything is ready.
const READY: &str = "ready";
/// How long everything may take until it is ready, in milliseconds.
pub const READY_WITHIN_MS: u64 = 30_000;
/// How long `up --detach` waits for executors that are still being tested, once everything is ready, in milliseconds.
const BORN_WITHIN_MS: u64 = 180_000;
/// How long between two looks at one that is starting, in milliseconds.
const LOOK_AGAIN_MS: u64 = 50;
/// The longest word of the supervisor on how the start went, in bytes.
const MAX_WORD: usize = 4096;

/// Starts the instance. One that is running already is left alone.
///
/// # Errors
/// When the instance cannot be created, the machine lacks something, or the start fails.
pub fn up(screen: &mut Screen, instance: &Instance, up: &Up) -> Result<Exit, CtlError> {
    if let Some(exit) = already(screen, instance, up.detach)? {
        return Ok(exit);
    }
    let mut supervisor = supervisor(instance)?;
    check_host(instance)?;
    check_way(instance)?;
    let Some(created) = birth::at_up(screen, instance)? else { return Ok(Exit::Failed) };
    if created && !screen.json() {
        screen.line(&format!("Created an instance in {}.", place(instance)))?;
    }
    #[cfg(feature = "attack")]
    for instead in &up.daemon {
        supervisor.arg("--daemon").arg(instead);
    }
    if up.detach {
        return detached(screen, instance, supervisor, created);
    }
    if screen.json() {
        screen.document(&document(instance, StartState::Starting, created, Some(std::process::id()), None))?;
    } else if screen.watched() {
        screen.aside(
            Ink::Dim,
            "Starting in the foreground; Ctrl-C stops Metnos. Talk to it from another terminal: metnosctl chat",
        )?;
    }
    screen.flush()?;
    if up.tied {
        tie().map_err(|error| unstartable(&error))?;
    }
    let error = supervisor.exec();
    Err(unstartable(&error))
}

/// Has the kernel tell this process, and the supervisor that it becomes, to stop when the program that started it ends.
fn tie() -> io::Result<()> {
    let before = rustix::process::getppid();
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?;
    if rustix::process::getppid() == before {
        return Ok(());
    }
    Err(io::Error::other("the program that started it has ended"))
}

fn place(instance: &Instance) -> String {
    crate::screen::escape::line(&instance.directory().display().to_string())
}

/// Metnos was started, or was running already.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Started {
    /// It was done.
    ok: ConstTrue,
    /// The directory of the instance.
    instance: String,
    /// Whether it was started.
    state: StartState,
    /// Whether the instance was created.
    created: bool,
    /// The process of the supervisor.
    pid: Option<u32>,
    /// How long it took until all daemons were ready.
    ready_after_ms: Option<u64>,
    /// How many executors are still being tested, and cannot be called yet; `null` if it was not asked or not answered.
    unborn: Option<u32>,
}

/// Whether Metnos was started.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartState {
    /// It is being started.
    Starting,
    /// It was started, and is ready.
    Started,
    /// It was running already.
    AlreadyRunning,
}

fn document(
    instance: &Instance,
    state: StartState,
    created: bool,
    pid: Option<u32>,
    ready_after_ms: Option<u64>,
) -> Started {
    let instance = instance.directory().display().to_string();
    Started { ok: ConstTrue, instance, state, created, pid, ready_after_ms, unborn: None }
}

/// Says that it is running, if it is; one that is just starting is waited for, where that is wanted.
fn already(screen: &mut Screen, instance: &Instance, wait: bool) -> Result<Option<Exit>, CtlError> {
    let mut reach = match Connection::to(instance) {
        Ok(reach) => reach,
        Err(CtlError::NotRunning(_) | CtlError::NoInstance(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut survey = reach.survey()?;
    let until = Instant::now() + Duration::from_millis(READY_WITHIN_MS);
    while wait && survey.ready_after_ms == 0 {
        if Instant::now() >= until {
            let why = format!(
                "process {} runs it, and not everything was ready within {} s",
                survey.pid,
                READY_WITHIN_MS / 1000
            );
            return Err(CtlError::failed("Metnos has not started", why, remedy(instance)));
        }
        std::thread::sleep(Duration::from_millis(LOOK_AGAIN_MS));
        survey = reach.survey()?;
    }
    if screen.json() {
        let document =
            document(instance, StartState::AlreadyRunning, false, Some(survey.pid), Some(survey.ready_after_ms));
        screen.document(&document)?;
    } else {
        screen.line(&format!("Metnos is already running in {}, as process {}.", place(instance), survey.pid))?;
    }
    Ok(Some(Exit::Done))
}

/// What this machine lacks for certain keeps it from being started; a guess does not.
fn check_host(instance: &Instance) -> Result<(), CtlError> {
    let waivable = ["landlock", "seccomp"];
    let lacking = host::facts(instance)
        .into_iter()
        // Whether a layer is waived is for the daemons to say, each for itself.
        .find(|finding| !finding.ok && !host::is_a_guess(finding) && !waivable.contains(&finding.name));
    match lacking {
        Some(finding) => Err(CtlError::failed(
            "Metnos cannot run on this machine as it is",
            format!("{}: {}", finding.name, finding.detail),
            finding.remedy,
        )),
        None => Ok(()),
    }
}

/// As root each daemon runs as a user of its own, and every one of them must be able to walk to the instance.
fn check_way(instance: &Instance) -> Result<(), CtlError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    match instance.closed_way() {
        None => Ok(()),
        Some(closed) => Err(CtlError::failed(
            format!("Metnos cannot be started in {}", instance.directory().display()),
            format!(
                "as root, each daemon runs as a user of its own, and other users may not enter {}",
                closed.display()
            ),
            format!(
                "choose another place (`metnosctl --instance {} up`), or allow it: `chmod o+x {}`",
                crate::instance::SYSTEM,
                closed.display()
            ),
        )),
    }
}

/// The supervisor, which lies beside this very program, and its words for this instance.
fn supervisor(instance: &Instance) -> Result<Command, CtlError> {
    let own = std::env::current_exe()
        .map_err(|error| CtlError::failed("this program's own place is not known", error, "mount /proc"))?;
    let program = beside(&own)?;
    let mut command = Command::new(program);
    command.arg("--spawn").arg("--instance").arg(instance.directory());
    Ok(command)
}

fn beside(own: &Path) -> Result<PathBuf, CtlError> {
    let program = own.with_file_name(SUPERVISOR);
    if program.is_file() {
        return Ok(program);
    }
    Err(CtlError::failed(
        "Metnos cannot be started",
        format!("{} does not exist", program.display()),
        "metnosctl and the daemons belong into one directory: build all of them (`cargo build --release`), or install \
         them together",
    ))
}

fn unstartable(error: &io::Error) -> CtlError {
    CtlError::failed("the supervisor cannot be started", error, "build or install Metnos anew")
}

fn detached(
    screen: &mut Screen,
    instance: &Instance,
    mut supervisor: Command,
    created: bool,
) -> Result<Exit, CtlError> {
    let began = Instant::now();
    supervisor.arg("--log").arg(instance.log()).args(["--ready-fd", "1"]);
    // It leaves the terminal by itself; until then its complaints come over the same line as its readiness.
    let child = supervisor.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|error| unstartable(&error))?;
    let pid = child.id();
    let word = match child.stdout.take() {
        Some(line) => word(&line, began + Duration::from_millis(READY_WITHIN_MS)),
        None => Err(io::Error::from(io::ErrorKind::BrokenPipe)),
    };
    match word.map_err(|error| CtlError::failed("the supervisor is not heard", error, "look at `metnosctl status`"))? {
        Some(word) if word == READY => {
            let within_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let unborn = births(screen, instance)?;
            if screen.json() {
                let started = document(instance, StartState::Started, created, Some(pid), Some(within_ms));
                screen.document(&Started { unborn, ..started })?;
            } else {
                screen
                    .line(&format!("Metnos is ready in {} after {within_ms} ms, as process {pid}.", place(instance)))?;
                if let Some(unborn) = unborn.filter(|unborn| *unborn > 0) {
                    let executors = counted(unborn.into(), "executor is", "executors are");
                    screen
                        .line(&format!("{executors} still being tested and cannot be called yet: metnosctl status"))?;
                }
                screen.line("Talk to it: metnosctl chat, or metnosctl web for the page · look at it: metnosctl status · stop it: metnosctl down")?;
            }
            Ok(Exit::Done)
        }
        Some(why) => {
            // Someone else may have been a moment faster.
            if let Ok(Some(exit)) = already(screen, instance, true) {
                return Ok(exit);
            }
            let why = if why.is_empty() { "the supervisor has ended without a message".to_owned() } else { why };
            Err(CtlError::failed("Metnos has not started", why, remedy(instance)))
        }
        None => {
            let why = format!("not everything was ready within {} s; it goes on trying", READY_WITHIN_MS / 1000);
            Err(CtlError::failed("Metnos has not started", why, remedy(instance)))
        }
    }
}

/// Waits until all executors are tested, at most [`BORN_WITHIN_MS`]: a first start tests all of them. Returns how many are
/// left; `None` if policyd does not answer.
fn births(screen: &mut Screen, instance: &Instance) -> Result<Option<u32>, CtlError> {
    let until = Instant::now() + Duration::from_millis(BORN_WITHIN_MS);
    let Ok(mut policyd) = Connection::to(instance).and_then(|mut reach| reach.open::<CtlPolicyd>()) else {
        return Ok(None);
    };
    loop {
        let Ok((report, [])) = policyd.policy_status(TraceId::NONE, PolicyStatus {}, []) else { return Ok(None) };
        if report.unborn == 0 || Instant::now() >= until {
            return Ok(Some(report.unborn));
        }
        screen.progress(&format!("testing executors: {} to go", report.unborn))?;
        std::thread::sleep(Duration::from_millis(LOOK_AGAIN_MS));
    }
}

fn remedy(instance: &Instance) -> String {
    format!("see {} and `metnosctl doctor`", instance.log().display())
}

/// The first line that comes over it, without its end; empty when none came, `None` when the time is over.
fn word(line: &impl AsFd, until: Instant) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let mut piece = [0; 512];
    while bytes.len() < MAX_WORD && !bytes.contains(&b'\n') {
        if !ready_until(line, PollFlags::IN, until)? {
            return Ok(None);
        }
        match rustix::io::read(line, &mut piece)? {
            0 => break,
            read => bytes.extend_from_slice(&piece[..read]),
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(text.lines().next().unwrap_or_default().to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn heard(bytes: &[u8]) -> Option<String> {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        rustix::io::write(&writer, bytes).unwrap();
        drop(writer);
        word(&reader, Instant::now() + Duration::from_secs(5)).unwrap()
    }

    #[test]
    fn the_supervisors_word_is_its_first_line_and_nothing_is_no_word() {
        assert_eq!(heard(b"ready\n").as_deref(), Some(READY));
        assert_eq!(heard(b"the start failed: no\nmore").as_deref(), Some("the start failed: no"));
        assert_eq!(heard(b"").as_deref(), Some(""));
        assert_eq!(heard(&[b'x'; MAX_WORD + 600]).map(|word| word.len()), Some(MAX_WORD));
    }

    #[test]
    fn silence_ends_with_the_time() {
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        assert_eq!(word(&reader, Instant::now()).unwrap(), None);
    }

    #[test]
    fn a_supervisor_that_is_not_beside_this_program_is_said_to_be_missing() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("metnosctl");
        let error = beside(&own).unwrap_err();
        assert!(error.to_string().contains(SUPERVISOR) && !error.remedy().is_empty());
        std::fs::write(dir.path().join(SUPERVISOR), "").unwrap();
        assert_eq!(beside(&own).unwrap(), dir.path().join(SUPERVISOR));
    }
}
