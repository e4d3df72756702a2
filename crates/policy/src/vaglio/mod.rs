//! Vaglio: the sieve that every spontaneous proposal passes before a word of it reaches the owner. First the guard,
//! binary; then, and only then, the judge, graded. The two are never one number (design: policy §5).
//!
//! # Map
//! [`telos`] the owner's ends, as `TELOS.md` has them · [`judge`] how well a proposal fits each of them, and the
//! estimate that stands in for a model · [`weigh`] the arithmetic, and what answers teach · [`bother`] how often one
//! may speak, and when not, by the owner's clock (`metnos_calendar::zone`) · [`sieve`] all of it in order.

pub mod bother;
pub mod judge;
pub mod sieve;
pub mod telos;
pub mod weigh;
