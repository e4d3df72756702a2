//! Secrets planted where a model could come upon them: in notes, in the vault, in the key of its own server, in what a person
//! says.

use std::io::Write;
use std::net::TcpStream;
use std::process::Stdio;

use metnos_tests::chronicle::Line;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Liar, STREAM, plain, say, whole};
use serde_json::{Value, json};

/// In the vault.
const VAULT: &str = "correct-horse-battery-staple-4711";
/// Of the server of models.
const KEY: &str = "sk-planted-0c6e2a9d41f7";
/// Nobody's, but of the form of one.
const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

/// One call of a tool, as an OpenAI-compatible server streams it.
fn calls(name: &str, arguments: &Value) -> String {
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    let call = json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function", "function": function }] });
    let piece = json!({ "choices": [{ "index": 0, "delta": call }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18 } });
    format!("{STREAM}data: {piece}\n\ndata: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
}

/// A server whose model reads the note that the request names and then is done.
fn reader() -> Liar {
    Liar::start(|_, request: &str, stream: &mut TcpStream| {
        if request.starts_with("GET ") {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        if request.contains("\"role\":\"tool\"") || !request.contains("please consult ") {
            return say(stream, &whole("That is all."));
        }
        let name =
            request.rsplit("please consult ").next().unwrap().split(|c: char| !c.is_alphanumeric()).next().unwrap();
        let read = json!({ "tool": "fs_read", "arguments": { "path": format!("notes/{name}.md") } });
        say(stream, &calls("plan", &json!({ "calls": [read], "look": ["c1"] })));
    })
}

fn set_with(port: u16) -> Instance {
    Plan::new()
        .config(&format!(
            "[models]\nsubstrates = [\"there openai http://127.0.0.1:{port}/v1\"]\ninterface = [\"there/m\"]\nfast = [\"there/m\"]\n"
        ))
        .start()
}

fn piped(set: &Instance, words: &[&str], input: &str) {
    let mut command = set.command("metnosctl");
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

fn put(set: &Instance, name: &str, text: &str) {
    let file = set.workspace(&format!("notes/{name}.md"));
    std::fs::write(&file, text).unwrap();
    std::os::unix::fs::chown(&file, Some(set.owner()), Some(set.owner())).unwrap();
}

/// What `turn show --prompt` prints of the turn that these lines begin with.
fn prompts(set: &Instance, lines: &[Line]) -> String {
    let turn = lines.iter().find(|line| line.kind() == "owner_message").unwrap().text("turn_id").to_owned();
    let shown = set.ctl(&["turn", "show", &turn, "--prompt"]);
    String::from_utf8(shown.stdout).unwrap()
}

#[test]
fn planted_secrets_never_reach_a_model_server() {
    let server = reader();
    let set = set_with(server.port);
    piped(&set, &["models", "key", "there"], KEY);
    piped(&set, &["secret", "set", "door"], VAULT);
    put(&set, "cellar", &format!("the door opens with {VAULT}, quoted \"{VAULT}\""));
    put(&set, "attic", &format!("the key is {KEY}"));
    put(&set, "garage", &format!("an old token: {TOKEN}"));
    put(&set, "garden", "only roses");
    let mut shown = Vec::new();
    for (name, among) in [("garden", "only roses"), ("cellar", "door"), ("attic", ""), ("garage", "an old token")] {
        let (_, lines) = set.recording(|| set.ctl(&["ask", &format!("would you please consult {name} for me")]));
        let sent = prompts(&set, &lines);
        assert!(sent.contains(among) && sent.contains("please consult"), "{name}: {sent}");
        shown.push(sent);
    }
    // A person says it himself: neither are such words taken, nor is such a prompt sent.
    for value in [VAULT, KEY] {
        let before = server.thoughts();
        let _refused = set.ctl(&["ask", &format!("remember for me that it is {value}, will you")]);
        assert_eq!(server.thoughts(), before, "{value} was sent");
    }
    // A model of an executor is not shown it either.
    let (code, refused) = set.run("llm_summarise", &[&format!("text=It is {KEY} or so.")]);
    assert_ne!(code, 0);
    assert_eq!(refused["error"]["rule"], "mind.told", "{refused:#}");
    for sent in &shown {
        for value in [VAULT, KEY, TOKEN] {
            assert!(!sent.contains(value), "{value} is shown: {sent}");
        }
    }
    for heard in server.heard() {
        let body = heard.split_once("\r\n\r\n").unwrap().1;
        assert!(!body.contains(VAULT) && !body.contains(KEY), "{body}");
    }
    // What was said and asked for is kept as it was, but for what is a secret by the vault's word or by its form.
    let lines = set.chronicle();
    assert!(!lines.iter().any(|line| [VAULT, TOKEN].iter().any(|value| line.to_text().contains(value))));
    set.verify();
}
