//! The door goes away in the middle, killed, and another one comes: a client that comes back with the last id it has seen
//! misses nothing and learns nothing twice, whether a model is speaking or a card waits; and what was stopped stays stopped.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use metnos_tests::chronicle::count;
use metnos_tests::http::{Event, WITHIN, Web, said};
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Liar, STREAM, plain, say};
use serde_json::{Value, json};

/// What stands below the answer, by the record.
const TIDIED: &str = "\nDone: 1 file or folder moved to the trash.";

/// How many pieces a slow answer has.
const PIECES: usize = 120;
const SLOWLY: &str = "compose a sonnet about the sea and the moon";

fn piece(delta: Value, end: Value) -> String {
    format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": end }] }))
}

fn finish(stream: &mut TcpStream, end: &str) {
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 } });
    say(stream, &format!("{}data: {usage}\n\ndata: [DONE]\n\n", piece(json!({}), json!(end))));
}

fn verse(n: usize) -> String {
    format!("{n} waves under the moon,\n")
}

fn sonnet() -> String {
    (0..PIECES).map(verse).collect()
}

/// A set whose model first plans these calls, if any, and then says its pieces slowly: so many more than `allowed` are
/// never said.
fn slow_model(plans: Option<Value>, allowed: &Arc<AtomicUsize>) -> (Instance, Web) {
    let (asked, allowed) = (AtomicUsize::new(0), Arc::clone(allowed));
    let server = Liar::start(move |_, request, stream| {
        if request.starts_with("GET ") {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        let number = asked.fetch_add(1, Ordering::SeqCst);
        if let (0, Some(plans)) = (number, &plans) {
            let function = json!({ "name": "plan", "arguments": plans.to_string() });
            let call = json!({ "index": 0, "id": "call_0", "type": "function", "function": function });
            let before = piece(json!({ "content": "First I tidy up.\n" }), Value::Null);
            let calls = piece(json!({ "tool_calls": [call] }), Value::Null);
            let _ = stream.write_all(format!("{STREAM}{before}{calls}").as_bytes());
            return finish(stream, "tool_calls");
        }
        let _ = stream.write_all(STREAM.as_bytes());
        for n in 0..PIECES {
            while n >= allowed.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(2));
            }
            // So that they come one by one.
            std::thread::sleep(Duration::from_millis(2));
            if stream.write_all(piece(json!({ "content": verse(n) }), Value::Null).as_bytes()).is_err() {
                return;
            }
        }
        finish(stream, "stop");
    });
    let port = server.port;
    let set = Plan::new()
        .config(&format!(
            "[http]\nlisten = \"127.0.0.1:0\"\n[models]\nsubstrates = [\"there openai http://127.0.0.1:{port}/v1\"]\n\
             interface = [\"there/m\"]\n"
        ))
        .start();
    // It answers for as long as the test runs.
    std::mem::forget(server);
    let web = Web::of(&set);
    (set, web)
}

/// Kills the door with what it has begun, and waits for the next one.
fn kill_the_door(set: &Instance) {
    let before = set.pids()["gatewayd"];
    let killed = rustix::process::Pid::from_raw(before.cast_signed()).unwrap();
    rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
    set.wait_back("gatewayd", before);
}

