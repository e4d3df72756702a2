//! A supervisor with seven puppets, in directories of its own, which end with it.

use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use metnos_proto::control::{self, Connect, CtlAnswer, CtlAsk, EdgeEnd, Restart, Shutdown, Survey, Surveyed};
use metnos_proto::role::RoleName;
use metnos_proto::socket;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags, Signal};

/// How long a test waits for what must come. Nothing is measured by it; it only ends a test that would hang.
pub const PATIENCE: Duration = Duration::from_secs(40);
/// An ordinary user, where the tests run as root: no user of that uid need exist.
pub const SOMEBODY: u32 = 63_999;

/// Who starts the supervisor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum As {
    /// Anyone who runs the tests.
    Starter,
    /// An ordinary user, who exists for this test only.
    Ordinary,
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says so where a test needs root and has it not.
pub fn skipped_without_root() -> bool {
    if !is_root() {
        eprintln!("SKIPPED: this test needs root");
    }
    !is_root()
}

pub struct Rig {
    pub dir: tempfile::TempDir,
    pub instance: PathBuf,
    pub child: Child,
    /// The first word on the readiness descriptor.
    pub word: String,
    user: As,
}

/// What differs from test to test.
pub struct Plan {
    pub user: As,
    pub acts: Vec<(RoleName, &'static str)>,
    pub below: PathBuf,
    pub env: Vec<(&'static str, PathBuf)>,
    pub config: String,
    /// Whether the directory above the instance is closed to other users.
    pub closed: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            user: As::Starter,
            acts: vec![],
            below: "instance".into(),
            env: vec![],
            config: String::new(),
            closed: false,
        }
    }
}

/// A copy of the supervisor and seven puppets under the daemons' names, side by side, where everybody may run them.
fn programs(dir: &Path) {
    let bin = dir.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let supervisor = bin.join("metnos-supervisor");
    std::fs::copy(env!("CARGO_BIN_EXE_metnos-supervisor"), &supervisor).unwrap();
    let puppet = bin.join("puppet");
    std::fs::copy(env!("CARGO_BIN_EXE_metnos-puppet"), &puppet).unwrap();
    for role in RoleName::daemons() {
        std::fs::hard_link(&puppet, bin.join(metnos_supervisor::process::spawn::program(role))).unwrap();
    }
    for entry in [&bin, &supervisor, &puppet] {
        std::fs::set_permissions(entry, PermissionsExt::from_mode(0o755)).unwrap();
    }
}

impl Rig {
    pub fn start(user: As) -> Self {
        let rig = Self::with(Plan { user, ..Plan::default() });
        assert_eq!(rig.word, "ready", "{}", rig.log());
        rig
    }

    pub fn with(plan: Plan) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        programs(dir.path());
        let instance = dir.path().canonicalize().unwrap().join(&plan.below);
        std::fs::create_dir_all(instance.join("puppet")).unwrap();
        std::fs::set_permissions(instance.join("puppet"), PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::write(instance.join("metnos.toml"), plan.config).unwrap();
        for (role, act) in &plan.acts {
            set_act(&instance, *role, act);
        }
        if plan.closed {
            std::fs::set_permissions(instance.parent().unwrap(), PermissionsExt::from_mode(0o700)).unwrap();
        }
        if plan.user == As::Ordinary && is_root() {
            own(&instance);
        }
        let (child, word) = launch(dir.path(), &instance, plan.user, plan.env);
        Self { dir, instance, child, word, user: plan.user }
    }

    /// Starts the same instance once more.
    pub fn again(&mut self) {
        (self.child, self.word) = launch(self.dir.path(), &self.instance, self.user, vec![]);
    }

