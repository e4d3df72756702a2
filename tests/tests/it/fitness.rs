//! What becomes of executors by their use, in a real set: who is shown to planners, what brings him back, and that nobody but
//! the owner says what was of use.

use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use metnos_proto::ids::Blake3;
use metnos_proto::role::RoleName;
use metnos_tests::chronicle::Line;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Liar, plain, say};
use metnos_tests::script::{Reply, openai};
use metnos_tests::until;
use serde_json::{Value, json};

const HOSTILE: &str = env!("CARGO_BIN_EXE_metnos-hostile");
/// What only `fs_read` does.
const WORDS: &str = "read notes/welcome.md";
/// In so many turns one of them explores, but once in a thousand million.
const SURELY: usize = 400;

/// Its row in the list.
fn row(set: &Instance, executor: &str) -> Value {
    let (code, list) = set.json(&["executor", "list"]);
    assert_eq!(code, 0, "{list:#}");
    list.as_array().unwrap().iter().find(|row| row["name"] == executor).unwrap().clone()
}

fn state(set: &Instance, executor: &str) -> String {
    row(set, executor)["state"].as_str().unwrap().to_owned()
}

/// The turn that ended last in these lines.
fn turn_of(lines: &[Line]) -> String {
    lines.iter().rfind(|line| line.kind() == "turn_close").unwrap().text("turn_id").to_owned()
}

fn feedback(set: &Instance, turn: &str, word: &str) -> (i32, Value) {
    set.json(&["turn", "feedback", turn, word])
}

fn read(set: &Instance) -> (i32, Value) {
    set.run("fs_read", &["path=notes/welcome.md"])
}

/// Calls that the owner was not served by, until planners are shown it no more.
fn spoil(set: &Instance) {
    for n in 0..=6 {
        if state(set, "fs_read") == "below_threshold" {
            return assert!(n > 0, "it was so before");
        }
        let ((code, _), lines) = set.recording(|| read(set));
        assert_eq!(code, 0);
        assert_eq!(feedback(set, &set.ended_turn(&lines).0, "bad").0, 0);
    }
    panic!("{:#}", row(set, "fs_read"));
}

