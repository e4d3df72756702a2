//! The mnestome: which executor's output has become which executor's input, and how firmly. Observed, never declared.
//!
//! A projection of the chronicle (design: memory §2). It is derived when a turn is closed,
//! from sandboxd's records alone; replaying the chronicle from empty gives the same database.

pub mod acts;
pub mod ager;
pub mod bootstrap;
pub mod clock;
pub mod derive;
pub mod fitness;
pub mod graph;
pub mod judged;
mod look;
pub mod snapshot;
pub mod weight;
pub mod wish;
