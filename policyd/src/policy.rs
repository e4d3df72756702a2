//! The state of the running daemon, and what its parts have in common. It holds no decision
//! of its own: those are in the pure cores.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use metnos_policy::evidence::context::{Confirm, World};
use metnos_policy::text::words::fold;
use metnos_proto::control::BudgetSettings;
use metnos_proto::edge::RpcError;
use metnos_proto::edges::{PlannerPolicyd, PolicydMemoryd, PolicydMind, PolicydSandboxd, planner_policyd};
use metnos_proto::executor::commands::bare;
use metnos_proto::executor::guests;
use metnos_proto::ids::{CallId, TraceId, TurnId};
use metnos_proto::link_async::{Client, Closed, MAX_IN_FLIGHT, Notes};
use metnos_proto::msg::common::{CallRef, Channel, Lang, Standing};
use metnos_proto::msg::memoryd::{MAX_EVENT_TEXT, SystemEvent};
use metnos_proto::msg::policyd::{CallProgress, PolicyReport};
use metnos_proto::msg::sandboxd::{Forget, RunProgress};
use metnos_proto::role::RoleName;
use tokio::sync::{Mutex, Notify, Semaphore, watch};

use crate::approvals::Card;
use crate::approvals::grants::Grant;
use crate::approvals::totp::Enrolled;
use crate::calls::path_locks::PathLocks;
use crate::calls::rate::Rate;
use crate::calls::turns::Turns;
use crate::chronicle::anchors::Chain;
use crate::clock::Clock;
use crate::decision::MAX_RUNNING;
use crate::executors::failure_limit::FailureLimit;
use crate::executors::registry::Registry;
use crate::executors::seeds::Seed;
use crate::executors::switches::{Switches, What};
use crate::house::House;
use crate::key::InstanceKey;
use crate::paths::Places;
use crate::people::pairing::automations::is_automatic;
use crate::people::pairing::book::LOCKED_MS;
use crate::people::principal::Principal;
use crate::store::cards::Words;
use crate::store::{Row, Store};

/// How long a call waits for a sandboxd that is being restarted, in milliseconds.
pub const SANDBOX_WITHIN_MS: u64 = 3_000;
/// The most asks to sandboxd about calls at once; of the client's own a few more are left for trust and births, and one for
/// each call to say what became of its decision.
const MAX_TO_SANDBOX: usize = MAX_IN_FLIGHT - 4 - MAX_RUNNING;
const _: () = assert!(MAX_RUNNING < MAX_TO_SANDBOX, "every call that may run must find room");
/// The most events on their way to memoryd; more are only logged.
const MAX_EVENTS: usize = 32;

/// What policyd is told about its instance.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Where the instance lives.
    pub places: Places,
    /// Who owns it.
    pub owner_uid: u32,
    /// The language people are spoken to in.
    pub lang: Lang,
    /// Where this machine's clock stands, for people.
    pub zone: String,
    /// Calls a principal may have decided in a minute.
    pub calls_per_minute: u32,
    /// Hosts that may be read without asking, each with its scheme.
    pub hosts: Vec<String>,
    /// Programs that executors may be granted to run, by path.
    pub commands: Vec<String>,
    /// Folders of the workspace that guests read besides `shared`.
    pub guest_folders: Vec<String>,
    /// What may be used up.
    pub budget: BudgetSettings,
    /// What is signed without the owner.
    pub seeds: &'static [Seed],
}

/// The ways to those whom policyd asks.
#[derive(Debug, Clone)]
pub struct Peers {
    /// Runs what was decided.
    pub sandbox: Rc<Client<PolicydSandboxd>>,
    /// Makes durable what was decided.
    pub memory: Rc<Client<PolicydMemoryd>>,
    /// Judges, and thinks as far as it was funded.
    pub mind: Rc<Client<PolicydMind>>,
}

/// A call that runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) turn: TurnId,
    pub(crate) place: CallRef,
    pub(crate) notes: Option<Notes<PlannerPolicyd>>,
    pub(crate) executor: String,
}

