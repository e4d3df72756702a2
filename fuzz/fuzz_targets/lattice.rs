//! Any message of a model, on any words: verdicts, never a panic; and nothing is committed that cites no shown event, or
//! without the nonce of the turn.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_soul::compile::compile;
use metnos_soul::model::{Envelope, Node, Role, Shown};
use metnos_soul::nodes::Nodes;
use metnos_soul::verdict::Verdict;

fuzz_target!(|texts: (&str, &str, &str)| {
    let (reply, words, premise) = texts;
    let shown = Shown {
        seq: 7,
        kind: "owner_message".to_owned(),
        trust: "owner".to_owned(),
        speaker: "Anna".to_owned(),
        peer: "Anna".to_owned(),
        text: words.to_owned(),
    };
    let node = Node {
        node_id: "n1".to_owned(),
        premise: "Anna likes tea".to_owned(),
        node_type: "preference".to_owned(),
        status: "active".to_owned(),
        pinned: false,
    };
    let block = serde_json::json!({"add": [{"premise": premise, "node_type": "premise", "evidence": [7]}]});
    let whole = format!("{reply}<lattice_update nonce=n>{block}</lattice_update>");
    for (reply, nonce) in [(reply, "n"), (whole.as_str(), "n"), (whole.as_str(), "m")] {
        let envelope = Envelope {
            nonce: nonce.to_owned(),
            scope: "Anna".to_owned(),
            role: Role::Mind,
            shown: vec![shown.clone()],
            added_today: 0,
        };
        let compiled = compile(&Nodes::new(vec![node.clone()]), &envelope, reply);
        let committed = compiled.ops.iter().any(|op| op.verdict == Verdict::Commit);
        assert!(!committed || (nonce == "n" && reply.contains("nonce") && !words.is_empty()));
    }
});
