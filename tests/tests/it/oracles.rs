//! What the makers of the models' servers take for a valid request and a valid reply, by the clients that they give to their
//! customers: each request that mind writes, and each reply that the servers of these tests write, is read by them.

use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metnos_proto::prompt::{Block, CallResult, Message, ModelCall, Prompt, Tool};
use metnos_tests::instance::Plan;
use metnos_tests::minds::{Liar, Lone, kinds, plain, prompt, say, settings, with_mind};
use metnos_tests::script::{FORMATS, Format, Reply, anthropic, ollama, openai};
use serde_json::{Value, json};

/// Has the clients say something about this.
fn clients(words: &[&str], input: &str) -> String {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target")), PathBuf::from);
    let library = target.join("peers/clients");
    assert!(library.join("openai").is_dir(), "{} is missing: ./metnos test installs it", library.display());
    let mut child = Command::new("python3")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/clients/check.py"))
        .args(words)
        .env("PYTHONPATH", &library)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.success(), "{out}{err}");
    out
}

/// How a server of this kind answers a request, by its address.
fn format_of(request: &str) -> Format {
    if request.starts_with("POST /v1/messages") {
        anthropic
    } else if request.starts_with("POST /api/chat") {
        ollama
    } else {
        openai
    }
}

fn server(reply: Reply) -> Liar {
    Liar::start(move |number, request: &str, stream: &mut TcpStream| {
        if request.starts_with("GET ") {
            let model = json!({ "id": "m", "object": "model", "created": 1_767_225_600, "owned_by": "nobody" });
            let models = json!({ "object": "list", "data": [model], "models": [{ "name": "m" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        say(stream, &format_of(request)(number, &reply));
    })
}

fn tool(name: &str) -> Tool {
    let input = json!({
        "type": "object", "properties": { "path": { "type": "string", "minLength": 1 }, "limit": { "type": "integer" } },
        "required": ["path"], "additionalProperties": false
    });
    Tool { name: name.into(), description: "does it".into(), input }
}

/// Prompts that hold, together, everything that one can hold.
fn prompts() -> Vec<Prompt> {
    let call = |id: &str| ModelCall { id: id.into(), name: "fs_list".into(), arguments: "{\"path\":\"a\"}".into() };
    let result = |id: &str, failed| CallResult { id: id.into(), name: "fs_list".into(), text: "[]".into(), failed };
    let schema = json!({
        "type": "object", "properties": { "label": { "type": "string" } }, "required": ["label"],
        "additionalProperties": false
    });
    let rich = Prompt {
        system: vec![Block { text: "laws".into(), cache: true }, Block { text: "capsule".into(), cache: false }],
        tools: vec![tool("fs_list"), tool("clock_now")],
        messages: vec![
            Message::User { text: "list a".into() },
            Message::Assistant { text: "at once".into(), calls: vec![call("call_1"), call("call_2")] },
            Message::Results { results: vec![result("call_1", false), result("call_2", true)] },
            Message::Assistant { text: String::new(), calls: vec![call("call_3")] },
            Message::Results { results: vec![result("call_3", false)] },
            Message::User { text: "hello, perché no \u{1d11e}".into() },
        ],
        schema: None,
        temperature: Some(20),
    };
    vec![prompt("hello"), rich, Prompt { schema: Some(schema), temperature: Some(0), ..prompt("which one?") }]
}

/// What a planner asks in a whole turn with a server of this kind, each as a line.
fn asked_in_a_turn((kind, path, format): (&str, &str, Format)) -> String {
    let replies = [
        Reply::Calls(vec![("fs_list", json!({ "path": "notes" })), ("clock_now", json!({}))]),
        Reply::Says("That is all."),
    ];
    let asked = AtomicUsize::new(0);
    let server = Liar::start(move |_, request: &str, stream: &mut TcpStream| {
        if request.starts_with("GET ") {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        let number = asked.fetch_add(1, Ordering::SeqCst);
        say(stream, &format(number, &replies[number.min(1)]));
    });
    let set = Plan::new()
        .config(&format!(
            "[models]\nsubstrates = [\"there {kind} http://127.0.0.1:{}{path}\"]\ninterface = [\"there/m\"]\n\
             contexts = [\"there/m 64000\"]\n",
            server.port
        ))
        .start();
    assert!(set.ask("tell me what you make of my notes, and of the hour").contains("That is all."));
    let heard = server.heard();
    let bodies = heard.iter().filter(|one| one.starts_with("POST ")).map(|one| one.split_once("\r\n\r\n").unwrap().1);
    bodies.map(|body| line(kind, &serde_json::from_str(body).unwrap())).collect()
}

fn line(kind: &str, body: &Value) -> String {
    format!("{}\n", json!({ "kind": kind, "body": body }))
}

#[test]
fn requests_of_mind_are_valid_for_official_clients() {
    let server = server(Reply::Says("{\"label\": \"bees\"}"));
    let mut lines = String::new();
    for (kind, substrate) in kinds(server.port) {
        let model = format!("{kind}/m");
        let mut sent = Vec::new();
        with_mind(settings(&[substrate], &[("interface", &[&model])]), &[], async |mind: Rc<Lone>| {
            for (at, prompt) in (1..).zip(prompts()) {
                let turn = mind.turn().await;
                sent.push(mind.think(turn, at, &prompt).await.unwrap().2);
            }
        });
        lines.extend(sent.iter().map(|body| line(kind, &serde_json::from_slice(body).unwrap())));
    }
    lines.extend([FORMATS[0], FORMATS[1]].map(asked_in_a_turn));
    let ours = lines.lines().count();
    assert_eq!(ours, 16);
    let user = json!([{ "role": "user", "content": "x" }]);
    for (kind, body) in [
        ("openai", json!({ "model": "m", "messages": [{ "role": "nobody", "content": "x" }], "stream": true })),
        ("openai", json!({ "model": "m", "messages": user, "stream": true, "sung": 1 })),
        ("anthropic", json!({ "model": "m", "messages": user, "stream": true })),
        ("anthropic", json!({ "model": "m", "max_tokens": 1, "messages": user, "stream": true, "temperature": 0.2 })),
        ("ollama", json!({ "model": "m", "messages": [{ "role": 7 }], "stream": true })),
    ] {
        lines.push_str(&line(kind, &body));
    }
    let said = clients(&["requests"], &lines);
    let (valid, others): (Vec<&str>, Vec<&str>) = said.lines().partition(|line| line.ends_with(": valid"));
    assert_eq!((valid.len(), others.len()), (ours, 5), "{others:#?}");
}

#[test]
fn replies_of_test_servers_are_parsed_by_official_clients() {
    let calls = vec![("fs_list", json!({ "path": "notes" })), ("clock_now", json!({}))];
    for (reply, text, names, stops) in [
        (Reply::Says("Hello, perché no."), "Hello, perché no.", json!([]), ["stop", "end_turn", "stop"]),
        (
            Reply::Calls(calls),
            "",
            json!([["fs_list", { "path": "notes" }], ["clock_now", {}]]),
            ["tool_calls", "tool_use", "stop"],
        ),
    ] {
        let server = server(reply);
        let read = clients(&["read", &format!("http://127.0.0.1:{}", server.port)], "");
        let read: Vec<Value> = read.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for ((one, kind), stop) in read.iter().zip(["openai", "anthropic", "ollama"]).zip(stops) {
            let wanted = json!({ "kind": kind, "text": text, "calls": names, "stop": stop, "tokens": [1000, 50] });
            assert_eq!(*one, wanted);
        }
        assert_eq!(read.len(), 3);
    }
}
