//! Proposes new executors and can change nothing. `watch` asks what was missing and how much growth is allowed, and carries what
//! the ager has seen to policyd's sieve, put into words by `proposal`; it never polls. `draft` makes the files of an executor of
//! what a model writes, `run` has them written and tried, `order` serves the owner who wants one.

pub mod draft;
pub mod order;
pub mod proposal;
pub mod run;
pub mod text;
pub mod watch;
