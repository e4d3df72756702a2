//! Whether a person may think at all, before it is looked at how much.

use metnos_proto::msg::common::{Refusal, RefusalCode, Standing};
use metnos_proto::msg::policyd::{DraftsFunded, FundDrafts, FundTurn, TurnFunded};

use crate::budget::drafts::SYNTH;
use crate::calls::rate::Admission;
use crate::calls::turns;
use crate::people::principal::Principal;
use crate::policy::Policy;

impl Policy {
    /// Lets a turn think, as far as there is room.
    ///
    /// # Errors
    /// The budget that is used up, and the command that allows more; or that it could not be written down, or mind not notified.
    pub(crate) async fn fund(&self, ask: FundTurn) -> Result<TurnFunded, Refusal> {
        self.anchors.chain_holds().await?;
        if let Some(off) = self.executors.everything_stopped() {
            return Err(off.refusal());
        }
        let turn = ask.turn;
        let known = self.calls.turns.borrow().get(turn).map(|open| (open.principal.clone(), open.trace));
        let (Principal { name: principal, standing, .. }, trace) = known.ok_or_else(|| turns::unknown(turn))?;
        if self.calls.rate.borrow_mut().admit(&principal, standing, self.base.clock.monotonic_ms()) != Admission::Yes {
            let why = format!("{principal} has asked as often as it may in a minute");
            return Err(Refusal::new(RefusalCode::Busy, "quota.rate", why).remedy("wait a moment"));
        }
        let tokens = self.thinking.fund_thinking((turn, trace), &principal, ask.tokens).await?;
        Ok(TurnFunded { tokens })
    }

    /// Lets syntd have something drafted, as far as there is room.
    ///
    /// # Errors
    /// What stands in the way: the Laws are not confirmed, everything is stopped, a budget is used up, no model drafts; or it
    /// could not be written down, or mind not notified. A run that would have been opened by this is not.
    pub(crate) async fn fund_drafts(&self, link: u32, ask: FundDrafts) -> Result<DraftsFunded, Refusal> {
        self.anchors.chain_holds().await?;
        self.proposals.constitution_holds()?;
        if let Some(off) = self.executors.everything_stopped() {
            return Err(off.refusal());
        }
        if self.calls.rate.borrow_mut().admit(SYNTH, Standing::Owner, self.base.clock.monotonic_ms()) != Admission::Yes
        {
            let why = format!("{SYNTH} has asked as often as it may in a minute");
            return Err(Refusal::new(RefusalCode::Busy, "quota.rate", why).remedy("wait a moment"));
        }
        let (run, known, fresh) = self.thinking.drafts.borrow_mut().find_or_open(ask.run, link)?;
        if !fresh {
            let tokens = self.thinking.fund_thinking((run, known.trace), SYNTH, ask.tokens).await?;
            return Ok(DraftsFunded { run, tokens });
        }
        match self.thinking.open_drafts((run, known.trace), ask.tokens).await {
            Ok(tokens) => {
                self.thinking.end_drafts_in_time(run);
                Ok(DraftsFunded { run, tokens })
            }
            Err(refusal) => {
                self.thinking.drafts_are_over(run);
                Err(refusal)
            }
        }
    }
}
