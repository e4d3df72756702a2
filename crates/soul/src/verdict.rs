//! What the compiler says of one operation of a proposal.

use schemars::JsonSchema;
use serde::Serialize;

/// Whether an operation is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It becomes part of the lattice.
    Commit,
    /// It is kept for the owner or for more evidence, and changes nothing.
    Hold,
    /// It is not taken.
    Refuse,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident,)*) => {
        /// The rule that an operation came to, in the order in which the rules are asked.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
        pub enum Code { $($(#[$doc])* $code,)* }
    };
}

codes! {
    /// One block, the last thing in the message, with the nonce of this turn.
    R01,
    /// Strict JSON of a known shape.
    R02,
    /// Not more operations than allowed.
    R03,
    /// The type of the node may be proposed in this role.
    R04,
    /// The premise is one plain statement.
    R05,
    /// The premise holds no secret.
    R06,
    /// Who gives power cites a decision of policy or an edit of the owner.
    R07,
    /// The evidence was shown, can witness, and belongs to this scope.
    R08,
    /// Whom it is about took part in what is cited.
    R09,
    /// The words of the premise stand in the evidence.
    R10,
    /// Weights of the model are hints.
    R11,
    /// What is already held true is reinforced.
    R12,
    /// A node is reinforced once a session.
    R13,
    /// Protected nodes do not move.
    R14,
    /// Edges are sound.
    R15,
    /// No node is in two operations.
    R16,
    /// All of it in one transaction.
    R17,
    /// The pinned part of the capsule stays as it is.
    R18,
    /// A new node is provisional until more speaks for it.
    R19,
    /// Every change of a weight is logged.
    R20,
}

/// Why an operation is not accepted as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// [`Verdict::Hold`] or [`Verdict::Refuse`].
    pub verdict: Verdict,
    /// The rule.
    pub code: Code,
    /// For a person.
    pub why: String,
}

/// Refuses.
///
/// # Errors
/// Always: the objection.
pub fn refuse<T>(code: Code, why: impl Into<String>) -> Result<T, Objection> {
    Err(Objection { verdict: Verdict::Refuse, code, why: why.into() })
}

/// Holds.
///
/// # Errors
/// Always: the objection.
pub fn hold<T>(code: Code, why: impl Into<String>) -> Result<T, Objection> {
    Err(Objection { verdict: Verdict::Hold, code, why: why.into() })
}

/// What became of one operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Op {
    /// `add:<ref>`, `reinforce:<node>`, `contradict:<node>`, `edge:<source>><target>:<relation>`, with `#2` behind a name
    /// that stands there for the second time; `*` for the whole block.
    pub op: String,
    /// Whether it is accepted.
    pub verdict: Verdict,
    /// By which rule.
    pub code: Code,
    /// Why, for a person.
    pub why: String,
}
