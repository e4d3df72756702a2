//! The real program: started over a control channel, locked by its own profile, with the
//! executors of this repository, until it is ordered to stop.

use std::cell::{Cell, RefCell};
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use crate::peers::sandbox::FakeSandbox;
use crate::peers::{FakeExecutor, FakeMemory, Log, denied, ran, run, sealed};
use metnos_proto::control::{self, Drain, EdgeEnd, Go, Order, Ping, Report, Settings, Start};
use metnos_proto::edge::{AnswererEnd, AskerEnd, PeerCred, RawEnd, Side};
use metnos_proto::edges::{CtlPolicyd, EdgeId, policyd_memoryd, policyd_sandboxd};
use metnos_proto::ids::TraceId;
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::policyd::{Executors, PolicyStatus, RunCall};
use metnos_proto::role::RoleName;
use metnos_proto::{payload::Sealed, socket};
use serde_json::json;

const NO: TraceId = TraceId::NONE;
/// Root's tests start the daemon as nobody in particular: it refuses to run as root.
const OTHER_UID: u32 = 64_299;

/// The daemon, with the supervisor's end of its control channel.
struct Started {
    child: Child,
    control: OwnedFd,
    generation: u32,
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Started {
    fn spawn(instance: &Path, program: &Path) -> Self {
        let (control, theirs) = socket::pair().unwrap();
        let mut command = Command::new(program);
        command.stdin(Stdio::from(theirs)).env_clear();
        if rustix::process::geteuid().is_root() {
            command.uid(OTHER_UID).gid(OTHER_UID);
        }
        let child = command.spawn().unwrap();
        socket::set_nonblocking(&control).unwrap();
        let settings = Settings {
            owner_uid: 1000,
            lang: Lang::En,
            interpreter: "/usr/bin/python3".to_owned(),
            waive: Vec::new(),
            calls_per_use_day: 50,
            calls_per_minute: 600,
            net: metnos_proto::control::NetSettings::default(),
            budget: metnos_proto::control::BudgetSettings::default(),
            models: metnos_proto::control::ModelSettings::default(),
            http: metnos_proto::control::HttpSettings::default(),
            telegram_api: String::new(),
            zone: String::new(),
            folders: metnos_proto::control::FolderSettings::default(),
            commands: Vec::new(),
            program_data: Vec::new(),
            guest_folders: Vec::new(),
            dry_run: true,
        };
        let instance = instance.to_str().unwrap().to_owned();
        let started = Self { child, control, generation: 1 };
        started.order(&Order::Start(Start { role: RoleName::Policyd, instance, settings }));
        started
    }

    fn order(&self, order: &Order) {
        control::send(self.control.as_fd(), order, None).unwrap();
    }

    /// Gives the daemon its end of an edge; the other end stays here.
    fn give(&self, edge: EdgeId, side: Side, peer: Option<PeerCred>) -> RawEnd {
        let (mine, theirs) = socket::pair_for(edge).unwrap();
        let generation = self.generation;
        let end = EdgeEnd { edge, side, generation, peer };
        control::send_owned(&self.control, &Order::Edge(end), Some(theirs)).unwrap();
        let other = if side == Side::Asker { Side::Answerer } else { Side::Asker };
        RawEnd { edge, side: other, generation, peer, fd: mine }
    }

    /// The next report, while the peers go on.
    async fn report(&self) -> Report {
        let mut buffer = socket::buffer();
        loop {
            match control::receive::<Report>(self.control.as_fd(), &mut buffer).unwrap() {
                Some((report, _)) => return report,
                None => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
    }
}

fn repository_executor(name: &'static str) -> FakeExecutor {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors").join(name);
    let text = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
    FakeExecutor {
        name,
        manifest: text("manifest.toml"),
        code: text("main.py"),
        schema: text("schema.json"),
        profile: "profile".to_owned(),
        signed: false,
    }
}

/// An instance whose own folder belongs to whom the daemon will run as, and a copy of the program there.
fn instance(folder: &Path) -> std::path::PathBuf {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o711)).unwrap();
    let own = folder.join(".policy");
    fs::create_dir(&own).unwrap();
    fs::create_dir(folder.join("workspace")).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&own, Some(OTHER_UID), Some(OTHER_UID)).unwrap();
    }
    let program = folder.join("metnos-policyd");
    fs::copy(env!("CARGO_BIN_EXE_metnos-policyd"), &program).unwrap();
    program
}

struct Peers {
    log: Log,
    memory: Rc<FakeMemory>,
    sandbox: Rc<FakeSandbox>,
}

