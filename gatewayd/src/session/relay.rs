//! Passes one turn's notes on to the one who opened it, journals what was delivered, and only
//! then says that the turn is done.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use metnos_proto::edge::RpcError;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::memoryd::Delivered;
use metnos_proto::msg::planner::{Call, Progress, Text, TurnDone, TurnEnd};
use metnos_proto::msg::policyd::CardWaits;
use metnos_proto::payload::{MAX_PAYLOAD, Sealed};
use tokio::sync::{Notify, mpsc};

use super::speaker::{NoteSink, TurnNote};
use super::{Door, phrases};

/// The most notes of one turn that wait for its session.
pub const MAX_QUEUED: usize = 1024;
/// The largest answer that is passed on, in bytes; with the reason behind it, it fits a payload.
pub const MAX_ANSWER: usize = MAX_PAYLOAD - MAX_WHY - 1;
/// The longest reason that is passed on, in bytes.
pub const MAX_WHY: usize = 16 * 1024;
/// The most bytes of all turns' answers that are held at once.
pub const MAX_HELD: usize = 64 * 1024 * 1024;
/// How often the journalling of an answer is tried.
pub const JOURNAL_TRIES: u32 = 3;

/// A note on its way to the session.
#[derive(Debug)]
pub(super) enum Item {
    Text(Text),
    Call(Call),
    Progress(Progress),
    Card(CardWaits),
    Done(TurnDone),
}

/// The most turns that are parked here; others go on with their answers, and without what was said before.
pub const MAX_PARKED: usize = 64;
/// How much of what a parked turn has said is kept, in bytes.
pub const MAX_PARKED_SAID: usize = 256 * 1024;

/// A turn that waits for the answer to a card.
pub(super) struct Parked {
    pub session: u64,
    pub trace: TraceId,
    pub lang: Lang,
    pub sink: Option<Rc<dyn NoteSink>>,
    pub said: String,
}

/// Why the door itself ends a turn, as soon as it does.
type EndSignal = Rc<(RefCell<Option<String>>, Notify)>;

/// The door's hold on an open turn.
pub(super) struct Handle {
    pub session: u64,
    /// The planner's generation that was asked to open it; 0 as long as that is not known.
    pub generation: u32,
    pub lang: Lang,
    /// Bytes of text taken so far.
    pub said: Cell<usize>,
    queue: mpsc::Sender<Item>,
    cut: EndSignal,
}

impl Handle {
    /// A hold on a turn of a session, and what its relay listens to.
    pub fn new(session: u64, lang: Lang) -> (Self, mpsc::Receiver<Item>, EndSignal) {
        let (sender, queue) = mpsc::channel(MAX_QUEUED);
        let cut = EndSignal::default();
        let handle = Self { session, generation: 0, lang, said: Cell::new(0), queue: sender, cut: Rc::clone(&cut) };
        (handle, queue, cut)
    }

    /// Ends the turn, after what is queued has been passed on. Only the first reason counts.
    pub fn cut(&self, why: impl Into<String>) {
        self.cut.0.borrow_mut().get_or_insert(why.into());
        self.cut.1.notify_one();
    }

    /// Puts a note on its way; whether there was room for it.
    pub fn send(&self, item: Item) -> bool {
        self.queue.try_send(item).is_ok()
    }

    /// Counts text that was taken.
    pub fn count(&self, bytes: usize) {
        self.said.set(self.said.get() + bytes);
    }

    /// Whether nothing more is taken for it.
    pub fn is_cut(&self) -> bool {
        self.cut.0.borrow().is_some()
    }
}

/// A turn's way back to its session.
pub(super) struct Relay {
    pub door: Rc<Door>,
    pub turn: TurnId,
    pub trace: TraceId,
    pub lang: Lang,
    /// Where it goes; nowhere but into the journal, when the session is not known any more.
    pub sink: Option<Rc<dyn NoteSink>>,
    number: u64,
    queue: mpsc::Receiver<Item>,
    cut: EndSignal,
    /// What was passed on so far.
    said: String,
}

impl Relay {
    /// The relay of a turn, and the door's hold on it.
    pub fn new(
        door: &Rc<Door>,
        session: u64,
        (turn, trace, lang): (TurnId, TraceId, Lang),
        sink: Option<Rc<dyn NoteSink>>,
        said: String,
    ) -> (Self, Handle) {
        let (handle, queue, cut) = Handle::new(session, lang);
        let relay = Self { door: Rc::clone(door), turn, trace, lang, sink, number: session, queue, cut, said };
        (relay, handle)
    }

    /// Passes everything on until the turn is done, journals it, and says so.
    pub async fn run(self) {
        self.run_from(None).await;
    }

