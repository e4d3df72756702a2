//! The daemons as a whole: how they are started, stopped and reached.

pub mod connection;
pub mod daemon;
pub mod down;
pub mod survey;
pub mod up;
