//! A lattice in memory, by number and by what its nodes say.

use std::collections::HashMap;

use crate::model::{Lattice, Node};
use crate::premise;

/// A lattice in memory.
#[derive(Debug, Default)]
pub struct Nodes {
    by_id: HashMap<String, Node>,
    by_key: HashMap<String, String>,
    /// By number.
    protected: Vec<Node>,
}

impl Nodes {
    /// Of these nodes.
    #[must_use]
    pub fn new(nodes: Vec<Node>) -> Self {
        let by_key = nodes.iter().map(|node| (premise::key(&node.premise), node.node_id.clone())).collect();
        let mut protected: Vec<Node> = nodes.iter().filter(|node| node.is_protected()).cloned().collect();
        protected.sort_by(|one, other| one.node_id.cmp(&other.node_id));
        Self { by_key, protected, by_id: nodes.into_iter().map(|node| (node.node_id.clone(), node)).collect() }
    }
}

impl Lattice for Nodes {
    fn node(&self, id: &str) -> Option<Node> {
        self.by_id.get(id).cloned()
    }

    fn same(&self, key: &str) -> Option<Node> {
        self.node(self.by_key.get(key)?)
    }

    fn protected(&self) -> &[Node] {
        &self.protected
    }
}
