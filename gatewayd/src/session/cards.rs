//! Cards on their way between policyd and the session that asked. They come from policyd itself and not
//! through the planner, which is presumed hijacked; an answer goes back with the name that the supervisor
//! vouches for. The door decides nothing here.

use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::doc::card::{CardView, DECLINED, PLANNED};
use metnos_proto::edge::RpcError;
use metnos_proto::edges::door_policyd;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Lang, Refusal};
use metnos_proto::msg::planner::ResumeTurn;
use metnos_proto::msg::policyd::{CardSettled, CardWaits, CardsHere, Identify};
use metnos_proto::payload::Sealed;
use metnos_proto::turn_log;

use super::relay::{Item, Parked, Relay};
use super::speaker::{NoteSink, Speaker, TurnNote};
use super::{Door, reattach};

/// How often the planner is asked to go on with a turn, when it went away over it.
pub const RESUME_TRIES: u32 = 3;
/// How long a turn that is suspended waits for what policyd has said before it.
pub const HEARD_OUT: Duration = Duration::from_secs(1);

impl Door {
    /// Passes on what policyd says of cards, for as long as the daemon lives.
    pub(super) async fn receive_card_notes(self: Rc<Self>) {
        let Some(mut notes) = self.peers.policyd.take_notes() else { return };
        while let Some(note) = notes.recv().await {
            match note {
                door_policyd::Note::CardWaits(card) => self.card_waits(card),
                door_policyd::Note::CardSettled(settled) => self.card_settled(settled),
                door_policyd::Note::Revoked(revoked) => self.listeners.revoked(&revoked),
                door_policyd::Note::OwnersCard(card) => self.listeners.owners_card(&card),
                door_policyd::Note::OwnerNotice(told) => self.listeners.news(&told),
            }
        }
    }

    /// Only the session that opened the turn sees its card; a turn that is not open here has none.
    fn card_waits(&self, card: CardWaits) {
        let turn = card.turn;
        self.turns.with(turn, |handle| self.turns.queue(handle, 0, Item::Card(card)));
    }

    /// The cards of a person that wait for an answer, as policyd shows them.
    ///
    /// # Errors
    /// When policyd does not know him, or does not answer.
    pub(crate) async fn cards_of(&self, speaker: &Speaker) -> Result<Vec<CardView>, Refusal> {
        let ask = CardsHere { channel: speaker.channel, sender: speaker.sender.clone() };
        let asked = self.peers.policyd.cards_here(TraceId::NONE, ask, []).await;
        let (answer, cards) = asked.map_err(RpcError::into_refusal)?;
        Ok(answer.open(cards)?.0)
    }

    /// Remembers who was shown a card, so that he learns what became of it; whether there was room for one more.
    pub(crate) fn was_shown(&self, id: &str, sink: Rc<dyn NoteSink>) -> bool {
        self.shown.add(id, sink)
    }

    /// Whether a person who is still there was shown this card.
    pub(crate) fn is_shown(&self, id: &str) -> bool {
        self.shown.has(id)
    }

    fn card_settled(self: &Rc<Self>, settled: CardSettled) {
        let sinks = self.shown.take(&settled.id);
        let door = Rc::clone(self);
        tokio::task::spawn_local(async move {
            for sink in &sinks {
                if !sink.deliver(TurnNote::CardSettled(settled.clone())).await {
                    tracing::debug!("a client that was shown a card was gone when it was answered");
                }
            }
            // No turn waits for the answer to an offer.
            if [PLANNED, DECLINED].contains(&settled.state.as_str()) {
                return;
            }
            door.resume(settled, sinks.into_iter().next()).await;
        });
    }

    /// Has policyd know who is to learn of cards, also before anybody has said a word: a turn may wait from before this
    /// door was started.
    pub(super) async fn listen(self: Rc<Self>) {
        let mut generations = self.peers.policyd.generations();
        loop {
            if *generations.borrow_and_update() != 0 {
                self.greet_policyd().await;
            }
            if generations.changed().await.is_err() {
                return;
            }
        }
    }

