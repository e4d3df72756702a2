//! What must fail in every sandbox, tried on this machine.

pub mod canary;
pub mod escape;
