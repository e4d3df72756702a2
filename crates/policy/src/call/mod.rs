//! A call as the rules see it: its specification, its arguments and what they name.

pub mod arguments;
pub mod argv;
pub mod fields;
pub mod paths;
pub mod spec;
