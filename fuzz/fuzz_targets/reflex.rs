//! Any words of a person at the reflex: a plan or an answer, never a panic, and never a call of an
//! executor that was not offered.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use metnos_proto::envelope::Envelope;
use metnos_reflex::{Reply, plan};

static ENVELOPE: LazyLock<Envelope> = LazyLock::new(|| {
    serde_json::from_value(serde_json::json!({
        "nonce": 1, "identity": "", "files": [], "capsule": "", "principal": "cli:uid:1000", "channel": "Cli", "lang": "En",
        "recent": [{"seq": 1, "text": "read notes/welcome.md"}], "recalled": [], "earlier": [], "done": [],
        "candidates": [
            {
                "name": "fs_read", "version": "1.0.0", "summary": "Read a file of the workspace and return its content.",
                "examples": ["read notes/journal.md", "leggi la lista della spesa"], "class": "read",
                "input": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}},
                "output": {"type": "object", "properties": {"content": {"type": "string", "contentMediaType": "text/plain"}}},
                "roles": [["/path", "path"]],
            },
            {
                "name": "text_stats", "version": "1.0.0", "summary": "Count the lines, words and characters of a text.",
                "examples": ["how many words are in this text", "quante parole ci sono"], "class": "read",
                "input": {"type": "object", "required": ["text"],
                    "properties": {"text": {"type": "string", "contentMediaType": "text/plain"}}},
                "output": {"type": "object", "properties": {"words": {"type": "integer"}}},
                "roles": [["/text", "payload"]],
            },
        ],
        "mnests": [],
    }))
    .expect("the envelope above is one")
});

fuzz_target!(|words: &str| match plan(words, &ENVELOPE) {
    Reply::Plan(plan) => {
        assert!(!plan.calls.is_empty());
        for call in &plan.calls {
            assert!(ENVELOPE.candidates.iter().any(|candidate| candidate.name == call.executor));
        }
    }
    Reply::Say(text) => assert!(!text.is_empty()),
    Reply::Cannot(unable) => assert!(!unable.text.is_empty()),
    Reply::NotUnderstood(text) => assert!(!text.is_empty()),
    Reply::Schedule(..) | Reply::Review(..) => {}
});
