//! What was sent in one turn, kept for a client that comes back. It never waits for anybody: what is more than can be
//! kept is dropped, and the journal's copy is given in its place when the turn is over.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use metnos_proto::ids::{Blake3, TurnId};
use metnos_proto::masks;
use metnos_proto::msg::planner::{TurnDone, TurnEnd};
use metnos_proto::msg::policyd::CardWaits;
use metnos_texts::card;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use crate::http::documents::{self, CallEvent, CardEvent, CardPart, DoneEvent, End, ProgressEvent, TextEvent};
use crate::http::limits::bounds::{EVENT_BYTES, MAX_KEPT};
use crate::session::speaker::{NoteDelivery, NoteSink, TurnNote};

/// How far a client has heard: the number of the event, how many bytes of the answer came with it and before it, and the
/// last card that was sent. The first number means the same to a door that was restarted, which receives from the planner
/// what it had sent; the second to the journal, which knows no events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadPosition {
    /// The event's number, from 1. A card has that of the event before it: it comes from policyd, and no planner knows
    /// when it was sent.
    pub event: u64,
    /// Bytes of text up to and with it.
    pub said: usize,
    /// What the last card that was sent up to it, and how it stood, is known by; 0 when there was none.
    pub card: u32,
}

impl ReadPosition {
    /// Reads what [`std::fmt::Display`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let (event, said) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let card = parts.next().map_or(Some(0), |card| u32::from_str_radix(card, 16).ok())?;
        let heard = Self { event, said, card };
        (heard.to_string() == text).then_some(heard)
    }
}

impl std::fmt::Display for ReadPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.event, self.said)?;
        if self.card == 0 { Ok(()) } else { write!(f, ".{:08x}", self.card) }
    }
}

/// Where a person reads in a record.
#[derive(Debug, Clone, Copy)]
pub struct RecordCursor {
    next: usize,
    /// How far he has heard the turn at a door before this one. What that one sent comes here again, perhaps later.
    before: Option<ReadPosition>,
}

/// Whether a person who has heard so far at another door has heard this.
fn was_heard(heard: ReadPosition, at: ReadPosition, told: &TurnNote) -> bool {
    match card_of(told) {
        Some(card) => card == heard.card || at.event < heard.event,
        None => at.event <= heard.event,
    }
}

/// What a card that stands so is known by; none for what is no card.
fn card_of(told: &TurnNote) -> Option<u32> {
    let name = match told {
        TurnNote::CardWaits(card) => format!("{} {}", card.id, card.digest),
        TurnNote::CardSettled(settled) => format!("{} {}", settled.id, settled.state),
        TurnNote::Text(_) | TurnNote::Call(_) | TurnNote::Progress(_) | TurnNote::TurnDone(_) => return None,
    };
    let digest = Blake3::of(name.as_bytes()).0;
    Some(u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]).max(1))
}

/// How a turn stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnStanding {
    /// It is under way.
    Open,
    /// It waits for the answer to a card.
    Suspended,
    /// It is over.
    Done(TurnEnd),
}

impl TurnStanding {
    /// As documents have it.
    #[must_use]
    pub const fn state(&self) -> documents::State {
        match self {
            Self::Open => documents::State::Open,
            Self::Suspended => documents::State::Suspended,
            Self::Done(_) => documents::State::Done,
        }
    }
}

/// What was sent in one turn.
#[derive(Debug)]
pub struct Record {
    /// The digest of anyone who had opened it.
    pub owner: String,
    /// The session that it is stopped by.
    pub number: u64,
    told: RefCell<VecDeque<(ReadPosition, TurnNote)>>,
    bytes: Cell<usize>,
    last: Cell<ReadPosition>,
    stand: RefCell<TurnStanding>,
    /// Whether something was dropped.
    is_torn: Cell<bool>,
    /// Changes with each event.
    changed: watch::Sender<u64>,
    /// Bytes kept for all turns together.
    kept: Rc<Cell<usize>>,
}

impl Record {
    /// A turn of this session in which nothing was sent. `kept` is shared by all records.
    #[must_use]
    pub fn new(owner: String, number: u64, kept: Rc<Cell<usize>>) -> Rc<Self> {
        Rc::new(Self {
            owner,
            number,
            told: RefCell::default(),
            bytes: Cell::new(0),
            last: Cell::default(),
            stand: RefCell::new(TurnStanding::Open),
            is_torn: Cell::new(false),
            changed: watch::Sender::new(0),
            kept,
        })
    }

