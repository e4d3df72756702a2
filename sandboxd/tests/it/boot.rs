//! The daemon itself, behind its own lock: this test is its supervisor, its policyd and its
//! memoryd, and has it do what it is for, with the kernel's sandbox and the release's seeds.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use ed25519_dalek::{Signer, SigningKey};
use metnos_proto::control::{self, Drain, EdgeEnd, Go, Order, Report, Settings, Start};
use metnos_proto::edge::{AnswererEnd, AskerEnd, Edge, RawEnd, RpcError, Served, Side};
use metnos_proto::edges::{PolicydSandboxd, SandboxdMemoryd, sandboxd_memoryd};
use metnos_proto::executor::signed_bytes;
use metnos_proto::ids::{Blake3, CallId, Sha256, TraceId, TurnId};
use metnos_proto::link_async::{Client, Cx};
use metnos_proto::msg::common::{CallRef, ExecutorDigests, ExecutorId, Lang, Outcome};
use metnos_proto::msg::memoryd::{BeforeFound, BeforeOf, Ended, KeepBefore, Recorded, Started, SystemEvent};
use metnos_proto::msg::sandboxd::{Birth, Install, Pool, Run, RunReport, SeenFolder, TrustKey};
use metnos_proto::payload::Sealed;
use metnos_proto::role::RoleName;
use metnos_proto::socket;
use serde_json::{Value, json};
use tokio::task::LocalSet;

const UNPRIVILEGED: u32 = 64_322;
const WITHIN: Duration = Duration::from_secs(20);

/// A memoryd that writes down what it was told, in order.
#[derive(Default)]
struct Memory {
    told: RefCell<Vec<String>>,
}

impl Memory {
    fn note(&self, what: String) -> Served<Recorded, 0> {
        self.told.borrow_mut().push(what);
        let seq = u64::try_from(self.told.borrow().len()).unwrap();
        Ok((Recorded { seq, hash: Sha256([0; 32]) }, []))
    }
}

impl sandboxd_memoryd::Serve for Memory {
    async fn started(self: Rc<Self>, _: Cx<SandboxdMemoryd>, ask: Started, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.note(format!("started {}", ask.id))
    }

    async fn ended(self: Rc<Self>, _: Cx<SandboxdMemoryd>, ask: Ended, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.note(format!("ended {} {}", ask.id, ask.outcome.name()))
    }

    async fn keep_before(
        self: Rc<Self>,
        _: Cx<SandboxdMemoryd>,
        ask: KeepBefore,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        self.note(format!("kept {}", ask.id))
    }

    async fn before_of(self: Rc<Self>, _: Cx<SandboxdMemoryd>, _: BeforeOf, []: [Sealed; 0]) -> Served<BeforeFound, 0> {
        Ok((BeforeFound { before: None }, []))
    }

    async fn system_event(
        self: Rc<Self>,
        _: Cx<SandboxdMemoryd>,
        ask: SystemEvent,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        self.note(format!("{} {}", ask.kind, ask.text))
    }
}

/// A running sandboxd and everybody around it.
struct Set {
    instance: tempfile::TempDir,
    child: Child,
    control: OwnedFd,
    policy: Rc<Client<PolicydSandboxd>>,
    memory: Rc<Memory>,
    key: SigningKey,
}

impl Drop for Set {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// An instance with the seeds in its pool, given to whom sandboxd will be.
fn instance() -> tempfile::TempDir {
    let instance = tempfile::tempdir().unwrap();
    let put = |path: &str, bytes: &[u8]| {
        let path = instance.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    put("workspace/notes/welcome.md", b"Welcome to the workspace.\nThree more words.\n");
    put(".policy/instance.key", b"the seed");
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors");
    for name in ["fs_read", "fs_list", "text_stats"] {
        for file in ["manifest.toml", "main.py", "schema.json", "tests/birth.py"] {
            put(
                &format!("workspace/executors/{name}/{}/{file}", version_of(name)),
                &std::fs::read(seeds.join(name).join(file)).unwrap(),
            );
        }
        put(&format!("workspace/executors/{name}/CURRENT"), format!("{}\n", version_of(name)).as_bytes());
    }
    std::os::unix::fs::symlink("/etc/passwd", instance.path().join("workspace/notes/link")).unwrap();
    // Beside the program, which may lie where that user cannot go.
    let program = instance.path().join("metnos-sandboxd");
    std::fs::copy(env!("CARGO_BIN_EXE_metnos-sandboxd"), &program).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    if is_root() {
        give(instance.path());
    }
    instance
}

fn give(path: &Path) {
    std::os::unix::fs::lchown(path, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path()));
    }
}

