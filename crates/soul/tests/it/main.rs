//! The compiler over cases: true and twisted premises, one case a rule, and cases that are made of others.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod checker;
mod data;
mod derived;
mod premises;
mod rules;
