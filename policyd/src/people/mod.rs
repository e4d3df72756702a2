//! The principals: who they are, what they may do without asking, and the language they are spoken to in.

pub mod autonomy;
pub(crate) mod door;
pub mod language;
pub(crate) mod notices;
pub mod pairing;
pub mod principal;
pub(crate) mod visibility;
