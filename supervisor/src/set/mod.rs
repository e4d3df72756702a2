//! The running set: one loop that learns what happened and does what the cores say is due. All state of the
//! supervisor is here, and none of it is an end of a channel between daemons. The loop never waits for anybody but
//! in its one `select!`.

pub mod alarms;
pub mod broker;
pub(crate) mod events;
pub mod health;
pub mod launcher;
pub mod reconnect_backoff;
pub(crate) mod requests;
pub mod stop;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use metnos_proto::control::{
    self, Drain, DrainAll, EdgeEnd, Folder, Go, Groups, Helper, Order, Ping, Settings, Start, VaultKeyFile,
};
use metnos_proto::role::RoleName;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use crate::event::Event;
use crate::instance::host_folders::Opened;
use crate::instance::vault_key;
use crate::process::control_line;
use crate::process::notify::Notify;
use crate::set::alarms::{Alarms, clean};
use crate::set::broker::{Broker, ControlLines, HandoverError};
use crate::set::health::{Due, Health, Phase, READY_WITHIN_MS};
use crate::set::launcher::{Arrival, Launcher, Process};
use crate::set::reconnect_backoff::ReconnectBackoff;
use crate::set::requests::Pending;
use crate::set::stop::{Next, Stop};

/// How many events may wait for the loop; who has more to say waits.
pub const MAX_EVENTS: usize = 64;
/// That many failed starts of one daemon, before all were ever ready, end the start.
pub const START_TRIES: u32 = 3;
/// The longest description of an end that is kept, in bytes.
pub(crate) const MAX_EXIT_BYTES: usize = 600;
/// The longest sleep of the loop when nothing is due.
const LONGEST_SLEEP_MS: u64 = 3_600_000;

/// One daemon, as the supervisor sees it.
#[derive(Debug, Default)]
pub(crate) struct Daemon {
    pub(crate) health: Health,
    pub(crate) live: Option<Live>,
    /// How many processes there were.
    pub(crate) incarnation: u32,
    pub(crate) failed_starts: u32,
    pub(crate) last_exit: String,
    /// What this process said about its end.
    pub(crate) fault: Option<String>,
    /// When this process became ready, in milliseconds since the epoch.
    pub(crate) ready_at_ms: u64,
    pub(crate) pss_kib: u64,
    pub(crate) lock: Vec<String>,
    pub(crate) waived: Vec<String>,
    /// The pings that were sent to this process and not answered yet: first and last number.
    pub(crate) pings: Option<(u64, u64)>,
}

/// A process with its control line.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) process: Process,
    pub(crate) line: Rc<AsyncFd<OwnedFd>>,
}

/// Reads the configuration as it is now.
pub type Reload = Box<dyn Fn() -> Result<Settings, String>>;

/// How the set ended.
pub type Ended = Result<(), String>;

/// The set.
pub struct Set<F: Launcher> {
    pub(crate) front: F,
    pub(crate) broker: Broker,
    pub(crate) daemons: BTreeMap<RoleName, Daemon>,
    pub(crate) alarms: Alarms,
    pub(crate) reconnect: ReconnectBackoff,
    pub(crate) pending: Pending,
    pub(crate) instance: String,
    pub(crate) settings: Settings,
    pub(crate) reload: Option<Reload>,
    folders: Vec<Opened>,
    /// Nobody but policyd was started yet.
    alone: bool,
    pub(crate) notify: Notify,
    pub(crate) ping_number: u64,
    pub(crate) ready_after_ms: u64,
    pub(crate) since_ms: u64,
    pub(crate) stop: Option<Stop>,
    began: Instant,
    failed: Option<String>,
    events: mpsc::Sender<Event>,
}

impl<F: Launcher> std::fmt::Debug for Set<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Set").field("instance", &self.instance).finish_non_exhaustive()
    }
}

struct DaemonLines<'a>(&'a BTreeMap<RoleName, Daemon>);

