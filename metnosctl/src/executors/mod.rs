//! The commands about executors, one file a subject.

pub(crate) mod archive;
pub mod executor;
pub(crate) mod fitness;
pub(crate) mod parcel;
pub mod profile;
pub mod record;
pub(crate) mod scaffold;
pub mod switches;
pub(crate) mod unquarantine;
