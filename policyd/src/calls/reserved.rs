//! How many calls run: each takes a place in the same breath in which it is allowed, so that two that are decided at once
//! cannot both have the last one.

use std::rc::Rc;

use metnos_proto::ids::TurnId;

use crate::policy::Policy;

/// A place among the running calls, given back when it is dropped.
pub(crate) struct Reserved {
    policy: Rc<Policy>,
    turn: TurnId,
}

impl Reserved {
    pub(crate) fn take(policy: &Rc<Policy>, turn: TurnId) -> Self {
        policy.reserved.set(policy.reserved.get() + 1);
        if let Some(open) = policy.turns.borrow_mut().get_mut(turn) {
            open.running += 1;
        }
        Self { policy: Rc::clone(policy), turn }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.policy.reserved.set(self.policy.reserved.get().saturating_sub(1));
        if let Some(open) = self.policy.turns.borrow_mut().get_mut(self.turn) {
            open.running = open.running.saturating_sub(1);
        }
        self.policy.idle.notify_waiters();
    }
}
