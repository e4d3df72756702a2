//! What a model is asked and what it answers, in no provider's format: JSON documents beside the words to mind.
//!
//! The asker puts what never changes first, so that a provider's cache of prompts holds (design: mind §4). Nothing in a
//! reply is trusted: its text and its arguments are the model's, byte for byte, and only bounded by mind.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most messages of a prompt.
pub const MAX_MESSAGES: usize = 512;
/// The most tools of a prompt.
pub const MAX_TOOLS: usize = 128;
/// The most calls of one reply.
pub const MAX_CALLS: usize = 32;
/// The longest name of a tool, in bytes, as the strictest provider has it.
pub const MAX_TOOL_NAME: usize = 64;

/// What a model is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    /// What stands before the conversation, in order.
    pub system: Vec<Block>,
    /// The tools that may be called.
    pub tools: Vec<Tool>,
    /// The conversation, oldest first; the last one is never the assistant's.
    pub messages: Vec<Message>,
    /// The reply must be JSON that fits this schema, where the provider can be held to it; `None` for free text.
    pub schema: Option<Value>,
    /// How free the choice of words is, in hundredths; `None` for the provider's default.
    pub temperature: Option<u16>,
}

/// A piece of what stands before the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The text.
    pub text: String,
    /// Whether all up to the end of this piece is likely to be sent again soon: a provider may be asked to keep it.
    pub cache: bool,
}

/// A tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name, `[a-zA-Z0-9_-]{1,64}`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments, an object's.
    pub input: Value,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "from", rename_all = "snake_case")]
pub enum Message {
    /// The user's, or what stands in his place.
    User {
        /// The text.
        text: String,
    },
    /// An earlier reply of the model.
    Assistant {
        /// Its text; may be empty when there are calls.
        text: String,
        /// The tools that it called.
        calls: Vec<ModelCall>,
    },
    /// What became of those calls, in their order: each of them, before anything else follows.
    Results {
        /// One for each call.
        results: Vec<CallResult>,
    },
}

/// A call as a model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCall {
    /// The provider's name of the call; made up by mind where the provider gives none.
    pub id: String,
    /// The tool, as the model wrote it: it may not exist.
    pub name: String,
    /// The arguments as the model wrote them: they may be no JSON at all.
    pub arguments: String,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallResult {
    /// As in [`ModelCall::id`].
    pub id: String,
    /// As in [`ModelCall::name`].
    pub name: String,
    /// What the model is shown.
    pub text: String,
    /// Whether the call failed or was refused.
    pub failed: bool,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// Its text.
    pub text: String,
    /// The tools that it wants to call, in its order.
    pub calls: Vec<ModelCall>,
    /// Why it stopped.
    pub stop: Stop,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It had said what it had to say.
    End,
    /// It waits for the results of its calls.
    Calls,
    /// It had no tokens left.
    Length,
    /// Its provider would not let it go on.
    Refused,
    /// It was stopped by who had asked.
    Stopped,
}