/// policyd, running.
pub struct Policy {
    pub(crate) setting: Setting,
    pub(crate) key: InstanceKey,
    pub(crate) store: Store,
    pub(crate) clock: Box<dyn Clock>,
    pub(crate) sandbox: Rc<Client<PolicydSandboxd>>,
    pub(crate) memory: Rc<Client<PolicydMemoryd>>,
    pub(crate) mind: Rc<Client<PolicydMind>>,
    pub(crate) registry: RefCell<Registry>,
    pub(crate) turns: RefCell<Turns>,
    pub(crate) rate: RefCell<Rate>,
    pub(crate) running: RefCell<HashMap<CallId, Running>>,
    /// What waits for the owner's word, and what was answered lately, by name.
    pub(crate) cards: RefCell<BTreeMap<String, Card>>,
    /// Held by whoever makes a card or adds to one.
    pub(crate) carding: Mutex<()>,
    /// What the owner has said for longer than once, by name.
    pub(crate) grants: RefCell<BTreeMap<String, Grant>>,
    /// The owner's one-time codes.
    pub(crate) codes: RefCell<Option<Enrolled>>,
    /// Held by whoever judges one.
    pub(crate) coding: Mutex<()>,
    /// The door that spoke last.
    pub(crate) door: crate::people::door::Door,
    /// What the owner has switched off.
    pub(crate) switches: RefCell<Switches>,
    /// How often executors have failed by their own making.
    pub(crate) strikes: RefCell<FailureLimit>,
    /// The constitution, proposals, people and the rest; set once, before anybody is served.
    house: OnceCell<House>,
    pub(crate) reserved: Cell<usize>,
    /// Files that pass through.
    pub(crate) files: crate::calls::files::Files,
    pub(crate) decisions: Cell<u64>,
    pub(crate) denials: Cell<u64>,
    pub(crate) draining: Cell<bool>,
    pub(crate) idle: Notify,
    /// The generation of sandboxd that trusts the key and whose pool was compared; 0 for none.
    pub(crate) established: watch::Sender<u32>,
    /// Whether the pool was looked at and every birth tried, at least once.
    pub(crate) settled: watch::Sender<bool>,
    /// Executors whose birth is under way or still to come.
    pub(crate) unborn: Cell<usize>,
    /// Held by whoever takes something back.
    pub(crate) undoing: Mutex<()>,
    /// Calls that change one path run one after the other.
    pub(crate) path_locks: Rc<PathLocks>,
    /// What is known of the chronicle's head.
    pub(crate) chain: RefCell<Chain>,
    /// Held by whoever has a head of the chronicle signed.
    pub(crate) signing: Mutex<()>,
    /// Held by whoever tells memoryd of losses.
    pub(crate) telling: Mutex<()>,
    events: Cell<usize>,
    /// Room for asks to sandboxd: less than its client has, so that none waits inside the client.
    to_sandbox: Semaphore,
}

impl std::fmt::Debug for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Policy").field("setting", &self.setting).finish_non_exhaustive()
    }
}

impl Policy {
    /// A policyd that knows what the registry holds, and lets nothing be called yet.
    #[must_use]
    pub fn new(
        setting: Setting,
        key: InstanceKey,
        store: Store,
        rows: Vec<Row>,
        clock: Box<dyn Clock>,
        Peers { sandbox, memory, mind }: Peers,
    ) -> Rc<Self> {
        let rate = Rate::new(setting.calls_per_minute);
        Rc::new(Self {
            setting,
            key,
            store,
            clock,
            sandbox,
            memory,
            mind,
            registry: RefCell::new(Registry::new(rows)),
            turns: RefCell::default(),
            rate: RefCell::new(rate),
            running: RefCell::default(),
            cards: RefCell::default(),
            carding: Mutex::new(()),
            grants: RefCell::default(),
            codes: RefCell::default(),
            coding: Mutex::new(()),
            door: crate::people::door::Door::default(),
            switches: RefCell::default(),
            strikes: RefCell::default(),
            house: OnceCell::new(),
            reserved: Cell::new(0),
            files: crate::calls::files::Files::default(),
            decisions: Cell::new(0),
            denials: Cell::new(0),
            draining: Cell::new(false),
            idle: Notify::new(),
            established: watch::Sender::new(0),
            settled: watch::Sender::new(false),
            unborn: Cell::new(0),
            undoing: Mutex::new(()),
            path_locks: Rc::default(),
            chain: RefCell::default(),
            signing: Mutex::new(()),
            telling: Mutex::new(()),
            events: Cell::new(0),
            to_sandbox: Semaphore::new(MAX_TO_SANDBOX),
        })
    }

