//! What the door may ask the planner.

use std::cell::Cell;
use std::rc::Rc;

use metnos_proto::edge::{No, Served};
use metnos_proto::edges::{DoorPlanner, door_planner};
use metnos_proto::link_async::Cx;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::planner::{CancelTurn, Cancelled, OpenTurn, TurnOpened};
use metnos_proto::payload::Sealed;
use tokio::sync::{Notify, mpsc};

use super::{MAX_DELTAS, MAX_TURNS, Open, Planner};
use crate::reflex::MAX_WORDS;

impl door_planner::Serve for Planner {
    async fn open_turn(
        self: Rc<Self>,
        cx: Cx<DoorPlanner>,
        ask: OpenTurn,
        [words]: [Sealed; 1],
    ) -> Served<TurnOpened, 0> {
        if self.turns.borrow().contains_key(&ask.turn) {
            return Err(No::Violation(format!("turn {} was opened twice", ask.turn)));
        }
        if self.turns() >= MAX_TURNS {
            let why = format!("{MAX_TURNS} turns are under way already");
            return Err(Refusal::new(RefusalCode::Busy, "planner.turns", why).remedy("ask again in a moment").into());
        }
        let words = read_words(&words)?;
        let cancel = Rc::new(Notify::new());
        let (deltas, pieces) = mpsc::channel(MAX_DELTAS);
        let lost_in = Rc::new(Cell::new(0));
        let open = Open { cancel: Rc::clone(&cancel), notes: cx.notes(), deltas, lost_in: Rc::clone(&lost_in) };
        self.turns.borrow_mut().insert(ask.turn, open);
        self.count.send_modify(|count| *count += 1);
        tokio::task::spawn_local(Rc::clone(&self).run(ask, words, (cx.notes(), cancel, (pieces, lost_in))));
        Ok((TurnOpened {}, []))
    }

    async fn cancel_turn(
        self: Rc<Self>,
        _cx: Cx<DoorPlanner>,
        ask: CancelTurn,
        []: [Sealed; 0],
    ) -> Served<Cancelled, 0> {
        let turns = self.turns.borrow();
        let open = turns.get(&ask.turn);
        if let Some(open) = open {
            open.cancel.notify_one();
        }
        Ok((Cancelled { was_open: open.is_some() }, []))
    }
}

/// The words beside an ask.
///
/// # Errors
/// The refusal, when there are too many or they are not UTF-8.
pub fn read_words(words: &Sealed) -> Result<String, Refusal> {
    if words.len() > MAX_WORDS {
        let why = format!("the words have {} bytes; at most {MAX_WORDS} are taken", words.len());
        return Err(Refusal::new(RefusalCode::Invalid, "words.size", why).remedy("say it in fewer words"));
    }
    let bytes = words.read().map_err(|error| {
        Refusal::new(RefusalCode::Internal, "words.read", format!("the words cannot be read: {error}"))
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let why = format!("the words are not UTF-8 from byte {} on", error.utf8_error().valid_up_to());
        Refusal::new(RefusalCode::Invalid, "words.utf8", why)
    })
}
