//! What syntd asks: what was wished for, and what the ager proposes.

use metnos_proto::msg::memoryd::{AgerProposalList, AgerProposals, GapList};

use super::super::Memory;
use super::super::journal::Answer;

impl Memory {
    /// What was wished for and does not exist?
    ///
    /// # Errors
    /// When the mnestome cannot be read.
    pub fn gaps(&self) -> Answer<GapList> {
        self.usage.gaps()
    }

    /// What does the ager propose that is not settled? A page at a time.
    ///
    /// # Errors
    /// When the mnestome cannot be read.
    pub fn ager_proposals(&self, word: &AgerProposals) -> Answer<AgerProposalList> {
        self.usage.ager_proposals(word)
    }
}
