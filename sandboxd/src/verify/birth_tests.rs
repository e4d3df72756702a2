//! Tests of `birth`: birth tests are run as they are written, and a candidate that fails one is not born.
#![allow(clippy::unwrap_used)]
use metnos_proto::msg::common::Resources;
use proptest::prelude::*;

use serde_json::json;

use super::*;

fn case(name: &str) -> Value {
    json!({"name": name, "files": {}, "args": {}, "expect": {"ok": true, "values": {"/a": 1}}})
}

fn read(cases: &[Value]) -> Result<Vec<Case>, String> {
    read_cases(json!({"ok": true, "cases": cases}).to_string().as_bytes())
}

#[test]
fn there_are_at_least_three_cases_and_at_most_the_limit() {
    let many = |count: usize| (0..count).map(|n| case(&format!("case {n}"))).collect::<Vec<_>>();
    assert!(read(&many(MIN_CASES - 1)).is_err());
    assert_eq!(read(&many(MIN_CASES)).unwrap().len(), MIN_CASES);
    assert_eq!(read(&many(MAX_CASES)).unwrap().len(), MAX_CASES);
    assert!(read(&many(MAX_CASES + 1)).is_err());
}

#[test]
fn a_case_that_expects_nothing_or_both_or_is_misspelt_is_none() {
    let with = |expect: Value| {
        let mut bad = case("c");
        bad["expect"] = expect;
        read(&[case("a"), case("b"), bad])
    };
    assert!(with(json!({"ok": false, "class": "NotFound"})).is_ok());
    for expect in [
        json!({"ok": true}),
        json!({"ok": true, "values": {}}),
        json!({"ok": false}),
        json!({"ok": true, "values": {"/a": 1}, "class": "NotFound"}),
        json!({"ok": false, "class": "NotFound", "values": {"/a": 1}}),
        json!({"ok": true, "values": {"a": 1}}),
        json!({"ok": true, "value": {"/a": 1}}),
        json!({}),
    ] {
        assert!(with(expect.clone()).is_err(), "{expect}");
    }
    assert!(read(&[case("a"), case("b"), case("")]).is_err());
    assert!(read(&[case("a"), case("b"), case("two\nlines")]).is_err());
    assert!(read(&[case("a"), case("b"), case(&"n".repeat(MAX_CASE_NAME))]).is_ok());
    assert!(read(&[case("a"), case("b"), case(&"n".repeat(MAX_CASE_NAME + 1))]).is_err());
}

#[test]
fn all_cases_with_the_longest_of_everything_fit_one_frame() {
    let case = BirthCase { name: "n".repeat(MAX_CASE_NAME), passed: false, detail: "d".repeat(MAX_DETAIL) };
    let bytes = postcard::to_stdvec(&vec![case; MAX_CASES]).unwrap();
    assert!(bytes.len() + 64 <= metnos_proto::frame::MAX_FRAME, "{}", bytes.len());
    assert!(cut(&"é".repeat(MAX_DETAIL), MAX_DETAIL).len() <= MAX_DETAIL);
}

fn came(outcome: Outcome, value: Value, class: &str) -> Judged {
    let bytes = json::canonical(&value);
    let digest = metnos_proto::ids::Blake3::of(&bytes);
    let resources = Resources { wall_us: 0, cpu_us: 0, peak_kib: 0, output_bytes: 0, ..Resources::NONE };
    Judged { outcome, error_class: class.into(), value, bytes, digest, resources }
}

#[test]
fn a_result_is_compared_at_every_pointer_and_by_kind_of_end() {
    let success =
        |values: Value| Expect { ok: true, class: None, values: values.as_object().unwrap().clone(), file: None };
    let error = |class: &str| Expect { ok: false, class: Some(class.into()), values: Map::new(), file: None };
    let value = json!({"ok": true, "a": 1, "b": {"c": "x"}});
    let good = came(Outcome::Ok, value, "");
    assert_eq!(difference(&success(json!({"/a": 1, "/b/c": "x"})), &good), None);
    for wrong in [json!({"/a": 2}), json!({"/a": 1, "/b/d": "x"}), json!({"/a": "1"})] {
        assert!(difference(&success(wrong.clone()), &good).is_some(), "{wrong}");
    }
    let bad = came(Outcome::Error, json!({"ok": false}), "NotFound");
    assert_eq!(difference(&error("NotFound"), &bad), None);
    assert!(difference(&error("TooLarge"), &bad).is_some());
    assert!(difference(&error("NotFound"), &good).is_some());
    assert!(difference(&success(json!({"/a": 1})), &bad).is_some());
    // An executor that is stopped by the kernel does not hold its promise of an error.
    let timeout = came(Outcome::Timeout, json!({"ok": false, "error": {"class": "NotFound"}}), "NotFound");
    assert!(difference(&error("NotFound"), &timeout).unwrap().contains("timeout"));
}

proptest! {
    #[test]
    fn any_bytes_are_cases_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(read_cases(&bytes).is_err());
    }
}
