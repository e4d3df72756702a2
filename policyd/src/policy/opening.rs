//! The first line of a turn that consists of one direct call, and its last: what is due is recorded with the decision.

use std::rc::Rc;

use metnos_proto::edge::RpcError;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::memoryd::{Decision, DirectTurnDone, Recorded};
use metnos_proto::payload::Sealed;

use crate::budget::Purse;
use crate::calls::call::Call;
use crate::calls::opening::Opening;
use crate::policy::Policy;
use crate::refusals::memory_gone;

impl Policy {
    /// Has the turn opened now, if that is still due.
    ///
    /// # Errors
    /// When it could not be recorded.
    pub(crate) async fn open_turn(&self, opening: &Opening) -> Result<(), Refusal> {
        let due = opening.0.borrow_mut().take();
        let Some((trace, begun)) = due else { return Ok(()) };
        self.base.memory.direct_turn(trace, begun, []).await.map(drop).map_err(|error| memory_gone(&error))
    }

    /// What may be spent for a call that costs something; memoryd counts only in a turn that it knows.
    ///
    /// # Errors
    /// When the turn could not be opened, or memoryd cannot say.
    pub(crate) async fn purse_of(&self, call: &Call) -> Result<Option<Purse<'_>>, Refusal> {
        if self.budgets.price_of(&call.executor) > 0 {
            self.open_turn(&call.opening).await?;
        }
        self.budgets.purse(call.turn, &call.executor).await
    }

    /// Has a decision made durable, and the opening of its turn with it if that is still due. memoryd receives the one before
    /// the other, and takes no decision in a turn that it has not heard of.
    ///
    /// # Errors
    /// When either could not be recorded.
    pub(crate) async fn open_and_decide(
        &self,
        opening: &Opening,
        trace: TraceId,
        decision: Decision,
        arguments: Sealed,
    ) -> Result<Recorded, Refusal> {
        let deciding = self.base.memory.decision(trace, decision, [arguments]);
        let (opened, decided) = tokio::join!(biased; self.open_turn(opening), deciding);
        opened?;
        let (recorded, []) = decided.map_err(|error: RpcError| memory_gone(&error))?;
        Ok(recorded)
    }

    /// Has the end of a direct turn recorded. It is on its way to memoryd, before anything that is said later, when this
    /// returns; anyone who called waits for his answer and not for that line, on which nothing depends.
    pub(crate) async fn close_direct(self: &Rc<Self>, trace: TraceId, done: DirectTurnDone) {
        let policy = Rc::clone(self);
        let turn = done.turn;
        let mut closing = Box::pin(async move {
            if let Err(error) = policy.base.memory.direct_turn_done(trace, done, []).await {
                tracing::error!(%error, %turn, "the end of a direct turn could not be recorded");
            }
            policy.forget(turn);
        });
        // The first poll sends.
        let sent = std::future::poll_fn(|cx| std::task::Poll::Ready(closing.as_mut().poll(cx)));
        if tokio::task::unconstrained(sent).await.is_pending() {
            tokio::task::spawn_local(closing);
        }
    }
}
