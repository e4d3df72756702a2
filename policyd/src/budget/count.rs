//! What was used, and what may be: pure, by given times. It only ever refuses; room here is no permission.

use std::collections::{BTreeMap, BTreeSet};

use metnos_proto::control::BudgetSettings;
use metnos_proto::msg::memoryd::Spent;

use crate::clock::DAY_MS;

/// Calls that are written down as used before they are made: so many are lost by a crash at most.
pub const STEP: u64 = 16;
/// The most pairs of a principal and an executor that are counted in a day.
pub const MAX_COUNTED: usize = 8_192;

/// A budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Budget {
    /// Calls of a principal that run now.
    Running,
    /// Calls of a principal today.
    Calls,
    /// Those that change something.
    Writes,
    /// Money of a turn.
    Turn,
    /// Money of a principal today.
    Day,
    /// Money of a principal this month.
    Month,
    /// Money of everybody today.
    HouseDay,
    /// Money of everybody this month.
    HouseMonth,
    /// Tokens of a turn.
    TurnTokens,
    /// Tokens of a principal today.
    Tokens,
    /// Tokens of a principal this month.
    MonthTokens,
}

impl Budget {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Running,
        Self::Calls,
        Self::Writes,
        Self::Turn,
        Self::Day,
        Self::Month,
        Self::HouseDay,
        Self::HouseMonth,
        Self::TurnTokens,
        Self::Tokens,
        Self::MonthTokens,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "calls.running",
            Self::Calls => "calls.day",
            Self::Writes => "writes.day",
            Self::Turn => "money.turn",
            Self::Day => "money.day",
            Self::Month => "money.month",
            Self::HouseDay => "money.house_day",
            Self::HouseMonth => "money.house_month",
            Self::TurnTokens => "tokens.turn",
            Self::Tokens => "tokens.day",
            Self::MonthTokens => "tokens.month",
        }
    }

    /// The budget of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|budget| budget.name() == name)
    }

    /// Whether it is in millionths of money.
    #[must_use]
    pub const fn is_money(self) -> bool {
        match self {
            Self::Turn | Self::Day | Self::Month | Self::HouseDay | Self::HouseMonth => true,
            Self::Running | Self::Calls | Self::Writes | Self::TurnTokens | Self::Tokens | Self::MonthTokens => false,
        }
    }

    /// Whether it is everybody's together.
    #[must_use]
    pub const fn is_of_house(self) -> bool {
        matches!(self, Self::HouseDay | Self::HouseMonth)
    }

    /// What the configuration says.
    #[must_use]
    pub fn configured(self, set: &BudgetSettings) -> u64 {
        u64::from(match self {
            Self::Running => set.concurrent,
            Self::Calls => set.calls_per_day,
            Self::Writes => set.writes_per_day,
            Self::Turn => set.turn_micro,
            Self::Day => set.day_micro,
            Self::Month => set.month_micro,
            Self::HouseDay => set.house_day_micro,
            Self::HouseMonth => set.house_month_micro,
            Self::TurnTokens => set.tokens_per_turn,
            Self::Tokens => set.tokens_per_day,
            Self::MonthTokens => set.tokens_per_month,
        })
    }
}

/// What a principal has done with an executor today.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Calls that were allowed.
    pub calls: u64,
    /// Those that change something.
    pub writes: u64,
}

impl Count {
    fn plus(self, other: Self) -> Self {
        Self { calls: self.calls.saturating_add(other.calls), writes: self.writes.saturating_add(other.writes) }
    }

    const fn within(self, kept: Self) -> bool {
        self.calls <= kept.calls && self.writes <= kept.writes
    }
}

/// One call that wants room.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Who asks.
    pub principal: &'a str,
    /// For what.
    pub executor: &'a str,
    /// Whether it changes something.
    pub writes: bool,
    /// Calls of this principal that run now.
    pub running: u64,
    /// What it costs, in millionths.
    pub price: u64,
    /// What was spent before; asked for only where something is.
    pub spent: Option<&'a Spent>,
}

/// A budget that has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Over {
    /// Which.
    pub budget: Budget,
    /// What would be used with this call.
    pub wanted: u64,
    /// What there is.
    pub limit: u64,
}

