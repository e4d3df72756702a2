//! A call as it was asked for, by whomever.

use std::rc::Rc;

use metnos_proto::edges::PlannerPolicyd;
use metnos_proto::ids::TurnId;
use metnos_proto::link_async::Notes;
use metnos_proto::msg::common::CallRef;
use metnos_proto::payload::Sealed;

use crate::calls::opening::OpeningLine;

/// A call as it was asked for.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) turn: TurnId,
    pub(crate) place: CallRef,
    pub(crate) executor: String,
    pub(crate) arguments: Sealed,
    /// The file that comes with it, for an executor that takes one.
    pub(crate) file: Option<Sealed>,
    /// The planner's that asks for it; nobody else learns how it goes.
    pub(crate) notes: Option<Notes<PlannerPolicyd>>,
    /// The card on which the owner has approved exactly this.
    pub(crate) approved: Option<String>,
    /// The first line of its turn, where that is still due.
    pub(crate) opening: Rc<OpeningLine>,
    /// policyd counts for the owner's card what an act would touch: the one who asks for the act, the count is not for him.
    pub(crate) counts: bool,
}
