//! The loop over real channels: every peer played by hand, with words, payloads, orders and lies.

use std::os::fd::{AsFd, OwnedFd};
use std::thread::JoinHandle;
use std::time::Duration;

use metnos_memoryd::at_rest::Keys;
use metnos_memoryd::chronicle::time::SystemClock;
use metnos_memoryd::daemon::{Daemon, DaemonError};
use metnos_memoryd::faults::{Fault, Faults, NoFaults, Step};
use metnos_memoryd::links::{Link, accept};
use metnos_memoryd::memory::Memory;
use metnos_proto::control::{self, Drain, EdgeEnd, Order, Ping, Report};
use metnos_proto::edge::{Edge, RawEnd, RpcError, Side};
use metnos_proto::edges::{CtlMemoryd, DoorMemoryd, PlannerMemoryd, PolicydMemoryd, SandboxdMemoryd, SyntdMemoryd};
use metnos_proto::ids::{Blake3, CallId, SessionId, TraceId, TurnId};
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::common::{CallRef, Channel, ExecutorId, InputRef, Lang, Outcome, Resources, Standing};
use metnos_proto::msg::memoryd::{
    BeginTurn, CloseTurn, Decision, Ended, Gaps, MemoryStatus, Mnests, Received, Started, Tail, Verdict, Verify,
    WishedSignature,
};
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::payload::Sealed;
use rustix::event::{PollFd, PollFlags, Timespec};

const WITHIN: Duration = Duration::from_secs(20);

/// The daemon in a thread of its own, and the supervisor's end.
struct Running {
    control: OwnedFd,
    daemon: JoinHandle<Result<(), DaemonError>>,
    dir: tempfile::TempDir,
    generation: u32,
}

