//! Budgets: what may be used up in a day, a turn, a month (design: policy §8). Looked at before a call is allowed, counted
//! in the same breath, written down before it runs, settled afterwards. Money is memoryd's ledger to count: policyd is the
//! only one that writes to it, an estimate before a call and what it was after, and what was never settled stays the
//! estimate. A limit is changed by the owner at his machine, for a while, and by nobody else.

pub mod count;
pub mod daily;
pub mod drafts;
pub mod escalate;
pub mod funds;
pub(crate) mod thinking;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use metnos_proto::doc::budget::{BudgetAnswer, BudgetRaised, BudgetReport, BudgetRestored, BudgetRow};
use metnos_proto::executor::Class;
use metnos_proto::ids::{Blake3, CallId, TraceId, TurnId};
use metnos_proto::msg::common::{ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::memoryd::{Cost, CostStage, Spending, Spent};
use metnos_proto::msg::policyd::Acted;
use metnos_proto::msg::vault_budget::{BudgetAsk, BudgetOf, RaiseBudget};
use rusqlite::{Connection, params};
use tokio::sync::{Mutex, MutexGuard};

use crate::base::Base;
use crate::budget::count::{Budget, Count, Over, Raises, Used, Wanted};
use crate::budget::daily::Daily;
use crate::budget::escalate::{LASTS_S, Raise};
use crate::budget::funds::Amount;
use crate::calls::turns::Turns;
use crate::clock::DAY_MS;
use crate::decision::Verdict;
use crate::executors::Executors;
use crate::executors::registry::Signed;
use crate::guard::shown;
use crate::people::Principals;
use crate::refusals::memory_gone;
use crate::store::{StoreError, not_durable, signed, unsigned};

/// The longest time for which a limit is another one, in seconds: a month.
pub const MAX_RAISE_S: u32 = 31 * 86_400;
/// Whose the budgets of everybody together are.
pub const HOUSE: &str = "house";
/// The rule that asks for what costs much.
pub const COSTLY: &str = "budget.cost";

/// The tables.
pub(crate) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS used (
        day INTEGER NOT NULL, principal TEXT NOT NULL, executor TEXT NOT NULL,
        calls INTEGER NOT NULL, writes INTEGER NOT NULL,
        PRIMARY KEY (day, principal, executor)
    ) STRICT;
    CREATE TABLE IF NOT EXISTS budget_raises (
        principal TEXT NOT NULL, budget TEXT NOT NULL, most INTEGER NOT NULL, until_ms INTEGER NOT NULL,
        PRIMARY KEY (principal, budget)
    ) STRICT;";

/// Reads what was written down on the last day that something was.
///
/// # Errors
/// When a row is damaged, or the database refuses.
pub(crate) fn load(connection: &Connection) -> Result<Used, StoreError> {
    let day: Option<i64> = connection.query_row("SELECT max(day) FROM used", [], |row| row.get(0))?;
    let mut statement = connection.prepare("SELECT principal, executor, calls, writes FROM used WHERE day = ?1")?;
    let rows = statement.query_map([day.unwrap_or(0)], |row| {
        let count = Count { calls: unsigned(row.get(2)?), writes: unsigned(row.get(3)?) };
        Ok(((row.get::<_, String>(0)?, row.get::<_, String>(1)?), count))
    })?;
    let counts: BTreeMap<_, _> = rows.collect::<rusqlite::Result<_>>()?;
    let mut statement = connection.prepare("SELECT principal, budget, most, until_ms FROM budget_raises")?;
    let rows = statement.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, unsigned(row.get(2)?), unsigned(row.get(3)?)))
    })?;
    let mut raises = Raises::new();
    for row in rows {
        let (principal, budget, limit, until) = row?;
        let budget = Budget::parse(&budget).ok_or_else(|| StoreError::Damaged(format!("budget {budget}")))?;
        raises.insert((principal, budget), (limit, until));
    }
    Ok(Used::restored(unsigned(day.unwrap_or(0)), counts, raises))
}

/// What an executor costs, and what was spent before. While it is held, nobody else spends.
#[derive(Debug)]
pub(crate) struct BudgetGuard<'a> {
    _alone: MutexGuard<'a, ()>,
    spent: Spent,
    pub(crate) price: u64,
}

/// Whether a call of this class changes something.
const fn changes(class: Class) -> bool {
    !matches!(class, Class::Read | Class::NetRead)
}

