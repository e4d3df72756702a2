//! The tiers of conversation memory, and what of them a planner may read. Only trusted memory goes in here.
//!
//! Long: the six workspace files ([`workspace`]). Medium: the conversations of late, the recent tasks, and summaries of
//! what is older ([`medium`], [`extract`]). And the executors that may fit the words, best first ([`rank`]). [`envelope`]
//! puts them together.

pub mod envelope;
pub mod extract;
pub mod medium;
pub mod rank;
pub mod workspace;
