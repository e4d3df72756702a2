//! The processes of executors: how one is started, spoken to, bounded and ended.

pub mod disk;
pub mod egress;
pub mod frames;
pub mod groups;
pub mod input;
pub mod kernel;
pub mod launch;
pub mod limits;
pub mod reaper;
pub mod watched;