impl ControlLines for DaemonLines<'_> {
    fn hand(&mut self, to: RoleName, end: EdgeEnd, fd: OwnedFd) -> Result<(), HandoverError> {
        let edge = end.edge;
        let failed = |why: String| HandoverError { role: to, edge, why };
        let live = self.0.get(&to).and_then(|daemon| daemon.live.as_ref());
        let live = live.ok_or_else(|| failed("it is gone".to_owned()))?;
        control::send_owned(live.line.get_ref(), &Order::Edge(end), Some(fd)).map_err(|error| failed(error.to_string()))
    }
}

impl<F: Launcher> Set<F> {
    /// A set of which nothing runs yet. `began` is when the supervisor started. What the daemons say comes over
    /// `events`.
    pub fn new(
        front: F,
        instance: String,
        settings: Settings,
        notify: Notify,
        began: Instant,
        events: mpsc::Sender<Event>,
    ) -> Self {
        Self {
            front,
            broker: Broker::default(),
            daemons: RoleName::daemons().map(|role| (role, Daemon::default())).collect(),
            alarms: Alarms::default(),
            reconnect: ReconnectBackoff::default(),
            pending: Pending::default(),
            instance,
            settings,
            reload: None,
            folders: Vec::new(),
            alone: true,
            notify,
            ping_number: 0,
            ready_after_ms: 0,
            since_ms: epoch_ms(),
            stop: None,
            began,
            failed: None,
            events,
        }
    }

    /// Has the configuration read again where that is safe: for mind and policyd, when the owner has one of them restarted.
    #[must_use]
    pub fn reloading(mut self, reload: Reload) -> Self {
        self.reload = Some(reload);
        self
    }

    /// Has these folders handed to the daemons that decide on them and show them; what is in the way of the others is reported.
    #[must_use]
    pub fn showing(mut self, folders: Vec<Opened>, in_the_way: &[String]) -> Self {
        self.folders = folders;
        in_the_way.iter().for_each(|why| self.alarm(RoleName::Sandboxd, why));
        self
    }

    /// Starts everything and goes on until it is ordered to stop, or the start fails. Must run inside a
    /// [`tokio::task::LocalSet`].
    ///
    /// # Errors
    /// With the reason when not all daemons became ready.
    pub async fn run(&mut self, events: &mut mpsc::Receiver<Event>) -> Ended {
        // policyd alone, until it answers: then its store is open, and a line that memoryd writes is one that may follow the end
        // that was signed at the last stop, whatever becomes of this start.
        self.bring(vec![RoleName::Policyd]);
        loop {
            let over = self.do_due();
            if over {
                return self.failed.take().map_or(Ok(()), Err);
            }
            let sleep = Duration::from_millis(self.next_ms().saturating_sub(self.now_ms()));
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => self.handle(event),
                    None => return Err("nobody speaks to the supervisor any more".to_owned()),
                },
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    /// Milliseconds since the supervisor started.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn next_ms(&self) -> u64 {
        let daemons = self.daemons.values().filter_map(|daemon| daemon.health.next_ms());
        let others = [self.reconnect.next_ms(), self.pending.next_ms(), self.notify.next_ms(), self.stop_next_ms()];
        let longest = self.now_ms().saturating_add(LONGEST_SLEEP_MS);
        daemons.chain(others.into_iter().flatten()).min().unwrap_or(longest).min(longest)
    }

    fn stop_next_ms(&self) -> Option<u64> {
        self.stop.as_ref().and_then(Stop::until_ms)
    }

    /// Does everything that is due. True when the set is over.
    fn do_due(&mut self) -> bool {
        let now = self.now_ms();
        self.notify.pet(now);
        if self.stop.is_some() {
            return self.go_on_stopping();
        }
        let mut to_start = Vec::new();
        for role in RoleName::daemons() {
            match self.daemons.get_mut(&role).and_then(|daemon| daemon.health.due(now)) {
                Some(Due::Start) => to_start.push(role),
                Some(Due::Ping) => drop(self.ping(role)),
                Some(Due::Kill(reason)) => self.kill(role, &reason.to_string()),
                None => {}
            }
        }
        self.bring(to_start);
        while let Some(edge) = self.reconnect.due(now) {
            let wires: Vec<_> = self.broker.mended(edge).into_iter().collect();
            self.wire(&wires);
        }
        self.answer_due(now);
        if self.ready_after_ms == 0 && now >= READY_WITHIN_MS {
            let missing = self.not_ready();
            self.give_up(format!("not ready within {READY_WITHIN_MS} ms: {missing}"));
        }
        false
    }

