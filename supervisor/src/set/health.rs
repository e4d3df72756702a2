//! How a daemon fares: the pure core that says when to restart it, ping it or end it. It knows no clock, no
//! chance and no process: time comes in as milliseconds, chance as a number, and what is due goes out as a value.

use std::collections::VecDeque;

/// The first pause before a daemon is restarted, in milliseconds (design: architecture §4).
pub const BACKOFF_FIRST_MS: u64 = 100;
/// The longest pause.
pub const BACKOFF_MAX_MS: u64 = 30_000;
/// Each such span of being ready takes one doubling of the pause back.
pub const FORGIVE_EACH_MS: u64 = 1_000;
/// After being ready this long, all is forgotten.
pub const FORGET_AFTER_MS: u64 = 5_000;
/// How far chance moves a pause, up or down, in percent: so that daemons that fell together do not rise together.
pub const JITTER_PERCENT: u64 = 20;
/// That many failures within [`DEGRADED_WITHIN_MS`] make a daemon degraded.
pub const DEGRADED_FAILURES: usize = 5;
/// See [`DEGRADED_FAILURES`].
pub const DEGRADED_WITHIN_MS: u64 = 60_000;
/// How long a daemon may take from its start until it is ready.
pub const READY_WITHIN_MS: u64 = 20_000;
/// How often a daemon is pinged. All at the same instants, so that the machine is woken once.
pub const PING_EVERY_MS: u64 = 30_000;
/// How long it may take to answer.
pub const PONG_WITHIN_MS: u64 = 10_000;
/// How long it may stand still after a signal has stopped it (SIGSTOP), which the kernel reports at once.
pub const HALTED_WITHIN_MS: u64 = 5_000;
/// How long a daemon may take to finish what runs when it is to be restarted.
pub const DRAIN_WITHIN_MS: u64 = 2_000;
/// How long it may live without its control line, so that its exit status can say why it ends.
pub const CLOSE_WITHIN_MS: u64 = 500;

/// Where a daemon stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not started, and nothing will start it by itself.
    Off,
    /// A process exists and has not said that it is ready.
    Starting {
        /// When it is given up.
        until_ms: u64,
    },
    /// It serves.
    Ready {
        /// Since when.
        since_ms: u64,
    },
    /// It was ordered to finish, in order to be started anew.
    Draining {
        /// When it is killed.
        until_ms: u64,
    },
    /// It closed its control line, which it does when it ends.
    Closing {
        /// When it is killed after all.
        until_ms: u64,
    },
    /// It was killed; its end has not been seen yet.
    Dying,
    /// It ended; a new one is started then.
    Waiting {
        /// When.
        until_ms: u64,
    },
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Start it.
    Start,
    /// Send this ping.
    Ping,
    /// End it, for this reason.
    Kill(Reason),
}

/// Why a daemon is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Not ready in time.
    NotReady,
    /// No answer to a ping in time.
    Silent,
    /// Stopped by a signal, and not continued.
    Halted,
    /// Told to finish, and did not in time.
    NotDrained,
    /// Its control line is closed, and it lives on.
    Deaf,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotReady => write!(f, "it was not ready within {READY_WITHIN_MS} ms and was killed"),
            Self::Silent => write!(f, "it did not answer a ping within {PONG_WITHIN_MS} ms and was killed"),
            Self::Halted => {
                write!(
                    f,
                    "a signal had stopped it (SIGSTOP), nothing continued it within {HALTED_WITHIN_MS} ms, and it was killed"
                )
            }
            Self::Deaf => write!(f, "it closed its control line, lived on, and was killed"),
            Self::NotDrained => write!(f, "it did not finish within {DRAIN_WITHIN_MS} ms and was killed"),
        }
    }
}

