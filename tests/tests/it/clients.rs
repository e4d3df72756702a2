//! The door's HTTP channel under programs that others have written, pinned in `peers/http`: the official client of chat
//! completions, a sender of webhooks, and a tester that makes requests of a description, good ones and bad ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use metnos_tests::bins::Build;
use metnos_tests::http::Web;
use metnos_tests::instance::{Instance, Plan};
use serde_json::Value;

const WELCOME: &str = "read notes/welcome.md";

fn start() -> (Instance, Web) {
    let set = Plan::new().config("[http]\nlisten = \"127.0.0.1:0\"\nper_minute = 100000\n").start();
    let web = Web::of(&set);
    (set, web)
}

/// Python with the libraries of `peers/http`.
fn python() -> Command {
    let library: PathBuf = Build::Shipped.folder().parent().expect("a target directory").join("peers/http");
    assert!(library.is_dir(), "{} is missing: ./metnos test installs it (pip)", library.display());
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", &library).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("http_proxy");
    python
}

fn check(words: &[&str], secret: (&str, &str)) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/http/check.py");
    let output = python().arg(script).args(words).env(secret.0, secret.1).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn official_openai_client_works_and_unsupported_features_are_reported() {
    let (set, web) = start();
    let owner = web.paired(&set, "owner");
    let welcome = std::fs::read_to_string(set.workspace("notes/welcome.md")).unwrap();
    let base = format!("http://{}/v1", web.address);
    check(&["chat", &base, WELCOME, &welcome], ("OPENAI_API_KEY", owner.token()));
    set.verify();
}

#[test]
fn a_sender_of_standard_webhooks_fires_one() {
    let (set, web) = start();
    let (_, added) = set.json(&["hook", "add", "post", WELCOME]);
    check(&["hook", &web.address, "/hooks/post"], ("SECRET", added["secret"].as_str().unwrap()));
    set.verify();
}

/// What the tester holds every answer against.
const ALWAYS: [&str; 4] =
    ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"];
/// And what it does besides where it can: other methods, and no token.
const BESIDES: [&str; 2] = ["unsupported_method", "ignored_auth"];

/// What the tester did at one address, by its own record.
#[derive(Debug, Default)]
struct Tried {
    cases: usize,
    answers: BTreeMap<u64, usize>,
    checks: BTreeSet<String>,
}

/// Reads the tester's record: that it ends well says nothing, unless it has tried something.
fn tried(record: &str) -> BTreeMap<String, Tried> {
    let mut all: BTreeMap<String, Tried> = BTreeMap::new();
    for line in record.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let scenario = &event["ScenarioFinished"];
        let Some(label) = scenario["recorder"]["label"].as_str() else { continue };
        let at = all.entry(label.to_owned()).or_default();
        let part = |name: &str| scenario["recorder"][name].as_object().unwrap();
        at.cases += part("cases").len();
        for one in part("interactions").values() {
            let status =
                one["response"]["status_code"].as_u64().unwrap_or_else(|| panic!("{label}: no answer: {one:#}"));
            *at.answers.entry(status).or_default() += 1;
        }
        for check in part("checks").values().flat_map(|checks| checks.as_array().unwrap()) {
            assert_eq!(check["status"], "success", "{label}: {check:#}");
            at.checks.insert(check["name"].as_str().unwrap().to_owned());
        }
    }
    all
}

#[test]
fn door_conforms_to_its_openapi_description_under_fuzzing() {
    let (set, web) = start();
    let owner = web.paired(&set, "owner");
    let folder = tempfile::tempdir().unwrap();
    let (record, description) = (folder.path().join("record.ndjson"), folder.path().join("openapi.json"));
    // From a file: where the tester has fetched the description, it tries that address no more.
    let described = owner.get("/openapi.json").json();
    std::fs::write(&description, described.to_string()).unwrap();
    let output = python()
        .args(["-m", "schemathesis.cli", "run", description.to_str().unwrap()])
        .args(["--url", &format!("http://{}", web.address)])
        .args(["--header", &format!("Authorization: Bearer {}", owner.token())])
        .args(["--phases", "coverage,fuzzing", "--max-examples", "15", "--seed", "1", "--no-color"])
        .args(["--checks", &ALWAYS.join(","), "--checks", &BESIDES.join(",")])
        .args(["--request-timeout", "30", "--generation-database", "none", "--warnings", "off"])
        .args(["--report", "ndjson", "--report-ndjson-path", record.to_str().unwrap()])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    // A tester that finds nothing to try ends as well as one that finds nothing wrong.
    let tried = tried(&std::fs::read_to_string(&record).unwrap());
    let methods = |(path, methods): (&String, &Value)| {
        let name = |method: &String| format!("{} {path}", method.to_uppercase());
        methods.as_object().unwrap().keys().map(name).collect::<Vec<_>>()
    };
    let operations: BTreeSet<String> = described["paths"].as_object().unwrap().iter().flat_map(methods).collect();
    assert_eq!(tried.keys().cloned().collect::<BTreeSet<_>>(), operations);
    for (name, at) in &tried {
        // The tester varies parameters, bodies, and the methods that an address does not have.
        let (method, path) = name.split_once(' ').unwrap();
        let operation = &described["paths"][path][method.to_lowercase()];
        let varies = operation.get("requestBody").is_some()
            || operation["parameters"].as_array().is_some_and(|all| !all.is_empty());
        let shares = described["paths"][path].as_object().unwrap().len() > 1;
        let least = if shares && !varies { 6 } else { 8 };
        assert!(at.cases >= least && at.answers.values().sum::<usize>() >= at.cases, "{name}: {at:?}");
        assert!(ALWAYS.iter().all(|check| at.checks.contains(*check)), "{name}: {at:?}");
        let is_closed = operation.get("security").is_some();
        assert!(!is_closed || at.answers.contains_key(&401), "{name} was not tried without a token: {at:?}");
    }
    let checks: BTreeSet<&str> = tried.values().flat_map(|at| at.checks.iter().map(String::as_str)).collect();
    assert_eq!(checks, ALWAYS.into_iter().chain(BESIDES).collect());
    let cases: usize = tried.values().map(|at| at.cases).sum();
    assert!(cases >= 500, "{cases} {tried:#?}");
    assert_eq!(owner.get("/v1/status").status, 200);
    set.verify();
}
