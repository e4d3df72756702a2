//! The door's daemon side: who speaks, on whatever channel, the turns that were opened, and what is passed back.
//! It registers what a sender really said before any planner reads it, and hands a note to
//! nobody but the one who opened the turn. It never chooses a call.
//!
//! [`voice`] is what the door needs to know of a channel, [`say`] what is the same on all of them, and [`serve`] the
//! channel of the terminal.

pub mod cards;
mod models;
pub mod reattach;
pub mod relay;
pub mod router;
pub mod say;
pub mod serve;
pub mod speaker;
mod undo;

#[cfg(test)]
mod cards_tests;
#[cfg(test)]
mod reattach_tests;
#[cfg(test)]
pub(crate) mod stage;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::rc::Rc;

use metnos_outbound::secret_file::SecretFile;
use metnos_proto::edge::AnswererEnd;
use metnos_proto::edges::{CtlDoor, DoorMemoryd, DoorMind, DoorPlanner, DoorPolicyd, ctl_door};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::{Client, Closed};
use metnos_proto::msg::common::{Channel, Lang};
use metnos_proto::msg::door::DoorReport;
use metnos_proto::msg::planner::CancelTurn;
use metnos_proto::msg::policyd::{CardSettled, OwnerNotice, OwnersCard};
use tokio::sync::watch;

use crate::hooks::registry::Hooks;
use relay::Handle;
use speaker::NoteSink;

/// The most sessions of users that are not the owner, together and of one.
pub const MAX_OTHERS: u32 = 32;
/// See [`MAX_OTHERS`].
pub const MAX_OF_ONE: u32 = 8;
/// The most sessions at once: as many as the planner has turns.
pub const MAX_SESSIONS: u32 = 128;
/// The most sessions beyond that which are told so; further ones are closed unheard.
pub const MAX_TURNED_AWAY: u32 = 16;
/// The most turns of one session at once.
pub const MAX_TURNS_PER_SESSION: usize = 4;
/// The longest a turn may take before the door gives up on the planner, in milliseconds. Longer than the
/// planner's own bounds together, so that it only ever strikes one that hangs.
pub const TURN_WITHIN_MS: u64 = 660_000;

/// The peers that the door asks.
pub struct Peers {
    /// Who somebody is, and what he said.
    pub policyd: Rc<Client<DoorPolicyd>>,
    /// The journal.
    pub memoryd: Rc<Client<DoorMemoryd>>,
    /// Turns.
    pub planner: Rc<Client<DoorPlanner>>,
    /// The models' health.
    pub mind: Rc<Client<DoorMind>>,
}

/// The door.
pub struct Door {
    peers: Peers,
    turns: RefCell<HashMap<TurnId, Handle>>,
    /// How many turns are open, for whoever waits for the last.
    count: watch::Sender<usize>,
    turns_total: Cell<u64>,
    sessions: Cell<u32>,
    next_session: Cell<u64>,
    /// Bytes of answers that wait for their sessions or for the journal.
    held: Cell<usize>,
    /// Turns that wait for the answer to a card.
    parked: RefCell<HashMap<TurnId, relay::Parked>>,
    /// Answers that came before their turn was put aside.
    early: RefCell<HashMap<TurnId, CardSettled>>,
    /// Who was shown which card.
    cards: RefCell<HashMap<String, Vec<Rc<dyn NoteSink>>>>,
    /// What mind says of the models, as last heard.
    models: RefCell<models::Models>,
    /// Where the door listens, or why it does not.
    http: RefCell<String>,
    /// Who wants to hear that somebody is a stranger again.
    revocations: RefCell<Vec<OnRevoked>>,
    /// Who passes on what the owner must know.
    owners_news: RefCell<Vec<OnNotice>>,
    /// Who shows the owner what others ask for.
    owners_cards: RefCell<Vec<OnCard>>,
    /// How the bot does, in a line; empty when there is none.
    telegram: RefCell<String>,
    /// Where the bot's token is kept.
    token: RefCell<Result<SecretFile, String>>,
    /// What fires without a person.
    hooks: RefCell<Rc<Hooks>>,
    /// Whose instance it is, and how many sessions each other user has.
    owner_uid: Cell<Option<u32>>,
    others: RefCell<BTreeMap<u32, u32>>,
    /// Set when the daemon is to end: no further turn is opened.
    is_draining: Cell<bool>,
    /// Who hears turns of a door before this one, by channel.
    adopts: RefCell<BTreeMap<Channel, reattach::Reattach>>,
    /// Whether it is known which there are.
    found: watch::Sender<bool>,
    turn_within_ms: u64,
}

/// Hears that a principal is a stranger again.
type OnRevoked = Box<dyn Fn(&str)>;

/// Hears what the owner must know.
type OnNotice = Box<dyn Fn(&OwnerNotice)>;

/// Hears of a card that is the owner's to decide.
type OnCard = Box<dyn Fn(&OwnersCard)>;