    /// Where a person who has heard so far reads on.
    #[must_use]
    pub fn place(&self, heard: ReadPosition) -> RecordCursor {
        let told = self.told.borrow();
        match told.iter().position(|(at, _)| *at == heard) {
            Some(at) => RecordCursor { next: at + 1, before: None },
            None => RecordCursor { next: 0, before: Some(heard) },
        }
    }

    /// The next event there that was not heard.
    #[must_use]
    pub fn next(&self, place: &mut RecordCursor) -> Option<(ReadPosition, TurnNote)> {
        let told = self.told.borrow();
        loop {
            let (at, one) = told.get(place.next)?;
            place.next += 1;
            if !place.before.is_some_and(|heard| was_heard(heard, *at, one)) {
                return Some((*at, one.clone()));
            }
        }
    }

    /// Whether something is there that was not heard.
    #[must_use]
    pub fn has_more(&self, heard: ReadPosition) -> bool {
        self.next(&mut self.place(heard)).is_some()
    }

    /// How it stands.
    #[must_use]
    pub fn stand(&self) -> TurnStanding {
        self.stand.borrow().clone()
    }

    /// Whether not everything is there any more: the journal has it, once the turn is over.
    #[must_use]
    pub fn is_torn(&self) -> bool {
        self.is_torn.get()
    }

    /// Every change from now on.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The answer so far.
    #[must_use]
    pub fn text(&self) -> String {
        let told = self.told.borrow();
        let texts =
            told.iter().filter_map(|(_, told)| if let TurnNote::Text(text) = told { Some(&*text.text) } else { None });
        texts.collect()
    }

    /// The cards that it waits for, or that it has left.
    #[must_use]
    pub fn cards(&self) -> Vec<CardWaits> {
        let told = self.told.borrow();
        let is_settled =
            |id: &str| told.iter().any(|(_, told)| matches!(told, TurnNote::CardSettled(settled) if settled.id == id));
        let waits =
            told.iter().filter_map(|(_, told)| if let TurnNote::CardWaits(card) = told { Some(card) } else { None });
        waits.filter(|card| !is_settled(&card.id)).cloned().collect()
    }

    /// Why it ended, when it did not with an answer.
    #[must_use]
    pub fn why(&self) -> String {
        let told = self.told.borrow();
        let done =
            told.iter().rev().find_map(|(_, told)| if let TurnNote::TurnDone(done) = told { Some(done) } else { None });
        done.map(|done| done.why.clone()).unwrap_or_default()
    }

    fn take(&self, told: TurnNote) {
        let mut heard = self.last.get();
        match card_of(&told) {
            // It stands as it was sent last.
            Some(card) if card == heard.card => return,
            Some(card) => heard.card = card,
            None => heard.event += 1,
        }
        if let TurnNote::Text(text) = &told {
            heard.said += text.text.len();
        }
        match &told {
            TurnNote::TurnDone(TurnDone { end: TurnEnd::Suspended, .. }) => {
                *self.stand.borrow_mut() = TurnStanding::Suspended
            }
            TurnNote::TurnDone(done) => *self.stand.borrow_mut() = TurnStanding::Done(done.end.clone()),
            TurnNote::Text(_)
            | TurnNote::Call(_)
            | TurnNote::Progress(_)
            | TurnNote::CardWaits(_)
            | TurnNote::CardSettled(_) => {
                let mut stand = self.stand.borrow_mut();
                if *stand == TurnStanding::Suspended && !matches!(told, TurnNote::CardSettled(_)) {
                    *stand = TurnStanding::Open;
                }
            }
        }
        self.last.set(heard);
        let bytes = weight(&told);
        if self.is_torn.get() || self.kept.get() + bytes > MAX_KEPT {
            self.tear();
        } else {
            self.kept.set(self.kept.get() + bytes);
            self.bytes.set(self.bytes.get() + bytes);
            self.told.borrow_mut().push_back((heard, told));
        }
        self.changed.send_modify(|count| *count += 1);
    }

    fn tear(&self) {
        self.is_torn.set(true);
        self.told.borrow_mut().clear();
        self.kept.set(self.kept.get().saturating_sub(self.bytes.replace(0)));
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.kept.set(self.kept.get().saturating_sub(self.bytes.get()));
    }
}

