//! Who speaks to the door, and the way back to him: all that the door needs to know of a channel. A note goes to the
//! one who opened its turn and to nobody else, whatever the channel is.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use metnos_proto::edges::{CtlDoor, ctl_door};
use metnos_proto::ids::TurnId;
use metnos_proto::link_async::Notes;
use metnos_proto::msg::common::{Channel, Lang};

/// What the door tells anyone who opened a turn.
pub type TurnNote = ctl_door::Note;

/// Telling a person: gives whether he was still there.
pub type NoteDelivery<'a> = Pin<Box<dyn Future<Output = bool> + 'a>>;

/// The way back to a person. It must bound what it keeps for one who does not listen.
pub trait NoteSink {
    /// Tells him; waits no longer than the channel allows to one who does not listen.
    fn deliver(&self, told: TurnNote) -> NoteDelivery<'_>;

    /// Whether he is still there. Once he is not, he never is again.
    fn is_open(&self) -> bool;

    /// His words are durable and have opened this turn; no planner has heard of it yet. For channels that must know
    /// before the first note.
    fn opens(&self, _turn: TurnId) {}
}

impl NoteSink for Notes<CtlDoor> {
    fn deliver(&self, told: TurnNote) -> NoteDelivery<'_> {
        Box::pin(async move { self.send(told).await.is_ok() })
    }

    fn is_open(&self) -> bool {
        Notes::is_open(self)
    }
}

/// A sender as his channel names him. Only policyd knows who that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speaker {
    /// The channel that his words come in on.
    pub channel: Channel,
    /// As the channel names him: `uid:1000` at the terminal.
    pub sender: String,
    /// The language that the channel says he speaks, where it says so.
    pub lang: Option<Lang>,
}

/// A person who speaks, with the way back to him.
#[derive(Clone)]
pub struct SpeakerSession {
    /// Who it is.
    pub speaker: Speaker,
    /// His session: turns are counted, stopped and cancelled by it. From [`super::Door::number`].
    pub number: u64,
    /// Where notes of his turns go.
    pub sink: Rc<dyn NoteSink>,
    /// What the channel calls his next words, where it may say them twice; else empty.
    pub mark: String,
    /// Turns of this session that are being opened.
    pub(super) opening: Rc<Cell<usize>>,
}

impl SpeakerSession {
    /// A session that has said nothing yet.
    #[must_use]
    pub fn new(speaker: Speaker, number: u64, sink: Rc<dyn NoteSink>) -> Self {
        Self { speaker, number, sink, mark: String::new(), opening: Rc::default() }
    }

    /// The same session, with the name that its channel gives to the next words.
    #[must_use]
    pub fn with_mark(self, mark: String) -> Self {
        Self { mark, ..self }
    }

    /// The same session with another sink: for a channel on which each turn is received by itself.
    #[must_use]
    pub fn with_sink(&self, sink: Rc<dyn NoteSink>) -> Self {
        Self { sink, ..self.clone() }
    }
}

impl std::fmt::Debug for SpeakerSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Voice").field("speaker", &self.speaker).field("number", &self.number).finish_non_exhaustive()
    }
}
