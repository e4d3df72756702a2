//! policyd answers one question: may this happen? It decides, mediates and signs; it has no
//! network, runs nothing, and never parses what an executor has put out. An error, a
//! timeout, an unknown word or a missing file is a denial (design: policy).
//!
//! # Map
//! The decision itself is [`decision`], of the crate `metnos-policy`. Here are the facts, the state and the order.
//!
//! - [`policy`]: the mediator, which holds all parts and says in which order they are asked
//! - [`base`]: what every part builds on; [`setting`]: what policyd is told at its start
//! - [`calls`]: a call, its turn, what was foreseen, what runs
//! - [`approvals`]: cards, stored grants and one-time codes, and which answer counts
//! - [`executors`]: registry, births, quarantine, archive, switches
//! - [`people`]: who speaks, autonomy, pairing, language
//! - [`perimeter`]: files, folders and programs that a call names
//! - [`budget`]: what may be used up; [`vault`]: secrets; [`undo`]: the way back of an act; [`vaglio`]: proposals
//! - [`chronicle`]: the signed heads; [`store`]: `policy.sqlite`; [`opened`]: the same before the lock
//! - [`serve`]: the edges; [`daemon`]: what is opened, and the order of the process

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub use metnos_policy::call::arguments;
pub use metnos_policy::call::paths;
pub use metnos_policy::decision;
pub use metnos_policy::rules::guard;
pub use metnos_policy::shares;

pub mod approvals;
pub mod base;
pub mod budget;
pub mod calls;
pub mod chronicle;
pub mod clock;
pub mod daemon;
pub mod executors;
pub mod key;
pub mod opened;
pub mod people;
pub mod perimeter;
pub mod policy;
mod random;
mod refusals;
pub mod serve;
pub mod setting;
pub mod store;
mod text;
pub mod undo;
pub mod vaglio;
pub mod vault;

#[cfg(test)]
mod testing;
