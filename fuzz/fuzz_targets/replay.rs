//! Any lines as the events of a replay: each is taken or refused, none stops the engine, nobody unpaired is ever allowed
//! anything, and what the catalogue does not have is denied.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_policy::evidence::context::Confirm;
use metnos_policy::replay::{Options, Replay};
use metnos_proto::doc::policy::Verdict;
use metnos_proto::msg::common::Lang;
use serde_json::{Value, json};

/// A trace whose only speaker is unpaired.
const BEGINNING: [&str; 2] = [
    r#"{"type":"header","trace":"t","catalog":"c","owner":["me"],"contacts":["anna@casa.example"]}"#,
    r#"{"type":"turn","turn":1,"context":"c1","principal":{"paired":false,"role":"owner"},"prompt":"read notes/a.md"}"#,
];

fuzz_target!(|text: &str| {
    let catalogue = json!({
        "r": {"effect": "read", "args": {"a": "path"}, "output": {"i": "X", "V": ["id"]}},
        "s": {"effect": "send", "args": {"a": "dest", "b": "payload"}, "output": {"i": "echo", "V": []}},
    });
    let options = Options { level: None, confirm: Confirm::Literal, lang: Lang::It };
    for beginning in [&BEGINNING[..0], &BEGINNING[..]] {
        let mut engine = Replay::new(options, |_: &str| Ok::<Value, String>(catalogue.clone()));
        let mut unpaired = false;
        for line in beginning {
            engine.line(line).expect("an event");
            unpaired = true;
        }
        for line in text.lines().take(64) {
            // Whoever else speaks may be somebody.
            unpaired &= !line.contains("turn") && !line.contains("\\u") && !line.contains("header");
            if let Ok(Some(verdict)) = engine.line(line) {
                assert!(!unpaired || verdict.verdict == Verdict::Deny);
            }
        }
    }
});
