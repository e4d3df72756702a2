//! The door's daemon side: who speaks, on whatever channel, the turns that were opened, and what is passed back.
//! It registers what a sender really said before any planner reads it, and hands a note to
//! nobody but the one who opened the turn. It never chooses a call.
//!
//! [`speaker`] is what the door needs to know of a channel, [`say`] what is the same on all of them, and [`serve`] the
//! channel of the terminal.

pub mod cards;
pub mod firing;
mod health;
mod listeners;
pub mod reattach;
pub mod relay;
pub mod router;
pub mod say;
pub mod serve;
mod sessions;
mod shown;
pub mod speaker;
mod turns;
pub(crate) mod undo;

#[cfg(test)]
pub(crate) mod stage;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use metnos_outbound::secret_file::SecretFile;
use metnos_proto::edge::AnswererEnd;
use metnos_proto::edges::{CtlDoor, DoorMemoryd, DoorMind, DoorPlanner, DoorPolicyd, ctl_door};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::{Client, Closed};
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::door::DoorReport;
use metnos_proto::msg::planner::CancelTurn;
use metnos_proto::msg::policyd::{OwnerNotice, OwnersCard};
use metnos_proto::msg::schedule::Firing;
use tokio::sync::Notify;

use crate::hooks::registry::Hooks;
use health::Health;
use listeners::Listeners;
use reattach::Takeover;
use sessions::Sessions;
use shown::ShownCards;
use turns::Turns;

/// The most sessions of users that are not the owner, together and of one.
pub const MAX_OTHERS: u32 = 32;
/// See [`MAX_OTHERS`].
pub const MAX_OF_ONE: u32 = 8;
/// The most sessions at once: as many as the planner has turns.
pub const MAX_SESSIONS: u32 = 128;
/// The most sessions beyond that which are notified; further ones are closed unheard.
pub const MAX_TURNED_AWAY: u32 = 16;
/// The most turns of one session at once.
pub const MAX_TURNS_PER_SESSION: usize = 4;
/// The longest a turn may take before the door gives up on the planner, in milliseconds. Longer than the
/// planner's own bounds together, so that it only ever strikes one that hangs.
pub const TURN_WITHIN_MS: u64 = 660_000;

/// The peers that the door asks.
pub struct Peers {
    /// Who a person is, and what he said.
    pub policyd: Rc<Client<DoorPolicyd>>,
    /// The journal.
    pub memoryd: Rc<Client<DoorMemoryd>>,
    /// Turns.
    pub planner: Rc<Client<DoorPlanner>>,
    /// The models' health.
    pub mind: Rc<Client<DoorMind>>,
}

/// The door: it only sequences its parts.
pub struct Door {
    peers: Peers,
    turns: Turns,
    sessions: Sessions,
    shown: ShownCards,
    listeners: Listeners,
    health: Health,
    takeover: Takeover,
    /// Where the bot's token is kept.
    token: RefCell<Result<SecretFile, String>>,
    /// What fires without a person.
    hooks: RefCell<Rc<Hooks>>,
    /// What wakes it when something is due.
    alarm: RefCell<Option<Rc<firing::alarm::Alarm>>>,
    /// What sends reminders to chats.
    chats: firing::Chats,
    /// A turn has ended: it may have planned something.
    planned: Notify,
}

/// One session at the terminal.
pub struct Session {
    door: Rc<Door>,
    number: u64,
    /// Whether there was no room for it: it is notified at each ask.
    is_turned_away: bool,
    /// Turns that are being opened.
    opening: Rc<Cell<usize>>,
    /// The reminder that it was given last, as long as it has not said that it was shown.
    reminded: RefCell<Option<Firing>>,
    /// Whether it waits for one.
    listens: Cell<bool>,
}

impl Door {
    /// A door without sessions. `turn_within_ms` is [`TURN_WITHIN_MS`] outside tests.
    #[must_use]
    pub fn new(peers: Peers, turn_within_ms: u64) -> Rc<Self> {
        Rc::new(Self {
            peers,
            turns: Turns::new(turn_within_ms),
            sessions: Sessions::default(),
            shown: ShownCards::default(),
            listeners: Listeners::default(),
            health: Health::default(),
            takeover: Takeover::default(),
            token: RefCell::new(Err("the door has no file for it".to_owned())),
            hooks: RefCell::new(Rc::new(Hooks::new(Err("the door has no folder for secrets".to_owned())))),
            alarm: RefCell::default(),
            chats: firing::Chats::default(),
            planned: Notify::new(),
        })
    }

