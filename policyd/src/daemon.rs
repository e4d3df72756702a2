//! What policyd opens before its lock, whom it asks and answers, and what it does before it ends. The order is that of
//! `metnos-daemon`; nothing here decides.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use metnos_daemon::{Confinement, DRAIN_WITHIN, Daemon, Fatal, Opened, Served, Service};
use metnos_jail::Places as JailPlaces;
use metnos_proto::boot::{Boot, BootError};
use metnos_proto::control::Start;
use metnos_proto::edges::{CtlPolicyd, DoorPolicyd, PlannerPolicyd, SyntdPolicyd};
use metnos_proto::edges::{ctl_policyd, door_policyd, planner_policyd, syntd_policyd};
use metnos_proto::link_async::Closed;
use metnos_proto::role::Policyd;

use crate::clock::SystemClock;
use crate::executors::contract;
use crate::executors::seeds::SEEDS;
use crate::house::House;
use crate::key::InstanceKey;
use crate::paths::Places;
use crate::perimeter::outside::Folders;
use crate::policy::{Peers, Policy, Setting};
use crate::store::{self, Store, StoreError};

/// policyd's own folder in the instance.
const FOLDER: &str = ".policy";
/// Where the owner's files are, of which policyd reads three.
const WORKSPACE: &str = "workspace";
/// How long births may hold back the word that policyd is ready; they go on behind it.
const SETTLE_WITHIN: Duration = Duration::from_secs(16);

/// Everything that is opened before the lock.
#[derive(Debug)]
pub struct Open {
    key: InstanceKey,
    /// What the database holds, until its thread is started.
    opened: Option<store::Opened>,
    store: Option<Store>,
    house: House,
    folder: PathBuf,
    workspace: PathBuf,
}

impl Opened for Open {
    type Role = Policyd;

    fn open(boot: &mut Boot<Policyd>) -> Result<Self, Fatal> {
        let folders = std::mem::take(&mut boot.folders);
        let instance = Path::new(&boot.start.instance);
        let (folder, workspace) = (instance.join(FOLDER), instance.join(WORKSPACE));
        let key = InstanceKey::open_or_create(&folder)?;
        let mut opened = store::Opened::open(&folder, &key.public())?;
        let mut house = std::mem::take(&mut opened.house);
        house
            .open_files(&workspace)
            .map_err(|error| format!("the workspace {} cannot be opened: {error}", workspace.display()))?;
        house.hold_folders(Folders::new(boot.start.settings.folders.clone(), folders));
        contract::warm_up().map_err(|error| format!("schemas cannot be read: {error}"))?;
        Ok(Self { key, opened: Some(opened), store: None, house, folder, workspace })
    }

    fn confinement(&self) -> Confinement {
        let places = JailPlaces::new().with("policy", &self.folder).with("workspace", &self.workspace);
        Confinement { places, unused_calls: Vec::new() }
    }

    /// The registry's thread inherits the lock.
    fn start_threads(&mut self) -> Result<(), Fatal> {
        self.store = self.opened.as_mut().map(store::Opened::start).transpose()?;
        Ok(())
    }
}

/// What policyd is told about its instance.
fn setting(start: &Start) -> Setting {
    let settings = &start.settings;
    Setting {
        places: Places::of_instance(&start.instance).with_home(&settings.folders.home),
        owner_uid: settings.owner_uid,
        lang: settings.lang,
        zone: settings.zone.clone(),
        calls_per_minute: settings.calls_per_minute,
        hosts: settings.net.hosts.clone(),
        commands: settings.commands.clone(),
        guest_folders: settings.guest_folders.clone(),
        budget: settings.budget.clone(),
        seeds: SEEDS,
    }
}

impl Served for Open {
    type Service = Serving;

    async fn serve(self, daemon: &mut Daemon<Policyd>) -> Result<Serving, Fatal> {
        let peers = Peers { sandbox: daemon.asks()?, memory: daemon.asks()?, mind: daemon.asks()? };
        let (Some(opened), Some(store)) = (self.opened, self.store) else { return Err(StoreError::Gone.into()) };
        let clock = Box::new(SystemClock::default());
        let policy = Policy::new(setting(&daemon.start), self.key, store, opened.rows, clock, peers);
        policy.furnish(self.house);
        policy.hold(opened.words);
        policy.switch(opened.switches);
        policy.count_on(opened.strikes);
        policy.know_anchor(opened.last_anchor);
        answer(daemon, &policy)?;
        policy.start_tasks();
        Ok(Serving(policy))
    }
}

/// policyd, serving.
#[derive(Debug)]
pub struct Serving(Rc<Policy>);

impl Service<Policyd> for Serving {
    async fn settle(&self) {
        if tokio::time::timeout(SETTLE_WITHIN, self.0.settled()).await.is_err() {
            let unborn = self.0.report().unborn;
            tracing::info!(unborn, "ready before every executor is: the others follow, and cannot be called yet");
        }
    }

    async fn drain(&self) {
        self.0.drain(DRAIN_WITHIN).await;
    }

    async fn end(&self, daemon: &Daemon<Policyd>) {
        self.0.keep_all_used().await;
        if daemon.all_end() {
            daemon.drained();
            self.0.chain_closed().await;
        } else {
            self.0.sign_at_stop().await;
            daemon.drained();
        }
    }
}

/// Answers the door, the planner, syntd and the owner, each new end on its own.
fn answer(daemon: &mut Daemon<Policyd>, policy: &Rc<Policy>) -> Result<(), BootError> {
    let served = Rc::clone(policy);
    daemon.answers::<DoorPolicyd, _, _>(move |end| {
        closing(&served, "the door", door_policyd::serve(end, Rc::clone(&served)), |_| ())
    })?;
    let served = Rc::clone(policy);
    daemon.answers::<PlannerPolicyd, _, _>(move |end| {
        let link = end.generation();
        let serving = planner_policyd::serve(end, Rc::clone(&served));
        closing(&served, "the planner", serving, move |policy| policy.planner_gone(link))
    })?;
    let served = Rc::clone(policy);
    daemon.answers::<SyntdPolicyd, _, _>(move |end| {
        let link = end.generation();
        let serving = syntd_policyd::serve(end, Rc::clone(&served));
        closing(&served, "syntd", serving, move |policy| policy.syntd_gone(link))
    })?;
    let served = Rc::clone(policy);
    daemon.answers::<CtlPolicyd, _, _>(move |end| {
        closing(&served, "metnosctl", ctl_policyd::serve(end, Rc::clone(&served)), |_| ())
    })
}

/// Serves a link to its end, records a breach of it, and does what its end asks for.
fn closing<S: Future<Output = Closed>, G: FnOnce(&Rc<Policy>)>(
    policy: &Rc<Policy>,
    peer: &'static str,
    serving: S,
    gone: G,
) -> impl Future<Output = Closed> + use<S, G> {
    let policy = Rc::clone(policy);
    async move {
        let closed = serving.await;
        policy.closed(peer, &closed);
        gone(&policy);
        closed
    }
}
