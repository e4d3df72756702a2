//! What a model says about the arguments of a call, for executors whose manifest asks for it (design: executor §6). It is
//! asked after the decision is on the disk and before the call runs: the arguments go from sandboxd to mind, the reply from
//! mind to sandboxd, and neither is read here. It is funded as the turn's own thoughts are, and stands in the ledger.

use metnos_proto::edge::RpcError;
use metnos_proto::executor::Thinking;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::memoryd::ModelAsked;
use metnos_proto::msg::mind::{Assist, Fund};
use metnos_proto::msg::sandboxd::{Fill, Run};
use metnos_proto::payload::Sealed;

use crate::calls::turns;
use crate::decision;
use crate::executors::registry::Signed;
use crate::policy::Policy;

/// Tokens of what mind says beside arguments and instruction, at most.
const BESIDE: u64 = 512;

/// What a thought about so many bytes may take: mind reckons three bytes a token, of a prompt in which every byte may have
/// become two.
fn may_take(bytes: usize, thinking: &Thinking) -> u64 {
    let bytes = bytes.saturating_add(thinking.instruction.len());
    let tokens = bytes.saturating_mul(2).div_ceil(3);
    u64::try_from(tokens).unwrap_or(u64::MAX).saturating_add(BESIDE).saturating_add(thinking.max_tokens.into())
}

/// Whatever became of an ask before the run: nothing ran.
fn nothing_ran(error: RpcError) -> RpcError {
    RpcError::Refused(error.into_refusal())
}

impl Policy {
    /// The reply of the model, sealed; for the run of this call only.
    ///
    /// # Errors
    /// Why there is none, or why the call may not run any more: nothing has run.
    pub(crate) async fn thought_about(
        &self,
        signed: &Signed,
        thinking: &Thinking,
        run: &Run,
        arguments: &Sealed,
    ) -> Result<Sealed, RpcError> {
        let no = |refusal: Refusal| RpcError::Refused(refusal);
        let internal = |why: String| no(Refusal::new(RefusalCode::Internal, "policyd.internal", why));
        let copy = arguments.share().map_err(|error| internal(error.to_string()))?;
        let fill = Fill { turn: run.turn, id: run.id.clone(), digests: signed.digests.clone() };
        let (_, [filled]) =
            self.base.ask_sandbox(self.base.sandbox.fill(run.trace, fill, [copy])).await.map_err(nothing_ran)?;
        self.secrets.holds_no_secret(&filled).map_err(no)?;
        let want = may_take(filled.len(), thinking);
        let principal = self.calls.turns.borrow().get(run.turn).map(|turn| turn.principal.name.clone());
        let principal = principal.ok_or_else(|| no(turns::unknown(run.turn)))?;
        let word = self.thinking.reserve_thinking((run.turn, run.trace), &principal, want, true).await.map_err(no)?;
        let thought = self.thought_within(word, thinking, run, filled).await;
        if let Some(fund) = self.thinking.funds.borrow_mut().0.get_mut(&run.turn) {
            fund.held = fund.held.saturating_sub(want);
        }
        let thought = thought?;
        // That took a while: from here to the run nothing else happens.
        self.may_still_run(signed, run).map_err(no)?;
        Ok(thought)
    }

    async fn thought_within(
        &self,
        word: Fund,
        thinking: &Thinking,
        run: &Run,
        filled: Sealed,
    ) -> Result<Sealed, RpcError> {
        let (_, []) = self.base.mind.fund(run.trace, word, []).await.map_err(nothing_ran)?;
        let number = self.thinking.funds.borrow_mut().0.get_mut(&run.turn).map(|fund| fund.assist(&run.id.name));
        let Some(thought) = number.ok_or_else(|| RpcError::Refused(turns::unknown(run.turn)))? else {
            let why = "executors have had as much thought about in this turn as in any".to_owned();
            return Err(RpcError::Refused(Refusal::new(RefusalCode::Busy, "quota.thinking", why).remedy("ask anew")));
        };
        let ask = Assist {
            turn: run.turn,
            thought,
            role: thinking.role.clone(),
            instruction: thinking.instruction.clone(),
            max_tokens: thinking.max_tokens,
        };
        let (came, [reply, sent]) = self.base.mind.assist(run.trace, ask, [filled]).await.map_err(nothing_ran)?;
        let asked = ModelAsked { turn: run.turn, thought, model: came.model };
        if let Err(error) = self.base.memory.model_asked(run.trace, asked, [sent]).await {
            // The call has its decision and its cost on the disk; what it was asked is told by its digest there.
            tracing::warn!(%error, "what a model was sent for an executor is not kept");
        }
        Ok(reply)
    }

    pub(super) fn may_still_run(&self, signed: &Signed, run: &Run) -> Result<(), Refusal> {
        if self.calls.turns.borrow().get(run.turn).is_none() {
            return Err(turns::unknown(run.turn));
        }
        if let Some(off) = self.executors.switched_off(&run.id.name) {
            return Err(off.refusal());
        }
        let same =
            self.executors.registry.borrow().callable(&run.id.name).is_some_and(|now| now.digests == signed.digests);
        if !same {
            let why = format!("{} was set aside in this very moment", run.id);
            return Err(decision::Verdict::deny(decision::QUARANTINED, why).refusal());
        }
        Ok(())
    }
}
