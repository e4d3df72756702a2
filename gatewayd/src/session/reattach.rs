//! Turns that another door had opened, taken back by this one. Which there are, the planner says; whose they are, only the
//! journal: nobody receives a turn that he has not opened. A channel gives the sink, where a person can come back on it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::edge::RpcError;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Standing};
use metnos_proto::msg::memoryd::{TurnOwner, WhoseTurn};
use metnos_proto::msg::planner::{AttachTurn, DetachedTurns, ReleaseTurn, TurnDone, TurnEnd};
use metnos_proto::turn_log::{self, Entry};
use tokio::sync::watch;

use super::relay::Relay;
use super::speaker::{NoteSink, Speaker, TurnNote};
use super::{Door, phrases};

/// How long anyone who comes back to a turn waits for the door to have found those of the door before it.
pub const FOUND_WITHIN: Duration = Duration::from_secs(5);
/// How often the journal is asked whose turn it is.
const WHOSE_TRIES: u32 = 3;

/// A session and a sink for a turn of this sender on a channel, where a person can come back to it.
pub type Reattach = Box<dyn Fn(TurnId, &Speaker) -> Option<(u64, Rc<dyn NoteSink>)>>;

/// What is known of the turns of a door before this one.
#[derive(Default)]
pub(super) struct Takeover {
    /// Who receives them, by channel.
    adopts: RefCell<BTreeMap<Channel, Reattach>>,
    /// Whether it is known which there are.
    found: watch::Sender<bool>,
}

/// Anyone who receives a turn that this door has not opened.
pub(super) struct Recipient {
    pub is: TurnOwner,
    pub speaker: Speaker,
    /// Whether he is a stranger now: nothing further is done for him.
    pub is_stranger: bool,
    pub session: u64,
    pub sink: Option<Rc<dyn NoteSink>>,
}

impl Door {
    /// Who receives turns of this channel that were opened at a door before this one.
    pub fn adopts(&self, channel: Channel, adopts: Reattach) {
        self.takeover.adopts.borrow_mut().insert(channel, adopts);
    }

    /// Waits until what the planner has kept was found, for a moment.
    pub async fn has_found(&self) {
        let mut found = self.takeover.found.subscribe();
        // Anyone who waits in vain learns what the journal says.
        let _ = tokio::time::timeout(FOUND_WITHIN, found.wait_for(|found| *found)).await;
    }

    /// Takes back what the planner has kept, at each link to it: a planner that was restarted has nothing.
    pub(super) async fn take_back_turns(self: Rc<Self>) {
        let mut generations = self.peers.planner.generations();
        loop {
            if *generations.borrow_and_update() != 0 {
                match self.peers.planner.detached_turns(TraceId::NONE, DetachedTurns {}, []).await {
                    Ok((kept, [])) => {
                        for turn in kept.turns {
                            self.attach_turn(turn).await;
                        }
                    }
                    Err(error) => tracing::debug!(%error, "the planner did not say what it has kept"),
                }
                self.takeover.found.send_replace(true);
            }
            if generations.changed().await.is_err() {
                return;
            }
        }
    }

    async fn attach_turn(self: &Rc<Self>, turn: TurnId) {
        if self.has_turn(turn) {
            return;
        }
        let Some(recipient) = self.recipient(turn).await else { return };
        // A card may have been answered meanwhile, and the turn goes on.
        if self.turns.is_open(turn) {
            return;
        }
        if recipient.is.is_delivered {
            return self.release_turn(turn);
        }
        let (trace, lang) = (recipient.is.trace, recipient.is.lang);
        let (relay, handle) =
            Relay::new(self, recipient.session, (turn, trace, lang), recipient.sink.clone(), String::new());
        // Entered before: what comes next may come before the answer to this.
        self.turns.enter(turn, handle);
        self.turns.set_generation(turn, *self.peers.planner.generations().borrow());
        let taken = self.peers.planner.attach_turn(trace, AttachTurn { turn }, []).await;
        let told = taken.map_err(|error| error.to_string()).and_then(|(_, [told])| turn_log::read(&told));
        match told {
            Ok(told) => {
                tracing::info!(%turn, "a turn of the door before was taken back");
                let door = Rc::clone(self);
                tokio::task::spawn_local(async move { door.go_on(relay, told, &recipient).await });
            }
            Err(error) => {
                tracing::warn!(%turn, error, "a turn of the door before cannot be taken back");
                self.cancel(turn);
                self.turns.leave(turn);
            }
        }
    }