/// An amount as people read it: money with its six places, everything else as a number.
fn amount(budget: Budget, number: u64) -> String {
    if budget.is_money() { money(number) } else { number.to_string() }
}

/// Millionths as a number with six places.
fn money(micro: u64) -> String {
    format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000)
}

/// The rule that denies a call for which a budget has no room.
pub(crate) fn over_rule(over: Over) -> String {
    format!("budget.{}", over.budget.name())
}

/// What is said where a budget has no room: which, and the one command that allows more, where one may.
pub(crate) fn no_room(over: Over, principal: &str) -> Verdict {
    let name = over.budget.name();
    let whose = if over.budget.is_of_house() { "this instance".to_owned() } else { shown(principal) };
    let (wanted, limit) = (amount(over.budget, over.wanted), amount(over.budget, over.limit));
    let why = format!("the budget `{name}` of {whose} has no room: it would be {wanted}, the limit is {limit}");
    let remedy = if over.budget == Budget::Running {
        "wait until one of the running calls has ended".to_owned()
    } else {
        let of = if over.budget.is_of_house() { HOUSE } else { principal };
        format!("`metnosctl budget raise {of} {name} {} --for 1d`", over.wanted)
    };
    Verdict::deny(&over_rule(over), why).with_code(RefusalCode::Busy).with_remedy(&remedy)
}

/// What was used, and what may be.
#[derive(Debug)]
pub(crate) struct Budgets {
    base: Rc<Base>,
    people: Rc<Principals>,
    executors: Rc<Executors>,
    turns: Rc<RefCell<Turns>>,
    pub(crate) used: RefCell<Used>,
    daily: RefCell<Daily>,
    /// Held by anyone who spends money.
    pub(crate) spending: Mutex<()>,
}

impl Budgets {
    pub(crate) fn new(
        base: &Rc<Base>,
        people: &Rc<Principals>,
        executors: &Rc<Executors>,
        turns: &Rc<RefCell<Turns>>,
        (used, daily): (Used, Daily),
    ) -> Rc<Self> {
        Rc::new(Self {
            base: Rc::clone(base),
            people: Rc::clone(people),
            executors: Rc::clone(executors),
            turns: Rc::clone(turns),
            used: RefCell::new(used),
            daily: RefCell::new(daily),
            spending: Mutex::default(),
        })
    }

    /// What a call did cost: its price when it ran or may have, nothing when it certainly did not.
    pub(crate) async fn settle_cost(
        &self,
        entry: (CallId, TurnId, TraceId),
        whose: (&str, &ExecutorId),
        price: u64,
        ran: &Result<Acted, Refusal>,
    ) {
        let micro = match ran {
            Ok(Acted::Ran(_)) => price,
            Ok(Acted::Denied(_)) => 0,
            // Whether it ran is not known: the estimate stays.
            Err(_) => return,
        };
        if let Err(refusal) = self.ledger(CostStage::Actual, entry, whose, micro).await {
            tracing::warn!(why = refusal.why, "a cost could not be settled; the estimate counts");
        }
    }

    /// The owner has said yes to exactly this.
    ///
    /// # Errors
    /// When it could not be recorded: then the limit is what it was.
    pub(crate) async fn raise_as_proposed(&self, by: &str, raise: &Raise) -> Result<(), Refusal> {
        let of = BudgetOf { principal: raise.whose.clone(), budget: raise.budget.name().to_owned() };
        self.raise_budget(by, RaiseBudget { of, limit: raise.limit, seconds: LASTS_S }).await.map(|_| ())
    }

    /// What a call of this executor costs, in millionths.
    pub(crate) fn price_of(&self, executor: &str) -> u64 {
        let price = |line: &String| line.split_once(' ').filter(|(name, _)| *name == executor)?.1.parse().ok();
        self.base.setting.budget.prices.iter().find_map(price).unwrap_or(0)
    }

