//! What mind is asked: to think, judge and draft with the model of a role. It asks nobody; what it used it
//! reports to policyd in a note, and it thinks in a turn only as far as policyd has funded that turn.
//!
//! Prompts and replies go beside the words, as [`crate::prompt::Prompt`] and [`crate::prompt::Reply`] in JSON.

use crate::ids::{Blake3, TurnId};
use crate::words;

words! {
    // ---- from the planner ----------------------------------------------

    /// Think about the prompt beside it. What the model writes comes in [`ThoughtDelta`]s on the way, and whole at the end.
    pub struct Think {
        /// The turn it is for, which policyd must have funded.
        pub turn: TurnId,
        /// The asker's number of this thought in its turn: each once, ascending.
        pub thought: u32,
        /// The role, as in the configuration: `interface`, `fast`, …
        pub role: String,
        /// The most tokens to answer with.
        pub max_tokens: u32,
    }

    /// The reply comes beside it, and behind that the very bytes that were sent to the model's server, without its key.
    pub struct Thought {
        /// Which model answered, as `substrate/model`.
        pub model: String,
        /// What it took.
        pub usage: Usage,
    }

    /// What a thought took.
    pub struct Usage {
        /// Tokens read, those from a cache included.
        pub tokens_in: u64,
        /// Of those, tokens that the server had read before.
        pub tokens_cached: u64,
        /// Tokens written.
        pub tokens_out: u64,
        /// What it costs by the owner's table, in millionths of the instance's currency.
        pub micro: u64,
        /// Whether the server said so; else it is estimated from the bytes.
        pub counted: bool,
    }

    /// Stop a thought: what comes after is not waited for. What it took until then counts.
    pub struct StopThinking {
        /// The turn.
        pub turn: TurnId,
        /// Which thought of it.
        pub thought: u32,
    }

    /// See [`StopThinking`].
    pub struct ThinkingStopped {
        /// False when it had already ended.
        pub was_open: bool,
    }

    /// A note to the planner: the next piece of a thought's text, in order. At most [`MAX_DELTA`] bytes.
    pub struct ThoughtDelta {
        /// The turn.
        pub turn: TurnId,
        /// Which thought of it.
        pub thought: u32,
        /// The piece.
        pub text: String,
    }

    // ---- from policyd --------------------------------------------------

    /// How much all thoughts of a turn may take together, from now on. A later word takes the place of an earlier one;
    /// what the turn has used before still counts against it.
    pub struct Fund {
        /// The turn.
        pub turn: TurnId,
        /// The most tokens, read and written.
        pub tokens: u64,
        /// The most money, in millionths.
        pub micro: u64,
        /// Whether it is a run of drafts: syntd thinks in it and nobody else, and in a turn everybody but syntd.
        pub drafts: bool,
    }

    /// See [`Fund`].
    pub struct Funded {
        /// Tokens that the turn has used.
        pub tokens: u64,
        /// Money that it has used, in millionths.
        pub micro: u64,
    }

    /// A turn is over: no thought begins in it any more, and what is under way is stopped.
    pub struct EndFund {
        /// The turn.
        pub turn: TurnId,
    }

    /// Judge the prompt beside it, with the model of the role `judge` (asked by policyd only). The reply and what was
    /// sent come beside the answer, a [`Thought`].
    pub struct Judge {
        /// The most tokens to answer with.
        pub max_tokens: u32,
    }

    /// Think about the arguments beside it, which a call was decided on with, as the manifest of its executor says: the reply
    /// is given to the run of that call, and to nobody else. The reply and what was sent come beside the answer, a [`Thought`].
    pub struct Assist {
        /// The turn of the call, which policyd has funded.
        pub turn: TurnId,
        /// policyd's number of this thought in its turn: each once, [`FIRST_ASSISTED`] or more.
        pub thought: u32,
        /// The role that the manifest names.
        pub role: String,
        /// What the manifest says is to be done with the arguments.
        pub instruction: String,
        /// The most tokens to answer with.
        pub max_tokens: u32,
    }

    /// A note to policyd: a thought of the planner, of syntd or of an executor has ended, and this is what it took.
    pub struct ThoughtUsed {
        /// The turn.
        pub turn: TurnId,
        /// Which thought of it.
        pub thought: u32,
        /// The role.
        pub role: String,
        /// `substrate/model`.
        pub model: String,
        /// What it took.
        pub usage: Usage,
        /// The digest of the bytes that were sent to the model's server.
        pub sent: Blake3,
        /// What went wrong, in a word; empty when nothing did.
        pub failed: String,
    }

    // ---- from syntd ----------------------------------------------------

    /// Draft from the prompt beside it, with the model of the role `synth` (asked by syntd only).
    pub struct Draft {
        /// The run of syntd that it is for, as policyd has named and funded it.
        pub turn: TurnId,
        /// The asker's number of this thought: each once, ascending.
        pub thought: u32,
        /// The most tokens to answer with.
        pub max_tokens: u32,
    }

    // ---- from the door, the planner and the owner ----------------------

    /// Which models can be called?
    pub struct MindHealth {}

    /// See [`MindHealth`].
    pub struct MindReport {
        /// One entry a role that has a model.
        pub roles: Vec<RoleModel>,
        /// In a sentence, for a person.
        pub says: String,
    }

    /// The model of one role.
    pub struct RoleModel {
        /// The role.
        pub role: String,
        /// `substrate/model`.
        pub model: String,
        /// Whether it answered when last asked.
        pub reachable: bool,
        /// Whether its server takes tools in its own format; else calls are asked for as JSON.
        pub tools: bool,
        /// The most tokens of a prompt and its reply together.
        pub context: u32,
        /// Whether its server holds a reply to a schema and the model is one to be asked in short steps.
        pub constrained: bool,
    }

    /// What each substrate offers, asked of the substrates now: as JSON beside the answer.
    pub struct ScanModels {}

    /// What is configured and what is known of it, without asking anybody: as JSON beside the answer.
    pub struct ListModels {}

    /// Ask a model for a word, to see whether it can be called: what came of it as JSON beside the answer.
    pub struct TestModel {
        /// `substrate/model`; or a role's name, for the model that it has.
        pub model: String,
    }

    /// Keep the key beside it as that substrate's, instead of the one before. An empty one takes it away.
    pub struct PutKey {
        /// The substrate.
        pub substrate: String,
    }
}

/// The role of what the owner has tried: it belongs to no turn ([`TurnId::NONE`]) and is funded by his own hand.
pub const TEST_ROLE: &str = "test";
/// Thoughts for executors have numbers from here on, so that they are never the planner's.
pub const FIRST_ASSISTED: u32 = 1 << 20;
/// The most bytes of text in one delta, so that it always fits a frame.
pub const MAX_DELTA: usize = 16 * 1024;
/// The most bytes of a substrate's key.
pub const MAX_KEY: usize = 4 * 1024;
/// The most bytes of a prompt, as JSON.
pub const MAX_PROMPT: usize = 4 << 20;
/// The most bytes of a reply, as JSON.
pub const MAX_REPLY: usize = 1 << 20;

impl Usage {
    /// Tokens read and written together.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.tokens_in.saturating_add(self.tokens_out)
    }
}