impl Running {
    fn start(faults: fn() -> Box<dyn Faults>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in [".audit", ".mnestome", ".runtime", "workspace"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let (control, theirs) = metnos_proto::socket::pair().unwrap();
        let path = dir.path().to_path_buf();
        let daemon = std::thread::spawn(move || {
            let memory = Memory::open(&path, SessionId::new(), Box::new(SystemClock), faults(), 50, &Keys::none())?;
            Daemon::new(theirs, memory, Vec::new(), Box::new(|| 7)).run()
        });
        Self { control, daemon, dir, generation: 0 }
    }

    /// A fresh channel: one end for the daemon, the asking one for the test.
    fn connect<E: Edge>(&mut self) -> BlockingClient<E> {
        let (ours, theirs) = metnos_proto::socket::pair().unwrap();
        self.generation += 1;
        let end = EdgeEnd { edge: E::ID, side: Side::Answerer, generation: self.generation, peer: None };
        control::send(self.control.as_fd(), &Order::Edge(end), Some(theirs.as_fd())).unwrap();
        let raw = RawEnd { edge: E::ID, side: Side::Asker, generation: self.generation, peer: None, fd: ours };
        BlockingClient::new(metnos_proto::edge::AskerEnd::new(raw).unwrap()).unwrap()
    }

    fn report(&self) -> Report {
        let mut buffer = metnos_proto::socket::buffer();
        control::receive_within(self.control.as_fd(), &mut buffer, WITHIN).unwrap().unwrap().0
    }

    fn drain(self) -> tempfile::TempDir {
        control::send(self.control.as_fd(), &Order::Drain(Drain {}), None).unwrap();
        assert!(matches!(self.report(), Report::Drained(_)));
        self.daemon.join().unwrap().unwrap();
        self.dir
    }
}

fn none() -> Box<dyn Faults> {
    Box::new(NoFaults)
}

fn seal(bytes: &[u8]) -> Sealed {
    Sealed::new(bytes).unwrap()
}

const TRACE: TraceId = TraceId::from_bytes([3; 16]);

fn turn(n: u8) -> TurnId {
    TurnId::from_bytes([n; 16])
}

fn received(n: u8) -> Received {
    Received {
        turn: turn(n),
        trace: TRACE,
        channel: Channel::Cli,
        principal: "cli:uid:1000".into(),
        standing: Standing::Owner,
        lang: Lang::En,
        mark: String::new(),
    }
}

fn decision(n: u8, place: u16, name: &str) -> Decision {
    Decision {
        turn: turn(n),
        trace: TRACE,
        call: CallId::from_bytes([place as u8; 16]),
        place: CallRef(place),
        principal: "cli:uid:1000".into(),
        channel: Channel::Cli,
        id: ExecutorId { name: name.into(), version: "1.0.0".into() },
        arguments: Blake3::of(b"{}"),
        verdict: Verdict::Allow,
        rule: "r".into(),
        why: String::new(),
    }
}

/// One call, as policyd and sandboxd tell it.
fn call(
    policyd: &mut BlockingClient<PolicydMemoryd>,
    sandboxd: &mut BlockingClient<SandboxdMemoryd>,
    place: u16,
    name: &str,
    from: Option<u16>,
) {
    let decided = decision(1, place, name);
    let (recorded, []) = policyd.decision(TRACE, decided.clone(), [seal(b"{}")]).unwrap();
    let input = |from: u16| InputRef {
        from: CallId::from_bytes([from as u8; 16]),
        pointer: "/c".into(),
        argument: "/t".into(),
    };
    let started = Started {
        turn: decided.turn,
        trace: TRACE,
        call: decided.call,
        place: decided.place,
        id: decided.id.clone(),
        arguments: decided.arguments,
        profile: Blake3::of(b"p"),
        decision_seq: recorded.seq,
        inputs: from.map(input).into_iter().collect(),
    };
    let (begun, []) = sandboxd.started(TRACE, started, []).unwrap();
    let ended = Ended {
        turn: decided.turn,
        trace: TRACE,
        call: decided.call,
        id: decided.id,
        outcome: Outcome::Ok,
        error_class: String::new(),
        result: Blake3::of(b"r"),
        resources: Resources { wall_us: 1, cpu_us: 1, peak_kib: 1, output_bytes: 1, ..Resources::NONE },
        started_seq: begun.seq,
    };
    sandboxd.ended(TRACE, ended, []).unwrap();
}

#[test]
fn turn_reported_by_all_witnesses_is_recorded_and_verified() {
    let mut running = Running::start(none);
    let mut door = running.connect::<DoorMemoryd>();
    let mut planner = running.connect::<PlannerMemoryd>();
    let mut policyd = running.connect::<PolicydMemoryd>();
    let mut sandboxd = running.connect::<SandboxdMemoryd>();
    let mut syntd = running.connect::<SyntdMemoryd>();
    let mut owner = running.connect::<CtlMemoryd>();
    door.received(TRACE, received(1), [seal(b"how many words")]).unwrap();
    let (begun, [envelope]) = planner.begin_turn(TRACE, BeginTurn { turn: turn(1) }, []).unwrap();
    let envelope: metnos_proto::envelope::Envelope = serde_json::from_slice(&envelope.read().unwrap()).unwrap();
    assert_eq!(envelope.nonce, begun.nonce);
    call(&mut policyd, &mut sandboxd, 1, "fs_read", None);
    call(&mut policyd, &mut sandboxd, 2, "text_stats", Some(1));
    let close =
        CloseTurn { turn: turn(1), end: TurnEnd::Answered, wish: "sing".into(), signature: WishedSignature::default() };
    assert_eq!(planner.close_turn(TRACE, close, []).unwrap().0.mnests, 2);
    assert_eq!(syntd.gaps(TRACE, Gaps {}, []).unwrap().0.gaps[0].wish, "sing");
    let (report, []) = owner.verify(TRACE, Verify { since: 0 }, [Sealed::new(b"").unwrap()]).unwrap();
    assert_eq!((report.lines, report.findings_total), (9, 0));
    let (count, [list]) = owner.mnests(TRACE, Mnests {}, []).unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list.read().unwrap()).unwrap();
    assert_eq!((count.mnests, list.as_array().unwrap().len()), (2, 2));
    let (tailed, [lines]) = owner.tail(TRACE, Tail { lines: 3, after: 0 }, []).unwrap();
    assert_eq!((tailed.lines, lines.read().unwrap().iter().filter(|byte| **byte == b'\n').count()), (3, 3));
    assert_eq!(owner.memory_status(TRACE, MemoryStatus {}, []).unwrap().0.head, report.head);
    let dir = running.drain();
    let memory = Memory::open(dir.path(), SessionId::new(), Box::new(SystemClock), none(), 50, &Keys::none()).unwrap();
    assert_eq!(memory.chronicle().head().seq, 9, "nothing to catch up after an orderly end");
}

#[test]
fn many_words_at_once_share_their_syncs_and_each_gets_its_own_answer() {
    let mut running = Running::start(none);
    let mut threads = Vec::new();
    for n in 1..=8_u8 {
        let mut door = running.connect::<DoorMemoryd>();
        threads.push(std::thread::spawn(move || {
            (0..20_u8)
                .map(|m| {
                    let mut word = received(n);
                    word.turn = TurnId::from_bytes([n, m, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
                    door.received(TRACE, word, [seal(b"hello")]).unwrap().0.seq
                })
                .collect::<Vec<_>>()
        }));
    }
    let mut seqs: Vec<u64> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=160).collect::<Vec<u64>>());
    running.drain();
}