    /// What there is to spend for this call; `None` when it costs nothing.
    ///
    /// # Errors
    /// When the ledger cannot be read: then nothing that costs anything happens.
    pub(crate) async fn purse(&self, turn: TurnId, executor: &str) -> Result<Option<BudgetGuard<'_>>, Refusal> {
        let whose = self.turns.borrow().get(turn).map(|turn| (turn.principal.name.clone(), turn.trace));
        let Some((principal, trace)) = whose else { return Ok(None) };
        self.purse_for(turn, trace, &principal, executor).await
    }

    /// The same for a principal, also outside of a turn.
    ///
    /// # Errors
    /// See [`Budgets::purse`].
    pub(crate) async fn purse_for(
        &self,
        turn: TurnId,
        trace: TraceId,
        principal: &str,
        executor: &str,
    ) -> Result<Option<BudgetGuard<'_>>, Refusal> {
        let price = self.price_of(executor);
        if price == 0 {
            return Ok(None);
        }
        let alone = self.spending.lock().await;
        let spending = Spending { turn, principal: principal.to_owned() };
        let (spent, []) = self.base.memory.spending(trace, spending, []).await.map_err(|error| memory_gone(&error))?;
        Ok(Some(BudgetGuard { _alone: alone, spent, price }))
    }

    fn wanted<'a>(
        &self,
        principal: &'a str,
        running: u64,
        found: &'a Signed,
        purse: Option<&'a BudgetGuard<'_>>,
    ) -> Wanted<'a> {
        let manifest = &found.manifest;
        Wanted {
            principal,
            executor: &manifest.executor.name,
            writes: changes(manifest.effects.class),
            running,
            price: self.price_of(&manifest.executor.name),
            spent: purse.map(|purse| &purse.spent),
        }
    }

    /// The budget that has no room for this call; `None` when all have.
    pub(crate) fn over_budget(
        &self,
        principal: &str,
        running: u64,
        found: &Signed,
        purse: Option<&BudgetGuard<'_>>,
    ) -> Option<Over> {
        let mut used = self.used.borrow_mut();
        used.turn_to(self.base.clock.wall_ms());
        used.over(&self.base.setting.budget, &self.wanted(principal, running, found, purse))
    }

    /// What costs more than the owner lets pass without a card (design: policy §2).
    pub(crate) fn costly(&self, executor: &str) -> Option<Verdict> {
        let (price, above) = (self.price_of(executor), u64::from(self.base.setting.budget.ask_above_micro));
        if price <= above {
            return None;
        }
        let why =
            format!("a call of {executor} costs {}; what costs more than {} is asked for", money(price), money(above));
        Some(Verdict::ask(COSTLY, why))
    }

    /// Counts a call that was just allowed, and warns of what is nearly used up.
    pub(crate) fn use_up(&self, principal: &str, running: u64, found: &Signed, purse: Option<&BudgetGuard<'_>>) {
        let wanted = self.wanted(principal, running, found, purse);
        let near = self.used.borrow_mut().count(&self.base.setting.budget, &wanted);
        for Over { budget, wanted: by_then, limit } in near {
            let (by_then, limit) = (amount(budget, by_then), amount(budget, limit));
            let (name, whose) = (budget.name(), wanted.principal);
            self.base.event(
                "budget",
                &format!("{by_then} of {limit} of the budget {name} is used, last by {whose}"),
                None,
            );
        }
    }

    /// Has what was counted written down, so that no restart gives it back.
    ///
    /// # Errors
    /// When it could not be: then the call does not run.
    pub(crate) async fn keep_used(&self, principal: &str, executor: &str) -> Result<(), Refusal> {
        let (day, count) = {
            let used = self.used.borrow();
            match used.to_keep(&self.base.setting.budget, principal, executor) {
                None => return Ok(()),
                Some(count) => (used.day(), count),
            }
        };
        let rows = vec![(principal.to_owned(), executor.to_owned(), count)];
        self.write_used(day, rows).await.map_err(|error| not_durable(&error))?;
        self.used.borrow_mut().kept(day, principal, executor, count);
        Ok(())
    }

    /// Writes down what was used to the last call, at an orderly end.
    pub async fn keep_all_used(&self) {
        let (day, rows) = {
            let used = self.used.borrow();
            (used.day(), used.all())
        };
        if let Err(error) = self.write_used(day, rows).await {
            tracing::warn!(%error, "what was used stays written down as a little more");
        }
    }

    async fn write_used(&self, day: u64, rows: Vec<(String, String, Count)>) -> Result<(), StoreError> {
        self.base
            .store
            .run(move |connection| {
                let write = connection.transaction()?;
                write.execute("DELETE FROM used WHERE day < ?1 - 1", [signed(day)])?;
                for (principal, executor, count) in rows {
                    let values = params![signed(day), principal, executor, signed(count.calls), signed(count.writes)];
                    write.execute("INSERT OR REPLACE INTO used VALUES (?1, ?2, ?3, ?4, ?5)", values)?;
                }
                write.commit()
            })
            .await
    }

    /// An entry in the ledger about this call.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub(crate) async fn ledger(
        &self,
        stage: CostStage,
        (entry, turn, trace): (CallId, TurnId, TraceId),
        (principal, executor): (&str, &ExecutorId),
        micro: u64,
    ) -> Result<(), Refusal> {
        let (principal, executor, role) = (principal.to_owned(), executor.name.clone(), String::new());
        let cost =
            Cost { entry, stage, turn, principal, role, executor, micro, tokens_in: 0, tokens_out: 0, sent: None };
        self.base.memory.cost(trace, cost, []).await.map(|_| ()).map_err(|error| memory_gone(&error))
    }

    /// The owner looks at budgets, or changes a limit for a while.
    ///
    /// # Errors
    /// When there is no such principal or budget, or it could not be recorded.
    pub(crate) async fn budget(&self, by: &str, ask: BudgetAsk) -> Result<BudgetAnswer, Refusal> {
        match ask {
            BudgetAsk::Show(principal) => self.show_budgets(&principal).await.map(BudgetAnswer::Report),
            BudgetAsk::Raise(ask) => self.raise_budget(by, ask).await.map(BudgetAnswer::Raised),
            BudgetAsk::Restore(of) => self.restore_budget(by, &of).await.map(BudgetAnswer::Restored),
        }
    }

    /// Whose budgets a name means: empty for everybody together.
    fn whose(&self, name: &str) -> Result<String, Refusal> {
        if name == HOUSE { Ok(String::new()) } else { Ok(self.people.named_principal(name)?.name) }
    }

    fn which(&self, of: &BudgetOf) -> Result<(String, Budget), Refusal> {
        let no = |why: String| Refusal::new(RefusalCode::Invalid, "budget.unknown", why);
        let names = || {
            let names: Vec<&str> = Budget::ALL.iter().map(|it| it.name()).collect();
            names.join(", ")
        };
        let budget = Budget::parse(&of.budget).ok_or_else(|| {
            no(format!("there is no budget named {} that can be changed", shown(&of.budget))).remedy(names())
        })?;
        let whose = self.whose(&of.principal)?;
        if whose.is_empty() != budget.is_of_house() {
            let right = if budget.is_of_house() { HOUSE } else { "a principal" };
            return Err(no(format!("`{}` is a budget of {right}", budget.name())));
        }
        Ok((whose, budget))
    }

    pub(crate) async fn raise_budget(&self, by: &str, ask: RaiseBudget) -> Result<BudgetRaised, Refusal> {
        let (whose, budget) = self.which(&ask.of)?;
        if ask.seconds == 0 || ask.seconds > MAX_RAISE_S {
            let why =
                format!("a limit is changed for 1 to {MAX_RAISE_S} seconds; for good it is changed in metnos.toml");
            return Err(Refusal::new(RefusalCode::Invalid, "budget.time", why));
        }
        let until = self.base.clock.wall_ms().saturating_add(u64::from(ask.seconds) * 1_000);
        let (name, limit) = (budget.name(), ask.limit.min(i64::MAX.unsigned_abs()));
        let line = format!(
            "{by} sets the budget {name} of {} to {} for {} s",
            ask.of.principal,
            amount(budget, limit),
            ask.seconds
        );
        self.base.chronicled("budget_raised", &line).await?;
        let row = whose.clone();
        self.base
            .store
            .run(move |connection| {
                let values = params![row, name, signed(limit), signed(until)];
                connection.execute("INSERT OR REPLACE INTO budget_raises VALUES (?1, ?2, ?3, ?4)", values).map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))?;
        self.used.borrow_mut().raises.insert((whose, budget), (limit, until));
        Ok(BudgetRaised { principal: ask.of.principal, budget: name.to_owned(), limit, until_ms: until })
    }

    async fn restore_budget(&self, by: &str, of: &BudgetOf) -> Result<BudgetRestored, Refusal> {
        let (whose, budget) = self.which(of)?;
        let name = budget.name();
        if self.used.borrow_mut().raises.remove(&(whose.clone(), budget)).is_none() {
            let why = format!("the budget `{name}` of {} is what the configuration says", shown(&of.principal));
            return Err(Refusal::new(RefusalCode::Unknown, "budget.unknown", why));
        }
        self.base
            .store
            .run(move |connection| {
                let gone = "DELETE FROM budget_raises WHERE principal = ?1 AND budget = ?2";
                connection.execute(gone, params![whose, name]).map(|_| ())
            })
            .await
            .map_err(|error| not_durable(&error))?;
        self.base
            .chronicled("budget_restored", &format!("{by} restores the budget {name} of {}", of.principal))
            .await?;
        Ok(BudgetRestored { principal: of.principal.clone(), budget: name.to_owned() })
    }

    async fn show_budgets(&self, name: &str) -> Result<BudgetReport, Refusal> {
        let set = &self.base.setting.budget;
        let now = self.base.clock.wall_ms();
        self.used.borrow_mut().turn_to(now);
        let mut principals = vec![];
        if name.is_empty() {
            let owner = self.people.named_principal("owner")?.name;
            principals.push(owner.clone());
            principals.extend(self.used.borrow().principals().into_iter().filter(|who| *who != owner));
        } else {
            principals.push(self.whose(name)?);
        }
        let mut rows = Vec::new();
        let mut house = None;
        for principal in principals.iter().filter(|who| !who.is_empty()) {
            let spending = Spending { turn: TurnId::NONE, principal: principal.clone() };
            let (spent, []) =
                self.base.memory.spending(TraceId::NONE, spending, []).await.map_err(|error| memory_gone(&error))?;
            house = Some((spent.day, spent.month));
            let used = self.used.borrow();
            let mine = used.of(principal, None);
            let running = self.running_of(principal);
            for (budget, number) in [
                (Budget::Running, running),
                (Budget::Calls, mine.calls),
                (Budget::Writes, mine.writes),
                (Budget::Day, spent.principal_day),
                (Budget::Month, spent.principal_month),
                (Budget::Tokens, spent.principal_day_tokens),
                (Budget::MonthTokens, spent.principal_month_tokens),
            ] {
                rows.push(row(&used, set, principal, budget, number));
            }
        }
        let (day, month) = match house {
            Some(both) => both,
            None => {
                let spending = Spending { turn: TurnId::NONE, principal: String::new() };
                let (spent, []) = self
                    .base
                    .memory
                    .spending(TraceId::NONE, spending, [])
                    .await
                    .map_err(|error| memory_gone(&error))?;
                (spent.day, spent.month)
            }
        };
        let used = self.used.borrow();
        rows.push(row(&used, set, "", Budget::HouseDay, day));
        rows.push(row(&used, set, "", Budget::HouseMonth, month));
        let growth = self.executors.registry.borrow().growth_left(now);
        Ok(BudgetReport {
            budgets: rows,
            births_left_today: growth.births_today,
            calls_per_minute: self.base.setting.calls_per_minute,
            day_ends_ms: (now / DAY_MS + 1) * DAY_MS,
        })
    }

    /// How many calls of this principal run now.
    pub(crate) fn running_of(&self, principal: &str) -> u64 {
        let turns = self.turns.borrow();
        let mine = turns.each().filter(|(_, turn)| turn.principal.name == principal);
        mine.map(|(_, turn)| turn.running as u64).sum()
    }

    /// An entry in the ledger about a model.
    pub(crate) async fn enter(
        &self,
        stage: CostStage,
        (entry, turn, trace): (CallId, TurnId, TraceId),
        (principal, role, executor): (&str, &str, &str),
        (amount, out, sent): (Amount, u64, Option<Blake3>),
    ) -> Result<(), Refusal> {
        let cost = Cost {
            entry,
            stage,
            turn,
            principal: principal.to_owned(),
            role: role.to_owned(),
            executor: executor.to_owned(),
            micro: amount.micro,
            tokens_in: amount.tokens.saturating_sub(out),
            tokens_out: amount.tokens.min(out),
            sent,
        };
        self.base.memory.cost(trace, cost, []).await.map(|_| ()).map_err(|error| memory_gone(&error))
    }
}

fn row(
    used: &Used,
    set: &metnos_proto::control::BudgetSettings,
    principal: &str,
    budget: Budget,
    number: u64,
) -> BudgetRow {
    let (limit, until) = used.limit(set, principal, budget);
    let whose = if principal.is_empty() { HOUSE } else { principal };
    BudgetRow {
        principal: whose.to_owned(),
        budget: budget.name().to_owned(),
        used: number,
        limit,
        money: budget.is_money(),
        changed_until_ms: until,
    }
}
