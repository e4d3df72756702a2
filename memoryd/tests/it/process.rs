//! The real process: started as the supervisor starts it, locked, and used for everything that it can do.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use metnos_proto::control::{self, Drain, EdgeEnd, Go, Order, Ping, Report, Settings, Start, VaultKeyFile};
use metnos_proto::edge::{AskerEnd, Edge, RawEnd, Side};
use metnos_proto::edges::{CtlMemoryd, DoorMemoryd, PlannerMemoryd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::common::{Channel, Lang, Standing};
use metnos_proto::msg::memoryd::{BeginTurn, CloseTurn, MemoryStatus, Mnests, Received, Tail, Verify, WishedSignature};
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::payload::Sealed;
use metnos_proto::role::RoleName;

/// An id that nobody has, for a test that runs as root: the lock refuses a daemon that is root.
const UID: u32 = 64_290;
const WITHIN: Duration = Duration::from_secs(20);
const TRACE: TraceId = TraceId::from_bytes([3; 16]);

struct Process {
    control: OwnedFd,
    child: Child,
    buffer: Vec<u8>,
}

fn instance() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let root = rustix::process::geteuid().is_root();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_metnos-memoryd"), dir.path().join("memoryd")).unwrap();
    for name in [".audit", ".mnestome", ".soul", ".runtime", "workspace"] {
        let path = dir.path().join(name);
        std::fs::create_dir(&path).unwrap();
        if root {
            chown(&path, Some(UID), Some(UID)).unwrap();
        }
    }
    dir
}

