//! A turn with a small model whose server holds replies to a schema (design: understanding §3): it **chooses** what to do,
//! **fills** the arguments, **reads** the result and answers, each a short thought. All of it is pure: [`machine::StepLoop`]
//! takes events and gives asks, as [`crate::thinking::core`] does, and is tested without sockets.
//!
//! What the schema makes impossible is refused all the same: a server that does not hold to it is no reason to believe
//! what it sends. Each act is policyd's to allow, whatever was chosen.

mod asked;
pub mod choices;
pub mod fields;
pub mod machine;
mod paths;
mod purse;
mod results;
mod shape;
pub mod talk;
pub mod thoughts;

#[cfg(test)]
mod tests;

/// Whether words ask, and order nothing.
#[must_use]
pub fn is_question(words: &str) -> bool {
    asked::Asked::of(words, "").is_question()
}

/// The most executors that a model chooses among.
pub const MAX_CHOICES: usize = 8;
/// The most executors that may serve any request of which all stand in the list, so that it stays the same.
pub const MAX_LISTED: usize = 12;
/// The most bytes of the first prompt: 900 tokens, at three bytes each.
pub const MAX_FIRST: usize = 2_700;
/// The most rounds of choosing, filling and reading.
pub const MAX_ROUNDS: u32 = 4;
/// How often in a turn a reply may be of no use.
pub const MAX_USELESS: u32 = 2;
/// The most bytes of a result that are shown.
pub const MAX_RESULT: usize = 1_800;
/// The most names of files that are offered.
pub const MAX_NAMES: usize = 8;
/// The most tokens of a choice, with the answer that may stand in it; of arguments; of what was read.
pub const CHOICE_TOKENS: u32 = 400;
/// See [`CHOICE_TOKENS`].
pub const FILL_TOKENS: u32 = 512;
/// See [`CHOICE_TOKENS`].
pub const READ_TOKENS: u32 = 400;
