//! What others ask for and the owner decides, sent on each of his open sockets: a `card` event of a turn that is not his,
//! and another one when it is decided, wherever that was.

use std::cell::RefCell;
use std::rc::Rc;

use hyper::body::Bytes;
use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::Channel;
use metnos_proto::msg::policyd::OwnersCard;
use tokio::sync::mpsc;

use crate::http::documents::messages;
use crate::http::turns::record::shown;
use crate::http::{Caller, Http};
use crate::session::speaker::{NoteDelivery, NoteSink, TurnNote};

/// The ways to a client's open sockets.
#[derive(Debug, Default)]
pub struct Sockets(RefCell<Vec<mpsc::WeakSender<Bytes>>>);

impl Sockets {
    /// One more is open.
    pub fn add(&self, way: &mpsc::Sender<Bytes>) {
        let mut all = self.0.borrow_mut();
        all.retain(|way| way.upgrade().is_some());
        all.push(way.downgrade());
    }

    /// Tells each that is there; whether one of them took it. One that does not read misses it: the card stands in the list.
    pub(in crate::http) fn deliver(&self, piece: &Bytes) -> bool {
        let ways: Vec<_> = self.0.borrow().iter().filter_map(mpsc::WeakSender::upgrade).collect();
        // `filter` and not `any`: every open socket must receive it.
        ways.iter().filter(|way| way.try_send(piece.clone()).is_ok()).count() > 0
    }

    fn is_open(&self) -> bool {
        self.0.borrow().iter().any(|way| way.upgrade().is_some())
    }
}

/// Receives what becomes of a card, for a person's sockets.
struct CardListener(Rc<Caller>);

impl NoteSink for CardListener {
    fn deliver(&self, told: TurnNote) -> NoteDelivery<'_> {
        if let (TurnNote::CardSettled(_), Some((name, data))) = (&told, shown(&told)) {
            self.0.sockets.deliver(&messages::told(name, data));
        }
        Box::pin(std::future::ready(true))
    }

    fn is_open(&self) -> bool {
        self.0.sockets.is_open()
    }
}

impl Http {
    /// Tells the owner's sockets of a card of another principal's.
    pub(in crate::http) async fn owners_card(self: Rc<Self>, card: OwnersCard) {
        let prefix = format!("{}:", Channel::Http.name());
        let callers: Vec<Rc<Caller>> = {
            let known = self.callers.borrow();
            card.to.iter().filter_map(|name| known.get(name.strip_prefix(&prefix)?).cloned()).collect()
        };
        for caller in callers.into_iter().filter(|caller| caller.sockets.is_open()) {
            let sink: Rc<dyn NoteSink> = Rc::new(CardListener(Rc::clone(&caller)));
            // Before it is asked for: one that is decided meanwhile is heard of.
            self.door.was_shown(&card.id, sink);
            let cards = match self.door.cards_of(&caller.voice.speaker).await {
                Ok(cards) => cards,
                Err(refusal) => {
                    tracing::debug!(%refusal, "a card could not be sent on a socket");
                    continue;
                }
            };
            let Some(found) = cards.into_iter().find(|found| found.id == card.id) else { continue };
            let waits = found.note(found.turn.parse().unwrap_or(TurnId::NONE));
            if let Some((name, data)) = shown(&TurnNote::CardWaits(waits)) {
                caller.sockets.deliver(&messages::told(name, data));
            }
        }
    }
}
