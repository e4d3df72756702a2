//! The first line of a turn that consists of one direct call, and its last. The first is due before anything else is recorded of
//! the turn, and is sent together with the decision, so that one sync keeps both; the last is sent before anything that is said
//! later, and nobody waits for it.

use std::cell::RefCell;
use std::rc::Rc;

use metnos_proto::ids::TraceId;
use metnos_proto::msg::memoryd::DirectTurn;

/// The first line of a turn, until it is on its way. Anyone who has something recorded of the turn takes it along.
#[derive(Debug, Default)]
pub(crate) struct Opening(pub(crate) RefCell<Option<(TraceId, DirectTurn)>>);

impl Opening {
    /// Still due.
    pub(crate) fn due(trace: TraceId, begun: DirectTurn) -> Rc<Self> {
        Rc::new(Self(RefCell::new(Some((trace, begun)))))
    }
}
