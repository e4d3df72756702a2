//! policyd answers one question: may this happen? It decides, mediates and signs; it has no
//! network, runs nothing, and never parses what an executor has put out. An error, a
//! timeout, an unknown word or a missing file is a denial (design: policy).
//!
//! # Map
//! Pure cores, tested without sockets: [`decide`] the order of a decision · [`guard`] and
//! [`paths`] core forbidden paths in every spelling · [`arguments`], [`contract`] what a call
//! says and whether it fits · [`intent`], [`labels`] the flow of data · [`rate`].

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod act;
pub mod arguments;
pub mod births;
pub mod clock;
pub mod contract;
pub mod decide;
pub mod guard;
pub mod intent;
pub mod key;
pub mod labels;
pub mod lifecycle;
pub mod paths;
pub mod policy;
pub mod principal;
pub mod rate;
pub mod registry;
pub mod seeds;
pub mod serve;
pub mod store;
pub mod turns;

#[cfg(test)]
mod testing;
