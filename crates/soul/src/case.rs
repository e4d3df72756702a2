//! One case for the compiler as a line of JSON, and what it says of it: how anybody can bring cases of his own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compile::compile;
use crate::model::{Envelope, Node, Role, Shown};
use crate::nodes::Nodes;
use crate::verdict::Op;

/// A turn, and what a model replied in it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Case {
    /// What the case is called.
    pub id: String,
    /// The nonce of the turn.
    pub nonce: String,
    /// Whose memory it is about.
    #[serde(default = "household")]
    pub scope: String,
    /// In which role the model replied: `interface`, `orchestrator`, `reflection`, `scraper`, `silk`, `bridge`, `rite`.
    pub role: String,
    /// What was shown in the turn.
    #[serde(default)]
    pub shown: Vec<Shown>,
    /// What is held true already.
    #[serde(default)]
    pub nodes: Vec<Node>,
    /// The whole message of the model.
    pub reply: String,
}

fn household() -> String {
    "household".to_owned()
}

/// What became of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Outcome {
    /// What the case is called.
    pub id: String,
    /// What became of each operation; none where the message holds no block.
    pub ops: Vec<Op>,
    /// Whether the capsule would change.
    pub capsule_changed: bool,
}

impl Case {
    /// Compiles it against a lattice that holds its nodes alone.
    #[must_use]
    pub fn compile(self) -> Outcome {
        let envelope = Envelope {
            nonce: self.nonce,
            scope: self.scope,
            role: Role::of(&self.role),
            shown: self.shown,
            added_today: 0,
        };
        let compiled = compile(&Nodes::new(self.nodes), &envelope, &self.reply);
        Outcome { id: self.id, ops: compiled.ops, capsule_changed: compiled.capsule_changed }
    }
}
