//! Tokens and money for models (design: policy §8). A turn is funded before anybody thinks in it: what it may take is looked
//! at, written down as an estimate, and only then told to mind, which holds its askers to it and tells what each thought
//! took. At the turn's end the estimate is settled with that. What mind does not tell any more counts as it was estimated.

use std::rc::Rc;

use metnos_proto::edge::RpcError;
use metnos_proto::edges::policyd_mind;
use metnos_proto::executor::is_name;
use metnos_proto::ids::{Blake3, CallId, TraceId, TurnId};
use metnos_proto::msg::common::{Refusal, RefusalCode, Standing};
use metnos_proto::msg::memoryd::{Cost, CostStage, Spending};
use metnos_proto::msg::mind::{EndFund, Fund as Word, Funded, TEST_ROLE, ThoughtUsed};
use metnos_proto::msg::policyd::{FundTurn, TurnFunded};
use metnos_proto::role::RoleName;

use super::count::{Budget, Over};
use super::funds::{Amount, Fund, MAX_GRANTS};
use super::no_room;
use crate::calls::rate::Room;
use crate::calls::turns;
use crate::people::principal::Principal;
use crate::policy::Policy;
use crate::refusals::memory_gone;

/// The most tokens that are granted at once.
pub const MAX_WANT: u64 = 10_000_000;
/// The role under which the ledger has what was granted and not yet taken.
const GRANTED: &str = "granted";
/// Under whom the ledger has what the owner tries.
const TRIED: &str = "metnos:test";
/// How many strange notes of mind are recorded.
const MAX_STRANGE: u32 = 16;

impl Policy {
    /// Lets a turn think, as far as there is room.
    ///
    /// # Errors
    /// The budget that is used up, and the command that allows more; or that it could not be written down, or mind not told.
    pub(crate) async fn fund(self: &Rc<Self>, ask: FundTurn) -> Result<TurnFunded, Refusal> {
        self.chain_holds().await?;
        if let Some(off) = self.everything_stopped() {
            return Err(off.refusal());
        }
        let turn = ask.turn;
        let known = self.turns.borrow().get(turn).map(|open| (open.principal.clone(), open.trace));
        let (Principal { name: principal, standing, .. }, trace) = known.ok_or_else(|| turns::unknown(turn))?;
        if self.rate.borrow_mut().admit(&principal, standing, self.clock.monotonic_ms()) != Room::Yes {
            let why = format!("{principal} has asked as often as it may in a minute");
            return Err(Refusal::new(RefusalCode::Busy, "quota.rate", why).remedy("wait a moment"));
        }
        let tokens = self.fund_thinking((turn, trace), &principal, ask.tokens).await?;
        Ok(TurnFunded { tokens })
    }

    /// Reserves what is wanted, as far as there is room, and tells mind; how many tokens may still be used.
    pub(super) async fn fund_thinking(
        self: &Rc<Self>,
        (turn, trace): (TurnId, TraceId),
        principal: &str,
        want: u64,
    ) -> Result<u64, Refusal> {
        let word = self.reserve_thinking((turn, trace), principal, want.clamp(1, MAX_WANT), false).await?;
        let told = self.mind.fund(trace, word, []).await;
        // Its end may have come meanwhile: then mind must not keep what it was told.
        let Some((granted, used)) = self.house().funds.borrow().0.get(&turn).map(|fund| (fund.granted, fund.told))
        else {
            let _ = self.mind.end_fund(trace, EndFund { turn }, []).await;
            return Err(turns::unknown(turn));
        };
        match told {
            Ok((Funded { tokens, .. }, [])) => Ok(granted.tokens.saturating_sub(used.tokens.max(tokens))),
            // It stays reserved until the turn ends: whether mind has heard of it is not known.
            Err(error) => Err(error.into_refusal()),
        }
    }

