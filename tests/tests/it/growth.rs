//! Growth, through the whole set: a wish becomes a draft, the draft an executor, and only by the owner's hand. The model is a
//! script of these tests, and as hostile as they want.

use std::net::TcpStream;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Liar, plain, say};
use metnos_tests::script::{Reply, openai};
use metnos_tests::until;
use serde_json::{Value, json};

const WITHIN: Duration = Duration::from_secs(60);

/// What a model replies, by what it is asked for.
struct Script {
    specification: &'static str,
    examples: String,
    /// The drafts of the code, each once and then the last one again and again.
    drafts: Vec<String>,
}

const SPECIFICATION: &str = r#"{"name": "invoice_number", "summary": "Find the number of an invoice.",
    "inputs": [{"name": "text", "type": "string", "about": "text of the invoice"}],
    "outputs": [{"name": "number", "type": "string", "about": "its number"}]}"#;
const LAST_WORD: &str = "def solve(text):\n    return text.split()[-1]";
const RIGHT: &str = "import re\n\ndef solve(text):\n    if text == \"crash\":\n        return 7\n    found = re.search(r\"(?:invoice|fattura)\\s*(?:no?\\.)?\\s*(\\d[\\w/-]*)\", text, re.I)\n    \
    if found is None:\n        raise ValueError(\"no number\")\n    return found.group(1)";

fn examples() -> String {
    let all = json!({"examples": [
        {"in": {"text": "Invoice no. 2024-17 of 3 May"}, "out": {"number": "2024-17"}},
        {"in": {"text": "FATTURA N. 12/B del 3 maggio"}, "out": {"number": "12/B"}},
        {"in": {"text": "Invoice 7"}, "out": {"number": "7"}},
        {"in": {"text": "no number in here"}, "out": null},
    ]});
    format!("Here they are:\n```json\n{all}\n```")
}

fn block(code: &str) -> String {
    format!("Of course.\n```python\n{code}\n```\nIt does what you asked for.")
}

