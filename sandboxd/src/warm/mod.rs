//! What waits for calls, so that a call need not wait (design: sandbox §4): empty children of a zygote, and some that are
//! sealed already with the code of an executor that is expected. Each serves one call and dies. Nothing depends on this
//! but speed: whoever finds nothing here executes a fresh interpreter, to the same seal.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::{Carrier, Outcome};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::frames::{self, Word};
use crate::launch::Launcher;
use crate::limits::{Ending, supervise};
use crate::order::{self, layout};
use crate::plan::{Mount, Plan, Spec};

mod broker;
mod channel;
mod idle;
mod line;
pub mod stock;
mod zygote;

use broker::Broker;
use channel::{send, tell};
pub use idle::Idle;
use stock::{Habits, Key, MAX_KNOWN, Next, Standing};
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

/// The code of an executor and its sandbox, kept so that it can be made to wait.
#[derive(Debug, Clone)]
struct Known {
    plan: Plan,
    code: Rc<[u8]>,
    compiled: Option<Rc<[u8]>>,
    used: u64,
}

/// A process that was taken for a call.
#[derive(Debug)]
pub struct Taken {
    /// It. Dropped, it ends.
    pub process: Idle,
    /// On which step of the ladder.
    pub carrier: Carrier,
    /// What it must still be told before the request.
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
    waiting: RefCell<BTreeMap<Key, Idle>>,
    habits: RefCell<Habits>,
    known: RefCell<BTreeMap<Key, Known>>,
    uses: Cell<u64>,
    last_call: Cell<Option<Instant>>,
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

