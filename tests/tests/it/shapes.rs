//! Every command of `metnosctl` with `--json`, on a set that has lived a little: what it prints is what its schema says,
//! no key is missing and none is there that is not described. A command that is not called here fails the test.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use metnos_tests::bins::open_folder;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Liar, STREAM, piece, plain, say};
use metnos_tests::pool::put;
use metnos_tests::script::{Reply, openai};
use metnos_tests::telegram::{Emulator, TOKEN};
use metnos_tests::until;
use serde_json::{Value, json};

const KEY: &str = "sk-planted-0123456789abcdef";
/// With it a note costs more than is spent without asking, and memory ages quickly.
const CONFIG: &str =
    "[budget]\nprices = [\"note_add 200000\"]\n[memory]\ncalls_per_use_day = 1\n[http]\nlisten = \"127.0.0.1:0\"\n";

/// A walk through the commands.
struct Tour {
    set: Instance,
    schemas: Value,
    seen: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Tour {
    fn begin(set: Instance) -> Self {
        let schemas = set.json(&["schema"]).1;
        let mut tour = Self { set, schemas, seen: BTreeSet::new(), wrong: Vec::new() };
        let _ = tour.go(&["schema"]);
        tour
    }

    /// The command that these words call: the longest that they begin with.
    fn name(&self, words: &[&str]) -> String {
        let commands = self.schemas["commands"].as_object().unwrap();
        let upto = |count: usize| words[..count].join(" ");
        let name = (1..=words.len()).rev().map(upto).find(|name| commands.contains_key(name));
        name.unwrap_or_else(|| panic!("{words:?} has no schema"))
    }

    /// Runs it, and holds what it prints against its schema.
    fn with(&mut self, words: &[&str], input: &str) -> (i32, Value) {
        let mut command = self.set.command("metnosctl");
        command.arg("--json").args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let name = self.name(words);
        let described = self.schemas["commands"][&name].clone();
        let documents: Vec<&str> = if described["each"] == "line" { text.lines().collect() } else { vec![&text] };
        let mut last = Value::Null;
        for document in documents {
            last = serde_json::from_str(document).unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"));
            let is_error = described["each"] == "document"
                && last["ok"] == false
                && last["error"].is_object()
                && last.get("turn").is_none();
            let schema = if is_error { self.schemas["error"].clone() } else { described["schema"].clone() };
            self.check(words, schema, &last);
            if !is_error {
                self.seen.insert(name.clone());
            }
        }
        (output.status.code().unwrap_or(-1), last)
    }

    fn check(&mut self, words: &[&str], mut whole: Value, document: &Value) {
        whole["$defs"] = self.schemas["$defs"].clone();
        close(&mut whole);
        let validator = jsonschema::validator_for(&whole).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        let wrong: Vec<String> = validator
            .iter_errors(document)
            .take(5)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        if !wrong.is_empty() {
            self.wrong.push(format!("{words:?}: {wrong:#?} in {document:#}"));
        }
    }

    fn go(&mut self, words: &[&str]) -> Value {
        let (code, document) = self.with(words, "");
        if code != 0 {
            self.wrong.push(format!("{words:?} exits with {code}: {document:#}"));
        }
        document
    }

    fn code(&mut self, words: &[&str]) -> i32 {
        self.with(words, "").0
    }
}

/// What is published may get further keys; here none may be there that is not described.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.contains_key("properties") && !map.contains_key("additionalProperties") {
                map.insert("additionalProperties".to_owned(), json!(false));
            }
            map.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

