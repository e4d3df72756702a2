//! The heads of the chronicle: signed, kept, and compared with what memoryd has.

pub mod anchors;
pub mod heads;
