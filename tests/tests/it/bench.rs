//! The measurements of `metnosctl bench`, on small synthetic dialogues: the whole way through a memoryd of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use metnos_tests::bins::{Build, open_folder};
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn bench(what: &str, file: &Path, scratch: &Path) -> Output {
    bench_with(&[what], file, scratch)
}

fn bench_with(words: &[&str], file: &Path, scratch: &Path) -> Output {
    Command::new(Build::Shipped.binary("metnosctl"))
        .args(["--json", "bench"])
        .args(words)
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
fn bench_recall_finds_evidence_and_leaves_no_files() {
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
fn bench_reflex_classifies_utterances_and_flags_wrong_effects() {
    let scratch = open_folder("metnos-bench-test-");
    let file = scratch.path().join("utterances.jsonl");
    let lines = [
        r#"{"text": "read notes/a.md", "lang": "en", "executor": "fs_read", "args": {"path": "notes/a.md"}}"#,
        r#"{"text": "quante parole ci sono in notes/a.md", "lang": "it", "executor": "text_stats", "args": {"$chain": {"fs_read": {"path": "notes/a.md"}}}}"#,
        r#"{"text": "sing for me", "lang": "en", "executor": null}"#,
        // Said to be something else than what it is: what is measured is distinguished.
        r#"{"text": "read notes/b.md", "lang": "en", "executor": "fs_read", "args": {"path": "notes/other.md"}}"#,
        r#"{"text": "delete notes/b.md", "lang": "en", "executor": null}"#,
        r#"{"text": "sing for me again", "lang": "en", "executor": "fs_read", "args": {"path": "notes/a.md"}}"#,
    ];
    std::fs::write(&file, lines.join("\n")).unwrap();
    let found = document(&bench("reflex", &file, scratch.path()));
    let of = |name: &str| found[name].as_u64().unwrap();
    assert_eq!(
        (of("utterances"), of("wrong_calls"), of("wrong_calls_with_effects"), of("abstentions"), of("missed")),
        (6, 2, 1, 2, 1),
        "{found:#}"
    );
    assert!((found["accuracy"].as_f64().unwrap() - 0.5).abs() < 1e-9, "{found:#}");
    assert!((found["executor_accuracy"].as_f64().unwrap() - 4.0 / 6.0).abs() < 1e-9, "{found:#}");
    assert!(found["latency_us"]["p99"].as_u64() >= found["latency_us"]["p50"].as_u64());
    // What planners are not offered is not among what words are tried on.
    let offered = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors")).unwrap();
    let is_offered = |place: &PathBuf| {
        std::fs::read_to_string(place.join("manifest.toml")).is_ok_and(|text| !text.contains("\noffered = false\n"))
    };
    let offered = offered.map(|entry| entry.unwrap().path()).filter(is_offered).count();
    assert_eq!(of("executors"), offered as u64);
    // The utterances that come with the source: nothing with an effect is called wrongly.
    for (name, least) in [("synthetic.jsonl", 0.97), ("held-out.jsonl", 0.9)] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/reflex/tests/data").join(name);
        let found = document(&bench("reflex", &file, scratch.path()));
        assert_eq!(found["wrong_calls_with_effects"], 0, "{name}: {found:#}");
        assert!(found["accuracy"].as_f64().unwrap() >= least, "{name}: {found:#}");
    }
}

#[test]
fn bench_route_ranks_inline_or_catalogue_tools_and_learns_history() {
    let scratch = open_folder("metnos-bench-test-");
    let file = scratch.path().join("routes.jsonl");
    let tool =
        |name: &str, what: &str| serde_json::json!({ "name": name, "description": what, "examples": [], "schema": {} });
    let tools = serde_json::json!([
        tool("get_weather", "The weather of a place."),
        tool("play_music", "Play a song."),
        tool("set_alarm", "Wake somebody up.")
    ]);
    let odd = "frobnicate the quux";
    let lines = [
        serde_json::json!({ "catalog": "house", "tools": tools }),
        serde_json::json!({ "query": "what is the weather in Rome", "catalog": "house", "relevant": ["get_weather"] }),
        // Nothing in these words names a tool; only having been asked before tells.
        serde_json::json!({ "query": odd, "catalog": "house", "relevant": ["set_alarm"] }),
        serde_json::json!({ "query": odd, "catalog": "house", "relevant": ["set_alarm"] }),
        serde_json::json!({ "query": "play a song", "tools": [tool("play_music", "Play a song.")], "relevant": ["play_music"] }),
        serde_json::json!({ "query": "play a song", "catalog": "house", "relevant": ["of another house"] }),
    ];
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&file, text.join("\n")).unwrap();
    let plain = document(&bench("route", &file, scratch.path()));
    let learnt = document(&bench_with(&["route", "--learn"], &file, scratch.path()));
    let near = |found: &Value, name: &str, wanted: f64| {
        assert!((found[name].as_f64().unwrap() - wanted).abs() < 1e-9, "{name} is not {wanted}: {found:#}");
    };
    for (found, learn) in [(&plain, false), (&learnt, true)] {
        assert_eq!((found["queries"].as_u64(), found["skipped"].as_u64()), (Some(4), Some(1)), "{found:#}");
        assert_eq!(found["learn"], learn);
        near(found, "recall_at_5", 1.0);
        near(found, "recall_at_16", 1.0);
    }
    // Equals stand by their names, so the odd one is third; asked for the second time it is the first.
    near(&plain, "recall_at_1", 0.5);
    near(&plain, "mrr", (1.0 + 1.0 / 3.0 + 1.0 / 3.0 + 1.0) / 4.0);
    near(&learnt, "recall_at_1", 0.75);
    near(&learnt, "mrr", (1.0 + 1.0 / 3.0 + 1.0 + 1.0) / 4.0);
    // A catalogue that no line has defined is told by its line.
    std::fs::write(&file, "{\"query\": \"x\", \"catalog\": \"nowhere\", \"relevant\": [\"y\"]}\n").unwrap();
    let output = bench("route", &file, scratch.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("nowhere"));
}

#[test]
fn malformed_file_is_named_by_line_and_missing_one_by_name() {
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
