//! What the files and programs that a call names are, seen from policyd.

pub(crate) mod folders;
pub mod outside;
pub mod owner_files;
pub(crate) mod programs;
pub(crate) mod targets;