    /// Has these daemons started; what the front end has at once, arrives at once.
    fn bring(&mut self, roles: Vec<RoleName>) {
        let mut arrivals = Vec::new();
        for role in roles {
            let now = self.now_ms();
            let Some(daemon) = self.daemons.get_mut(&role) else { continue };
            daemon.health.started(now);
            match self.front.bring(role) {
                Ok(arrival) => arrivals.extend(arrival),
                Err(error) => self.ended(role, error.why),
            }
        }
        self.arrived(arrivals);
    }

    /// These daemons have a control line: they learn who they are, get their ends, and may go.
    pub fn arrived(&mut self, arrivals: Vec<Arrival>) {
        let mut roles = Vec::new();
        for mut arrival in arrivals {
            let (role, helper, groups) = (arrival.role, arrival.helper.take(), arrival.groups.take());
            if let Err(error) = self.welcome(arrival) {
                self.alarm(role, &format!("its control line cannot be watched: {error}"));
            } else {
                let start = Start { role, instance: self.instance.clone(), settings: self.settings.clone() };
                self.order(role, &Order::Start(start));
                if let Some(helper) = helper {
                    self.order_with(role, &Order::Helper(Helper {}), Some(&helper));
                }
                self.show_folders(role);
                self.hand_key(role);
                if let Some(groups) = groups {
                    let missing = groups.as_ref().err().cloned().unwrap_or_default();
                    self.order_with(role, &Order::Groups(Groups { missing }), groups.as_ref().ok());
                }
                roles.push(role);
            }
        }
        let wires = self.broker.arrived(&roles);
        self.wire(&wires);
        for role in &roles {
            self.order(*role, &Order::Go(Go {}));
        }
        if self.alone && roles.contains(&RoleName::Policyd) {
            let _asked = self.ping(RoleName::Policyd);
        }
    }

    /// policyd has answered, so its store is open: the others are started. memoryd first: they have most to say to it.
    pub(crate) fn bring_others(&mut self) {
        if self.stop.is_none() && std::mem::take(&mut self.alone) {
            let others = RoleName::daemons().filter(|role| *role != RoleName::Policyd);
            self.bring(others.collect::<Vec<_>>().into_iter().rev().collect());
        }
    }

    /// Passes memoryd the open file of the vault key, from which it derives the key that unwraps those of principals. policyd created
    /// the file before memoryd starts. Without it memoryd does not start.
    fn hand_key(&mut self, role: RoleName) {
        if role != RoleName::Memoryd {
            return;
        }
        match vault_key::open(Path::new(&self.instance)) {
            Ok(file) => self.order_with(role, &Order::Key(VaultKeyFile {}), Some(&file)),
            Err(error) => tracing::error!(%error, "the vault key cannot be opened for memoryd"),
        }
    }

    /// The one decides on them, the other shows them; it is the same descriptor, so it is the same folder.
    fn show_folders(&mut self, role: RoleName) {
        if !matches!(role, RoleName::Policyd | RoleName::Sandboxd) {
            return;
        }
        let folders = std::mem::take(&mut self.folders);
        for Opened { path, fd } in &folders {
            self.order_with(role, &Order::Folder(Folder { path: path.clone() }), Some(fd));
        }
        self.folders = folders;
    }

