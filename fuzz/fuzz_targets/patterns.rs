//! Any lines of a manifest's patterns, and any words held against them: a plan or an answer, never a panic, never more work than
//! is bounded, and no call that changes something without the first word of one of the lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_proto::envelope::{Candidate, Envelope, Named};
use metnos_proto::executor::PatternTable;
use metnos_proto::executor::pattern::{MAX_LINES, begins_with_word, parse};
use metnos_proto::msg::common::Lang;
use metnos_reflex::{Reply, plan};

fn candidate(class: &str, lang: Lang, say: Vec<String>) -> Candidate {
    serde_json::from_value(serde_json::json!({
        "name": "any", "version": "1.0.0", "summary": "Anything.", "examples": ["x"], "class": class,
        "input": {"type": "object", "properties": {
            "a": {"type": "string"}, "n": {"type": "integer"}, "text": {"type": "string", "contentMediaType": "text/plain"},
            "all": {"type": "array", "items": {"type": "string"}}, "one": {"type": "string", "enum": ["x", "largest"]}}},
        "output": {"type": "object"}, "roles": [["/a", "path"]],
    }))
    .map(|one: Candidate| Candidate {
        patterns: vec![PatternTable { lang, say, args: serde_json::Map::new(), lists: std::collections::BTreeMap::new(), lookup: None }],
        ..one
    })
    .expect("the candidate above is one")
}

fuzz_target!(|text: &str| {
    let mut lines: Vec<String> = text.lines().take(MAX_LINES + 1).map(str::to_owned).collect();
    let Some(words) = lines.pop() else { return };
    let may_change = lines.iter().any(|line| parse(line).is_ok_and(|parts| begins_with_word(&parts)));
    for (class, lang) in [("read", Lang::En), ("self_modify", Lang::It)] {
        let mut envelope = Envelope::empty(vec![candidate(class, lang, lines.clone())], lang);
        envelope.named = vec![Named::file("notes/trip.md"), Named::folder("notes")];
        if let Reply::Plan(plan) = plan(&words, &envelope) {
            assert!(plan.calls.iter().all(|call| call.executor == "any"));
            assert!(class == "read" || may_change, "{words}");
        }
    }
});
