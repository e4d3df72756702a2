//! One proposal through the rules of the lattice, among a hundred thousand nodes: arithmetic in this process.

use metnos_soul::compile::compile;
use metnos_soul::model::{Envelope, Node, Role, Shown};
use metnos_soul::nodes::Nodes;

use crate::stats::{Table, Times};

const NODES: usize = 100_000;
const ROUNDS: usize = 500;

fn node(number: usize) -> Node {
    Node {
        node_id: format!("n{number}"),
        premise: format!("The box {number} is on the shelf {} of the cellar", number % 97),
        node_type: "spatial".to_owned(),
        status: "active".to_owned(),
        pinned: false,
    }
}

fn shown(seq: u64) -> Shown {
    let text = format!(
        "By the way, my sister Laura lives in Turin. The box {seq} is on the shelf 3 of the garage, I think not of the attic"
    );
    Shown {
        seq,
        kind: "owner_message".to_owned(),
        trust: "owner".to_owned(),
        speaker: "Marco".to_owned(),
        peer: "Marco".to_owned(),
        text,
    }
}

/// Measures a block with one new node, and one with as much as a block may hold.
pub fn measure(table: &mut Table) {
    let lattice = Nodes::new((0..NODES).map(node).collect());
    let envelope = Envelope {
        nonce: "n".to_owned(),
        scope: "household".to_owned(),
        role: Role::Mind,
        shown: (0..16).map(shown).collect(),
        added_today: 0,
    };
    let add = |n: usize| serde_json::json!({"ref": format!("a{n}"), "premise": "Marco's sister Laura lives in Turin", "node_type": "relationship", "evidence": [n]});
    let touch = |n: usize| serde_json::json!({"node_id": format!("n{n}"), "evidence": [n % 16]});
    let full = serde_json::json!({
        "add": (0..8).map(add).collect::<Vec<_>>(),
        "reinforce": (0..16).map(touch).collect::<Vec<_>>(),
        "contradict": (16..24).map(touch).collect::<Vec<_>>(),
    });
    let one = serde_json::json!({"add": [add(3)]});
    for (what, block) in [("one new node", one), ("a full block of 32 operations", full)] {
        let reply = format!("Noted.\n<lattice_update nonce=n>{block}</lattice_update>");
        let mut times = Times::default();
        for _ in 0..ROUNDS {
            let _ = times.time(|| compile(&lattice, &envelope, &reply));
        }
        table.times(&format!("compile {what}, among {NODES} nodes"), &times, String::new(), "≤ 2 ms p50");
    }
}
