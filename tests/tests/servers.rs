//! mind, alone and locked, and whole sets, among servers of models that take long to get. Only `./metnos test --full` installs
//! them and runs these; what of them cannot be had on a machine is said there, and nothing is skipped silently.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::control::ModelSettings;
use metnos_proto::ids::{Blake3, TraceId};
use metnos_proto::msg::mind::PutKey;
use metnos_proto::payload::Sealed;
use metnos_proto::prompt::{Stop, Tool};
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Aimock, KEY, Lone, prompt, settings, with_mind};
use metnos_tests::servers::Server;
use metnos_tests::until;
use serde_json::{Value, json};

/// What the servers with words of their own answer to a greeting.
const GREETING: &str = "Hi there, perché no? This reply comes in several pieces.";

/// Patience for servers that are slow on a machine with much to do.
fn patient(line: &str, model: &str) -> ModelSettings {
    ModelSettings { first_seconds: 90, between_seconds: 60, ..settings(&[line.to_owned()], &[("interface", &[model])]) }
}

async fn give_key(mind: &Lone, substrate: &str) {
    let ask = PutKey { substrate: substrate.to_owned() };
    let _kept = mind.owner.put_key(TraceId::NONE, ask, [Sealed::new(KEY.as_bytes()).unwrap()]).await.unwrap();
}

fn tool(name: &str) -> Tool {
    Tool { name: name.into(), description: "does it".into(), input: json!({"type": "object", "properties": {}}) }
}

/// A greeting comes in pieces, two calls come whole, and what both took is told; whether the server has counted it, too.
async fn converses(mind: Rc<Lone>, model: &str, counts: bool) {
    give_key(&mind, model.split('/').next().unwrap()).await;
    let (thought, reply, sent) = mind.say("hello").await.unwrap();
    assert_eq!((thought.model.as_str(), reply.text.as_str(), reply.stop), (model, GREETING, Stop::End));
    assert_eq!(mind.said_on_the_way(), reply.text, "it was passed on as it came");
    let note = mind.told().await;
    assert_eq!((&note.usage, note.sent, note.failed.as_str()), (&thought.usage, Blake3::of(&sent), ""));
    let usage = &thought.usage;
    assert!(usage.tokens_in > 0 && usage.tokens_out > 0 && usage.counted == counts, "{model}: {usage:?}");
    assert!(!String::from_utf8(sent).unwrap().contains(KEY));

    let mut asked = prompt("what is there");
    asked.tools = vec![tool("fs_list"), tool("clock_now")];
    let (_, reply, _) = mind.think(mind.turn().await, 1, &asked).await.unwrap();
    let calls: Vec<(&str, Value)> =
        reply.calls.iter().map(|call| (call.name.as_str(), serde_json::from_str(&call.arguments).unwrap())).collect();
    assert_eq!(calls, [("fs_list", json!({"path": "notes"})), ("clock_now", json!({}))], "{model}");
    assert_eq!(reply.stop, Stop::Calls);
    let _note = mind.told().await;
}

