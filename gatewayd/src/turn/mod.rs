//! The planner's daemon side: one task a turn, which asks memoryd what may be known, the reflex what
//! to do, and policyd for every act. It holds no resource and decides nothing; all it can do to the
//! world is ask.

pub mod drive;
pub mod progress;
pub mod serve;

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use metnos_proto::edges::{DoorPlanner, PlannerMemoryd, PlannerMind, PlannerPolicyd, planner_policyd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::{Client, Notes};
use metnos_proto::msg::mind::MindHealth;
use metnos_proto::msg::planner::Progress;
use tokio::sync::{Notify, watch};

use crate::reflex::Repertoire;

/// The most turns at once.
pub const MAX_TURNS: usize = 64;
/// The longest a turn may take from the envelope to the answer, in milliseconds.
pub const TURN_WITHIN_MS: u64 = 60_000;
/// The longest the closing of a turn may take, in milliseconds.
pub const CLOSE_WITHIN_MS: u64 = 15_000;
/// The longest reason why a turn did not answer, in bytes.
pub const MAX_WHY: usize = 8 * 1024;
/// The longest wish for something missing, in bytes.
pub const MAX_WISH: usize = 512;

/// A turn that is under way.
struct Open {
    cancel: Rc<Notify>,
    notes: Notes<DoorPlanner>,
}

/// The planner: its clients, and the turns under way.
pub struct Planner {
    policyd: Rc<Client<PlannerPolicyd>>,
    memoryd: Rc<Client<PlannerMemoryd>>,
    mind: Rc<Client<PlannerMind>>,
    turns: RefCell<HashMap<TurnId, Open>>,
    /// How many turns are under way, for whoever waits for the last.
    count: watch::Sender<usize>,
    /// Whether mind has a model for the planner's role, as last heard.
    has_model: Cell<bool>,
    repertoire: RefCell<Repertoire>,
    turn_within_ms: u64,
}

impl Planner {
    /// A planner without turns. `turn_within_ms` is [`TURN_WITHIN_MS`] outside tests.
    #[must_use]
    pub fn new(
        policyd: Rc<Client<PlannerPolicyd>>,
        memoryd: Rc<Client<PlannerMemoryd>>,
        mind: Rc<Client<PlannerMind>>,
        turn_within_ms: u64,
    ) -> Rc<Self> {
        Rc::new(Self {
            policyd,
            memoryd,
            mind,
            turns: RefCell::default(),
            count: watch::Sender::new(0),
            has_model: Cell::new(false),
            repertoire: RefCell::default(),
            turn_within_ms,
        })
    }

    /// Starts what runs beside the turns: passing on the progress of calls, and asking mind for its
    /// health once per link. Must run inside a [`tokio::task::LocalSet`].
    pub fn start(self: &Rc<Self>) {
        tokio::task::spawn_local(Rc::clone(self).pass_progress_on());
        tokio::task::spawn_local(Rc::clone(self).ask_for_health());
    }

    /// How many turns are under way.
    #[must_use]
    pub fn turns(&self) -> usize {
        self.turns.borrow().len()
    }

    /// Waits until no turn is under way.
    pub async fn idle(&self) {
        let mut count = self.count.subscribe();
        // The sender lives in `self`, so this cannot fail.
        let _ = count.wait_for(|count| *count == 0).await;
    }

    async fn pass_progress_on(self: Rc<Self>) {
        let Some(mut notes) = self.policyd.take_notes() else { return };
        while let Some(planner_policyd::Note::CallProgress(note)) = notes.recv().await {
            let Some(door) = self.turns.borrow().get(&note.turn).map(|open| open.notes.clone()) else { continue };
            let progress = Progress { turn: note.turn, call: note.call, done: note.done, total: note.total };
            // A door that does not listen any more ends the turn elsewhere.
            let _ = door.send(metnos_proto::edges::door_planner::Note::Progress(progress)).await;
        }
    }

    async fn ask_for_health(self: Rc<Self>) {
        let mut generations = self.mind.generations();
        loop {
            if *generations.borrow_and_update() != 0 {
                match self.mind.health(TraceId::NONE, MindHealth {}, []).await {
                    Ok((report, [])) => {
                        self.has_model.set(report.roles.iter().any(|role| role.role == "interface"));
                        tracing::info!(says = report.says, "mind");
                    }
                    Err(error) => tracing::warn!(%error, "mind did not say how it is"),
                }
            }
            if generations.changed().await.is_err() {
                return;
            }
        }
    }
}
