//! The planner's daemon side: one task a turn, which asks memoryd what may be known, the reflex what
//! to do, and policyd for every act. It holds no resource and decides nothing; all it can do to the
//! world is ask.

pub mod drive;
pub mod progress;
pub mod serve;
mod suspended;
pub mod think;
mod turn_loop;
pub mod turn_notes;

#[cfg(test)]
mod stage;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod think_tests;
#[cfg(test)]
mod turn_notes_tests;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::edges::{PlannerMemoryd, PlannerMind, PlannerPolicyd, planner_mind, planner_policyd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::{Client, MAX_IN_FLIGHT};
use metnos_proto::msg::mind::{MindHealth, RoleModel, ThoughtDelta};
use metnos_proto::msg::planner::Progress;
use metnos_reflex::Repertoire;
use tokio::sync::{Notify, Semaphore, mpsc, watch};

use crate::thinking;
use turn_notes::{DetachedStore, TurnNotes};

/// The most thoughts at once; who comes later waits, first come, first served.
pub const MAX_THINKING: usize = MAX_IN_FLIGHT - 8;
/// The most turns at once.
pub const MAX_TURNS: usize = 128;
/// The longest a turn of the reflex may take from the envelope to the answer, in milliseconds.
pub const TURN_WITHIN_MS: u64 = 60_000;
/// The longest a turn with a model may take, in milliseconds: several thoughts, each of which may take minutes.
pub const THINKING_WITHIN_MS: u64 = 600_000;
/// The most pieces of a thought that wait to be passed on.
pub const MAX_DELTAS: usize = 256;
/// The longest the closing of a turn may take, in milliseconds.
pub const CLOSE_WITHIN_MS: u64 = 15_000;
/// When mind is asked once more which models there are, after a link to it has come about, in milliseconds.
pub const HEALTH_AGAIN_MS: u64 = 3_000;
/// The longest reason why a turn did not answer, in bytes.
pub const MAX_WHY: usize = 8 * 1024;
/// The longest wish for something missing, in bytes.
pub const MAX_WISH: usize = 512;

/// A turn that is under way.
struct Open {
    cancel: Rc<Notify>,
    line: Rc<TurnNotes>,
    /// Where the pieces of its thoughts go.
    deltas: mpsc::Sender<ThoughtDelta>,
    /// The thought of which a piece has found no room there; 0 when none has.
    lost_in: Rc<Cell<u32>>,
}

/// The pieces of a turn's thoughts, and the thought of which some were lost.
type DeltaQueue = (mpsc::Receiver<ThoughtDelta>, Rc<Cell<u32>>);

/// The planner: its clients, and the turns under way.
pub struct Planner {
    policyd: Rc<Client<PlannerPolicyd>>,
    memoryd: Rc<Client<PlannerMemoryd>>,
    mind: Rc<Client<PlannerMind>>,
    turns: RefCell<HashMap<TurnId, Open>>,
    /// Turns that wait or have ended, for a door that comes later.
    detached: Rc<DetachedStore>,
    /// How many turns are under way, for anyone who waits for the last.
    count: watch::Sender<usize>,
    /// Places for thoughts: fewer than the link to mind takes at once, so that a stop never waits behind them.
    places: Rc<Semaphore>,
    /// The model of the planner's role, as last heard; none when mind has none for it.
    model: RefCell<Option<RoleModel>>,
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
            detached: Rc::default(),
            count: watch::Sender::new(0),
            places: Rc::new(Semaphore::new(MAX_THINKING)),
            model: RefCell::default(),
            repertoire: RefCell::default(),
            turn_within_ms,
        })
    }

    /// Starts what runs beside the turns: passing on the progress of calls, and asking mind for its
    /// health twice per link; each turn with a model asks again, beside its own work. Must run inside a [`tokio::task::LocalSet`].
    pub fn start(self: &Rc<Self>) {
        tokio::task::spawn_local(Rc::clone(self).pass_progress_on());
        tokio::task::spawn_local(Rc::clone(self).pass_thoughts_on());
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
            let Some(line) = self.turns.borrow().get(&note.turn).map(|open| Rc::clone(&open.line)) else { continue };
            let progress = Progress { turn: note.turn, call: note.call, done: note.done, total: note.total };
            // A door that does not listen any more ends the turn elsewhere.
            let _ = line.send(metnos_proto::edges::door_planner::Note::Progress(progress)).await;
        }
    }

    /// Passes on what a model writes, to the turn that it is for and without waiting for it: what finds no room there
    /// is sent at the end of the thought.
    async fn pass_thoughts_on(self: Rc<Self>) {
        let Some(mut notes) = self.mind.take_notes() else { return };
        while let Some(planner_mind::Note::ThoughtDelta(delta)) = notes.recv().await {
            if let Some(open) = self.turns.borrow().get(&delta.turn) {
                let thought = delta.thought;
                if open.deltas.try_send(delta).is_err() {
                    open.lost_in.set(thought);
                }
            }
        }
    }

    async fn ask_for_health(self: Rc<Self>) {
        let mut generations = self.mind.generations();
        loop {
            if *generations.borrow_and_update() != 0 {
                self.hear_of_models().await;
            }
            // A mind that has just started asks its servers meanwhile what their models take.
            let again = tokio::time::timeout(Duration::from_millis(HEALTH_AGAIN_MS), generations.changed()).await;
            let changed = match again {
                Ok(changed) => changed,
                Err(_) => {
                    self.hear_of_models().await;
                    generations.changed().await
                }
            };
            if changed.is_err() {
                return;
            }
        }
    }

    /// Asks mind which models there are, and what they take.
    async fn hear_of_models(&self) {
        match self.mind.health(TraceId::NONE, MindHealth {}, []).await {
            Ok((report, [])) => {
                let model = report.roles.into_iter().find(|role| role.role == thinking::ROLE);
                let is_news = *self.model.borrow() != model;
                *self.model.borrow_mut() = model;
                if is_news {
                    tracing::info!(says = report.says, "mind");
                }
            }
            Err(error) => tracing::warn!(%error, "mind did not say how it is"),
        }
    }
}
