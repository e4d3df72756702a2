//! The cards that wait, the grants that stand, and how the owner answers them.

pub mod approval;
pub mod cards;
pub mod grant;
pub(crate) mod waiting;
