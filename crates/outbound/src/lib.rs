//! The way out to one server, for a daemon that speaks to the world under its lock. Open this file first.
//!
//! [`net`] leads a client to one host and nowhere else; [`secret_file`] keeps the secret that opens it. Everything is opened
//! before the lock. Nothing here decides where to go: that stands in `metnos.toml`.

pub mod net;
pub mod secret_file;
