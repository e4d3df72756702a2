//! Spawn mode: the daemons are the supervisor's own children, exec'd afresh with their control end as descriptor 0,
//! an empty environment (mind and the door learn where systemd's credentials are) and nothing else. Must never start one as root, nor leave one behind.
//!
//! A daemon ends with the supervisor, however that ends: it asks the kernel for that itself, and the end of its
//! control line says the same. The kernel ties it to the *thread* that started it, so daemons are started from the
//! main thread, which lives as long as the process.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use metnos_jail::Delegated;
use metnos_proto::role::RoleName;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions};

use crate::process::ids::Ids;
use crate::set::launcher::{Arrival, LaunchError, Launcher, Process};

/// Where systemd says that credentials are.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// Front end 1: children.
#[derive(Debug)]
pub struct Spawn {
    ids: Ids,
    /// Where the daemons' programs lie.
    programs: PathBuf,
    /// The same, open: a daemon's own user need not be able to walk there.
    dir: OwnedFd,
    /// Other programs in the place of daemons; test builds only.
    instead: BTreeMap<RoleName, PathBuf>,
    /// What dials for executors, as a user of its own. It ends with its line to sandboxd.
    helper: Option<Child>,
    /// The control groups of calls, or why there are none.
    groups: Result<Delegated, String>,
}

/// The word by which sandboxd's program is ordered to be what dials for executors, and nothing else.
const EGRESS: &CStr = c"egress";

/// The name of a daemon's program.
#[must_use]
pub fn program(role: RoleName) -> String {
    format!("metnos-{}", role.text())
}

impl Spawn {
    /// Daemons whose programs lie in `programs`, which run as `ids`. `instead` is empty but in tests. `groups` is what the
    /// service manager has delegated, or why it is not used.
    ///
    /// # Errors
    /// When the directory cannot be opened, or lacks a program.
    pub fn new(
        programs: &Path,
        ids: Ids,
        instead: BTreeMap<RoleName, PathBuf>,
        groups: Result<Delegated, String>,
    ) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(programs, flags, Mode::empty())?;
        for role in RoleName::daemons().filter(|role| !instead.contains_key(role)) {
            let path = programs.join(program(role));
            if !path.is_file() {
                let why = format!("{} is missing: all programs of Metnos must lie side by side", path.display());
                return Err(io::Error::new(io::ErrorKind::NotFound, why));
            }
        }
        let sandboxd = ids.of(RoleName::Sandboxd);
        let groups = groups.and_then(|groups| {
            let id = sandboxd.ok_or("no user is chosen for sandboxd")?;
            groups.give(id.uid, id.gid).map(|()| groups)
        });
        Ok(Self { ids, programs: programs.to_owned(), dir, instead, helper: None, groups })
    }

    fn command(&self, role: RoleName) -> Command {
        let path = self.instead.get(&role).cloned().unwrap_or_else(|| self.programs.join(program(role)));
        let mut command = Command::new(path);
        // A group of its own, so that a terminal's Ctrl-C reaches the supervisor alone, which stops in order.
        command.env_clear().current_dir("/").process_group(0);
        if let Some(folder) = credentials(role) {
            command.env(CREDENTIALS, folder);
        }
        command
    }

    /// The program of a daemon, opened with the supervisor's own rights.
    fn open_program(&self, role: RoleName) -> io::Result<(OwnedFd, CString)> {
        let name = program(role);
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(&self.dir, &name, flags, Mode::empty())?;
        let shown = self.programs.join(name).into_os_string().into_vec();
        Ok((file, CString::new(shown).map_err(io::Error::other)?))
    }

    /// Starts what dials for executors, and sandboxd's line to it; none where all are one user, for sandboxd then forks it.
    fn start_egress(&mut self) -> io::Result<Option<OwnedFd>> {
        let role = RoleName::Sandboxd;
        let Some(id) = self.ids.of_egress().filter(|_| !self.instead.contains_key(&role)) else { return Ok(None) };
        if id.uid == 0 || id.gid == 0 {
            return Err(io::Error::other("what dials for executors would run as root"));
        }
        self.end_egress();
        let (line, theirs) = metnos_proto::socket::pair()?;
        let mut command = self.command(role);
        command.stdin(Stdio::from(theirs)).gid(id.gid).uid(id.uid);
        let (file, name) = self.open_program(role)?;
        crate::process::sys::become_program(&mut command, file, name, Some(EGRESS), None);
        self.helper = Some(command.spawn()?);
        Ok(Some(line))
    }

    /// Ends and collects the one of an earlier sandboxd.
    fn end_egress(&mut self) {
        if let Some(mut earlier) = self.helper.take() {
            // It can only be gone already.
            let _ = earlier.kill();
            let _ = earlier.wait();
        }
    }

    /// Puts sandboxd into its own control group before it learns who it is, and with that before it starts anybody.
    fn groups_of(&self, pid: u32) -> Result<OwnedFd, String> {
        let groups = self.groups.as_ref().map_err(Clone::clone)?;
        groups.place(pid)?;
        groups.subtree().try_clone_to_owned().map_err(|error| error.to_string())
    }

    fn start(&mut self, role: RoleName) -> io::Result<Arrival> {
        let helper = if role == RoleName::Sandboxd { self.start_egress()? } else { None };
        let (line, theirs) = metnos_proto::socket::pair()?;
        // Daemons report; they hand over nothing.
        metnos_proto::sys::refuse_rights(&line)?;
        let mut command = self.command(role);
        command.stdin(Stdio::from(theirs));
        let id = self.ids.of(role).ok_or_else(|| io::Error::other("no user is chosen for it"))?;
        if id.uid == 0 || id.gid == 0 && self.ids.separate() {
            return Err(io::Error::other("it would run as root"));
        }
        if self.ids.separate() {
            // The standard library also empties the list of supplementary groups.
            command.gid(id.gid).uid(id.uid);
        }
        if !self.instead.contains_key(&role) {
            // Last: it takes effect in the child after the ids are dropped.
            let (file, name) = self.open_program(role)?;
            let variable = credentials(role).map(|folder| [CREDENTIALS.as_bytes(), b"=", folder.as_bytes()].concat());
            let variable = variable.map(CString::new).transpose().map_err(io::Error::other)?;
            crate::process::sys::become_program(&mut command, file, name, None, variable);
        }
        let mut child = command.spawn()?;
        match watched(&child, id.uid) {
            Ok(process) => {
                let groups = (role == RoleName::Sandboxd).then(|| self.groups_of(child.id()));
                Ok(Arrival { role, line, process, helper, groups })
            }
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
    }
}

