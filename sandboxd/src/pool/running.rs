//! What runs right now, and the way to stop it: by turn, by link, or all of it. A call is never
//! admitted twice.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use metnos_proto::ids::{CallId, TurnId};
use tokio::sync::{oneshot, watch};

/// The most runs at once, births included. policyd asks for fewer.
pub const MAX_RUNNING: usize = 64;
/// How many calls are remembered so as not to run twice. The chronicle remembers all.
pub const MAX_REMEMBERED: usize = 8192;

/// Why a run is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAdmitted {
    /// [`MAX_RUNNING`] are running.
    Full,
    /// It was admitted before.
    Twice,
}

/// Whose run it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOwner {
    /// The link that asked for it.
    pub link: u32,
    /// The turn it belongs to; a birth has none.
    pub turn: Option<TurnId>,
}

#[derive(Debug)]
struct ActiveRun {
    whose: RunOwner,
    killed: bool,
    kill: Option<oneshot::Sender<()>>,
}

/// See the head of this file.
#[derive(Debug)]
pub struct Running {
    ones: RefCell<BTreeMap<u64, ActiveRun>>,
    next: Cell<u64>,
    remembered: RefCell<(BTreeSet<CallId>, VecDeque<CallId>)>,
    count: watch::Sender<usize>,
}

impl Default for Running {
    fn default() -> Self {
        Self {
            ones: RefCell::default(),
            next: Cell::new(0),
            remembered: RefCell::default(),
            count: watch::Sender::new(0),
        }
    }
}

/// The right to run, until it is dropped.
#[derive(Debug)]
pub struct Slot {
    running: Rc<Running>,
    number: u64,
}

impl Running {
    /// Admits a call, which must be a new one, or (without one) a birth.
    ///
    /// # Errors
    /// See [`NotAdmitted`].
    pub fn admit(self: &Rc<Self>, whose: RunOwner, call: Option<CallId>) -> Result<Slot, NotAdmitted> {
        if self.ones.borrow().len() >= MAX_RUNNING {
            return Err(NotAdmitted::Full);
        }
        if call.is_some_and(|call| !self.remember(call)) {
            return Err(NotAdmitted::Twice);
        }
        let number = self.next.get();
        self.next.set(number + 1);
        self.ones.borrow_mut().insert(number, ActiveRun { whose, killed: false, kill: None });
        self.count.send_modify(|count| *count += 1);
        Ok(Slot { running: Rc::clone(self), number })
    }

    /// `false` when it is remembered already.
    fn remember(&self, call: CallId) -> bool {
        let mut remembered = self.remembered.borrow_mut();
        let (known, order) = &mut *remembered;
        if !known.insert(call) {
            return false;
        }
        order.push_back(call);
        if order.len() > MAX_REMEMBERED
            && let Some(oldest) = order.pop_front()
        {
            known.remove(&oldest);
        }
        true
    }

    /// Stops every run for which `which` holds; how many that were.
    pub fn kill(&self, which: impl Fn(&RunOwner) -> bool) -> u32 {
        let mut killed = 0;
        for one in self.ones.borrow_mut().values_mut().filter(|one| which(&one.whose) && !one.killed) {
            one.killed = true;
            killed += 1;
            if let Some(kill) = one.kill.take() {
                let _ = kill.send(());
            }
        }
        killed
    }

    /// How many run.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// Waits until nothing runs.
    pub async fn idle(&self) {
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Slot {
    /// Whether it was stopped.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        self.running.ones.borrow().get(&self.number).is_none_or(|one| one.killed)
    }

    /// Resolves when the run is stopped; at once when it was stopped before.
    #[must_use]
    pub fn kill(&self) -> oneshot::Receiver<()> {
        let (kill, killed) = oneshot::channel();
        match self.running.ones.borrow_mut().get_mut(&self.number) {
            Some(one) if !one.killed => one.kill = Some(kill),
            Some(_) | None => {
                let _ = kill.send(());
            }
        }
        killed
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.running.ones.borrow_mut().remove(&self.number);
        self.running.count.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn whose(link: u32, turn: Option<TurnId>) -> RunOwner {
        RunOwner { link, turn }
    }

    #[test]
    fn a_call_is_admitted_once_also_after_it_has_ended() {
        let running = Rc::new(Running::default());
        let call = CallId::new();
        drop(running.admit(whose(1, None), Some(call)).unwrap());
        assert_eq!(running.admit(whose(2, None), Some(call)).unwrap_err(), NotAdmitted::Twice);
        assert_eq!(running.count(), 0);
    }

    #[test]
    fn call_beyond_the_limit_waits_for_a_free_place() {
        let running = Rc::new(Running::default());
        let mut slots: Vec<_> = (0..MAX_RUNNING).map(|_| running.admit(whose(1, None), None).unwrap()).collect();
        let call = CallId::new();
        assert_eq!(running.admit(whose(1, None), Some(call)).unwrap_err(), NotAdmitted::Full);
        slots.pop();
        // What was refused for lack of room has not run.
        slots.push(running.admit(whose(1, None), Some(call)).unwrap());
        assert_eq!(running.count(), MAX_RUNNING);
    }

    #[test]
    fn the_oldest_call_is_forgotten_when_there_are_more_than_are_remembered() {
        let running = Rc::new(Running::default());
        let calls: Vec<_> =
            (0..=MAX_REMEMBERED as u64).map(|n| CallId::from_bytes(u128::from(n).to_be_bytes())).collect();
        for call in &calls {
            drop(running.admit(whose(1, None), Some(*call)).unwrap());
        }
        assert_eq!(running.admit(whose(1, None), Some(calls[1])).unwrap_err(), NotAdmitted::Twice);
        assert!(running.admit(whose(1, None), Some(calls[0])).is_ok());
        assert_eq!(running.remembered.borrow().1.len(), MAX_REMEMBERED);
    }

    #[test]
    fn a_kill_reaches_the_turn_the_link_or_all_and_each_run_once() {
        let running = Rc::new(Running::default());
        let (one, two) = (TurnId::new(), TurnId::new());
        let a = running.admit(whose(1, Some(one)), None).unwrap();
        let b = running.admit(whose(1, Some(two)), None).unwrap();
        let c = running.admit(whose(2, None), None).unwrap();
        let mut told = a.kill();
        assert_eq!(running.kill(|whose| whose.turn == Some(one)), 1);
        assert!(told.try_recv().is_ok() && a.is_killed() && !b.is_killed());
        // Stopped before it was asked: stopped at once.
        assert!(a.kill().try_recv().is_ok());
        assert_eq!(running.kill(|whose| whose.link == 1), 1);
        assert_eq!(running.kill(|_| true), 1);
        assert_eq!(running.kill(|_| true), 0);
        assert!(c.is_killed());
    }
}