fn weight(told: &TurnNote) -> usize {
    EVENT_BYTES
        + match told {
            TurnNote::Text(text) => text.text.len(),
            TurnNote::Call(call) => call.executor.len() + call.detail.len(),
            TurnNote::Progress(_) => 0,
            TurnNote::CardWaits(card) => card.shown.len(),
            TurnNote::CardSettled(settled) => settled.by.len(),
            TurnNote::TurnDone(done) => done.why.len(),
        }
}

impl NoteSink for Rc<Record> {
    fn deliver(&self, told: TurnNote) -> NoteDelivery<'_> {
        self.take(told);
        Box::pin(std::future::ready(true))
    }

    /// A client that went away may come back: its turn goes on.
    fn is_open(&self) -> bool {
        true
    }
}

/// An event's name and its document; none for what a client has no use for.
#[must_use]
pub fn shown(told: &TurnNote) -> Option<(&'static str, Value)> {
    let of = |turn: &TurnId| turn.to_string();
    Some(match told {
        TurnNote::Text(text) => ("text", value(&TextEvent { turn: of(&text.turn), text: text.text.clone() })),
        TurnNote::Call(call) => (
            "call",
            value(&CallEvent {
                turn: of(&call.turn),
                call: call.call.to_string(),
                executor: call.executor.clone(),
                state: (&call.state).into(),
                detail: call.detail.clone(),
            }),
        ),
        TurnNote::Progress(progress) => {
            let (turn, call) = (of(&progress.turn), progress.call.to_string());
            ("progress", value(&ProgressEvent { turn, call, done: progress.done, total: progress.total }))
        }
        TurnNote::CardWaits(waits) => {
            let shown = waits.card();
            let face = card::face(shown.as_ref(), &waits.id, card::lang(shown.as_ref()));
            let mut shown = value(&shown);
            masks::mask(&mut shown);
            let event = CardEvent {
                turn: of(&waits.turn),
                card: waits.id.clone(),
                state: "waiting".to_owned(),
                digest: Some(waits.digest.clone()),
                parts: Some(face.parts.into_iter().map(CardPart::from).collect()),
                shown: Some(shown),
                by: None,
                ran: None,
            };
            ("card", value(&event))
        }
        TurnNote::CardSettled(settled) => (
            "card",
            value(&CardEvent {
                turn: of(&settled.turn),
                card: settled.id.clone(),
                state: settled.state.clone(),
                digest: None,
                parts: None,
                shown: None,
                by: Some(settled.by.clone()),
                ran: Some(settled.ran),
            }),
        ),
        // It goes on: the card has said what it waits for.
        TurnNote::TurnDone(TurnDone { end: TurnEnd::Suspended, .. }) => return None,
        TurnNote::TurnDone(done) => {
            let end = End(done.end.name().to_owned());
            ("done", value(&DoneEvent { turn: of(&done.turn), end, why: done.why.clone() }))
        }
    })
}

