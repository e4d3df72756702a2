//! The real policyd over real sockets, with peers that the tests play: a module a subject.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod advice;
mod anchors;
mod approvals;
mod asks;
mod births;
mod budget;
mod daemon;
mod drafting;
mod flood;
mod habits;
mod hostile;
mod lifecycle;
mod mediation;
mod minds;
mod pairing;
mod peers;
mod persons;
mod schedules;
mod switches;
mod undo;
mod vaglio;
mod vault;
mod words;
