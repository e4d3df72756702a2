//! What waits for calls, so that a call need not wait (design: sandbox §4): empty children of a zygote, and some that are
//! sealed already with the code of an executor that is expected. Each serves one call and dies. Nothing depends on this
//! but speed: a call that finds nothing here executes a fresh interpreter, to the same seal.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::Carrier;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::confine::approved::{GrantView, Identity};
use crate::confine::order::{self, layout};
use crate::plan::{Mount, Plan, Spec};
use crate::process::frames::{self, Instruction};
use crate::process::launch::Launcher;

mod broker;
mod channel;
mod fill;
mod idle;
mod line;
mod narrow;
pub mod stock;
mod waiting;
mod zygote;

use broker::Broker;
use channel::{send, send_code};
pub use idle::Idle;
use stock::{CallSequences, MAX_KNOWN, WarmKey};
use waiting::{Waiting, WarmCode};
use zygote::Zygote;

/// How long after a failure to start it is tried again; doubling.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// The longest pause between tries.
const AGAIN_AT_MOST: Duration = Duration::from_secs(60);
/// How long after a call the pool is filled again, at the earliest: what a call still needs of other daemons, and of the
/// processors, must not wait for it.
const AFTER_A_CALL: Duration = Duration::from_millis(2);
/// How long calls may put it off.
const PUT_OFF_AT_MOST: Duration = Duration::from_millis(25);
/// With fewer empty children than this it is not put off.
const LOW: usize = 1;
/// The longest that one step towards a full pool may take: a few answers, and the compiling of one executor.
const STEP_WITHIN: Duration = Duration::from_secs(45);
/// The most bytes of compiled code of one executor; longer code is compiled at each call.
const MAX_COMPILED: usize = 1 << 20;

/// The most plans of which is remembered whether a child can become them.
const MAX_FITTING: usize = 256;

/// The most bytes of code that an executor may wait with: more might not fit its channel at once.
const MAX_TOLD: usize = 96 << 10;

/// What served calls, and what it took.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Calls that found their executor waiting.
    pub predicted: u64,
    /// Calls that found an empty child.
    pub warm: u64,
    /// Calls for which a child was forked.
    pub forked: u64,
    /// Calls for which an interpreter was executed.
    pub execed: u64,
    /// Zygotes that were started.
    pub zygotes: u64,
    /// Children that were forked.
    pub forks: u64,
}

/// A mount that is attached nowhere yet.
#[derive(Debug)]
pub struct DetachedMount<'a> {
    /// What it is.
    pub mount: &'a Mount,
    /// It.
    pub grant: OwnedFd,
    /// Where it begins.
    pub found: Identity,
}

/// A process that was taken for a call.
#[derive(Debug)]
pub struct TakenProcess {
    /// It. Dropped, it ends.
    pub process: Idle,
    /// On which step of the ladder.
    pub carrier: Carrier,
    /// What must still be sent to it before the request.
    pub code: Vec<u8>,
}

/// See the head of this file.
#[derive(Debug)]
pub struct Pool {
    launcher: Rc<Launcher>,
    /// The sandbox without any grant: what a zygote is made from.
    base: Plan,
    broker: RefCell<Option<Rc<Broker>>>,
    zygote: RefCell<Option<(Rc<Zygote>, Instant)>>,
    forks: Cell<u32>,
    suspect: Cell<bool>,
    children: RefCell<Vec<Idle>>,
    waiting: RefCell<BTreeMap<WarmKey, Waiting>>,
    habits: RefCell<CallSequences>,
    known: RefCell<BTreeMap<WarmKey, WarmCode>>,
    uses: Cell<u64>,
    last_call: Cell<Option<Instant>>,
    /// Plans of which is known whether a child can become them, by their digest.
    fitting: RefCell<BTreeMap<[u8; 32], bool>>,
    /// Processes that were ordered to end, until they have.
    ending: RefCell<Vec<Idle>>,
    /// Calls that are running now, and when the last one ended.
    running: Cell<usize>,
    last_end: Cell<Option<Instant>>,
    nudge: Notify,
    counts: Cell<Counts>,
}

