//! `[mind]`: an executor that needs a model's words. It has no way to a model: policyd has the arguments of a decided call
//! thought about, and the run of that call is given the reply (`ctx.thought()`). Nothing it returns is vouched for.

use serde::{Deserialize, Serialize};

use crate::executor::ManifestError;

/// The role that executors think with (design: mind §1, `fast`: classify, summarise).
pub const ROLE: &str = "fast";
/// The longest instruction, in characters.
pub const MAX_INSTRUCTION: usize = 2_000;
/// The most tokens of a reply.
pub const MAX_REPLY_TOKENS: u32 = 4_096;

/// `[mind]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thinking {
    /// Always [`ROLE`].
    pub role: String,
    /// What is to be done with the arguments. They are shown as data; this is the only instruction.
    pub instruction: String,
    /// The most tokens to answer with.
    pub max_tokens: u32,
}

impl Thinking {
    pub(in crate::executor) fn validate(&self) -> Result<(), ManifestError> {
        if self.role != ROLE {
            return Err(ManifestError::field("mind.role", &self.role, format!("`{ROLE}`")));
        }
        let is_text = |c: char| c == '\n' || !c.is_control();
        let length = self.instruction.chars().count();
        if self.instruction.trim().is_empty() || length > MAX_INSTRUCTION || !self.instruction.chars().all(is_text) {
            let expected = format!("a text of 1 to {MAX_INSTRUCTION} characters");
            return Err(ManifestError::field("mind.instruction", &self.instruction, expected));
        }
        if !(1..=MAX_REPLY_TOKENS).contains(&self.max_tokens) {
            return Err(ManifestError::field("mind.max_tokens", self.max_tokens, format!("1 to {MAX_REPLY_TOKENS}")));
        }
        Ok(())
    }
}