fn start(instance: &Path, control: OwnedFd, as_user: bool) -> Child {
    let mut command = Command::new(instance.join("metnos-sandboxd"));
    command.env_clear().current_dir("/").stdin(Stdio::from(control));
    if is_root() && as_user {
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    command.spawn().unwrap()
}

fn order_start(instance: &Path) -> Order {
    Order::Start(Start {
        role: RoleName::Sandboxd,
        instance: instance.to_str().unwrap().to_owned(),
        settings: Settings {
            owner_uid: rustix::process::geteuid().as_raw(),
            lang: Lang::En,
            interpreter: "/usr/bin/python3".to_owned(),
            waive: Vec::new(),
            calls_per_use_day: 50,
            calls_per_minute: 60,
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
        },
    })
}

/// Gives sandboxd its end of an edge, and keeps the other.
fn hand_over<E: Edge>(control: &OwnedFd, side: Side) -> RawEnd {
    let (asker, answerer) = socket::pair_for(E::ID).unwrap();
    let (given, kept, kept_side) = match side {
        Side::Asker => (asker, answerer, Side::Answerer),
        Side::Answerer => (answerer, asker, Side::Asker),
    };
    let end = EdgeEnd { edge: E::ID, side, generation: 1, peer: None };
    control::send_owned(control, &Order::Edge(end), Some(given)).unwrap();
    RawEnd { edge: E::ID, side: kept_side, generation: 1, peer: None, fd: kept }
}

fn report(control: &OwnedFd) -> Report {
    let mut buffer = socket::buffer();
    let came = control::receive_within::<Report>(std::os::fd::AsFd::as_fd(control), &mut buffer, WITHIN).unwrap();
    came.expect("a report within the time").0
}

impl Set {
    /// Boots sandboxd up to its readiness; in how long.
    async fn boot() -> (Self, Duration) {
        let instance = instance();
        let (control, theirs) = socket::pair().unwrap();
        let began = Instant::now();
        let child = start(instance.path(), theirs, true);
        control::send_owned(&control, &order_start(instance.path()), None).unwrap();
        let policy_end = hand_over::<PolicydSandboxd>(&control, Side::Answerer);
        let memory_end = hand_over::<SandboxdMemoryd>(&control, Side::Asker);
        control::send_owned(&control, &Order::Go(Go {}), None).unwrap();
        match report(&control) {
            Report::Ready(ready) => assert!(!ready.lock.is_empty() && ready.waived.is_empty(), "{ready:?}"),
            other @ (Report::Pong(_)
            | Report::Fault(_)
            | Report::Drained(_)
            | Report::Violation(_)
            | Report::Attempted(_)) => panic!("{other:?}"),
        }
        let took = began.elapsed();
        let policy = Rc::new(Client::default());
        policy.attach(AskerEnd::new(policy_end).unwrap()).unwrap();
        let memory = Rc::new(Memory::default());
        let answers = AnswererEnd::<SandboxdMemoryd>::new(memory_end).unwrap();
        tokio::task::spawn_local(sandboxd_memoryd::serve(answers, Rc::clone(&memory)));
        let key = SigningKey::from_bytes(&[9; 32]);
        (Self { instance, child, control, policy, memory, key }, took)
    }

    async fn trust(&self) {
        let key = TrustKey { public_key: self.key.verifying_key().to_bytes() };
        self.policy.trust(TraceId::NONE, key, []).await.unwrap();
    }

    /// Has every seed born and installs it.
    async fn install_all(&self) -> Vec<(ExecutorId, ExecutorDigests)> {
        let (listing, []) = self.policy.pool(TraceId::NONE, Pool {}, []).await.unwrap();
        let mut installed = Vec::new();
        for entry in listing.entries {
            assert_eq!((entry.fault.as_str(), entry.signed), ("", false), "{}", entry.id);
            let birth = Birth { id: entry.id.clone(), digests: entry.digests.clone() };
            let (born, [_candidate]) = self.policy.birth(TraceId::NONE, birth, []).await.unwrap();
            let failed: Vec<_> = born.cases.iter().filter(|case| !case.passed).collect();
            assert!(failed.is_empty() && born.cases.len() >= 3, "{failed:?}");
            let signature = self.key.sign(&signed_bytes(&entry.digests)).to_bytes().to_vec();
            let install = Install { id: entry.id.clone(), digests: entry.digests.clone(), signature };
            self.policy.install(TraceId::NONE, install, []).await.unwrap();
            installed.push((entry.id, entry.digests));
        }
        installed
    }

    async fn call(
        &self,
        turn: TurnId,
        place: u16,
        which: &(ExecutorId, ExecutorDigests),
        arguments: &Value,
    ) -> Result<(RunReport, Value), RpcError> {
        let bytes = arguments.to_string().into_bytes();
        let workspace = std::fs::metadata(self.instance.path().join("workspace")).unwrap();
        let run = Run {
            call: CallId::new(),
            place: CallRef(place),
            turn,
            trace: TraceId::NONE,
            id: which.0.clone(),
            digests: which.1.clone(),
            arguments: Blake3::of(&bytes),
            decision_seq: 1,
            folders: vec![SeenFolder { below: String::new(), device: workspace.dev(), inode: workspace.ino() }],
            only: None,
            own: String::new(),
        };
        let (report, [result]) = self.policy.run(TraceId::NONE, run, [Sealed::new(&bytes).unwrap()]).await?;
        Ok((report, serde_json::from_slice(&result.read().unwrap()).unwrap()))
    }

    fn file(&self, name: &str, file: &str) -> PathBuf {
        self.instance.path().join("workspace/executors").join(name).join(version_of(name)).join(file)
    }
}

/// The version that a seed of the repository has.
fn version_of(name: &str) -> String {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors").join(name).join("manifest.toml");
    let text = std::fs::read_to_string(manifest).unwrap();
    text.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"')).unwrap().to_owned()
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

fn named<'a>(all: &'a [(ExecutorId, ExecutorDigests)], name: &str) -> &'a (ExecutorId, ExecutorDigests) {
    all.iter().find(|one| one.0.name == name).unwrap()
}

