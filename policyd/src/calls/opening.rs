//! The first line of a turn that consists of one direct call, and its last. The first is due before anything else is recorded of
//! the turn, and is sent together with the decision, so that one sync keeps both; the last is sent before anything that is said
//! later, and nobody waits for it.

use std::cell::RefCell;
use std::rc::Rc;

use metnos_proto::edge::RpcError;
use metnos_proto::edges::PolicydMemoryd;
use metnos_proto::ids::TraceId;
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::memoryd::{Decision, DirectTurn, Recorded};
use metnos_proto::payload::Sealed;

use crate::refusals::memory_gone;

/// The first line of a turn, until it is on its way. Anyone who has something recorded of the turn takes it along.
#[derive(Debug, Default)]
pub(crate) struct OpeningLine(RefCell<Option<(TraceId, DirectTurn)>>);

impl OpeningLine {
    /// Still due.
    pub(crate) fn due(trace: TraceId, begun: DirectTurn) -> Rc<Self> {
        Rc::new(Self(RefCell::new(Some((trace, begun)))))
    }

    /// Has the turn opened now, if that is still due.
    ///
    /// # Errors
    /// When it could not be recorded.
    pub(crate) async fn record(&self, memory: &Client<PolicydMemoryd>) -> Result<(), Refusal> {
        let due = self.0.borrow_mut().take();
        let Some((trace, begun)) = due else { return Ok(()) };
        memory.direct_turn(trace, begun, []).await.map(drop).map_err(|error| memory_gone(&error))
    }

    /// Has a decision made durable, and the opening of its turn with it if that is still due. memoryd hears the one before
    /// the other, and takes no decision in a turn that it has not heard of.
    ///
    /// # Errors
    /// When either could not be recorded.
    pub(crate) async fn record_with(
        &self,
        memory: &Client<PolicydMemoryd>,
        trace: TraceId,
        decision: Decision,
        arguments: Sealed,
    ) -> Result<Recorded, Refusal> {
        let deciding = memory.decision(trace, decision, [arguments]);
        let (opened, decided) = tokio::join!(biased; self.record(memory), deciding);
        opened?;
        let (recorded, []) = decided.map_err(|error: RpcError| memory_gone(&error))?;
        Ok(recorded)
    }
}
