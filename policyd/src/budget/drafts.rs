//! Tokens and money for what syntd has drafted. A run of drafts is Metnos's own, nobody's turn: it has the budgets of a
//! principal, stands in the ledger under its name, and nothing can be called, asked or remembered in it. policyd names it, so
//! that nobody who speaks in turns can know it; it ends when syntd says so, is gone, was too long about it, or everything is
//! stopped.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::policyd::{DraftsFunded, FundDrafts};

use crate::policy::Policy;
use crate::rate::Room;

/// Who drafts are charged to.
pub(crate) const SYNTH: &str = "metnos:synth";
/// The most runs that are open at once.
pub const MAX_RUNS: usize = 4;
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
pub struct Runs(BTreeMap<TurnId, Run>);

impl Runs {
    /// Whether this one is open.
    pub(crate) fn has(&self, run: TurnId) -> bool {
        self.0.contains_key(&run)
    }

    /// All are over.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The run that was meant; whether it was opened just now.
    fn find_or_open(&mut self, run: TurnId, link: u32) -> Result<(TurnId, Run, bool), Refusal> {
        if run != TurnId::NONE {
            return self.of(run, link).map(|known| (run, known, false));
        }
        if self.0.len() >= MAX_RUNS {
            let why = format!("{MAX_RUNS} runs of drafts are open already");
            return Err(Refusal::new(RefusalCode::Busy, "drafts.many", why).remedy("end one of them"));
        }
        let (id, run) = (TurnId::new(), Run { trace: TraceId::new(), link });
        self.0.insert(id, run);
        Ok((id, run, true))
    }

    fn of(&self, run: TurnId, link: u32) -> Result<Run, Refusal> {
        let known = self.0.get(&run).filter(|known| known.link == link).copied();
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
        self.chain_holds()?;
        self.constitution_holds()?;
        if let Some(off) = self.everything_stopped() {
            return Err(off.refusal());
        }
        if self.rate.borrow_mut().admit(SYNTH, self.clock.monotonic_ms()) != Room::Yes {
            let why = format!("{SYNTH} has asked as often as it may in a minute");
            return Err(Refusal::new(RefusalCode::Busy, "quota.rate", why).remedy("wait a moment"));
        }
        let (run, known, fresh) = self.house().drafts.borrow_mut().find_or_open(ask.run, link)?;
        match self.fund_thinking((run, known.trace), SYNTH, ask.tokens).await {
            Ok(tokens) => {
                if fresh {
                    self.end_drafts_in_time(run);
                }
                Ok(DraftsFunded { run, tokens })
            }
            Err(refusal) => {
                if fresh {
                    self.drafts_are_over(run);
                }
                Err(refusal)
            }
        }
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
            runs.0.iter().filter(|(_, run)| run.link == link).map(|(id, _)| *id).collect()
        };
        open.into_iter().for_each(|run| self.drafts_are_over(run));
    }

    fn drafts_are_over(self: &Rc<Self>, run: TurnId) {
        self.house().drafts.borrow_mut().0.remove(&run);
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
