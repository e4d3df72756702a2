//! Who may speak to this instance, and how far he goes without asking: what the door and the owner ask policyd about
//! that.

use crate::msg::common::{Channel, Level, Standing};
use crate::words;

words! {
    /// A stranger is at the door. What he says travels only where it has the form of a code.
    pub struct Pair {
        /// The channel he came by.
        pub channel: Channel,
        /// As the channel names him.
        pub sender: String,
        /// The code that he has shown; empty when he has shown none.
        pub code: String,
    }

    /// What the door may tell him, and nothing else.
    pub enum Paired {
        /// A code of his own: the owner can approve it, for so many seconds.
        Code(StrangersCode),
        /// His invitation was good: he is known from now on.
        Known,
        /// Not now: he has had a code a moment ago, or tried too often. He is told nothing.
        Silence,
    }

    /// Note to the door: somebody is a stranger again from now on, so nothing more is told to him.
    pub struct Revoked {
        /// `channel:sender`.
        pub principal: String,
    }

    /// See [`Paired::Code`].
    pub struct StrangersCode {
        /// As `K7-DELTA-19`.
        pub code: String,
        /// How long it can be approved, in seconds.
        pub seconds: u32,
    }

    /// The owner looks after who is known. A document comes beside the answer, as JSON.
    pub enum PairingAsk {
        /// Who is known, which strangers wait, which invitations are open.
        List,
        /// This stranger's code is good.
        Approve(ApprovePairing),
        /// A code that whoever shows it on that channel becomes known by, once.
        Invite(Invite),
        /// Whoever that is is a stranger again, at once: `channel:sender`.
        Revoke(String),
    }

    /// See [`PairingAsk::Approve`].
    pub struct ApprovePairing {
        /// The channel on which the code was given out.
        pub channel: Channel,
        /// The code.
        pub code: String,
        /// What he becomes; never a stranger.
        pub standing: Standing,
    }

    /// See [`PairingAsk::Invite`].
    pub struct Invite {
        /// The channel on which the code counts.
        pub channel: Channel,
        /// What its bearer becomes; never a stranger.
        pub standing: Standing,
    }

    /// The owner looks at levels of autonomy, or sets one. A document comes beside the answer, as JSON.
    pub enum AutonomyAsk {
        /// Every principal with a level of its own.
        Show,
        /// From now on.
        Set(SetLevel),
    }

    /// See [`AutonomyAsk::Set`].
    pub struct SetLevel {
        /// `channel:sender`, or `owner`.
        pub principal: String,
        /// The level.
        pub level: Level,
        /// For so many seconds, after which the level is what it was; 0 for good.
        pub seconds: u32,
    }
}
