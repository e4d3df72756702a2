//! The words the daemons of Metnos exchange, and the links that carry them. Open this file first.
//!
//! Metnos is a set of processes that can do nothing alone. [`role`] says who there is and in
//! which order they may ask; [`mod@edges`] is the whole matrix of who asks whom in which words;
//! [`msg`] holds the words; [`phase`] says which word is admissible when. A word travels in a
//! [`frame`] over a [`link`] (or its tokio form, [`link_async`]); what is large or free-form
//! travels beside it as a [`payload`]. [`control`] is the supervisor's star, and [`boot`] how
//! a daemon comes to life on it. [`chain`] and [`merkle`] are how the chronicle is hashed, for whoever
//! checks it.
//!
//! This crate knows no daemon, and opens nothing: it only uses ends it was given.

mod chronicle;
pub mod disk;
pub mod doc;
pub mod edge;
pub mod edges;
pub mod executor;
pub mod ids;
pub mod json;
pub mod log;
pub mod masks;
pub mod models;
pub mod msg;
mod names;
pub mod parcel;
pub mod phase;
pub mod role;
mod star;
pub mod sys;
mod turn;
mod wire;
pub mod word;

pub use chronicle::{chain, merkle};
pub use star::{boot, control};
pub use turn::{envelope, lists, prompt, request, turn_log};
pub use wire::{frame, link, link_async, payload, socket};