/// A model that answers whatever it is asked, and a set that may ask it.
fn start() -> (Liar, Emulator, Instance) {
    let bot = Emulator::start();
    let server = Liar::start(|_, request, stream| {
        if request.starts_with("GET ") {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        // The judge learns that everything fits; whoever else asks is told a word.
        let fits = json!({ "fits": { "order": 0.9, "attention": 0.9, "trust": 0.9 } }).to_string();
        if request.contains("You write one Python") {
            return say(stream, &openai(0, &Reply::Says("def solve(n):\n    return 2 * n")));
        }
        let is_judge = request.contains("slug") && request.contains("attention");
        let _ = stream.write_all(STREAM.as_bytes());
        let _ = stream.write_all(piece(if is_judge { &fits } else { "Good." }).as_bytes());
        let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
        let usage =
            json!({ "choices": [], "usage": { "prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25 } });
        say(stream, &format!("data: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n"));
    });
    let models = format!("[models]\nsubstrates = [\"there openai http://127.0.0.1:{}/v1\"]\n", server.port);
    // With an executor of the tests, which what is shipped would not take.
    let set = Plan::new().attack().config(&format!("{CONFIG}{models}{}", bot.config())).start();
    set.is_grown();
    (server, bot, set)
}

fn life(tour: &mut Tour) {
    for words in [&["status"][..], &["daemon", "list"], &["daemon", "restart", "syntd"], &["up", "--detach"]] {
        let _ = tour.go(words);
    }
    let _ = tour.code(&["doctor"]);
    let _ = tour.with(&["birth", "--answers", "-"], "owner = \"Roberta\"\ntelegram = true\n");
    let folder = open_folder("metnos-shapes-");
    let path = folder.path().to_str().unwrap().to_owned();
    std::os::unix::fs::chown(&path, Some(tour.set.owner()), Some(tour.set.owner())).unwrap();
    let _ = tour.go(&["man", &format!("{path}/man")]);
    let _ = tour.go(&["completions", "fish"]);
    let _ = tour.go(&["backup", &format!("{path}/backup")]);
    let _ = tour.go(&["restore", &format!("{path}/backup"), "--instance", &format!("{path}/again")]);
    assert_eq!(tour.code(&["daemon", "restart", "mind"]), 0);
}

fn talk(tour: &mut Tour) {
    assert_eq!(tour.with(&["ask", "read notes/welcome.md"], "").0, 0);
    assert_eq!(tour.with(&["ask", "how many words are in notes/welcome.md"], "").0, 0);
    assert_eq!(tour.with(&["chat"], "what is in notes\n").0, 0);
    let _ = tour.go(&["run", "fs_read", "path=notes/welcome.md"]);
    assert_eq!(tour.code(&["run", "fs_read", "path=../../etc/passwd"]), 1);
    assert_eq!(tour.code(&["run", "fs_read", "path=notes/none.md"]), 1);
    assert_eq!(tour.with(&["ask", "note: buy milk"], "").0, 4);
    assert_eq!(tour.code(&["run", "note_add", "text=buy bread"]), 4);
    assert_eq!(tour.code(&["run", "note_add", "text=buy eggs"]), 4);
    let cards = tour.go(&["approval", "list"]);
    let waiting: Vec<String> = cards.as_array().unwrap().iter().map(|card| text(&card["id"]).to_owned()).collect();
    assert_eq!(waiting.len(), 3, "{cards:#}");
    let _ = tour.go(&["approval", "show", &waiting[0]]);
    let _ = tour.go(&["approval", "approve", &waiting[0]]);
    let _ = tour.go(&["approval", "deny", &waiting[1]]);
    let _ = tour.go(&["approval", "deny", &waiting[2], "--never"]);
    let grants = tour.go(&["grant", "list"]);
    let _ = tour.go(&["grant", "revoke", text(&grants[0]["id"])]);
    let _ = tour.go(&["undo", "list"]);
    let _ = tour.go(&["undo"]);
    let turn = text(&tour.set.chronicle().last().unwrap().0["turn_id"]).to_owned();
    let _ = tour.go(&["turn", "show", &turn]);
    let lines = tour.set.chronicle();
    let called = lines.iter().rfind(|line| line.kind() == "run_ended").unwrap().text("turn_id");
    let called: Vec<_> = lines.iter().filter(|line| line.text("turn_id") == called).cloned().collect();
    let _ = tour.go(&["turn", "feedback", &tour.set.ended_turn(&called).0, "good"]);
    let _ = tour.go(&["policy", "check", "owner", "fs_read", "path=notes/welcome.md"]);
    assert_eq!(tour.code(&["policy", "check", "telegram:7", "fs_delete", "path=notes"]), 1);
}

/// The code of now for this secret, by another's HMAC.
fn code_of(secret: &str) -> String {
    const CODE: &str = "import base64, hmac, os, struct, time\ns = os.environ['SECRET']\n\
        k = base64.b32decode(s + '=' * (-len(s) % 8))\nd = hmac.digest(k, struct.pack('>Q', int(time.time()) // 30), 'sha1')\n\
        print('%06d' % ((struct.unpack('>I', d[d[19] & 15:][:4])[0] & 0x7fffffff) % 1000000))";
    let told = std::process::Command::new("python3").args(["-c", CODE]).env("SECRET", secret).output().unwrap();
    String::from_utf8(told.stdout).unwrap()
}

fn people(tour: &mut Tour, server: &Emulator) {
    let _ = tour.with(&["telegram", "token"], TOKEN);
    let _ = tour.go(&["telegram", "status"]);
    server.say(7_001, "hello");
    let shown = server.told(7_001, "pairing approve telegram");
    let code = shown.text.split("pairing approve telegram ").nth(1).unwrap().split_whitespace().next().unwrap();
    let _ = tour.go(&["pairing", "invite", "telegram"]);
    let _ = tour.go(&["pairing", "list"]);
    assert_eq!(tour.code(&["pairing", "approve", "telegram", "K7-DELTA-19"]), 1);
    let _ = tour.go(&["pairing", "approve", "telegram", code]);
    let _ = tour.go(&["pairing", "list"]);
    let _ = tour.go(&["web"]);
    let _ = tour.go(&["people", "add", "Anna", "--role", "owner", "--also", "mum"]);
    let _ = tour.go(&["people", "add", "Marco", "--role", "child"]);
    assert_eq!(tour.code(&["people", "add", "marco"]), 1);
    let _ = tour.go(&["people", "change", "Marco", "--role", "adult"]);
    let _ = tour.go(&["people", "join", "Marco", "telegram:7001"]);
    let _ = tour.go(&["people", "show", "my mum"]);
    let _ = tour.go(&["people", "list"]);
    let _ = tour.go(&["seal", "break", "Marco", "--reason", "he is lost"]);
    let _ = tour.go(&["seal", "list"]);
    let _ = tour.go(&["seal", "close", "Marco"]);
    let _ = tour.go(&["pairing", "list"]);
    let _ = tour.go(&["people", "add", "Mark", "--role", "guest"]);
    assert_eq!(tour.code(&["people", "merge", "Mark", "mark"]), 1);
    let merged = tour.go(&["people", "merge", "Marco", "Mark"]);
    assert_eq!((&merged["name"], &merged["principals"]), (&json!("Mark"), &json!(["telegram:7001"])), "{merged:#}");
    let _ = tour.go(&["people", "remove", "Anna"]);
    let _ = tour.go(&["pairing", "revoke", "telegram:7001"]);
    let _ = tour.go(&["pairing", "language", "owner", "en"]);
    let _ = tour.go(&["autonomy", "show"]);
    let _ = tour.go(&["autonomy", "set", "owner", "supervised", "--for", "1h"]);
    let _ = tour.go(&["budget", "show"]);
    let _ = tour.go(&["budget", "raise", "owner", "calls.day", "20000"]);
    let _ = tour.go(&["budget", "restore", "owner", "calls.day"]);
    let _ = tour.with(&["secret", "set", "imap"], "a-value-of-some-length");
    let _ = tour.with(&["secret", "rotate", "imap"], "another-value-of-length");
    let _ = tour.go(&["secret", "list"]);
    let _ = tour.go(&["secret", "remove", "imap"]);
    let mail = ["account", "add", "mail", "--host", "mail.example.org", "--user", "anna"];
    let _ = tour.with(&mail, "an-app-password");
    let _ = tour.go(&["account", "list"]);
    // There is no such server: the call is recorded, and says so.
    let _ = tour.code(&["account", "test", "mail"]);
    let _ = tour.go(&["account", "remove", "mail"]);
    let _ = tour.go(&["hook", "add", "post", "read notes/welcome.md"]);
    let _ = tour.go(&["hook", "rotate", "post"]);
    let _ = tour.go(&["hook", "list"]);
    let _ = tour.go(&["hook", "remove", "post"]);
    let _ = tour.go(&["timer", "add", "morning", "count the files in notes"]);
    let _ = tour.go(&["timer", "list"]);
    let _ = tour.go(&["schedule", "parse", "tomorrow at 9"]);
    let added = tour.go(&["schedule", "add", "call the dentist", "--when", "tomorrow at 9"]);
    let number = added[0]["number"].to_string();
    let _ = tour.go(&["schedule", "list"]);
    let _ = tour.go(&["schedule", "history", &number]);
    let _ = tour.go(&["schedule", "run-now", &number]);
    let _ = tour.go(&["schedule", "modify", &number, "an", "hour"]);
    for what in ["pause", "resume", "show", "cancel"] {
        let _ = tour.go(&["schedule", what, &number]);
    }
    assert_eq!(tour.code(&["timer", "fire", "morning"]), 0);
    let _ = tour.go(&["timer", "remove", "morning"]);
    let enrolled = tour.go(&["totp", "enrol"]);
    let _ = tour.with(&["totp", "confirm"], &code_of(text(&enrolled["secret"])));
    let _ = tour.go(&["totp", "remove"]);
    let _ = tour.go(&["rite", "constitution"]);
    let _ = tour.go(&["panic"]);
    let _ = tour.go(&["resume"]);
}

fn record(tour: &mut Tour) {
    let folder = open_folder("metnos-shapes-");
    std::os::unix::fs::chown(folder.path(), Some(tour.set.owner()), Some(tour.set.owner())).unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let lines = tour.go(&["audit", "tail", "-n", "200"]);
    let said = lines.as_array().unwrap().iter().find(|line| line["event_type"] == "owner_message").unwrap();
    let seq = said["seq"].to_string();
    let _ = tour.go(&["audit", "search", "welcome"]);
    let _ = tour.go(&["audit", "show", &seq]);
    let _ = tour.go(&["audit", "verify"]);
    let _ = tour.go(&["audit", "export", &file("lines.jsonl")]);
    let _ = tour.go(&["audit", "anchors"]);
    let proof = tour.go(&["audit", "prove", &seq]);
    std::fs::write(file("proof.json"), proof.to_string()).unwrap();
    let _ = tour.go(&["audit", "prove", "--check", &file("proof.json")]);
    let _ = tour.go(&["audit", "scan"]);
    let _ = tour.go(&["audit", "redact", &seq, "--why", "a try", "--confirm", &seq]);
    let _ = tour.go(&["memory", "search", "welcome"]);
    let _ = tour.go(&["memory", "late"]);
    let _ = tour.go(&["memory", "explain", &(said["seq"].as_u64().unwrap() + 1).to_string()]);
    let _ = tour.go(&["spend"]);
}

/// A draft of the model's, up to its withdrawal.
fn growth(tour: &mut Tour) {
    let _ = tour.go(&["models", "set", "synth", "there/m"]);
    let _ = tour.go(&["synt", "dry-run", "off"]);
    tour.set.is_grown();
    let examples =
        ["1", "2", "3"].map(|n| format!("{{\"n\": {n}}} => {{\"twice\": {}}}", 2 * n.parse::<u8>().unwrap()));
    let mut words = vec!["synt", "run", "double a number", "--name", "doubler"];
    examples.iter().for_each(|example| words.extend(["--example", example.as_str()]));
    let _ = tour.go(&words);
    for words in [&["synt", "show"][..], &["synt", "gaps"], &["synt", "proposals"]] {
        let _ = tour.go(words);
    }
    let (_, card) = tour.with(&["executor", "sign", "doubler"], "");
    let _ = tour.go(&["executor", "sign", "doubler", "--confirm", text(&card["digest"])]);
    let _ = tour.go(&["synt", "withdraw", "doubler", "--reason", "a try"]);
    let _ = tour.go(&["executor", "restore", "doubler", "--reason", "a try"]);
    let task = json!({"name": "double", "wish": "double a number", "lang": "en", "hidden": [{"in": {"n": 9}, "out": {"twice": 18}}],
        "examples": [{"in": {"n": 1}, "out": {"twice": 2}}, {"in": {"n": 2}, "out": {"twice": 4}}, {"in": {"n": 5}, "out": {"twice": 10}}]});
    let folder = open_folder("metnos-shapes-");
    let file = folder.path().join("tasks.jsonl");
    std::fs::write(&file, format!("{task}\n")).unwrap();
    let found = tour.go(&["bench", "synt", file.to_str().unwrap()]);
    if found["whole"] != 1 {
        tour.wrong.push(format!("bench synt: {found:#}"));
    }
}

fn mnestome(tour: &mut Tour) {
    // Whatever is proposed is worth asking.
    let telos = tour.set.workspace("TELOS.md");
    let lax = std::fs::read_to_string(&telos)
        .unwrap()
        .replace("threshold: 0.5", "threshold: 0")
        .replace("threshold: 0.6", "threshold: 0");
    std::fs::write(&telos, lax).unwrap();
    for words in ["play some music of vivaldi", "translate this letter into french"] {
        for _ in 0..4 {
            assert_eq!(tour.with(&["ask", words], "").0, 1);
        }
    }
    for _ in 0..50 {
        assert_eq!(tour.set.run("fs_read", &["path=notes/welcome.md"]).0, 0);
    }
    let list = tour.go(&["mnest", "list"]);
    let id = text(&list.as_array().unwrap().iter().find(|one| one["state"] == "active").unwrap()["id"]).to_owned();
    let _ = tour.go(&["mnest", "top"]);
    let _ = tour.go(&["mnest", "show", &id]);
    let _ = tour.go(&["mnest", "tag", &id, "mine"]);
    let _ = tour.go(&["mnest", "graph"]);
    let _ = tour.go(&["mnest", "archive", &id, "--why", "a try"]);
    let _ = tour.go(&["mnest", "restore", &id, "--why", "a try"]);
    let _ = tour.go(&["mnest", "snapshot", "one", "--why", "a try"]);
    let _ = tour.go(&["mnest", "snapshots"]);
    let proposals = tour.go(&["mnest", "proposals"]);
    let digest = until("two proposals in the vaglio", Duration::from_secs(30), || {
        let list = |what: &str| tour.set.json(&["vaglio", what]).1.as_array().cloned().unwrap_or_default();
        let all: Vec<Value> = list("digest").into_iter().chain(list("unasked")).collect();
        (all.len() >= 2).then_some(all)
    });
    for what in ["digest", "unasked", "telos"] {
        let _ = tour.go(&["vaglio", what]);
    }
    let _ = tour.go(&["vaglio", "explain", text(&digest[0]["id"])]);
    let _ = tour.code(&["vaglio", "accept", text(&digest[0]["id"])]);
    let _ = tour.code(&["vaglio", "refuse", text(&digest[1]["id"])]);
    let _ = tour.go(&["mnest", "decline", text(&proposals[0]["id"]), "--why", "a try"]);
    let traces = tour.go(&["trace", "list"]);
    if let Some(trace) = traces["traces"].get(0) {
        let id = text(&trace["id"]).to_owned();
        let _ = tour.go(&["trace", "show", &id]);
    }
    let _ = tour.go(&["freeze", "--why", "a try"]);
    let _ = tour.go(&["defrost", "--why", "a try"]);
    let _ = tour.go(&["mnest", "rollback", "one", "--why", "a try"]);
}

fn models(tour: &mut Tour) {
    assert_eq!(tour.with(&["models", "key", "there"], KEY).0, 0);
    for words in [
        &["models", "list"][..],
        &["models", "scan"],
        &["models", "set", "judge", "there/m"],
        &["models", "list"],
        &["models", "test"],
    ] {
        let _ = tour.go(words);
    }
}

fn talk_to_a_model(tour: &mut Tour) {
    let _ = tour.go(&["models", "set", "interface", "there/m"]);
    assert_eq!(tour.with(&["ask", "compose a sonnet about the sea"], "").0, 0);
    let said = tour.set.chronicle();
    let turn = text(&said.iter().rev().find(|line| line.kind() == "turn_open").unwrap().0["turn_id"]).to_owned();
    let _ = tour.go(&["turn", "show", &turn, "--prompt"]);
    let _ = tour.go(&["spend"]);
}

/// Puts the executor of the tests, which wants a secret, into the pool.
fn keyed(set: &Instance) {
    let (from, to) = (format!("{}/executors/keyed", env!("CARGO_MANIFEST_DIR")), set.workspace("executors/keyed"));
    std::fs::create_dir_all(to.join("1.0.0/tests")).unwrap();
    std::fs::write(to.join("CURRENT"), "1.0.0\n").unwrap();
    for file in ["manifest.toml", "main.py", "schema.json", "tests/birth.py"] {
        std::fs::copy(format!("{from}/{file}"), to.join("1.0.0").join(file)).unwrap();
    }
    for path in [
        "",
        "CURRENT",
        "1.0.0",
        "1.0.0/tests",
        "1.0.0/manifest.toml",
        "1.0.0/main.py",
        "1.0.0/schema.json",
        "1.0.0/tests/birth.py",
    ] {
        std::os::unix::fs::chown(to.join(path), Some(set.owner()), Some(set.owner())).unwrap();
    }
    assert_eq!(set.json(&["daemon", "restart", "sandboxd"]).0, 0);
    until("the executor of the tests", Duration::from_secs(60), || {
        let (_, list) = set.json(&["executor", "list"]);
        let row = list.as_array()?.iter().find(|row| row["name"] == "keyed")?;
        (row["state"] == "active").then_some(())
    });
}

/// An executor that comes from another instance, and goes on.
fn parcels(tour: &mut Tour) {
    let other = Instance::start();
    put(&other, "1.0.0");
    let (_, looked) = other.json(&["executor", "sign", "clock_then"]);
    assert_eq!(other.json(&["executor", "sign", "clock_then", "--confirm", text(&looked["digest"])]).0, 0);
    let (from, to) = (other.workspace("parcel"), tour.set.workspace("parcel"));
    assert_eq!(other.json(&["executor", "export", "clock_then", from.to_str().unwrap()]).0, 0);
    std::fs::copy(from, &to).unwrap();
    let _ = tour.go(&["executor", "import", to.to_str().unwrap()]);
    let (code, looked) = tour.with(&["executor", "sign", "clock_then"], "");
    assert_eq!(code, 4, "{looked:#}");
    let _ = tour.go(&["executor", "sign", "clock_then", "--confirm", text(&looked["digest"])]);
    let _ = tour.go(&["executor", "new", "word_tally"]);
    let on = tour.set.workspace("parcel-on");
    let _ = tour.go(&["executor", "export", "clock_then", on.to_str().unwrap()]);
}

fn executors(tour: &mut Tour) {
    for words in [
        &["executor", "list"][..],
        &["executor", "show", "fs_read"],
        &["executor", "profile", "fs_read"],
        &["executor", "diff", "fs_read"],
        &["executor", "verify"],
        &["executor", "disable", "fs_find"],
        &["executor", "enable", "fs_find"],
        &["executor", "archive", "fs_find"],
        &["executor", "list"],
        &["executor", "restore", "fs_find", "--reason", "it is needed"],
    ] {
        let _ = tour.go(words);
    }
    keyed(&tour.set);
    let _ = tour.with(&["secret", "set", "token"], "a-value-of-some-length");
    let _ = tour.go(&["secret", "grant", "token", "keyed"]);
    let _ = tour.go(&["secret", "list"]);
    let _ = tour.go(&["secret", "withdraw", "token", "keyed"]);
    let code = tour.set.workspace("executors/fs_read/3.1.0/main.py");
    let right = std::fs::read(&code).unwrap();
    std::fs::write(&code, [&right[..], b"\n"].concat()).unwrap();
    assert_eq!(tour.code(&["run", "fs_read", "path=notes/welcome.md"]), 1);
    assert_eq!(tour.code(&["executor", "lift", "fs_read"]), 1);
    std::fs::write(&code, right).unwrap();
    let (code, looked) = tour.with(&["executor", "lift", "fs_read"], "");
    assert_eq!(code, 4, "{looked:#}");
    let _ = tour.go(&["executor", "lift", "fs_read", "--confirm", text(&looked["digest"])]);
    let _ = tour.code(&["executor", "relock", "--all"]);
    let words = ["executor", "revoke", "fs_count", "--reason", "for this test"];
    let (code, looked) = tour.with(&words, "");
    assert_eq!(code, 4, "{looked:#}");
    let _ = tour.go(&[&words[..], &["--confirm", text(&looked["digest"])]].concat());
    parcels(tour);
    let _ = tour.code(&["sandbox", "selftest", "--family", "files"]);
}

fn measures(tour: &mut Tour) {
    let data = |name: &str| format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    for (what, file) in [("recall", "conversations.jsonl"), ("next", "dialogues.jsonl")] {
        let _ = tour.go(&["bench", what, &data(file)]);
    }
    let folder = open_folder("metnos-shapes-");
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).to_str().unwrap().to_owned()
    };
    let said = "{\"text\": \"read notes/a.md\", \"lang\": \"en\", \"executor\": \"fs_read\", \"args\": {\"path\": \"notes/a.md\"}}\n\
                {\"text\": \"read notes/a.md\", \"lang\": \"en\", \"executor\": \"fs_list\", \"args\": {}}\n";
    let _ = tour.go(&["bench", "reflex", &file("reflex.jsonl", said)]);
    let asked = "{\"query\": \"read a file\", \"tools\": [{\"name\": \"fs_read\", \"description\": \"Read a file.\"}], \"relevant\": [\"fs_read\"]}\n";
    let _ = tour.go(&["bench", "route", &file("route.jsonl", asked)]);
    let asked = "{\"say\": \"read notes/welcome.md\", \"lang\": \"en\", \"want\": [\"first note\"]}\n";
    let _ = tour.go(&["bench", "ask", &file("ask.jsonl", asked)]);
    let _ = file(
        "catalog.json",
        "{\"read_file\": {\"effect\": \"read\", \"reversible\": true, \"args\": {\"path\": \"path\"}, \"output\": {\"i\": \"X\"}}}",
    );
    let trace = "{\"type\": \"header\", \"autonomy\": \"full\", \"catalog\": \"catalog.json\"}\n\
                 {\"type\": \"turn\", \"principal\": {\"paired\": true, \"role\": \"owner\"}, \"prompt\": \"read a.md\"}\n\
                 {\"type\": \"call\", \"seq\": 1, \"executor\": \"read_file\", \"args\": {\"path\": \"a.md\"}}\n";
    let (code, _) = tour.with(&["policy", "replay", "--catalog", folder.path().to_str().unwrap()], trace);
    assert_eq!(code, 0);
    let block = json!({"add": [{"ref": "a", "premise": "Anna likes tea", "node_type": "preference"}]});
    let reply = format!("<lattice_update nonce=n>{block}</lattice_update>");
    let case = json!({"id": "a", "nonce": "n", "role": "interface", "reply": reply}).to_string();
    let (code, outcome) = tour.with(&["soul", "compile", "-"], &case);
    assert_eq!((code, &outcome["ops"][0]["code"]), (0, &json!("R08")));
}

#[test]
fn every_command_prints_what_its_schema_says() {
    let (_model, bot, set) = start();
    let mut tour = Tour::begin(set);
    talk(&mut tour);
    people(&mut tour, &bot);
    models(&mut tour);
    record(&mut tour);
    mnestome(&mut tour);
    talk_to_a_model(&mut tour);
    growth(&mut tour);
    executors(&mut tour);
    measures(&mut tour);
    life(&mut tour);
    tour.set.verify();
    let _ = tour.go(&["down"]);
    let _ = tour.set.ended();
    let unseen: Vec<&String> =
        tour.schemas["commands"].as_object().unwrap().keys().filter(|name| !tour.seen.contains(*name)).collect();
    assert!(tour.wrong.is_empty(), "{}", tour.wrong.join("\n"));
    assert!(unseen.is_empty(), "these were never called: {unseen:?}");
}
