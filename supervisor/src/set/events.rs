//! What the loop makes of an event. A daemon may report only what its moment allows, and only about its own edges:
//! anything else is a breach, and it is ended for it. What a daemon says about another never harms that other.

use metnos_proto::control::{Report, Violation};
use metnos_proto::role::RoleName;

use crate::event::Event;
use crate::set::alarms::clean;
use crate::set::health::Phase;
use crate::set::launcher::Launcher;
use crate::set::{MAX_EXIT_BYTES, Set, chance, epoch_ms};

/// The most lines of a lock report that are kept, and the bytes of one.
pub const MAX_LOCK_LINES: usize = 32;
/// See [`MAX_LOCK_LINES`].
pub const MAX_LOCK_LINE_BYTES: usize = 160;

impl<F: Launcher> Set<F> {
    pub(crate) fn handle(&mut self, event: Event) {
        match event {
            Event::Reported { role, incarnation, report } if self.is_current(role, incarnation) => {
                if let Err(breach) = self.reported(role, report) {
                    self.kill(role, &format!("it broke the protocol of its control line: {breach}"));
                }
            }
            Event::Broke { role, incarnation, why } if self.is_current(role, incarnation) => {
                self.kill(role, &format!("it broke the protocol of its control line: {why}"));
            }
            Event::Closed { role, incarnation } if self.is_current(role, incarnation) => {
                let now = self.now_ms();
                if let Some(daemon) = self.daemons.get_mut(&role) {
                    daemon.health.closed(now);
                }
            }
            Event::Ended { role, incarnation } if self.is_current(role, incarnation) => {
                let live = self.daemons.get(&role).and_then(|daemon| daemon.live.as_ref());
                let Some(process) = live.map(|live| live.process.clone()) else { return };
                let how = self.front.ended(&process);
                self.ended(role, how);
            }
            // An earlier process of that daemon; it has been dealt with.
            Event::Reported { .. } | Event::Broke { .. } | Event::Closed { .. } | Event::Ended { .. } => {}
            Event::Request(asked) => self.asked(asked),
            Event::Children => self.look_for_halted(),
            Event::Signal(name) => {
                tracing::info!("{name}: stopping");
                self.begin_stop();
            }
        }
    }

    /// Which daemons a signal has stopped, or continued. One that is stopped answers nobody, and its peers wait for it.
    fn look_for_halted(&mut self) {
        let now = self.now_ms();
        for (role, daemon) in &mut self.daemons {
            let Some(live) = &daemon.live else { continue };
            if let Some(halted) = self.front.halted(&live.process) {
                let what =
                    if halted { "was stopped by a signal (SIGSTOP)" } else { "goes on after a signal had stopped it" };
                tracing::warn!(%role, "{what}");
                daemon.health.halted(now, halted);
            }
        }
    }

    fn is_current(&self, role: RoleName, incarnation: u32) -> bool {
        self.daemons.get(&role).is_some_and(|daemon| daemon.incarnation == incarnation && daemon.live.is_some())
    }

    fn reported(&mut self, role: RoleName, report: Report) -> Result<(), String> {
        match report {
            Report::Ready(ready) => {
                let now = self.now_ms();
                let Some(daemon) = self.daemons.get_mut(&role) else { return Ok(()) };
                if self.stop.is_some() {
                    return Ok(());
                }
                if !daemon.health.ready(now) {
                    return Err("it says that it is ready when it is not starting".to_owned());
                }
                daemon.ready_at_ms = epoch_ms();
                daemon.lock = lines(ready.lock);
                daemon.waived = lines(ready.waived);
                tracing::info!(%role, "ready");
                self.pending.ready(role);
                self.check_all_ready();
            }
            Report::Pong(pong) => {
                let Some(daemon) = self.daemons.get_mut(&role) else { return Ok(()) };
                daemon.pings = match daemon.pings {
                    Some((first, last)) if (first..=last).contains(&pong.number) => {
                        (pong.number < last).then_some((pong.number + 1, last))
                    }
                    Some(_) | None => return Err("a pong that answers no ping".to_owned()),
                };
                daemon.health.pong();
                daemon.pss_kib = pong.pss_kib;
                self.pending.pong(role, pong.number);
                if role == RoleName::Policyd {
                    self.bring_others();
                }
            }
            Report::Fault(fault) => {
                let Some(daemon) = self.daemons.get_mut(&role) else { return Ok(()) };
                if daemon.fault.is_some() && daemon.health.phase() != Phase::Dying {
                    return Err("it announces its end twice".to_owned());
                }
                daemon.fault = Some(clean(&fault.why, MAX_EXIT_BYTES));
            }
            Report::Drained(_) => {
                let phase = self.daemons.get(&role).map(|daemon| daemon.health.phase());
                if self.stop.is_none() && !matches!(phase, Some(Phase::Draining { .. } | Phase::Dying)) {
                    return Err("it has finished without being asked".to_owned());
                }
                if let Some(stop) = &mut self.stop {
                    stop.drained(role);
                }
            }
            Report::Violation(violation) => return self.violation(role, &violation),
            #[cfg(feature = "attack")]
            Report::Attempted(_) => return Err("it reports an attempt that was not ordered".to_owned()),
        }
        Ok(())
    }

    /// A channel was closed by a breach: it is recorded, and made again after a pause.
    fn violation(&mut self, role: RoleName, violation: &Violation) -> Result<(), String> {
        let edge = violation.edge;
        if edge.asker() != role && edge.answerer() != role {
            return Err(format!("it reports a breach on {edge:?}, which is not its own"));
        }
        let up = self.broker.between().any(|(other, channel)| other == edge && channel.up);
        if up || edge.is_admin() {
            let what = clean(&violation.what, MAX_EXIT_BYTES);
            self.alarm(role, &format!("breach of protocol on {edge:?}, channel closed: {what}"));
        }
        if up {
            self.broker.broken(edge);
            let now = self.now_ms();
            self.reconnect.broken(edge, now, chance());
        }
        Ok(())
    }
}

fn lines(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().take(MAX_LOCK_LINES).map(|line| clean(&line, MAX_LOCK_LINE_BYTES)).collect()
}
