//! What a text says: words, numbers, days and addresses, in English and Italian.

pub mod addresses;
mod boundaries;
pub mod carriers;
pub mod dates;
pub mod numbers;
pub mod pointing;
pub mod words;