/// One session at the terminal.
pub struct Session {
    door: Rc<Door>,
    number: u64,
    /// Whether there was no room for it: it is told so at each ask.
    is_turned_away: bool,
    /// Turns that are being opened.
    opening: Rc<Cell<usize>>,
}

impl Door {
    /// A door without sessions. `turn_within_ms` is [`TURN_WITHIN_MS`] outside tests.
    #[must_use]
    pub fn new(peers: Peers, turn_within_ms: u64) -> Rc<Self> {
        Rc::new(Self {
            peers,
            turns: RefCell::default(),
            count: watch::Sender::new(0),
            turns_total: Cell::new(0),
            sessions: Cell::new(0),
            next_session: Cell::new(0),
            held: Cell::new(0),
            parked: RefCell::default(),
            early: RefCell::default(),
            cards: RefCell::default(),
            models: RefCell::default(),
            http: RefCell::new("off".to_owned()),
            revocations: RefCell::default(),
            owners_news: RefCell::default(),
            owners_cards: RefCell::default(),
            telegram: RefCell::default(),
            token: RefCell::new(Err("the door has no file for it".to_owned())),
            hooks: RefCell::new(Rc::new(Hooks::new(Err("the door has no folder for secrets".to_owned())))),
            is_draining: Cell::new(false),
            adopts: RefCell::default(),
            found: watch::Sender::new(false),
            owner_uid: Cell::new(None),
            others: RefCell::default(),
            turn_within_ms,
        })
    }

    /// Sessions of this user and of root are the owner's; all others together have few places, and none of his.
    pub fn belongs_to(&self, uid: u32) {
        self.owner_uid.set(Some(uid));
    }

    fn take_place_of(&self, uid: u32) -> bool {
        let mut others = self.others.borrow_mut();
        let (all, his) = (others.values().sum::<u32>(), others.get(&uid).copied().unwrap_or(0));
        let has_room = all < MAX_OTHERS && his < MAX_OF_ONE;
        if has_room {
            others.insert(uid, his + 1);
        }
        has_room
    }

    fn leave_place_of(&self, uid: u32) {
        let mut others = self.others.borrow_mut();
        match others.get_mut(&uid) {
            Some(his) if *his > 1 => *his -= 1,
            Some(_) | None => drop(others.remove(&uid)),
        }
    }

    /// Has `hear` called with each principal that is a stranger again: a channel tells him nothing more.
    pub fn on_revoked(&self, hear: impl Fn(&str) + 'static) {
        self.revocations.borrow_mut().push(Box::new(hear));
    }

    /// Has `hear` called with what the owner must know, and the names under which he is to hear it.
    pub fn on_news(&self, hear: impl Fn(&OwnerNotice) + 'static) {
        self.owners_news.borrow_mut().push(Box::new(hear));
    }

    /// Has `show` called with each card of somebody else's that is the owner's to decide.
    pub fn on_owners_card(&self, show: impl Fn(&OwnersCard) + 'static) {
        self.owners_cards.borrow_mut().push(Box::new(show));
    }

    /// Notes where the door listens, or why it does not, for `status`.
    pub fn listens(&self, where_or_why: String) {
        *self.http.borrow_mut() = where_or_why;
    }

    /// Starts what runs beside the sessions: routing the planner's notes, and asking mind for its health
    /// once per link. Must run inside a [`tokio::task::LocalSet`].
    pub fn start(self: &Rc<Self>) {
        tokio::task::spawn_local(Rc::clone(self).route());
        tokio::task::spawn_local(Rc::clone(self).hear_cards());
        tokio::task::spawn_local(Rc::clone(self).listen());
        tokio::task::spawn_local(Rc::clone(self).take_back_turns());
        tokio::task::spawn_local(Rc::clone(self).ask_for_health());
    }

    /// Serves one session until it is gone; its turns are cancelled then.
    pub fn session(self: &Rc<Self>, end: AnswererEnd<CtlDoor>) -> impl Future<Output = Closed> + use<> {
        let door = Rc::clone(self);
        let count = door.sessions.get();
        let uid = end.peer().map(|peer| peer.uid);
        let other = uid.filter(|uid| self.owner_uid.get().is_some_and(|owner| owner != *uid && *uid != 0));
        let room_of_others = other.is_none_or(|uid| door.take_place_of(uid));
        let has_room = room_of_others && count < MAX_SESSIONS + MAX_TURNED_AWAY;
        if has_room {
            door.sessions.set(count + 1);
        }
        async move {
            if !has_room {
                if let (Some(uid), true) = (other, room_of_others) {
                    door.leave_place_of(uid);
                }
                tracing::warn!("a session was closed unheard: there are too many");
                return Closed::Gone;
            }
            let (number, is_turned_away) = (door.number(), count >= MAX_SESSIONS);
            let session = Rc::new(Session { door: Rc::clone(&door), number, is_turned_away, opening: Rc::default() });
            let closed = ctl_door::serve(end, session).await;
            door.sessions.set(door.sessions.get().saturating_sub(1));
            if let Some(uid) = other {
                door.leave_place_of(uid);
            }
            door.cancel_turns_of(number);
            closed
        }
    }

