//! The contracts of the executors that may be called, as ranking reads them.

use metnos_proto::envelope::Candidate;
use metnos_proto::msg::common::RefusalCode;
use metnos_rank::order::RankedContracts;

use super::super::journal::{Answer, refused};
use crate::chronicle::Chronicle;

/// The contracts, and the number of the pool that they were read from; 0 before.
#[derive(Debug, Default)]
pub(in crate::memory) struct Catalogue {
    pool: u64,
    contracts: RankedContracts,
}

impl Catalogue {
    /// The contracts of the executors that may be called and that planners are offered; read again when the pool has changed.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(super) fn contracts(&mut self, chronicle: &Chronicle) -> Answer<&RankedContracts> {
        let pool = chronicle.index().pool();
        if self.pool != pool {
            let contracts = chronicle.index().callable()?;
            let candidates: Vec<Candidate> = contracts
                .iter()
                .map(|text| serde_json::from_str(text))
                .collect::<Result<_, _>>()
                .map_err(|error| refused(RefusalCode::Internal, "envelope.contract", error.to_string()))?;
            let offered = candidates.into_iter().filter(|candidate| candidate.offered).collect();
            (self.pool, self.contracts) = (pool, RankedContracts::of(offered));
        }
        Ok(&self.contracts)
    }
}
