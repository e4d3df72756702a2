//! The owner's word on the life of an executor (design: executor §4): put away, brought back, disowned.

use crate::msg::common::{ExecutorDigests, ExecutorId};
use crate::words;

/// The longest reason, in bytes.
pub const MAX_REASON: usize = 300;

words! {
    /// Said at the machine, about the version that a name means. What became of it comes beside the answer, as JSON.
    pub enum LifeAsk {
        /// Put it away: not offered, not callable, and nothing of it deleted.
        Archive(LifeWord),
        /// Bring back what was put away, once it was verified.
        Restore(LifeWord),
        /// Its signature counts no more, and nothing ever lets that version be called again.
        Revoke(RevokeWord),
    }

    /// See [`LifeAsk`].
    pub struct LifeWord {
        /// Its name.
        pub name: String,
        /// Why, in at most [`MAX_REASON`] bytes; only what is put away needs none.
        pub reason: String,
    }

    /// See [`LifeAsk::Revoke`].
    pub struct RevokeWord {
        /// Its name.
        pub name: String,
        /// Why, in at most [`MAX_REASON`] bytes.
        pub reason: String,
        /// The digest that a look has shown; empty to look.
        pub confirm: String,
    }

    /// policyd to sandboxd: nothing of these texts is ever to run, be tested or be installed in this process. On every link
    /// again, after the key and before everything else.
    pub struct Disown {
        /// Which.
        pub id: ExecutorId,
        /// What was signed. The sandbox does not matter: no other makes these texts good.
        pub digests: ExecutorDigests,
    }
}
