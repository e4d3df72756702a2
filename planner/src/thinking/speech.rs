//! What the planner says to a person about a turn that a model could not end, in English and Italian.

use metnos_proto::msg::common::{Lang, Refusal};
use metnos_texts::{Key, say, tell};

/// Why a turn with a model ended without its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// Its replies were of no use.
    Useless,
    /// The same call was asked for again after it was refused.
    Repeated(Refusal),
    /// The model wrote more than is shown.
    TooMuch,
    /// It stopped in the middle of its answer.
    CutOff,
    /// Its provider did not let it answer.
    Refused,
    /// The prompt would be larger than the model can read.
    TooLong,
    /// As many thoughts as a turn may have, or as many calls.
    Bound,
    /// The model could not be asked.
    Unasked(Refusal),
    /// There is no money or there are no tokens for it.
    Unfunded(Refusal),
    /// What this turn was given is used up.
    UsedUp,
}

/// The sentence for it.
#[must_use]
pub fn why(why: &EndReason, lang: Lang) -> String {
    let because = |key, no: &Refusal| tell(lang, key, &[("why", (&metnos_texts::because(lang, no)).into())]);
    match why {
        EndReason::Useless => say(lang, Key::ModelUseless),
        EndReason::Repeated(why) => because(Key::ModelRepeated, why),
        EndReason::TooMuch => say(lang, Key::ModelTooMuch),
        EndReason::CutOff => say(lang, Key::ModelCutOff),
        EndReason::Refused => say(lang, Key::ModelRefused),
        EndReason::TooLong => say(lang, Key::ModelTooLong),
        EndReason::Bound => say(lang, Key::ModelBound),
        EndReason::Unasked(why) => because(Key::ModelUnasked, why),
        EndReason::Unfunded(why) => because(Key::ModelUnfunded, why),
        EndReason::UsedUp => say(lang, Key::ModelUsedUp),
    }
}

/// That a card must be answered first.
#[must_use]
pub fn waits(lang: Lang) -> String {
    say(lang, Key::WaitsForCard)
}