/// A server with that script. `wait` is called before each draft of the code.
fn server(script: Script, wait: impl Fn() + Send + Sync + 'static) -> Liar {
    let written = AtomicUsize::new(0);
    Liar::start(move |number, request: &str, stream: &mut TcpStream| {
        if request.starts_with("GET ") {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        let reply = if request.contains("You specify a small function") {
            script.specification.to_owned()
        } else if request.contains("You write test cases") {
            script.examples.clone()
        } else {
            wait();
            let at = written.fetch_add(1, Ordering::SeqCst).min(script.drafts.len() - 1);
            block(&script.drafts[at])
        };
        say(stream, &openai(number, &Reply::Writes(reply)));
    })
}

fn config(server: &Liar, dry_run: bool) -> String {
    format!(
        "[models]\nsubstrates = [\"there openai http://127.0.0.1:{}/v1\"]\nsynth = [\"there/m\"]\n[synt]\ndry_run = {dry_run}\n",
        server.port
    )
}

fn set_with(server: &Liar, dry_run: bool) -> Instance {
    let set = Plan::new().config(&config(server, dry_run)).start();
    set.is_grown();
    set
}

fn drafts(codes: &[&str]) -> Script {
    let drafts = codes.iter().map(|code| (*code).to_owned()).collect();
    Script { specification: SPECIFICATION, examples: examples(), drafts }
}

fn in_pool(set: &Instance, name: &str) -> bool {
    set.workspace(&format!("executors/{name}")).exists()
}

const WISH: [&str; 3] = ["synt", "run", "find the invoice number in a text"];

#[test]
fn wish_becomes_an_executor_only_when_the_owner_signs_it() {
    let server = server(drafts(&[LAST_WORD, RIGHT]), || {});
    let set = set_with(&server, false);
    let ((code, report), lines) = set.recording(|| set.json(&WISH));
    assert_eq!((code, &report["end"], &report["name"]), (0, &json!("offered"), &json!("invoice_number")), "{report:#}");
    assert_eq!(
        (&report["candidates"], &report["repairs"], &report["model"]),
        (&json!(1), &json!(1), &json!("there/m"))
    );
    assert_eq!(report["cases"].as_array().unwrap().len(), 4, "{report:#}");
    assert!(report["cases"].as_array().unwrap().iter().all(|case| case["passed"] == true), "{report:#}");
    assert!(report["mutants"]["killed"].as_u64() > Some(0), "{report:#}");
    assert!(lines.iter().any(|line| line.to_text().contains("executor_drafted")), "{lines:#?}");
    let asked = server.heard().join("\n");
    assert!(
        asked.contains("That is not right yet") && asked.contains("the model's example 1"),
        "it learns what has failed"
    );

    // It lies in the pool, and nothing of it can be called, also not after a restart.
    let text = "text=Fattura n. 99 del 3 giugno";
    for round in ["at once", "after a restart"] {
        let (code, said) = set.run("invoice_number", &[text]);
        assert_eq!((code, said["error"]["rule"].as_str()), (1, Some("executor.staged")), "{round}: {said:#}");
        assert_eq!(set.json(&["daemon", "restart", "policyd"]).0, 0);
        set.is_grown();
    }
    let (code, card) = set.json(&["executor", "sign", "invoice_number"]);
    assert_eq!(code, 4, "{card:#}");
    let origin = &card["card"]["origin"];
    assert_eq!(
        (&origin["kind"], &origin["model"], &origin["wish"]),
        (&json!("drafted"), &json!("there/m"), &json!(WISH[2]))
    );
    assert_eq!((&card["card"]["profile"], &card["card"]["capabilities"]), (&json!("pure"), &json!([])));
    assert!(card["card"]["code"].as_str().unwrap().contains("re.search"));
    let digest = card["digest"].as_str().unwrap();
    let (code, signed) = set.json(&["executor", "sign", "invoice_number", "--confirm", digest]);
    assert_eq!((code, &signed["state"]), (0, &json!("active")), "{signed:#}");
    let (code, said) = set.run("invoice_number", &[text]);
    assert_eq!((code, &said["result"]["number"]), (0, &json!("99")), "{said:#}");

    // The way back, with a reason, and forth again.
    let (code, away) = set.json(&["synt", "withdraw", "invoice_number", "--reason", "it guesses"]);
    assert_eq!((code, &away["state"]), (0, &json!("archived")), "{away:#}");
    assert_eq!(set.run("invoice_number", &[text]).1["error"]["rule"], "executor.archived");
    assert_eq!(set.json(&["executor", "restore", "invoice_number", "--reason", "it is good"]).0, 0);
    assert_eq!(set.run("invoice_number", &[text]).0, 0);
    // In its first ten calls the second failure of its own sets it aside, where another executor has a third.
    for round in ["once", "twice"] {
        assert_eq!(set.run("invoice_number", &["text=crash"]).0, 1, "{round}");
    }
    assert_eq!(set.run("invoice_number", &[text]).1["error"]["rule"], "executor.quarantined");
    assert!(set.json(&["executor", "show", "invoice_number"]).1["origin"]["calls"].as_u64() >= Some(4));
    let (code, refused) = set.json(&["synt", "withdraw", "fs_read", "--reason", "x"]);
    assert_eq!(code, 1, "only what was drafted: {refused:#}");
    let (_, growth) = set.json(&["synt", "gaps"]);
    assert_eq!((&growth["births_today"], &growth["drafts"][0]["end"]), (&json!(2), &json!("offered")), "{growth:#}");
    set.verify();
}

#[test]
fn new_instance_only_shows_drafts_until_the_owner_wants_more() {
    let server = server(drafts(&[RIGHT]), || {});
    let set = set_with(&server, true);
    let (code, report) = set.json(&WISH);
    assert_eq!((code, &report["end"]), (0, &json!("shown")), "{report:#}");
    assert!(report["files"]["main.py"].as_str().unwrap().contains("re.search") && !in_pool(&set, "invoice_number"));
    assert_eq!(set.json(&["executor", "sign", "invoice_number"]).1["error"]["rule"], "executor.unknown");
    let (code, shown) = set.json(&["synt", "show", "invoice_number"]);
    assert_eq!((code, &shown), (0, &report));
    let (code, switched) = set.json(&["synt", "dry-run", "off"]);
    assert_eq!((code, &switched), (0, &json!({"dry_run": false, "changed": true})));
    set.is_grown();
    let (code, report) = set.json(&WISH);
    assert_eq!((code, &report["end"], in_pool(&set, "invoice_number")), (0, &json!("offered"), true), "{report:#}");
    // What lies there is not written over.
    let (code, again) = set.json(&WISH);
    assert_eq!((code, &again["end"]), (0, &json!("shown")), "{again:#}");
    assert!(again["why"].as_str().unwrap().contains("in the pool already"), "{again:#}");
}

#[test]
fn draft_that_fails_the_owners_examples_is_not_offered() {
    let server = server(drafts(&[LAST_WORD]), || {});
    let set = set_with(&server, false);
    let example = |text: &str, number: &str| format!("{{\"text\": \"{text}\"}} => {{\"number\": \"{number}\"}}");
    let all =
        [example("Invoice 7 of May", "7"), example("Invoice 8 of June", "8"), "{\"text\": \"x\"} => error".to_owned()];
    let mut words = WISH.to_vec();
    all.iter().for_each(|one| words.extend(["--example", one.as_str()]));
    let (code, report) = set.json(&words);
    assert_eq!((code, &report["end"]), (1, &json!("failed")), "{report:#}");
    assert!(report["why"].as_str().unwrap().contains("the owner's example 1"), "{report:#}");
    assert_eq!((&report["candidates"], &report["repairs"]), (&json!(3), &json!(3)), "{report:#}");
    let asked = server.heard().join("\n");
    assert!(
        !asked.contains("You specify") && !asked.contains("You write test cases"),
        "nothing is asked that is known"
    );
    let (code, wrong) = set.json(&["synt", "run", "x", "--example", "nonsense"]);
    assert!(code == 2 && wrong["error"].to_string().contains("nonsense"), "{wrong:#}");
    assert_eq!(set.json(&["synt", "gaps"]).1["births_today"], 3);
}

/// Code that tries to do something, or to look as if it did nothing. Each is a draft of its own.
fn hostile(port: u16, outside: &str) -> Vec<String> {
    let body = |lines: &str| format!("def solve(text):\n    {}\n    return text", lines.replace('\n', "\n    "));
    let at_import = |lines: &str| format!("{lines}\n\ndef solve(text):\n    return text");
    let net = format!("import socket\nsocket.create_connection((\"127.0.0.1\", {port}))");
    let file = format!("open({outside:?}, \"w\").write(\"x\")");
    let mut all: Vec<String> = [
        net.as_str(),
        &file,
        "import os\nos.system(\"id\")",
        "import os\nos.fork()",
        "import subprocess\nsubprocess.run([\"id\"])",
        "eval(\"1\")",
        "exec(\"x = 1\")",
        "compile(\"1\", \"\", \"eval\")",
        "__import__(\"os\").system(\"id\")",
        "getattr(__builtins__, \"ev\" + \"al\")(\"1\")",
        "import importlib\nimportlib.import_module(\"os\")",
        "import ctypes\nctypes.CDLL(None)",
        "().__class__.__base__.__subclasses__()",
        "import pickle\npickle.loads(b\"cos\\nsystem\\n(S'id'\\ntR.\")",
        "import os\nos.kill(os.getppid(), 9)",
        "import os\nopen(\"/proc/self/environ\").read()",
        "import os\nos.listdir(\"/\")",
        "import urllib.request\nurllib.request.urlopen(\"http://127.0.0.1\")",
        "while True: pass",
        "x = [0] * 10 ** 10",
        "import time\ntime.sleep(60)",
        "import threading\nthreading.Thread(target=print).start()",
        "import signal\nsignal.alarm(1)",
        "import sys\nsys.exit(0)",
        "import sys\nsys.stdout.write(\"{\\\"ok\\\": true}\")",
        "raise SystemExit",
        "import os\nos._exit(0)",
        "globals()[\"run\"] = lambda args, ctx: {\"ok\": True, \"number\": \"7\"}",
        "import gc\ngc.get_objects()",
        "import inspect\ninspect.currentframe().f_back.f_locals",
    ]
    .iter()
    .flat_map(|lines| [body(lines), at_import(lines)])
    .collect();
    // The tests that it must pass are read out of its own call, or the result is not what the schema says.
    all.push("def solve(text):\n    return {\"ok\": True}".to_owned());
    all.push(format!("def solve(text):\n    return \"{}\"", "QUJD".repeat(500)));
    all.push("def solve(text, seen=[]):\n    seen.append(text)\n    return 7".to_owned());
    all
}

#[test]
fn hostile_drafts_have_no_effect_and_reach_no_pool() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("made");
    let codes = hostile(listener.local_addr().unwrap().port(), outside.to_str().unwrap());
    let count = codes.len();
    assert!(count >= 60, "{count}");
    let refs: Vec<&str> = codes.iter().map(String::as_str).collect();
    let server = server(drafts(&refs), || {});
    let set = set_with(&server, false);
    let files = set.workspace("executors");
    let before = std::fs::read_dir(&files).unwrap().count();
    let mut tried = 0;
    while tried < count {
        let (code, report) = set.json(&WISH);
        assert_eq!((code, &report["end"]), (1, &json!("failed")), "{report:#}");
        tried += usize::try_from(report["candidates"].as_u64().unwrap() + report["repairs"].as_u64().unwrap()).unwrap();
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "no connection was made");
    assert!(!outside.exists());
    assert_eq!(std::fs::read_dir(&files).unwrap().count(), before, "nothing has come into the pool");
    assert_eq!(set.json(&["synt", "gaps"]).1["births_today"], 3);
    set.verify();
}