    /// Waits until no call would be held up by what follows; bounded, and not at all when nothing waits for calls.
    pub async fn out_of_the_way(&self) {
        let since = Instant::now();
        while self.children.borrow().len() >= LOW && since.elapsed() < PUT_OFF_AT_MOST {
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
        format!(
            "{} warm and {} expected; calls: {predicted} expected, {warm} warm, {forked} forked, {execed} executed; \
             {zygotes} zygotes, {forks} forks",
            self.children.borrow().len(),
            self.waiting.borrow().len(),
        )
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
    pub async fn take(&self, turn: Option<TurnId>, plan: &Plan, code: &[u8]) -> Option<Taken> {
        let taken = self.find(turn, plan, code).await;
        // A birth is no sign that calls will come.
        if turn.is_some() {
            self.last_call.set(Some(Instant::now()));
        }
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

    async fn find(&self, turn: Option<TurnId>, plan: &Plan, code: &[u8]) -> Option<Taken> {
        if !self.serves(plan) {
            return None;
        }
        let key = Key::new(metnos_proto::ids::Blake3::of(code), plan.hash());
        // What is born is not expected again, and its workspace is gone by then.
        let code = if turn.is_some() { self.remember(key, plan, code) } else { frames::frame(Word::Source, code) };
        self.habits.borrow_mut().called(turn, key);
        let expected = self.waiting.borrow_mut().remove(&key);
        if let Some(process) = expected.filter(Idle::is_alive) {
            return Some(Taken { process, carrier: Carrier::Predicted, code: Vec::new() });
        }
        loop {
            // The one that has waited longest is warmest.
            let oldest = {
                let mut children = self.children.borrow_mut();
                if children.is_empty() { None } else { Some(children.remove(0)) }
            };
            let (idle, carrier) = match oldest {
                Some(idle) => (idle, Carrier::Warm),
                None => (self.fork().await.ok()?, Carrier::Forked),
            };
            match self.seal(&idle, plan).await {
                Ok(()) => {
                    let code = tell(&idle, code)?;
                    return Some(Taken { process: idle, carrier, code });
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

    /// Whether a child of the zygote can become what the plan says: everything but grants, places and limits is alike.
    fn serves(&self, plan: &Plan) -> bool {
        let common = |spec: &Spec| {
            let mut spec = spec.clone();
            spec.mounts.retain(|mount| !order::is_granted(mount.purpose));
            (spec.profile, spec.places, spec.limits) = (String::new(), Vec::new(), self.base.spec().limits);
            // They come with the request, to whatever process carries the call.
            spec.secrets.clear();
            spec
        };
        let grants = plan.spec().mounts.iter().filter(|mount| order::is_granted(mount.purpose)).count();
        grants <= layout::MAX_MOUNTS && common(plan.spec()) == common(self.base.spec())
    }

    /// Keeps the code, so that it can be made to wait. How it is told to a process of this pool.
    fn remember(&self, key: Key, plan: &Plan, code: &[u8]) -> Vec<u8> {
        self.uses.set(self.uses.get() + 1);
        let mut known = self.known.borrow_mut();
        if !known.contains_key(&key) && known.len() >= MAX_KNOWN {
            let oldest = known.iter().min_by_key(|(_, known)| known.used).map(|(key, _)| *key);
            oldest.and_then(|oldest| known.remove(&oldest));
        }
        let make = || Known { plan: plan.clone(), code: code.into(), compiled: None, used: 0 };
        let known = known.entry(key).or_insert_with(make);
        known.used = self.uses.get();
        known.told()
    }

    /// A fresh child of the zygote, not sealed yet.
    ///
    /// # Errors
    /// In a sentence, why there is none.
    pub async fn fork(&self) -> Result<Idle, String> {
        let zygote = self.zygote.borrow().as_ref().map(|(zygote, _)| Rc::clone(zygote));
        let zygote = zygote.ok_or_else(|| "there is no zygote".to_owned())?;
        let forked = zygote.fork().await;
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
    pub async fn grants(&self, mounts: &[Mount]) -> Result<Vec<OwnedFd>, String> {
        let broker = self.broker.borrow().clone();
        let mut grants = Vec::new();
        for mount in mounts.iter().filter(|mount| order::is_granted(mount.purpose)) {
            let broker = broker.as_ref().ok_or("there is no broker")?;
            grants.push(broker.mount(mount).await?);
        }
        Ok(grants)
    }

    /// Gives a child its mounts and its order.
    async fn seal(&self, idle: &Idle, plan: &Plan) -> Result<(), String> {
        let grants = self.grants(&plan.spec().mounts).await?;
        let order = self.launcher.order(plan, true);
        let fds: Vec<BorrowedFd<'_>> = grants.iter().map(AsFd::as_fd).collect();
        send(idle.channel()?, &order, &fds).map_err(|error| format!("ordering the seal: {error}"))
    }

    /// One step towards a full pool; how long to rest when there is none to take.
    async fn step(&self) -> Result<Option<Duration>, String> {
        let standing = self.standing();
        match stock::next(&standing) {
            Next::Zygote => self.renew().await.map(|()| None),
            Next::Fork => {
                let idle = self.fork().await?;
                self.children.borrow_mut().push(idle);
                Ok(None)
            }
            Next::Release => {
                self.children.borrow_mut().pop();
                self.habits.borrow_mut().calm();
                Ok(None)
            }
            Next::Rest(rest) => {
                if self.compile_one().await? || self.expect_one().await? {
                    return Ok(None);
                }
                Ok(Some(rest))
            }
        }
    }

    fn standing(&self) -> Standing {
        self.children.borrow_mut().retain(Idle::is_alive);
        let zygote = self.zygote.borrow();
        Standing {
            zygote: zygote.is_some(),
            age: zygote.as_ref().map_or(Duration::ZERO, |(_, since)| since.elapsed()),
            forks: self.forks.get(),
            suspect: self.suspect.get() || !self.in_step(),
            children: self.children.borrow().len(),
            quiet: self.last_call.get().map(|last| last.elapsed()),
        }
    }

    /// Whether zygote and broker can still be asked.
    fn in_step(&self) -> bool {
        self.zygote.borrow().as_ref().is_none_or(|(zygote, _)| zygote.in_step())
            && self.broker.borrow().as_ref().is_none_or(|broker| broker.in_step())
    }

    /// A new zygote in the place of the old one, and with it everything that came of that.
    async fn renew(&self) -> Result<(), String> {
        self.suspect.set(false);
        let zygote = Zygote::start(&self.launcher, &self.base).await?;
        self.clear();
        self.broker.replace(Some(Rc::new(Broker::start()?)));
        self.zygote.replace(Some((Rc::new(zygote), Instant::now())));
        self.forks.set(0);
        self.count(|counts| counts.zygotes += 1);
        Ok(())
    }

    /// Has the code of one executor compiled, in a sealed process that does not run it; `false` when all are.
    async fn compile_one(&self) -> Result<bool, String> {
        let next = self
            .known
            .borrow()
            .iter()
            .find(|(_, known)| known.compiled.is_none())
            .map(|(key, known)| (*key, Rc::clone(&known.code)));
        let Some((key, code)) = next else { return Ok(false) };
        let idle = self.fork().await?;
        self.seal(&idle, &self.base).await?;
        let launched = idle.take().ok_or("a fresh child has ended")?;
        let mut words = frames::frame(Word::Source, &code);
        words.extend(frames::frame(Word::Request, br#"{"entry":"compile"}"#));
        let never = std::future::pending::<()>();
        let limits = &self.base.spec().limits;
        let finished = supervise(launched, limits, &words, Ending::AtDeath, never, |_, _| {}).await;
        let compiled = match finished.outcome {
            Outcome::Ok if finished.result.len() <= MAX_COMPILED => finished.result,
            // What cannot be compiled is told as text, and fails where it belongs: in its call.
            _ => Vec::new(),
        };
        if let Some(known) = self.known.borrow_mut().get_mut(&key) {
            known.compiled = Some(compiled.into());
        }
        Ok(true)
    }

    /// Makes one expected executor wait; `false` when all do.
    async fn expect_one(&self) -> Result<bool, String> {
        let expected: BTreeSet<Key> = self.habits.borrow().expected().iter().copied().collect();
        self.waiting.borrow_mut().retain(|key, idle| expected.contains(key) && idle.is_alive());
        let missing = {
            let known = self.known.borrow();
            let waiting = self.waiting.borrow();
            expected.into_iter().find_map(|key| {
                let known = known.get(&key).filter(|known| known.told().len() <= MAX_TOLD)?;
                (!waiting.contains_key(&key)).then(|| (key, known.clone()))
            })
        };
        let Some((key, known)) = missing else { return Ok(false) };
        let idle = self.fork().await?;
        self.seal(&idle, &known.plan).await?;
        send(idle.channel()?, &known.told(), &[]).map_err(|error| format!("telling the code: {error}"))?;
        self.waiting.borrow_mut().insert(key, idle);
        Ok(true)
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

impl Known {
    fn told(&self) -> Vec<u8> {
        match &self.compiled {
            Some(compiled) if !compiled.is_empty() => frames::frame(Word::Compiled, compiled),
            Some(_) | None => frames::frame(Word::Source, &self.code),
        }
    }
}
