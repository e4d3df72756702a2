//! The tiers of conversation memory, and what of them a planner may read. Only trusted memory goes in here.
//!
//! Long: the six workspace files ([`workspace`]). Medium: the conversations of late, the recent tasks, and summaries of
//! what is older ([`medium`], [`extract`]). [`envelope`] puts them together, with the
//! executors that may fit the words (`metnos-rank`) and the files that they may mean ([`named`], [`titles`]).

pub mod envelope;
pub mod extract;
pub mod medium;
pub mod named;
pub mod stamp;
pub mod titles;
pub mod workspace;
