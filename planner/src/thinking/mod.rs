//! The planner's loop with a model (design: mind §3): what it is asked, what its replies mean, and what follows
//! from them. All of it is pure: [`core::ModelLoop`] takes events and gives asks, and is tested without sockets.
//!
//! Whatever a model writes is hostile input. It is bounded, read strictly, reported once where it can be mended, and
//! never decides anything: each act is policyd's to allow. What came from outside is marked as data, but nothing
//! rests on a model heeding that (design: policy §7).

pub mod calls;
pub mod core;
pub mod data;
pub mod failure;
pub mod intent;
pub mod prompt;
pub mod redact_stream;
pub mod reply;
pub mod said;
pub mod schedules;
mod schema;
pub mod speech;
pub mod text_calls;
pub mod tools;

#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;

/// The role of the model that talks and plans (design: mind §1).
pub const ROLE: &str = "interface";
/// The most thoughts of a turn; the last of them is asked for an answer and has no tools.
pub const MAX_THOUGHTS: u32 = 24;
/// The most calls of a turn that has a model, below what policyd admits.
pub const MAX_CALLS: usize = 48;
/// The most calls that run side by side, as policyd has it.
pub const MAX_PARALLEL: usize = 8;
/// How often the very same call is made in one turn.
pub const MAX_SAME: usize = 3;
/// How many replies in a row may be of no use before the turn ends.
pub const MAX_USELESS: u32 = 3;
/// The most tokens of one reply.
pub const REPLY_TOKENS: u32 = 4_096;
/// How many tokens are asked for at a time.
pub const FUND_TOKENS: u64 = 100_000;
/// The most tokens of a turn, read and written.
pub const MAX_TOKENS: u64 = 1_000_000;
/// The most bytes of text that a turn shows a person.
pub const MAX_SAID: usize = 256 * 1024;
/// The most bytes of a prompt; what was shown first is left out when it grows beyond.
pub const MAX_PROMPT: usize = 1 << 20;
/// How many bytes of a prompt make a token, at least: an estimate on the safe side.
pub const BYTES_PER_TOKEN: usize = 3;
/// The most characters of a result that are shown to a model at once.
pub const MAX_SHOWN: usize = 24_000;
/// The largest result that is shown without having been asked for, in bytes.
pub const SHOWN_UNASKED: u64 = 8 * 1024;
/// The largest result of a tool that only reads which is shown with the answer to its call, whatever reading it means.
pub const SHOWN_READ: u64 = 2 * 1024;

/// What was missing in a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Wish {
    /// In words; empty when nothing was.
    pub text: String,
    /// What it would take and give, as far as that was said.
    pub signature: metnos_proto::msg::memoryd::WishedSignature,
}

impl Wish {
    /// A wish of which nothing is known but the words.
    #[must_use]
    pub fn of(words: &str) -> Self {
        Self { text: words.to_owned(), ..Self::default() }
    }
}
