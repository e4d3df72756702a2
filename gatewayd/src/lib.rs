//! The door and the planner: two processes, one crate. Open this file first.
//!
//! [`reflex`] turns words into calls, purely. [`turn`] is the planner: one task a turn. [`session`] is
//! the door: sessions, and what is passed back to them; [`http`] is its channel for programs and pages. [`hooks`] is what fires without a person. [`daemon`] is
//! the life that both lead, [`told`] what one keeps for the other. Nothing here opens a file, and no socket is made after the lock; the two processes share code, never state.

pub mod daemon;
pub mod hooks;
pub mod http;
pub mod session;
pub mod telegram;
pub mod thinking;
pub mod told;
pub mod turn;

pub use metnos_reflex as reflex;

#[cfg(test)]
mod testing;
