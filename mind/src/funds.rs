//! How much may be thought in which turn: policyd's word, what was used, and what thoughts under way may still use.
//! Without I/O. A thought that does not fit into what is left never begins.

use std::collections::HashMap;

use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::mind::{Fund, Funded, Usage};

/// The most turns that are funded at once.
pub const MAX_TURNS: usize = 4_096;
/// The most thoughts of one turn under way at once.
pub const MAX_AT_ONCE: usize = 8;

/// Who thinks in a turn; each counts thoughts of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thinker {
    /// The planner.
    Planner,
    /// syntd.
    Syntd,
    /// policyd, for an executor: it counts for itself.
    Executor,
}

/// What a thought may take at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FundLimit {
    /// Tokens.
    pub tokens: u64,
    /// Money, in millionths.
    pub micro: u64,
}

#[derive(Debug, Default)]
struct Turn {
    given: FundLimit,
    used: FundLimit,
    /// Of the thoughts under way.
    held: FundLimit,
    under_way: usize,
    latest: HashMap<Thinker, u32>,
    /// A run of drafts: syntd's, and nobody else's.
    drafts: bool,
}

/// All turns that are funded.
#[derive(Debug, Default)]
pub struct Funds {
    turns: HashMap<TurnId, Turn>,
}

impl Funds {
    /// policyd's word.
    ///
    /// # Errors
    /// When too many turns are funded, or this one would become another's.
    pub fn fund(&mut self, word: &Fund) -> Result<Funded, Refusal> {
        if self.turns.len() >= MAX_TURNS && !self.turns.contains_key(&word.turn) {
            let why = format!("{MAX_TURNS} turns are funded already");
            return Err(Refusal::new(RefusalCode::Busy, "mind.turns", why));
        }
        let turn = self.turns.entry(word.turn).or_insert_with(|| Turn { drafts: word.drafts, ..Turn::default() });
        if turn.drafts != word.drafts {
            let why = "a turn never becomes a run of drafts, nor the other way round".to_owned();
            return Err(Refusal::new(RefusalCode::Invalid, "mind.fund", why));
        }
        turn.given = FundLimit { tokens: word.tokens, micro: word.micro };
        Ok(Funded { tokens: turn.used.tokens, micro: turn.used.micro })
    }

    /// The turn is over; what it used.
    pub fn end(&mut self, turn: TurnId) -> Funded {
        let used = self.turns.remove(&turn).unwrap_or_default().used;
        Funded { tokens: used.tokens, micro: used.micro }
    }

    /// Nobody is funded any more.
    pub fn clear(&mut self) {
        self.turns.clear();
    }

    /// May this thought begin? If so, what it may take is held until [`Funds::settle`].
    ///
    /// # Errors
    /// With the rule and what to do.
    pub fn begin(&mut self, turn: TurnId, thinker: Thinker, thought: u32, most: FundLimit) -> Result<(), Refusal> {
        // To whom it is not given, it is as if it were not there.
        let theirs = |funded: &&mut Turn| funded.drafts == (thinker == Thinker::Syntd);
        let Some(funded) = self.turns.get_mut(&turn).filter(theirs) else {
            let why = "no fund was granted for this turn".to_owned();
            return Err(Refusal::new(RefusalCode::Denied, "mind.fund", why)
                .remedy("a turn is funded by policyd before its first thought, and again after a restart"));
        };
        // policyd numbers what it asks for itself, and has it asked in whatever order.
        let counted = thinker != Thinker::Executor;
        if counted && funded.latest.get(&thinker).is_some_and(|latest| thought <= *latest) {
            let why = format!("thought {thought} of this turn was asked for before");
            return Err(Refusal::new(RefusalCode::Invalid, "mind.thought", why));
        }
        if funded.under_way >= MAX_AT_ONCE {
            let why = format!("{MAX_AT_ONCE} thoughts of this turn are under way");
            return Err(Refusal::new(RefusalCode::Busy, "mind.at_once", why).remedy("wait until one has ended"));
        }
        let left = |given: u64, used: u64, held: u64| given.saturating_sub(used).saturating_sub(held);
        let tokens = left(funded.given.tokens, funded.used.tokens, funded.held.tokens);
        if most.tokens > tokens {
            let why = format!("it may take {} tokens, and this turn has {tokens} left", most.tokens);
            return Err(Refusal::new(RefusalCode::Denied, "mind.fund.tokens", why).remedy(
                "a shorter prompt, fewer tokens to answer with, or more tokens for the turn: `metnosctl budget`",
            ));
        }
        let micro = left(funded.given.micro, funded.used.micro, funded.held.micro);
        if most.micro > micro {
            let why = format!("it may cost {} millionths, and this turn has {micro} left", most.micro);
            return Err(Refusal::new(RefusalCode::Denied, "mind.fund.money", why)
                .remedy("a cheaper model, or more money for the turn: `metnosctl budget`"));
        }
        funded.latest.insert(thinker, thought);
        funded.under_way += 1;
        funded.held = sum(funded.held, most);
        Ok(())
    }

    /// A thought that began has ended.
    pub fn settle(&mut self, turn: TurnId, most: FundLimit, usage: &Usage) {
        let Some(funded) = self.turns.get_mut(&turn) else { return };
        funded.under_way = funded.under_way.saturating_sub(1);
        funded.held.tokens = funded.held.tokens.saturating_sub(most.tokens);
        funded.held.micro = funded.held.micro.saturating_sub(most.micro);
        funded.used = sum(funded.used, FundLimit { tokens: usage.tokens(), micro: usage.micro });
    }
}

