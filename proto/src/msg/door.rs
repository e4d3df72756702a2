//! What a session at the terminal asks the door.

use crate::ids::TurnId;
use crate::msg::common::Lang;
use crate::msg::policyd::Answer;
use crate::words;

words! {
    /// A person's words, which come beside it. Notes follow until the turn is done.
    pub struct Say {}

    /// The door has registered the words and opened a turn.
    pub struct Said {
        /// Which.
        pub turn: TurnId,
    }

    /// Who the user at this terminal is, and in which language he is answered. Asked before the first words.
    pub struct Greet {}

    /// See [`Greet`].
    pub struct Greeted {
        /// The language of the person who sits there.
        pub lang: Lang,
    }

    /// Wait until this user is to be reminded of something, for a minute at most. Asked again and again by an open chat.
    pub struct RemindMe {
        /// Whether the reminder that was answered last was shown to him.
        pub shown: bool,
    }

    /// See [`RemindMe`].
    pub struct Reminded {
        /// The reminder; empty when nothing was due.
        pub text: String,
    }

    /// Stop a turn of this session.
    pub struct Stop {
        /// Which.
        pub turn: TurnId,
    }

    /// Answers a card that this session was shown.
    pub struct AnswerHere {
        /// The card's name.
        pub id: String,
        /// The digest of what was shown.
        pub digest: String,
        /// What the person says.
        pub answer: Answer,
        /// A one-time code; empty without one.
        pub code: String,
    }

    /// The owner gives the door the token of a bot, which comes beside it; an empty one takes it away. It counts from the
    /// door's next start.
    pub struct PutToken {}

    /// The owner has the door make the secret of a webhook, or forget it. A document comes beside the answer, as JSON: a
    /// secret stands in it once, when it was made.
    pub enum HookSecret {
        /// Which webhooks have one.
        List,
        /// A fresh one, in the place of any that there was.
        Make(String),
        /// None any more.
        Remove(String),
    }

    /// A timer of the owner's machine fires: what was set up for this name is done; notes follow.
    pub struct FireTimer {
        /// Which.
        pub name: String,
    }

    /// What the door is doing, for `status`.
    pub struct DoorStatus {}

    /// See [`DoorStatus`].
    pub struct DoorReport {
        /// Sessions open.
        pub sessions: u32,
        /// Turns open.
        pub turns: u32,
        /// Turns opened since it started.
        pub turns_total: u64,
        /// What mind says of the configured models, as last heard.
        pub models: String,
        /// Where it listens, as `127.0.0.1:42618`; else why it does not.
        pub http: String,
        /// The state of the bot in one line; empty without a bot.
        pub telegram: String,
    }
}

/// The longest token of a bot, in bytes.
pub const MAX_TOKEN: usize = 128;
