//! Any bytes as arguments or a result: strict JSON or an error; the canonical form is its own canonical form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_proto::json::{self, Limits};

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = json::parse_strict(bytes, Limits::ARGUMENTS) else {
        return;
    };
    // Whoever is stricter than serde is never laxer.
    assert!(serde_json::from_slice::<serde_json::Value>(bytes).is_ok());
    let canonical = json::canonical(&value);
    let Ok(again) = json::parse_strict(&canonical, Limits::ARGUMENTS) else {
        panic!("the canonical form is not strict JSON: {}", String::from_utf8_lossy(&canonical));
    };
    assert_eq!(json::canonical(&again), canonical);
    for leaf in json::leaves(&value, 256) {
        assert!(json::is_pointer(&leaf.pointer));
    }
});
