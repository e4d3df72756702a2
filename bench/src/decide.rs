//! What policyd itself takes: from `act` to its answer, with a memoryd that records in memory and a
//! sandboxd that runs nothing, so that neither disk nor sandbox is part of it.

use std::os::fd::AsFd;
use std::path::Path;
use std::thread::JoinHandle;

use metnos_proto::edge::{AskerEnd, No, Served};
use metnos_proto::edges::{
    DoorPolicyd, PlannerPolicyd, PolicydMemoryd, PolicydSandboxd, policyd_memoryd, policyd_sandboxd,
};
use metnos_proto::ids::{Blake3, Sha256, TraceId};
use metnos_proto::link::{BlockingClient, BlockingServer};
use metnos_proto::msg::common::{CallRef, Channel, Done, ExecutorDigests, ExecutorId, Outcome, Resources};
use metnos_proto::msg::memoryd::{
    Decision, DirectTurn, DirectTurnDone, ExecutorBorn, ExecutorLost, Recorded, SystemEvent, TurnClosed,
};
use metnos_proto::msg::policyd::{Act, Acted, EndTurn, RegisterPrompt};
use metnos_proto::msg::sandboxd::{
    Birth, Born, Forget, Install, Kill, KilledCount, Pool, PoolEntry, PoolListing, Resolve, Resolved, Run, RunReport,
    TrustKey,
};
use metnos_proto::payload::Sealed;
use metnos_proto::role::RoleName;
use metnos_proto::socket;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::solo::{Setup, Solo};
use rustix::event::{PollFd, PollFlags};

use crate::stats::{Table, Times};

/// Acts of each kind.
const ACTS: usize = 2_000;

/// Measures allowed and denied acts.
pub fn measure(table: &mut Table) {
    let mut set = Plan::new().in_memory().start();
    set.down();
    let mut policyd = Solo::spawn(&Setup {
        binary: set.command("metnos-policyd").get_program().into(),
        role: RoleName::Policyd,
        instance: set.home().to_owned(),
        ids: Some(set.owner()),
        waive: Vec::new(),
    });
    let memory = serve_memoryd(BlockingServer::new(policyd.answerer::<PolicydMemoryd>()).unwrap());
    let sandbox = serve_sandboxd(BlockingServer::new(policyd.answerer::<PolicydSandboxd>()).unwrap(), pool(&set));
    policyd.wait_ready();
    let mut owner = Owner {
        uid: set.owner(),
        door: BlockingClient::new(
            AskerEnd::<DoorPolicyd>::new(policyd.raw(metnos_proto::edges::EdgeId::DoorPolicyd)).unwrap(),
        )
        .unwrap(),
        planner: BlockingClient::new(
            AskerEnd::<PlannerPolicyd>::new(policyd.raw(metnos_proto::edges::EdgeId::PlannerPolicyd)).unwrap(),
        )
        .unwrap(),
    };
    let (mut allowed, mut denied) = (Times::default(), Times::default());
    for _ in 0..ACTS {
        assert!(matches!(owner.act("notes/welcome.md", &mut allowed), Acted::Ran(_)));
        assert!(matches!(owner.act("/etc/shadow", &mut denied), Acted::Denied(_)));
    }
    table.times("act → allow, recorded in memory, run by nobody", &allowed, String::new(), "≤ 100 µs");
    table.times("act → deny, recorded in memory", &denied, String::new(), "");
    drop((owner, policyd));
    memory.join().unwrap();
    sandbox.join().unwrap();
}

struct Owner {
    uid: u32,
    door: BlockingClient<DoorPolicyd>,
    planner: BlockingClient<PlannerPolicyd>,
}

