//! One call, from the ask to its result: what it says, what is decided, and what is run.

pub(crate) mod act;
pub(crate) mod assist;
pub(crate) mod canaries;
pub(crate) mod direct;
pub(crate) mod explain;
pub(crate) mod files;
pub(crate) mod gather;
pub(crate) mod inbox;
pub mod intent;
pub(crate) mod opening;
pub(crate) mod outcome;
pub(crate) mod path_locks;
pub mod rate;
pub(crate) mod reserved;
pub(crate) mod resume;
pub(crate) mod secret_injection;
pub(crate) mod speculative;
pub mod turns;

#[cfg(test)]
mod decision_tests;
