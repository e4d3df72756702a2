//! Packets, the links over them, and the sealed memory beside them.

pub mod ends;
pub mod frame;
pub mod link;
pub mod link_async;
pub mod payload;
pub mod socket;
