//! Drafts of executors: the owner orders one from syntd; policyd has it tried in the tightest sandbox there is, and puts it
//! into the pool unsigned. None of these words makes anything callable: that is the owner's `executor sign`.

use crate::ids::TurnId;
use crate::msg::common::ExecutorId;
use crate::msg::sandboxd::BirthCase;
use crate::words;

/// The longest wish, in bytes.
pub const MAX_WISH: usize = 600;
/// The most examples of a draft's input and output.
pub const MAX_DRAFT_EXAMPLES: usize = 40;
/// The most further inputs that one trial runs a draft on.
pub const MAX_TRIAL_INPUTS: usize = 64;
/// The most bytes of a [`crate::doc::draft::DraftOrder`], as JSON.
pub const MAX_DRAFT_ORDER: usize = 1 << 20;
/// The most bytes of a [`crate::doc::draft::DraftTrial`], as JSON.
pub const MAX_DRAFT_TRIAL: usize = 4 << 20;
/// The most bytes of one step of [`DraftStep`].
pub const MAX_STEP: usize = 400;

words! {
    // ---- the owner to syntd --------------------------------------------

    /// What is missing, what growth is still allowed, and which drafts there are.
    pub struct GrowthStatus {}

    /// Draft an executor. The order comes beside it, a [`crate::doc::draft::DraftOrder`] as JSON. What is done comes in
    /// [`DraftStep`]s, then a [`DraftEnded`]; an owner who goes away before ends the run.
    pub struct DraftExecutor {}

    /// A run of drafts is open.
    pub struct DraftStarted {
        /// As policyd has named it.
        pub run: TurnId,
    }

    /// The report of a run of drafts that has ended, if this syntd still has it.
    pub struct ShowDraft {
        /// The name of the executor or of the run; empty for the last one.
        pub name: String,
    }

    /// A note to the owner who has ordered a draft: what is being done, in a sentence of at most [`MAX_STEP`] bytes.
    pub struct DraftStep {
        /// The sentence.
        pub text: String,
    }

    /// A note: the run has ended, with or without a draft; [`ShowDraft`] has the report.
    pub struct DraftEnded {
        /// Which run.
        pub run: TurnId,
    }

    // ---- syntd to policyd, and policyd to sandboxd ---------------------

    /// Try a draft: scan its code, run its birth tests and then the inputs. Files and inputs come beside it, a
    /// [`crate::doc::draft::DraftTrial`] as JSON. Refused unless it is a draft of that run which is granted nothing.
    pub struct TryDraft {
        /// The run of drafts, which is open on this link.
        pub run: TurnId,
        /// What its manifest says that it is.
        pub id: ExecutorId,
    }

    /// policyd to sandboxd: the same, of files that lie nowhere. They run in the profile `synth`, whatever they ask for.
    pub struct TryTexts {
        /// What their manifest says that they are.
        pub id: ExecutorId,
    }

    /// What came of a trial. What came of the inputs stands beside it, a list of [`crate::doc::draft::TriedInput`] as JSON;
    /// it is empty where a birth test fails.
    pub struct DraftTried {
        /// The birth tests; where not all were wanted, up to the first that fails.
        pub cases: Vec<BirthCase>,
    }

    /// Put a draft into the pool, signed by nobody. Its four files come beside it, as for a parcel.
    pub struct OfferDraft {
        /// The run of drafts, which is open on this link.
        pub run: TurnId,
        /// What its manifest says that it is.
        pub id: ExecutorId,
        /// What was wished for, in the owner's words; at most [`MAX_WISH`] bytes.
        pub wish: String,
        /// The model that wrote the code, as `substrate/model`.
        pub model: String,
    }
}
