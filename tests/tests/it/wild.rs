//! A whole set whose model says anything: calls that there are not, arguments of every wrong kind, garbage, half replies, the
//! same again and again. Whatever it says, each turn ends within its bounds, and nothing happens but what was decided.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Liar, STREAM, plain, say};
use metnos_tests::rng::Rng;
use metnos_tests::script::{Format, Reply, anthropic, openai};
use metnos_tests::until;
use serde_json::{Value, json};

/// Turns with each kind of server, and how many of them at once.
const TURNS: usize = 12;
const AT_ONCE: usize = 4;
/// The most thoughts of one turn (`planner/src/thinking`).
const MAX_THOUGHTS: usize = 24;
const WITHIN: Duration = Duration::from_secs(120);
/// What no model may change.
const OWNERS: [&str; 6] = ["SOUL.md", "USER.md", "TELOS.md", "AGENTS.md", "TOOLS.md", "MEMORY.md"];
const TOOLS: [&str; 12] = [
    "fs_read",
    "fs_list",
    "fs_find",
    "fs_write",
    "note_add",
    "text_stats",
    "clock_now",
    "look",
    "plan",
    "missing",
    "rm_rf",
    "fs_read; id",
];

fn argument(chance: &mut Rng) -> Value {
    match chance.below(9) {
        0 => json!("notes/welcome.md"),
        1 => json!("/etc/shadow"),
        2 => json!("../.policy/instance.key"),
        3 => json!("SOUL.md"),
        4 => json!(chance.number()),
        5 => Value::Null,
        6 => json!("x".repeat(20_000)),
        7 => json!({ "$ref": format!("c{}#/content", chance.below(4)) }),
        _ => json!([[[[[[[[{ "path": ["notes"] }]]]]]]]]),
    }
}

fn arguments(chance: &mut Rng) -> Value {
    let keys = ["path", "text", "content", "of", "calls", "look", "summary", "\u{202e}path", ""];
    let mut object = serde_json::Map::new();
    for _ in 0..chance.below(4) {
        object.insert((*chance.pick(&keys)).to_owned(), argument(chance));
    }
    if chance.below(8) == 0 {
        let call = json!({ "tool": *chance.pick(&TOOLS), "arguments": Value::Object(object.clone()) });
        object.insert("calls".to_owned(), json!([call, call]));
    }
    Value::Object(object)
}

/// Anything that a server could write instead of a sensible reply.
fn anything(chance: &mut Rng, number: usize, write: Format) -> String {
    let calls = |chance: &mut Rng| {
        let one = |chance: &mut Rng| (*chance.pick(&TOOLS), arguments(chance));
        Reply::Calls((0..=chance.below(4)).map(|_| one(chance)).collect())
    };
    match chance.below(12) {
        0 => plain("500 Oops", "", "boom"),
        1 => plain("529 Overloaded", "", "{}"),
        2 => {
            let whole = write(number, &calls(chance));
            let at = whole.floor_char_boundary(usize::try_from(chance.below(whole.len() as u64)).unwrap());
            whole[..at].to_owned()
        }
        3 => write(number, &calls(chance)).replace("\"index\"", "\"index\":0,\"index\""),
        4 => format!("{STREAM}data: {}\n\n", "{".repeat(500)),
        5 => write(number, &Reply::Writes(json!({ "tool": "fs_read", "arguments": arguments(chance) }).to_string())),
        6 => write(number, &Reply::Writes("\u{1b}[2J\u{202e}\u{0}".repeat(200))),
        // Not too often, or no turn comes to where it would go wrong.
        7 => write(number, &Reply::Says("That is all that I have to say.")),
        _ => write(number, &calls(chance)),
    }
}

