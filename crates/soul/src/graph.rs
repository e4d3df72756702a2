//! R15: whether an edge joins what exists, says what an edge can say, and closes no circle where none is meant.

use std::collections::{HashMap, HashSet};

use crate::model::Lattice;
use crate::proposal::{Edge, RELATIONS};
use crate::verdict::{Code, Objection, Verdict, hold, refuse};

/// Relations along which nothing may lead back to itself.
const ACYCLIC: [&str; 4] = ["supports", "refines", "depends_on", "caused_by"];

/// The edges of one proposal, one after the other.
#[derive(Default)]
pub struct Edges {
    /// What became of the nodes that the same block adds, by their reference.
    pub added: HashMap<String, Verdict>,
    taken: Vec<(String, String, String)>,
}

impl Edges {
    /// Takes an edge.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn take(&mut self, lattice: &dyn Lattice, edge: &Edge) -> Result<(), Objection> {
        if !RELATIONS.contains(&edge.relation.as_str()) {
            return refuse(Code::R15, format!("`{}` is no relation", edge.relation));
        }
        if edge.strength.is_some_and(|strength| !(0.0..=1.0).contains(&strength)) {
            return refuse(Code::R15, "its strength is not between 0 and 1");
        }
        if edge.source == edge.target {
            return refuse(Code::R15, "it leads from a node to itself");
        }
        for end in [&edge.source, &edge.target] {
            self.end(lattice, end)?;
        }
        let pair = |one: &(String, String, String)| {
            (one.0 == edge.source && one.1 == edge.target)
                || (one.0 == edge.target && one.1 == edge.source && !is_directed(&one.2))
        };
        if let Some(other) = self.taken.iter().find(|one| pair(one)) {
            return refuse(Code::R15, format!("the two are joined already, by `{}`", other.2));
        }
        if ACYCLIC.contains(&edge.relation.as_str()) && self.leads(&edge.target, &edge.source) {
            return refuse(Code::R15, "it closes a circle");
        }
        self.taken.push((edge.source.clone(), edge.target.clone(), edge.relation.clone()));
        Ok(())
    }

    fn end(&self, lattice: &dyn Lattice, name: &str) -> Result<(), Objection> {
        match (self.added.get(name), lattice.node(name)) {
            (Some(Verdict::Commit), _) => Ok(()),
            (Some(Verdict::Hold), _) => hold(Code::R15, format!("`{name}` is held")),
            (Some(Verdict::Refuse), _) => refuse(Code::R15, format!("`{name}` was refused")),
            (None, Some(node)) if node.is_protected() => hold(Code::R14, format!("`{name}` is protected")),
            (None, Some(_)) => Ok(()),
            (None, None) => refuse(Code::R15, format!("there is no node `{name}`")),
        }
    }

    /// Whether edges that must not close a circle lead from one node to another.
    fn leads(&self, from: &str, to: &str) -> bool {
        let (mut open, mut seen) = (vec![from], HashSet::new());
        while let Some(at) = open.pop() {
            if at == to {
                return true;
            }
            if seen.insert(at) {
                let next = self.taken.iter().filter(|one| one.0 == at && ACYCLIC.contains(&one.2.as_str()));
                open.extend(next.map(|one| one.1.as_str()));
            }
        }
        false
    }
}

fn is_directed(relation: &str) -> bool {
    !matches!(relation, "contradicts" | "related_to")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Node;
    use crate::nodes::Nodes;

    fn edge(source: &str, relation: &str, target: &str) -> Edge {
        Edge { source: source.into(), target: target.into(), relation: relation.into(), strength: None }
    }

    #[test]
    fn sound_edges_are_taken_and_others_named() {
        let node = |id: &str, kind: &str| Node {
            node_id: id.into(),
            premise: format!("premise {id}"),
            node_type: kind.into(),
            status: "active".into(),
            pinned: false,
        };
        let lattice = Nodes::new(
            ["a", "b", "c"].map(|id| node(id, "premise")).into_iter().chain([node("p", "identity")]).collect(),
        );
        let mut edges = Edges::default();
        edges.added.extend([
            ("new".to_owned(), Verdict::Commit),
            ("held".to_owned(), Verdict::Hold),
            ("bad".to_owned(), Verdict::Refuse),
        ]);
        let mut verdict = |one: Edge| edges.take(&lattice, &one).err().map(|objection| objection.verdict);
        assert_eq!(verdict(edge("a", "depends_on", "b")), None);
        assert_eq!(verdict(edge("b", "refines", "c")), None);
        assert_eq!(verdict(edge("new", "supports", "a")), None);
        let refused = Some(Verdict::Refuse);
        for one in [
            edge("c", "caused_by", "a"),
            edge("a", "depends_on", "b"),
            edge("a", "contradicts", "b"),
            edge("a", "supports", "a"),
            edge("a", "loves", "c"),
            edge("a", "supports", "nobody"),
            edge("bad", "supports", "a"),
            Edge { strength: Some(1.5), ..edge("a", "supports", "c") },
        ] {
            assert_eq!(verdict(one.clone()), refused, "{one:?}");
        }
        for one in [edge("held", "supports", "a"), edge("a", "supports", "p"), edge("p", "contradicts", "a")] {
            assert_eq!(verdict(one.clone()), Some(Verdict::Hold), "{one:?}");
        }
        assert_eq!(verdict(edge("a", "related_to", "c")), None);
        assert_eq!(verdict(edge("c", "related_to", "a")), refused);
    }
}
