//! The only speaker to language models. It answers whoever has an end to it and asks nobody; as long
//! as no model is configured it says so, and never makes an answer up.

pub mod daemon;
pub mod serve;
