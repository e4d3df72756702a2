//! Scripted peers for the tests of the whole daemon: a memoryd and a sandboxd that note what
//! they are asked, in which order, and lie or die on demand.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, reason = "helpers of several test programs")]

#[path = "../../../src/testing.rs"]
pub mod testing;

pub mod memory;
pub mod mind;
pub mod sandbox;
pub mod schedules;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::path::Path;
use std::rc::Rc;

use metnos_policyd::base::{Base, Peers};
use metnos_policyd::clock::Clock;
use metnos_policyd::executors::seeds::Seed;
use metnos_policyd::key::InstanceKey;
use metnos_policyd::opened::Opened;
use metnos_policyd::paths::Places;
use metnos_policyd::perimeter::Perimeter;
use metnos_policyd::perimeter::outside::Folders;
use metnos_policyd::policy::Policy;
use metnos_policyd::setting::Setting;
use metnos_policyd::store::StoreError;
use metnos_proto::control::BudgetSettings;
use metnos_proto::edge::{PeerCred, RpcError, pair};
use metnos_proto::edges::{
    CtlPolicyd, DoorPolicyd, PlannerPolicyd, PolicydMemoryd, PolicydMind, PolicydSandboxd, SyntdPolicyd, ctl_policyd,
    door_policyd, planner_policyd, policyd_memoryd, policyd_mind, policyd_sandboxd, syntd_policyd,
};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::{CallRef, Channel, Lang};
use metnos_proto::msg::policyd::{Act, Acted, Ran, RegisterPrompt};
use metnos_proto::payload::Sealed;
use serde_json::Value;

pub use memory::FakeMemory;
pub use mind::FakeMind;
pub use sandbox::{FakeExecutor, FakeSandbox};

/// What was asked of whom, in order.
pub type Log = Rc<RefCell<Vec<String>>>;

/// The instance that the tests speak of.
pub const INSTANCE: &str = "/srv/metnos";
/// Its owner.
pub const OWNER: u32 = 1000;

thread_local! {
    /// The budgets of the next policyd of this test.
    pub static BUDGETS: RefCell<BudgetSettings> = RefCell::new(BudgetSettings::default());
    /// Whether the next policyd of this test only shows drafts.
    pub static DRY_RUN: Cell<bool> = const { Cell::new(true) };
}

/// A clock that stands still until it is turned.
#[derive(Debug, Default)]
pub struct StillClock(pub Rc<Cell<u64>>);

impl Clock for StillClock {
    fn monotonic_ms(&self) -> u64 {
        self.0.get()
    }

    fn wall_ms(&self) -> u64 {
        1_770_000_000_000 + self.0.get()
    }
}

/// A policyd with its peers.
pub struct World {
    pub policy: Rc<Policy>,
    pub log: Log,
    pub memory: Rc<FakeMemory>,
    pub sandbox: Rc<FakeSandbox>,
    pub mind: Rc<FakeMind>,
    pub memory_client: Rc<Client<PolicydMemoryd>>,
    pub sandbox_client: Rc<Client<PolicydSandboxd>>,
    pub mind_client: Rc<Client<PolicydMind>>,
    pub clock: Rc<Cell<u64>>,
}

/// Runs a test to its end on a runtime of its own, so that all its tasks end with it.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test)
}

/// The registry in `folder`, once an earlier daemon has let go of it.
fn open(folder: &Path, key: &InstanceKey) -> Opened {
    loop {
        match Opened::open(folder, &key.public()) {
            Ok(opened) => return opened,
            Err(StoreError::Sqlite(_)) => std::thread::yield_now(),
            Err(other) => panic!("{other}"),
        }
    }
}

