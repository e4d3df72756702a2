//! What `bench ask` measures: somebody who is given words and says what came of them. The measurement itself starts
//! nothing; whoever calls it brings the households.

use std::collections::BTreeMap;

use metnos_proto::msg::planner::TurnEnd;

use crate::Failure;

/// The files of a workspace by their paths below it.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What came of one text that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// What a person has read: the answer, and why there is none.
    pub answer: String,
    /// How the turn ended, as the planner reports it.
    pub end: TurnEnd,
    /// How many cards were shown.
    pub cards: usize,
    /// The executors whose calls have succeeded.
    pub succeeded: Vec<String>,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

/// A household that was made for one line, and that nobody else uses.
pub trait Household {
    /// Says something, and waits for the end of the turn.
    ///
    /// # Errors
    /// When no turn came of it.
    fn say(&mut self, words: &str) -> Result<Said, Failure>;

    /// The files of the workspace as they are now, without hidden ones.
    ///
    /// # Errors
    /// When they cannot be read.
    fn files(&mut self) -> Result<Files, Failure>;

    /// How many tokens models have read and written in it.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn tokens(&mut self) -> Result<u64, Failure>;
}
