//! The command line as clap sees it, its completion scripts and its manual pages.

pub mod cli;
pub mod completions;
pub mod nouns;