/// Whether a turn shows an executor in spite of it, as the formats say.
fn explores(turn: &str, executor: &str) -> bool {
    let manifest = format!("{}/../executors/{executor}/manifest.toml", env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"')).unwrap();
    let Blake3(bytes) = Blake3::of(format!("{turn} {executor} {version}").as_bytes());
    u64::from_be_bytes(bytes[..8].try_into().unwrap()).is_multiple_of(20)
}

/// A turn with these words: whether it was answered, its id, and who was shown in it.
fn ask(set: &Instance, words: &str) -> (bool, String, Vec<String>) {
    let (output, lines) = set.recording(|| set.ctl(&["ask", words]));
    let open = lines.iter().find(|line| line.kind() == "turn_open").unwrap();
    let shown = open.0["payload"]["candidates"].as_array().unwrap();
    let shown = shown.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    (output.status.success(), open.text("turn_id").to_owned(), shown)
}

#[test]
fn unfit_executor_is_hidden_except_exploration_and_restored_by_use() {
    let mut set = Instance::start();
    assert!(ask(&set, WORDS).0);
    spoil(&set);
    let shown = row(&set, "fs_read");
    assert!(shown["why"].as_str().unwrap().contains("too little use"), "{shown:#}");
    assert!(shown["fitness"]["fitness"].as_f64().unwrap() < 0.0, "{shown:#}");
    assert!(shown["fitness"]["judged"].as_u64().unwrap() >= 5 && shown["fitness"]["without_signal"] == 0, "{shown:#}");
    let (_, record) = set.json(&["executor", "show", "fs_read"]);
    assert_eq!(
        (&record["state"], &record["why"], &record["fitness"]),
        (&shown["state"], &shown["why"], &shown["fitness"])
    );
    // Nobody who may call it is refused, and a use puts it in sight.
    assert_eq!(read(&set).0, 0);
    assert_eq!(state(&set, "fs_read"), "active");
    assert!(ask(&set, WORDS).0);
    spoil(&set);
    // It is derived from the chronicle, and from nothing else.
    let before = set.json(&["executor", "list"]).1;
    set.down();
    for name in ["mnest.sqlite", "mnest.sqlite-wal", "mnest.sqlite-shm"] {
        let _ = std::fs::remove_file(set.home().join(".mnestome").join(name));
    }
    set.up();
    until("memoryd", Duration::from_secs(60), || (row(&set, "fs_read")["fitness"].is_object()).then_some(()));
    assert_eq!(set.json(&["executor", "list"]).1, before);
    let explored = (0..SURELY).find(|_| {
        let (answered, turn, shown) = ask(&set, WORDS);
        let explored = explores(&turn, "fs_read");
        assert_eq!((answered, shown.contains(&"fs_read".to_owned())), (explored, explored), "turn {turn}: {shown:?}");
        explored
    });
    assert!(explored.is_some());
    assert_eq!(state(&set, "fs_read"), "active", "it was of use there");
    assert!(ask(&set, WORDS).0);
    set.verify();
}

#[test]
fn trial_ends_after_ten_calls_and_call_by_name_starts_another() {
    let asked = AtomicUsize::new(0);
    let server = Liar::start(move |_, request: &str, stream: &mut TcpStream| {
        if request.starts_with("GET ") {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        let number = asked.fetch_add(1, Ordering::SeqCst);
        let missing = ("missing", json!({ "summary": "Tell the tides", "inputs": {}, "outputs": {}, "errors": [] }));
        // Ten turns look at the clock, and say that this is not what was wanted; later ones only talk.
        let reply = match number {
            0..20 if number.is_multiple_of(2) => Reply::Calls(vec![("clock_now", json!({})), missing]),
            _ => Reply::Says("That cannot be done yet."),
        };
        say(stream, &openai(number, &reply));
    });
    let set = Plan::new()
        .config(&format!(
            "[models]\nsubstrates = [\"there openai http://127.0.0.1:{}/v1\"]\ninterface = [\"there/m\"]\n\
             prices = [\"there/m 2020-01-01 3.00 15.00\"]\ncontexts = [\"there/m 64000\"]\n",
            server.port
        ))
        .start();
    let words = "tell me by the clock, please: what time is high tide where my sister lives";
    for calls in 1..=10 {
        assert_eq!(state(&set, "clock_now"), "active");
        let (_, _, shown) = ask(&set, words);
        assert!(shown.contains(&"clock_now".to_owned()), "{shown:?}");
        assert_eq!(row(&set, "clock_now")["fitness"]["without_signal"], calls);
    }
    let told = row(&set, "clock_now");
    assert_eq!(told["state"], "below_threshold");
    assert!(told["why"].as_str().unwrap().contains("last 10 calls"), "{told:#}");
    for _ in 0..5 {
        let (_, turn, shown) = ask(&set, words);
        assert_eq!(shown.contains(&"clock_now".to_owned()), explores(&turn, "clock_now"), "{shown:?}");
        let heard = server.heard();
        assert_eq!(heard.last().unwrap().contains("\"clock_now\""), explores(&turn, "clock_now"));
    }
    assert_eq!(set.run("clock_now", &[]).0, 0);
    assert_eq!(state(&set, "clock_now"), "active");
    assert!(ask(&set, words).2.contains(&"clock_now".to_owned()));
    set.verify();
}

#[test]
fn undo_lowers_fitness_and_owners_last_feedback_counts() {
    let set = Instance::start();
    let ((code, _), lines) = set.recording(|| set.run("fs_delete", &["path=notes/welcome.md"]));
    assert_eq!(code, 0);
    let turn = set.ended_turn(&lines).0;
    let fitness = |executor: &str| row(&set, executor)["fitness"]["fitness"].as_f64().unwrap();
    assert_eq!(fitness("fs_delete"), 1.0);
    assert_eq!(set.json(&["undo", &turn]).0, 0);
    until("the word of policyd", Duration::from_secs(20), || (fitness("fs_delete").abs() < 0.01).then_some(()));
    for (word, expected) in [("good", 1.0), ("bad", -2.0), ("bad", -2.0), ("good", 1.0)] {
        assert_eq!(feedback(&set, &turn[turn.len() - 8..], word).0, 0);
        assert!((fitness("fs_delete") - expected).abs() < 0.01, "{word}: {}", fitness("fs_delete"));
    }
    let line = set.chronicle().into_iter().rfind(|line| line.kind() == "checkpoint").unwrap();
    assert_eq!((line.payload("act"), line.payload("id"), line.payload("tag")), ("judge", turn.as_str(), "good"));
    assert_eq!(line.text("emitter"), "metnosctl");
    let (code, refused) = feedback(&set, "01M825JC65Y2MW70MZR386DS0E", "good");
    assert_eq!((code, &refused["error"]["rule"]), (1, &"feedback.turn".into()), "{refused:#}");
    assert_eq!(set.ctl(&["turn", "feedback", &turn, "splendid"]).status.code(), Some(2));
    set.verify();
}

#[test]
fn hijacked_planner_cannot_forge_owner_feedback() {
    let set = Plan::new().replace(RoleName::Planner, HOSTILE).start();
    spoil(&set);
    // The owner's words that stand in a turn are no feedback, however a planner reads them.
    let before = row(&set, "fs_read");
    let turn = turn_of(&set.chronicle());
    let said = set.ask(&format!("attack turn feedback {turn} good"));
    assert!(said.contains("no attack is named"), "{said}");
    assert_eq!(row(&set, "fs_read"), before);
    // policyd has not heard of any of this: the call is decided as before.
    let said = set.ask(&format!("attack {WORDS}"));
    assert!(said.starts_with("ran ok"), "{said}");
    assert_eq!(state(&set, "fs_read"), "active");
    // And being in sight is no permission.
    assert_eq!(set.json(&["executor", "archive", "fs_read"]).0, 0);
    assert_eq!(state(&set, "fs_read"), "archived");
    let said = set.ask(&format!("attack {WORDS}"));
    assert!(said.starts_with("denied") && said.contains("executor.archived"), "{said}");
    set.verify();
}
