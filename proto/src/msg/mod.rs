//! The words, one file per answering daemon, plus the ones they share.
//!
//! Plain data only: no floats where a count will do, no recursive types, no
//! optional field that an old reader would silently miss. Free-form or large data
//! never stands in a word; it travels beside it as a [`crate::payload::Sealed`].

pub mod accounts;
pub mod common;
pub mod door;
pub mod drafting;
pub mod lifecycle;
pub mod memoryd;
pub mod mind;
pub mod people;
pub mod planner;
pub mod policyd;
pub mod quiet;
pub mod sandboxd;
pub mod schedule;
pub mod vaglio;
pub mod vault_budget;
