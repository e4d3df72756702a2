//! Who was shown which card, so that all of them are notified of what became of it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::speaker::NoteSink;

/// The most cards for which it is remembered who was shown them.
pub const MAX_CARDS: usize = 64;
/// In how many places one card is shown at most, so that all of them learn what became of it.
pub const MAX_PLACES: usize = 8;

/// The cards that were shown and are not settled.
#[derive(Default)]
pub(super) struct ShownCards(RefCell<HashMap<String, Vec<Rc<dyn NoteSink>>>>);

impl ShownCards {
    /// Remembers who was shown a card; whether there was room for one more.
    pub fn add(&self, id: &str, sink: Rc<dyn NoteSink>) -> bool {
        let mut cards = self.0.borrow_mut();
        cards.retain(|_, sinks| {
            sinks.retain(|sink| sink.is_open());
            !sinks.is_empty()
        });
        if cards.len() >= MAX_CARDS && !cards.contains_key(id) {
            return false;
        }
        let sinks = cards.entry(id.to_owned()).or_default();
        // A card that was added to is shown to the same ear again.
        if sinks.iter().any(|other| Rc::ptr_eq(other, &sink)) {
            return true;
        }
        let has_room = sinks.len() < MAX_PLACES;
        if has_room {
            sinks.push(sink);
        }
        has_room
    }

    /// Whether a person who is still there was shown it.
    pub fn has(&self, id: &str) -> bool {
        self.0.borrow().get(id).is_some_and(|sinks| sinks.iter().any(|sink| sink.is_open()))
    }

    pub fn take(&self, id: &str) -> Vec<Rc<dyn NoteSink>> {
        self.0.borrow_mut().remove(id).unwrap_or_default()
    }
}
