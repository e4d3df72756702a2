//! The measurements of `metnosctl bench`, on small synthetic dialogues: the whole way through a memoryd of their own.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use metnos_tests::bins::{Build, open_folder};
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn bench(what: &str, file: &Path, scratch: &Path) -> Output {
    Command::new(Build::Shipped.binary("metnosctl"))
        .args(["--json", "bench", what])
        .arg(file)
        .env("TMPDIR", scratch)
        .env_remove("METNOS_HOME")
        .output()
        .unwrap()
}

fn document(output: &Output) -> Value {
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn recall_finds_the_evidence_of_synthetic_conversations_and_leaves_nothing_behind() {
    let scratch = open_folder("metnos-bench-test-");
    let found = document(&bench("recall", &data("conversations.jsonl"), scratch.path()));
    assert_eq!((found["conversations"].as_u64(), found["skipped"].as_u64()), (Some(2), Some(1)));
    let of = |measure: &str| found["overall"][measure].as_f64().unwrap();
    assert!(of("recall_at_5") >= 0.8, "{found}");
    assert!(of("session_hit_at_5") >= 0.9, "{found}");
    assert!(of("precision_at_1") >= 0.5, "{found}");
    assert!(found["categories"]["temporal"]["questions"].as_u64().unwrap() >= 3);
    assert!(found["latency_us"]["p50"].as_u64().unwrap() > 0);
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "the folder is swept");
}

#[test]
fn the_mnestome_learns_what_comes_next() {
    let scratch = open_folder("metnos-bench-test-");
    let found = document(&bench("next", &data("dialogues.jsonl"), scratch.path()));
    let at_5 = |which: &str| found["recall_at_5"][which].as_f64().unwrap();
    assert!(at_5("with") >= at_5("without") + 0.1, "{found}");
    assert!(found["steps"].as_u64() > found["turns"].as_u64());
}

#[test]
fn a_file_that_is_none_is_told_by_its_line_and_a_missing_one_by_its_name() {
    let scratch = open_folder("metnos-bench-test-");
    let file = scratch.path().join("broken.jsonl");
    std::fs::write(&file, "\n{\"turns\": 3}\n").unwrap();
    for (what, file, told) in
        [("recall", file.clone(), "line 2"), ("next", file, "a line"), ("recall", scratch.path().join("none"), "none")]
    {
        let output = bench(what, &file, scratch.path());
        assert_eq!(output.status.code(), Some(1), "{what}");
        let error: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(error["error"].to_string().contains(told), "{what}: {error}");
    }
}
