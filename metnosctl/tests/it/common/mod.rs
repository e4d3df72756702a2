//! A supervisor and daemons that do as a test tells them, on a real socket in a temporary
//! instance, for the real program to talk to.
#![allow(clippy::unwrap_used, dead_code, missing_docs)]

mod card;
pub mod daemons;
mod owned;
pub mod policyd;

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metnos_proto::control::{self, Accepted, CtlAnswer, CtlAsk, DaemonRow, DaemonState, EdgeEnd, EdgeRow, Surveyed};
use metnos_proto::edge::{RawEnd, Side};
use metnos_proto::edges::EdgeId;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::role::RoleName;
use metnos_proto::socket;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// How long anything in a test may take before it is given up.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What the supervisor does, and what it was asked.
#[derive(Default)]
pub struct Plan {
    /// Refuses everybody at once, as it does with strangers.
    pub shut: Option<Refusal>,
    /// Daemons that are not there.
    pub away: Vec<RoleName>,
    /// How many more times the survey says that not everything has been ready yet.
    pub starting: u32,
    /// The process that `down` waits for; it is killed by the shutdown.
    pub process: Option<Child>,
    /// Every ask, in order.
    pub asked: Vec<CtlAsk>,
    /// What the daemons say.
    pub daemons: daemons::Lines,
    /// What the daemons were asked, in words.
    pub heard: Vec<String>,
}

/// The plan, shared with the threads that act it.
pub type Shared = Arc<Mutex<Plan>>;

/// A temporary instance with its supervisor.
pub struct Scene {
    pub dir: tempfile::TempDir,
    pub plan: Shared,
}

impl Scene {
    /// An instance with a supervisor that answers.
    pub fn running(plan: Plan) -> Self {
        let scene = Self::stopped(plan);
        let run = scene.dir.path().join("run");
        std::fs::create_dir(&run).unwrap();
        let listener =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        rustix::net::bind(&listener, &SocketAddrUnix::new(run.join("control.sock")).unwrap()).unwrap();
        rustix::net::listen(&listener, 8).unwrap();
        let plan = Arc::clone(&scene.plan);
        std::thread::spawn(move || {
            while let Ok(client) = rustix::net::accept_with(&listener, SocketFlags::CLOEXEC) {
                let plan = Arc::clone(&plan);
                std::thread::spawn(move || converse(&client, &plan));
            }
        });
        scene
    }

    /// An instance that nobody serves.
    pub fn stopped(plan: Plan) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { dir, plan: Arc::new(Mutex::new(plan)) }
    }

    /// The program on this instance.
    pub fn command(&self, words: &[&str]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_metnosctl")), words)
    }

    /// A copy of the program on this instance.
    pub fn command_of(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.env_clear().arg("--instance").arg(self.dir.path()).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub fn ctl(&self, words: &[&str]) -> Ran {
        self.command(words).output().unwrap().into()
    }

    /// Runs the program to its end with this on its standard input.
    pub fn ctl_fed(&self, words: &[&str], input: &str) -> Ran {
        use std::io::Write;
        let mut child = self.command(words).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap().into()
    }
}

/// How a run of the program went.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// Standard output as the one JSON document.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Standard output as a document a line.
    pub fn json_lines(&self) -> Vec<serde_json::Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn converse(client: &OwnedFd, plan: &Shared) {
    let mut buffer = socket::buffer();
    if let Some(refusal) = plan.lock().unwrap().shut.clone() {
        let _left = control::send(client.as_fd(), &CtlAnswer::Refused(refusal), None);
        return;
    }
    while let Ok(Some((ask, _))) = control::receive_within::<CtlAsk>(client.as_fd(), &mut buffer, PATIENCE) {
        let (answer, fd) = answer(&ask, plan);
        plan.lock().unwrap().asked.push(ask);
        if control::send_owned(client, &answer, fd).is_err() {
            return;
        }
    }
}

fn answer(ask: &CtlAsk, plan: &Shared) -> (CtlAnswer, Option<OwnedFd>) {
    match ask {
        CtlAsk::Connect(connect) => {
            let role = connect.role;
            if plan.lock().unwrap().away.contains(&role) {
                let refusal =
                    Refusal::new(RefusalCode::Unavailable, "supervisor.down", format!("{role} is not running"));
                return (CtlAnswer::Refused(refusal), None);
            }
            let edge = EdgeId::admin_of(role).unwrap();
            let (ours, theirs) = socket::pair().unwrap();
            daemons::start(
                RawEnd { edge, side: Side::Answerer, generation: 1, peer: None, fd: ours },
                Arc::clone(plan),
            );
            (CtlAnswer::Connected(EdgeEnd { edge, side: Side::Asker, generation: 1, peer: None }), Some(theirs))
        }
        CtlAsk::Survey(_) => {
            let mut plan = plan.lock().unwrap();
            let answer = CtlAnswer::Surveyed(surveyed(&plan));
            plan.starting = plan.starting.saturating_sub(1);
            (answer, None)
        }
        CtlAsk::Restart(_) => (CtlAnswer::Accepted(Accepted {}), None),
        CtlAsk::Shutdown(_) => {
            if let Some(process) = &mut plan.lock().unwrap().process {
                process.kill().unwrap();
                process.wait().unwrap();
            }
            (CtlAnswer::Accepted(Accepted {}), None)
        }
    }
}

fn surveyed(plan: &Plan) -> Surveyed {
    let row = |role: RoleName| DaemonRow {
        role,
        state: if plan.away.contains(&role) { DaemonState::Waiting } else { DaemonState::Ready },
        pid: 4242,
        uid: 1000,
        since_ms: 1_000,
        restarts: 0,
        last_exit: String::new(),
        pss_kib: 1024,
        lock: vec!["landlock_abi 7".to_owned()],
        waived: Vec::new(),
    };
    Surveyed {
        instance: "/srv/metnos".to_owned(),
        mode: "spawn".to_owned(),
        pid: plan.process.as_ref().map_or(4241, Child::id),
        uid: 1000,
        since_ms: 1_000,
        ready_after_ms: if plan.starting > 0 { 0 } else { 80 },
        pss_kib: 1024,
        uids_separate: false,
        daemons: RoleName::daemons().map(row).collect(),
        edges: EdgeId::ALL
            .iter()
            .filter(|edge| !edge.is_admin())
            .map(|edge| EdgeRow { edge: *edge, generation: 1, up: true })
            .collect(),
        alarms: Vec::new(),
    }
}

/// The program with another supervisor beside it: a shell script.
pub fn program_with_supervisor(dir: &Path, script: &str) -> PathBuf {
    let program = dir.join("metnosctl");
    std::fs::copy(env!("CARGO_BIN_EXE_metnosctl"), &program).unwrap();
    let supervisor = dir.join("metnos-supervisor");
    std::fs::write(&supervisor, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&supervisor, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}
