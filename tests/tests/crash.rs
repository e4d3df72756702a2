//! A minute of turns by three clients while daemons are killed at random: the others stay, the killed one
//! comes back, nothing that was acknowledged is lost, nothing ran twice, and the chronicle holds.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use metnos_tests::chronicle::{Line, count};
use metnos_tests::instance::{Instance, Plan, READY_WITHIN, UNHURRIED};
use metnos_tests::rng::Rng;
use metnos_tests::until;
use serde_json::Value;

/// How long the kills go on, in seconds, unless `METNOS_CRASH_SECONDS` says otherwise.
const SECONDS: u64 = 60;
/// The longest pause between two kills, in milliseconds.
const PAUSE_MS: u64 = 1_200;
/// How many clients ask at the same time.
const CLIENTS: u64 = 3;

/// What a client was told, and may hold the set to.
#[derive(Debug, Default)]
struct Told {
    /// Turns that were opened for it.
    turns: BTreeSet<String>,
    /// Calls of direct runs that it got the result of.
    calls: BTreeSet<String>,
    /// For each answered turn, how many calls it was told have succeeded.
    answered: BTreeMap<String, usize>,
    /// Requests that came to nothing.
    failed: usize,
}

impl Told {
    fn join(&mut self, other: Self) {
        self.turns.extend(other.turns);
        self.calls.extend(other.calls);
        self.answered.extend(other.answered);
        self.failed += other.failed;
    }
}

fn ask(set: &Instance, words: &str, told: &mut Told) {
    let output = set.ctl(&["--json", "ask", words]);
    let mut turn = None;
    let mut succeeded = BTreeSet::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        match (event["event"].as_str(), event["state"].as_str(), event["end"].as_str()) {
            (Some("turn"), ..) => turn = event["turn"].as_str().map(str::to_owned),
            (Some("call"), Some("succeeded"), _) => {
                succeeded.insert(event["call"].as_str().unwrap().to_owned());
            }
            (Some("done"), _, Some("answered")) => {
                told.answered.insert(turn.clone().expect("a turn that is done was opened"), succeeded.len());
            }
            _ => {}
        }
    }
    told.failed += usize::from(!output.status.success());
    told.turns.extend(turn);
}

fn run(set: &Instance, executor: &str, pairs: &[&str], told: &mut Told) {
    let output = set.ctl(&[&["--json", "run", executor], pairs].concat());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match (output.status.success(), document["call"].as_str()) {
        (true, Some(call)) => {
            told.calls.insert(call.to_owned());
        }
        _ => told.failed += 1,
    }
}

fn client(set: &Instance, mut chance: Rng, stop: &AtomicBool) -> Told {
    let mut told = Told::default();
    while !stop.load(Ordering::Relaxed) {
        match chance.below(4) {
            0 => ask(set, "read notes/welcome.md", &mut told),
            1 => ask(set, "how many words are in notes/welcome.md", &mut told),
            2 => run(set, "fs_list", &[], &mut told),
            _ => run(set, "fs_read", &["path=notes/welcome.md"], &mut told),
        }
    }
    told
}

/// Kills one daemon after the other; how long each took to come back.
fn killer(set: &Instance, chance: &mut Rng, seconds: u64) -> Vec<(String, Duration)> {
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut back = Vec::new();
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(chance.below(PAUSE_MS)));
        let pids: Vec<(String, u32)> = set.pids().into_iter().filter(|(_, pid)| *pid != 0).collect();
        let (name, pid) = chance.pick(&pids).clone();
        let process = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
        let began = Instant::now();
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        set.wait_back(&name, pid);
        back.push((name.clone(), began.elapsed()));
        // Only the killed one is another process now.
        let now = set.pids();
        for (other, pid) in pids.iter().filter(|(other, _)| *other != name) {
            assert_eq!(now.get(other), Some(pid), "{other} did not survive the end of {name}");
        }
    }
    back
}

fn by<'a>(lines: &'a [Line], kind: &str, key: impl Fn(&'a Line) -> String) -> BTreeMap<String, Vec<&'a Line>> {
    let mut found: BTreeMap<String, Vec<&Line>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.kind() == kind) {
        found.entry(key(line)).or_default().push(line);
    }
    found
}

fn assert_nothing_ran_twice(lines: &[Line]) {
    let call = |line: &Line| line.payload("call").to_owned();
    for (kind, found) in [
        ("started", by(lines, "run_started", call)),
        ("ended", by(lines, "run_ended", call)),
        ("decided", by(lines, "policy_decision", call)),
        ("carried out", by(lines, "run_started", |line| line.0["payload"]["decision_seq"].to_string())),
        ("placed", by(lines, "run_started", |line| format!("{} {}", line.text("turn_id"), line.payload("place")))),
    ] {
        for (key, lines) in found {
            assert_eq!(lines.len(), 1, "{kind} more than once: {key}: {lines:#?}");
        }
    }
}

