//! What policyd opens before its lock, whom it asks and answers, and what it does before it ends. The order is that of
//! `metnos-daemon`; nothing here decides.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use metnos_daemon::{Confinement, DRAIN_WITHIN, Daemon, Fatal, Opened as OpenedDaemon, Served, Service};
use metnos_jail::Places as JailPlaces;
use metnos_proto::boot::{Boot, BootError};
use metnos_proto::control::Start;
use metnos_proto::edges::{
    CtlPolicyd, DoorPolicyd, PlannerPolicyd, SyntdPolicyd, ctl_policyd, door_policyd, planner_policyd, syntd_policyd,
};
use metnos_proto::link_async::Closed;
use metnos_proto::role::Policyd;

use crate::base::{Base, Peers};
use crate::clock::SystemClock;
use crate::executors::contract;
use crate::executors::seeds::SEEDS;
use crate::key::InstanceKey;
use crate::opened::Opened;
use crate::paths::Places;
use crate::perimeter::Perimeter;
use crate::perimeter::outside::Folders;
use crate::policy::Policy;
use crate::setting::Setting;
use crate::store::{Store, StoreError};

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
    /// What the database holds.
    opened: Opened,
    store: Option<Store>,
    perimeter: Perimeter,
    folder: PathBuf,
    workspace: PathBuf,
}

impl OpenedDaemon for Open {
    type Role = Policyd;

    fn open(boot: &mut Boot<Policyd>) -> Result<Self, Fatal> {
        let folders = std::mem::take(&mut boot.folders);
        let instance = Path::new(&boot.start.instance);
        let (folder, workspace) = (instance.join(FOLDER), instance.join(WORKSPACE));
        let key = InstanceKey::open_or_create(&folder)?;
        let opened = Opened::open(&folder, &key.public())?;
        let outside = Folders::new(boot.start.settings.folders.clone(), folders);
        let perimeter = Perimeter::open(setting(&boot.start), &workspace, outside)
            .map_err(|error| format!("the workspace {} cannot be opened: {error}", workspace.display()))?;
        contract::warm_up().map_err(|error| format!("schemas cannot be read: {error}"))?;
        Ok(Self { key, opened, store: None, perimeter, folder, workspace })
    }

    fn confinement(&self) -> Confinement {
        let places = JailPlaces::new().with("policy", &self.folder).with("workspace", &self.workspace);
        Confinement { places, unused_calls: Vec::new() }
    }

    /// The registry's thread inherits the lock.
    fn start_threads(&mut self) -> Result<(), Fatal> {
        self.store = Some(self.opened.start()?);
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
        dry_run: settings.dry_run,
        budget: settings.budget.clone(),
        seeds: SEEDS,
    }
}

impl Served for Open {
    type Service = Serving;

    async fn serve(self, daemon: &mut Daemon<Policyd>) -> Result<Serving, Fatal> {
        let peers = Peers { sandbox: daemon.asks()?, memory: daemon.asks()?, mind: daemon.asks()? };
        let store = self.store.ok_or(StoreError::Gone)?;
        let base = Base::new(store, Box::new(SystemClock::default()), peers, self.perimeter);
        let policy = Policy::new(base, self.key, self.opened.kept);
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