#[test]
fn without_a_model_it_says_which_role_is_missing() {
    let set = Instance::start();
    let (code, said) = set.json(&WISH);
    let error = said["error"].to_string();
    assert!(code == 3 && error.contains("synth") && error.contains("models set"), "{said:#}");
    let (code, growth) = set.json(&["synt", "gaps"]);
    assert_eq!((code, &growth["dry_run"], &growth["drafts"]), (0, &json!(true), &json!([])));
    assert_eq!(set.json(&["synt", "proposals"]), (0, json!([])));
    assert_eq!(set.json(&["synt", "show"]).1["error"]["rule"], "draft.unknown");
}

/// Restarts each daemon, and kills metnosctl, in the middle of a run: no file of the draft is left, and the next order succeeds.
#[test]
fn run_that_is_cut_off_leaves_nothing_and_the_next_one_is_served() {
    let gate: Arc<Mutex<()>> = Arc::default();
    let wait = Arc::clone(&gate);
    let server = server(drafts(&[RIGHT]), move || drop(wait.lock().unwrap()));
    let set = set_with(&server, false);
    let mut asked = 0;
    for daemon in ["policyd", "sandboxd", "mind", "memoryd", "syntd", "metnosctl"] {
        let held = gate.lock().unwrap();
        let mut run = set.command("metnosctl").arg("--json").args(WISH).stdout(Stdio::piped()).spawn().unwrap();
        // The specification, the examples, and the function that is waited for.
        until("the function is asked for", WITHIN, || (server.thoughts() >= asked + 3).then_some(()));
        if daemon == "metnosctl" {
            run.kill().unwrap();
        } else {
            assert_eq!(set.json(&["daemon", "restart", daemon]).0, 0, "{daemon}");
        }
        drop(held);
        let output = run.wait_with_output().unwrap();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let done = said["end"] == "offered";
        // What is asked of sandboxd and memoryd after they are back goes on; a run dies with the three who hold it.
        assert!(
            done == in_pool(&set, "invoice_number") && (!done || ["sandboxd", "memoryd"].contains(&daemon)),
            "{daemon}: {said:#}"
        );
        let _ = std::fs::remove_dir_all(set.workspace("executors/invoice_number"));
        set.is_grown();
        until("the run before has ended", WITHIN, || {
            let (_, said) = set.json(&["synt", "run", "x", "--example", "{\"a\": 1} => error"]);
            (said["error"]["rule"] == "draft.order").then_some(())
        });
        asked = server.thoughts();
    }
    let (code, report) = set.json(&WISH);
    assert_eq!((code, &report["end"]), (0, &json!("offered")), "{report:#}");
    set.verify();
}