impl Drop for Spawn {
    fn drop(&mut self) {
        // Collected, so that its id is nobody's any more when the next supervisor of this instance looks.
        self.end_egress();
    }
}

/// Where systemd has put the keys of models' servers and of the bot, for who holds one; the path discloses nothing.
fn credentials(role: RoleName) -> Option<OsString> {
    matches!(role, RoleName::Mind | RoleName::Gatewayd).then(|| std::env::var_os(CREDENTIALS)).flatten()
}

fn watched(child: &Child, uid: u32) -> io::Result<Process> {
    let pidfd = rustix::process::pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    Process::new(child.id(), uid, pidfd)
}

impl Launcher for Spawn {
    fn mode(&self) -> &'static str {
        "spawn"
    }

    fn uids_separate(&self) -> bool {
        self.ids.separate()
    }

    fn bring(&mut self, role: RoleName) -> Result<Option<Arrival>, LaunchError> {
        match self.start(role) {
            Ok(arrival) => Ok(Some(arrival)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let why = format!(
                    "its user may not execute {}: {error}; the program and all it needs must be readable for everybody",
                    self.programs.join(program(role)).display()
                );
                Err(LaunchError { role, why })
            }
            Err(error) => Err(LaunchError { role, why: error.to_string() }),
        }
    }

    fn halted(&mut self, process: &Process) -> Option<bool> {
        let what = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG;
        let status = rustix::process::waitid(WaitId::PidFd(process.pidfd()), what).ok()??;
        match (status.stopped(), status.continued()) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    fn ended(&mut self, process: &Process) -> String {
        match rustix::process::waitid(WaitId::PidFd(process.pidfd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => format!("exit status {code}"),
                (None, Some(signal)) => format!("killed by signal {signal} ({})", signal_name(signal)),
                (None, None) => "ended".to_owned(),
            },
            Ok(None) => "has not ended".to_owned(),
            Err(errno) => format!("ended, {errno}"),
        }
    }
}

/// The usual name of the signals that end daemons.
fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGABRT => "SIGABRT: it found itself in a state that must not be",
        libc::SIGBUS => "SIGBUS",
        libc::SIGHUP => "SIGHUP",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGSYS => "SIGSYS: a system call that its lock forbids",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        _ => "another",
    }
}
