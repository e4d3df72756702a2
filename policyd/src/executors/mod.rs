//! The executors of the instance: births, signatures, quarantine, the archive and the switches.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tokio::sync::{Mutex, Semaphore, watch};

use crate::base::Base;
use crate::calls::running::RunningCalls;
use crate::executors::failure_limit::FailureLimit;
use crate::executors::origins::Origins;
use crate::executors::registry::Registry;
use crate::executors::switches::Switches;
use crate::key::InstanceKey;
use crate::people::Principals;
use crate::store::Row;

pub mod archive;
pub mod births;
pub mod contract;
pub(crate) mod drafting;
pub mod failure_limit;
pub mod lifecycle;
pub mod origins;
pub mod parcels;
pub mod promises;
pub mod registry;
pub mod seeds;
pub mod switches;
pub mod unquarantine;
pub(crate) mod visibility;

/// What was signed, what may be called, and what the owner has switched off.
#[derive(Debug)]
pub(crate) struct Executors {
    base: Rc<Base>,
    pub(crate) key: Rc<InstanceKey>,
    people: Rc<Principals>,
    running: Rc<RunningCalls>,
    pub(crate) registry: RefCell<Registry>,
    /// What the owner has switched off.
    pub(crate) switches: RefCell<Switches>,
    /// How often executors have failed by their own making.
    strikes: RefCell<FailureLimit>,
    /// Held by anyone who tells memoryd of losses.
    telling: Mutex<()>,
    /// Admits one trial of a draft at a time: trials must not use up the places for calls in sandboxd.
    trial: Semaphore,
    /// Places for the trial that runs and for those that wait.
    trials: Semaphore,
    /// Whether the pool was looked at and every birth tried, at least once.
    settled: watch::Sender<bool>,
    /// Executors whose birth is under way or still to come.
    unborn: Cell<usize>,
}

/// What was kept of them.
#[derive(Debug)]
pub struct StoredExecutors {
    /// Every executor, by name and version.
    pub rows: Vec<Row>,
    /// Where executors come from.
    pub(crate) origins: Origins,
    /// Every switch that is thrown.
    pub switches: Switches,
    /// The strikes of every executor.
    pub strikes: FailureLimit,
}

impl Executors {
    /// Lets nothing be called yet.
    pub(crate) fn new(
        base: &Rc<Base>,
        key: &Rc<InstanceKey>,
        people: &Rc<Principals>,
        running: &Rc<RunningCalls>,
        kept: StoredExecutors,
    ) -> Rc<Self> {
        let mut registry = Registry::new(kept.rows);
        registry.know_origins(kept.origins);
        Rc::new(Self {
            base: Rc::clone(base),
            key: Rc::clone(key),
            people: Rc::clone(people),
            running: Rc::clone(running),
            registry: RefCell::new(registry),
            switches: RefCell::new(kept.switches),
            strikes: RefCell::new(kept.strikes),
            telling: Mutex::default(),
            trial: Semaphore::new(1),
            trials: Semaphore::new(drafting::MAX_TRIALS_AT_ONCE),
            settled: watch::Sender::new(false),
            unborn: Cell::new(0),
        })
    }

    /// How many executors' births are under way or still to come.
    pub(crate) fn unborn(&self) -> u32 {
        u32::try_from(self.unborn.get()).unwrap_or(u32::MAX)
    }

    /// Waits until the pool was looked at and every birth tried.
    pub async fn settled(&self) {
        let _ = self.settled.subscribe().wait_for(|settled| *settled).await;
    }
}