    /// Sends the recipient what was sent before, then the card that it waits for, then what comes.
    pub(super) async fn go_on(self: Rc<Self>, mut relay: Relay, told: Vec<Entry>, recipient: &Recipient) {
        let turn = relay.turn;
        let done = relay.catch_up(told, true).await;
        if recipient.is_stranger {
            self.cancel(turn);
        }
        if let Some(sink) = &recipient.sink {
            self.show_what_waits(turn, &recipient.speaker, sink).await;
        }
        relay.run_from(done).await;
    }

    /// The cards of this turn that wait, to anyone who comes back to it.
    async fn show_what_waits(&self, turn: TurnId, speaker: &Speaker, sink: &Rc<dyn NoteSink>) {
        let cards = match self.cards_of(speaker).await {
            Ok(cards) => cards,
            Err(refusal) => {
                tracing::warn!(%turn, %refusal, "it is unknown which cards wait");
                return;
            }
        };
        let name = turn.to_string();
        for card in cards.into_iter().filter(|card| card.turn == name) {
            self.was_shown(&card.id, Rc::clone(sink));
            sink.deliver(TurnNote::CardWaits(card.note(turn))).await;
        }
    }

    /// Who receives this turn; nobody when the journal does not say whose it is.
    pub(super) async fn recipient(&self, turn: TurnId) -> Option<Recipient> {
        let mut asked = self.peers.memoryd.whose_turn(TraceId::NONE, WhoseTurn { turn }, []).await;
        for _ in 1..WHOSE_TRIES {
            let Err(RpcError::Gone(_)) = asked else { break };
            asked = self.peers.memoryd.whose_turn(TraceId::NONE, WhoseTurn { turn }, []).await;
        }
        let is = match asked {
            Ok((is, [])) => is,
            // Nobody said a word in it: a call that a person made himself.
            Err(RpcError::Refused(refusal)) => {
                tracing::debug!(%turn, %refusal, "no client receives this turn");
                return None;
            }
            Err(error) => {
                tracing::warn!(%turn, %error, "it is unknown whose turn it is");
                return None;
            }
        };
        let sender = is.principal.split_once(':').map_or_else(String::new, |(_, sender)| sender.to_owned());
        let speaker = Speaker { channel: is.channel, sender, lang: None };
        let is_stranger = match self.identify(&speaker).await {
            Ok(who) => who.standing == Standing::Stranger || who.principal != is.principal,
            Err(_) => true,
        };
        let adopts = self.takeover.adopts.borrow();
        let adopted = adopts.get(&is.channel).filter(|_| !is_stranger).and_then(|adopts| adopts(turn, &speaker));
        let (session, sink) = adopted.map_or((u64::MAX, None), |(session, sink)| (session, Some(sink)));
        Some(Recipient { is, speaker, is_stranger, session, sink })
    }

    /// Nothing of this turn needs to be kept any more.
    pub(super) fn release_turn(self: &Rc<Self>, turn: TurnId) {
        let door = Rc::clone(self);
        tokio::task::spawn_local(async move {
            if let Err(error) = door.peers.planner.release_turn(TraceId::NONE, ReleaseTurn { turn }, []).await {
                tracing::debug!(%turn, %error, "the planner could not be asked to release a turn");
            }
        });
    }
}

impl Relay {
    /// Takes what was sent before this door was there, and sends it, if it is to be sent; how the turn ended, when it did.
    pub(super) async fn catch_up(&mut self, told: Vec<Entry>, tells: bool) -> Option<TurnDone> {
        let last = told.len();
        for (at, piece) in told.into_iter().enumerate() {
            let told: TurnNote = match piece.note(self.turn) {
                metnos_proto::edges::door_planner::Note::Text(text) => {
                    if !self.take(&text.text) {
                        return Some(self.too_much());
                    }
                    TurnNote::Text(text)
                }
                metnos_proto::edges::door_planner::Note::Call(call) => TurnNote::Call(call),
                metnos_proto::edges::door_planner::Note::Progress(progress) => TurnNote::Progress(progress),
                metnos_proto::edges::door_planner::Note::TurnDone(done) => {
                    // A suspension that notes follow does not end the turn: it is sent like any note.
                    if at + 1 == last || done.end != TurnEnd::Suspended {
                        return Some(done);
                    }
                    TurnNote::TurnDone(done)
                }
            };
            if tells {
                self.send(told).await;
            }
        }
        None
    }

    fn too_much(&self) -> TurnDone {
        self.door.cancel(self.turn);
        TurnDone { turn: self.turn, end: TurnEnd::Broken, why: phrases::too_much(self.lang) }
    }
}