    /// Sessions of this user and of root are the owner's; all others together have few places, and none of his.
    pub fn belongs_to(&self, uid: u32) {
        self.sessions.belong_to(uid);
    }

    /// Has `hear` called with each principal that is a stranger again: a channel sends him nothing more.
    pub fn on_revoked(&self, hear: impl Fn(&str) + 'static) {
        self.listeners.on_revoked(hear);
    }

    /// Has `hear` called with what the owner must know, and the names under which he is to receive it.
    pub fn on_news(&self, hear: impl Fn(&OwnerNotice) + 'static) {
        self.listeners.on_news(hear);
    }

    /// Has `show` called with each card of another principal's that is the owner's to decide.
    pub fn on_owners_card(&self, show: impl Fn(&OwnersCard) + 'static) {
        self.listeners.on_owners_card(show);
    }

    /// Notes where the door listens, or why it does not, for `status`.
    pub fn listens(&self, where_or_why: String) {
        self.health.http_is(where_or_why);
    }

    /// Starts what runs beside the sessions: routing the planner's notes, and asking mind for its health
    /// once per link. Must run inside a [`tokio::task::LocalSet`].
    pub fn start(self: &Rc<Self>) {
        tokio::task::spawn_local(Rc::clone(self).route());
        tokio::task::spawn_local(Rc::clone(self).receive_card_notes());
        tokio::task::spawn_local(Rc::clone(self).listen());
        tokio::task::spawn_local(Rc::clone(self).take_back_turns());
        tokio::task::spawn_local(Rc::clone(self).ask_for_health());
        tokio::task::spawn_local(Rc::clone(self).fire_schedules());
    }

    /// Serves one session until it is gone; its turns are cancelled then.
    pub fn session(self: &Rc<Self>, end: AnswererEnd<CtlDoor>) -> impl Future<Output = Closed> + use<> {
        let door = Rc::clone(self);
        let place = self.sessions.enter(end.peer().map(|peer| peer.uid));
        async move {
            let Some(place) = place else {
                tracing::warn!("a session was closed unheard: there are too many");
                return Closed::Gone;
            };
            let (number, is_turned_away) = (door.number(), place.is_turned_away);
            let session = Rc::new(Session {
                door: Rc::clone(&door),
                number,
                is_turned_away,
                opening: Rc::default(),
                reminded: RefCell::default(),
                listens: Cell::default(),
            });
            let closed = ctl_door::serve(end, Rc::clone(&session)).await;
            session.end_reminder().await;
            door.sessions.leave(&place);
            door.cancel_turns_of(number);
            closed
        }
    }

    /// What it is doing.
    #[must_use]
    pub fn report(&self) -> DoorReport {
        let (turns, turns_total) = self.turns.numbers();
        DoorReport {
            sessions: self.sessions.count(),
            turns,
            turns_total,
            models: self.models_in(Lang::En),
            http: self.health.http(),
            telegram: self.health.telegram(),
        }
    }

    /// Whom it asks.
    pub(crate) const fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Notes how the bot does, in a line.
    pub fn telegram_is(&self, line: &str) {
        self.health.telegram_is(line);
    }

    /// Keeps the secrets of the webhooks; one that is not set up any more loses its own.
    pub fn set_hooks(self: &Rc<Self>, hooks: Hooks) {
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
    pub fn set_token(&self, token: Result<SecretFile, String>) {
        *self.token.borrow_mut() = token;
    }

    /// Opens no further turn, and waits until the last one has ended.
    pub async fn drain(&self) {
        self.turns.drain().await;
    }

    /// Whether this turn goes on at this door, or waits here for a card.
    pub fn has_turn(&self, turn: TurnId) -> bool {
        self.turns.has(turn)
    }

    /// How the models do, in that language.
    #[must_use]
    pub fn models_in(&self, lang: Lang) -> String {
        self.health.models_in(lang)
    }

    /// Cancels what is open of a session: nobody receives it any more.
    pub fn cancel_turns_of(self: &Rc<Self>, session: u64) {
        for turn in self.turns.of(session) {
            self.cancel(turn);
        }
    }

    /// Tells the planner to stop, without waiting for it.
    fn cancel(self: &Rc<Self>, turn: TurnId) {
        let door = Rc::clone(self);
        tokio::task::spawn_local(async move {
            if let Err(error) = door.peers.planner.cancel_turn(TraceId::NONE, CancelTurn { turn }, []).await {
                tracing::debug!(%turn, %error, "the planner could not be asked to stop");
            }
        });
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
        tell(lang, Key::NotRecorded, &[("why", (&metnos_texts::because(lang, no)).into())])
    }
}
