//! The words of a request: tokens, grammar, lexicon, lists and times.

pub mod grammar;
pub mod lexicon;
pub mod lists;
pub(crate) mod phrase;
pub mod places;
pub mod said;
pub mod token;
pub mod when;

#[cfg(test)]
mod days_tests;