impl Owner {
    /// One turn with one act; only the act is timed.
    fn act(&mut self, path: &str, times: &mut Times) -> Acted {
        let words = Sealed::new(format!("read {path}").as_bytes()).unwrap();
        let prompt = RegisterPrompt { channel: Channel::Cli, sender: format!("uid:{}", self.uid) };
        let (registered, []) = self.door.register_prompt(TraceId::NONE, prompt, [words]).unwrap();
        let arguments = Sealed::new(format!(r#"{{"path":"{path}"}}"#).as_bytes()).unwrap();
        let (turn, trace) = (registered.turn, registered.trace);
        let act = Act { turn, call: CallRef(1), executor: "fs_read".to_owned() };
        let (acted, []) = times.time(|| self.planner.act(trace, act, [arguments]).unwrap());
        self.planner.end_turn(trace, EndTurn { turn }, []).unwrap();
        acted
    }
}

/// What lies in the pool of this instance, as sandboxd would list it.
fn pool(set: &Instance) -> Vec<PoolEntry> {
    let mut entries = Vec::new();
    for folder in std::fs::read_dir(set.workspace("executors")).unwrap().flatten() {
        let Ok(version) = std::fs::read_to_string(folder.path().join("CURRENT")) else { continue };
        let version = version.trim().to_owned();
        let file = |name: &str| std::fs::read(folder.path().join(&version).join(name)).unwrap();
        let profile = String::from_utf8(file("profile.lock")).unwrap();
        entries.push(PoolEntry {
            id: ExecutorId { name: folder.file_name().to_str().unwrap().to_owned(), version: version.clone() },
            digests: ExecutorDigests {
                manifest: Blake3::of(&file("manifest.toml")),
                code: Blake3::of(&file("main.py")),
                schema: Blake3::of(&file("schema.json")),
                profile: Blake3::parse(profile.trim()).unwrap(),
            },
            fault: String::new(),
            signed: true,
        });
    }
    entries.sort_by(|a, b| a.id.name.cmp(&b.id.name));
    assert!(entries.iter().any(|entry| entry.id.name == "fs_read"), "{}", Path::display(set.home()));
    entries
}

macro_rules! serving {
    ($function:ident($edge:ident, $module:ident, $service:ty)) => {
        fn $function(mut server: BlockingServer<$edge>, service: $service) -> JoinHandle<()> {
            let mut service = service;
            std::thread::spawn(move || {
                let mut buffer = socket::buffer();
                loop {
                    match server.receive(&mut buffer) {
                        Ok(Some(incoming)) => {
                            let outgoing = $module::dispatch(&server, incoming, &mut service).unwrap();
                            server.answer(outgoing).unwrap();
                        }
                        Ok(None) => {
                            let mut fds = [PollFd::from_borrowed_fd(server.as_fd(), PollFlags::IN)];
                            rustix::event::poll(&mut fds, None).unwrap();
                        }
                        Err(_) => return,
                    }
                }
            })
        }
    };
}

serving!(memoryd_loop(PolicydMemoryd, policyd_memoryd, Memory));
serving!(sandboxd_loop(PolicydSandboxd, policyd_sandboxd, Sandbox));

fn serve_memoryd(server: BlockingServer<PolicydMemoryd>) -> JoinHandle<()> {
    memoryd_loop(server, Memory(0))
}

fn serve_sandboxd(server: BlockingServer<PolicydSandboxd>, pool: Vec<PoolEntry>) -> JoinHandle<()> {
    sandboxd_loop(server, Sandbox(pool))
}

/// Counts lines, and keeps none.
struct Memory(u64);

impl Memory {
    fn recorded(&mut self) -> Served<Recorded, 0> {
        self.0 += 1;
        Ok((Recorded { seq: self.0, hash: Sha256([0; 32]) }, []))
    }
}

type ToMemoryd = BlockingServer<PolicydMemoryd>;

impl policyd_memoryd::ServeBlocking for Memory {
    fn decision(&mut self, _: &ToMemoryd, _: TraceId, _: Decision, [_arguments]: [Sealed; 1]) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn direct_turn(&mut self, _: &ToMemoryd, _: TraceId, _: DirectTurn, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn direct_turn_done(
        &mut self,
        _: &ToMemoryd,
        _: TraceId,
        _: DirectTurnDone,
        []: [Sealed; 0],
    ) -> Served<TurnClosed, 0> {
        Ok((TurnClosed { mnests: 0 }, []))
    }

    fn executor_born(
        &mut self,
        _: &ToMemoryd,
        _: TraceId,
        _: ExecutorBorn,
        [_contract]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn executor_lost(&mut self, _: &ToMemoryd, _: TraceId, lost: ExecutorLost, []: [Sealed; 0]) -> Served<Recorded, 0> {
        Err(No::Violation(format!("{} was lost: {}", lost.id, lost.why)))
    }

    fn system_event(&mut self, _: &ToMemoryd, _: TraceId, _: SystemEvent, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.recorded()
    }
}

/// Lists the pool, and runs nothing.
struct Sandbox(Vec<PoolEntry>);

type ToSandboxd = BlockingServer<PolicydSandboxd>;

fn document(text: &str) -> Result<Sealed, No> {
    Sealed::new(text.as_bytes()).map_err(|error| No::Violation(error.to_string()))
}

impl policyd_sandboxd::ServeBlocking for Sandbox {
    fn trust(&mut self, _: &ToSandboxd, _: TraceId, _: TrustKey, []: [Sealed; 0]) -> Served<Done, 0> {
        Ok((Done {}, []))
    }

    fn pool(&mut self, _: &ToSandboxd, _: TraceId, _: Pool, []: [Sealed; 0]) -> Served<PoolListing, 0> {
        Ok((PoolListing { entries: self.0.clone() }, []))
    }

    fn birth(&mut self, _: &ToSandboxd, _: TraceId, birth: Birth, []: [Sealed; 0]) -> Served<Born, 1> {
        Err(No::Violation(format!("{} was born already", birth.id)))
    }

    fn install(&mut self, _: &ToSandboxd, _: TraceId, _: Install, []: [Sealed; 0]) -> Served<Done, 0> {
        Ok((Done {}, []))
    }

    fn resolve(&mut self, _: &ToSandboxd, _: TraceId, _: Resolve, []: [Sealed; 0]) -> Served<Resolved, 1> {
        Ok((Resolved { digests: Vec::new() }, [document("[]")?]))
    }

    fn run(&mut self, _: &ToSandboxd, _: TraceId, _: Run, [_arguments]: [Sealed; 1]) -> Served<RunReport, 1> {
        let result = r#"{"content":"","ok":true,"size":0}"#;
        let report = RunReport {
            outcome: Outcome::Ok,
            result: Blake3::of(result.as_bytes()),
            leaves: Vec::new(),
            inputs: Vec::new(),
            resources: Resources { wall_us: 0, cpu_us: 0, peak_kib: 0, output_bytes: 0 },
        };
        Ok((report, [document(result)?]))
    }

    fn kill(&mut self, _: &ToSandboxd, _: TraceId, _: Kill, []: [Sealed; 0]) -> Served<KilledCount, 0> {
        Ok((KilledCount { killed: 0 }, []))
    }

    fn forget(&mut self, _: &ToSandboxd, _: TraceId, _: Forget, []: [Sealed; 0]) -> Served<Done, 0> {
        Ok((Done {}, []))
    }
}