struct FullOnce(bool);

impl Faults for FullOnce {
    fn at(&mut self, step: Step) -> Option<Fault> {
        (step == Step::Write && std::mem::take(&mut self.0)).then_some(Fault::Short(100))
    }
}

#[test]
fn a_full_disk_is_an_answer_and_not_a_promise() {
    let mut running = Running::start(|| Box::new(FullOnce(true)));
    let mut door = running.connect::<DoorMemoryd>();
    match door.received(TRACE, received(1), [seal(b"hello")]) {
        Err(RpcError::Refused(refusal)) => assert_eq!(refusal.rule, "chronicle.disk_full"),
        other => panic!("{other:?}"),
    }
    assert_eq!(door.received(TRACE, received(1), [seal(b"hello")]).unwrap().0.seq, 1);
    running.drain();
}

#[test]
fn a_breach_closes_the_link_and_is_reported_and_recorded() {
    let mut running = Running::start(none);
    let mut door = running.connect::<DoorMemoryd>();
    let mut planner = running.connect::<PlannerMemoryd>();
    door.received(TRACE, received(1), [seal(b"hello")]).unwrap();
    planner.begin_turn(TRACE, BeginTurn { turn: turn(1) }, []).unwrap();
    let again = planner.begin_turn(TRACE, BeginTurn { turn: turn(1) }, []);
    assert!(matches!(again, Err(RpcError::Gone(_))), "{again:?}");
    match running.report() {
        Report::Violation(breach) => assert!(breach.what.contains("second time"), "{}", breach.what),
        other @ (Report::Ready(_) | Report::Pong(_) | Report::Fault(_) | Report::Drained(_) | Report::Attempted(_)) => {
            panic!("{other:?}")
        }
    }
    let mut owner = running.connect::<CtlMemoryd>();
    let (_, [lines]) = owner.tail(TRACE, Tail { lines: 1, after: 0 }, []).unwrap();
    let line = String::from_utf8(lines.read().unwrap()).unwrap();
    assert!(line.contains("\"kind\":\"violation\"") && line.contains("\"emitter\":\"memoryd\""), "{line}");
    // The door goes on as if nothing had been.
    door.received(TRACE, received(2), [seal(b"hello")]).unwrap();
    running.drain();
}

#[test]
fn rubbish_on_a_link_closes_it_and_no_other() {
    let mut running = Running::start(none);
    let mut door = running.connect::<DoorMemoryd>();
    let (ours, theirs) = metnos_proto::socket::pair().unwrap();
    let end = EdgeEnd { edge: PlannerMemoryd::ID, side: Side::Answerer, generation: 9, peer: None };
    control::send(running.control.as_fd(), &Order::Edge(end), Some(theirs.as_fd())).unwrap();
    drop(theirs);
    metnos_proto::socket::send(ours.as_fd(), b"rubbish", &[]).unwrap();
    assert!(matches!(running.report(), Report::Violation(_)));
    door.received(TRACE, received(1), [seal(b"hello")]).unwrap();
    running.drain();
}

#[test]
fn last_word_of_old_link_is_recorded_when_peer_reconnects() {
    let mut running = Running::start(none);
    let old = running.connect::<DoorMemoryd>();
    // Said, and not waited for: the process is gone.
    let mut old = old;
    old.received(TRACE, received(1), [seal(b"hello")]).unwrap();
    drop(old);
    let mut new = running.connect::<DoorMemoryd>();
    assert_eq!(new.received(TRACE, received(1), [seal(b"hello")]).unwrap().0.seq, 1, "the same again is the same line");
    assert_eq!(new.received(TRACE, received(2), [seal(b"hello")]).unwrap().0.seq, 2);
    running.drain();
}

#[test]
fn there_are_so_many_links_and_one_more_is_closed() {
    let mut running = Running::start(none);
    let mut owners: Vec<_> = (0..=metnos_memoryd::daemon::MAX_LINKS).map(|_| running.connect::<CtlMemoryd>()).collect();
    let mut surplus = owners.pop().unwrap();
    for owner in &mut owners {
        owner.memory_status(TRACE, MemoryStatus {}, []).unwrap();
    }
    assert!(matches!(surplus.memory_status(TRACE, MemoryStatus {}, []), Err(RpcError::Gone(_))));
    running.drain();
}

