//! What policyd itself takes: from `act` to its answer, with a memoryd that records in memory and a
//! sandboxd that runs nothing, so that neither disk nor sandbox is part of it.

use metnos_proto::edge::AskerEnd;
use metnos_proto::edges::{DoorPolicyd, EdgeId, PlannerPolicyd};
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::common::{CallRef, Channel};
use metnos_proto::msg::policyd::{Act, Acted, EndTurn, RegisterPrompt};
use metnos_proto::payload::Sealed;
use metnos_proto::role::RoleName;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::peers::{self, Memory, Sandbox};
use metnos_tests::solo::{Setup, Solo};

use crate::stats::{Table, Times, on_one_processor};

/// Acts of each kind.
const ACTS: usize = 2_000;

/// Measures allowed and denied acts.
pub fn measure(table: &mut Table) {
    let mut set = Plan::new().in_memory().start();
    set.down();
    on_one_processor(|| acts(table, &set));
}

fn acts(table: &mut Table, set: &Instance) {
    let mut policyd = Solo::spawn(&Setup {
        binary: set.command("metnos-policyd").get_program().into(),
        role: RoleName::Policyd,
        instance: set.home().to_owned(),
        ids: Some(set.owner()),
        waive: Vec::new(),
        models: metnos_proto::control::ModelSettings::default(),
    });
    let memory = peers::memoryd_for_policyd(policyd.answerer(), Memory::default());
    let sandbox = peers::sandboxd_for_policyd(policyd.answerer(), Sandbox::of(set));
    policyd.wait_ready();
    let door = AskerEnd::<DoorPolicyd>::new(policyd.raw(EdgeId::DoorPolicyd)).unwrap();
    let planner = AskerEnd::<PlannerPolicyd>::new(policyd.raw(EdgeId::PlannerPolicyd)).unwrap();
    let mut owner = Owner {
        uid: set.owner(),
        door: BlockingClient::new(door).unwrap(),
        planner: BlockingClient::new(planner).unwrap(),
    };
    let (mut allowed, mut denied) = (Times::default(), Times::default());
    for _ in 0..ACTS {
        let acted = owner.act("notes/welcome.md", &mut allowed);
        assert!(matches!(acted, Acted::Ran(_)), "{acted:?}");
        let acted = owner.act("/etc/shadow", &mut denied);
        assert!(matches!(acted, Acted::Denied(_)), "{acted:?}");
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
