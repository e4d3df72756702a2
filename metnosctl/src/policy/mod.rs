//! What policyd would decide, and what it decides by.

pub mod budget;
pub mod check;
pub mod constitution;
pub mod replay;
pub mod vaglio;
