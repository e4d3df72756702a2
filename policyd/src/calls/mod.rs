//! One call, from the ask to its result: what it says, which turn it belongs to, and what runs.

pub(crate) mod call;
pub(crate) mod carried;
pub(crate) mod files;
pub(crate) mod inbox;
pub mod intent;
pub(crate) mod opening;
pub(crate) mod outcome;
pub(crate) mod path_locks;
pub mod rate;
pub(crate) mod reserved;
pub(crate) mod running;
pub(crate) mod speculative;
pub mod turns;

#[cfg(test)]
mod decision_tests;
