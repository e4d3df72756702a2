//! A turn's way to the door, whichever door is there. What was sent is kept, so that a door that was restarted can
//! take a turn back where the one before it has left it; for so long, and so much of it, and no longer.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::edge::RpcError;
use metnos_proto::edges::{DoorPlanner, door_planner};
use metnos_proto::ids::TurnId;
use metnos_proto::link_async::Notes;
use metnos_proto::msg::common::Channel;
use metnos_proto::turn_log::{Entry, MAX_LOG};
use tokio::sync::{Mutex, Notify};

/// How long a turn goes on while no door is there: longer than the supervisor's longest pause before it restarts one.
pub const DETACHED_FOR: Duration = Duration::from_secs(60);
/// The most turns that wait or have ended and are kept for a door.
pub const MAX_DETACHED: usize = 256;
/// The most bytes that are kept of all turns together.
pub const MAX_LOG_TOTAL: usize = 32 * 1024 * 1024;

/// Whether a turn of this channel is of use to a person when the door that had opened it is gone: a client comes back to
/// it, or nobody listened from the start. A terminal's session ends with its door, a chat says its words again, and what a schedule
/// asks is asked anew.
#[must_use]
pub const fn outlives_its_door(channel: Channel) -> bool {
    match channel {
        Channel::Http | Channel::Hook | Channel::Timer | Channel::Metnos => true,
        Channel::Cli | Channel::Telegram | Channel::Scheduler => false,
    }
}

/// Turns that are not under way and were not released, oldest first, and how much is kept of all turns.
#[derive(Debug, Default)]
pub(super) struct DetachedStore {
    lines: RefCell<VecDeque<Rc<TurnNotes>>>,
    held: Cell<usize>,
}

impl DetachedStore {
    /// Puts a turn there. The oldest makes room.
    pub(super) fn put(&self, line: &Rc<TurnNotes>) {
        let mut lines = self.lines.borrow_mut();
        lines.retain(|other| other.turn != line.turn);
        if lines.len() >= MAX_DETACHED {
            lines.pop_front();
        }
        lines.push_back(Rc::clone(line));
    }

    /// Takes a turn from there.
    pub(super) fn take(&self, turn: TurnId) -> Option<Rc<TurnNotes>> {
        let mut lines = self.lines.borrow_mut();
        let at = lines.iter().position(|line| line.turn == turn)?;
        lines.remove(at)
    }

    /// The turn, where it is there.
    pub(super) fn get(&self, turn: TurnId) -> Option<Rc<TurnNotes>> {
        self.lines.borrow().iter().find(|line| line.turn == turn).cloned()
    }

    /// Which are there.
    pub(super) fn turns(&self) -> Vec<TurnId> {
        self.lines.borrow().iter().map(|line| line.turn).collect()
    }

    /// How much is kept.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held.get()
    }

    /// Makes room for so many bytes more; whether there is.
    fn make_room(&self, bytes: usize) -> bool {
        while self.held.get() + bytes > MAX_LOG_TOTAL {
            // Not while the list is borrowed: what is dropped gives its room back.
            let Some(oldest) = self.lines.borrow_mut().pop_front() else { return false };
            drop(oldest);
        }
        true
    }
}

/// One turn's way.
#[derive(Debug)]
pub(super) struct TurnNotes {
    turn: TurnId,
    /// Whether the turn goes on without a door.
    outlives: Cell<bool>,
    door: RefCell<Notes<DoorPlanner>>,
    told: RefCell<Vec<Entry>>,
    bytes: Cell<usize>,
    detached: Rc<DetachedStore>,
    /// Notes are sent in the order in which they are kept.
    order: Mutex<()>,
    /// A door has taken it back, or it is of use to nobody any more.
    turned: Notify,
}

impl Drop for TurnNotes {
    fn drop(&mut self) {
        self.detached.held.set(self.detached.held.get().saturating_sub(self.bytes.get()));
    }
}

impl TurnNotes {
    /// The way of a turn in which nothing was sent.
    pub(super) fn new(
        turn: TurnId,
        outlives: bool,
        door: Notes<DoorPlanner>,
        detached: &Rc<DetachedStore>,
    ) -> Rc<Self> {
        Rc::new(Self {
            turn,
            outlives: Cell::new(outlives),
            door: RefCell::new(door),
            told: RefCell::default(),
            bytes: Cell::new(0),
            detached: Rc::clone(detached),
            order: Mutex::new(()),
            turned: Notify::new(),
        })
    }

    /// Tells the door, if one is there.
    ///
    /// # Errors
    /// When none is, and the turn does not go on without.
    pub(super) async fn send(&self, note: door_planner::Note) -> Result<(), RpcError> {
        let _one = self.order.lock().await;
        self.keep(Entry::of(&note));
        // Read after it was kept and before anything is waited for: a door that takes the turn back meanwhile has it.
        let door = self.door.borrow().clone();
        match door.send(note).await {
            Err(_) if self.outlives.get() => Ok(()),
            sent => sent,
        }
    }

    /// Keeps what was sent. A turn of which not everything can be kept does not outlive its door.
    pub(super) fn keep(&self, entry: Entry) {
        let bytes = entry.weight();
        if !self.outlives.get() {
            return;
        }
        if self.bytes.get() + bytes > MAX_LOG || !self.detached.make_room(bytes) {
            return self.give_up();
        }
        self.bytes.set(self.bytes.get() + bytes);
        self.detached.held.set(self.detached.held.get() + bytes);
        self.told.borrow_mut().push(entry);
    }

    /// Nobody comes back to this turn.
    pub(super) fn give_up(&self) {
        self.outlives.set(false);
        self.told.borrow_mut().clear();
        self.detached.held.set(self.detached.held.get().saturating_sub(self.bytes.replace(0)));
        self.turned.notify_one();
    }

    /// Whether the turn goes on without a door.
    pub(super) fn outlives(&self) -> bool {
        self.outlives.get()
    }

    /// Where it leads.
    #[cfg(test)]
    pub(super) fn door(&self) -> Notes<DoorPlanner> {
        self.door.borrow().clone()
    }

    /// What was sent so far.
    pub(super) fn told(&self) -> Vec<Entry> {
        self.told.borrow().clone()
    }

    /// From now on it leads to this door. What was sent before is what [`TurnNotes::told`] says now.
    pub(super) fn leads_to(&self, door: Notes<DoorPlanner>) {
        *self.door.borrow_mut() = door;
        self.turned.notify_one();
    }

    /// Waits until nobody is there for this turn, and nobody has come in time.
    pub(super) async fn lost(&self) {
        loop {
            let door = self.door.borrow().clone();
            door.closed().await;
            if !self.outlives.get() {
                return;
            }
            let turned = tokio::time::timeout(DETACHED_FOR, self.turned.notified()).await;
            if turned.is_err() && !self.door.borrow().is_open() {
                return;
            }
        }
    }
}
