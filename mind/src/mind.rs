//! What mind holds: the models of each role, the funds of turns, the thoughts under way, and what policyd is owed.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::edges::{PolicydMind, policyd_mind};
use metnos_proto::ids::TurnId;
use metnos_proto::link_async::{Cx, Notes};
use metnos_proto::models::ModelName;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::mind::{MAX_KEY, ThoughtUsed};
use metnos_proto::payload::Sealed;
use tokio::sync::{Semaphore, watch};
use zeroize::Zeroizing;

use crate::error::quoted;
use crate::funds::{Funds, Thinker};
use crate::servers::fair_queue::FairQueue;
use crate::servers::registry::Registry;
use crate::servers::substrate::Substrate;

/// The most notes that wait for a policyd that is being restarted. Older ones are logged and lost.
pub const MAX_OWED: usize = 1_024;
/// How long thoughts may take to end when the daemon is stopped, in milliseconds.
const STOP_WITHIN_MS: u64 = 2_000;

/// Which thought of whom.
pub type ThoughtKey = (Thinker, TurnId, u32);

/// The thoughts under way, each with its stop.
pub type Open = HashMap<ThoughtKey, watch::Sender<bool>>;

/// policyd, as far as it is shown things.
#[derive(Debug, Default)]
struct UsageNotifier {
    generation: u32,
    notes: Option<Notes<PolicydMind>>,
    owed: VecDeque<ThoughtUsed>,
}

/// Mind: which model serves which role, and what is thought at this moment.
#[derive(Debug)]
pub struct Mind {
    pub(crate) registry: Registry,
    pub(crate) substrates: BTreeMap<String, Substrate>,
    pub(crate) places: FairQueue,
    pub(crate) funds: RefCell<Funds>,
    pub(crate) open: RefCell<Open>,
    pub(crate) reading: Semaphore,
    usage: RefCell<UsageNotifier>,
}

impl Mind {
    /// A mind with these models.
    #[must_use]
    pub fn new(registry: Registry, substrates: Vec<Substrate>) -> Self {
        Self {
            registry,
            substrates: substrates.into_iter().map(|one| (one.line.name.clone(), one)).collect(),
            places: FairQueue::of_all(),
            funds: RefCell::default(),
            open: RefCell::default(),
            reading: Semaphore::new(1),
            usage: RefCell::default(),
        }
    }

    /// Tells policyd what a thought took, or keeps it until there is one.
    pub(crate) async fn report_usage(&self, note: ThoughtUsed) {
        let notes = self.usage.borrow().notes.clone();
        let sent = match notes {
            Some(notes) => notes.send(policyd_mind::Note::ThoughtUsed(note.clone())).await.is_ok(),
            None => false,
        };
        if !sent {
            let owed = &mut self.usage.borrow_mut().owed;
            if owed.len() >= MAX_OWED
                && let Some(lost) = owed.pop_front()
            {
                tracing::error!(turn = %lost.turn, micro = lost.usage.micro, "policyd is not there; what a thought took is lost");
            }
            owed.push_back(note);
        }
    }

    /// policyd speaks. A new one knows nothing of what was funded before it, so nothing is.
    pub(crate) async fn heard(&self, cx: &Cx<PolicydMind>) {
        let fresh = self.usage.borrow().generation != cx.generation || self.usage.borrow().notes.is_none();
        if !fresh {
            return;
        }
        let owed = {
            let mut usage = self.usage.borrow_mut();
            (usage.generation, usage.notes) = (cx.generation, Some(cx.notes()));
            std::mem::take(&mut usage.owed)
        };
        self.funds.borrow_mut().clear();
        self.stop(|_| true);
        for note in owed {
            self.report_usage(note).await;
        }
    }

    /// Asks, in the background, what the models of the roles take of which nobody knows whether their server holds
    /// replies to a schema. Must run inside a [`tokio::task::LocalSet`].
    pub fn learn(self: &Rc<Self>) {
        let unknown = |model: &&ModelName| {
            let decided = self.registry.context(model).is_some_and(|line| line.steps.is_some());
            !decided && self.substrates.get(&model.substrate).is_some_and(|one| one.is_unknown(&model.model))
        };
        let models: Vec<ModelName> = self.registry.roles.values().flatten().filter(unknown).cloned().collect();
        if models.is_empty() {
            return;
        }
        let mind = Rc::clone(self);
        tokio::task::spawn_local(async move {
            for model in models {
                if let Some(substrate) =
                    mind.substrates.get(&model.substrate).filter(|one| one.is_unknown(&model.model))
                {
                    substrate.learn(&model.model).await;
                }
            }
        });
    }

    /// Stops thoughts; how many.
    pub(crate) fn stop(&self, which: impl Fn(&ThoughtKey) -> bool) -> usize {
        let open = self.open.borrow();
        open.iter()
            .filter(|(key, _)| which(key))
            .map(|(_, stop)| stop.send_replace(true))
            .filter(|before| !before)
            .count()
    }

    /// Stops everything, and waits until it has ended and its use was reported.
    pub async fn drain(&self) {
        self.stop(|_| true);
        let until = tokio::time::Instant::now() + Duration::from_millis(STOP_WITHIN_MS);
        while !self.open.borrow().is_empty() && tokio::time::Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn put(&self, substrate: &str, key: &Sealed) -> Result<(), Refusal> {
        let no = |code, why: String| Refusal::new(code, "mind.key", why);
        let Some(known) = self.substrates.get(substrate) else {
            let why = format!("there is no substrate `{}` in metnos.toml", quoted(substrate));
            return Err(no(RefusalCode::Unknown, why).remedy("`metnosctl models list` shows which there are"));
        };
        let bytes = Zeroizing::new(key.read().map_err(|error| no(RefusalCode::Invalid, error.to_string()))?);
        if bytes.len() > MAX_KEY {
            return Err(no(RefusalCode::Invalid, format!("a key has at most {MAX_KEY} bytes")));
        }
        known.put_key(&bytes).map_err(|why| no(RefusalCode::Invalid, why))
    }
}
