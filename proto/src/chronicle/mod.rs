//! What the chronicle is hashed by.

pub mod chain;
pub mod merkle;
