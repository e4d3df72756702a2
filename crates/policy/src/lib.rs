//! The decision engine: what may happen, as a pure function of what is known. It opens
//! nothing, asks nobody and keeps no clock; policyd, `metnosctl policy replay` and the tests
//! use this very code. What it does not understand it denies, and trust comes from positive
//! evidence only (design: policy §7).
//!
//! # Map
//! [`decision`] the whole decision on a call, step by step · [`call::arguments`] what a call says · [`shares`] what is shared, and
//! by whom it is taken · [`call::spec`] what a signed manifest says of an executor · [`text::words`], [`text::dates`], [`text::numbers`]
//! and [`text::addresses`] what the owner really typed · [`evidence::intent`] what was foreseen before anything else was read · [`evidence::results`]
//! where data came from, by digest · [`call::fields`] what vouches for each argument · [`rules`] the
//! rules in order, first match · [`rules::effects`] one rule for each class of effects · [`evidence::context`]
//! what a turn and its continuations remember · [`rules::guard`], [`call::paths`] and [`call::argv`] what nothing
//! can permit · [`vaglio`] what a spontaneous proposal must pass · [`soul`] the four Laws, as `SOUL.md` has them ·
//! [`replay`] the same engine fed from a recorded trace.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod call;
pub mod decision;
pub mod evidence;
pub mod replay;
pub mod rules;
pub mod shares;
pub mod soul;
pub mod text;
pub mod vaglio;
