//! Tests of `output`: every way in which a run can end becomes one outcome and one document.
#![allow(clippy::unwrap_used)]
use metnos_proto::msg::common::Carrier;
use proptest::prelude::*;

use serde_json::json;

use super::*;
use crate::pool::testing::fs_read;

const USED: Resources = Resources {
    wall_us: 1,
    cpu_us: 2,
    peak_kib: 3,
    output_bytes: 99,
    written_bytes: 0,
    carrier: Carrier::Execed,
    visits: Vec::new(),
};

fn judged(bytes: &[u8]) -> Judged {
    judge(&fs_read(), finished(Outcome::Ok, Some(bytes.to_vec())))
}

fn finished(outcome: Outcome, result: Option<Vec<u8>>) -> Finished {
    Finished { outcome, result, detail: "why".into(), log: String::new(), alarms: Vec::new(), resources: USED }
}

fn good(content: &str) -> Value {
    json!({"ok": true, "path": "a", "content": content, "size": 1, "lines": 1, "sha": "0".repeat(64)})
}

#[test]
fn a_result_that_fits_is_handed_on_in_its_canonical_form() {
    let text = good("x").to_string().replace(':', " : ");
    let judged = judged(text.as_bytes());
    assert_eq!((judged.outcome, &judged.value), (Outcome::Ok, &good("x")));
    assert_eq!(judged.bytes, json::canonical(&good("x")));
    assert_eq!(judged.digest, Blake3::of(&judged.bytes));
    assert_eq!(judged.resources.output_bytes, judged.bytes.len() as u64);
    assert_eq!(judged.leaves().len(), 6);
}

#[test]
fn an_error_has_exactly_its_shape_and_a_declared_class() {
    let error = json!({"ok": false, "error": {"class": "NotFound", "message": "m"}});
    let found = judged(error.to_string().as_bytes());
    assert_eq!((found.outcome, found.error_class.as_str(), &found.value), (Outcome::Error, "NotFound", &error));
    for bad in [
        json!({"ok": false}),
        json!({"ok": false, "error": {"class": "NotFound"}}),
        json!({"ok": false, "error": {"class": "NotFound", "message": 1}}),
        json!({"ok": false, "error": {"class": "NotFound", "message": "m", "more": 1}}),
        json!({"ok": false, "error": {"class": "NotFound", "message": "m"}, "content": "smuggled"}),
        json!({"ok": false, "error": {"class": "Undeclared", "message": "m"}}),
        json!({"ok": false, "error": {"class": "Timeout", "message": "m"}}),
        json!({"ok": false, "error": "NotFound"}),
        json!({"ok": 1}),
        json!({}),
    ] {
        let found = judged(bad.to_string().as_bytes());
        assert_eq!((found.outcome, found.error_class.as_str()), (Outcome::BadOutput, "BadOutput"), "{bad}");
        assert_eq!(found.value.pointer("/error/class"), Some(&json!("BadOutput")));
        assert!(!found.value.to_string().contains("smuggled"));
    }
}

#[test]
fn a_message_may_be_exactly_the_limit() {
    let with = |length| {
        let message = "é".repeat(length);
        judged(json!({"ok": false, "error": {"class": "NotFound", "message": message}}).to_string().as_bytes()).outcome
    };
    assert_eq!(with(MAX_MESSAGE), Outcome::Error);
    assert_eq!(with(MAX_MESSAGE + 1), Outcome::BadOutput);
}

#[test]
fn a_result_may_be_exactly_as_large_as_granted_and_not_a_byte_more() {
    let most = fs_read().manifest.sandbox.quotas.output_bytes();
    let frame = good("").to_string().len();
    assert_eq!(judged(good(&"x".repeat(most - frame)).to_string().as_bytes()).outcome, Outcome::Ok);
    assert_eq!(judged(good(&"x".repeat(most - frame + 1)).to_string().as_bytes()).outcome, Outcome::OutputTooLarge);
}

#[test]
fn result_larger_than_quota_in_canonical_form_is_rejected() {
    // fs_read's schema has no list of numbers, so its integers stand in for one: 1e3 becomes 1000.0.
    let number = br#"{"ok":true,"path":"a","content":"","size":1e3,"lines":1,"sha":"0"}"#;
    assert_eq!(judged(number).outcome, Outcome::BadOutput);
    let grown = json::canonical(&serde_json::from_slice(b"[1e5]").unwrap());
    assert!(grown.len() > 5, "{}", String::from_utf8_lossy(&grown));
}

#[test]
fn every_other_end_has_a_document_of_its_own_class() {
    for outcome in [
        Outcome::Crashed,
        Outcome::BadOutput,
        Outcome::CpuExceeded,
        Outcome::MemoryExceeded,
        Outcome::Timeout,
        Outcome::OutputTooLarge,
        Outcome::ProcessesExceeded,
        Outcome::Killed,
        Outcome::Interrupted,
        Outcome::SandboxFailed,
        Outcome::DiskExceeded,
        Outcome::DiskFull,
        Outcome::Failed,
    ] {
        // A result that came with it counts for nothing.
        let found = judge(&fs_read(), finished(outcome, Some(good("x").to_string().into_bytes())));
        assert_eq!((found.outcome, found.error_class.as_str()), (outcome, class_of(outcome)));
        assert_eq!(found.value.pointer("/error/class"), Some(&json!(class_of(outcome))));
        let message = found.value.pointer("/error/message").unwrap().as_str().unwrap();
        assert!(message.ends_with(": why"), "{message}");
    }
    assert_eq!(judge(&fs_read(), finished(Outcome::Ok, None)).outcome, Outcome::Crashed);
}

#[test]
fn leaves_beyond_what_a_frame_holds_become_one() {
    let many: Map<String, Value> = (0..MAX_LEAVES).map(|n| (format!("{n:0>500}"), json!(n))).collect();
    let judged = Judged::new(Outcome::Ok, String::new(), Value::Object(many), USED);
    let leaves = judged.leaves();
    assert!(leaves.len() < MAX_LEAVES);
    let last = leaves.last().unwrap();
    assert_eq!((last.pointer.as_str(), last.digest), ("", judged.digest));
    let bytes: usize = leaves.iter().map(|leaf| leaf.pointer.len() + 34).sum();
    assert!(bytes <= MAX_LEAF_BYTES + 34);
}

proptest! {
    #[test]
    fn any_bytes_are_judged_and_make_one_document(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let judged = judged(&bytes);
        prop_assert!(matches!(judged.outcome, Outcome::BadOutput | Outcome::OutputTooLarge));
        prop_assert_eq!(&judged.bytes, &json::canonical(&judged.value));
        prop_assert!(judged.value.pointer("/error/message").is_some());
    }
}