    /// Takes over the cards, stored words and codes that were left from before.
    pub fn hold(&self, words: Words) {
        self.cards.borrow_mut().extend(words.cards.into_iter().map(|card| (card.id.clone(), card)));
        self.grants.borrow_mut().extend(words.grants.into_iter().map(|grant| (grant.id.clone(), grant)));
        *self.codes.borrow_mut() = words.codes.and_then(|codes| self.opened(codes));
    }

    /// Takes over what else was left from before; without it, everything of it is empty.
    pub fn furnish(&self, mut house: House) {
        let (now, wall) = (self.clock.monotonic_ms(), self.clock.wall_ms());
        for (channel, sender, until) in house.locked.drain(..) {
            // Never for longer than it can have been meant, whatever the clock on the wall did.
            let left = until.saturating_sub(wall).min(LOCKED_MS);
            house.book.get_mut().lock(channel, sender, now.saturating_add(left));
        }
        self.registry.borrow_mut().know_origins(house.origins.take());
        if self.house.set(house).is_err() {
            tracing::error!("policyd was furnished twice; the first time counts");
        }
    }

    /// See [`House`].
    pub(crate) fn house(&self) -> &House {
        self.house.get_or_init(House::default)
    }

    /// What holds for the decisions of a turn of this principal.
    pub(crate) fn world(&self, principal: &Principal) -> Rc<World> {
        let mut world = World::new(principal.level, Confirm::Card, self.setting.places.clone());
        world.lang = self.setting.lang;
        // No payment goes by without a word that a whole turn may not spend.
        world.money_cap = Some(f64::from(self.setting.budget.turn_micro) / 1e6);
        world.hosts = self.setting.hosts.iter().map(|host| fold(host)).collect();
        world.commands = self.setting.commands.iter().flat_map(|path| [bare(path).to_owned(), path.clone()]).collect();
        let automatic = is_automatic(principal.channel);
        // A turn of the owner's words alone is his, and reads everything. One that carries data from outside is a guest's.
        world.guest_folders = match principal.channel {
            Channel::Timer => vec![String::new()],
            Channel::Cli | Channel::Http | Channel::Telegram | Channel::Scheduler | Channel::Hook | Channel::Metnos => {
                guests::folders(&self.setting.guest_folders)
            }
        };
        world.guest_writes = principal.standing == Standing::Guest && !automatic;
        if principal.standing == Standing::Owner {
            world.owner.insert(fold(&principal.name));
            world.owner.extend(self.house().people.borrow().owners().map(fold));
        }
        Rc::new(world)
    }

    /// Whether sandboxd is there, trusts the key, and its pool was compared.
    #[must_use]
    pub fn sandbox_ready(&self) -> bool {
        let established = *self.established.borrow();
        established != 0 && established == *self.sandbox.generations().borrow()
    }

    /// Waits a moment for a sandboxd that is being restarted.
    pub(crate) async fn sandbox_soon(&self) {
        if self.sandbox_ready() {
            return;
        }
        let mut established = self.established.subscribe();
        let waiting = established.wait_for(|_| self.sandbox_ready());
        let _ = tokio::time::timeout(Duration::from_millis(SANDBOX_WITHIN_MS), waiting).await;
    }

    /// Asks the sandboxd that was established, and no other: what is asked here never waits for the next
    /// one, where it would come before the key.
    pub(crate) async fn ask_sandbox<T>(&self, ask: impl Future<Output = Result<T, RpcError>>) -> Result<T, RpcError> {
        let gone = RpcError::Gone(RoleName::Sandboxd);
        let Ok(_room) = self.to_sandbox.acquire().await else { return Err(gone) };
        if !self.sandbox_ready() {
            return Err(gone);
        }
        // Without the scheduler's budget, the first poll sends; nothing comes between the look and that.
        tokio::task::unconstrained(ask).await
    }

    /// Waits until the pool was looked at and every birth tried.
    pub async fn settled(&self) {
        let _ = self.settled.subscribe().wait_for(|settled| *settled).await;
    }

