//! The door, as policyd has notes for it: which one learns of cards, and what was answered while none was there. It must
//! never wait for a door.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use metnos_proto::edges::{DoorPolicyd, door_policyd};
use metnos_proto::link_async::Notes;
use metnos_proto::msg::policyd::CardSettled;

use crate::people::Principals;

/// The most answers that are kept for a door to come: as many turns wait at most.
pub(crate) const MAX_MISSED: usize = 64;

/// The door that spoke last.
#[derive(Debug, Default)]
pub(crate) struct Door {
    notes: RefCell<Option<Notes<DoorPolicyd>>>,
    /// Answers to cards that no door has heard of: the turns that wait for them go on when one does.
    missed: RefCell<VecDeque<CardSettled>>,
}

impl Door {
    /// The way to it, when it is there.
    pub(crate) fn open(&self) -> Option<Notes<DoorPolicyd>> {
        self.notes.borrow().clone().filter(Notes::is_open)
    }

    /// Keeps what no door has heard; the oldest makes room.
    fn miss(&self, note: door_policyd::Note) {
        let door_policyd::Note::CardSettled(settled) = note else { return };
        let mut missed = self.missed.borrow_mut();
        if missed.len() >= MAX_MISSED {
            missed.pop_front();
        }
        missed.push_back(settled);
    }
}

impl Principals {
    /// It is on its way when this returns; a door that does not listen misses it, and nobody waits. What was answered
    /// while no door was there, the next one receives.
    pub(crate) async fn note_to_door(&self, note: door_policyd::Note) {
        let Some(door) = self.door.open() else { return self.door.miss(note) };
        tokio::select! {
            biased;
            sent = door.send(note.clone()) => {
                if let Err(error) = sent {
                    tracing::info!(%error, "a note that no door hears");
                    self.door.miss(note);
                }
            }
            () = std::future::ready(()) => {}
        }
    }

    /// The door that spoke last is the one that learns of cards.
    pub(crate) fn door_is(self: &Rc<Self>, notes: Notes<DoorPolicyd>) {
        *self.door.notes.borrow_mut() = Some(notes);
        self.tell_unheard();
        if self.door.missed.borrow().is_empty() {
            return;
        }
        let people = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let missed: Vec<CardSettled> = people.door.missed.borrow_mut().drain(..).collect();
            for settled in missed {
                people.note_to_door(door_policyd::Note::CardSettled(settled)).await;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use metnos_proto::ids::TurnId;

    use super::*;

    #[test]
    fn card_answers_kept_for_the_next_door_are_bounded() {
        let door = Door::default();
        for ran in 0..=u32::try_from(MAX_MISSED).unwrap() {
            let (id, state, by) = (String::new(), "approved".to_owned(), "me".to_owned());
            let settled = CardSettled { turn: TurnId::NONE, id, state, by, ran, acts: Vec::new() };
            door.miss(door_policyd::Note::CardSettled(settled));
        }
        assert_eq!((door.missed.borrow().len(), door.missed.borrow()[0].ran), (MAX_MISSED, 1));
    }
}
