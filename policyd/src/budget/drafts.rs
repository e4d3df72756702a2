//! Tokens and money for what syntd has drafted. A run of drafts is Metnos's own, nobody's turn: it has the budgets of a
//! principal, stands in the ledger under its name, and nothing can be called, asked or remembered in it. policyd names it, so
//! that nobody who speaks in turns can know it; it ends when syntd says so, is gone, was too long about it, or everything is
//! stopped.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::edge::RpcError;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Refusal, RefusalCode, Standing};
use metnos_proto::msg::mind::{EndFund, Fund};
use metnos_proto::msg::policyd::{DraftsFunded, FundDrafts};

use crate::calls::rate::Room;
use crate::policy::Policy;

/// Who drafts are charged to.
pub(crate) const SYNTH: &str = "metnos:synth";
/// The most runs that are open at once.
pub const MAX_RUNS: usize = 4;
/// The most runs that are opened within an hour: each leaves lines in the chronicle.
pub const MAX_OPENED: usize = 30;
/// An hour.
const HOUR_MS: u64 = 3_600_000;
/// How long a run may be open.
pub const RUN_WITHIN: Duration = Duration::from_secs(1_800);

/// One run.
#[derive(Debug, Clone, Copy)]
struct Run {
    trace: TraceId,
    /// The link of the syntd that has opened it.
    link: u32,
}

/// The runs that are open.
#[derive(Debug, Default)]
pub struct Runs {
    open: BTreeMap<TurnId, Run>,
    /// When those of the last hour were opened.
    opened_ms: VecDeque<u64>,
}

impl Runs {
    /// Whether this one is open.
    pub(crate) fn has(&self, run: TurnId) -> bool {
        self.open.contains_key(&run)
    }

    /// All are over.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }

    /// The run that was meant; whether it was opened just now.
    fn find_or_open(&mut self, run: TurnId, link: u32) -> Result<(TurnId, Run, bool), Refusal> {
        if run != TurnId::NONE {
            return self.of(run, link).map(|known| (run, known, false));
        }
        if self.open.len() >= MAX_RUNS {
            let why = format!("{MAX_RUNS} runs of drafts are open already");
            return Err(Refusal::new(RefusalCode::Busy, "drafts.many", why).remedy("end one of them"));
        }
        let (id, run) = (TurnId::new(), Run { trace: TraceId::new(), link });
        self.open.insert(id, run);
        Ok((id, run, true))
    }

    /// One more that is opened, if there were not too many.
    fn count(&mut self, now_ms: u64) -> Result<(), Refusal> {
        while self.opened_ms.front().is_some_and(|at| at.saturating_add(HOUR_MS) <= now_ms) {
            self.opened_ms.pop_front();
        }
        if self.opened_ms.len() >= MAX_OPENED {
            let why = format!("{MAX_OPENED} runs of drafts were opened within an hour");
            return Err(Refusal::new(RefusalCode::Busy, "drafts.often", why).remedy("have more drafted in one of them"));
        }
        self.opened_ms.push_back(now_ms);
        Ok(())
    }

    fn of(&self, run: TurnId, link: u32) -> Result<Run, Refusal> {
        let known = self.open.get(&run).filter(|known| known.link == link).copied();
        known.ok_or_else(|| {
            Refusal::new(RefusalCode::Unknown, "drafts.unknown", "no such run of drafts is open".to_owned())
                .remedy("open another one")
        })
    }
}

impl Policy {
    /// Lets syntd have something drafted, as far as there is room.
    ///
    /// # Errors
    /// What stands in the way: the Laws are not confirmed, everything is stopped, a budget is used up, no model drafts; or it
    /// could not be written down, or mind not told. A run that would have been opened by this is not.
    pub(crate) async fn fund_drafts(self: &Rc<Self>, link: u32, ask: FundDrafts) -> Result<DraftsFunded, Refusal> {
        self.chain_holds().await?;
        self.constitution_holds()?;
        if let Some(off) = self.everything_stopped() {
            return Err(off.refusal());
        }
        if self.rate.borrow_mut().admit(SYNTH, Standing::Owner, self.clock.monotonic_ms()) != Room::Yes {
            let why = format!("{SYNTH} has asked as often as it may in a minute");
            return Err(Refusal::new(RefusalCode::Busy, "quota.rate", why).remedy("wait a moment"));
        }
        let (run, known, fresh) = self.house().drafts.borrow_mut().find_or_open(ask.run, link)?;
        if !fresh {
            let tokens = self.fund_thinking((run, known.trace), SYNTH, ask.tokens).await?;
            return Ok(DraftsFunded { run, tokens });
        }
        match self.open_drafts((run, known.trace), ask.tokens).await {
            Ok(tokens) => {
                self.end_drafts_in_time(run);
                Ok(DraftsFunded { run, tokens })
            }
            Err(refusal) => {
                self.drafts_are_over(run);
                Err(refusal)
            }
        }
    }

    /// Whether anybody could draft at all is asked before anything is written down.
    async fn open_drafts(self: &Rc<Self>, (run, trace): (TurnId, TraceId), want: u64) -> Result<u64, Refusal> {
        let nothing = Fund { turn: run, tokens: 0, micro: 0, drafts: true };
        let (_, []) = self.mind.fund(trace, nothing, []).await.map_err(RpcError::into_refusal)?;
        let counted = self.house().drafts.borrow_mut().count(self.clock.monotonic_ms());
        let funded = match counted {
            Ok(()) => self.fund_thinking((run, trace), SYNTH, want).await,
            Err(refusal) => Err(refusal),
        };
        if funded.is_err() {
            // Whether or not there is something to settle: mind forgets that there was a run.
            let _ = self.mind.end_fund(trace, EndFund { turn: run }, []).await;
        }
        funded
    }

    /// syntd is done with a run.
    ///
    /// # Errors
    /// When it has no such run.
    pub(crate) fn end_drafts(self: &Rc<Self>, link: u32, run: TurnId) -> Result<(), Refusal> {
        self.house().drafts.borrow().of(run, link)?;
        self.drafts_are_over(run);
        Ok(())
    }

    /// The syntd of this link is gone, and with it whoever wanted its drafts.
    pub fn syntd_gone(self: &Rc<Self>, link: u32) {
        let open: Vec<TurnId> = {
            let runs = self.house().drafts.borrow();
            runs.open.iter().filter(|(_, run)| run.link == link).map(|(id, _)| *id).collect()
        };
        open.into_iter().for_each(|run| self.drafts_are_over(run));
    }

    fn drafts_are_over(self: &Rc<Self>, run: TurnId) {
        self.house().drafts.borrow_mut().open.remove(&run);
        self.end_thinking(run);
    }

    fn end_drafts_in_time(self: &Rc<Self>, run: TurnId) {
        let policy = Rc::downgrade(self);
        tokio::task::spawn_local(async move {
            tokio::time::sleep(RUN_WITHIN).await;
            let Some(policy) = policy.upgrade() else { return };
            if policy.house().drafts.borrow().has(run) {
                policy.event("drafts", "a run of drafts was open too long, and is ended", None);
                policy.drafts_are_over(run);
            }
        });
    }
}