/// Listens as a browser does: comes back with the last id until the turn is done, or `enough` says so.
fn follow(web: &Web, turn: &str, events: &mut Vec<Event>, enough: impl Fn(&[Event]) -> bool) {
    let began = std::time::Instant::now();
    while began.elapsed() < WITHIN {
        let last = events.last().map(|event| event.id.clone());
        let mut listening = web.listen(turn, last.as_deref());
        assert_eq!(listening.status(), 200, "{}", listening.head);
        while let Some(event) = listening.next_event() {
            if event.name == "again" {
                break;
            }
            events.push(event);
            if enough(events) || events.last().unwrap().name == "done" {
                return;
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{events:#?}\n");
}

fn lines(events: &[Event]) -> usize {
    said(events).lines().count()
}

/// No event came twice, and they came in their order.
fn each_once(events: &[Event]) {
    let ids: BTreeSet<&str> = events.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids.len(), events.len(), "{events:#?}");
    let number = |event: &Event| event.id.split('.').next().unwrap().parse::<u64>().unwrap();
    assert!(events.windows(2).all(|pair| number(&pair[0]) <= number(&pair[1])), "{events:#?}");
}

#[test]
fn killed_door_loses_no_part_of_answer_for_returning_client() {
    let allowed = Arc::new(AtomicUsize::new(PIECES / 4));
    let (set, web) = slow_model(None, &allowed);
    let mut owner = web.paired(&set, "owner");
    let mut listening = owner.say(SLOWLY);
    let (turn, mut events) = (listening.turn(), Vec::new());
    while lines(&events) < 10 {
        events.push(listening.next_event().unwrap());
    }
    // Twice: the second door is no better than the first.
    for quarter in 2..=3 {
        kill_the_door(&set);
        owner = owner.again(&set);
        let more = lines(&events) + PIECES / 8;
        allowed.store(PIECES * quarter / 4, Ordering::SeqCst);
        follow(&owner, &turn, &mut events, |events| lines(events) >= more);
    }
    assert_ne!(said(&events), sonnet(), "it goes on");
    allowed.store(PIECES, Ordering::SeqCst);
    follow(&owner, &turn, &mut events, |_| false);
    assert_eq!(said(&events), sonnet());
    assert_eq!(events.last().unwrap().data["end"], "answered");
    each_once(&events);
    // The journal has it whole, and once.
    let chronicle = set.chronicle();
    assert_eq!(count(&chronicle, "assistant_message"), 1);
    assert!(chronicle.iter().any(|line| line.payload("text") == sonnet().as_str()));
    let document = owner.get(&format!("/v1/turns/{turn}")).json();
    assert_eq!((document["state"].as_str(), document["text"].as_str()), (Some("done"), Some(sonnet().as_str())));
    // From every event on, and for nobody else.
    for at in [0, 1, events.len() / 2, events.len() - 1] {
        let mut again = events[..at].to_vec();
        follow(&owner, &turn, &mut again, |_| false);
        assert_eq!(said(&again), sonnet(), "after {at}");
    }
    assert_eq!(web.again(&set).paired(&set, "owner").listen(&turn, None).status(), 404);
    set.verify();
}

#[test]
fn answer_that_ends_without_door_is_journalled_by_next_door() {
    let allowed = Arc::new(AtomicUsize::new(5));
    let (set, web) = slow_model(None, &allowed);
    let owner = web.paired(&set, "owner");
    let mut listening = owner.say(SLOWLY);
    let (turn, mut events) = (listening.turn(), Vec::new());
    while lines(&events) < 2 {
        events.push(listening.next_event().unwrap());
    }
    let before = set.pids()["gatewayd"];
    let killed = rustix::process::Pid::from_raw(before.cast_signed()).unwrap();
    // All of it may be said before another door is there.
    allowed.store(PIECES, Ordering::SeqCst);
    rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
    set.wait_back("gatewayd", before);
    // Nobody needs to come back for it.
    metnos_tests::until("it is journalled", WITHIN, || {
        set.chronicle().iter().any(|line| line.payload("text") == sonnet().as_str()).then_some(())
    });
    let owner = owner.again(&set);
    follow(&owner, &turn, &mut events, |_| false);
    assert_eq!(said(&events), sonnet());
    each_once(&events);
    set.verify();
}

#[test]
fn turn_can_be_stopped_at_a_later_door() {
    let allowed = Arc::new(AtomicUsize::new(5));
    let (set, web) = slow_model(None, &allowed);
    let owner = web.paired(&set, "owner");
    let mut listening = owner.say(SLOWLY);
    let (turn, mut events) = (listening.turn(), Vec::new());
    events.push(listening.next_event().unwrap());
    kill_the_door(&set);
    let (owner, path) = (owner.again(&set), format!("/v1/turns/{turn}"));
    let other = web.again(&set).paired(&set, "owner");
    assert_eq!(other.ask("DELETE", &path, "").json()["was_open"], false, "nobody else does");
    assert_eq!(owner.ask("DELETE", &path, "").json()["was_open"], true);
    follow(&owner, &turn, &mut events, |_| false);
    assert_eq!(events.last().unwrap().data["end"], "cancelled", "{events:#?}");
    allowed.store(PIECES, Ordering::SeqCst);
    set.verify();
}

#[test]
fn principal_revoked_while_door_is_down_receives_nothing_more() {
    let allowed = Arc::new(AtomicUsize::new(5));
    let (set, web) = slow_model(None, &allowed);
    let guest = web.paired(&set, "guest");
    let principal = guest.get("/v1/status").json()["principal"].as_str().unwrap().to_owned();
    let mut listening = guest.say(SLOWLY);
    let turn = listening.turn();
    let _event = listening.next_event().unwrap();
    kill_the_door(&set);
    assert_eq!(set.json(&["pairing", "revoke", &principal]).0, 0);
    metnos_tests::until("the turn is over", WITHIN, || (set.json(&["status"]).1["door"]["turns"] == 0).then_some(()));
    assert_eq!(guest.again(&set).listen(&turn, None).status(), 401);
    allowed.store(PIECES, Ordering::SeqCst);
    assert!(!set.chronicle().iter().any(|line| line.payload("text") == sonnet().as_str()));
    set.verify();
}

#[test]
fn suspended_turn_resumes_at_next_door_with_each_event_once() {
    for others in [&[][..], &["planner"]] {
        let delete = json!({ "calls": [{ "tool": "fs_delete", "arguments": { "path": "old", "folder": true } }] });
        let allowed = Arc::new(AtomicUsize::new(PIECES / 2));
        let (set, web) = slow_model(Some(delete), &allowed);
        put_folder(&set, "old");
        let owner = web.paired(&set, "owner");
        let mut listening = owner.say("tidy up: away with the folder old, whatever is in it");
        let turn = listening.turn();
        let mut events = listening.until("card");
        metnos_tests::until("the turn waits", WITHIN, || {
            (owner.get(&format!("/v1/turns/{turn}")).json()["state"] == "suspended").then_some(())
        });
        for daemon in others {
            assert!(set.ctl(&["daemon", "restart", daemon]).status.success(), "{daemon}");
        }
        kill_the_door(&set);
        let owner = owner.again(&set);
        // Who has not heard of the card learns of it here, while this planner is the one that had suspended the turn.
        if others.is_empty() {
            let mut early = events[..1].to_vec();
            follow(&owner, &turn, &mut early, |events| events.iter().any(|event| event.name == "card"));
            let card = |events: &[Event]| events.last().unwrap().data["digest"].clone();
            assert_eq!(card(&early), card(&events));
        }
        let (card, digest) =
            (events.last().unwrap().data["card"].clone(), events.last().unwrap().data["digest"].clone());
        let answer = json!({"digest": digest, "answer": "once"});
        let settled = owner.post(&format!("/v1/approvals/{}", card.as_str().unwrap()), &answer);
        assert_eq!(settled.status, 200, "{settled:?}");
        let heard = lines(&events);
        follow(&owner, &turn, &mut events, |events| lines(events) >= heard + 10);
        // And once more, in the middle of what follows.
        kill_the_door(&set);
        let owner = owner.again(&set);
        allowed.store(PIECES, Ordering::SeqCst);
        follow(&owner, &turn, &mut events, |_| false);
        assert_eq!(said(&events), format!("First I tidy up.\n{}{TIDIED}", sonnet()), "{others:?}");
        let waiting = |event: &&Event| event.name == "card" && event.data["state"] == "waiting";
        assert_eq!(events.iter().filter(waiting).count(), 1, "{others:?} {events:#?}");
        each_once(&events);
        assert!(!set.workspace("old").exists());
        assert_eq!(count(&set.chronicle(), "assistant_message"), 1);
        set.verify();
    }
}

#[test]
fn a_card_that_is_answered_while_no_door_is_there_lets_its_turn_go_on() {
    let delete = json!({ "calls": [{ "tool": "fs_delete", "arguments": { "path": "old", "folder": true } }] });
    let (set, web) = slow_model(Some(delete), &Arc::new(AtomicUsize::new(PIECES)));
    put_folder(&set, "old");
    let owner = web.paired(&set, "owner");
    let mut listening = owner.say("tidy up: away with the folder old, whatever is in it");
    let turn = listening.turn();
    let mut events = listening.until("card");
    let card = events.last().unwrap().data["card"].as_str().unwrap().to_owned();
    metnos_tests::until("the turn waits", WITHIN, || {
        (owner.get(&format!("/v1/turns/{turn}")).json()["state"] == "suspended").then_some(())
    });
    let before = set.pids()["gatewayd"];
    let killed = rustix::process::Pid::from_raw(before.cast_signed()).unwrap();
    rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
    let (code, done) = set.json(&["approval", "approve", &card]);
    assert_eq!(code, 0, "{done:#}");
    set.wait_back("gatewayd", before);
    let owner = owner.again(&set);
    follow(&owner, &turn, &mut events, |_| false);
    assert_eq!(said(&events), format!("First I tidy up.\n{}{TIDIED}", sonnet()));
    each_once(&events);
    set.verify();
}

fn put_folder(set: &Instance, name: &str) {
    let folder = set.workspace(name);
    std::fs::create_dir(&folder).unwrap();
    let files: Vec<_> = (0..12).map(|n| folder.join(format!("{n}.md"))).collect();
    for file in &files {
        std::fs::write(file, "x").unwrap();
    }
    for place in files.iter().chain([&folder]) {
        std::os::unix::fs::chown(place, Some(set.owner()), Some(set.owner())).unwrap();
    }
}