/// A whole set that plans with this model.
fn set_with(line: &str, model: &str, more: &str) -> Instance {
    let set = Plan::new()
        .config(&format!(
            "[models]\nsubstrates = [\"{line}\"]\ninterface = [\"{model}\"]\nfirst_seconds = 90\n\
             prices = [\"{model} 2020-01-01 3.00 15.00\"]\n{more}"
        ))
        .start();
    let mut command = set.command("metnosctl");
    command.args(["models", "key", model.split('/').next().unwrap()]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(KEY.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    set
}

/// What the ledger has of conversations: tokens and money.
fn spent(set: &Instance) -> (u64, u64) {
    let of = |line: &metnos_tests::chronicle::Line| {
        let it = &line.0["payload"];
        (line.kind() == "cost_entry" && it["role"] == "interface" && it["stage"] == "actual").then(|| {
            let number = |name: &str| it[name].as_u64().unwrap_or(0);
            (number("tokens_in") + number("tokens_out"), number("micro"))
        })
    };
    set.chronicle().iter().filter_map(of).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
}

/// A turn of a whole set is answered by this server and paid for by the owner's table.
fn answers_a_turn(line: &str, model: &str) {
    let set = set_with(line, model, "");
    let said = set.ask("compose a sonnet that begins with hello");
    assert!(said.contains(GREETING), "{model}: {said}");
    let (tokens, micro) = until("what it took", Duration::from_secs(30), || Some(spent(&set)).filter(|it| it.0 > 0));
    assert!(tokens > 0 && micro > 0, "{model}");
    set.verify();
}

#[test]
fn llmposter_replies_and_faults_are_handled_in_both_formats() {
    let server = Server::llmposter();
    // It counts nothing of a streamed reply in OpenAI's words: then it is reckoned from the bytes.
    for (kind, path, counts) in [("anthropic", "", true), ("openai", "/v1", false), ("xai", "/v1", false)] {
        let (line, model) = (format!("there {kind} http://127.0.0.1:{}{path}", server.port), "there/some-model");
        with_mind(patient(&line, model), &[], async |mind: Rc<Lone>| {
            converses(Rc::clone(&mind), model, counts).await;
            for (words, rule) in
                [("break off", "mind.broken"), ("rubbish", "mind.broken"), ("too often", "mind.limited")]
            {
                let refusal = mind.say(words).await.unwrap_err();
                assert_eq!(refusal.rule, rule, "{kind}: {refusal:?}");
                let note = mind.told().await;
                assert_eq!(format!("mind.{}", note.failed), rule);
            }
        });
        answers_a_turn(&line, model);
    }
}

#[test]
fn litellm_proxy_is_understood_in_anthropic_and_openai_formats() {
    let behind = Aimock::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::litellm(behind.port, folder.path());
    // Of a streamed reply that it has put into Anthropic's words it says that it took nothing: then it is reckoned.
    for (kind, path, counts) in [("anthropic", "", false), ("openai", "/v1", true)] {
        let (line, model) = (format!("there {kind} http://127.0.0.1:{}{path}", server.port), "there/some-model");
        with_mind(patient(&line, model), &[], async |mind: Rc<Lone>| {
            // It wants a key of its own. What it says without one is a failure without a reason, in both formats.
            let refusal = mind.say("hello").await.unwrap_err();
            assert!(["mind.key", "mind.overloaded"].contains(&refusal.rule.as_str()), "{kind}: {refusal:?}");
            let _note = mind.told().await;
            converses(mind, model, counts).await;
        });
        answers_a_turn(&line, model);
    }
}

#[test]
fn random_llama_streams_counts_keeps_schema_and_ends_turn() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::llama(folder.path());
    let (line, model) = (format!("llama openai http://127.0.0.1:{}/v1", server.port), "llama/random");
    with_mind(patient(&line, model), &[], async |mind: Rc<Lone>| {
        assert_eq!(mind.say("hello").await.unwrap_err().rule, "mind.key");
        let _note = mind.told().await;
        give_key(&mind, "llama").await;
        // Words that mean nothing; they come as they are made. It counts nothing that it streams.
        let (thought, reply, _) = mind.say("hello").await.unwrap();
        assert_eq!(mind.said_on_the_way(), reply.text);
        assert!(thought.usage.tokens_in > 0, "{thought:?}");
        assert_eq!(mind.told().await.usage, thought.usage);
        // It cannot call tools of its own accord; but a reply of a given form is of that form, whatever its weights are.
        let mut asked = prompt("which of the two?");
        asked.schema = Some(json!({
            "type": "object", "properties": {"choice": {"enum": ["left", "right"]}, "sure": {"type": "boolean"}},
            "required": ["choice", "sure"], "additionalProperties": false,
        }));
        let (_, reply, _) = mind.think(mind.turn().await, 1, &asked).await.unwrap();
        let answer: Value = serde_json::from_str(&reply.text).unwrap_or_else(|error| panic!("{error}: {}", reply.text));
        assert!(answer["choice"] == "left" || answer["choice"] == "right", "{answer}");
        assert!(answer["sure"].is_boolean() && answer.as_object().unwrap().len() == 2, "{answer}");
        let _note = mind.told().await;
    });
    // A turn, with its calls asked for as JSON: whatever it writes, the turn ends, and nothing is done that nobody allowed.
    let set = set_with(&line, model, &format!("contexts = [\"{model} 16384 no-tools\"]\n"));
    let mut command = set.command("metnosctl");
    command.args(["ask", "compose a sonnet about the kitchen"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let output = command.stderr(Stdio::piped()).output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()).concat();
    println!("{}: {said}", output.status);
    assert!(!said.is_empty(), "somebody waits for an answer, and is told nothing");
    let closed = |line: &metnos_tests::chronicle::Line| line.kind() == "turn_close";
    until("the end of the turn", Duration::from_secs(60), || set.chronicle().iter().any(closed).then_some(()));
    until("what it took", Duration::from_secs(30), || (spent(&set).0 > 0).then_some(()));
    set.verify();
}

/// What a household may say, in two languages. The prompts and the search of files were tuned on these.
const HOUSEHOLD: &str = include_str!("data/household.jsonl");

/// How an answer was: as wanted, an honest refusal, or something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judged {
    Right,
    Refused,
    Wrong,
}

/// What lies in the workspace, as a person would see it.
fn lying(folder: &std::path::Path) -> std::collections::BTreeMap<String, String> {
    let mut all = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(lying(&path));
        } else {
            all.insert(
                path.display().to_string(),
                String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned(),
            );
        }
    }
    all
}

