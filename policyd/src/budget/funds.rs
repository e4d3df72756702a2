//! What thinking may take, turn by turn: pure. What is granted stands in the ledger as an estimate, and each thought that
//! ended beside it as what it took; so long as a turn is open both are there, and here it is known what of them is the same.

use std::collections::{BTreeMap, BTreeSet};

use metnos_proto::ids::{CallId, TraceId, TurnId};
use metnos_proto::msg::memoryd::Spent;
use metnos_proto::msg::mind::{FIRST_ASSISTED, Usage};

use super::count::{Budget, Over};

/// How often one turn is granted something: each time is a line in the chronicle.
pub const MAX_GRANTS: usize = 32;
/// The most thoughts of one turn that are entered one by one.
pub const MAX_THOUGHTS: usize = 512;
/// The part of the money that is left which a turn is given at first.
pub const PARTS: u64 = 32;
/// More than this, of tokens or of millionths, no single thought is believed to have taken: sums must stay numbers.
pub const MOST: u64 = 1 << 40;

/// Tokens and money together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Money, in millionths.
    pub micro: u64,
}

impl Amount {
    /// What a thought took, as far as it can be believed.
    #[must_use]
    pub fn of(usage: &Usage) -> Self {
        Self { tokens: usage.tokens().min(MOST), micro: usage.micro.min(MOST) }
    }

    fn both(self, other: Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self { tokens: with(self.tokens, other.tokens), micro: with(self.micro, other.micro) }
    }

    /// Together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.both(other, u64::saturating_add)
    }

    /// What is left of it.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.both(other, u64::saturating_sub)
    }

    /// The larger of each.
    #[must_use]
    pub fn or_more(self, other: Self) -> Self {
        self.both(other, u64::max)
    }

    fn in_both(self, other: Self) -> Self {
        self.both(other, u64::min)
    }
}

/// What an open turn was granted, and what it took.
#[derive(Debug, Clone)]
pub struct Fund {
    /// Who spoke.
    pub principal: String,
    /// The turn's trace.
    pub trace: TraceId,
    /// The mind that knows of it.
    pub generation: u32,
    /// Its end is being settled.
    pub ending: bool,
    /// What all thoughts of it may take together; in the ledger as estimates.
    pub granted: Amount,
    /// What mind has told that they took.
    pub told: Amount,
    /// What of that stands in the ledger, thought by thought.
    pub entered: Amount,
    /// The entries of what was granted.
    pub estimates: Vec<CallId>,
    /// Tokens that thoughts for executors may still take: they are under way, and mind has not reported them.
    pub held: u64,
    /// Whom each thought for an executor was for.
    executors: Vec<String>,
    thoughts: BTreeSet<u32>,
}

impl Fund {
    /// Of a turn that was granted nothing yet.
    #[must_use]
    pub fn new(principal: &str, trace: TraceId, generation: u32) -> Self {
        let (zero, principal) = (Amount::default(), principal.to_owned());
        let (estimates, thoughts) = (Vec::new(), BTreeSet::new());
        Self {
            principal,
            trace,
            generation,
            ending: false,
            granted: zero,
            told: zero,
            entered: zero,
            estimates,
            held: 0,
            executors: Vec::new(),
            thoughts,
        }
    }

    /// The number of a thought for an executor; `None` when there were too many of one turn.
    pub fn assist(&mut self, executor: &str) -> Option<u32> {
        let number = u32::try_from(self.executors.len()).ok().filter(|_| self.executors.len() < MAX_THOUGHTS)?;
        self.executors.push(executor.to_owned());
        Some(FIRST_ASSISTED.saturating_add(number))
    }

    /// Whom a thought was for; nothing for the planner's own.
    #[must_use]
    pub fn executor_of(&self, thought: u32) -> &str {
        let at = thought.checked_sub(FIRST_ASSISTED).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.executors.get(at)).map_or("", String::as_str)
    }

    /// A thought has ended; `None` when it was told of before, or is one too many.
    pub fn heard(&mut self, thought: u32, usage: &Usage) -> Option<Amount> {
        if self.thoughts.len() >= MAX_THOUGHTS || !self.thoughts.insert(thought) {
            return None;
        }
        let took = Amount::of(usage);
        self.told = self.told.plus(took);
        Some(took)
    }

    /// What the estimates are to be settled as, when `took` is what all its thoughts took together: what is not entered yet.
    #[must_use]
    pub fn rest(&self, took: Amount) -> Amount {
        took.or_more(self.told).minus(self.entered)
    }
}

