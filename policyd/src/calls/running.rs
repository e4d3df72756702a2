//! The calls that run: each takes a place in the same breath in which it is allowed, so that two that are decided at once
//! cannot both have the last one. How far one is goes to the planner that asked for it, and to nobody else.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::edges::{PlannerPolicyd, planner_policyd};
use metnos_proto::ids::{CallId, TurnId};
use metnos_proto::link_async::Notes;
use metnos_proto::msg::common::CallRef;
use metnos_proto::msg::policyd::CallProgress;
use metnos_proto::msg::sandboxd::RunProgress;
use tokio::sync::Notify;

use crate::calls::turns::Turns;

/// A call that runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) turn: TurnId,
    pub(crate) place: CallRef,
    pub(crate) notes: Option<Notes<PlannerPolicyd>>,
    pub(crate) executor: String,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct RunningCalls {
    pub(crate) turns: Rc<RefCell<Turns>>,
    pub(crate) calls: RefCell<HashMap<CallId, Running>>,
    pub(crate) reserved: Cell<usize>,
    pub(crate) draining: Cell<bool>,
    pub(crate) idle: Notify,
}

/// A place among the running calls, given back when it is dropped.
pub(crate) struct RunningSlot {
    running: Rc<RunningCalls>,
    turn: TurnId,
}

impl Drop for RunningSlot {
    fn drop(&mut self) {
        self.running.reserved.set(self.running.reserved.get().saturating_sub(1));
        if let Some(open) = self.running.turns.borrow_mut().get_mut(self.turn) {
            open.running = open.running.saturating_sub(1);
        }
        self.running.idle.notify_waiters();
    }
}

impl RunningCalls {
    pub(crate) fn new(turns: Rc<RefCell<Turns>>) -> Self {
        let (calls, reserved, draining) = (RefCell::default(), Cell::new(0), Cell::new(false));
        Self { turns, calls, reserved, draining, idle: Notify::new() }
    }

    /// Takes a place for a call of this turn.
    pub(crate) fn take(self: &Rc<Self>, turn: TurnId) -> RunningSlot {
        self.reserved.set(self.reserved.get() + 1);
        if let Some(open) = self.turns.borrow_mut().get_mut(turn) {
            open.running += 1;
        }
        RunningSlot { running: Rc::clone(self), turn }
    }

    /// Passes on how far a call is. A planner that does not read misses it; nobody waits.
    pub(crate) async fn progress(&self, progress: RunProgress) {
        let found = self
            .calls
            .borrow()
            .get(&progress.call)
            .and_then(|running| running.notes.clone().map(|notes| (notes, running.turn, running.place)));
        let Some((notes, turn, call)) = found else { return };
        let note = planner_policyd::Note::CallProgress(CallProgress {
            turn,
            call,
            done: progress.done,
            total: progress.total,
        });
        tokio::select! {
            biased;
            sent = notes.send(note) => {
                if let Err(error) = sent {
                    tracing::debug!(%error, "progress that nobody hears");
                }
            }
            () = std::future::ready(()) => {}
        }
    }

    /// No call is begun any more; returns when none runs, or after `within`.
    pub async fn drain(&self, within: Duration) {
        self.draining.set(true);
        let quiet = async {
            loop {
                let idle = self.idle.notified();
                if self.reserved.get() == 0 {
                    return;
                }
                idle.await;
            }
        };
        let _ = tokio::time::timeout(within, quiet).await;
    }

    pub(crate) fn turns_running(&self, executor: &str) -> Vec<TurnId> {
        let running = self.calls.borrow();
        running.values().filter(|running| running.executor == executor).map(|running| running.turn).collect()
    }
}
