//! An edge as the links know it: its ends, each in one pair of hands, and why an ask over it has no answer.

use std::os::fd::OwnedFd;
use std::time::Duration;

use postcard_schema::Schema;

use crate::edges::EdgeId;
use crate::msg::common::Refusal;
use crate::role::{Role, RoleName};
use crate::word::Word;

/// What keeps the words of an edge in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// A machine: its name, and what it keeps.
    Machine(&'static str, &'static str),
    /// Nothing, for this reason: each word is admissible at any time.
    Free(&'static str),
}

impl std::fmt::Display for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Machine(name, rule) => write!(f, "phase {name}: {rule}"),
            Self::Free(reason) => write!(f, "phase none: {reason}"),
        }
    }
}

/// One edge of the matrix.
pub trait Edge: Sized + std::fmt::Debug + 'static {
    /// Its number on the wire.
    const ID: EdgeId;
    /// Who asks.
    type Asker: Role;
    /// Who answers.
    type Answerer: Role;
    /// The questions.
    type Ask: Word;
    /// The answers: one per question, and the refusal.
    type Answer: Word;
    /// What the answerer may send unasked.
    type Note: Word;

    /// How long an ask may take before the asker gives up on it.
    fn within(ask: &Self::Ask) -> Duration;

    /// The refusal as an answer of this edge.
    fn refused(refusal: Refusal) -> Self::Answer;

    /// The edge in words, as in the golden file: every type, field, count and limit.
    fn description() -> String;

    /// What both sides must agree on; see [`key`](crate::edge::key).
    const SCHEMA_KEY: [u8; 8];

    /// What keeps its words in order.
    const ORDER: Order;
}

/// Which end of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, Schema)]
pub enum Side {
    /// The one that asks.
    Asker,
    /// The one that answers.
    Answerer,
}

/// Who is at the other end of a brokered admin channel, as the kernel reported to the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, Schema)]
pub struct PeerCred {
    /// The process, when it connected.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
}

/// An end of a channel as it comes over the control star.
#[derive(Debug)]
pub struct RawEnd {
    /// Which edge.
    pub edge: EdgeId,
    /// Which end of it.
    pub side: Side,
    /// Counts up each time one of the two daemons is restarted.
    pub generation: u32,
    /// Set on the edges of `metnosctl` only.
    pub peer: Option<PeerCred>,
    /// The channel.
    pub fd: OwnedFd,
}

/// The asking end of edge `E`. Cannot be copied: who gives it away has it no longer.
#[derive(Debug)]
pub struct AskerEnd<E: Edge> {
    pub(crate) raw: RawEnd,
    edge: std::marker::PhantomData<E>,
}

/// The answering end of edge `E`. Cannot be copied.
#[derive(Debug)]
pub struct AnswererEnd<E: Edge> {
    pub(crate) raw: RawEnd,
    edge: std::marker::PhantomData<E>,
}

/// An end that is not what it was taken for.
#[derive(Debug, thiserror::Error)]
#[error("an end of edge {edge:?}, side {side:?}, where {wanted} was expected")]
pub struct WrongEnd {
    edge: EdgeId,
    side: Side,
    wanted: &'static str,
}

macro_rules! typed_end {
    ($name:ident, $side:ident) => {
        impl<E: Edge> $name<E> {
            /// Takes a raw end for what it says it is.
            ///
            /// # Errors
            /// When it is an end of another edge, or the other end.
            pub fn new(raw: RawEnd) -> Result<Self, WrongEnd> {
                if raw.edge == E::ID && raw.side == Side::$side {
                    Ok(Self { raw, edge: std::marker::PhantomData })
                } else {
                    Err(WrongEnd { edge: raw.edge, side: raw.side, wanted: std::any::type_name::<Self>() })
                }
            }

            /// The generation of the channel.
            #[must_use]
            pub fn generation(&self) -> u32 {
                self.raw.generation
            }

            /// Who is at the other end, on the edges of `metnosctl`.
            #[must_use]
            pub fn peer(&self) -> Option<PeerCred> {
                self.raw.peer
            }
        }
    };
}

typed_end!(AskerEnd, Asker);
typed_end!(AnswererEnd, Answerer);

/// Both ends of a fresh channel of edge `E`: for tests and benchmarks, which play both parts.
///
/// # Errors
/// When there is no descriptor left.
pub fn pair<E: Edge>(generation: u32, peer: Option<PeerCred>) -> std::io::Result<(AskerEnd<E>, AnswererEnd<E>)> {
    let (asker, answerer) = crate::socket::pair_for(E::ID)?;
    let raw = |fd, side| RawEnd { edge: E::ID, side, generation, peer, fd };
    Ok((
        AskerEnd { raw: raw(asker, Side::Asker), edge: std::marker::PhantomData },
        AnswererEnd { raw: raw(answerer, Side::Answerer), edge: std::marker::PhantomData },
    ))
}

/// Why an ask has no answer.
#[derive(Debug, thiserror::Error)]
pub enum RpcError {
    /// The other side said no.
    #[error("{0}")]
    Refused(Refusal),
    /// The other side went away; whether it acted is unknown.
    #[error("{0} is gone")]
    Gone(RoleName),
    /// No answer within the ask's time.
    #[error("{role} has not answered `{word}` within {within_ms} ms")]
    Late {
        /// Who.
        role: RoleName,
        /// What was asked.
        word: &'static str,
        /// How long it had.
        within_ms: u64,
    },
    /// The other side broke the protocol; the channel is closed.
    #[error("{0} broke the protocol: {1}")]
    Violation(RoleName, String),
    /// It could not be sent.
    #[error("the ask could not be sent: {0}")]
    Unsendable(String),
}

impl RpcError {
    /// The same as a refusal, for passing on to one's own asker.
    #[must_use]
    pub fn into_refusal(self) -> Refusal {
        use crate::msg::common::RefusalCode;
        match self {
            Self::Refused(refusal) => refusal,
            Self::Gone(role) => Refusal::new(
                RefusalCode::Unavailable,
                "peer.gone",
                format!("{role} is not running, or stopped in the middle"),
            )
            .remedy("it is restarted by itself; try again in a moment, or look at `metnosctl status`"),
            Self::Late { .. } => Refusal::new(RefusalCode::Unavailable, "peer.late", self.to_string())
                .remedy("look at `metnosctl status` and at the log of that daemon"),
            Self::Violation(..) | Self::Unsendable(_) => {
                Refusal::new(RefusalCode::Internal, "peer.protocol", self.to_string())
            }
        }
    }
}
