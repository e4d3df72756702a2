//! What the planner is asked, and what it sends the door on the way.

use crate::ids::{TraceId, TurnId};
use crate::msg::common::{CallRef, Channel, Lang};
use crate::msg::policyd::SettledAct;
use crate::words;

words! {
    /// Start a turn on words that policyd has registered. The words come beside it.
    pub struct OpenTurn {
        /// The turn, as policyd named it.
        pub turn: TurnId,
        /// Ties the records of this turn together.
        pub trace: TraceId,
        /// Where the words came in.
        pub channel: Channel,
        /// The language to answer in.
        pub lang: Lang,
        /// How many executors are still being tested: what is not understood may be for one of them.
        pub unborn: u32,
    }

    /// Start a turn that no person began: the owner's words come beside it, and after them what came from outside.
    pub struct OpenFired {
        /// The turn.
        pub open: OpenTurn,
    }

    /// The turn has begun; notes follow.
    pub struct TurnOpened {}

    /// Continue a suspended turn: the card that it waits for was answered.
    pub struct ResumeTurn {
        /// Which.
        pub turn: TurnId,
        /// What became of the acts of the card, in its order.
        pub acts: Vec<SettledAct>,
    }

    /// It continues; notes follow. The notes of it so far come beside the answer, for a door that did not receive them.
    pub struct TurnResumed {}

    /// List the turns of an earlier door.
    pub struct DetachedTurns {}

    /// Turns that continued without a door, wait, or have ended and were not released.
    pub struct DetachedTurnList {
        /// At most [`MAX_DETACHED_TURNS`].
        pub turns: Vec<TurnId>,
    }

    /// Send the notes of a turn to this door from now on.
    pub struct AttachTurn {
        /// Which.
        pub turn: TurnId,
    }

    /// They come. The earlier ones come beside the answer, from the first on.
    pub struct TurnAttached {}

    /// The end of a turn is durable: the planner may drop its notes.
    pub struct ReleaseTurn {
        /// Which.
        pub turn: TurnId,
    }

    /// Stop a turn: no further call is started, what runs is left to its quotas.
    pub struct CancelTurn {
        /// Which.
        pub turn: TurnId,
    }

    /// Whether there was anything to stop.
    pub struct Cancelled {
        /// False when the turn had already ended.
        pub was_open: bool,
    }

    /// A piece of the answer, in order. At most [`MAX_TEXT`] bytes.
    pub struct Text {
        /// Which turn.
        pub turn: TurnId,
        /// The piece.
        pub text: String,
    }

    /// A call changed its state.
    pub struct Call {
        /// Which turn.
        pub turn: TurnId,
        /// Which call of it.
        pub call: CallRef,
        /// The executor's name.
        pub executor: String,
        /// Where it stands.
        pub state: CallState,
        /// For a person: the refusal's reason, the error's message, or the arguments in short.
        pub detail: String,
    }

    /// How far a long call is.
    pub struct Progress {
        /// Which turn.
        pub turn: TurnId,
        /// Which call of it.
        pub call: CallRef,
        /// Steps done.
        pub done: u64,
        /// Steps in all; 0 when unknown.
        pub total: u64,
    }

    /// The turn has ended; nothing follows.
    pub struct TurnDone {
        /// Which turn.
        pub turn: TurnId,
        /// How.
        pub end: TurnEnd,
        /// Why, for a person, when it is not [`TurnEnd::Answered`].
        pub why: String,
    }

    /// Where a call stands.
    pub enum CallState {
        /// policyd decides on it, or it runs.
        Started,
        /// It succeeded.
        Succeeded,
        /// It ran and did not succeed.
        Unsuccessful,
        /// policyd refused it.
        Denied,
        /// It waits for the answer to a card, which is shown beside.
        Waits,
    }

    /// How a turn ended.
    pub enum TurnEnd {
        /// With an answer to the request.
        Answered,
        /// The planner did not know what was meant, and said so.
        NotUnderstood,
        /// A call was denied.
        Denied,
        /// A call ran and did not succeed.
        Unsuccessful,
        /// A person cancelled it.
        Cancelled,
        /// It waits for the answer to a card, and goes on then: the only end that is none.
        Suspended,
        /// A process that was needed went away, or a bound was hit.
        Broken,
    }
}

/// The most bytes of text in one note, so that it always fits a frame.
pub const MAX_TEXT: usize = 32 * 1024;

/// The most turns that are kept for a door to come.
pub const MAX_DETACHED_TURNS: usize = 512;

impl TurnEnd {
    const ALL: [Self; 7] = [
        Self::Answered,
        Self::NotUnderstood,
        Self::Denied,
        Self::Unsuccessful,
        Self::Cancelled,
        Self::Suspended,
        Self::Broken,
    ];

    /// The end of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|end| end.name() == name).cloned()
    }

    /// The name used in JSON and in the chronicle.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::NotUnderstood => "not_understood",
            Self::Denied => "denied",
            Self::Unsuccessful => "unsuccessful",
            Self::Cancelled => "cancelled",
            Self::Suspended => "suspended",
            Self::Broken => "broken",
        }
    }
}
