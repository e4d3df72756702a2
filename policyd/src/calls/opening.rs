//! The first line of a turn that consists of one direct call, and its last. The first is due before anything else is recorded of
//! the turn, and is sent together with the decision, so that one sync keeps both; the last is sent before anything that is said
//! later, and nobody waits for it.

use std::cell::RefCell;
use std::rc::Rc;

use metnos_proto::edge::RpcError;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::memoryd::{Decision, DirectTurn, DirectTurnDone, Recorded};
use metnos_proto::payload::Sealed;

use crate::budget::Purse;
use crate::calls::act::Call;
use crate::policy::Policy;
use crate::refusals::memory_gone;

/// The first line of a turn, until it is on its way. Whoever has something recorded of the turn takes it along.
#[derive(Debug, Default)]
pub(crate) struct Opening(RefCell<Option<(TraceId, DirectTurn)>>);

impl Opening {
    /// Still due.
    pub(crate) fn due(trace: TraceId, begun: DirectTurn) -> Rc<Self> {
        Rc::new(Self(RefCell::new(Some((trace, begun)))))
    }
}

impl Policy {
    /// Has the turn opened now, if that is still due.
    ///
    /// # Errors
    /// When it could not be recorded.
    pub(crate) async fn open_turn(&self, opening: &Opening) -> Result<(), Refusal> {
        let due = opening.0.borrow_mut().take();
        let Some((trace, begun)) = due else { return Ok(()) };
        self.memory.direct_turn(trace, begun, []).await.map(drop).map_err(|error| memory_gone(&error))
    }

    /// What may be spent for a call that costs something; memoryd counts only in a turn that it knows.
    ///
    /// # Errors
    /// When the turn could not be opened, or memoryd cannot say.
    pub(crate) async fn purse_of(&self, call: &Call) -> Result<Option<Purse<'_>>, Refusal> {
        if self.price_of(&call.executor) > 0 {
            self.open_turn(&call.opening).await?;
        }
        self.purse(call.turn, &call.executor).await
    }

    /// Has a decision made durable, and the opening of its turn with it if that is still due. memoryd hears the one before
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
        let deciding = self.memory.decision(trace, decision, [arguments]);
        let (opened, decided) = tokio::join!(biased; self.open_turn(opening), deciding);
        opened?;
        let (recorded, []) = decided.map_err(|error: RpcError| memory_gone(&error))?;
        Ok(recorded)
    }

    /// Has the end of a direct turn recorded. It is on its way to memoryd, before anything that is said later, when this
    /// returns; whoever called waits for his answer and not for that line, on which nothing depends.
    pub(crate) async fn close_direct(self: &Rc<Self>, trace: TraceId, done: DirectTurnDone) {
        let policy = Rc::clone(self);
        let turn = done.turn;
        let mut closing = Box::pin(async move {
            if let Err(error) = policy.memory.direct_turn_done(trace, done, []).await {
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
