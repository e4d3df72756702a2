//! The door's HTTP channel under programs that others have written, pinned in `peers/http`: the official client of chat
//! completions, a sender of webhooks, and a tester that makes requests of a description, good ones and bad ones.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::PathBuf;
use std::process::Command;

use metnos_tests::bins::Build;
use metnos_tests::http::Web;
use metnos_tests::instance::{Instance, Plan};

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
fn the_official_client_of_chat_completions_talks_to_metnos_and_hears_what_it_does_not_do() {
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

#[test]
fn whatever_a_tester_makes_of_the_description_the_door_answers_as_it_says() {
    let (set, web) = start();
    let owner = web.paired(&set, "owner");
    let folder = tempfile::tempdir().unwrap();
    let output = python()
        .args(["-m", "schemathesis.cli", "run", &format!("http://{}/openapi.json", web.address)])
        .args(["--header", &format!("Authorization: Bearer {}", owner.token())])
        // What opens a socket is no request; and a code is shown four times a minute.
        .args(["--exclude-path", "/v1/ws", "--exclude-path", "/v1/pair"])
        .args(["--phases", "coverage,fuzzing", "--max-examples", "15", "--seed", "1", "--no-color"])
        .args(["--checks", "not_a_server_error,status_code_conformance,content_type_conformance"])
        .args(["--checks", "response_schema_conformance,unsupported_method,ignored_auth"])
        .args(["--request-timeout", "30", "--generation-database", "none", "--warnings", "off"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    assert_eq!(owner.get("/v1/status").status, 200);
    set.verify();
}
