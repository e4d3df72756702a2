//! The words the daemons of Metnos exchange, and the links that carry them. Open this file first.
//!
//! Metnos is a set of processes that can do nothing alone. [`role`] says who there is and in
//! which order they may ask; [`mod@edges`] is the whole matrix of who asks whom in which words;
//! [`msg`] holds the words; [`phase`] says which word is admissible when. A word travels in a
//! [`frame`] over a [`link`] (or its tokio form, [`link_async`]); what is large or free-form
//! travels beside it as a [`payload`]. [`control`] is the supervisor's star, and [`boot`] how
//! a daemon comes to life on it. [`chain`] and [`merkle`] are how the chronicle is hashed, for whoever
//! checks it.
//!
//! This crate knows no daemon, and opens nothing: it only uses ends it was given.

mod chronicle;
pub mod disk;
pub mod doc;
pub mod edge;
pub mod edges;
pub mod executor;
pub mod ids;
pub mod json;
pub mod log;
pub mod masks;
pub mod models;
pub mod msg;
mod names;
pub mod parcel;
pub mod phase;
pub mod role;
mod star;
pub mod sys;
mod turn;
mod wire;
pub mod word;

pub use chronicle::{chain, merkle, secrets};
pub use star::{boot, control};
pub use turn::{envelope, lists, prompt, request, turn_log};
pub use wire::{frame, link, link_async, payload, socket};

/// Misuse of the wire that must not compile. What the compiler says of it word by word is compared in a full run
/// (`tests/compile_fail.rs`), which compiles all dependencies once more for that.
#[cfg(doctest)]
mod misuse {
    macro_rules! must_not_compile {
        ($($name:ident $file:literal $code:literal)*) => {$(
            #[doc = concat!("```compile_fail", $code, "\n", include_str!(concat!("../tests/compile_fail/", $file, ".rs")), "\n```")]
            pub struct $name;
        )*};
    }

    must_not_compile! {
        ClonedClient "cloned_client" ",E0599"
        ClonedEnd "cloned_end" ",E0308"
        Downhill "downhill" ",E0080"
        ForgottenPhase "forgotten_phase" ""
        MissingPayload "missing_payload" ",E0308"
        PhaseNoneWithoutReason "phase_none_without_reason" ""
        SwappedEnd "swapped_end" ",E0308"
        WrongEnd "wrong_end" ",E0271"
        WrongWord "wrong_word" ",E0599"
    }
}
