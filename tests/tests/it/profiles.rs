//! The shipped daemons serve fully under their filters, and no rule of a filter is there for nothing
//! (architecture: the lock).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use metnos_jail::{Profile, ROLES};
use metnos_tests::instance::Instance;

/// Everything the product does in an ordinary hour, each daemon started anew once in it.
fn an_ordinary_hour(set: &mut Instance) -> BTreeMap<u32, String> {
    let mut roles = BTreeMap::new();
    let mut note = |set: &Instance| {
        set.wait_ready(Duration::from_secs(60));
        roles.extend(set.pids().into_iter().map(|(name, pid)| (pid, name)));
    };
    note(set);
    turns(set);
    for role in ROLES {
        let output = set.ctl(&["daemon", "restart", role]);
        assert!(output.status.success(), "{output:?}");
        note(set);
        let _answer = set.ask("read notes/welcome.md");
    }
    turns(set);
    let crashed = set.pids()["memoryd"];
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(crashed.cast_signed()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    set.wait_back("memoryd", crashed);
    note(set);
    turns(set);
    what_the_owner_does_once_in_a_while(set);
    set.verify();
    roles
}

/// The owner looks at what was remembered, keeps it, returns to it, and has a line taken out.
fn what_the_owner_does_once_in_a_while(set: &Instance) {
    let (_, lines) = set.json(&["audit", "search", "long.md", "--type", "policy_decision", "-n", "1"]);
    let seq = lines[0]["seq"].as_u64().unwrap().to_string();
    let kept = set.home().parent().unwrap().join(format!("backup-{seq}"));
    let name = format!("kept-{seq}");
    for words in [
        &["audit", "anchors"][..],
        &["audit", "scan"],
        &["audit", "show", &seq],
        &["mnest", "graph", "--svg"],
        &["mnest", "snapshot", &name, "--why", "a test"],
        &["freeze", "--why", "a test"],
        &["defrost", "--why", "a test"],
        &["mnest", "rollback", &name, "--why", "a test"],
        &["spend"],
        &["audit", "redact", &seq, "--why", "a test", "--confirm", &seq],
        &["backup", kept.to_str().unwrap()],
    ] {
        let (code, value) = set.json(words);
        assert_eq!(code, 0, "{words:?}: {value:#}");
    }
}

fn turns(set: &Instance) {
    std::fs::write(set.workspace("notes/long.md"), "word ".repeat(100_000)).unwrap();
    for words in ["read notes/welcome.md", "leggi notes/long.md", "how many words are in notes/welcome.md"] {
        let _answer = set.ask(words);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| set.ask("how many words are in notes/welcome.md"));
        }
    });
    let _not_understood = set.ctl(&["ask", "paint the moon green"]);
    assert_eq!(set.run("fs_read", &["path=/etc/passwd"]).0, 1);
    for words in [
        &["status"][..],
        &["doctor"],
        &["executor", "verify"],
        &["executor", "show", "fs_read"],
        &["mnest", "list"],
        &["memory", "search", "welcome"],
        &["trace", "list"],
        &["audit", "tail"],
        &["synt", "gaps"],
    ] {
        let (code, value) = set.json(words);
        assert_eq!(code, 0, "{words:?}: {value:#}");
    }
    // syntd reads the order, and learns that there is no model.
    let (code, value) = set.json(&["synt", "run", "double it", "--example", "{\"n\": 1} => {\"twice\": 2}"]);
    assert_eq!(code, 3, "{value:#}");
}

/// What the filter of an executor leaves to it. The filter of sandboxd stands above that one, so it must
/// leave as much, whether or not the executors of this hour took it.
fn left_to_executors() -> BTreeSet<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../sandboxd/seccomp/python.toml");
    let list: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let words = |key: &str| list[key].as_array().unwrap().clone();
    let text = |value: &toml::Value| value.as_str().unwrap().to_owned();
    let allowed = words("allow").into_iter().flat_map(|entry| entry["calls"].as_array().unwrap().clone());
    allowed.map(|call| text(&call)).chain(words("check").iter().map(|entry| text(&entry["call"]))).collect()
}

/// The rules that one hour of the set does not use and that are not marked.
fn idle_in_an_hour(set: &mut Instance) -> BTreeSet<String> {
    set.up();
    let roles = an_ordinary_hour(set);
    let _ended = set.down();
    let seen = set.seen(&roles);
    let mut idle = BTreeSet::new();
    for role in ROLES {
        let profile = Profile::load(role).unwrap();
        let seen = seen.get(role).unwrap_or_else(|| panic!("nothing was seen of {role}"));
        let beneath = if role == "sandboxd" { left_to_executors() } else { BTreeSet::new() };
        let unused = seen.unused(&profile).into_iter().filter(|rule| !beneath.contains(&rule.call));
        idle.extend(unused.map(|rule| format!("{role}: {rule}")));
        println!("{role}: not granted, and tried: {:?}", seen.outside(&profile));
    }
    idle
}

#[test]
fn every_rule_of_a_profile_is_used_or_says_when() {
    // Born unwatched: being watched takes longer than a birth is given.
    let mut set = Instance::start();
    let _ended = set.down();
    set.watch();
    // Whether two threads ever wait for each other, say, differs from hour to hour.
    let mut idle = idle_in_an_hour(&mut set);
    for _ in 0..3 {
        if idle.is_empty() {
            return;
        }
        idle = &idle & &idle_in_an_hour(&mut set);
    }
    let idle: Vec<String> = idle.into_iter().collect();
    assert!(idle.is_empty(), "rules that nothing used and that are not marked rare:\n  {}", idle.join("\n  "));
}
