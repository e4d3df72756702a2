//! The owner's commands on the life cycle of an executor (design: executor §4): archive, restore, revoke, export, sign.

use crate::msg::common::{ExecutorDigests, ExecutorId};
use crate::words;

/// The longest reason, in bytes.
pub const MAX_REASON: usize = 300;

words! {
    /// Said at the machine, about the version that a name means. What became of it comes as a document.
    pub enum LifecycleAsk {
        /// Archive it: not offered, not callable, and nothing of it deleted.
        Archive(LifecycleTarget),
        /// Restore it from the archive, once it is verified.
        Restore(LifecycleTarget),
        /// Revoke its signature: that version can never be called again.
        Revoke(Revocation),
        /// Show the newest unsigned version of a name, with its tests run in the tightest sandbox; or, with
        /// [`SignRequest::confirm`], sign exactly that.
        Sign(SignRequest),
    }

    /// Export the executor for another instance: a [`crate::parcel`] comes beside the answer.
    pub struct ExportExecutor {
        /// Its name.
        pub name: String,
    }

    /// See [`LifecycleAsk`].
    pub struct LifecycleTarget {
        /// Its name.
        pub name: String,
        /// Why, in at most [`MAX_REASON`] bytes; archiving needs no reason.
        pub reason: String,
    }

    /// See [`LifecycleAsk::Revoke`].
    pub struct Revocation {
        /// Its name.
        pub name: String,
        /// Why, in at most [`MAX_REASON`] bytes.
        pub reason: String,
        /// The digest that was shown; empty to be shown it.
        pub confirm: String,
    }

    /// A [`crate::parcel`] of another instance comes beside it, and is put into the pool unsigned. Its description comes
    /// as a document.
    pub struct ImportExecutor {}

    /// See [`LifecycleAsk::Sign`].
    pub struct SignRequest {
        /// Its name.
        pub name: String,
        /// The digest that was shown; empty to be shown it.
        pub confirm: String,
    }

    /// policyd to sandboxd: put the texts beside it into the pool, as a version that is not there yet. They come as a JSON
    /// object of exactly the four names of an executor's files.
    pub struct Stage {
        /// Which.
        pub id: ExecutorId,
    }

    /// policyd to sandboxd: the texts of an executor, those that these digests name; in the form of [`Stage`].
    pub struct TextsOf {
        /// Which.
        pub id: ExecutorId,
        /// What policyd's registry holds of it.
        pub digests: ExecutorDigests,
    }

    /// policyd to sandboxd: run the birth tests of a candidate in the tightest sandbox there is, whatever it asks for. The
    /// answer is as for a birth.
    pub struct TryBirth {
        /// Which.
        pub id: ExecutorId,
        /// What policyd has looked at; a mismatch refuses.
        pub digests: ExecutorDigests,
    }

    /// policyd to sandboxd: these texts must never run, be tested or be installed in this process. Repeated on every link,
    /// after the key and before everything else.
    pub struct RevokeTexts {
        /// Which.
        pub id: ExecutorId,
        /// What was signed. The sandbox does not matter: no other makes these texts good.
        pub digests: ExecutorDigests,
    }
}
