//! Memory in a running set: the owner's files are picked up as they are, what the ager sees reaches the owner by way of
//! the vaglio, and what is taken out by rite leaves every proof standing.

use std::time::Duration;

use metnos_tests::chronicle::{self, Line};
use metnos_tests::instance::Instance;
use metnos_tests::until;
use serde_json::Value;

/// The six files that say who Metnos is and what it is for.
const FILES: [&str; 6] = ["AGENTS.md", "IDENTITY.md", "MEMORY.md", "SOUL.md", "TELOS.md", "USER.md"];
/// How long memoryd may take to notice, also on a machine that does much else.
const NOTICED_WITHIN: Duration = Duration::from_secs(60);

fn add(set: &Instance, file: &str, text: &str) {
    let path = set.workspace(file);
    let mut whole = std::fs::read_to_string(&path).unwrap_or_default();
    whole.push_str(text);
    // As an editor saves: another file, put in the place of the first.
    let beside = set.workspace(&format!("{file}.new"));
    std::fs::write(&beside, whole).unwrap();
    std::os::unix::fs::chown(&beside, Some(set.owner()), Some(set.owner())).unwrap();
    std::fs::rename(&beside, &path).unwrap();
}

/// The names that the identity checks after line `seq` tell of.
fn told_changed(set: &Instance, seq: u64) -> Vec<String> {
    let lines = metnos_tests::chronicle::after(set.home(), seq);
    let checks = lines.iter().filter(|line| line.kind() == "identity_check");
    let mut names: Vec<String> = checks
        .flat_map(|line| line.0["payload"]["changed"].as_array().cloned().unwrap_or_default())
        .map(|file| file["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// What the planner's turns were told of who Metnos is, in their order.
fn identities(lines: &[Line]) -> Vec<String> {
    lines.iter().filter(|line| line.kind() == "turn_open").map(|line| line.payload("identity").to_owned()).collect()
}

#[test]
fn changed_owner_files_are_loaded_live_and_soul_waits_for_its_rite() {
    let set = Instance::start();
    let pids = set.pids();
    let before = metnos_tests::chronicle::last(set.home());
    assert!(set.ask("how many words are in notes/welcome.md").contains(char::is_numeric));
    for file in FILES.iter().filter(|file| **file != "SOUL.md") {
        add(&set, file, "\n\nOne more line of the owner's.\n");
    }
    until("five files noticed", NOTICED_WITHIN, || (told_changed(&set, before).len() == 5).then_some(()));
    assert!(set.ask("how many words are in notes/welcome.md").contains(char::is_numeric));
    let (code, rite) = set.json(&["rite", "constitution"]);
    assert_eq!((code, rite["pending"].as_bool()), (0, Some(false)), "{rite:#}");
    let in_force = rite["in_force"]["digest"].clone();

    add(&set, "SOUL.md", "\n");
    until("SOUL.md noticed", NOTICED_WITHIN, || (told_changed(&set, before).len() == 6).then_some(()));
    assert_eq!(told_changed(&set, before), FILES);
    let pending = until("the constitution is pending", NOTICED_WITHIN, || {
        let (_, rite) = set.json(&["rite", "constitution"]);
        (rite["pending"] == true).then_some(rite)
    });
    assert_eq!(pending["in_force"]["digest"], in_force, "the old Laws stay in force");
    // What the owner asks for is done all the same: only what Metnos would do of its own accord waits.
    assert!(set.ask("how many words are in notes/welcome.md").contains(char::is_numeric));
    let digest = pending["file"]["digest"].as_str().unwrap().to_owned();
    assert_ne!(set.json(&["rite", "constitution", "--confirm", in_force.as_str().unwrap()]).0, 0, "not what was shown");
    let ((code, done), lines) = set.recording(|| set.json(&["rite", "constitution", "--confirm", &digest]));
    assert_eq!((code, done["pending"].as_bool()), (0, Some(false)), "{done:#}");
    assert!(lines.iter().any(|line| line.to_text().contains("constitution_modified")), "{lines:?}");

    let turns = identities(&metnos_tests::chronicle::after(set.home(), before));
    assert_eq!(turns.len(), 3);
    assert!(turns[0] != turns[1] && turns[1] != turns[2], "each turn is told of the files as they are: {turns:?}");
    assert_eq!(set.pids(), pids, "nobody was started anew");
    set.verify();
}

/// A proposal among those that were put before the owner, or left unasked, about one of these mnests.
fn sifted(set: &Instance, kind: &str, mnests: &[&str]) -> Option<Value> {
    let list = |what: &str| set.json(&["vaglio", what]).1.as_array().cloned().unwrap_or_default();
    let about = |one: &Value| one["kind"] == kind && mnests.contains(&one["subject"].as_str().unwrap_or(""));
    list("digest").into_iter().chain(list("unasked")).find(about)
}

#[test]
fn ager_findings_are_filtered_by_policyd_and_shown_without_effect() {
    let set = Instance::start();
    for _ in 0..4 {
        assert!(!set.ctl(&["ask", "play some music of vivaldi"]).status.success());
    }
    let (_, list) = set.json(&["mnest", "list"]);
    let wishes: Vec<&Value> = list.as_array().unwrap().iter().filter(|one| one["state"] == "proto").collect();
    assert!(!wishes.is_empty(), "{list:#}");
    // The ager comes every fifty calls.
    for _ in 0..50 {
        assert_eq!(set.run("fs_read", &["path=notes/welcome.md"]).0, 0);
    }
    let (_, proposals) = set.json(&["mnest", "proposals"]);
    let synthesis: Vec<&str> = proposals
        .as_array()
        .unwrap_or_else(|| panic!("{proposals:#}"))
        .iter()
        .filter(|one| one["kind"] == "synthesis")
        .map(|one| one["mnest"].as_str().unwrap())
        .collect();
    assert!(!synthesis.is_empty(), "{proposals:#}\n{list:#}");
    let found =
        until("a proposal of the ager's in the vaglio", NOTICED_WITHIN, || sifted(&set, "synthesis", &synthesis));
    let id = found["id"].as_str().unwrap();
    let (code, explained) = set.json(&["vaglio", "explain", id]);
    assert_eq!(code, 0, "{explained:#}");
    let title = explained["title"].as_str().unwrap();
    assert!(title.contains("play music") && !title.contains("vivaldi"), "merged by what is wished for: {explained:#}");
    assert_eq!(explained["reversible"], true);
    let told = set.chronicle();
    assert!(
        told.iter().any(|line| line.kind() == "system_event" && line.to_text().contains(id)),
        "it is in the chronicle"
    );
    // A syntd that comes anew brings the same, and nothing follows from that.
    let count = || set.chronicle().iter().filter(|line| line.payload("kind") == "proposal").count();
    let before = count();
    assert_eq!(set.json(&["daemon", "restart", "syntd"]).0, 0);
    let old = set.pids()["syntd"];
    assert_ne!(old, 0);
    assert_eq!(set.json(&["daemon", "restart", "memoryd"]).0, 0);
    assert_eq!(set.run("fs_read", &["path=notes/welcome.md"]).0, 0);
    assert_eq!(count(), before, "known in the same words");
    let (_, after) = set.json(&["mnest", "list"]);
    let still = after.as_array().unwrap().iter().filter(|one| one["state"] == "proto").count();
    assert_eq!(still, wishes.len(), "it proposes, and changes nothing");
    set.verify();
}

#[test]
fn last_words_are_forgotten_when_their_person_says_so() {
    let set = Instance::start();
    let kept = |part: &str| chronicle::read(set.home()).iter().any(|line| line.to_text().contains(part));
    let nothing = "There is nothing that you said here and that I could forget.\n";
    assert_eq!(set.ask("forget what I just said"), nothing);
    assert!(!set.ctl(&["ask", "the spare key hangs behind the quincequince"]).status.success());
    assert!(set.ask("add peculiarpears to the shopping list").contains("peculiarpears"));
    assert!(kept("quincequince"));
    let told = set.ask("please forget what I just said");
    assert!(told.starts_with("I have forgotten what you said last"), "{told}");
    assert!(set.ask("what is on the shopping list").contains("peculiarpears"), "what was done stays done");
    assert!(kept("quincequince"), "only the last words");
    // The question about the list came last, then what was said before it.
    for _ in 0..2 {
        assert!(set.ask("dimentica quello che ho detto").starts_with("Ho dimenticato"), "{told}");
    }
    assert!(!kept("quincequince"), "it stands nowhere any more");
    assert_eq!(set.ask("forget that"), nothing);
    set.verify();
}