fn assert_nothing_lost(lines: &[Line], told: &Told) {
    let turn = |line: &Line| line.text("turn_id").to_owned();
    let said = by(lines, "owner_message", turn);
    for turn in &told.turns {
        assert!(said.contains_key(turn), "the words of {turn} are lost");
    }
    let ended = by(lines, "run_ended", |line| line.payload("call").to_owned());
    for call in &told.calls {
        let lines = ended.get(call).unwrap_or_else(|| panic!("the run of {call} is lost"));
        assert_eq!(lines[0].payload("outcome"), "ok");
    }
    let runs = by(lines, "run_ended", turn);
    for (turn, succeeded) in &told.answered {
        let ok = runs.get(turn).map_or(0, |lines| lines.iter().filter(|line| line.payload("outcome") == "ok").count());
        assert_eq!(ok, *succeeded, "{turn} was told of {succeeded} calls");
    }
}

fn assert_survives(plan: Plan) {
    let seconds = std::env::var("METNOS_CRASH_SECONDS").map_or(SECONDS, |text| text.parse().unwrap());
    let mut chance = Rng::announced();
    let set = plan.config(UNHURRIED).start();
    let stop = AtomicBool::new(false);
    let mut told = Told::default();
    let back = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (chance, set, stop) = (Rng::new(chance.number()), &set, &stop);
                scope.spawn(move || client(set, chance, stop))
            })
            .collect();
        let back = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| killer(&set, &mut chance, seconds)));
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            told.join(client.join().unwrap());
        }
        back.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    report(&back, &told);
    assert!(told.answered.len() >= 3 && told.calls.len() >= 3, "hardly anything was answered: {told:?}");
    until("the set as before", READY_WITHIN, || {
        set.daemons()?.iter().all(|row| row["since_ms"].as_u64() != Some(0)).then_some(())
    });
    let _text = set.ask("read notes/welcome.md");
    set.verify();
    let lines = set.chronicle();
    assert_nothing_ran_twice(&lines);
    assert_nothing_lost(&lines, &told);
}

fn report(back: &[(String, Duration)], told: &Told) {
    let mut times: Vec<Duration> = back.iter().map(|(_, time)| *time).collect();
    times.sort();
    println!(
        "{} kills; back after {:?} in the middle and {:?} at most; {} turns opened, {} answered, {} direct calls, {} requests failed",
        back.len(),
        times[times.len() / 2],
        times[times.len() - 1],
        told.turns.len(),
        told.answered.len(),
        told.calls.len(),
        told.failed
    );
}

#[test]
fn a_minute_of_kills_loses_nothing_and_runs_nothing_twice() {
    assert_survives(Plan::new());
}

#[test]
fn each_daemon_can_be_restarted_by_name_while_turns_go_on() {
    let set = Plan::new().config(UNHURRIED).start();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| client(&set, Rng::announced(), &stop));
        for (name, pid) in set.pids() {
            let (code, value) = set.json(&["daemon", "restart", &name]);
            assert_eq!(code, 0, "{name}: {value:#}");
            assert_ne!(set.pids()[&name], pid, "{name}");
        }
        stop.store(true, Ordering::Relaxed);
        let told = asking.join().unwrap();
        assert_nothing_lost(&set.chronicle(), &told);
    });
    set.verify();
    assert_nothing_ran_twice(&set.chronicle());
}

#[test]
fn call_whose_sandboxd_dies_is_interrupted_and_not_repeated() {
    let set = Instance::start();
    // What `re` searches for seconds: the kill meets the call in the middle, on any machine.
    std::fs::write(set.workspace("endless.txt"), format!("{}b\n", "a".repeat(60))).unwrap();
    let sandboxd = set.pids()["sandboxd"];
    let ((code, answer), lines) = set.recording(|| {
        std::thread::scope(|scope| {
            let before = set.chronicle().len();
            let call = scope.spawn(|| set.run("text_search", &["path=endless.txt", "regex=true", "pattern=(a+)+$"]));
            until("the start of the run", READY_WITHIN, || {
                (count(&set.chronicle()[before..], "run_started") > 0).then_some(())
            });
            let process = rustix::process::Pid::from_raw(sandboxd.cast_signed()).unwrap();
            rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
            call.join().unwrap()
        })
    });
    set.wait_back("sandboxd", sandboxd);
    assert_eq!((code, answer["error"]["rule"].as_str()), (3, Some("interrupted")), "{answer:#}");
    let counts = ["policy_decision", "run_started", "run_ended"].map(|kind| count(&lines, kind));
    assert_eq!(counts, [1, 1, 0], "{lines:#?}");
    let _text = set.ask("read notes/welcome.md");
    set.verify();
    assert_nothing_ran_twice(&set.chronicle());
}

mod as_root {
    use super::*;

    #[test]
    fn kills_lose_nothing_either_when_every_daemon_has_its_own_uid() {
        // A shorter time: it is the other way to start that is of interest here.
        let set = Plan::new().as_root().start();
        let mut chance = Rng::announced();
        let back = killer(&set, &mut chance, 10);
        assert!(!back.is_empty());
        let _text = set.ask("how many words are in notes/welcome.md");
        set.verify();
        assert_nothing_ran_twice(&set.chronicle());
    }
}
