//! What comes from a client, before anything is done about it: its head, its address, who may ask, its body.

pub(super) mod body;
pub mod guard;
pub(super) mod head;
pub mod route;