    /// The same, for a turn that may be done already.
    pub async fn run_from(mut self, done: Option<TurnDone>) {
        let mut done = match done {
            Some(done) => done,
            None => self.pass_on().await,
        };
        if done.end == TurnEnd::Suspended {
            return self.park(done).await;
        }
        if let Err(error) = self.journal(&done).await {
            tracing::error!(turn = %self.turn, %error, "an answer could not be journalled");
            let why = phrases::not_recorded(self.lang, &error.into_refusal());
            done = TurnDone { turn: self.turn, end: TurnEnd::Broken, why };
        } else {
            self.door.release_turn(self.turn);
        }
        self.door.turns.leave(self.turn);
        self.door.planned.notify_waiters();
        self.send(TurnNote::TurnDone(done)).await;
    }

    /// The turn waits for the answer to a card: what was said is kept for the journal, and nobody is kept waiting.
    async fn park(self, done: TurnDone) {
        self.door.turns.leave(self.turn);
        let said = metnos_reflex::answer::shorten(&self.said, MAX_PARKED_SAID).to_owned();
        let parked = Parked { session: self.number, trace: self.trace, lang: self.lang, sink: self.sink.clone(), said };
        self.door.turns.park(self.turn, parked);
        self.send(TurnNote::TurnDone(done)).await;
        self.door.wake(self.turn);
    }

    async fn pass_on(&mut self) -> TurnDone {
        let deadline = tokio::time::sleep(self.door.turns.within);
        tokio::pin!(deadline);
        let why = loop {
            tokio::select! {
                biased;
                Some(item) = self.queue.recv() => match item {
                    Item::Done(done) => {
                        if may_wait_for_a_card(&done.end) {
                            self.late_cards().await;
                        }
                        let why = metnos_reflex::answer::shorten(&done.why, MAX_WHY).to_owned();
                        return TurnDone { why, ..done };
                    }
                    Item::Text(text) => {
                        self.said.push_str(&text.text);
                        self.send(TurnNote::Text(text)).await;
                    }
                    Item::Call(call) => self.send(TurnNote::Call(call)).await,
                    Item::Progress(progress) => self.send(TurnNote::Progress(progress)).await,
                    Item::Card(card) => self.show(card).await,
                },
                () = self.cut.1.notified() => {
                    let cut = self.cut.0.borrow().clone();
                    break cut.unwrap_or_default();
                }
                () = &mut deadline => break phrases::too_long(self.lang).to_owned(),
            }
        };
        self.door.cancel(self.turn);
        let why = metnos_reflex::answer::shorten(&why, MAX_WHY).to_owned();
        TurnDone { turn: self.turn, end: TurnEnd::Broken, why }
    }

    async fn show(&self, card: CardWaits) {
        if let Some(sink) = &self.sink {
            self.door.was_shown(&card.id, Rc::clone(sink));
        }
        self.send(TurnNote::CardWaits(card)).await;
    }

    /// Shows the cards that this turn waits for, when the planner's last word was read before them.
    async fn late_cards(&mut self) {
        self.door.drain_policyd_notes().await;
        while let Ok(item) = self.queue.try_recv() {
            if let Item::Card(card) = item {
                self.show(card).await;
            }
        }
    }

    /// Takes text that was sent before this relay was there; whether there is room for it.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let has_room = self.door.turns.hold(self.turn, self.said.len(), text.len());
        if has_room {
            self.said.push_str(text);
        }
        has_room
    }

    /// One who is gone is noticed elsewhere; the turn goes on to its end, for the journal.
    pub(super) async fn send(&self, told: TurnNote) {
        if let Some(sink) = &self.sink
            && !sink.deliver(told).await
        {
            tracing::debug!(turn = %self.turn, "no client receives this turn any more");
        }
    }

    /// Has the answer made durable: what was said, and below it the reason when it is none.
    async fn journal(&self, done: &TurnDone) -> Result<(), RpcError> {
        let mut text = self.said.clone();
        if !done.why.is_empty() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&done.why);
        }
        let text = Sealed::new(text.as_bytes()).map_err(|error| RpcError::Unsendable(error.to_string()))?;
        let mut last = RpcError::Unsendable("it was not tried".to_owned());
        for _ in 0..JOURNAL_TRIES {
            let text = text.share().map_err(|error| RpcError::Unsendable(error.to_string()))?;
            let delivered = Delivered { turn: self.turn, end: done.end.clone() };
            match self.door.peers.memoryd.delivered(self.trace, delivered, [text]).await {
                Ok(_) => return Ok(()),
                // Only what may not have arrived is said again; memoryd writes the same line once.
                Err(error @ RpcError::Gone(_)) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }
}

/// Whether policyd may have asked for a word before a turn ended so: only an answer is none for want of it.
const fn may_wait_for_a_card(end: &TurnEnd) -> bool {
    match end {
        TurnEnd::Suspended
        | TurnEnd::Denied
        | TurnEnd::Unsuccessful
        | TurnEnd::NotUnderstood
        | TurnEnd::Cancelled
        | TurnEnd::Broken => true,
        TurnEnd::Answered => false,
    }
}
