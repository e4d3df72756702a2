//! The answers to `metnosctl`: an end of an admin channel, how everybody is, a restart, the end. Must never keep the
//! end it hands out, and never let a question wait without bound.

use std::collections::BTreeMap;

use metnos_proto::control::{
    Accepted, Connect, CtlAnswer, CtlAsk, DaemonRow, DaemonState, Drain, EdgeRow, Order, Restart, Surveyed,
};
use metnos_proto::edge::PeerCred;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::role::RoleName;
use tokio::sync::oneshot;

use crate::ctl::{MAX_CLIENTS, refused};
use crate::event::{CtlRequest, Reply};
use crate::set::alarms::clean;
use crate::set::health::{DRAIN_WITHIN_MS, Phase, READY_WITHIN_MS};
use crate::set::launcher::Launcher;
use crate::set::{Daemon, Set};

/// How long a survey waits for the daemons' pongs, in milliseconds.
pub const SURVEY_WITHIN_MS: u64 = 500;
/// How long a restart may take, in milliseconds: finish, start, be ready.
pub const RESTART_WITHIN_MS: u64 = DRAIN_WITHIN_MS + READY_WITHIN_MS;
/// The most answers that are owed: one a client.
const MAX_PENDING: usize = MAX_CLIENTS;

type To = oneshot::Sender<Reply>;

/// The answers that are still owed.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    surveys: Vec<Survey>,
    restarts: Vec<Restarting>,
}

#[derive(Debug)]
struct Survey {
    to: To,
    until_ms: u64,
    /// Whose pong is awaited, from which number on.
    awaited: BTreeMap<RoleName, u64>,
}

#[derive(Debug)]
struct Restarting {
    to: To,
    until_ms: u64,
    role: RoleName,
}

impl Pending {
    /// When an answer is due, whatever comes.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        let surveys = self.surveys.iter().map(|survey| if survey.awaited.is_empty() { 0 } else { survey.until_ms });
        surveys.chain(self.restarts.iter().map(|restart| restart.until_ms)).min()
    }

    pub(crate) fn pong(&mut self, role: RoleName, number: u64) {
        for survey in &mut self.surveys {
            if survey.awaited.get(&role).is_some_and(|from| number >= *from) {
                survey.awaited.remove(&role);
            }
        }
    }

    pub(crate) fn gone(&mut self, role: RoleName) {
        for survey in &mut self.surveys {
            survey.awaited.remove(&role);
        }
    }

    /// Nobody will be ready any more; anyone who waits for that is notified when his answer is dropped.
    pub(crate) fn stopping(&mut self) {
        self.restarts.clear();
    }

    pub(crate) fn ready(&mut self, role: RoleName) {
        let (done, others) = std::mem::take(&mut self.restarts).into_iter().partition(|restart| restart.role == role);
        self.restarts = others;
        let done: Vec<Restarting> = done;
        for restart in done {
            answer(restart.to, CtlAnswer::Accepted(Accepted {}).into());
        }
    }
}

/// A client that has left needs no answer.
fn answer(to: To, reply: Reply) {
    drop(to.send(reply));
}

impl<F: Launcher> Set<F> {
    pub(crate) fn asked(&mut self, CtlRequest { peer, ask, reply }: CtlRequest) {
        if self.pending.surveys.len() + self.pending.restarts.len() >= MAX_PENDING {
            return answer(
                reply,
                refused(RefusalCode::Busy, "supervisor.pending", "too many answers are owed already"),
            );
        }
        match ask {
            CtlAsk::Connect(Connect { role }) => {
                let made = self.connected(role, peer).unwrap_or_else(|refusal| CtlAnswer::Refused(refusal).into());
                answer(reply, made);
            }
            CtlAsk::Survey(_) => self.survey(reply),
            CtlAsk::Restart(Restart { role }) => self.restart(role, reply),
            CtlAsk::Shutdown(_) => {
                tracing::info!(pid = peer.pid, uid = peer.uid, "ordered to stop");
                answer(reply, CtlAnswer::Accepted(Accepted {}).into());
                if self.stop.is_none() {
                    self.begin_stop();
                }
            }
        }
    }

    fn connected(&mut self, role: RoleName, peer: PeerCred) -> Result<Reply, Refusal> {
        if metnos_proto::edges::EdgeId::admin_of(role).is_none() {
            let why = format!("nobody speaks to {role} from outside: there is no such edge in the matrix");
            return Err(Refusal::new(RefusalCode::Denied, "supervisor.matrix", why));
        }
        let missing = || {
            Refusal::new(RefusalCode::Unavailable, "supervisor.down", format!("{role} is not running at this moment"))
                .remedy("it is started anew by itself; try again in a moment, or look at `metnosctl status`")
        };
        let ready = self.daemons.get(&role).is_some_and(|daemon| matches!(daemon.health.phase(), Phase::Ready { .. }));
        if !ready || self.stop.is_some() {
            return Err(missing());
        }
        let wire = self.broker.admin(role).ok_or_else(missing)?;
        match self.connect(wire, peer) {
            Ok((end, fd)) => Ok(Reply { answer: CtlAnswer::Connected(end), fd: Some(fd) }),
            Err(error) => {
                self.kill(role, &error.to_string());
                Err(missing())
            }
        }
    }