    fn welcome(&mut self, Arrival { role, line, process, helper: _, groups: _ }: Arrival) -> std::io::Result<()> {
        let now = self.now_ms();
        let line = Rc::new(metnos_proto::sys::watch(line).inspect_err(|_| process.kill())?);
        let Some(daemon) = self.daemons.get_mut(&role) else { return Ok(()) };
        let incarnation = daemon.incarnation.saturating_add(1);
        *daemon = Daemon {
            health: std::mem::take(&mut daemon.health),
            last_exit: std::mem::take(&mut daemon.last_exit),
            failed_starts: daemon.failed_starts,
            incarnation,
            live: Some(Live { process: process.clone(), line: Rc::clone(&line) }),
            ..Daemon::default()
        };
        daemon.health.started(now);
        tracing::info!(%role, pid = process.pid, uid = process.uid, "started");
        tokio::task::spawn_local(control_line::listen(role, incarnation, line, process, self.events.clone()));
        Ok(())
    }

    pub(crate) fn wire(&mut self, wires: &[broker::Wire]) {
        for failure in broker::wire(wires, &mut DaemonLines(&self.daemons)) {
            // Without its end it would be deaf on that edge for ever.
            self.kill(failure.role, &failure.to_string());
        }
    }

    pub(crate) fn connect(
        &mut self,
        wire: broker::Wire,
        peer: metnos_proto::edge::PeerCred,
    ) -> Result<(EdgeEnd, OwnedFd), HandoverError> {
        broker::connect(wire, peer, &mut DaemonLines(&self.daemons))
    }

    /// Sends a daemon an order. One that cannot be reached is ended.
    pub(crate) fn order(&mut self, role: RoleName, order: &Order) {
        self.order_with(role, order, None);
    }

    fn order_with(&mut self, role: RoleName, order: &Order, fd: Option<&OwnedFd>) {
        let Some(live) = self.daemons.get(&role).and_then(|daemon| daemon.live.as_ref()) else { return };
        if let Err(error) = control::send(live.line.get_ref().as_fd(), order, fd.map(AsFd::as_fd)) {
            self.kill(role, &format!("it could not be given its order: {error}"));
        }
    }

    /// Pings a daemon; the number, if it was sent.
    pub(crate) fn ping(&mut self, role: RoleName) -> Option<u64> {
        let number = self.ping_number.checked_add(1)?;
        let daemon = self.daemons.get_mut(&role)?;
        let live = daemon.live.as_ref()?;
        // One that does not even read is found out by the missing pong.
        control::send(live.line.get_ref().as_fd(), &Order::Ping(Ping { number }), None).ok()?;
        self.ping_number = number;
        daemon.pings = Some((daemon.pings.map_or(number, |(first, _)| first), number));
        Some(number)
    }

    /// Ends a daemon that does not do as it should; its end is seen later.
    pub(crate) fn kill(&mut self, role: RoleName, why: &str) {
        let Some(daemon) = self.daemons.get_mut(&role) else { return };
        if daemon.health.phase() == Phase::Dying {
            return;
        }
        if let Some(live) = &daemon.live {
            live.process.kill();
            daemon.health.killed();
            daemon.fault = Some(clean(why, MAX_EXIT_BYTES));
        }
    }

    /// A daemon's process is over, or never was.
    pub(crate) fn ended(&mut self, role: RoleName, how: String) {
        let now = self.now_ms();
        self.broker.gone(role);
        let stopping = self.stop.is_some();
        let Some(daemon) = self.daemons.get_mut(&role) else { return };
        daemon.live = None;
        daemon.last_exit = match daemon.fault.take() {
            Some(fault) => format!("{how}: {fault}"),
            None => how,
        };
        let was_ready = daemon.ready_at_ms != 0;
        (daemon.ready_at_ms, daemon.pss_kib) = (0, 0);
        let exit = daemon.last_exit.clone();
        if stopping {
            daemon.health.off();
            tracing::info!(%role, how = exit, "ended");
        } else if daemon.health.ended(now, chance()) {
            daemon.failed_starts = if was_ready { 0 } else { daemon.failed_starts.saturating_add(1) };
            let hopeless = daemon.failed_starts >= START_TRIES && self.ready_after_ms == 0;
            let degraded = daemon.health.degraded(now);
            self.alarm(role, &exit);
            if degraded {
                tracing::error!(%role, "degraded: it fails again and again, and is still started anew");
            }
            if hopeless {
                self.give_up(format!("{role} does not start: {exit}"));
            }
        } else {
            tracing::info!(%role, how = exit, "ended, as ordered");
        }
        if let Some(stop) = &mut self.stop {
            stop.ended(role);
        }
        self.pending.gone(role);
    }

