//! The measurements of `metnosctl bench`, on small synthetic dialogues: the whole way through a memoryd of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use metnos_tests::bins::{Build, open_folder};
use metnos_tests::minds::{Liar, plain, say};
use metnos_tests::procfs::users_of;
use metnos_tests::script::{Reply, openai};
use metnos_tests::until;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

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

/// Nothing that was started for a measurement is left: no process, and no file.
fn is_swept(scratch: &Path) {
    let left = users_of(scratch);
    assert!(left.is_empty(), "processes {left:?} are left over");
    let files: Vec<_> = std::fs::read_dir(scratch).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(files.is_empty(), "{files:?}");
}

fn written(scratch: &Path, lines: &[Value]) -> PathBuf {
    let file = scratch.join("ask.jsonl");
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&file, text.join("\n")).unwrap();
    file
}

#[test]
fn bench_ask_judges_each_line_on_an_instance_of_its_own() {
    let (scratch, questions) = (open_folder("metnos-bench-test-"), open_folder("metnos-bench-ask-"));
    let whales = json!({ "notes/a.md": "About whales.\n" });
    let gone = json!({ "path": "notes/a.md", "absent": true });
    let lines = [
        json!({ "say": "read notes/a.md", "lang": "en", "kind": "k", "files": whales, "want": ["WHALES"] }),
        json!({ "say": "delete notes/a.md", "lang": "en", "files": whales, "effect": gone }),
        // What the one before did is not done here; and what it says is not so.
        json!({ "say": "read notes/a.md", "lang": "en", "files": whales, "want": ["whales|owls", "bees"] }),
        json!({ "say": "delete notes/a.md", "lang": "en", "files": whales, "want": ["a"] }),
        json!({ "say": "what is in notes", "lang": "en", "want": ["welcome"], "never": ["a.md"] }),
        json!({ "say": "order a pizza with anchovies for ten", "lang": "en", "cannot": true }),
        json!({ "say": "order a pizza with anchovies for ten", "lang": "en", "want": ["ordered"] }),
        json!({ "say": ["read notes/welcome.md", "leggi notes/a.md"], "lang": "it", "files": whales, "want": ["whales"] }),
    ];
    let found = document(&bench("ask", &written(questions.path(), &lines), scratch.path()));
    is_swept(scratch.path());
    let verdicts: Vec<&str> =
        found["lines"].as_array().unwrap().iter().map(|line| line["verdict"].as_str().unwrap()).collect();
    let wanted = ["right", "right", "wrong", "wrong", "right", "right", "refused", "right"];
    assert_eq!(verdicts, wanted, "{found:#}");
    assert_eq!(found["lines"][3]["wrong_effects"], json!(["notes/a.md"]), "{found:#}");
    assert!(found["lines"][2]["why"].as_str().unwrap().contains("bees"), "{found:#}");
    let overall = &found["overall"];
    let counted = ["questions", "right", "wrong", "wrong_effects", "refused", "failed", "tokens"];
    assert_eq!(counted.map(|name| overall[name].as_u64().unwrap()), [8, 5, 2, 1, 1, 0, 0], "{overall:#}");
    assert!(overall["latency_ms"]["p90"].as_u64().unwrap() > 0, "{overall:#}");
    assert_eq!((&found["kinds"]["k"]["right"], &found["model"]), (&json!(1), &json!(false)));
}

#[test]
fn bench_ask_asks_the_configured_model_and_counts_its_tokens() {
    let server = Liar::start(|_, request: &str, stream| {
        if request.starts_with("GET ") {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        say(stream, &openai(0, &Reply::Says("I cannot sing, but the quick brown fox can.")));
    });
    let (scratch, caller) = (open_folder("metnos-bench-test-"), open_folder("metnos-bench-ask-"));
    let config = format!(
        "[models]\nsubstrates = [\"there openai http://127.0.0.1:{}/v1\"]\ninterface = [\"there/m\"]\n[http]\nlisten = \"127.0.0.1:1\"\n",
        server.port
    );
    std::fs::write(caller.path().join("metnos.toml"), config).unwrap();
    let words = "compose a limerick about seven sleepy owls";
    let lines = [
        json!({ "say": words, "lang": "en", "want": ["brown fox"] }),
        json!({ "say": words, "lang": "en", "cannot": true }),
    ];
    let file = written(caller.path(), &lines);
    let home = caller.path().to_str().unwrap();
    let found = document(&bench_with(&["ask", "--instance", home, "--model", "configured"], &file, scratch.path()));
    is_swept(scratch.path());
    assert_eq!((&found["overall"]["right"], &found["model"]), (&json!(2), &json!(true)), "{found:#}");
    assert!(found["overall"]["tokens"].as_u64().unwrap() >= 2_100, "{found:#}");
    // The caller's own instance was only read.
    assert_eq!(std::fs::read_dir(caller.path()).unwrap().count(), 2);
    let none = bench_with(
        &["ask", "--instance", scratch.path().to_str().unwrap(), "--model", "configured"],
        &file,
        scratch.path(),
    );
    assert_eq!(none.status.code(), Some(2), "{none:?}");
    assert!(String::from_utf8_lossy(&none.stdout).contains("no model is configured"), "{none:?}");
}

#[test]
fn bench_ask_names_a_bad_line_before_anything_is_started() {
    let (scratch, questions) = (open_folder("metnos-bench-test-"), open_folder("metnos-bench-ask-"));
    let lines = [
        json!({ "say": "read notes/a.md", "lang": "en", "want": ["a"] }),
        json!({ "say": "leggi notes/a.md", "lang": "fr", "want": ["a"] }),
    ];
    let output = bench("ask", &written(questions.path(), &lines), scratch.path());
    assert_eq!(output.status.code(), Some(1));
    let error: Value = serde_json::from_slice(&output.stdout).unwrap();
    let told = error["error"].to_string();
    for part in ["line 2", "`lang`", "fr", "expected"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("instance for the measurement"), "{told}");
    is_swept(scratch.path());
}

#[test]
fn an_interrupted_bench_ask_leaves_nothing_running() {
    let questions = open_folder("metnos-bench-ask-");
    let lines: Vec<Value> =
        (0..500).map(|_| json!({ "say": "read notes/welcome.md", "lang": "en", "want": ["note"] })).collect();
    let file = written(questions.path(), &lines);
    for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
        let scratch = open_folder("metnos-bench-test-");
        let mut command = Command::new(Build::Shipped.binary("metnosctl"));
        command.args(["--json", "bench", "ask"]).arg(&file).env("TMPDIR", scratch.path());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // In the middle: daemons of it run.
        until("daemons", Duration::from_secs(60), || (users_of(scratch.path()).len() > 5).then_some(()));
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        let status = child.wait().unwrap();
        assert!(!status.success(), "{signal:?}: {status}");
        until("the end of all of them", Duration::from_secs(30), || users_of(scratch.path()).is_empty().then_some(()));
        if signal != Signal::KILL {
            assert_eq!(status.code(), Some(1), "{signal:?} is answered in order");
            is_swept(scratch.path());
        }
    }
}
