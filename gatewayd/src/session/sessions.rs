//! Who has a session: how many there are, and of whom. A user that is not the owner cannot take the owner's places.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::{MAX_OF_ONE, MAX_OTHERS, MAX_SESSIONS, MAX_TURNED_AWAY};

/// The sessions of a door.
#[derive(Default)]
pub(super) struct Sessions {
    open: Cell<u32>,
    next: Cell<u64>,
    /// Whose instance it is, and how many sessions each other user has.
    owner_uid: Cell<Option<u32>>,
    others: RefCell<BTreeMap<u32, u32>>,
}

/// The place of a session.
pub(super) struct Place {
    /// Its user, when it is not the owner.
    other: Option<u32>,
    /// Whether there was no room for it: it is notified at each ask.
    pub is_turned_away: bool,
}

impl Sessions {
    /// Sessions of this user and of root are the owner's; all others together have few places, and none of his.
    pub fn belong_to(&self, uid: u32) {
        self.owner_uid.set(Some(uid));
    }

    pub fn owner_uid(&self) -> Option<u32> {
        self.owner_uid.get()
    }

    /// Whether this user is the owner, or root.
    pub fn is_owner(&self, uid: u32) -> bool {
        uid == 0 || self.owner_uid.get().is_none_or(|owner| owner == uid)
    }

    pub fn number(&self) -> u64 {
        let number = self.next.get();
        self.next.set(number + 1);
        number
    }

    pub fn count(&self) -> u32 {
        self.open.get()
    }

    /// A place for a session of this user, while there is any.
    pub fn enter(&self, uid: Option<u32>) -> Option<Place> {
        let count = self.open.get();
        let other = uid.filter(|uid| !self.is_owner(*uid));
        if count >= MAX_SESSIONS + MAX_TURNED_AWAY || !other.is_none_or(|uid| self.enter_other(uid)) {
            return None;
        }
        self.open.set(count + 1);
        Some(Place { other, is_turned_away: count >= MAX_SESSIONS })
    }

    fn enter_other(&self, uid: u32) -> bool {
        let mut others = self.others.borrow_mut();
        let (all, his) = (others.values().sum::<u32>(), others.get(&uid).copied().unwrap_or(0));
        let has_room = all < MAX_OTHERS && his < MAX_OF_ONE;
        if has_room {
            others.insert(uid, his + 1);
        }
        has_room
    }

    pub fn leave(&self, place: &Place) {
        self.open.set(self.open.get().saturating_sub(1));
        let Some(uid) = place.other else { return };
        let mut others = self.others.borrow_mut();
        match others.get_mut(&uid) {
            Some(his) if *his > 1 => *his -= 1,
            Some(_) | None => drop(others.remove(&uid)),
        }
    }
}