    pub(crate) fn alarm(&mut self, role: RoleName, what: &str) {
        let what = clean(what, MAX_EXIT_BYTES);
        tracing::warn!(%role, "{what}");
        self.alarms.add(epoch_ms(), role, &what);
    }

    /// A daemon is ready; perhaps now all are.
    pub(crate) fn check_all_ready(&mut self) {
        let all = self.daemons.values().all(|daemon| matches!(daemon.health.phase(), Phase::Ready { .. }));
        if all && self.ready_after_ms == 0 && self.stop.is_none() {
            self.ready_after_ms = self.now_ms().max(1);
            tracing::info!(after_ms = self.ready_after_ms, "all daemons are ready");
            self.notify.ready(&format!("{} daemons ready", self.daemons.len()));
        }
    }

    fn not_ready(&self) -> String {
        let missing = self.daemons.iter().filter(|(_, daemon)| !matches!(daemon.health.phase(), Phase::Ready { .. }));
        let names: Vec<String> = missing
            .map(|(role, daemon)| match daemon.last_exit.as_str() {
                "" => role.to_string(),
                exit => format!("{role} ({exit})"),
            })
            .collect();
        names.join(", ")
    }

    /// The start has failed.
    fn give_up(&mut self, why: String) {
        if self.failed.is_none() && self.stop.is_none() {
            tracing::error!("{why}");
            self.notify.failed(&why);
            self.failed = Some(why);
            self.begin_stop();
            self.begin_stop();
        }
    }

    /// Begins to stop; ordered twice, in a hurry.
    pub(crate) fn begin_stop(&mut self) {
        match &mut self.stop {
            Some(stop) => stop.hurry(),
            None => {
                self.notify.stopping();
                self.pending.stopping();
                let live = self.daemons.iter().filter(|(_, daemon)| daemon.live.is_some()).map(|(role, _)| *role);
                self.stop = Some(Stop::new(live));
                self.daemons.values_mut().for_each(|daemon| daemon.health.off());
            }
        }
    }

    /// True when nobody is left.
    fn go_on_stopping(&mut self) -> bool {
        let now = self.now_ms();
        self.answer_due(now);
        while let Some(stop) = &mut self.stop {
            match stop.next(now) {
                Next::Drain(roles) => roles.into_iter().for_each(|role| self.order(role, &to_end(role))),
                Next::Kill(roles) => {
                    for role in roles {
                        tracing::warn!(%role, "it did not finish in time and is killed");
                        self.daemons
                            .get(&role)
                            .and_then(|daemon| daemon.live.as_ref())
                            .inspect(|live| live.process.kill());
                    }
                }
                Next::Wait(_) => return false,
                Next::Over => return true,
            }
        }
        false
    }
}

/// What a daemon is ordered when all of them end.
const fn to_end(role: RoleName) -> Order {
    match role {
        RoleName::Policyd => Order::DrainAll(DrainAll {}),
        RoleName::Ctl
        | RoleName::Gatewayd
        | RoleName::Planner
        | RoleName::Syntd
        | RoleName::Sandboxd
        | RoleName::Mind
        | RoleName::Memoryd => Order::Drain(Drain {}),
    }
}

/// Milliseconds since the epoch.
pub(crate) fn epoch_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_millis()).ok())
        .unwrap_or(0)
}

/// A number nobody foresees; only pauses depend on it.
pub(crate) fn chance() -> u64 {
    getrandom::u64().unwrap_or(0)
}
