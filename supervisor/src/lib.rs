//! The supervisor: starts the daemons, wires them as the matrix says, watches them, starts anew what fails, and ends
//! everything in order. It must never parse anything that came from the world, never keep an end of a channel, and
//! never read memory, keys or workspace (design: architecture §1, §4).
//!
//! # Map
//! Pure cores: [`set::broker`] which pairs to make · [`set::health`] when to start, ping, end a daemon · [`set::reconnect_backoff`] when to make
//! a broken channel anew · [`set::stop`] the order of the end · [`set::alarms`] · [`config`] `metnos.toml` · [`process::ids`] as whom.
//!
//! What acts: [`set`] the one loop (with `heard`, what it makes of reports, and `asks`, its answers to `metnosctl`) ·
//! [`set::launcher`] what a way of running daemons must be able to do · [`process::spawn`] the first: children · [`process::control_line`] a daemon's
//! control line · [`event`] what the loop receives of all of them · [`ctl`] the socket of `metnosctl` · [`instance`] the directory · [`process::notify`] systemd and whoever
//! waits for readiness · [`mod@run`] all of it in order.
//!
//! # Its own rights
//! Started by an ordinary user it has his. Started as root it has to stay root, because every restart needs the
//! right to become another user; it therefore empties its bounding set of capabilities before the first daemon and
//! sets `no_new_privs` (no program it starts can ever gain one), is not dumpable, and receives nothing but two kinds of
//! fixed words: its daemons' reports and the questions of the owner.

pub mod config;
pub mod ctl;
pub mod event;
pub mod instance;
pub mod process;
pub mod run;
pub mod set;
pub mod zone;

pub use set::events::{MAX_LOCK_LINE_BYTES, MAX_LOCK_LINES};
pub use set::requests::{RESTART_WITHIN_MS, SURVEY_WITHIN_MS};
