//! What a process of an executor is confined to, and how it is confined.

pub mod approved;
pub mod hidden;
pub mod host_folders;
pub mod inner;
pub mod masks;
pub mod mounts;
pub mod order;
pub mod seccomp;
pub mod userns;
pub mod view;