    async fn greet_policyd(&self) {
        let sender = format!("uid:{}", self.sessions.owner_uid().unwrap_or(0));
        let identify = Identify { channel: Channel::Cli, sender, lang: None, spoke: None };
        if let Err(error) = self.peers.policyd.identify(TraceId::NONE, identify, []).await {
            tracing::debug!(%error, "policyd was not notified that the door is there");
        }
    }

    /// Waits until what policyd has said so far is on its way to its turns. It tells of a card before it answers the
    /// planner; but the planner's last word comes by another socket, and may be read before the card. An answer of
    /// policyd to a question that is asked now comes behind the card.
    pub(super) async fn drain_policyd_notes(&self) {
        if tokio::time::timeout(HEARD_OUT, self.greet_policyd()).await.is_err() {
            tracing::warn!("policyd does not answer: a card may be shown late");
        }
        // The card has been read; the task that puts it on its way was woken before this one.
        tokio::task::yield_now().await;
    }

    /// Has the planner go on with the turn that waited for this card, if one did.
    pub(super) async fn resume(self: Rc<Self>, settled: CardSettled, shown: Option<Rc<dyn NoteSink>>) {
        let turn = settled.turn;
        if self.turns.is_open(turn) {
            return self.turns.keep_early(settled);
        }
        let parked = self.turns.take_parked(turn);
        // Of a turn that another door has suspended, the journal says who had opened it.
        let recipient = match &parked {
            Some(_) => None,
            None => self.recipient(turn).await,
        };
        // It may have been taken back meanwhile.
        if self.has_turn(turn) {
            self.turns.keep_early(settled);
            return self.wake(turn);
        }
        let parked = parked.unwrap_or_else(|| Parked {
            session: recipient.as_ref().map_or(u64::MAX, |recipient| recipient.session),
            trace: recipient.as_ref().map_or(TraceId::NONE, |recipient| recipient.is.trace),
            lang: recipient.as_ref().map_or(Lang::En, |recipient| recipient.is.lang),
            // When nobody comes back to it, no matter who was shown the card learns what follows.
            sink: recipient.as_ref().and_then(|recipient| recipient.sink.clone()).or(shown),
            said: String::new(),
        });
        let Parked { session, trace, lang, sink, said } = parked;
        let (relay, handle) = Relay::new(&self, session, (turn, trace, lang), sink, said);
        self.turns.enter(turn, handle);
        let planner = &self.peers.planner;
        let mut resumed = planner.resume_turn(trace, ResumeTurn { turn, acts: settled.acts.clone() }, []).await;
        for _ in 1..RESUME_TRIES {
            // Only what the planner cannot have begun is asked for again.
            let Err(RpcError::Gone(_)) = resumed else { break };
            resumed = planner.resume_turn(trace, ResumeTurn { turn, acts: settled.acts.clone() }, []).await;
        }
        match resumed {
            Ok((_, [told])) => {
                self.turns.set_generation(turn, *planner.generations().borrow());
                self.resumed(relay, &told, recipient).await;
            }
            Err(error) => {
                tracing::info!(%turn, %error, "no turn goes on after this card");
                self.turns.leave(turn);
            }
        }
    }

    /// Goes on with a turn that is suspended, if the answer to its card has come.
    pub(super) fn wake(self: &Rc<Self>, turn: TurnId) {
        let Some(settled) = self.turns.take_early(turn) else { return };
        let door = Rc::clone(self);
        let resumed: std::pin::Pin<Box<dyn Future<Output = ()>>> =
            Box::pin(async move { door.resume(settled, None).await });
        tokio::task::spawn_local(resumed);
    }

    /// The turn goes on: with what was sent in it before, when this door was not there.
    async fn resumed(self: Rc<Self>, mut relay: Relay, told: &Sealed, recipient: Option<reattach::Recipient>) {
        let Some(recipient) = recipient else { return relay.run().await };
        let tells = recipient.sink.is_some();
        match turn_log::read(told) {
            Ok(told) => {
                if let Some(waits) = relay.catch_up(told, tells).await.filter(|_| tells) {
                    relay.send(TurnNote::TurnDone(waits)).await;
                }
            }
            Err(error) => tracing::warn!(error, "the log of a turn cannot be read"),
        }
        relay.run().await;
    }
}