    fn survey(&mut self, to: To) {
        let ready = |daemon: &Daemon| matches!(daemon.health.phase(), Phase::Ready { .. });
        let roles: Vec<RoleName> =
            self.daemons.iter().filter(|(_, daemon)| ready(daemon)).map(|(role, _)| *role).collect();
        let awaited = roles.into_iter().filter_map(|role| Some((role, self.ping(role)?))).collect();
        let until_ms = self.now_ms().saturating_add(SURVEY_WITHIN_MS);
        self.pending.surveys.push(Survey { to, until_ms, awaited });
    }

    fn restart(&mut self, role: RoleName, to: To) {
        let now = self.now_ms();
        // Two things may change while everything else goes on: the models, which only mind needs to know, and whether drafts are
        // only shown, which only policyd decides by.
        let reloads = matches!(role, RoleName::Mind | RoleName::Policyd);
        match self.reload.as_ref().filter(|_| reloads).map(|reload| reload()) {
            Some(Ok(settings)) if role == RoleName::Mind => self.settings.models = settings.models,
            Some(Ok(settings)) => self.settings.dry_run = settings.dry_run,
            Some(Err(why)) => {
                let refusal = Refusal::new(RefusalCode::Invalid, "supervisor.config", why);
                return answer(
                    to,
                    CtlAnswer::Refused(refusal.remedy(format!("correct metnos.toml; {role} goes on as it was"))).into(),
                );
            }
            None => {}
        }
        let (None, Some(daemon)) = (&self.stop, self.daemons.get_mut(&role)) else {
            let why = format!("{role} cannot be restarted: it is no daemon, or everything is stopping");
            return answer(to, refused(RefusalCode::Invalid, "supervisor.restart", why));
        };
        if daemon.health.restart(now) {
            self.order(role, &Order::Drain(Drain {}));
        }
        self.pending.restarts.push(Restarting { to, until_ms: now.saturating_add(RESTART_WITHIN_MS), role });
    }

    /// Gives the answers whose time has come.
    pub(crate) fn answer_due(&mut self, now_ms: u64) {
        let is_due = |survey: &Survey| survey.awaited.is_empty() || now_ms >= survey.until_ms;
        let (due, waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut self.pending.surveys).into_iter().partition(is_due);
        self.pending.surveys = waiting;
        for survey in due {
            answer(survey.to, CtlAnswer::Surveyed(self.surveyed()).into());
        }
        let (late, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.pending.restarts).into_iter().partition(|restart| now_ms >= restart.until_ms);
        self.pending.restarts = waiting;
        for Restarting { to, role, .. } in late {
            let refusal = Refusal::new(
                RefusalCode::Unavailable,
                "supervisor.restart",
                format!("{role} was not ready again within {RESTART_WITHIN_MS} ms"),
            );
            answer(to, CtlAnswer::Refused(refusal.remedy("look at `metnosctl status` and at the log")).into());
        }
    }

    fn surveyed(&self) -> Surveyed {
        let pss_kib = metnos_jail::Pss::open().and_then(|pss| pss.kib()).unwrap_or(0);
        Surveyed {
            instance: clean(&self.instance, 4096),
            mode: self.front.mode().to_owned(),
            pid: std::process::id(),
            uid: rustix::process::geteuid().as_raw(),
            since_ms: self.since_ms,
            ready_after_ms: self.ready_after_ms,
            pss_kib,
            uids_separate: self.front.uids_separate(),
            daemons: self.daemons.iter().map(|(role, daemon)| self.row(*role, daemon)).collect(),
            edges: self
                .broker
                .between()
                .map(|(edge, channel)| EdgeRow { edge, generation: channel.generation, up: channel.up })
                .collect(),
            alarms: self.alarms.list(),
        }
    }

    fn row(&self, role: RoleName, daemon: &Daemon) -> DaemonRow {
        let of_phase = match daemon.health.phase() {
            Phase::Off | Phase::Waiting { .. } => DaemonState::Waiting,
            Phase::Starting { .. } => DaemonState::Starting,
            Phase::Ready { .. } => DaemonState::Ready,
            Phase::Draining { .. } | Phase::Closing { .. } | Phase::Dying => DaemonState::Stopping,
        };
        let state = if self.stop.is_some() {
            DaemonState::Stopping
        } else if daemon.health.degraded(self.now_ms()) {
            DaemonState::Degraded
        } else {
            of_phase
        };
        let process = daemon.live.as_ref().map(|live| &live.process);
        DaemonRow {
            role,
            state,
            pid: process.map_or(0, |process| process.pid),
            uid: process.map_or(0, |process| process.uid),
            since_ms: daemon.ready_at_ms,
            restarts: daemon.incarnation.saturating_sub(1),
            last_exit: daemon.last_exit.clone(),
            pss_kib: daemon.pss_kib,
            lock: daemon.lock.clone(),
            waived: daemon.waived.clone(),
        }
    }
}
