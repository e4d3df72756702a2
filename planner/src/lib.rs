//! The planner: it turns the words of a person into calls, and asks policyd for each. It reads what the world wrote, so
//! it is presumed hijacked: it must never hold more than its ends. Open this file first.
//!
//! [`turn`] is its daemon side, one task a turn. [`thinking`] is the loop with a model, as a pure state machine; [`steps`]
//! the one with a small model, which is held to a schema. What needs no model is planned by [`metnos_reflex`].

pub mod steps;
pub mod thinking;
pub mod turn;

#[cfg(test)]
mod testing;