    /// Writes down what the turn may take, and what mind is to be told. What is `held` is wanted beside what others want,
    /// until it is given back.
    pub(crate) async fn reserve_thinking(
        self: &Rc<Self>,
        (turn, trace): (TurnId, TraceId),
        principal: &str,
        want: u64,
        held: bool,
    ) -> Result<Word, Refusal> {
        let house = self.house();
        let _alone = house.spending.lock().await;
        let spending = Spending { turn, principal: principal.to_owned() };
        let (spent, []) = self.memory.spending(trace, spending, []).await.map_err(|error| memory_gone(&error))?;
        let generation = *self.mind.generations().borrow();
        if generation == 0 {
            return Err(RpcError::Gone(RoleName::Mind).into_refusal());
        }
        let limit = |budget| house.used.borrow().limit(&self.setting.budget, principal, budget).0;
        house.used.borrow_mut().turn_to(self.clock.wall_ms());
        let all = house.funds.borrow().0.get(&turn).map_or(0, |fund| fund.held).saturating_add(want);
        let granted = house.funds.borrow().grant(turn, principal, all, &spent, limit);
        let granted = granted.map_err(|over| self.no_thinking(over, principal))?;
        let before = house
            .funds
            .borrow()
            .0
            .get(&turn)
            .map_or((Amount::default(), 0), |fund| (fund.granted, fund.estimates.len()));
        let more = granted.minus(before.0);
        if more != Amount::default() {
            if before.1 >= MAX_GRANTS {
                let why = format!("this turn was given something to think {MAX_GRANTS} times, which is the limit");
                return Err(Refusal::new(RefusalCode::Busy, "quota.thinking", why).remedy("ask anew"));
            }
            let entry = CallId::new();
            self.enter(CostStage::Estimate, (entry, turn, trace), (principal, GRANTED, ""), (more, 0, None)).await?;
            let mut funds = house.funds.borrow_mut();
            let fund = funds.0.entry(turn).or_insert_with(|| Fund::new(principal, trace, generation));
            fund.granted = granted;
            fund.generation = generation;
            fund.estimates.push(entry);
        }
        if let (true, Some(fund)) = (held, house.funds.borrow_mut().0.get_mut(&turn)) {
            fund.held = fund.held.saturating_add(want);
        }
        for (budget, before) in [
            (Budget::TurnTokens, spent.turn_tokens),
            (Budget::Tokens, spent.principal_day_tokens),
            (Budget::MonthTokens, spent.principal_month_tokens),
        ] {
            self.warn_of_tokens(principal, (budget, before.saturating_add(more.tokens)));
        }
        let drafts = house.drafts.borrow().has(turn);
        if !drafts && self.turns.borrow().get(turn).is_none() {
            // It ended while this was being written: what ends it has found nothing, or will.
            self.end_thinking(turn);
            return Err(turns::unknown(turn));
        }
        Ok(Word { turn, tokens: granted.tokens, micro: granted.micro, drafts })
    }

    fn no_thinking(self: &Rc<Self>, over: Over, principal: &str) -> Refusal {
        self.escalate(over, principal);
        no_room(over, principal).refusal()
    }

    fn warn_of_tokens(self: &Rc<Self>, principal: &str, by_then: (Budget, u64)) {
        let near = self.house().used.borrow_mut().near_tokens(&self.setting.budget, principal, by_then);
        if let Some(Over { budget, wanted, limit }) = near {
            let name = budget.name();
            self.event(
                "budget",
                &format!("{wanted} of {limit} of the budget {name} is used, last by {principal}"),
                None,
            );
        }
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
        self.memory.cost(trace, cost, []).await.map(|_| ()).map_err(|error| memory_gone(&error))
    }

