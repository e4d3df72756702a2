//! What the chronicle is hashed by, and what it never holds.

pub mod chain;
pub mod merkle;
pub mod secrets;
