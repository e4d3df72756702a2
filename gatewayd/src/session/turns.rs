//! The turns that go on at this door, those that wait here for a card, and how much of their answers is held. It asks no
//! peer.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Duration;

use metnos_proto::ids::TurnId;
use metnos_proto::msg::policyd::CardSettled;
use tokio::sync::watch;

use super::phrases;
use super::relay::{Handle, Item, MAX_ANSWER, MAX_HELD, MAX_PARKED, Parked};

/// The turns of a door.
pub(super) struct Turns {
    open: RefCell<HashMap<TurnId, Handle>>,
    /// How many are open, for anyone who waits for the last.
    count: watch::Sender<usize>,
    total: Cell<u64>,
    /// Bytes of answers that wait for their sessions or for the journal.
    held: Cell<usize>,
    /// Turns that wait for the answer to a card.
    parked: RefCell<HashMap<TurnId, Parked>>,
    /// Answers that came before their turn was suspended.
    early: RefCell<HashMap<TurnId, CardSettled>>,
    /// Set when the daemon is to end: no further turn is opened.
    is_draining: Cell<bool>,
    /// The longest that one may take.
    pub within: Duration,
}

impl Turns {
    pub fn new(within_ms: u64) -> Self {
        Self {
            open: RefCell::default(),
            count: watch::Sender::new(0),
            total: Cell::new(0),
            held: Cell::new(0),
            parked: RefCell::default(),
            early: RefCell::default(),
            is_draining: Cell::new(false),
            within: Duration::from_millis(within_ms),
        }
    }

    pub fn enter(&self, turn: TurnId, handle: Handle) {
        self.open.borrow_mut().insert(turn, handle);
        self.total.set(self.total.get().saturating_add(1));
        self.count.send_modify(|count| *count += 1);
    }

    /// Forgets a turn, and holds nothing of its answer any more.
    pub fn leave(&self, turn: TurnId) {
        let Some(handle) = self.open.borrow_mut().remove(&turn) else { return };
        self.count.send_modify(|count| *count = count.saturating_sub(1));
        self.held.set(self.held.get().saturating_sub(handle.said.get()));
    }

    pub fn is_open(&self, turn: TurnId) -> bool {
        self.open.borrow().contains_key(&turn)
    }

    /// Whether it goes on, or waits for a card.
    pub fn has(&self, turn: TurnId) -> bool {
        self.is_open(turn) || self.parked.borrow().contains_key(&turn)
    }

    pub fn of(&self, session: u64) -> Vec<TurnId> {
        self.open.borrow().iter().filter(|(_, handle)| handle.session == session).map(|(turn, _)| *turn).collect()
    }

    /// How many are open, and how many were opened.
    pub fn numbers(&self) -> (u32, u64) {
        (u32::try_from(self.open.borrow().len()).unwrap_or(u32::MAX), self.total.get())
    }

    /// Whether no further turn is opened.
    pub fn is_draining(&self) -> bool {
        self.is_draining.get()
    }

    /// Has no further turn opened, and waits until the last one has ended.
    pub async fn drain(&self) {
        self.is_draining.set(true);
        let mut count = self.count.subscribe();
        // The sender lives in `self`, so this cannot fail.
        let _ = count.wait_for(|count| *count == 0).await;
    }

    /// Notes which planner was asked to open the turn.
    pub fn set_generation(&self, turn: TurnId, generation: u32) {
        if let Some(handle) = self.open.borrow_mut().get_mut(&turn) {
            handle.generation = generation;
        }
    }

    /// Ends a turn, after what is queued has been passed on.
    pub fn cut(&self, turn: TurnId, why: impl Into<String>) {
        if let Some(handle) = self.open.borrow().get(&turn) {
            handle.cut(why);
        }
    }

    /// Ends the turns of planners other than this one.
    pub fn cut_those_of_other_planners(&self, generation: u32) {
        for handle in self.open.borrow().values() {
            if handle.generation != 0 && handle.generation != generation {
                handle.cut(phrases::planner_gone(handle.lang));
            }
        }
    }

    /// Does something with an open turn; whether it is one.
    pub fn with(&self, turn: TurnId, act: impl FnOnce(&Handle)) -> bool {
        self.open.borrow().get(&turn).map(act).is_some()
    }

    /// Puts a note on its way to the session of its turn, and to no other.
    pub fn queue(&self, handle: &Handle, said_bytes: usize, item: Item) {
        if handle.is_cut() {
            return;
        }
        let held = self.held.get() + said_bytes;
        if held > MAX_HELD || !handle.send(item) {
            handle.cut(phrases::too_much(handle.lang));
        } else {
            self.held.set(held);
            handle.count(said_bytes);
        }
    }

    /// Counts text of a turn whose answer is so long already; whether there is room for it.
    pub fn hold(&self, turn: TurnId, said: usize, bytes: usize) -> bool {
        let held = self.held.get() + bytes;
        if held > MAX_HELD || said + bytes > MAX_ANSWER {
            return false;
        }
        let is_open = self.with(turn, |handle| handle.count(bytes));
        if is_open {
            self.held.set(held);
        }
        is_open
    }

    /// Keeps what a turn needs to go on, while it waits for a card. Without room it goes on with nothing.
    pub fn park(&self, turn: TurnId, parked: Parked) {
        let mut all = self.parked.borrow_mut();
        if all.len() < MAX_PARKED {
            all.insert(turn, parked);
        }
    }

    pub fn take_parked(&self, turn: TurnId) -> Option<Parked> {
        self.parked.borrow_mut().remove(&turn)
    }

    /// Keeps an answer that came before its turn was suspended; a turn that ends otherwise has no use for it.
    pub fn keep_early(&self, settled: CardSettled) {
        let mut early = self.early.borrow_mut();
        early.retain(|turn, _| self.is_open(*turn));
        early.insert(settled.turn, settled);
    }

    /// The answer with which a turn that was suspended can go on, if it has come.
    pub fn take_early(&self, turn: TurnId) -> Option<CardSettled> {
        if self.is_open(turn) && !self.parked.borrow().contains_key(&turn) {
            return None;
        }
        self.early.borrow_mut().remove(&turn)
    }
}

/// What the tests of the door look at.
#[cfg(test)]
impl Turns {
    pub fn held(&self) -> usize {
        self.held.get()
    }

    pub fn early(&self) -> usize {
        self.early.borrow().len()
    }

    /// The session and the words of a turn that waits.
    pub fn parked(&self, turn: TurnId) -> Option<(u64, String)> {
        self.parked.borrow().get(&turn).map(|parked| (parked.session, parked.said.clone()))
    }
}
