//! Starts policyd: opens its key and its registry, locks itself, and serves. Whatever does
//! not open or lock ends it before a word from anybody was read.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use metnos_jail::{Locked, Places as JailPlaces, Profile, Pss, Waivers, die_with_parent, narrow};
use metnos_policyd::chronicle::heads::Last;
use metnos_policyd::clock::SystemClock;
use metnos_policyd::executors::contract;
use metnos_policyd::executors::failure_limit::FailureLimit;
use metnos_policyd::executors::seeds::SEEDS;
use metnos_policyd::executors::switches::Switches;
use metnos_policyd::house::House;
use metnos_policyd::key::InstanceKey;
use metnos_policyd::paths::Places;
use metnos_policyd::perimeter::outside::Folders;
use metnos_policyd::policy::{Peers, Policy, Setting};
use metnos_policyd::store::cards::Words;
use metnos_policyd::store::{Opened, Row, Store};
use metnos_proto::boot::{Boot, BootError, Daemon};
use metnos_proto::control::{ControlError, Start};
use metnos_proto::edges::{
    CtlPolicyd, DoorPolicyd, PlannerPolicyd, PolicydMemoryd, PolicydMind, PolicydSandboxd, SyntdPolicyd,
};
use metnos_proto::edges::{ctl_policyd, door_policyd, planner_policyd, syntd_policyd};
use metnos_proto::role::Policyd;

/// policyd's own folder in the instance.
const FOLDER: &str = ".policy";
/// Where the owner's files are, of which policyd reads three.
const WORKSPACE: &str = "workspace";
/// How long births may hold back the word that policyd is ready; they go on behind it.
const SETTLE_WITHIN: Duration = Duration::from_secs(16);
/// How long running calls may take to end when policyd is stopped.
const DRAIN_WITHIN: Duration = Duration::from_secs(3);