/// Asks one question of a set of its own files, and says how the answer was. An effect that the words do not ask for fails
/// the test: none may come of any model.
fn asked_of(set: &Instance, question: &Value) -> (Judged, String) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let notes = set.workspace("notes");
    for old in std::fs::read_dir(&notes).unwrap().flatten() {
        if old.path().is_file() {
            std::fs::remove_file(old.path()).unwrap();
        }
    }
    for (path, content) in question["files"].as_object().unwrap() {
        let file = set.workspace(path);
        std::fs::write(&file, text(content)).unwrap();
        std::os::unix::fs::chown(&file, Some(set.owner()), Some(set.owner())).unwrap();
    }
    let before = lying(&notes);
    let mut command = set.command("metnosctl");
    command.args(["ask", question["say"].as_str().unwrap()]).stdin(Stdio::null());
    let output = command.output().unwrap();
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()).join(" | ");
    let after = lying(&notes);
    let effect = question["effect"]["path"].as_str().map(|path| set.workspace(path).display().to_string());
    let changed = before
        .keys()
        .chain(after.keys())
        .find(|path| before.get(*path) != after.get(*path) && Some(*path) != effect.as_ref() && !path.contains("/."));
    assert_eq!(changed, None, "{question}: {said}");
    let done = effect.is_none_or(|path| {
        after.get(&path).is_some_and(|now| now.contains(question["effect"]["holds"].as_str().unwrap()))
    });
    let holds = |wanted: &Value| {
        let said = said.to_lowercase();
        wanted.as_str().unwrap().split('|').any(|one| said.contains(&one.to_lowercase()))
    };
    let wanted = question["want"].as_array().unwrap();
    let judged = match (output.status.success(), question["refuse"] == true) {
        (true, false) if done && wanted.iter().all(holds) => Judged::Right,
        (false, true) => Judged::Right,
        (false, false) => Judged::Refused,
        (true, _) => Judged::Wrong,
    };
    (judged, said)
}

/// Asks all questions of one model, prints how it did, and gives how many were right.
fn household(name: &str) -> usize {
    let server = Server::small_model(name);
    let (line, model) = (format!("here openai http://127.0.0.1:{}/v1", server.port), format!("here/{name}"));
    let set = set_with(&line, &model, "between_seconds = 120\n");
    let constrained =
        || (set.json(&["models", "list"]).1["roles"][0]["models"][0]["constrained"] == true).then_some(());
    until("mind to find out what its server is", Duration::from_secs(30), constrained);
    std::thread::sleep(Duration::from_secs(4));
    let (mut right, mut took) = (0, Vec::new());
    for question in HOUSEHOLD.lines() {
        let question: Value = serde_json::from_str(question).unwrap();
        let (tokens, began) = (spent(&set).0, std::time::Instant::now());
        let (judged, said) = asked_of(&set, &question);
        took.push(began.elapsed().as_secs());
        right += usize::from(judged == Judged::Right);
        println!(
            "{judged:?} {} tokens, {} s: {} -> {said}",
            spent(&set).0 - tokens,
            took.last().unwrap(),
            question["say"]
        );
    }
    took.sort_unstable();
    println!("{name}: {right} of {} right, median {} s", took.len(), took[took.len() / 2]);
    set.verify();
    right
}

#[test]
fn smallest_model_does_nothing_that_nobody_asked_for() {
    household("smol");
}

#[test]
fn small_coder_model_answers_half_of_questions_without_wrong_effect() {
    let right = household("coder");
    assert!(right >= HOUSEHOLD.lines().count() / 2, "{right}");
}
