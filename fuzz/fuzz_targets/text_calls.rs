//! Whatever a model writes in the place of an answer: calls of tools that there are, or none; never a panic, and never a call
//! that a result has shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_planner::thinking::text_calls::{is_echo, looks_like_call, text_calls};
use metnos_proto::prompt::{MAX_CALLS, Message};

fuzz_target!(|text: &str| {
    let known = |name: &str| matches!(name, "fs_read" | "fs_write");
    let Some(calls) = text_calls(text, known) else { return };
    assert!(!calls.is_empty() && calls.len() <= MAX_CALLS && calls.iter().all(|call| known(&call.name)));
    assert!(looks_like_call(text), "a call that would have been shown as an answer: {text}");
    assert!(is_echo(text, &[Message::User { text: format!("before {text} after") }]));
});
