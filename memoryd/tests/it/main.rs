//! The real memoryd over real sockets: a module a subject.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod links;
mod process;
