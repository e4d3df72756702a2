//! What mind is asked: it thinks for one caller at a time, and asks nobody.

use crate::words;

words! {
    /// Think about the prompt beside it, for the planner's role.
    pub struct Think {
        /// The role, as in the configuration: `interface`, `fast`, …
        pub role: String,
        /// The most tokens to answer with.
        pub max_tokens: u32,
    }

    /// Judge the proposal beside it (asked by policyd only).
    pub struct Judge {
        /// The telos it is judged against, as in `TELOS.md`.
        pub telos: String,
    }

    /// Draft from the specification beside it (asked by syntd only).
    pub struct Draft {
        /// The most tokens to answer with.
        pub max_tokens: u32,
    }

    /// The reply comes beside it.
    pub struct Thought {
        /// Which model answered, as `substrate/model`.
        pub model: String,
        /// Tokens read.
        pub tokens_in: u32,
        /// Tokens written.
        pub tokens_out: u32,
    }

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
    }
}
