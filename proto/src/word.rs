//! What a word of an edge is, and how an ask is turned down: all that a phase machine needs of the wire.

use postcard_schema::Schema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::msg::common::Refusal;

/// A word of an edge: it knows how many descriptors it brings.
pub trait Word: Serialize + DeserializeOwned + Schema + Clone + std::fmt::Debug + 'static {
    /// Exactly that many, no more and no fewer.
    fn fds(&self) -> usize;

    /// The word's name, for logs.
    fn name(&self) -> &'static str;
}

/// Why a handler does not answer an ask.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Answered, and the channel lives on.
    #[error("refused: {0}")]
    Refused(#[from] Refusal),
    /// A breach of protocol: never answered politely. The channel is closed and the breach recorded.
    #[error("breach of protocol: {0}")]
    Violation(String),
}
