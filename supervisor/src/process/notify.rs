//! Telling the process that started the supervisor how it goes: systemd over its notification socket, a program over an
//! inherited descriptor. Nothing here may stop the supervisor: an unheard word is logged, no more.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::time::Duration;

use sd_notify::NotifyState;

/// Who is notified.
#[derive(Debug, Default)]
pub struct Notify {
    /// Receives `ready`, or why not, and then the end.
    ready: Option<std::fs::File>,
    /// How often systemd wants to be notified that the main loop turns, in milliseconds.
    watchdog_ms: Option<u64>,
    next_ms: u64,
}

impl Notify {
    /// Tells systemd if the environment names its socket, and `ready` if there is one.
    #[must_use]
    pub fn new(ready: Option<OwnedFd>) -> Self {
        // Twice within the time, so that one late turn of the loop kills nothing.
        let half = |within: Duration| u64::try_from(within.as_millis() / 2).unwrap_or(u64::MAX).max(1);
        Self { ready: ready.map(std::fs::File::from), watchdog_ms: sd_notify::watchdog_enabled().map(half), next_ms: 0 }
    }

    /// All daemons are ready.
    pub fn ready(&mut self, status: &str) {
        notify_systemd(&[NotifyState::Ready, NotifyState::MainPid(std::process::id()), NotifyState::Status(status)]);
        self.word("ready");
    }

    /// A line for `systemctl status`.
    pub fn status(&self, status: &str) {
        notify_systemd(&[NotifyState::Status(status)]);
    }

    /// It begins to end.
    pub fn stopping(&self) {
        notify_systemd(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
    }

    /// It could not start.
    pub fn failed(&mut self, why: &str) {
        notify_systemd(&[NotifyState::Status(why)]);
        self.word(why);
    }

    /// Says that the main loop turns, when that is due.
    pub fn pet(&mut self, now_ms: u64) {
        if let Some(every_ms) = self.watchdog_ms
            && now_ms >= self.next_ms
        {
            notify_systemd(&[NotifyState::Watchdog]);
            self.next_ms = now_ms.saturating_add(every_ms);
        }
    }

    /// When [`Notify::pet`] is due again.
    #[must_use]
    pub fn next_ms(&self) -> Option<u64> {
        self.watchdog_ms.map(|_| self.next_ms)
    }

    /// Writes one line to the descriptor and closes it.
    fn word(&mut self, word: &str) {
        if let Some(mut file) = self.ready.take()
            && let Err(error) = file.write_all(format!("{word}\n").as_bytes())
        {
            tracing::warn!(%error, "the process that started the supervisor does not listen");
        }
    }
}

fn notify_systemd(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "systemd could not be notified");
    }
}