    /// A turn is over: mind is told, says what it took, and that is what it has cost. Nobody waits for it.
    pub(crate) fn end_thinking(self: &Rc<Self>, turn: TurnId) {
        let trace = match self.house().funds.borrow_mut().0.get_mut(&turn) {
            Some(fund) if !fund.ending => {
                fund.ending = true;
                fund.trace
            }
            Some(_) | None => return,
        };
        let policy = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let took = match policy.mind.end_fund(trace, EndFund { turn }, []).await {
                Ok((Funded { tokens, micro }, [])) => Some(Amount { tokens, micro }),
                Err(error) => {
                    tracing::warn!(%error, %turn, "mind does not say what a turn took: it counts as it was granted");
                    None
                }
            };
            policy.settle_thinking(turn, took).await;
        });
    }

    /// Everything that thinks is stopped, as far as mind hears of it.
    pub(crate) fn stop_thinking(self: &Rc<Self>) {
        self.house().drafts.borrow_mut().clear();
        let open: Vec<TurnId> = self.house().funds.borrow().0.keys().copied().collect();
        open.into_iter().for_each(|turn| self.end_thinking(turn));
    }

    /// What was granted becomes what it took; as much as was granted, where nobody says.
    async fn settle_thinking(&self, turn: TurnId, took: Option<Amount>) {
        let _alone = self.house().spending.lock().await;
        let Some(fund) = self.house().funds.borrow_mut().0.remove(&turn) else { return };
        // No more is believed of a mind than a single thought of each could have taken.
        let believed =
            fund.granted.plus(fund.told).plus(Amount { tokens: super::funds::MOST, micro: super::funds::MOST });
        let took = took.map_or(fund.granted, |took| took.minus(took.minus(believed)));
        let mut rest = fund.rest(took);
        for entry in &fund.estimates {
            let amount = std::mem::take(&mut rest);
            let settled = self
                .enter(CostStage::Actual, (*entry, turn, fund.trace), (&fund.principal, GRANTED, ""), (amount, 0, None))
                .await;
            if let Err(refusal) = settled {
                tracing::warn!(why = refusal.why, "what a turn took could not be settled; the estimate counts");
            }
        }
    }

    /// Hears what thoughts took, until the daemon ends.
    pub async fn hear_mind(self: Rc<Self>) {
        let Some(mut notes) = self.mind.take_notes() else { return };
        let mut strange = 0;
        while let Some(policyd_mind::Note::ThoughtUsed(note)) = notes.recv().await {
            let took =
                self.house().funds.borrow_mut().0.get_mut(&note.turn).map(|fund| fund.heard(note.thought, &note.usage));
            match took {
                Some(Some(took)) => self.thought(&note, took).await,
                None if note.turn == TurnId::NONE && note.role == TEST_ROLE => self.tried(&note).await,
                // Of a turn that is over, and settled.
                None => tracing::debug!(turn = %note.turn, "a thought of a turn that is not funded"),
                Some(None) => {
                    strange += 1;
                    if strange <= MAX_STRANGE {
                        self.event("violation", "mind tells of one thought twice, or of too many", Some(note.turn));
                    }
                }
            }
        }
    }

    /// The owner has tried a model: it was paid for, so it stands in the ledger. A mind that says so without end is not heard.
    async fn tried(&self, note: &ThoughtUsed) {
        if self.rate.borrow_mut().admit(TRIED, Standing::Owner, self.clock.monotonic_ms()) != Room::Yes {
            return;
        }
        let entry = (CallId::new(), TurnId::NONE, TraceId::NONE);
        let amount = (Amount::of(&note.usage), note.usage.tokens_out, Some(note.sent));
        if let Err(refusal) = self.enter(CostStage::Actual, entry, (TRIED, TEST_ROLE, ""), amount).await {
            tracing::warn!(why = refusal.why, "what a try of a model took is not in the ledger");
        }
    }

    async fn thought(&self, note: &ThoughtUsed, took: Amount) {
        let _alone = self.house().spending.lock().await;
        let known = self
            .house()
            .funds
            .borrow()
            .0
            .get(&note.turn)
            .map(|fund| (fund.principal.clone(), fund.trace, fund.executor_of(note.thought).to_owned()));
        let Some((principal, trace, executor)) = known else { return };
        let role = if is_name(&note.role) { note.role.as_str() } else { "unknown" };
        let (entry, amount) = ((CallId::new(), note.turn, trace), (took, note.usage.tokens_out, Some(note.sent)));
        match self.enter(CostStage::Actual, entry, (&principal, role, &executor), amount).await {
            Ok(()) => {
                if let Some(fund) = self.house().funds.borrow_mut().0.get_mut(&note.turn) {
                    fund.entered = fund.entered.plus(took);
                }
            }
            // It is told, and not entered: so the settlement at the end holds it.
            Err(refusal) => tracing::warn!(why = refusal.why, "what a thought took is entered at the end of its turn"),
        }
    }

    /// Watches mind until the daemon ends: what one that is gone had been granted counts in full, and one that has come is
    /// greeted, so that it can tell what it is asked by others before any turn thinks.
    pub async fn keep_mind(self: Rc<Self>) {
        let mut generations = self.mind.generations();
        loop {
            let now = *generations.borrow_and_update();
            let gone: Vec<TurnId> = {
                let funds = self.house().funds.borrow();
                funds
                    .0
                    .iter()
                    .filter(|(_, fund)| fund.generation != now && !fund.ending)
                    .map(|(turn, _)| *turn)
                    .collect()
            };
            for turn in gone {
                self.settle_thinking(turn, None).await;
            }
            if now != 0 {
                let policy = Rc::clone(&self);
                tokio::task::spawn_local(async move {
                    let nobodys = EndFund { turn: TurnId::NONE };
                    if let Err(error) = policy.mind.end_fund(TraceId::NONE, nobodys, []).await {
                        tracing::debug!(%error, "mind was not greeted");
                    }
                });
            }
            if generations.changed().await.is_err() {
                return;
            }
        }
    }
}
