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

pub mod boot;
pub mod chain;
pub mod control;
pub mod disk;
pub mod doc;
pub mod edge;
pub mod edges;
pub mod envelope;
pub mod executor;
pub mod frame;
pub mod ids;
pub mod json;
pub mod link;
pub mod link_async;
pub mod lists;
pub mod log;
pub mod masks;
pub mod merkle;
pub mod models;
pub mod msg;
pub mod parcel;
pub mod payload;
pub mod phase;
pub mod prompt;
pub mod request;
pub mod role;
mod settings;
pub mod socket;
pub mod sys;
pub mod turn_log;
pub mod word;
