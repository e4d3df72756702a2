//! Proposes new executors and can change nothing: it asks what was missing and how much growth is
//! allowed, and carries what the ager has seen to policyd's sieve. It never polls; it asks when a link
//! is made, and when memoryd says that there is something.

pub mod proposal;
pub mod watch;
