//! The supervisor: starts the daemons, wires them as the matrix says, watches them, starts anew what fails, and ends
//! everything in order. It must never parse anything that came from the world, never keep an end of a channel, and
//! never read memory, keys or workspace (design: architecture §1, §4).
//!
//! # Map
//! Pure cores: [`broker`] which pairs to make · [`health`] when to start, ping, end a daemon · [`mend`] when to make
//! a broken channel anew · [`stop`] the order of the end · [`alarms`] · [`config`] `metnos.toml` · [`ids`] as whom.
//!
//! What acts: [`set`] the one loop (with `heard`, what it makes of reports, and `asks`, its answers to `metnosctl`) ·
//! [`front`] what a way of running daemons must be able to do · [`spawn`] the first: children · [`mod@line`] a daemon's
//! control line · [`ctl`] the socket of `metnosctl` · [`instance`] the directory · [`notify`] systemd and whoever
//! waits for readiness · [`mod@run`] all of it in order.
//!
//! # Its own rights
//! Started by an ordinary user it has his. Started as root it has to stay root, because every restart needs the
//! right to become another user; it therefore empties its bounding set of capabilities before the first daemon and
//! sets `no_new_privs` (no program it starts can ever gain one), is not dumpable, and hears nothing but two kinds of
//! fixed words: its daemons' reports and the questions of the owner.

mod acl;
pub mod alarms;
pub mod broker;
pub mod config;
pub mod ctl;
pub mod folders;
pub mod front;
pub mod health;
pub mod ids;
pub mod instance;
pub mod line;
pub mod mend;
pub mod notify;
pub mod run;
pub mod set;
pub mod shared;
pub mod spawn;
pub mod stop;
pub mod sys;
pub mod zone;

mod asks;
mod heard;

pub use asks::{RESTART_WITHIN_MS, SURVEY_WITHIN_MS};
pub use heard::{MAX_LOCK_LINE_BYTES, MAX_LOCK_LINES};
