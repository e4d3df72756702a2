//! Proposes new executors and can change nothing: it asks what was missing and how much growth is
//! allowed. It never polls; it asks when a link is made.

pub mod daemon;
pub mod watch;