fn server(seed: u64, write: Format) -> Liar {
    let chance = Mutex::new(Rng::new(seed));
    Liar::start(move |number, request: &str, stream: &mut TcpStream| {
        if request.starts_with("GET ") {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        let text = anything(&mut chance.lock().unwrap(), number, write);
        say(stream, &text);
    })
}

fn set_with(kind: &str, path: &str, port: u16) -> Instance {
    Plan::new()
        .config(&format!(
            "[models]\nsubstrates = [\"there {kind} http://127.0.0.1:{port}{path}\"]\ninterface = [\"there/m\"]\n\
             [budget]\ntokens_per_day = 4000000000\ntokens_per_month = 4000000000\n[policy]\ncalls_per_minute = 60000\n"
        ))
        .start()
}

fn ask(set: &Instance, words: &str) -> Child {
    let mut command = set.command("metnosctl");
    command.args(["ask", words]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn owners_files(set: &Instance) -> BTreeMap<&'static str, Option<Vec<u8>>> {
    OWNERS.into_iter().map(|name| (name, std::fs::read(set.workspace(name)).ok())).collect()
}

/// Each turn is over or waits for a card, and none was thought about more often than any may be.
fn assert_bounded(set: &Instance, kind: &str) {
    let lines = set.chronicle();
    let turns = |wanted: &str| -> BTreeSet<String> {
        lines.iter().filter(|line| line.kind() == wanted).map(|line| line.text("turn_id").to_owned()).collect()
    };
    let (_, cards) = set.json(&["approval", "list"]);
    let open: Vec<String> = turns("turn_open").difference(&turns("turn_close")).cloned().collect();
    for turn in open {
        assert!(cards.to_string().contains(&turn), "{kind}: {turn} is neither over nor waits: {cards:#}");
    }
    let mut thoughts = BTreeMap::<&str, usize>::new();
    for line in lines.iter().filter(|line| line.kind() == "cost_entry" && line.payload("role") == "interface") {
        *thoughts.entry(line.text("turn_id")).or_default() += 1;
    }
    assert!(thoughts.len() > TURNS / 2, "{kind}: the model was hardly asked: {thoughts:?}");
    assert!(thoughts.values().all(|times| *times <= MAX_THOUGHTS), "{kind}: {thoughts:?}");
    // Nothing has begun that was not decided, and nothing of it on what nobody may touch.
    let decided: BTreeSet<&str> = lines
        .iter()
        .filter(|line| line.kind() == "policy_decision" && line.payload("verdict") == "allow")
        .map(|line| line.payload("call"))
        .collect();
    let ran: Vec<&str> =
        lines.iter().filter(|line| line.kind() == "run_started").map(|line| line.payload("call")).collect();
    assert!(ran.iter().all(|call| decided.contains(call)), "{kind}: {ran:?} of {decided:?}");
}

#[test]
fn random_model_output_ends_turns_in_bounds_with_decided_calls_only() {
    let mut chance = Rng::announced();
    for (kind, path, write) in [("openai", "/v1", openai as Format), ("anthropic", "", anthropic)] {
        let server = server(chance.number(), write);
        let set = set_with(kind, path, server.port);
        let (before, files) = (set.pids(), owners_files(&set));
        let mut answers = Vec::new();
        for group in 0..TURNS / AT_ONCE {
            let words = |n: usize| format!("compose sonnet {n} of group {group}, about the sea");
            let asking: Vec<Child> = (0..AT_ONCE).map(|n| ask(&set, &words(n))).collect();
            for mut child in asking {
                until("the end of a turn", WITHIN, || child.try_wait().unwrap());
                let output = child.wait_with_output().unwrap();
                answers.push([output.stdout, output.stderr].concat());
            }
        }
        for answer in &answers {
            let text = String::from_utf8(answer.clone()).expect("what a person is shown is text");
            assert!(!text.trim().is_empty(), "{kind}: somebody waits for an answer, and is told nothing");
            assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{kind}: {text:?}");
        }
        // What needs no model is as it was, and nobody has been restarted.
        assert!(set.ask("how many words are in notes/welcome.md").contains("words"), "{kind}");
        assert_eq!(set.pids(), before, "{kind}");
        assert!(owners_files(&set) == files, "{kind}: a file of the owner's has changed");
        assert_bounded(&set, kind);
        set.verify();
    }
}

#[test]
fn denied_call_is_reported_to_model_once_and_repeat_ends_turn() {
    for (kind, path, write) in [("openai", "/v1", openai as Format), ("anthropic", "", anthropic)] {
        let server = Liar::start(move |number, request: &str, stream: &mut TcpStream| {
            if request.starts_with("GET ") {
                let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
                return say(stream, &plain("200 OK", "", &models.to_string()));
            }
            let denied = Reply::Calls(vec![("fs_read", json!({ "path": "/etc/shadow" }))]);
            say(stream, &write(number, &denied));
        });
        let set = set_with(kind, path, server.port);
        let (output, lines) = set.recording(|| ask(&set, "compose a sonnet about shadows").wait_with_output().unwrap());
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let asked = server.heard().iter().filter(|one| one.starts_with("POST ")).count();
        assert_eq!(asked, 2, "{kind}: {said}");
        let told = server.heard().iter().rev().find(|one| one.starts_with("POST ")).cloned().unwrap();
        assert!(told.contains("c1 fs_read: refused: "), "{kind}: the model was not told why");
        let decisions = lines.iter().filter(|line| line.kind() == "policy_decision").count();
        assert_eq!(decisions, 1, "{kind}: asked once");
        assert!(lines.iter().any(|line| line.kind() == "turn_close"), "{kind}: {said}");
        assert!(!said.trim().is_empty() && lines.iter().all(|line| line.kind() != "run_started"), "{kind}: {said}");
        set.verify();
    }
}