/// The watch over one daemon.
#[derive(Debug, Clone)]
pub struct Health {
    phase: Phase,
    /// How often the pause has doubled.
    doublings: u32,
    /// When it failed last, oldest first; at most [`DEGRADED_FAILURES`].
    failures: VecDeque<u64>,
    next_ping_ms: u64,
    /// Until when the pong of the ping under way must come.
    pong_until_ms: Option<u64>,
    /// Until when it must go on, when a signal has stopped it.
    halted_until_ms: Option<u64>,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            phase: Phase::Off,
            doublings: 0,
            failures: VecDeque::new(),
            next_ping_ms: 0,
            pong_until_ms: None,
            halted_until_ms: None,
        }
    }
}

impl Health {
    /// Where it stands.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether it failed [`DEGRADED_FAILURES`] times within the last [`DEGRADED_WITHIN_MS`].
    #[must_use]
    pub fn degraded(&self, now_ms: u64) -> bool {
        let recent = |at: &&u64| now_ms.saturating_sub(**at) < DEGRADED_WITHIN_MS;
        self.failures.iter().filter(recent).count() >= DEGRADED_FAILURES
    }

    /// A process exists.
    pub fn started(&mut self, now_ms: u64) {
        self.phase = Phase::Starting { until_ms: now_ms.saturating_add(READY_WITHIN_MS) };
        self.pong_until_ms = None;
        self.halted_until_ms = None;
    }

    /// It said that it is ready. False when it is not the moment for that.
    pub fn ready(&mut self, now_ms: u64) -> bool {
        if !matches!(self.phase, Phase::Starting { .. }) {
            return false;
        }
        self.phase = Phase::Ready { since_ms: now_ms };
        self.next_ping_ms = (now_ms / PING_EVERY_MS).saturating_add(1).saturating_mul(PING_EVERY_MS);
        true
    }

    /// It answered the watch's ping.
    pub fn pong(&mut self) {
        self.pong_until_ms = None;
    }

    /// The kernel says that a signal has stopped it, or that it goes on.
    pub fn halted(&mut self, now_ms: u64, halted: bool) {
        self.halted_until_ms = halted.then(|| self.halted_until_ms.unwrap_or(now_ms.saturating_add(HALTED_WITHIN_MS)));
    }

    /// A person wants it restarted. True when it must now be ordered to finish; a daemon that waits for its start
    /// has its pause cut short, one that starts or ends anyway is left to it.
    pub fn restart(&mut self, now_ms: u64) -> bool {
        match self.phase {
            Phase::Ready { .. } => {
                self.phase = Phase::Draining { until_ms: now_ms.saturating_add(DRAIN_WITHIN_MS) };
                self.pong_until_ms = None;
                true
            }
            Phase::Waiting { .. } => {
                self.phase = Phase::Waiting { until_ms: now_ms };
                false
            }
            Phase::Off | Phase::Starting { .. } | Phase::Draining { .. } | Phase::Closing { .. } | Phase::Dying => {
                false
            }
        }
    }

    /// Its control line was closed.
    pub fn closed(&mut self, now_ms: u64) {
        if let Phase::Ready { since_ms } = self.phase {
            self.forgive(now_ms.saturating_sub(since_ms));
        }
        if matches!(self.phase, Phase::Starting { .. } | Phase::Ready { .. }) {
            self.phase = Phase::Closing { until_ms: now_ms.saturating_add(CLOSE_WITHIN_MS) };
            self.pong_until_ms = None;
        }
    }

    /// It was killed by the supervisor; only its end counts now.
    pub fn killed(&mut self) {
        self.phase = Phase::Dying;
        self.pong_until_ms = None;
        self.halted_until_ms = None;
    }

    /// Its process is gone, or could not be started. `chance` is any number, as random as can be. Returns whether
    /// that was a failure: an end that nobody had asked for.
    pub fn ended(&mut self, now_ms: u64, chance: u64) -> bool {
        let asked_for = matches!(self.phase, Phase::Draining { .. });
        if let Phase::Ready { since_ms } = self.phase {
            self.forgive(now_ms.saturating_sub(since_ms));
        }
        self.pong_until_ms = None;
        self.halted_until_ms = None;
        let pause = if asked_for { 0 } else { self.fail(now_ms, chance) };
        self.phase = Phase::Waiting { until_ms: now_ms.saturating_add(pause) };
        !asked_for
    }