/// Every open fund.
#[derive(Debug, Default)]
pub struct Funds(pub BTreeMap<TurnId, Fund>);

impl Funds {
    /// What a turn may take from now on: all together, so that `want` more tokens are left if there is room for them.
    ///
    /// # Errors
    /// The budget that has no room at all.
    pub fn grant(
        &self,
        turn: TurnId,
        principal: &str,
        want: u64,
        spent: &Spent,
        limit: impl Fn(Budget) -> u64,
    ) -> Result<Amount, Over> {
        let zero = Fund::new(principal, TraceId::NONE, 0);
        let own = self.0.get(&turn).unwrap_or(&zero);
        let twice = |fits: &dyn Fn(&Fund) -> bool| {
            let others = self.0.iter().filter(|(id, fund)| **id != turn && fits(fund));
            others.fold(Amount::default(), |all, (_, fund)| all.plus(fund.granted.in_both(fund.entered)))
        };
        let (mine, house) = (twice(&|fund| fund.principal == principal), twice(&|_| true));
        let stands = own.granted.plus(own.entered);
        // What everybody else has taken or was granted.
        let others = |sum: u64, stands: u64, twice: u64| sum.saturating_sub(stands).saturating_sub(twice);
        let has = own.granted.or_more(own.told);
        let left = own.granted.minus(own.told).tokens;
        // Anyone who has tokens enough and asks again was refused a thought for its price; anyone who was granted something that
        // is known here no more, after a restart, has asked before.
        let begs = left > 0 && left >= want || own.estimates.is_empty() && spent.turn_tokens > 0;
        let mut more = want.saturating_sub(left);
        for (budget, sum, twice) in [
            (Budget::TurnTokens, spent.turn_tokens, 0),
            (Budget::Tokens, spent.principal_day_tokens, mine.tokens),
            (Budget::MonthTokens, spent.principal_month_tokens, mine.tokens),
        ] {
            let (taken, most) = (others(sum, stands.tokens, twice).saturating_add(has.tokens), limit(budget));
            let room = most.saturating_sub(taken);
            if left == 0 && room == 0 {
                return Err(Over { budget, wanted: taken.saturating_add(want.max(1)), limit: most });
            }
            more = more.min(room);
        }
        let (had, mut micro) = (own.granted.or_more(own.told).micro, u64::MAX);
        for (budget, sum, twice) in [
            (Budget::Turn, spent.turn, 0),
            (Budget::Day, spent.principal_day, mine.micro),
            (Budget::Month, spent.principal_month, mine.micro),
            (Budget::HouseDay, spent.day, house.micro),
            (Budget::HouseMonth, spent.month, house.micro),
        ] {
            let (others, most) = (others(sum, stands.micro, twice), limit(budget));
            // Where no money may be spent at all, thinking may still cost nothing.
            if most > 0 && others.saturating_add(own.told.micro) >= most {
                return Err(Over {
                    budget,
                    wanted: others.saturating_add(own.told.micro).saturating_add(1),
                    limit: most,
                });
            }
            let room = most.saturating_sub(others).saturating_sub(had);
            // What a thought will cost is not known here. Of what is for more than this turn it is given a part, so that
            // the turns beside it find something left, and all that there is when it asks again.
            micro = micro.min(if begs || budget == Budget::Turn { room } else { room.div_ceil(PARTS) });
        }
        Ok(Amount {
            tokens: own.granted.tokens.max(own.told.tokens).saturating_add(more),
            micro: had.saturating_add(micro),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const ME: &str = "cli:uid:1000";

    /// A ledger as memoryd keeps it.
    #[derive(Default)]
    struct Ledger(BTreeMap<CallId, (TurnId, String, Amount)>);

    impl Ledger {
        fn spent(&self, turn: TurnId, principal: &str) -> Spent {
            let sum = |fits: &dyn Fn(&(TurnId, String, Amount)) -> bool| {
                self.0.values().filter(|it| fits(it)).fold(Amount::default(), |all, it| all.plus(it.2))
            };
            let (of, mine, all) = (sum(&|it| it.0 == turn), sum(&|it| it.1 == principal), sum(&|_| true));
            Spent {
                turn: of.micro,
                principal_day: mine.micro,
                principal_month: mine.micro,
                day: all.micro,
                month: all.micro,
                turn_tokens: of.tokens,
                principal_day_tokens: mine.tokens,
                principal_month_tokens: mine.tokens,
            }
        }
    }

    fn limit(tokens: u64, micro: u64) -> impl Fn(Budget) -> u64 {
        move |budget| if budget.is_money() { micro } else { tokens }
    }

    fn usage(tokens: u64, micro: u64) -> Usage {
        Usage { tokens_in: tokens, tokens_cached: 0, tokens_out: 0, micro, counted: true }
    }

    #[test]
    fn unused_grant_is_not_regranted_and_reported_usage_is_bounded() {
        let (mut funds, turn, spent) = (Funds::default(), TurnId::new(), Ledger::default());
        let of =
            |funds: &Funds, want, spent: &Ledger| funds.grant(turn, ME, want, &spent.spent(turn, ME), limit(100, 0));
        assert_eq!(of(&funds, 60, &spent).unwrap(), Amount { tokens: 60, micro: 0 });
        let mut fund = Fund::new(ME, TraceId::NONE, 1);
        fund.granted = Amount { tokens: 60, micro: 0 };
        assert_eq!(fund.heard(1, &usage(u64::MAX, u64::MAX)).unwrap(), Amount { tokens: MOST, micro: MOST });
        assert_eq!(fund.heard(1, &usage(1, 0)), None, "each once");
        fund.told = Amount { tokens: 20, micro: 0 };
        funds.0.insert(turn, fund);
        assert_eq!(of(&funds, 40, &spent).unwrap().tokens, 60, "as much as is wanted is left");
        assert_eq!(of(&funds, 50, &spent).unwrap().tokens, 70);
        assert_eq!(of(&funds, 500, &spent).unwrap().tokens, 100);
    }

    #[test]
    fn spent_money_budget_stops_thinking_and_zero_budget_only_paid_models() {
        let (funds, turn) = (Funds::default(), TurnId::new());
        let mut spent = Ledger::default();
        assert_eq!(funds.grant(turn, ME, 10, &spent.spent(turn, ME), limit(100, 0)).unwrap().micro, 0);
        spent.0.insert(CallId::new(), (TurnId::new(), ME.into(), Amount { tokens: 1, micro: 500 }));
        assert_eq!(funds.grant(turn, ME, 10, &spent.spent(turn, ME), limit(100, 501)).unwrap().micro, 1);
        let over = funds.grant(turn, ME, 10, &spent.spent(turn, ME), limit(100, 500)).unwrap_err();
        assert_eq!((over.budget, over.wanted, over.limit), (Budget::Day, 501, 500));
        assert_eq!(
            funds.grant(turn, ME, 10, &spent.spent(turn, ME), limit(1, 900)).unwrap_err().budget,
            Budget::Tokens
        );
    }

    #[test]
    fn turns_side_by_side_find_money_left_and_no_cap_is_passed() {
        let (mut funds, mut ledger) = (Funds::default(), Ledger::default());
        let most = |budget: Budget| {
            if budget == Budget::Turn {
                500
            } else if budget.is_money() {
                2_000
            } else {
                1_000_000
            }
        };
        let mut ask = |turn, want| {
            let granted = funds.grant(turn, ME, want, &ledger.spent(turn, ME), most).unwrap();
            let fund = funds.0.entry(turn).or_insert_with(|| Fund::new(ME, TraceId::NONE, 1));
            ledger.0.insert(CallId::new(), (turn, ME.into(), granted.minus(fund.granted)));
            fund.granted = granted;
            granted.micro
        };
        let turns: Vec<TurnId> = (0..64).map(|_| TurnId::new()).collect();
        let first: Vec<u64> = turns.iter().map(|turn| ask(*turn, 10)).collect();
        assert!(first.iter().all(|micro| (1..=63).contains(micro)), "{first:?}");
        let left = 2_000 - first.iter().sum::<u64>();
        assert_eq!(ask(turns[0], 10), (first[0] + left).min(500), "whoever asks again has all that there is");
        assert!(ledger.spent(TurnId::NONE, ME).principal_day <= 2_000);
    }

    #[test]
    fn each_token_budget_is_enforced_and_the_exhausted_one_is_named() {
        let (funds, turn) = (Funds::default(), TurnId::new());
        let mut spent = Ledger::default();
        spent.0.insert(CallId::new(), (turn, ME.into(), Amount { tokens: 30, micro: 0 }));
        spent.0.insert(CallId::new(), (TurnId::new(), ME.into(), Amount { tokens: 20, micro: 0 }));
        let grant = |most: [u64; 3]| {
            let limit = move |budget| match budget {
                Budget::TurnTokens => most[0],
                Budget::Tokens => most[1],
                Budget::MonthTokens => most[2],
                Budget::Running
                | Budget::Calls
                | Budget::Writes
                | Budget::Turn
                | Budget::Day
                | Budget::Month
                | Budget::HouseDay
                | Budget::HouseMonth => 0,
            };
            funds.grant(turn, ME, 40, &spent.spent(turn, ME), limit)
        };
        assert_eq!(grant([100, 100, 100]).unwrap().tokens, 40);
        assert_eq!(grant([45, 100, 100]).unwrap().tokens, 15, "of the turn's 45, 30 are taken");
        assert_eq!(grant([100, 60, 100]).unwrap().tokens, 10);
        assert_eq!(grant([100, 100, 55]).unwrap().tokens, 5);
        let over = |most| grant(most).map_err(|over| (over.budget, over.wanted, over.limit));
        assert_eq!(over([30, 100, 100]), Err((Budget::TurnTokens, 70, 30)));
        assert_eq!(over([100, 50, 100]), Err((Budget::Tokens, 90, 50)));
        assert_eq!(over([100, 100, 50]), Err((Budget::MonthTokens, 90, 50)));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Ask(usize, u64),
        Think(usize, u64),
        End(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (0..4usize, 1..60u64).prop_map(|(turn, want)| Step::Ask(turn, want)),
            (0..4usize, 0..50u64).prop_map(|(turn, took)| Step::Think(turn, took)),
            (0..4usize).prop_map(Step::End),
        ];
        prop::collection::vec(step, 1..60)
    }

    proptest! {
        /// Whatever the order: with a mind that keeps to what it was granted, no limit is passed, nothing is counted away, and
        /// nothing that was not used stays used.
        #[test]
        fn grants_never_exceed_limits_and_all_usage_reaches_the_ledger(steps in steps()) {
            let turns: Vec<TurnId> = (0..4).map(|_| TurnId::new()).collect();
            let (mut funds, mut ledger, mut truly) = (Funds::default(), Ledger::default(), 0_u64);
            for (at, step) in (0_u32..).zip(steps) {
                match step {
                    Step::Ask(turn, want) => {
                        let turn = turns[turn];
                        let Ok(now) = funds.grant(turn, ME, want, &ledger.spent(turn, ME), limit(100, 1_000)) else { continue };
                        let fund = funds.0.entry(turn).or_insert_with(|| Fund::new(ME, TraceId::NONE, 1));
                        let (entry, more) = (CallId::new(), now.minus(fund.granted));
                        fund.granted = now;
                        fund.estimates.push(entry);
                        ledger.0.insert(entry, (turn, ME.into(), more));
                    }
                    Step::Think(turn, took) => {
                        let turn = turns[turn];
                        let Some(fund) = funds.0.get_mut(&turn) else { continue };
                        let took = took.min(fund.granted.minus(fund.told).tokens);
                        let amount = fund.heard(at, &usage(took, 0)).unwrap();
                        fund.entered = fund.entered.plus(amount);
                        ledger.0.insert(CallId::new(), (turn, ME.into(), amount));
                        truly += took;
                    }
                    Step::End(turn) => {
                        let Some(fund) = funds.0.remove(&turns[turn]) else { continue };
                        let mut rest = fund.rest(Amount::default());
                        for entry in fund.estimates {
                            ledger.0.get_mut(&entry).unwrap().2 = std::mem::take(&mut rest);
                        }
                    }
                }
                let granted: u64 = funds.0.values().map(|fund| fund.granted.minus(fund.told).tokens).sum();
                prop_assert!(truly + granted <= 100, "{truly} taken, {granted} may still be");
                let spent = ledger.spent(TurnId::NONE, ME).principal_day_tokens;
                prop_assert!(spent >= truly);
                if funds.0.is_empty() {
                    prop_assert_eq!(spent, truly);
                }
            }
        }
    }
}