#[test]
fn the_seeds_are_born_installed_and_chained_behind_the_lock() {
    run(async {
        let (set, took) = Set::boot().await;
        println!("ready after {took:?}");
        set.trust().await;
        let all = set.install_all().await;
        assert_eq!(all.len(), 3);
        let turn = TurnId::new();
        let (report, read) =
            set.call(turn, 1, named(&all, "fs_read"), &json!({"path": "notes/welcome.md"})).await.unwrap();
        assert_eq!((report.outcome, &read["size"]), (Outcome::Ok, &json!(44)), "{read}");
        let reference = json!({"text": {"$ref": "c1#/content"}});
        let (report, stats) = set.call(turn, 2, named(&all, "text_stats"), &reference).await.unwrap();
        assert_eq!((report.outcome, &stats["words"], &stats["lines"]), (Outcome::Ok, &json!(7), &json!(2)), "{stats}");
        assert_eq!(report.inputs.len(), 1);
        let (report, denied) = set.call(turn, 3, named(&all, "fs_read"), &json!({"path": "notes/link"})).await.unwrap();
        assert_eq!((report.outcome, &denied["error"]["class"]), (Outcome::Error, &json!("PermissionDenied")));
        let told = set.memory.told.borrow().clone();
        let wanted = [
            "started fs_read 3.1.0",
            "ended fs_read 3.1.0 ok",
            "started text_stats 2.0.0",
            "ended text_stats 2.0.0 ok",
            "started fs_read 3.1.0",
            "ended fs_read 3.1.0 error",
        ];
        assert_eq!(told, wanted);
    });
}

