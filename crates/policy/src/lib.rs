//! The decision engine: what may happen, as a pure function of what is known. It opens
//! nothing, asks nobody and keeps no clock; policyd, `metnosctl policy replay` and the tests
//! use this very code. What it does not understand it denies, and trust comes from positive
//! evidence only (design: policy §7).
//!
//! # Map
//! [`decision`] the whole decision on a call, step by step · [`arguments`] what a call says · [`shares`] what is shared, and
//! by whom it is taken · [`spec`] what a signed manifest says of an executor · [`words`], [`dates`], [`numbers`]
//! and [`addresses`] what the owner really typed · [`intent`] what was foreseen before anything else was read · [`results`]
//! where data came from, by digest · [`fields`] what vouches for each argument · [`rules`] the
//! rules in order, first match · [`effects`] one rule for each class of effects · [`context`]
//! what a turn and its continuations remember · [`guard`], [`paths`] and [`argv`] what nothing
//! can permit · [`vaglio`] what a spontaneous proposal must pass · [`soul`] the four Laws, as `SOUL.md` has them ·
//! [`replay`] the same engine fed from a recorded trace.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod addresses;
pub mod arguments;
pub mod argv;
pub mod carriers;
pub mod context;
pub mod dates;
pub mod decision;
pub mod effects;
pub mod fields;
pub mod files;
pub mod guard;
pub mod intent;
pub mod net;
pub mod numbers;
pub mod paths;
pub mod replay;
pub mod results;
pub mod rules;
pub mod shares;
pub mod soul;
pub mod spec;
pub mod vaglio;
pub mod words;