/// A document of ours as a value: they are all objects with texts as keys, so this does not fail.
pub(in crate::http) fn value(document: &impl Serialize) -> Value {
    serde_json::to_value(document).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use metnos_proto::msg::planner::Text;
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> TurnNote {
        TurnNote::Text(Text { turn: TurnId::NONE, text: text.to_owned() })
    }

    fn done(end: TurnEnd) -> TurnNote {
        TurnNote::TurnDone(TurnDone { turn: TurnId::NONE, end, why: String::new() })
    }

    #[test]
    fn returning_client_gets_missed_events_once() {
        let record = Record::new("me".into(), 1, Rc::default());
        for piece in ["one ", "two ", "three"] {
            record.take(text(piece));
        }
        record.take(done(TurnEnd::Answered));
        for from in 0..=4 {
            let (mut heard, mut said) = (ReadPosition { event: from, ..ReadPosition::default() }, String::new());
            let mut place = record.place(heard);
            while let Some((at, told)) = record.next(&mut place) {
                assert_eq!(at.event, heard.event + 1);
                heard = at;
                if let TurnNote::Text(text) = told {
                    said.push_str(&text.text);
                }
            }
            let whole: String = ["one ", "two ", "three"].into_iter().skip(usize::try_from(from).unwrap()).collect();
            assert_eq!(said, whole);
            assert!(from > 3 || heard == ReadPosition { event: 4, said: 13, card: 0 });
        }
        assert_eq!((record.stand(), record.text().as_str()), (TurnStanding::Done(TurnEnd::Answered), "one two three"));
    }

    fn card(id: &str, digest: &str) -> TurnNote {
        let (id, digest) = (id.to_owned(), digest.to_owned());
        TurnNote::CardWaits(metnos_proto::msg::policyd::CardWaits {
            turn: TurnId::NONE,
            id,
            digest,
            shown: "{}".into(),
        })
    }

    fn rest(record: &Record, place: &mut RecordCursor) -> Vec<String> {
        let told = std::iter::from_fn(|| record.next(place)).map(|(_, told)| match told {
            TurnNote::Text(text) => text.text,
            TurnNote::CardWaits(card) => card.digest,
            other @ (TurnNote::Call(_) | TurnNote::Progress(_) | TurnNote::TurnDone(_) | TurnNote::CardSettled(_)) => {
                panic!("{other:?}")
            }
        });
        told.collect()
    }

    fn all(record: &Record, heard: ReadPosition) -> Vec<String> {
        rest(record, &mut record.place(heard))
    }

    #[test]
    fn resumed_stream_repeats_no_event_and_no_unchanged_card() {
        let (before, later) = (Record::new("me".into(), 1, Rc::default()), Record::new("me".into(), 1, Rc::default()));
        for one in [text("one "), card("a", "x"), text("two ")] {
            before.take(one);
        }
        let mut place = before.place(ReadPosition::default());
        let heard: Vec<ReadPosition> = std::iter::from_fn(|| before.next(&mut place)).map(|(at, _)| at).collect();
        let mut early = later.place(heard[2]);
        assert!(later.next(&mut early).is_none());
        for one in [text("one "), text("two "), text("three"), card("a", "x")] {
            later.take(one);
        }
        assert_eq!(all(&later, ReadPosition::default()), ["one ", "two ", "three", "x"]);
        assert_eq!(all(&later, heard[0]), ["two ", "three", "x"]);
        assert_eq!(all(&later, heard[1]), ["two ", "three"]);
        assert_eq!(all(&later, heard[2]), ["three"]);
        assert_eq!(rest(&later, &mut early), ["three"], "also when he was there before what was told came back");
        later.take(card("a", "y"));
        assert_eq!(all(&later, heard[2]), ["three", "y"], "it stands otherwise now");
        later.take(card("a", "y"));
        assert_eq!(all(&later, heard[2]), ["three", "y"], "and is not told again");
        assert_eq!(all(&before, heard[0]), ["x", "two "], "where it was told, what was heard is known");
    }

    #[test]
    fn a_turn_that_waits_for_a_card_is_not_over() {
        let record = Record::new("me".into(), 1, Rc::default());
        record.take(done(TurnEnd::Suspended));
        assert_eq!(record.stand(), TurnStanding::Suspended);
        record.take(text("goes on"));
        assert_eq!(record.stand(), TurnStanding::Open);
    }

    #[test]
    fn total_record_limit_drops_the_overflowing_record_and_frees_its_space() {
        let kept: Rc<Cell<usize>> = Rc::default();
        let (one, other) =
            (Record::new("me".into(), 1, Rc::clone(&kept)), Record::new("me".into(), 1, Rc::clone(&kept)));
        one.take(text(&"x".repeat(MAX_KEPT - 2 * EVENT_BYTES - 1)));
        other.take(text("x"));
        assert_eq!((kept.get(), other.is_torn()), (MAX_KEPT, false));
        other.take(text(""));
        assert!(other.is_torn() && !one.is_torn() && !other.has_more(ReadPosition::default()));
        assert_eq!(kept.get(), MAX_KEPT - EVENT_BYTES - 1);
        drop((one, other));
        assert_eq!(kept.get(), 0);
    }

    proptest! {
        #[test]
        fn event_position_round_trips(event: u64, said: usize, card: u32, other in "[0-9a-f.+ -]{0,12}") {
            let heard = ReadPosition { event, said, card };
            prop_assert_eq!(ReadPosition::parse(&heard.to_string()), Some(heard));
            if let Some(heard) = ReadPosition::parse(&other) {
                prop_assert_eq!(heard.to_string(), other);
            }
        }
    }
}