#[test]
fn a_bit_flipped_while_it_runs_refuses_the_next_call() {
    run(async {
        let (set, _) = Set::boot().await;
        set.trust().await;
        let all = set.install_all().await;
        for (name, file) in [("fs_read", "main.py"), ("fs_list", "profile.lock"), ("text_stats", "manifest.sig")] {
            let (which, path) = (named(&all, name), set.file(name, file));
            let arguments = if name == "text_stats" { json!({"text": "a"}) } else { json!({"path": "notes"}) };
            set.call(TurnId::new(), 1, which, &arguments).await.unwrap();
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[8] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            let before = set.memory.told.borrow().len();
            let refused = set.call(TurnId::new(), 1, which, &arguments).await;
            assert!(matches!(refused, Err(RpcError::Refused(_))), "{name} {file}: {refused:?}");
            let told = set.memory.told.borrow()[before..].to_vec();
            assert!(told.iter().all(|line| line.starts_with("quarantine")) && told.len() == 1, "{told:?}");
        }
    });
}

#[test]
fn sandboxd_drains_and_exits() {
    run(async {
        let (mut set, _) = Set::boot().await;
        control::send_owned(&set.control, &Order::Drain(Drain {}), None).unwrap();
        assert!(matches!(report(&set.control), Report::Drained(_)));
        assert!(set.child.wait().unwrap().success());
    });
}

#[test]
fn killed_in_the_middle_of_a_call_it_takes_the_executor_with_it() {
    run(async {
        let (set, _) = Set::boot().await;
        set.trust().await;
        let all = set.install_all().await;
        // Processes of its own user only, so that other tests do not count.
        let sandboxed = |pid: u32| {
            let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
            children.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let large = json!({"text": "wort ".repeat(200_000)});
        let calling = set.call(TurnId::new(), 1, named(&all, "text_stats"), &large);
        let mut calling = std::pin::pin!(calling);
        let pid = set.child.id();
        let children = loop {
            tokio::select! {
                biased;
                ended = &mut calling => panic!("{ended:?}"),
                () = tokio::time::sleep(Duration::from_millis(1)) => {}
            }
            let children = sandboxed(pid);
            if !children.is_empty() {
                break children;
            }
        };
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        assert!(matches!(calling.await, Err(RpcError::Gone(_))));
        // A zombie is dead; whether its new parent has noticed is not sandboxd's doing.
        let lives = |child: &String| {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
        };
        let began = Instant::now();
        while children.iter().any(lives) {
            assert!(began.elapsed() < WITHIN, "an executor has outlived sandboxd");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

#[test]
fn sandboxd_refuses_to_start_as_root() {
    if !is_root() {
        println!("skipped: this test needs root to see that root is refused");
        return;
    }
    let instance = instance();
    chown(instance.path(), Some(0), Some(0)).unwrap();
    let (control, theirs) = socket::pair().unwrap();
    let mut child = start(instance.path(), theirs, false);
    control::send_owned(&control, &order_start(instance.path()), None).unwrap();
    control::send_owned(&control, &Order::Go(Go {}), None).unwrap();
    match report(&control) {
        Report::Fault(fault) => assert!(fault.why.contains("never runs as root"), "{}", fault.why),
        other @ (Report::Ready(_)
        | Report::Pong(_)
        | Report::Drained(_)
        | Report::Violation(_)
        | Report::Attempted(_)) => panic!("{other:?}"),
    }
    assert!(!child.wait().unwrap().success());
}