impl World {
    /// A policyd on `folder` whose release has these seeds, with peers that are not there yet.
    pub fn new(folder: &Path, executors: Vec<FakeExecutor>, seeds: &[&FakeExecutor]) -> Self {
        let seeds: Vec<Seed> = seeds.iter().map(|executor| executor.seed()).collect();
        let key = InstanceKey::open_or_create(folder).unwrap();
        let mut opened = open(folder, &key);
        let workspace = folder.join("workspace");
        std::fs::create_dir_all(&workspace).unwrap();
        let last_anchor = opened.kept.last_anchor;
        let setting = Setting {
            places: Places::of_instance(INSTANCE),
            owner_uid: OWNER,
            lang: Lang::It,
            zone: "UTC".to_owned(),
            calls_per_minute: 600,
            hosts: Vec::new(),
            commands: Vec::new(),
            guest_folders: Vec::new(),
            dry_run: DRY_RUN.get(),
            budget: BUDGETS.with(|set| set.borrow().clone()),
            seeds: Box::leak(seeds.into_boxed_slice()),
        };
        let log = Log::default();
        let clock = Rc::new(Cell::new(0));
        let memory_client = Rc::new(Client::default());
        let sandbox_client = Rc::new(Client::default());
        let mind_client = Rc::new(Client::default());
        let peers = Peers {
            sandbox: Rc::clone(&sandbox_client),
            memory: Rc::clone(&memory_client),
            mind: Rc::clone(&mind_client),
        };
        let perimeter = Perimeter::open(setting, &workspace, Folders::default()).unwrap();
        let store = opened.start().unwrap();
        let base = Base::new(store, Box::new(StillClock(Rc::clone(&clock))), peers, perimeter);
        let policy = Policy::new(base, key, opened.kept);
        let memory = Rc::new(FakeMemory::new(Rc::clone(&log)));
        // The chronicle is as long as an earlier policyd has signed it.
        memory.seq.set(last_anchor.map_or(0, |last| last.anchor.seq));
        let sandbox = Rc::new(FakeSandbox::new(Rc::clone(&log), executors));
        let mind = Rc::new(FakeMind::new(Rc::clone(&log)));
        Self { policy, log, memory, sandbox, mind, memory_client, sandbox_client, mind_client, clock }
    }

    /// The same, with all peers there and everything born that can be.
    pub async fn settled(folder: &Path, executors: Vec<FakeExecutor>, seeds: &[&FakeExecutor]) -> Self {
        let world = Self::new(folder, executors, seeds);
        world.start_memory(1).await;
        world.start_sandbox(1);
        world.keep();
        world.policy.settled().await;
        world
    }

    /// The usual world: `fs_read`, born, and an empty log.
    pub async fn usual(folder: &Path) -> Self {
        let reader = FakeExecutor::reader("fs_read");
        let world = Self::settled(folder, vec![reader.clone()], &[&reader]).await;
        world.log.borrow_mut().clear();
        world
    }

    /// What the daemon does of its own accord.
    pub fn keep(&self) {
        self.policy.start_tasks();
    }

    pub async fn start_memory(&self, generation: u32) {
        let (asker, answerer) = pair::<PolicydMemoryd>(generation, None).unwrap();
        tokio::task::spawn_local(policyd_memoryd::serve(answerer, Rc::clone(&self.memory)));
        self.memory_client.attach(asker).unwrap();
        tokio::task::yield_now().await;
    }

    pub fn start_sandbox(&self, generation: u32) {
        let (asker, answerer) = pair::<PolicydSandboxd>(generation, None).unwrap();
        tokio::task::spawn_local(policyd_sandboxd::serve(answerer, Rc::clone(&self.sandbox)));
        self.sandbox_client.attach(asker).unwrap();
    }

    /// A mind; there is none before.
    pub async fn start_mind(&self, generation: u32) {
        let (asker, answerer) = pair::<PolicydMind>(generation, None).unwrap();
        tokio::task::spawn_local(policyd_mind::serve(answerer, Rc::clone(&self.mind)));
        self.mind_client.attach(asker).unwrap();
        tokio::task::yield_now().await;
    }