impl Pool {
    /// An empty pool. `base` is a plan without grants.
    #[must_use]
    pub fn new(launcher: Rc<Launcher>, base: Plan) -> Rc<Self> {
        Rc::new(Self {
            launcher,
            base,
            broker: RefCell::new(None),
            zygote: RefCell::new(None),
            forks: Cell::new(0),
            suspect: Cell::new(false),
            children: RefCell::default(),
            waiting: RefCell::default(),
            habits: RefCell::default(),
            known: RefCell::default(),
            uses: Cell::new(0),
            last_call: Cell::new(None),
            fitting: RefCell::default(),
            ending: RefCell::default(),
            running: Cell::new(0),
            last_end: Cell::new(None),
            nudge: Notify::new(),
            counts: Cell::new(Counts::default()),
        })
    }

    /// Keeps the pool filled while calls come, and empty while none do, for as long as the process lives.
    pub async fn keep(self: Rc<Self>) {
        let mut pause = AGAIN_AFTER;
        loop {
            let quiet = self.last_call.get().map(|last| last.elapsed());
            if stock::is_asleep(quiet) {
                self.clear();
                self.nudge.notified().await;
                continue;
            }
            self.out_of_the_way().await;
            let step = tokio::time::timeout(STEP_WITHIN, self.step()).await;
            match step.unwrap_or_else(|_| Err(format!("a step took longer than {} s", STEP_WITHIN.as_secs()))) {
                Ok(None) => pause = AGAIN_AFTER,
                Ok(Some(rest)) => {
                    let awake = stock::ASLEEP_AFTER.saturating_sub(quiet.unwrap_or_default());
                    let _ = tokio::time::timeout(rest.min(awake), self.nudge.notified()).await;
                }
                Err(why) => {
                    tracing::warn!(why, "the pool of warm processes cannot be filled; calls execute an interpreter");
                    self.clear();
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(AGAIN_AT_MOST);
                }
            }
        }
    }

