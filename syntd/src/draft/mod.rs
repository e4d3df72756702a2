//! A draft of an executor, from a wish to four files. Pure: what a model writes comes in as text, and nothing here runs.
//! `spec` is what is wanted, `shape` reads it off examples, `prompts` are what the model is asked, `code` takes the function
//! out of its reply, `files` writes the executor around it, `mutants` and `strange` put its tests and its code to the proof.

pub mod code;
pub mod files;
pub mod mutants;
pub mod prompts;
pub mod python;
pub mod shape;
pub mod spec;
pub mod strange;

/// The function that a model writes.
pub const FUNCTION: &str = "solve";
/// The one error that a draft declares: an input that it cannot serve.
pub const BAD_INPUT: &str = "BadInput";

#[cfg(test)]
pub(crate) mod testing {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::doc::draft::{DraftLang, DraftOrder};
    use serde_json::Value;

    /// An order in English with these examples.
    pub fn order(wish: &str, examples: Value) -> DraftOrder {
        DraftOrder {
            wish: wish.to_owned(),
            lang: DraftLang::En,
            name: String::new(),
            examples: serde_json::from_value(examples).unwrap(),
            inputs: Vec::new(),
        }
    }
}