    pub async fn door(&self) -> Rc<Client<DoorPolicyd>> {
        let (asker, answerer) = pair::<DoorPolicyd>(1, None).unwrap();
        tokio::task::spawn_local(door_policyd::serve(answerer, Rc::clone(&self.policy)));
        attached(asker).await
    }

    pub async fn planner(&self, generation: u32) -> Rc<Client<PlannerPolicyd>> {
        let (asker, answerer) = pair::<PlannerPolicyd>(generation, None).unwrap();
        let policy = Rc::clone(&self.policy);
        tokio::task::spawn_local(async move {
            let closed = planner_policyd::serve(answerer, Rc::clone(&policy)).await;
            policy.closed("the planner", &closed);
            policy.planner_gone(generation);
        });
        attached(asker).await
    }

    pub async fn syntd(&self) -> Rc<Client<SyntdPolicyd>> {
        self.syntd_on(1).await
    }

    /// The same, on a link of that generation.
    pub async fn syntd_on(&self, generation: u32) -> Rc<Client<SyntdPolicyd>> {
        let (asker, answerer) = pair::<SyntdPolicyd>(generation, None).unwrap();
        tokio::task::spawn_local(syntd_policyd::serve(answerer, Rc::clone(&self.policy)));
        attached(asker).await
    }

    pub async fn owner(&self, uid: u32) -> Rc<Client<CtlPolicyd>> {
        let (asker, answerer) = pair::<CtlPolicyd>(1, Some(PeerCred { pid: 1, uid })).unwrap();
        tokio::task::spawn_local(ctl_policyd::serve(answerer, Rc::clone(&self.policy)));
        attached(asker).await
    }

    /// Words of the owner, registered.
    pub async fn say(&self, words: &str) -> TurnId {
        let door = self.door().await;
        let ask = RegisterPrompt { channel: Channel::Cli, sender: format!("uid:{OWNER}") };
        door.register_prompt(TraceId::NONE, ask, [Sealed::new(words.as_bytes()).unwrap()]).await.unwrap().0.turn
    }

    /// What was asked since the last look.
    pub fn took(&self) -> Vec<String> {
        std::mem::take(&mut self.log.borrow_mut())
    }

    /// Waits until something was asked that begins like this.
    pub async fn until(&self, beginning: &str) {
        while !self.log.borrow().iter().any(|line| line.starts_with(beginning)) {
            tokio::task::yield_now().await;
        }
    }
}

async fn attached<E: metnos_proto::edge::Edge>(end: metnos_proto::edge::AskerEnd<E>) -> Rc<Client<E>> {
    let client = Rc::new(Client::<E>::default());
    client.attach(end).unwrap();
    tokio::task::yield_now().await;
    client
}

/// A document that was answered, or the rule of the refusal.
pub fn document<T>(answer: Result<(T, [Sealed; 1]), RpcError>) -> Result<Value, String> {
    match answer {
        Ok((_, [document])) => Ok(serde_json::from_slice(&document.read().unwrap()).unwrap()),
        Err(RpcError::Refused(refusal)) => Err(refusal.rule),
        Err(other) => panic!("{other}"),
    }
}

/// Arguments as they travel.
pub fn sealed(value: &Value) -> Sealed {
    Sealed::new(value.to_string().as_bytes()).unwrap()
}

/// An ask to act.
pub fn act(turn: TurnId, call: u16, executor: &str) -> Act {
    Act { turn, call: CallRef(call), executor: executor.to_owned() }
}

/// The call that ran.
pub fn ran(acted: Acted) -> Ran {
    match acted {
        Acted::Ran(ran) => ran,
        Acted::Denied(refusal) => panic!("denied: {refusal:?}"),
    }
}

/// The rule that denied.
pub fn denied(acted: Acted) -> String {
    match acted {
        Acted::Denied(refusal) => refusal.rule,
        Acted::Ran(ran) => panic!("it ran: {ran:?}"),
    }
}
