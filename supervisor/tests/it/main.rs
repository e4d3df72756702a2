//! The supervisor as systemd and its daemons see it: a module a subject.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[cfg(feature = "attack")]
mod set;
mod unit_file;
