//! The executors of the instance: births, signatures, quarantine, the archive and the switches.

pub mod archive;
pub mod births;
pub mod contract;
pub mod failure_limit;
pub mod lifecycle;
pub mod origins;
pub mod parcels;
pub mod registry;
pub mod seeds;
pub mod switches;
pub mod unquarantine;