fn sum(one: FundLimit, two: FundLimit) -> FundLimit {
    FundLimit { tokens: one.tokens.saturating_add(two.tokens), micro: one.micro.saturating_add(two.micro) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn usage(tokens: u64, micro: u64) -> Usage {
        Usage { tokens_in: tokens, tokens_cached: 0, tokens_out: 0, micro, counted: true }
    }

    fn funded(tokens: u64, micro: u64) -> (Funds, TurnId) {
        let (mut funds, turn) = (Funds::default(), TurnId::new());
        funds.fund(&Fund { turn, tokens, micro, drafts: false }).unwrap();
        (funds, turn)
    }

    fn rule(result: Result<(), Refusal>) -> String {
        result.unwrap_err().rule
    }

    #[test]
    fn a_turn_thinks_only_as_far_as_it_is_funded() {
        let (mut funds, turn) = funded(100, 50);
        let most = FundLimit { tokens: 60, micro: 20 };
        let begin = |funds: &mut Funds, thought, most| funds.begin(turn, Thinker::Planner, thought, most);
        assert_eq!(rule(funds.begin(TurnId::new(), Thinker::Planner, 1, most)), "mind.fund");
        begin(&mut funds, 1, most).unwrap();
        assert_eq!(rule(begin(&mut funds, 2, most)), "mind.fund.tokens");
        assert_eq!(rule(begin(&mut funds, 2, FundLimit { tokens: 1, micro: 31 })), "mind.fund.money");
        funds.settle(turn, most, &usage(10, 5));
        begin(&mut funds, 2, most).unwrap();
        assert_eq!(rule(begin(&mut funds, 2, FundLimit::default())), "mind.thought");
        // An executor's thoughts are numbered by policyd, in whatever order they come.
        funds.begin(turn, Thinker::Executor, 2, FundLimit::default()).unwrap();
        // More than was held may have been used: then the rest is gone.
        funds.settle(turn, most, &usage(500, 5));
        assert_eq!(rule(begin(&mut funds, 3, FundLimit { tokens: 1, micro: 0 })), "mind.fund.tokens");
        let more = Fund { turn, tokens: 600, micro: 50, drafts: false };
        assert_eq!(funds.fund(&more).unwrap(), Funded { tokens: 510, micro: 10 });
        begin(&mut funds, 3, FundLimit { tokens: 90, micro: 40 }).unwrap();
        assert_eq!(funds.end(turn), Funded { tokens: 510, micro: 10 });
        assert_eq!(rule(begin(&mut funds, 4, FundLimit::default())), "mind.fund");
    }

    #[test]
    fn a_run_of_drafts_is_syntds_and_a_turn_is_everybody_elses() {
        let (mut funds, turn) = funded(100, 0);
        let run = TurnId::new();
        let word = Fund { turn: run, tokens: 100, micro: 0, drafts: true };
        funds.fund(&word).unwrap();
        let most = FundLimit { tokens: 100, micro: 0 };
        for (id, thinker) in [(run, Thinker::Planner), (run, Thinker::Executor), (turn, Thinker::Syntd)] {
            assert_eq!(rule(funds.begin(id, thinker, 1, most)), "mind.fund", "{thinker:?}");
        }
        for (id, drafts) in [(run, false), (turn, true)] {
            let other = Fund { turn: id, tokens: 9_000, micro: 0, drafts };
            assert_eq!(funds.fund(&other).unwrap_err().rule, "mind.fund");
        }
        // All of it is still there for whom it was given.
        funds.begin(run, Thinker::Syntd, 1, most).unwrap();
        assert_eq!(rule(funds.begin(run, Thinker::Syntd, 1, FundLimit::default())), "mind.thought", "each number once");
        funds.begin(turn, Thinker::Planner, 1, most).unwrap();
    }

    #[test]
    fn thoughts_at_once_and_turns_have_a_bound() {
        let (mut funds, turn) = funded(u64::MAX, 0);
        let most = FundLimit { tokens: 1, micro: 0 };
        for thought in 0..u32::try_from(MAX_AT_ONCE).unwrap() {
            funds.begin(turn, Thinker::Planner, thought, most).unwrap();
        }
        assert_eq!(rule(funds.begin(turn, Thinker::Planner, 99, most)), "mind.at_once");
        let one = |turn| Fund { turn, tokens: 1, micro: 1, drafts: false };
        for _ in 1..MAX_TURNS {
            funds.fund(&one(TurnId::new())).unwrap();
        }
        assert_eq!(funds.fund(&one(TurnId::new())).unwrap_err().rule, "mind.turns");
        assert!(funds.fund(&one(turn)).is_ok());
    }

    proptest! {
        #[test]
        fn held_and_used_funds_never_exceed_the_grant(steps in prop::collection::vec((0_u64..40, 0_u64..40, any::<bool>()), 0..60)) {
            let (mut funds, turn) = funded(100, 100);
            let mut under_way = Vec::new();
            for (thought, (tokens, micro, ends)) in steps.into_iter().enumerate() {
                let most = FundLimit { tokens, micro };
                if ends && let Some(one) = under_way.pop() {
                    let one: FundLimit = one;
                    funds.settle(turn, one, &usage(one.tokens, one.micro));
                } else if funds.begin(turn, Thinker::Planner, u32::try_from(thought).unwrap(), most).is_ok() {
                    under_way.push(most);
                }
                let state = &funds.turns[&turn];
                prop_assert!(state.used.tokens + state.held.tokens <= 100 && state.used.micro + state.held.micro <= 100);
                prop_assert_eq!(state.under_way, under_way.len());
            }
        }
    }
}