    /// Has something recorded that nobody waits for.
    pub(crate) fn event(self: &Rc<Self>, kind: &str, text: &str, turn: Option<TurnId>) {
        tracing::warn!(kind, text, "event");
        if self.events.get() >= MAX_EVENTS {
            return;
        }
        self.events.set(self.events.get() + 1);
        let text = head(text, MAX_EVENT_TEXT);
        let event = SystemEvent { kind: kind.to_owned(), text, turn };
        let policy = Rc::clone(self);
        tokio::task::spawn_local(async move {
            if let Err(error) = policy.memory.system_event(TraceId::NONE, event, []).await {
                tracing::error!(%error, "an event could not be recorded");
            }
            policy.events.set(policy.events.get() - 1);
        });
    }

    /// A served link has ended: a breach of protocol is recorded.
    pub fn closed(self: &Rc<Self>, peer: &str, closed: &Closed) {
        if let Closed::Violation(what) = closed {
            self.event("violation", &format!("{peer} broke the protocol: {what}"), None);
        }
    }

    /// The planner of this link is gone: its turns are over, what it left running runs out its quotas.
    pub fn planner_gone(self: &Rc<Self>, link: u32) {
        let ended = self.turns.borrow_mut().end_of_link(link);
        for turn in ended {
            self.forget(turn);
        }
    }

    /// A turn is over: mind thinks no more for it, and sandboxd drops its results.
    pub(crate) fn forget(self: &Rc<Self>, turn: TurnId) {
        self.end_thinking(turn);
        if !self.sandbox_ready() {
            return;
        }
        let policy = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let forget = policy.sandbox.forget(TraceId::NONE, Forget { turn }, []);
            if let Err(error) = policy.ask_sandbox(forget).await {
                tracing::debug!(%error, %turn, "sandboxd has not dropped the results of a turn");
            }
        });
    }

    /// Passes on how far a call is. A planner that does not read misses it; nobody waits.
    pub(crate) async fn progress(&self, progress: RunProgress) {
        let found = self
            .running
            .borrow()
            .get(&progress.call)
            .and_then(|running| running.notes.clone().map(|notes| (notes, running.turn, running.place)));
        let Some((notes, turn, call)) = found else { return };
        let note = planner_policyd::Note::CallProgress(CallProgress {
            turn,
            call,
            done: progress.done,
            total: progress.total,
        });
        tokio::select! {
            biased;
            sent = notes.send(note) => {
                if let Err(error) = sent {
                    tracing::debug!(%error, "progress that nobody hears");
                }
            }
            () = std::future::ready(()) => {}
        }
    }

    /// Begins what goes on beside all asks, as long as policyd runs.
    pub fn start_tasks(self: &Rc<Self>) {
        let of = || Rc::clone(self);
        tokio::task::spawn_local(of().keep_chain());
        tokio::task::spawn_local(of().keep_sandbox());
        tokio::task::spawn_local(of().keep_memory());
        tokio::task::spawn_local(of().hear_sandbox());
        tokio::task::spawn_local(of().keep_constitution());
        tokio::task::spawn_local(of().keep_mind());
        tokio::task::spawn_local(of().hear_mind());
    }

    /// No call is begun any more; returns when none runs, or after `within`.
    pub async fn drain(&self, within: Duration) {
        self.draining.set(true);
        let quiet = async {
            loop {
                let idle = self.idle.notified();
                if self.reserved.get() == 0 {
                    return;
                }
                idle.await;
            }
        };
        let _ = tokio::time::timeout(within, quiet).await;
    }

    /// For `status`.
    #[must_use]
    pub fn report(&self) -> PolicyReport {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let switches = self.switches.borrow();
        PolicyReport {
            turns: count(self.turns.borrow().len()),
            running: count(self.reserved.get()),
            decisions_total: self.decisions.get(),
            denials_total: self.denials.get(),
            public_key: self.key.public_hex(),
            undecided: self.undecided(),
            signed_line: self.chain.borrow().last.map_or(0, |last| last.seq),
            unsigned_lines: self.chain.borrow().unsigned,
            unborn: count(self.unborn.get()),
            stopped_ms: switches.get(&What::All).map_or(0, |thrown| thrown.since_ms.max(1)),
            stopped_by: switches.get(&What::All).map_or_else(String::new, |thrown| thrown.by.clone()),
            disabled: switches.keys().filter_map(What::executor).map(str::to_owned).collect(),
            notices: self.house().notices.list(),
        }
    }
}

/// The beginning of a text, at most so many bytes, whole characters only.
pub(crate) fn head(text: &str, bytes: usize) -> String {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