/// Peers of a daemon; the chronicle is this long already.
fn wire(daemon: &Started, executors: Vec<FakeExecutor>, lines: u64) -> Peers {
    let log = Log::default();
    let memory = Rc::new(FakeMemory::new(Rc::clone(&log)));
    memory.seq.set(lines);
    let sandbox = Rc::new(FakeSandbox::new(Rc::clone(&log), executors));
    let end = AnswererEnd::new(daemon.give(EdgeId::PolicydMemoryd, Side::Asker, None)).unwrap();
    tokio::task::spawn_local(policyd_memoryd::serve(end, Rc::clone(&memory)));
    let end = AnswererEnd::new(daemon.give(EdgeId::PolicydSandboxd, Side::Asker, None)).unwrap();
    tokio::task::spawn_local(policyd_sandboxd::serve(end, Rc::clone(&sandbox)));
    Peers { log, memory, sandbox }
}

#[test]
fn the_program_starts_locked_bears_its_seeds_serves_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let program = instance(folder.path());
    let pool = RefCell::new(vec![
        repository_executor("fs_list"),
        repository_executor("fs_read"),
        repository_executor("text_stats"),
    ]);
    let lines = Cell::new(0);
    for start in ["first", "second"] {
        run(async {
            let mut daemon = Started::spawn(folder.path(), &program);
            let peers = wire(&daemon, pool.borrow().clone(), lines.get());
            daemon.order(&Order::Go(Go {}));
            let Report::Ready(ready) = daemon.report().await else { panic!("not ready") };
            assert!(ready.lock.iter().any(|line| line.contains("seccomp")), "{:?}", ready.lock);
            assert!(ready.waived.is_empty());
            let born = peers.log.borrow().iter().filter(|line| line.starts_with("born")).count();
            assert_eq!(born, if start == "first" { 3 } else { 0 }, "{start}: {:?}", peers.log.borrow());
            serve_a_call(&daemon).await;
            daemon.order(&Order::Ping(Ping { number: 7 }));
            let Report::Pong(pong) = daemon.report().await else { panic!("no pong") };
            assert_eq!(pong.number, 7);
            assert!(pong.pss_kib > 0);
            daemon.order(&Order::Drain(Drain {}));
            assert!(matches!(daemon.report().await, Report::Drained(_)));
            assert!(daemon.child.wait().unwrap().success());
            lines.set(peers.memory.seq.get());
            pool.replace(peers.sandbox.executors.borrow().clone());
        });
    }
    let key = fs::metadata(folder.path().join(".policy/instance.key")).unwrap();
    assert_eq!((key.permissions().mode() & 0o7777, key.len()), (0o600, 32));
}

/// The owner runs one call that is allowed and one that is not.
async fn serve_a_call(daemon: &Started) {
    let peer = Some(PeerCred { pid: 1, uid: 1000 });
    let end = AskerEnd::<CtlPolicyd>::new(daemon.give(EdgeId::CtlPolicyd, Side::Answerer, peer)).unwrap();
    let owner = Rc::new(Client::<CtlPolicyd>::default());
    owner.attach(end).unwrap();
    let rows = owner.executors(NO, Executors {}, []).await.unwrap().0.rows;
    assert_eq!(rows.iter().filter(|row| row.state.name() == "active").count(), 3, "{rows:?}");
    let call = |path: &str| -> [Sealed; 1] { [sealed(&json!({ "path": path }))] };
    let ask = || RunCall { executor: "fs_read".to_owned() };
    ran(owner.run_call(NO, ask(), call("notes/welcome.md")).await.unwrap().0.acted);
    assert_eq!(denied(owner.run_call(NO, ask(), call("/etc/shadow")).await.unwrap().0.acted), "guard.path");
    let status = owner.policy_status(NO, PolicyStatus {}, []).await.unwrap().0;
    assert_eq!((status.decisions_total, status.denials_total, status.public_key.len()), (2, 1, 64));
}

#[test]
fn a_key_that_others_may_read_stops_the_start_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let program = instance(folder.path());
    let key = folder.path().join(".policy/instance.key");
    fs::write(&key, [7; 32]).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    run(async {
        let mut daemon = Started::spawn(folder.path(), &program);
        daemon.order(&Order::Go(Go {}));
        let Report::Fault(fault) = daemon.report().await else { panic!("it started") };
        assert!(fault.why.contains("instance.key"), "{}", fault.why);
        assert!(!daemon.child.wait().unwrap().success());
    });
}
