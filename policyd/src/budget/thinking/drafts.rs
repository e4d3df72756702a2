//! What is thought for drafts of syntd: a run is opened, and ended in time.

use std::rc::Rc;

use metnos_proto::edge::RpcError;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::mind::{EndFund, Fund};

use crate::budget::drafts::{RUN_WITHIN, SYNTH};
use crate::budget::thinking::Thinking;

impl Thinking {
    /// Whether anybody could draft at all is asked before anything is written down.
    pub(crate) async fn open_drafts(
        self: &Rc<Self>,
        (run, trace): (TurnId, TraceId),
        want: u64,
    ) -> Result<u64, Refusal> {
        let nothing = Fund { turn: run, tokens: 0, micro: 0, drafts: true };
        let (_, []) = self.base.mind.fund(trace, nothing, []).await.map_err(RpcError::into_refusal)?;
        let counted = self.drafts.borrow_mut().count(self.base.clock.monotonic_ms());
        let funded = match counted {
            Ok(()) => self.fund_thinking((run, trace), SYNTH, want).await,
            Err(refusal) => Err(refusal),
        };
        if funded.is_err() {
            // Whether or not there is something to settle: mind forgets that there was a run.
            let _ = self.base.mind.end_fund(trace, EndFund { turn: run }, []).await;
        }
        funded
    }

    /// syntd is done with a run.
    ///
    /// # Errors
    /// When it has no such run.
    pub(crate) fn end_drafts(self: &Rc<Self>, link: u32, run: TurnId) -> Result<(), Refusal> {
        self.drafts.borrow().of(run, link)?;
        self.drafts_are_over(run);
        Ok(())
    }

    /// The syntd of this link is gone, and with it anyone who wanted its drafts.
    pub fn syntd_gone(self: &Rc<Self>, link: u32) {
        let open: Vec<TurnId> = {
            let runs = self.drafts.borrow();
            runs.open.iter().filter(|(_, run)| run.link == link).map(|(id, _)| *id).collect()
        };
        open.into_iter().for_each(|run| self.drafts_are_over(run));
    }

    pub(crate) fn drafts_are_over(self: &Rc<Self>, run: TurnId) {
        self.drafts.borrow_mut().open.remove(&run);
        self.end_thinking(run);
    }

    pub(crate) fn end_drafts_in_time(self: &Rc<Self>, run: TurnId) {
        let thinking = Rc::downgrade(self);
        tokio::task::spawn_local(async move {
            tokio::time::sleep(RUN_WITHIN).await;
            let Some(thinking) = thinking.upgrade() else { return };
            if thinking.drafts.borrow().has(run) {
                thinking.base.event("drafts", "a run of drafts was open too long, and is ended", None);
                thinking.drafts_are_over(run);
            }
        });
    }
}
