//! What the cross-process tests stand on: the real set of daemons in a temporary directory, or one
//! daemon alone with the test at the other end of all its channels. It must never be linked into a
//! daemon, and must leave no process and no file behind.
//!
//! [`bins`] which binaries · [`instance`] a whole set · [`solo`] one daemon, the test playing the
//! supervisor and all its peers · [`peers`] honest ones of those · [`liar`] packets that no honest peer sends · [`procfs`] and
//! [`sockets`] what the kernel says from outside · [`chronicle`] the recorded lines · [`rng`] seeded
//! chance · [`relay`] a planner that does what a test orders · [`sink`] what is reached outside · [`http`] programs and pages · [`telegram`] a server of the Bot API ·
//! [`terminal`] a person at a terminal.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on ends with the reason")]

pub mod bins;
pub mod chronicle;
pub mod http;
pub mod instance;
pub mod liar;
pub mod minds;
pub mod outside;
pub mod peers;
pub mod pool;
pub mod procfs;
pub mod relay;
pub mod rng;
pub mod script;
pub mod servers;
pub mod sink;
pub mod sockets;
pub mod solo;
pub mod telegram;
pub mod terminal;
pub mod watch;
pub mod ws;

use std::time::{Duration, Instant};

/// Waits until `done` gives something, asking again every few milliseconds.
///
/// # Panics
/// When it gives nothing within `within`; `what` says what was waited for.
pub fn until<T>(what: &str, within: Duration, mut done: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + within;
    let mut wait = Duration::from_millis(5);
    loop {
        if let Some(value) = done() {
            return value;
        }
        assert!(Instant::now() < end, "{what}: not within {within:?}");
        std::thread::sleep(wait);
        // Many looks start a program, which takes time from what is waited for.
        wait = (wait * 3 / 2).min(Duration::from_millis(100));
    }
}
