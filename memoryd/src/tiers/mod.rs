//! The tiers of conversation memory, and what of them a planner may read. Only trusted memory goes in here.
//!
//! Long: the six workspace files ([`workspace`]). Recent: the principal's own last words. And the
//! executors that may fit them, best first ([`rank`]). [`envelope`] puts them together.

pub mod envelope;
pub mod rank;
pub mod workspace;