/// Another limit for a while, of a principal (empty: of everybody).
pub type Raises = BTreeMap<(String, Budget), (u64, u64)>;

/// What was used today.
#[derive(Debug, Default)]
pub struct Used {
    day: u64,
    counts: BTreeMap<(String, String), Count>,
    /// What is written down as used, always at least what is.
    kept: BTreeMap<(String, String), Count>,
    warned: BTreeSet<(String, Budget)>,
    /// See [`Raises`]: limit, and until when in milliseconds since the epoch.
    pub raises: Raises,
}

impl Used {
    /// What was written down as used on `day`, and the limits that were changed.
    #[must_use]
    pub fn restored(day: u64, counts: BTreeMap<(String, String), Count>, raises: Raises) -> Self {
        Self { day, kept: counts.clone(), counts, warned: BTreeSet::new(), raises }
    }

    /// A new day begins with nothing.
    pub fn turn_to(&mut self, now_ms: u64) {
        let day = now_ms / DAY_MS;
        if day != self.day {
            self.day = day;
            self.counts.clear();
            self.kept.clear();
            self.warned.clear();
        }
        self.raises.retain(|_, (_, until)| now_ms < *until);
    }

    /// The day that is counted.
    #[must_use]
    pub const fn day(&self) -> u64 {
        self.day
    }

    /// What a principal has used of what is counted here; of all executors, or of one.
    #[must_use]
    pub fn of(&self, principal: &str, executor: Option<&str>) -> Count {
        let from = (principal.to_owned(), executor.unwrap_or_default().to_owned());
        self.counts
            .range(from..)
            .take_while(|((who, what), _)| who == principal && executor.is_none_or(|executor| what == executor))
            .fold(Count::default(), |all, (_, one)| all.plus(*one))
    }

    /// Everybody who has used something, or has a limit of his own.
    #[must_use]
    pub fn principals(&self) -> BTreeSet<String> {
        let used = self.counts.keys().map(|(who, _)| who.clone());
        used.chain(self.raises.keys().map(|(who, _)| who.clone())).filter(|who| !who.is_empty()).collect()
    }

    /// The limit of a budget that the configuration names, and until when it is another one.
    #[must_use]
    pub fn limit(&self, set: &BudgetSettings, principal: &str, budget: Budget) -> (u64, Option<u64>) {
        let whose = if budget.is_of_house() { "" } else { principal };
        match self.raises.get(&(whose.to_owned(), budget)) {
            Some((limit, until)) => (*limit, Some(*until)),
            None => (budget.configured(set), None),
        }
    }

    /// Every budget that this call draws on, with what would be used by then, and the limit.
    fn drawn(&self, set: &BudgetSettings, it: &Wanted<'_>) -> Vec<Over> {
        let mine = self.of(it.principal, None);
        let limit = |budget| self.limit(set, it.principal, budget).0;
        let mut drawn = vec![
            Over { budget: Budget::Running, wanted: it.running + 1, limit: limit(Budget::Running) },
            Over { budget: Budget::Calls, wanted: mine.calls + 1, limit: limit(Budget::Calls) },
        ];
        if it.writes {
            drawn.push(Over { budget: Budget::Writes, wanted: mine.writes + 1, limit: limit(Budget::Writes) });
        }
        if let (Some(spent), true) = (it.spent, it.price > 0) {
            let sums = [
                (Budget::Turn, spent.turn),
                (Budget::Day, spent.principal_day),
                (Budget::Month, spent.principal_month),
                (Budget::HouseDay, spent.day),
                (Budget::HouseMonth, spent.month),
            ];
            drawn.extend(sums.map(|(budget, before)| Over {
                budget,
                wanted: before.saturating_add(it.price),
                limit: limit(budget),
            }));
        }
        drawn
    }

    /// The first budget without room for this call. What costs money and whose ledger is not known has none.
    #[must_use]
    pub fn over(&self, set: &BudgetSettings, it: &Wanted<'_>) -> Option<Over> {
        if it.price > 0 && it.spent.is_none() {
            return Some(Over { budget: Budget::Turn, wanted: it.price, limit: 0 });
        }
        let known = self.counts.contains_key(&(it.principal.to_owned(), it.executor.to_owned()));
        if !known && self.counts.len() >= MAX_COUNTED {
            return Some(Over { budget: Budget::Calls, wanted: 1, limit: 0 });
        }
        self.drawn(set, it).into_iter().find(|one| one.wanted > one.limit)
    }