    /// It is not to be started any more.
    pub fn off(&mut self) {
        self.phase = Phase::Off;
        self.pong_until_ms = None;
        self.halted_until_ms = None;
    }

    /// What is to be done at this moment, if anything. Ask until it says `None`.
    pub fn due(&mut self, now_ms: u64) -> Option<Due> {
        if self.halted_until_ms.is_some_and(|until| now_ms >= until) {
            return Some(Due::Kill(Reason::Halted));
        }
        match self.phase {
            Phase::Off | Phase::Dying => None,
            Phase::Waiting { until_ms } => (now_ms >= until_ms).then_some(Due::Start),
            Phase::Starting { until_ms } => (now_ms >= until_ms).then_some(Due::Kill(Reason::NotReady)),
            Phase::Closing { until_ms } => (now_ms >= until_ms).then_some(Due::Kill(Reason::Deaf)),
            Phase::Draining { until_ms } => (now_ms >= until_ms).then_some(Due::Kill(Reason::NotDrained)),
            Phase::Ready { .. } => self.ping_due(now_ms),
        }
    }

    /// When [`Health::due`] is to be asked again, if nothing happens before.
    #[must_use]
    pub fn next_ms(&self) -> Option<u64> {
        self.next_of_phase_ms().into_iter().chain(self.halted_until_ms).min()
    }

    fn next_of_phase_ms(&self) -> Option<u64> {
        match self.phase {
            Phase::Off | Phase::Dying => None,
            Phase::Waiting { until_ms }
            | Phase::Starting { until_ms }
            | Phase::Draining { until_ms }
            | Phase::Closing { until_ms } => Some(until_ms),
            Phase::Ready { .. } => {
                Some(self.pong_until_ms.map_or(self.next_ping_ms, |until| until.min(self.next_ping_ms)))
            }
        }
    }

    fn ping_due(&mut self, now_ms: u64) -> Option<Due> {
        if self.pong_until_ms.is_some_and(|until| now_ms >= until) {
            return Some(Due::Kill(Reason::Silent));
        }
        if now_ms < self.next_ping_ms {
            return None;
        }
        self.next_ping_ms = (now_ms / PING_EVERY_MS).saturating_add(1).saturating_mul(PING_EVERY_MS);
        self.pong_until_ms = Some(now_ms.saturating_add(PONG_WITHIN_MS));
        Some(Due::Ping)
    }

    fn forgive(&mut self, ready_ms: u64) {
        let taken_back = u32::try_from(ready_ms / FORGIVE_EACH_MS).unwrap_or(u32::MAX);
        self.doublings = if ready_ms >= FORGET_AFTER_MS { 0 } else { self.doublings.saturating_sub(taken_back) };
    }

    /// Notes a failure and says how long to wait.
    fn fail(&mut self, now_ms: u64, chance: u64) -> u64 {
        if self.failures.len() >= DEGRADED_FAILURES {
            self.failures.pop_front();
        }
        self.failures.push_back(now_ms);
        let pause = pause_ms(self.doublings, chance);
        self.doublings = self.doublings.saturating_add(1).min(u64::BITS);
        pause
    }
}

/// The pause after that many doublings, moved by chance.
pub(crate) fn pause_ms(doublings: u32, chance: u64) -> u64 {
    let doubled = 1u64.checked_shl(doublings).map_or(BACKOFF_MAX_MS, |factor| BACKOFF_FIRST_MS.saturating_mul(factor));
    let middle = doubled.min(BACKOFF_MAX_MS);
    let percent = 100 - JITTER_PERCENT + chance % (2 * JITTER_PERCENT + 1);
    (middle * percent / 100).min(BACKOFF_MAX_MS)
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