    /// A call runs until this is dropped.
    #[must_use]
    pub fn call(&self) -> Call<'_> {
        self.running.set(self.running.get() + 1);
        Call(self)
    }

    /// Whether calls come faster than one after the other: then there is no moment between them to wait for, and what
    /// is done ahead of one call is missed by another.
    fn is_crowded(&self) -> bool {
        self.running.get() > 1
    }

    /// Waits until no call would be held up by what follows; bounded, and not at all when nothing waits for calls or
    /// several run at once.
    pub async fn out_of_the_way(&self) {
        let since = Instant::now();
        while self.children.borrow().len() >= LOW && !self.is_crowded() && since.elapsed() < PUT_OFF_AT_MOST {
            let ended = self.last_end.get().map_or(AFTER_A_CALL, |end| end.elapsed());
            if self.running.get() == 0 && ended >= AFTER_A_CALL {
                return;
            }
            tokio::time::sleep(AFTER_A_CALL).await;
        }
    }

    /// Fills it until there is nothing to do. For tests and measurements, which must not race with it.
    ///
    /// # Errors
    /// In a sentence, why it cannot be filled.
    pub async fn fill(&self) -> Result<(), String> {
        while self.step().await?.is_none() {}
        Ok(())
    }

    /// Everything that waits ends.
    pub fn clear(&self) {
        self.children.borrow_mut().clear();
        self.waiting.borrow_mut().clear();
        self.zygote.replace(None);
        self.broker.replace(None);
        self.ending.borrow_mut().clear();
        self.known.borrow_mut().values_mut().for_each(|known| known.compiled = None);
    }

    /// What served calls.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts.get()
    }

    /// Whether it can serve calls.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.zygote.borrow().is_some()
    }

    /// How it stands, for `status`.
    #[must_use]
    pub fn describe(&self) -> String {
        let Counts { predicted, warm, forked, execed, zygotes, forks } = self.counts.get();
        let age = match &*self.zygote.borrow() {
            Some((_, born)) => format!("the last {} s old", born.elapsed().as_secs()),
            None => "none now".to_owned(),
        };
        format!(
            "{} warm and {} expected; calls: {predicted} expected, {warm} warm, {forked} forked, {execed} executed; \
             {zygotes} zygotes, {age}, {forks} forks{}",
            self.children.borrow().len(),
            self.waiting.borrow().len(),
            self.memory(),
        )
    }

    /// What waits, and the zygote, hold of the machine's memory, each its share of what several have. Nothing where the kernel
    /// does not tell.
    fn memory(&self) -> String {
        let (children, waiting, zygote) = (self.children.borrow(), self.waiting.borrow(), self.zygote.borrow());
        let idle: Option<Vec<u64>> =
            children.iter().chain(waiting.values().map(|waiting| &waiting.idle)).map(Idle::memory_kib).collect();
        let zygote = zygote.as_ref().map_or(Some(0), |(zygote, _)| zygote.memory_kib());
        match (idle, zygote) {
            (Some(idle), Some(zygote)) => {
                format!("; memory: {} KiB in what waits, {zygote} KiB in the zygote", idle.iter().sum::<u64>())
            }
            (None, _) | (_, None) => String::new(),
        }
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// A child of the zygote has crashed: what it has learnt of the layout of memory must be worth nothing.
    pub fn crashed(&self) {
        self.suspect.set(true);
        self.nudge.notify_one();
    }

    /// An interpreter had to be executed.
    pub fn missed(&self) {
        self.count(|counts| counts.execed += 1);
    }

    /// A process for this call, sealed or about to be; `None` when there is none and none can be had.
    pub async fn take(
        &self,
        turn: Option<TurnId>,
        plan: &Plan,
        code: &[u8],
        world: GrantView<'_>,
    ) -> Option<TakenProcess> {
        let taken = self.find(turn, plan, code, world).await;
        self.last_call.set(Some(Instant::now()));
        self.nudge.notify_one();
        let taken = taken?;
        self.count(|counts| match taken.carrier {
            Carrier::Predicted => counts.predicted += 1,
            Carrier::Warm => counts.warm += 1,
            Carrier::Forked => counts.forked += 1,
            Carrier::Execed => counts.execed += 1,
        });
        Some(taken)
    }

    async fn find(&self, turn: Option<TurnId>, plan: &Plan, code: &[u8], world: GrantView<'_>) -> Option<TakenProcess> {
        // What waits has its root already, and no place for covers.
        if !self.serves(plan) || !world.covers.is_empty() {
            return None;
        }
        let key = WarmKey::new(metnos_proto::ids::Blake3::of(code), plan.hash());
        // What is born is not expected again, and its workspace is gone by then.
        if turn.is_some() {
            self.remember(key, plan, code);
        }
        self.habits.borrow_mut().called(turn, key);
        let expected = self.waiting.borrow_mut().remove(&key);
        // What it has mounted was mounted before this was decided.
        let expected = expected.filter(|waiting| waiting.idle.is_alive() && waiting.fits(plan, world));
        if let Some(Waiting { idle: process, .. }) = expected {
            return Some(TakenProcess { process, carrier: Carrier::Predicted, code: Vec::new() });
        }
        let told = self.known.borrow().get(&key).filter(|_| turn.is_some()).map(WarmCode::encoded_code);
        let code = told.unwrap_or_else(|| frames::frame(Instruction::Source, code));
        loop {
            // The one that has waited longest is warmest.
            let oldest = {
                let mut children = self.children.borrow_mut();
                if children.is_empty() { None } else { Some(children.remove(0)) }
            };
            let (idle, carrier) = match oldest {
                Some(idle) => (idle, Carrier::Warm),
                None => (self.fork(false).await.ok()?, Carrier::Forked),
            };
            match self.seal(&idle, plan, world).await {
                Ok(_) => {
                    let code = send_code(&idle, code)?;
                    return Some(TakenProcess { process: idle, carrier, code });
                }
                Err(why) if carrier == Carrier::Warm && !idle.is_alive() => {
                    tracing::debug!(why, "a warm process had ended");
                }
                Err(why) => {
                    tracing::warn!(why, "a warm process could not be sealed");
                    return None;
                }
            }
        }
    }

    /// Whether a child of the zygote can become what the plan says. Compared once: plans of one digest are one plan.
    fn serves(&self, plan: &Plan) -> bool {
        let known = self.fitting.borrow().get(&plan.hash().0).copied();
        known.unwrap_or_else(|| {
            let fits = self.fits(plan);
            let mut fitting = self.fitting.borrow_mut();
            if fitting.len() >= MAX_FITTING {
                fitting.clear();
            }
            fitting.insert(plan.hash().0, fits);
            fits
        })
    }

    /// Whether everything but grants, places and limits is alike.
    fn fits(&self, plan: &Plan) -> bool {
        let common = |spec: &Spec| {
            let mut spec = spec.clone();
            spec.mounts.retain(|mount| !order::is_granted(mount.purpose));
            (spec.profile, spec.places, spec.limits) = (String::new(), Vec::new(), self.base.spec().limits);
            // They come with the request, to whatever process carries the call.
            spec.secrets.clear();
            // A call with one in the way is not served here.
            spec.masks.clear();
            spec.keeps_trash = false;
            spec
        };
        let grants = plan.spec().mounts.iter().filter(|mount| order::is_granted(mount.purpose)).count();
        grants <= layout::MAX_MOUNTS && common(plan.spec()) == common(self.base.spec())
    }

    /// Keeps the code, so that it can be made to wait.
    fn remember(&self, key: WarmKey, plan: &Plan, code: &[u8]) {
        self.uses.set(self.uses.get() + 1);
        let mut known = self.known.borrow_mut();
        if !known.contains_key(&key) && known.len() >= MAX_KNOWN {
            let oldest = known.iter().min_by_key(|(_, known)| known.used).map(|(key, _)| *key);
            oldest.and_then(|oldest| known.remove(&oldest));
        }
        let make = || WarmCode { plan: plan.clone(), code: code.into(), compiled: None, used: 0 };
        let known = known.entry(key).or_insert_with(make);
        known.used = self.uses.get();
    }

    /// A fresh child of the zygote, not sealed yet, that takes the way of a call once if there is time to `rehearse`.
    ///
    /// # Errors
    /// In a sentence, why there is none.
    pub async fn fork(&self, rehearse: bool) -> Result<Idle, String> {
        let zygote = self.zygote.borrow().as_ref().map(|(zygote, _)| Rc::clone(zygote));
        let zygote = zygote.ok_or_else(|| "there is no zygote".to_owned())?;
        let group = self.launcher.group().map_err(|error| error.to_string())?;
        let forked = zygote.fork(rehearse, group).await;
        match &forked {
            Ok(_) => {
                self.forks.set(self.forks.get() + 1);
                self.count(|counts| counts.forks += 1);
            }
            // Whatever is wrong with it: a new one.
            Err(_) => self.suspect.set(true),
        }
        forked
    }

    /// What these grant, as mounts that are attached nowhere yet.
    ///
    /// # Errors
    /// In a sentence, which cannot be had.
    pub async fn grants<'a>(
        &self,
        mounts: &'a [Mount],
        world: GrantView<'_>,
    ) -> Result<Vec<DetachedMount<'a>>, String> {
        let broker = self.broker.borrow().clone();
        let mut grants = Vec::new();
        for mount in mounts.iter().filter(|mount| order::is_granted(mount.purpose) && world.has(mount)) {
            let broker = broker.as_ref().ok_or("there is no broker")?;
            // What is not there need not be kept.
            let Some(grant) = broker.mount(mount).await? else { continue };
            let found = Identity::of(&grant)?;
            world.approved.fits(mount, found)?;
            grants.push(DetachedMount { mount, grant, found });
        }
        Ok(grants)
    }

    /// Gives a child its mounts and its order; which folders those are.
    async fn seal(&self, idle: &Idle, plan: &Plan, world: GrantView<'_>) -> Result<Vec<(String, Identity)>, String> {
        let grants = self.grants(&plan.spec().mounts, world).await?;
        idle.limit(&plan.spec().limits)?;
        let places: Vec<&str> = grants.iter().map(|given| given.mount.target.as_str()).collect();
        let order = self.launcher.order(plan, &places);
        let fds: Vec<BorrowedFd<'_>> = grants.iter().map(|given| given.grant.as_fd()).collect();
        send(idle.channel()?, &order, &fds).map_err(|error| format!("ordering the seal: {error}"))?;
        Ok(grants.iter().map(|given| (given.mount.target.clone(), given.found)).collect())
    }
}

/// See [`Pool::call`].
#[derive(Debug)]
pub struct Call<'a>(&'a Pool);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.running.set(self.0.running.get().saturating_sub(1));
        self.0.last_end.set(Some(Instant::now()));
    }
}