/// A link whose rounds the test plays, and the asking end.
fn by_hand<E: Edge>() -> (Box<dyn Link>, BlockingClient<E>) {
    let (ours, theirs) = metnos_proto::socket::pair().unwrap();
    let raw = |side, fd| RawEnd { edge: E::ID, side, generation: 1, peer: None, fd };
    let asker = metnos_proto::edge::AskerEnd::new(raw(Side::Asker, ours)).unwrap();
    (accept(raw(Side::Answerer, theirs)).unwrap(), BlockingClient::new(asker).unwrap())
}

fn await_ask(link: &dyn Link) {
    let mut fds = [PollFd::new(&link, PollFlags::IN)];
    assert_eq!(rustix::event::poll(&mut fds, Some(&Timespec::try_from(WITHIN).unwrap())).unwrap(), 1);
}

#[test]
fn durable_lines_are_derived_before_any_peer_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    for name in [".audit", ".mnestome", ".runtime", "workspace"] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
    }
    let mut memory =
        Memory::open(dir.path(), SessionId::new(), Box::new(SystemClock), none(), 50, &Keys::none()).unwrap();
    let mut buffer = metnos_proto::socket::buffer();
    let (mut door, mut asks_door) = by_hand::<DoorMemoryd>();
    let (mut owner, mut asks_owner) = by_hand::<CtlMemoryd>();
    // Each end has said hello.
    door.take(&mut memory, &mut buffer).unwrap();
    owner.take(&mut memory, &mut buffer).unwrap();
    let asker = std::thread::spawn(move || {
        let told = asks_door.received(TRACE, received(1), [seal(b"hello")]).unwrap().0.seq;
        let again = asks_door.received(TRACE, received(1), [seal(b"hello")]).unwrap().0.seq;
        let next = asks_door.received(TRACE, received(2), [seal(b"hello")]).unwrap().0.seq;
        let seen = asks_owner.tail(TRACE, Tail { lines: 1, after: 0 }, []).unwrap().0.last_seq;
        (told, again, next, seen)
    });
    // Answered, and due; the same again is looked up, so that it is derived from; the next one is due again.
    for due in [1, 0, 1] {
        await_ask(door.as_ref());
        door.take(&mut memory, &mut buffer).unwrap();
        memory.flush_answering(|memory| door.release(memory).unwrap()).unwrap();
        assert_eq!(memory.due(), due);
    }
    await_ask(owner.as_ref());
    owner.take(&mut memory, &mut buffer).unwrap();
    assert_eq!(memory.due(), 0);
    owner.release(&memory).unwrap();
    assert_eq!(asker.join().unwrap(), (1, 1, 2, 2));
}

#[test]
fn a_verification_of_many_slices_comes_to_its_end_while_the_door_goes_on() {
    let mut running = Running::start(none);
    let mut door = running.connect::<DoorMemoryd>();
    for n in 1..=3 {
        let words = vec![b'x'; metnos_memoryd::links::VERIFY_SLICE_BYTES as usize + 1];
        door.received(TRACE, received(n), [seal(&words)]).unwrap();
    }
    let mut owner = running.connect::<CtlMemoryd>();
    let asking =
        std::thread::spawn(move || owner.verify(TRACE, Verify { since: 0 }, [Sealed::new(b"").unwrap()]).unwrap().0);
    for n in 4..=40 {
        door.received(TRACE, received(n), [seal(b"hello")]).unwrap();
    }
    let report = asking.join().unwrap();
    assert_eq!((report.lines, report.findings_total), (report.head.seq, 0));
    assert!(report.lines >= 3);
    running.drain();
}

#[test]
fn a_ping_is_answered_with_its_number() {
    let running = Running::start(none);
    control::send(running.control.as_fd(), &Order::Ping(Ping { number: 42 }), None).unwrap();
    match running.report() {
        Report::Pong(pong) => assert_eq!((pong.number, pong.pss_kib), (42, 7)),
        other @ (Report::Ready(_)
        | Report::Fault(_)
        | Report::Drained(_)
        | Report::Violation(_)
        | Report::Attempted(_)) => panic!("{other:?}"),
    }
    running.drain();
}

#[test]
fn without_its_supervisor_the_daemon_ends() {
    let Running { control, daemon, dir: _dir, .. } = Running::start(none);
    drop(control);
    assert!(matches!(daemon.join().unwrap(), Err(DaemonError::Control(_))));
}