    /// What it is doing.
    #[must_use]
    pub fn report(&self) -> DoorReport {
        DoorReport {
            sessions: self.sessions.get(),
            turns: u32::try_from(self.turns.borrow().len()).unwrap_or(u32::MAX),
            turns_total: self.turns_total.get(),
            models: self.models_in(Lang::En),
            http: self.http.borrow().clone(),
            telegram: self.telegram.borrow().clone(),
        }
    }

    /// Whom it asks.
    pub(crate) const fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Notes how the bot does, in a line.
    pub fn telegram_is(&self, line: &str) {
        line.clone_into(&mut self.telegram.borrow_mut());
    }

    /// Keeps the secrets of the webhooks; one that is not set up any more loses its own.
    pub fn keeps_hooks(self: &Rc<Self>, hooks: Hooks) {
        let hooks = Rc::new(hooks);
        *self.hooks.borrow_mut() = Rc::clone(&hooks);
        self.on_revoked(move |principal| {
            let Some(name) = principal.strip_prefix("hook:") else { return };
            if let Err(error) = hooks.remove(name) {
                tracing::warn!(%error, name, "the secret of a webhook that is gone is still kept");
            }
        });
    }

    /// The webhooks.
    pub fn hooks(&self) -> Rc<Hooks> {
        Rc::clone(&self.hooks.borrow())
    }

    /// Keeps the file of the bot's token, for when the owner gives one.
    pub fn keeps_token(&self, token: Result<SecretFile, String>) {
        *self.token.borrow_mut() = token;
    }

    /// Opens no further turn, and waits until the last one has ended.
    pub async fn drain(&self) {
        self.is_draining.set(true);
        let mut count = self.count.subscribe();
        // The sender lives in `self`, so this cannot fail.
        let _ = count.wait_for(|count| *count == 0).await;
    }

    /// Whether this turn goes on at this door, or waits here for a card.
    pub fn has_turn(&self, turn: TurnId) -> bool {
        self.turns.borrow().contains_key(&turn) || self.parked.borrow().contains_key(&turn)
    }

    fn turns_of(&self, session: u64) -> Vec<TurnId> {
        self.turns.borrow().iter().filter(|(_, handle)| handle.session == session).map(|(turn, _)| *turn).collect()
    }

    /// Cancels what is open of a session: nobody hears it any more.
    pub fn cancel_turns_of(self: &Rc<Self>, session: u64) {
        for turn in self.turns_of(session) {
            self.cancel(turn);
        }
    }

    /// Tells the planner to stop, without waiting for it.
    fn cancel(self: &Rc<Self>, turn: TurnId) {
        let door = Rc::clone(self);
        tokio::task::spawn_local(async move {
            if let Err(error) = door.peers.planner.cancel_turn(TraceId::NONE, CancelTurn { turn }, []).await {
                tracing::debug!(%turn, %error, "the planner could not be told to stop");
            }
        });
    }

    fn enter(&self, turn: TurnId, handle: Handle) {
        self.turns.borrow_mut().insert(turn, handle);
        self.turns_total.set(self.turns_total.get().saturating_add(1));
        self.count.send_modify(|count| *count += 1);
    }

    /// Forgets a turn; gives back how many bytes of text were taken for it.
    fn leave(&self, turn: TurnId) -> usize {
        let Some(handle) = self.turns.borrow_mut().remove(&turn) else { return 0 };
        self.count.send_modify(|count| *count = count.saturating_sub(1));
        handle.said.get()
    }

    /// Notes which planner was asked to open the turn.
    fn set_generation(&self, turn: TurnId, generation: u32) {
        if let Some(handle) = self.turns.borrow_mut().get_mut(&turn) {
            handle.generation = generation;
        }
    }
}

/// What the door itself says, in the person's language.
pub(crate) mod phrases {
    use metnos_texts::{Key, say, tell};

    use super::Lang;
    use metnos_proto::msg::common::Refusal;

    /// The planner went away in the middle.
    pub fn planner_gone(lang: Lang) -> String {
        say(lang, Key::PlannerGone)
    }

    /// The planner says nothing any more.
    pub fn too_long(lang: Lang) -> String {
        say(lang, Key::PlannerLate)
    }

    /// More was said than can be held.
    pub fn too_much(lang: Lang) -> String {
        say(lang, Key::AnswerCut)
    }

    /// The answer could not be journalled.
    pub fn not_recorded(lang: Lang, no: &Refusal) -> String {
        tell(lang, Key::NotRecorded, &[("why", (&metnos_texts::refusal(lang, no)).into())])
    }
}
