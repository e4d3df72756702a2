//! Tokens and money for models (design: policy §8). A turn is funded before anybody thinks in it: what it may take is looked
//! at, written down as an estimate, and only then told to mind, which holds its askers to it and tells what each thought
//! took. At the turn's end the estimate is settled with that. What mind does not tell any more counts as it was estimated.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use metnos_proto::edge::RpcError;
use metnos_proto::edges::policyd_mind;
use metnos_proto::executor::is_name;
use metnos_proto::ids::{CallId, TraceId, TurnId};
use metnos_proto::msg::common::{Refusal, RefusalCode, Standing};
use metnos_proto::msg::memoryd::{CostStage, Spending};
use metnos_proto::msg::mind::{EndFund, Fund as Word, Funded, TEST_ROLE, ThoughtUsed};
use metnos_proto::role::RoleName;

use crate::base::Base;
use crate::budget::count::{Budget, Over};
use crate::budget::drafts::Runs;
use crate::budget::escalate::{MAX_ESCALATED, Raise};
use crate::budget::funds::{Amount, Fund, Funds, MAX_GRANTS, MOST};
use crate::budget::{Budgets, no_room};
use crate::calls::rate::{Admission, Rate};
use crate::calls::turns::{self, Turns};
use crate::clock::DAY_MS;
use crate::refusals::memory_gone;
use crate::vaglio::Proposals;

mod drafts;

/// The most tokens that are granted at once.
pub const MAX_WANT: u64 = 10_000_000;
/// The role under which the ledger has what was granted and not yet taken.
const GRANTED: &str = "granted";
/// Under whom the ledger has what the owner tries.
const TRIED: &str = "metnos:test";
/// How many strange notes of mind are recorded.
const MAX_STRANGE: u32 = 16;

/// What may be thought, in turns and for drafts.
#[derive(Debug)]
pub(crate) struct Thinking {
    base: Rc<Base>,
    budgets: Rc<Budgets>,
    proposals: Rc<Proposals>,
    turns: Rc<RefCell<Turns>>,
    rate: Rc<RefCell<Rate>>,
    /// What open turns may think.
    pub(crate) funds: RefCell<Funds>,
    /// The runs in which syntd has something drafted.
    pub(crate) drafts: RefCell<Runs>,
    /// For which budgets more was proposed, by whose they are and the day.
    escalated: RefCell<BTreeSet<(String, Budget, u64)>>,
}

impl Thinking {
    pub(crate) fn new(
        base: &Rc<Base>,
        budgets: &Rc<Budgets>,
        proposals: &Rc<Proposals>,
        turns: &Rc<RefCell<Turns>>,
        rate: &Rc<RefCell<Rate>>,
    ) -> Rc<Self> {
        Rc::new(Self {
            base: Rc::clone(base),
            budgets: Rc::clone(budgets),
            proposals: Rc::clone(proposals),
            turns: Rc::clone(turns),
            rate: Rc::clone(rate),
            funds: RefCell::default(),
            drafts: RefCell::default(),
            escalated: RefCell::default(),
        })
    }