    /// Counts an allowed call, in the breath in which it was allowed. The budgets of which the owner is to be warned now.
    pub fn count(&mut self, set: &BudgetSettings, it: &Wanted<'_>) -> Vec<Over> {
        let near = |one: &Over| {
            // Of few, the last one is no sign of anything.
            one.budget != Budget::Running
                && one.limit >= 5
                && u128::from(one.wanted) * 100 >= u128::from(one.limit) * u128::from(set.warn_percent)
        };
        let warn: Vec<Over> = self.drawn(set, it).into_iter().filter(near).collect();
        let count = self.counts.entry((it.principal.to_owned(), it.executor.to_owned())).or_default();
        *count = count.plus(Count { calls: 1, writes: u64::from(it.writes) });
        warn.into_iter()
            .filter(|one| {
                let whose = if one.budget.is_of_house() { "" } else { it.principal };
                self.warned.insert((whose.to_owned(), one.budget))
            })
            .collect()
    }

    /// Tokens that are nearly used up, when the owner was not warned of it before.
    pub fn near_tokens(
        &mut self,
        set: &BudgetSettings,
        principal: &str,
        (budget, by_then): (Budget, u64),
    ) -> Option<Over> {
        let limit = self.limit(set, principal, budget).0;
        let near = u128::from(by_then) * 100 >= u128::from(limit) * u128::from(set.warn_percent);
        (near && self.warned.insert((principal.to_owned(), budget))).then_some(Over { budget, wanted: by_then, limit })
    }

    /// What must be written down before this pair may use what was counted; `None` when enough is.
    #[must_use]
    pub fn to_keep(&self, set: &BudgetSettings, principal: &str, executor: &str) -> Option<Count> {
        let pair = (principal.to_owned(), executor.to_owned());
        let count = self.counts.get(&pair)?;
        if count.within(self.kept.get(&pair).copied().unwrap_or_default()) {
            return None;
        }
        // Of a small budget less is written down ahead: a crash must not eat it.
        let step = |budget| STEP.min(self.limit(set, principal, budget).0 / 64);
        let calls = step(Budget::Calls);
        let writes = if count.writes > 0 { step(Budget::Writes) } else { 0 };
        Some(count.plus(Count { calls, writes }))
    }

    /// That much is written down.
    pub fn kept(&mut self, day: u64, principal: &str, executor: &str, count: Count) {
        if day == self.day {
            self.kept.insert((principal.to_owned(), executor.to_owned()), count);
        }
    }

