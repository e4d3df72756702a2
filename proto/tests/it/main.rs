//! The wire as peers see it: a module a subject.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod golden;
mod hostile;
mod links;