    /// A cap has stopped something: proposes more of it, once a day for each budget. Nobody waits for it.
    pub(crate) fn escalate(self: &Rc<Self>, over: Over, principal: &str) {
        let Some(raise) = Raise::of(over, principal) else { return };
        let day = self.base.clock.wall_ms() / DAY_MS;
        {
            let mut escalated = self.escalated.borrow_mut();
            escalated.retain(|(_, _, of)| *of == day);
            if escalated.len() >= MAX_ESCALATED || !escalated.insert((raise.whose.clone(), raise.budget, day)) {
                return;
            }
        }
        let thinking = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let proposal = raise.proposal(over, day);
            if let Err(refusal) = thinking.proposals.sifted(proposal, Some(raise)).await {
                tracing::warn!(why = refusal.why, "more of a budget could not be proposed");
            }
        });
    }

    /// Reserves what is wanted, as far as there is room, and tells mind; how many tokens may still be used.
    pub(crate) async fn fund_thinking(
        self: &Rc<Self>,
        (turn, trace): (TurnId, TraceId),
        principal: &str,
        want: u64,
    ) -> Result<u64, Refusal> {
        let word = self.reserve_thinking((turn, trace), principal, want.clamp(1, MAX_WANT), false).await?;
        let told = self.base.mind.fund(trace, word, []).await;
        // Its end may have come meanwhile: then mind must not keep what it was told.
        let Some((granted, used)) = self.funds.borrow().0.get(&turn).map(|fund| (fund.granted, fund.told)) else {
            let _ = self.base.mind.end_fund(trace, EndFund { turn }, []).await;
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
        let _alone = self.budgets.spending.lock().await;
        let spending = Spending { turn, principal: principal.to_owned() };
        let (spent, []) = self.base.memory.spending(trace, spending, []).await.map_err(|error| memory_gone(&error))?;
        let generation = *self.base.mind.generations().borrow();
        if generation == 0 {
            return Err(RpcError::Gone(RoleName::Mind).into_refusal());
        }
        let limit = |budget| self.budgets.used.borrow().limit(&self.base.setting.budget, principal, budget).0;
        self.budgets.used.borrow_mut().turn_to(self.base.clock.wall_ms());
        let all = self.funds.borrow().0.get(&turn).map_or(0, |fund| fund.held).saturating_add(want);
        let granted = self.funds.borrow().grant(turn, principal, all, &spent, limit);
        let granted = granted.map_err(|over| self.no_thinking(over, principal))?;
        let before = self
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
            self.budgets
                .enter(CostStage::Estimate, (entry, turn, trace), (principal, GRANTED, ""), (more, 0, None))
                .await?;
            let mut funds = self.funds.borrow_mut();
            let fund = funds.0.entry(turn).or_insert_with(|| Fund::new(principal, trace, generation));
            fund.granted = granted;
            fund.generation = generation;
            fund.estimates.push(entry);
        }
        if let (true, Some(fund)) = (held, self.funds.borrow_mut().0.get_mut(&turn)) {
            fund.held = fund.held.saturating_add(want);
        }
        for (budget, before) in [
            (Budget::TurnTokens, spent.turn_tokens),
            (Budget::Tokens, spent.principal_day_tokens),
            (Budget::MonthTokens, spent.principal_month_tokens),
        ] {
            self.warn_of_tokens(principal, (budget, before.saturating_add(more.tokens)));
        }
        let drafts = self.drafts.borrow().has(turn);
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

    fn warn_of_tokens(&self, principal: &str, by_then: (Budget, u64)) {
        let near = self.budgets.used.borrow_mut().near_tokens(&self.base.setting.budget, principal, by_then);
        if let Some(Over { budget, wanted, limit }) = near {
            let name = budget.name();
            self.base.event(
                "budget",
                &format!("{wanted} of {limit} of the budget {name} is used, last by {principal}"),
                None,
            );
        }
    }

    /// A turn is over: mind is told, says what it took, and that is what it has cost. Nobody waits for it.
    pub(crate) fn end_thinking(self: &Rc<Self>, turn: TurnId) {
        let trace = match self.funds.borrow_mut().0.get_mut(&turn) {
            Some(fund) if !fund.ending => {
                fund.ending = true;
                fund.trace
            }
            Some(_) | None => return,
        };
        let thinking = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let took = match thinking.base.mind.end_fund(trace, EndFund { turn }, []).await {
                Ok((Funded { tokens, micro }, [])) => Some(Amount { tokens, micro }),
                Err(error) => {
                    tracing::warn!(%error, %turn, "mind does not say what a turn took: it counts as it was granted");
                    None
                }
            };
            thinking.settle_thinking(turn, took).await;
        });
    }

    /// Everything that thinks is stopped, as far as mind learns of it.
    pub(crate) fn stop_thinking(self: &Rc<Self>) {
        self.drafts.borrow_mut().clear();
        let open: Vec<TurnId> = self.funds.borrow().0.keys().copied().collect();
        open.into_iter().for_each(|turn| self.end_thinking(turn));
    }

    /// What was granted becomes what it took; as much as was granted, where nobody says.
    async fn settle_thinking(&self, turn: TurnId, took: Option<Amount>) {
        let _alone = self.budgets.spending.lock().await;
        let Some(fund) = self.funds.borrow_mut().0.remove(&turn) else { return };
        // No more is believed of a mind than a single thought of each could have taken.
        let believed = fund.granted.plus(fund.told).plus(Amount { tokens: MOST, micro: MOST });
        let took = took.map_or(fund.granted, |took| took.minus(took.minus(believed)));
        let mut rest = fund.rest(took);
        for entry in &fund.estimates {
            let amount = std::mem::take(&mut rest);
            let settled = self
                .budgets
                .enter(CostStage::Actual, (*entry, turn, fund.trace), (&fund.principal, GRANTED, ""), (amount, 0, None))
                .await;
            if let Err(refusal) = settled {
                tracing::warn!(why = refusal.why, "what a turn took could not be settled; the estimate counts");
            }
        }
    }

    /// Receives what thoughts took, until the daemon ends.
    pub async fn hear_mind(self: Rc<Self>) {
        let Some(mut notes) = self.base.mind.take_notes() else { return };
        let mut strange = 0;
        while let Some(policyd_mind::Note::ThoughtUsed(note)) = notes.recv().await {
            let took = self.funds.borrow_mut().0.get_mut(&note.turn).map(|fund| fund.heard(note.thought, &note.usage));
            match took {
                Some(Some(took)) => self.thought(&note, took).await,
                None if note.turn == TurnId::NONE && note.role == TEST_ROLE => self.tried(&note).await,
                // Of a turn that is over, and settled.
                None => tracing::debug!(turn = %note.turn, "a thought of a turn that is not funded"),
                Some(None) => {
                    strange += 1;
                    if strange <= MAX_STRANGE {
                        self.base.event(
                            "violation",
                            "mind tells of one thought twice, or of too many",
                            Some(note.turn),
                        );
                    }
                }
            }
        }
    }

    /// The owner has tried a model: it was paid for, so it stands in the ledger. A mind that says so without end is not heard.
    async fn tried(&self, note: &ThoughtUsed) {
        if self.rate.borrow_mut().admit(TRIED, Standing::Owner, self.base.clock.monotonic_ms()) != Admission::Yes {
            return;
        }
        let entry = (CallId::new(), TurnId::NONE, TraceId::NONE);
        let amount = (Amount::of(&note.usage), note.usage.tokens_out, Some(note.sent));
        if let Err(refusal) = self.budgets.enter(CostStage::Actual, entry, (TRIED, TEST_ROLE, ""), amount).await {
            tracing::warn!(why = refusal.why, "what a try of a model took is not in the ledger");
        }
    }

    async fn thought(&self, note: &ThoughtUsed, took: Amount) {
        let _alone = self.budgets.spending.lock().await;
        let known = self
            .funds
            .borrow()
            .0
            .get(&note.turn)
            .map(|fund| (fund.principal.clone(), fund.trace, fund.executor_of(note.thought).to_owned()));
        let Some((principal, trace, executor)) = known else { return };
        let role = if is_name(&note.role) { note.role.as_str() } else { "unknown" };
        let (entry, amount) = ((CallId::new(), note.turn, trace), (took, note.usage.tokens_out, Some(note.sent)));
        match self.budgets.enter(CostStage::Actual, entry, (&principal, role, &executor), amount).await {
            Ok(()) => {
                if let Some(fund) = self.funds.borrow_mut().0.get_mut(&note.turn) {
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
        let mut generations = self.base.mind.generations();
        loop {
            let now = *generations.borrow_and_update();
            let gone: Vec<TurnId> = {
                let funds = self.funds.borrow();
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
                let thinking = Rc::clone(&self);
                tokio::task::spawn_local(async move {
                    let nobodys = EndFund { turn: TurnId::NONE };
                    if let Err(error) = thinking.base.mind.end_fund(TraceId::NONE, nobodys, []).await {
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
