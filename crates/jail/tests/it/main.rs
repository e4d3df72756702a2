//! The lock, applied to real processes that attempt what it forbids.
#![allow(clippy::unwrap_used, clippy::panic)]

mod attempts;
mod locked;
mod support;
