//! What works and what does not: the status, the checks, and the remedies.

pub mod channels;
pub mod doctor;
pub mod host;
pub mod selftest;
pub mod status;