    /// What was used, to the last call: for an orderly end.
    #[must_use]
    pub fn all(&self) -> Vec<(String, String, Count)> {
        self.counts.iter().map(|((who, what), count)| (who.clone(), what.clone(), *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set() -> BudgetSettings {
        BudgetSettings { calls_per_day: 10, writes_per_day: 5, ..BudgetSettings::default() }
    }

    fn wanted<'a>(principal: &'a str, executor: &'a str, writes: bool) -> Wanted<'a> {
        Wanted { principal, executor, writes, running: 0, price: 0, spent: None }
    }

    fn spent(turn: u64, principal_day: u64) -> Spent {
        Spent {
            turn,
            principal_day,
            principal_month: principal_day,
            day: principal_day,
            month: principal_day,
            turn_tokens: 0,
            principal_day_tokens: 0,
            principal_month_tokens: 0,
        }
    }

    /// Calls until there is no room; how many there were, and which budget said so.
    fn exhaust(used: &mut Used, it: &Wanted<'_>) -> (u64, Over) {
        for made in 0.. {
            if let Some(over) = used.over(&set(), it) {
                return (made, over);
            }
            used.count(&set(), it);
        }
        unreachable!()
    }

    #[test]
    fn each_principal_has_its_day_and_the_next_day_begins_anew() {
        let mut used = Used::default();
        used.turn_to(DAY_MS);
        let (made, over) = exhaust(&mut used, &wanted("a", "read", false));
        assert_eq!((made, over), (10, Over { budget: Budget::Calls, wanted: 11, limit: 10 }));
        assert_eq!(exhaust(&mut used, &wanted("b", "read", false)).0, 10);
        assert_eq!(used.of("a", None).calls, 10);
        used.turn_to(2 * DAY_MS - 1);
        assert_eq!(used.of("a", Some("read")).calls, 10);
        used.turn_to(2 * DAY_MS);
        assert_eq!(exhaust(&mut used, &wanted("a", "list", false)).0, 10);
    }

    #[test]
    fn changing_calls_have_a_budget_of_their_own() {
        let mut used = Used::default();
        let it = wanted("a", "write", true);
        let (made, over) = exhaust(&mut used, &it);
        assert_eq!((made, over.budget, over.limit), (5, Budget::Writes, 5));
        assert_eq!(used.over(&set(), &wanted("a", "read", false)), None);
        assert_eq!(used.over(&set(), &wanted("b", "write", true)), None);
    }

    #[test]
    fn spending_counts_ledger_and_paid_calls_are_denied_without_it() {
        let used = Used::default();
        let it = Wanted { price: 100, ..wanted("a", "search", false) };
        assert_eq!(used.over(&set(), &it).map(|over| over.limit), Some(0));
        let caps = set();
        for (before, over) in [
            (spent(u64::from(caps.turn_micro) - 100, 0), None),
            (spent(u64::from(caps.turn_micro) - 99, 0), Some(Budget::Turn)),
            (spent(0, u64::from(caps.day_micro) - 99), Some(Budget::Day)),
            (spent(u64::MAX, u64::MAX), Some(Budget::Turn)),
        ] {
            let it = Wanted { spent: Some(&before), ..it };
            assert_eq!(used.over(&caps, &it).map(|over| over.budget), over, "{before:?}");
        }
        // What costs nothing is not held up by a budget that is used up.
        let all = spent(u64::MAX, u64::MAX);
        assert_eq!(used.over(&caps, &Wanted { price: 0, spent: Some(&all), ..it }), None);
    }

    #[test]
    fn a_limit_is_another_one_for_a_while_and_only_for_him() {
        let mut used = Used::default();
        used.raises.insert(("a".into(), Budget::Calls), (12, DAY_MS / 2));
        used.turn_to(1);
        assert_eq!(exhaust(&mut used, &wanted("a", "read", false)).0, 12);
        assert_eq!(exhaust(&mut used, &wanted("b", "read", false)).0, 10);
        used.turn_to(DAY_MS / 2);
        assert_eq!(used.limit(&set(), "a", Budget::Calls), (10, None));
    }

    #[test]
    fn a_warning_comes_once_when_most_of_it_is_used() {
        let mut used = Used::default();
        let it = wanted("a", "read", false);
        let warned: Vec<usize> = (0..10).map(|_| used.count(&set(), &it).len()).collect();
        assert_eq!(warned, [0, 0, 0, 0, 0, 0, 0, 1, 0, 0], "at the eighth of ten");
    }

    #[test]
    fn more_pairs_than_can_be_counted_have_no_room() {
        let mut used = Used::default();
        for n in 0..MAX_COUNTED {
            used.count(&set(), &wanted(&n.to_string(), "read", false));
        }
        assert!(used.over(&set(), &wanted("one more", "read", false)).is_some());
        assert!(used.over(&set(), &wanted("7", "read", false)).is_none());
    }

    proptest! {
        /// Whatever a crash interrupts: what was written down is never less than what was used.
        #[test]
        fn nothing_is_used_that_was_not_written_down_before(calls in prop::collection::vec((0..3_u8, any::<bool>()), 1..120)) {
            let mut used = Used::default();
            let mut disk: BTreeMap<(String, String), Count> = BTreeMap::new();
            let caps = BudgetSettings { calls_per_day: 1_000, ..BudgetSettings::default() };
            for (who, writes) in calls {
                let who = who.to_string();
                let it = wanted(&who, "e", writes);
                used.count(&caps, &it);
                if let Some(count) = used.to_keep(&caps, &who, "e") {
                    disk.insert((who.clone(), "e".into()), count);
                    used.kept(0, &who, "e", count);
                }
                let run = used.of(&who, Some("e"));
                let restored = Used::restored(0, disk.clone(), Raises::new());
                prop_assert!(run.within(restored.of(&who, Some("e"))));
            }
        }
    }
}