impl Process {
    fn start(dir: &Path) -> Self {
        let (control, theirs) = metnos_proto::socket::pair().unwrap();
        let mut command = Command::new(dir.join("memoryd"));
        command.env_clear().stdin(theirs);
        if rustix::process::geteuid().is_root() {
            command.uid(UID).gid(UID);
        }
        let child = command.spawn().unwrap();
        let start = Start {
            role: RoleName::Memoryd,
            instance: dir.to_str().unwrap().to_owned(),
            settings: Settings {
                owner_uid: 1000,
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
        };
        control::send(control.as_fd(), &Order::Start(start), None).unwrap();
        let mut key = tempfile::tempfile().unwrap();
        key.write_all(&[7; 32]).unwrap();
        control::send(control.as_fd(), &Order::Key(VaultKeyFile {}), Some(key.as_fd())).unwrap();
        control::send(control.as_fd(), &Order::Go(Go {}), None).unwrap();
        let mut process = Self { control, child, buffer: metnos_proto::socket::buffer() };
        match process.report() {
            Report::Ready(ready) => assert!(!ready.lock.is_empty() && ready.waived.is_empty()),
            other @ (Report::Pong(_)
            | Report::Fault(_)
            | Report::Drained(_)
            | Report::Violation(_)
            | Report::Attempted(_)) => panic!("{other:?}"),
        }
        process
    }

    fn report(&mut self) -> Report {
        control::receive_within(self.control.as_fd(), &mut self.buffer, WITHIN).unwrap().unwrap().0
    }

    fn connect<E: Edge>(&mut self) -> BlockingClient<E> {
        let (ours, theirs) = metnos_proto::socket::pair().unwrap();
        let end = EdgeEnd { edge: E::ID, side: Side::Answerer, generation: 1, peer: None };
        control::send(self.control.as_fd(), &Order::Edge(end), Some(theirs.as_fd())).unwrap();
        let raw = RawEnd { edge: E::ID, side: Side::Asker, generation: 1, peer: None, fd: ours };
        BlockingClient::new(AskerEnd::new(raw).unwrap()).unwrap()
    }

    fn drain(mut self) {
        control::send(self.control.as_fd(), &Order::Drain(Drain {}), None).unwrap();
        assert!(matches!(self.report(), Report::Drained(_)));
        assert!(self.child.wait().unwrap().success());
    }
}

fn turn(n: u8) -> TurnId {
    TurnId::from_bytes([n; 16])
}

fn say(door: &mut BlockingClient<DoorMemoryd>, n: u8) -> u64 {
    let word = Received {
        turn: turn(n),
        trace: TRACE,
        channel: Channel::Cli,
        principal: "cli:uid:1000".to_owned(),
        standing: Standing::Owner,
        lang: Lang::En,
        mark: String::new(),
    };
    door.received(TRACE, word, [Sealed::new(b"hello").unwrap()]).unwrap().0.seq
}

#[test]
fn the_locked_process_does_everything_that_it_is_for() {
    let dir = instance();
    let mut process = Process::start(dir.path());
    let mut door = process.connect::<DoorMemoryd>();
    let mut planner = process.connect::<PlannerMemoryd>();
    let mut owner = process.connect::<CtlMemoryd>();
    for n in 1..=3 {
        say(&mut door, n);
        planner.begin_turn(TRACE, BeginTurn { turn: turn(n) }, []).unwrap();
        let close = CloseTurn {
            turn: turn(n),
            end: TurnEnd::NotUnderstood,
            wish: "play music".to_owned(),
            signature: WishedSignature::default(),
        };
        planner.close_turn(TRACE, close, []).unwrap();
    }
    // A file of the workspace that appears while it runs.
    std::fs::write(dir.path().join("workspace/USER.md"), "Roberto").unwrap();
    std::fs::set_permissions(dir.path().join("workspace/USER.md"), std::fs::Permissions::from_mode(0o644)).unwrap();
    say(&mut door, 4);
    planner.begin_turn(TRACE, BeginTurn { turn: turn(4) }, []).unwrap();
    let (report, []) = owner.verify(TRACE, Verify { since: 0 }, [Sealed::new(b"").unwrap()]).unwrap();
    // That the file has appeared is recorded now, or at the next start.
    assert!((11..=12).contains(&report.lines) && report.findings_total == 0, "{report:?}");
    assert_eq!(owner.mnests(TRACE, Mnests {}, []).unwrap().0.mnests, 1);
    assert_eq!(owner.tail(TRACE, Tail { lines: 5, after: 0 }, []).unwrap().0.lines, 5);
    control::send(process.control.as_fd(), &Order::Ping(Ping { number: 1 }), None).unwrap();
    match process.report() {
        Report::Pong(pong) => assert!(pong.number == 1 && pong.pss_kib > 0),
        other @ (Report::Ready(_)
        | Report::Fault(_)
        | Report::Drained(_)
        | Report::Violation(_)
        | Report::Attempted(_)) => panic!("{other:?}"),
    }
    process.drain();
    let mut again = Process::start(dir.path());
    let mut owner = again.connect::<CtlMemoryd>();
    assert_eq!(owner.memory_status(TRACE, MemoryStatus {}, []).unwrap().0.head.seq, 12);
    again.drain();
}

/// A producer that speaks again at once has its lines derived from in bulk; whoever asks sees all of them.
#[test]
fn burst_of_lines_is_visible_to_the_next_query() {
    let dir = instance();
    let mut process = Process::start(dir.path());
    let mut door = process.connect::<DoorMemoryd>();
    let mut planner = process.connect::<PlannerMemoryd>();
    let mut owner = process.connect::<CtlMemoryd>();
    for round in 0..4_u8 {
        for n in 1..=55 {
            let told = say(&mut door, round * 55 + n);
            // The same again is the same line, also when the index does not know the first one yet.
            assert_eq!(say(&mut door, round * 55 + n), told);
        }
        let last = say(&mut door, 240 + round);
        assert_eq!(owner.tail(TRACE, Tail { lines: 1, after: 0 }, []).unwrap().0.last_seq, last);
        planner.begin_turn(TRACE, BeginTurn { turn: turn(240 + round) }, []).unwrap();
    }
    let (report, []) = owner.verify(TRACE, Verify { since: 0 }, [Sealed::new(b"").unwrap()]).unwrap();
    assert_eq!((report.lines, report.findings_total), (4 * 57, 0));
    // Ended while lines may be due: the next start finds them in the log.
    let last = say(&mut door, 250);
    rustix::process::kill_process(rustix::process::Pid::from_child(&process.child), rustix::process::Signal::KILL)
        .unwrap();
    process.child.wait().unwrap();
    let mut again = Process::start(dir.path());
    let mut owner = again.connect::<CtlMemoryd>();
    assert!(owner.memory_status(TRACE, MemoryStatus {}, []).unwrap().0.head.seq >= last);
    assert_eq!(owner.verify(TRACE, Verify { since: 0 }, [Sealed::new(b"").unwrap()]).unwrap().0.findings_total, 0);
    again.drain();
}

#[test]
fn memoryd_killed_at_any_time_keeps_all_acknowledged_lines() {
    let dir = instance();
    let mut promised = 0;
    for life in 0..8_u8 {
        let mut process = Process::start(dir.path());
        let mut owner = process.connect::<CtlMemoryd>();
        let head = owner.memory_status(TRACE, MemoryStatus {}, []).unwrap().0.head.seq;
        assert!(head >= promised, "life {life}: {head} of {promised}");
        assert_eq!(owner.verify(TRACE, Verify { since: 0 }, [Sealed::new(b"").unwrap()]).unwrap().0.findings_total, 0);
        let mut door = process.connect::<DoorMemoryd>();
        let mut planner = process.connect::<PlannerMemoryd>();
        let pid = rustix::process::Pid::from_child(&process.child);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(u64::from(life) * 3_700));
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        });
        for m in 0..=u8::MAX {
            let turn = TurnId::from_bytes([life + 1, m, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
            let word = Received {
                turn,
                trace: TRACE,
                channel: Channel::Cli,
                principal: "cli:uid:1000".to_owned(),
                standing: Standing::Owner,
                lang: Lang::En,
                mark: String::new(),
            };
            let Ok((recorded, [])) = door.received(TRACE, word, [Sealed::new(b"hello").unwrap()]) else { break };
            promised = recorded.seq;
            let _ = planner.begin_turn(TRACE, BeginTurn { turn }, []);
            let signature = WishedSignature::default();
            let close =
                CloseTurn { turn, end: TurnEnd::NotUnderstood, wish: format!("send mail number {life}"), signature };
            let _ = planner.close_turn(TRACE, close, []);
        }
        killer.join().unwrap();
        process.child.wait().unwrap();
    }
    let mut process = Process::start(dir.path());
    let mut owner = process.connect::<CtlMemoryd>();
    let (report, []) = owner.verify(TRACE, Verify { since: 0 }, [Sealed::new(b"").unwrap()]).unwrap();
    assert_eq!((report.findings_total, report.head.seq >= promised), (0, true));
    process.drain();
}
