//! Cards on their way between policyd and the session that asked. They come from policyd itself and not
//! through the planner, which is presumed hijacked; an answer goes back with the name that the supervisor
//! vouches for. The door decides nothing here.

use std::rc::Rc;

use metnos_proto::edges::{ctl_door, door_policyd};
use metnos_proto::link_async::Notes;
use metnos_proto::msg::policyd::{CardSettled, CardWaits};

use super::Door;
use super::relay::Item;

/// The most cards whose sessions are remembered.
pub const MAX_CARDS: usize = 64;

impl Door {
    /// Passes on what policyd says of cards, for as long as the daemon lives.
    pub(super) async fn hear_cards(self: Rc<Self>) {
        let Some(mut notes) = self.peers.policyd.take_notes() else { return };
        while let Some(note) = notes.recv().await {
            match note {
                door_policyd::Note::CardWaits(card) => self.card_waits(card),
                door_policyd::Note::CardSettled(settled) => self.card_settled(settled),
            }
        }
    }

    /// Only the session that opened the turn sees its card; a turn that is not open here has none.
    fn card_waits(&self, card: CardWaits) {
        if let Some(handle) = self.turns.borrow().get(&card.turn) {
            self.queue(handle, 0, Item::Card(card));
        }
    }

    /// Remembers who was shown a card, so that he hears what became of it.
    pub(super) fn was_shown(&self, id: &str, session: Notes<metnos_proto::edges::CtlDoor>) {
        let mut cards = self.cards.borrow_mut();
        cards.retain(|_, session| session.is_open());
        if cards.len() < MAX_CARDS {
            cards.insert(id.to_owned(), session);
        }
    }

    fn card_settled(&self, settled: CardSettled) {
        let Some(session) = self.cards.borrow_mut().remove(&settled.id) else { return };
        tokio::task::spawn_local(async move {
            if session.send(ctl_door::Note::CardSettled(settled)).await.is_err() {
                tracing::debug!("the session that had asked was gone when its card was answered");
            }
        });
    }
}
