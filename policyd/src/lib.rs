//! policyd answers one question: may this happen? It decides, mediates and signs; it has no
//! network, runs nothing, and never parses what an executor has put out. An error, a
//! timeout, an unknown word or a missing file is a denial (design: policy).
//!
//! # Map
//! The decision itself is [`decision`], of the crate `metnos-policy`; `gather` gathers its facts. Pure cores around it,
//! tested without sockets: [`arguments`], [`contract`] what a call says and whether it fits · [`approvals`] which answer
//! counts · [`undo`] the way back of an act · [`intent`] what was foreseen, as it comes over the wire · [`rate`],
//! [`budget`] what may be used up · [`vault`] what is given in confidence. Around them: [`anchors`] signs the heads of the
//! chronicle, [`heads`] keeps them.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub use metnos_policy::{arguments, decision, guard, paths, shares};

mod act;
mod ahead;
pub mod anchors;
mod answers;
pub mod approvals;

mod assist;
pub mod autonomy;
pub mod births;
pub mod budget;
mod canaries;
mod cards;
pub mod clock;
pub mod contract;
pub mod daily;
mod direct;
mod door;
mod explain;
mod files;
mod folders;
mod gather;
mod given;
pub mod heads;
pub mod house;
mod inbox;
pub mod intent;
pub mod key;
pub mod life;
pub mod lifecycle;
mod look;
mod notices;
mod opening;
pub mod origins;
mod outcome;
pub mod outside;
pub mod pairing;
pub mod parcels;
mod path_locks;
pub mod policy;
pub mod principal;
mod programs;
pub mod rate;
pub mod readmit;
mod refusals;
pub mod registry;
mod reserved;
mod resume;
pub mod seeds;
pub mod serve;
mod serve_door;

mod showing;
pub mod store;
pub mod store_cards;
pub mod strikes;
pub mod switches;
mod targets;
pub mod tongue;
pub mod turns;
pub mod undo;
pub mod vaglio;
pub mod vault;

#[cfg(test)]
mod decision_tests;
#[cfg(test)]
mod testing;
