//! What a turn may spend on thoughts: tokens that were granted, used, and asked for; as [`crate::thinking::core`] has it.

use serde::{Deserialize, Serialize};

use crate::thinking::{FUND_TOKENS, MAX_THOUGHTS, MAX_TOKENS};

/// The tokens and thoughts of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Purse {
    thoughts: u32,
    used: u64,
    granted: u64,
    /// The last thought was refused for want of funds: a second time in a row ends the turn.
    begged: bool,
}

/// What a thought needs before it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Price {
    /// Nothing more: the thought of this number may be asked for.
    Paid(u32),
    /// So many tokens are to be asked for first.
    Wanted(u64),
    /// The turn has had its share.
    Bound,
}

impl Purse {
    /// Whether a thought of about so many tokens may be asked for now.
    pub fn price(&mut self, tokens: u64) -> Price {
        let wanted = self.used.saturating_add(tokens);
        if self.thoughts >= MAX_THOUGHTS || wanted > MAX_TOKENS {
            return Price::Bound;
        }
        if wanted > self.granted {
            return Price::Wanted(FUND_TOKENS.max(tokens).min(MAX_TOKENS - self.used));
        }
        self.next()
    }

    /// The next thought, whatever was granted: what is too little mind refuses.
    pub fn next(&mut self) -> Price {
        self.thoughts += 1;
        Price::Paid(self.thoughts)
    }

    /// So many tokens may still be used.
    pub fn grant(&mut self, tokens: u64) {
        self.granted = self.used.saturating_add(tokens);
    }

    /// A thought took so many.
    pub fn spend(&mut self, tokens: u64) {
        self.used = self.used.saturating_add(tokens.max(1));
        self.begged = false;
    }

    /// A thought was refused for want of funds: whether more may be asked for.
    pub fn beg(&mut self) -> bool {
        if std::mem::replace(&mut self.begged, true) {
            return false;
        }
        self.granted = self.used;
        self.thoughts = self.thoughts.saturating_sub(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purse_asks_for_funds_first_and_begs_once_and_ends_at_its_bounds() {
        let mut purse = Purse::default();
        assert_eq!(purse.price(900), Price::Wanted(FUND_TOKENS));
        purse.grant(900);
        assert_eq!(purse.price(900), Price::Paid(1));
        assert!(purse.beg());
        assert_eq!(purse.price(900), Price::Wanted(FUND_TOKENS));
        assert!(!purse.beg(), "twice in a row");
        purse.grant(MAX_TOKENS);
        assert_eq!(purse.price(900), Price::Paid(1));
        purse.spend(MAX_TOKENS - 900);
        assert_eq!(purse.price(900), Price::Paid(2));
        assert_eq!(purse.price(901), Price::Bound);
        let mut purse = Purse { thoughts: MAX_THOUGHTS - 1, granted: 10, ..Purse::default() };
        assert_eq!((purse.price(1), purse.price(1)), (Price::Paid(MAX_THOUGHTS), Price::Bound));
    }
}
