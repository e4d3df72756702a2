//! The real sandboxd over real sockets: a module a subject.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod boot;
mod daemon_ahead;
mod daemon_births;
mod daemon_registry;
mod daemon_serve;
mod fixture;
#[path = "../seeds/mod.rs"]
mod seeds;