/// Why policyd cannot start, or had to end.
#[derive(Debug, thiserror::Error)]
enum Fatal {
    #[error(transparent)]
    Boot(#[from] BootError),
    #[error(transparent)]
    Key(#[from] metnos_policyd::key::KeyError),
    #[error(transparent)]
    Store(#[from] metnos_policyd::store::StoreError),
    #[error(transparent)]
    Jail(#[from] metnos_jail::JailError),
    #[error("the workspace {0} cannot be opened: {1}")]
    Workspace(std::path::PathBuf, std::io::Error),
    #[error("schemas cannot be read: {0}")]
    Schema(String),
    #[error("the runtime: {0}")]
    Runtime(#[from] std::io::Error),
}

/// Test builds only: attempts a forbidden act inside the lock and says which errno stopped it.
#[cfg(feature = "attack")]
fn attack(name: &str, target: &str) -> (i32, String) {
    match name.parse::<metnos_jail::attack::Attempt>() {
        Ok(act) => match metnos_jail::attack::attempt(act, Some(target).filter(|target| !target.is_empty())) {
            Ok(achieved) => (0, achieved),
            Err(errno) => (errno, String::new()),
        },
        Err(unknown) => (-1, unknown.to_string()),
    }
}

/// Everything that was opened before the lock.
struct Opening {
    key: InstanceKey,
    rows: Vec<Row>,
    words: Words,
    switches: (Switches, FailureLimit),
    last_anchor: Option<Last>,
    house: House,
    store: Store,
    pss: Pss,
    locked: Locked,
}

fn main() -> ExitCode {
    #[cfg(feature = "attack")]
    let _ = metnos_proto::boot::ATTACK.set(attack);
    tracing_subscriber::fmt().with_writer(metnos_proto::log::stderr).with_ansi(false).with_target(false).init();
    let boot = match die_with_parent().map_err(Fatal::from).and_then(|()| Ok(Boot::<Policyd>::receive()?)) {
        Ok(boot) => boot,
        Err(fatal) => {
            tracing::error!(%fatal, "policyd is started by the supervisor, with its control channel as standard input");
            return ExitCode::FAILURE;
        }
    };
    match start(boot) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fatal) => {
            tracing::error!(%fatal, "policyd ends");
            ExitCode::FAILURE
        }
    }
}

fn start(mut boot: Boot<Policyd>) -> Result<(), Fatal> {
    // The reactor opens descriptors, so it comes before the lock; it reads nothing until it is run.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let folders = std::mem::take(&mut boot.folders);
    let opening = match open_and_lock(&boot.start, folders) {
        Ok(opening) => opening,
        Err(fatal) => {
            boot.fault(&fatal.to_string());
            return Err(fatal);
        }
    };
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let mut daemon = boot.into_daemon()?;
        let served = serve(&mut daemon, opening).await;
        match served {
            Err(Fatal::Boot(BootError::Control(ControlError::Gone))) => Ok(()),
            Err(fatal) => {
                daemon.fault(&fatal.to_string());
                Err(fatal)
            }
            Ok(()) => Ok(()),
        }
    })
}

/// Opens the key and the registry, then locks; the registry's thread starts inside the lock.
fn open_and_lock(start: &Start, folders: Vec<(String, OwnedFd)>) -> Result<Opening, Fatal> {
    let folder = Path::new(&start.instance).join(FOLDER);
    let key = InstanceKey::open_or_create(&folder)?;
    let mut opened = Opened::open(&folder, &key.public())?;
    let workspace = Path::new(&start.instance).join(WORKSPACE);
    let mut house = std::mem::take(&mut opened.house);
    house.open_files(&workspace).map_err(|why| Fatal::Workspace(workspace.clone(), why))?;
    house.hold_folders(Folders::new(start.settings.folders.clone(), folders));
    let (rows, words, last_anchor) = (opened.rows.clone(), opened.words.clone(), opened.last_anchor);
    let switches = (opened.switches.clone(), opened.strikes.clone());
    contract::warm_up().map_err(Fatal::Schema)?;
    let pss = Pss::open()?;
    let waivers = Waivers::from_names(&start.settings.waive)?;
    let places = JailPlaces::new().with("policy", &folder).with("workspace", &workspace);
    let narrowed = narrow(&Profile::load("policyd")?, &places, &waivers)?;
    let store = opened.start()?;
    let locked = narrowed.seal()?;
    Ok(Opening { key, rows, words, switches, last_anchor, house, store, pss, locked })
}

async fn serve(daemon: &mut Daemon<Policyd>, opening: Opening) -> Result<(), Fatal> {
    let Opening { key, rows, words, switches, last_anchor, house, store, pss, locked } = opening;
    let sandbox = daemon.asks::<PolicydSandboxd>()?;
    let memory = daemon.asks::<PolicydMemoryd>()?;
    let mind = daemon.asks::<PolicydMind>()?;
    let settings = &daemon.start.settings;
    let setting = Setting {
        places: Places::of_instance(&daemon.start.instance).with_home(&settings.folders.home),
        owner_uid: settings.owner_uid,
        lang: settings.lang,
        zone: settings.zone.clone(),
        calls_per_minute: settings.calls_per_minute,
        hosts: settings.net.hosts.clone(),
        commands: settings.commands.clone(),
        guest_folders: settings.guest_folders.clone(),
        budget: settings.budget.clone(),
        seeds: SEEDS,
    };
    let policy =
        Policy::new(setting, key, store, rows, Box::new(SystemClock::default()), Peers { sandbox, memory, mind });
    policy.furnish(house);
    policy.hold(words);
    policy.switch(switches.0);
    policy.count_on(switches.1);
    policy.know_anchor(last_anchor);
    answer(daemon, &policy)?;
    tokio::task::spawn_local(Rc::clone(&policy).keep_chain());
    tokio::task::spawn_local(Rc::clone(&policy).keep_sandbox());
    tokio::task::spawn_local(Rc::clone(&policy).keep_memory());
    tokio::task::spawn_local(Rc::clone(&policy).hear_sandbox());
    tokio::task::spawn_local(Rc::clone(&policy).keep_constitution());
    tokio::task::spawn_local(Rc::clone(&policy).keep_mind());
    tokio::task::spawn_local(Rc::clone(&policy).hear_mind());
    let mut pss_kib = || pss.kib().unwrap_or(0);
    // Ends of peers that are started anew come over the control line, so it is served meanwhile.
    let stopped = tokio::select! {
        stopped = daemon.control(&mut pss_kib) => Some(stopped),
        settled = tokio::time::timeout(SETTLE_WITHIN, policy.settled()) => {
            if settled.is_err() {
                let unborn = policy.report().unborn;
                tracing::info!(unborn, "ready before every executor is: the others follow, and cannot be called yet");
            }
            None
        }
    };
    match stopped {
        Some(stopped) => stopped?,
        None => {
            let report = locked.report();
            daemon.ready(report.to_lines(), report.waived.clone())?;
            daemon.control(pss_kib).await?;
        }
    }
    policy.drain(DRAIN_WITHIN).await;
    if daemon.all_end() {
        daemon.drained();
        policy.chain_closed().await;
    } else {
        policy.sign_at_stop().await;
        daemon.drained();
    }
    Ok(())
}

/// Answers the door, the planner, syntd and the owner, each new end on its own.
fn answer(daemon: &mut Daemon<Policyd>, policy: &Rc<Policy>) -> Result<(), BootError> {
    let served = Rc::clone(policy);
    daemon.answers::<DoorPolicyd, _, _>(move |end| {
        let policy = Rc::clone(&served);
        async move {
            let closed = door_policyd::serve(end, Rc::clone(&policy)).await;
            policy.closed("the door", &closed);
            closed
        }
    })?;
    let served = Rc::clone(policy);
    daemon.answers::<PlannerPolicyd, _, _>(move |end| {
        let policy = Rc::clone(&served);
        async move {
            let link = end.generation();
            let closed = planner_policyd::serve(end, Rc::clone(&policy)).await;
            policy.closed("the planner", &closed);
            policy.planner_gone(link);
            closed
        }
    })?;
    let served = Rc::clone(policy);
    daemon.answers::<SyntdPolicyd, _, _>(move |end| {
        let policy = Rc::clone(&served);
        async move {
            let link = end.generation();
            let closed = syntd_policyd::serve(end, Rc::clone(&policy)).await;
            policy.closed("syntd", &closed);
            policy.syntd_gone(link);
            closed
        }
    })?;
    let served = Rc::clone(policy);
    daemon.answers::<CtlPolicyd, _, _>(move |end| {
        let policy = Rc::clone(&served);
        async move {
            let closed = ctl_policyd::serve(end, Rc::clone(&policy)).await;
            policy.closed("metnosctl", &closed);
            closed
        }
    })
}
