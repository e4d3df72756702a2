//! What a proposal is judged against: what the turn was shown, who asked, what is held true already.

use schemars::JsonSchema;
use serde::Deserialize;

/// An event that was shown to the model in this turn.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Shown {
    /// Its number in the chronicle.
    pub seq: u64,
    /// `owner_message`, `assistant_message`, `tool_result`, `world_action`, `policy_decision`, `owner_edit`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `owner`, `paired`, `guest`, `tool`, `web`, `system`.
    #[serde(default)]
    pub trust: String,
    /// Who said it.
    #[serde(default)]
    pub speaker: String,
    /// With whom the conversation is.
    #[serde(default)]
    pub peer: String,
    /// What it says.
    #[serde(default)]
    pub text: String,
}

/// What an event can bear witness to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Witness {
    /// The owner's own words.
    Owner,
    /// The words of somebody of the household.
    Paired,
    /// The words of a guest.
    Guest,
    /// What an executor gave back or did, or what the set itself did.
    Machine,
    /// What stands on a page of the web.
    Web,
    /// What policyd decided.
    Decision,
    /// What the owner wrote into his own files.
    Edit,
    /// Nothing: the assistant's own words, and whatever is not known here.
    None,
}

impl Shown {
    /// What it can bear witness to: by its type, and never to more than its trust allows.
    #[must_use]
    pub fn witness(&self) -> Witness {
        match (self.kind.as_str(), self.trust.as_str()) {
            ("owner_message", "owner") => Witness::Owner,
            ("owner_message", "paired") => Witness::Paired,
            ("owner_message", "guest") => Witness::Guest,
            ("tool_result" | "world_action", "web") => Witness::Web,
            ("tool_result", "tool" | "owner" | "paired" | "system")
            | ("world_action", "tool" | "owner" | "paired" | "system") => Witness::Machine,
            ("policy_decision", "system" | "owner") => Witness::Decision,
            ("owner_edit", "owner" | "system") => Witness::Edit,
            _ => Witness::None,
        }
    }
}

/// A node of the lattice.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Node {
    /// Its number.
    pub node_id: String,
    /// What is held true.
    pub premise: String,
    /// `identity`, `premise`, `relationship`, `preference`, `goal`, `value`, `operational`, `spatial`, `temporal`, `law`.
    #[serde(default)]
    pub node_type: String,
    /// `active`, `provisional`, `archived`.
    #[serde(default)]
    pub status: String,
    /// Whether it stands in the part of the capsule that never changes by itself.
    #[serde(default)]
    pub pinned: bool,
}

impl Node {
    /// Whether no proposal may move it.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.pinned || matches!(self.node_type.as_str(), "identity" | "value" | "law")
    }
}

/// What is held true, to be looked up.
pub trait Lattice {
    /// The node of this number.
    fn node(&self, id: &str) -> Option<Node>;
    /// A node that says the same: by its [`crate::premise::key`].
    fn same(&self, key: &str) -> Option<Node>;
    /// The protected nodes, by number.
    fn protected(&self) -> &[Node];
}

/// In which role a model proposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It speaks with a person, decomposes a goal, or reflects.
    Mind,
    /// It reads what is outside: `scraper`, `silk`. So does whatever is not known here.
    Reader,
    /// The bridge from the mnestome.
    Bridge,
    /// The owner's rite, or the birth.
    Rite,
}

impl Role {
    /// By its name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            "interface" | "mind" | "planner" | "orchestrator" | "reflection" => Self::Mind,
            "bridge" | "mnestome" | "mnestome_bridge" => Self::Bridge,
            "rite" | "birth" => Self::Rite,
            _ => Self::Reader,
        }
    }

    /// Whether a node of this type may be proposed in it.
    #[must_use]
    pub fn may_add(self, node_type: &str) -> bool {
        match node_type {
            "premise" => !matches!(self, Self::Bridge),
            "relationship" | "preference" | "goal" | "spatial" | "temporal" => matches!(self, Self::Mind | Self::Rite),
            "operational" => self == Self::Bridge,
            "identity" | "value" | "law" => self == Self::Rite,
            _ => false,
        }
    }
}

/// The turn in which something is proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// What the block must name.
    pub nonce: String,
    /// Whose memory it is about: a person, or `household`.
    pub scope: String,
    /// In which role.
    pub role: Role,
    /// What was shown.
    pub shown: Vec<Shown>,
    /// How many nodes were added in this scope on the same day.
    pub added_today: usize,
}
