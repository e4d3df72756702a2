//! The supervisor's star, and how a daemon comes to life on it.

pub mod boot;
pub mod control;
mod settings;
