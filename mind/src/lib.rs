//! The only speaker to language models (design: mind §1). It answers anyone who has an end to it and asks nobody; it alone
//! holds the keys of models' servers, and connects to the configured ones only. Where no model is configured it says
//! so, and never makes an answer up; where one is, no other answers in its place unless the owner has written that down.
//!
//! # Map
//! [`servers`] opens what is configured before the lock: [`servers::registry`] reads it, [`servers::keys`] are what the keys
//! are called, [`servers::substrate`] is one server, [`servers::fair_queue`] its places · [`mod@format`] what servers speak,
//! without I/O, over [`format::sse`], [`format::json`] and [`format::accumulator`] · [`mind`] what is held: the models, the
//! thoughts under way, the [`funds`] of turns · [`thinking`] one thought from its ask to its end · [`assist`] those for
//! executors · [`serve`] who may ask what · [`report`] what is reported. The way to a server, and its key, are
//! [`metnos_outbound`]'s.

mod answer;
pub mod assist;
pub mod error;
pub mod format;
pub mod funds;
pub mod limits;
pub mod mind;
pub mod report;
pub mod serve;
pub mod servers;
pub mod thinking;