    /// From its next start on, this daemon does that.
    pub fn act(&self, role: RoleName, act: &str) {
        set_act(&self.instance, role, act);
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.instance.join("run/supervisor.log")).unwrap_or_default()
    }

    /// Waits until the log has all of these.
    pub fn await_log(&self, wanted: &[&str]) {
        let missing = || wanted.iter().filter(|text| !self.log().contains(**text)).collect::<Vec<_>>();
        wait_until(|| missing().is_empty(), || format!("{:?} not in\n{}", missing(), self.log()));
    }

    /// Waits until the survey is as wanted.
    pub fn await_survey(&self, wanted: impl Fn(&Surveyed) -> bool) -> Surveyed {
        let mut last = self.survey();
        let began = Instant::now();
        while !wanted(&last) {
            assert!(began.elapsed() < PATIENCE, "{last:#?}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
            last = self.survey();
        }
        last
    }

    pub fn client(&self) -> OwnedFd {
        connect(&self.instance).unwrap()
    }

    pub fn ask(&self, ask: CtlAsk) -> (CtlAnswer, Option<OwnedFd>) {
        ask_over(&self.client(), &ask)
    }

    pub fn survey(&self) -> Surveyed {
        match self.ask(CtlAsk::Survey(Survey {})).0 {
            CtlAnswer::Surveyed(surveyed) => surveyed,
            other @ (CtlAnswer::Refused(_) | CtlAnswer::Connected(_) | CtlAnswer::Accepted(_)) => panic!("{other:?}"),
        }
    }

    pub fn connect(&self, role: RoleName) -> Result<(EdgeEnd, OwnedFd), String> {
        match self.ask(CtlAsk::Connect(Connect { role })) {
            (CtlAnswer::Connected(end), Some(fd)) => Ok((end, fd)),
            (CtlAnswer::Refused(refusal), None) => Err(refusal.to_string()),
            other => panic!("{other:?}"),
        }
    }

    pub fn restart(&self, role: RoleName) {
        let answer = self.ask(CtlAsk::Restart(Restart { role })).0;
        assert!(matches!(answer, CtlAnswer::Accepted(_)), "{answer:?}\n{}", self.log());
    }

    pub fn shutdown(&self) {
        let answer = self.ask(CtlAsk::Shutdown(Shutdown {})).0;
        assert!(matches!(answer, CtlAnswer::Accepted(_)), "{answer:?}");
    }

    pub fn pid_of(&self, role: RoleName) -> u32 {
        row(&self.survey(), role).pid
    }

    pub fn kill(&self, role: RoleName) -> u32 {
        let pid = self.pid_of(role);
        send(pid, Signal::KILL);
        pid
    }

    /// Has a signal stop it, as `kill -STOP` does.
    pub fn halt(&self, role: RoleName) -> u32 {
        let pid = self.pid_of(role);
        send(pid, Signal::STOP);
        pid
    }

    pub fn all_ready(surveyed: &Surveyed) -> bool {
        surveyed.daemons.iter().all(|daemon| daemon.since_ms > 0) && surveyed.edges.iter().all(|edge| edge.up)
    }

    pub fn wait(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "the supervisor does not end\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn user(&self) -> As {
        self.user
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // The daemons end with it; a test shows that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn set_act(instance: &Path, role: RoleName, act: &str) {
    let path = instance.join("puppet").join(role.text());
    std::fs::write(&path, act).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
}

/// Starts a supervisor and reads its first word.
fn launch(dir: &Path, instance: &Path, user: As, env: Vec<(&'static str, PathBuf)>) -> (Child, String) {
    let mut command = Command::new(dir.join("bin/metnos-supervisor"));
    if user == As::Ordinary && is_root() {
        command.uid(SOMEBODY).gid(SOMEBODY);
    }
    command.arg("--spawn").arg("--instance").arg(instance).arg("--log").arg(instance.join("run/supervisor.log"));
    command.args(["--ready-fd", "1"]).stdout(Stdio::piped()).stdin(Stdio::null());
    command.env_clear().env("SECRET", "not for daemons").envs(env);
    let mut child = command.spawn().unwrap();
    let mut word = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut word).unwrap();
    (child, word.trim_end().to_owned())
}

/// Gives a directory and all in it to the ordinary user.
fn own(dir: &Path) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            own(&path)
        } else {
            std::os::unix::fs::chown(&path, Some(SOMEBODY), Some(SOMEBODY)).unwrap()
        }
    }
    std::os::unix::fs::chown(dir, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
}

pub fn row(surveyed: &Surveyed, role: RoleName) -> &metnos_proto::control::DaemonRow {
    surveyed.daemons.iter().find(|daemon| daemon.role == role).unwrap()
}

pub fn send(pid: u32, signal: Signal) {
    rustix::process::kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
}

/// A descriptor that names a living process, and no later one of the same number.
pub fn pidfd(pid: u32) -> OwnedFd {
    rustix::process::pidfd_open(Pid::from_raw(pid.try_into().unwrap()).unwrap(), PidfdFlags::empty()).unwrap()
}

pub fn await_end(pidfd: &OwnedFd) {
    let mut polls = [rustix::event::PollFd::new(pidfd, rustix::event::PollFlags::IN)];
    let patience = rustix::event::Timespec::try_from(PATIENCE).unwrap();
    assert_eq!(rustix::event::poll(&mut polls, Some(&patience)).unwrap(), 1, "an orphan was left behind");
}

pub fn wait_until(done: impl Fn() -> bool, otherwise: impl Fn() -> String) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "{}", otherwise());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Connects as `metnosctl` does.
pub fn connect(instance: &Path) -> std::io::Result<OwnedFd> {
    let run = std::fs::File::open(instance.join("run"))?;
    let path = instance.join("run/control.sock");
    let short = format!("/proc/self/fd/{}/control.sock", std::os::fd::AsRawFd::as_raw_fd(&run));
    let address = SocketAddrUnix::new(path).or_else(|_| SocketAddrUnix::new(short))?;
    let client = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    rustix::net::connect(&client, &address)?;
    Ok(client)
}

pub fn ask_over(client: &OwnedFd, ask: &CtlAsk) -> (CtlAnswer, Option<OwnedFd>) {
    control::send(client.as_fd(), ask, None).unwrap();
    control::receive_within(client.as_fd(), &mut socket::buffer(), PATIENCE).unwrap().expect("no answer")
}
