//! `policy check` and a real call decide alike: random calls in random states of one instance, each first explained and then made.

use std::io::Write as _;
use std::process::Stdio;

use metnos_tests::instance::{Instance, Plan};

/// Calls that are tried; each starts three programs.
const CALLS: usize = 120;
/// A secret, which stands in some of the arguments.
const SECRET: &str = "correct-horse-battery";
/// So few calls of a day that the last ones find none left.
const CONFIG: &str = "[policy]\ncalls_per_minute = 100000\n[budget]\ncalls_per_day = 90\nprices = [\"note_add 200000\", \"fs_list 90000\"]\nturn_micro = 80000\n";

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound as u64).unwrap()
    }
}

/// What may be called, with arguments of every kind: fine, foreseen, forbidden, malformed, costly, secret.
fn calls() -> Vec<(&'static str, Vec<String>)> {
    let one = |name, pairs: &[&str]| (name, pairs.iter().map(|pair| (*pair).to_owned()).collect());
    vec![
        one("fs_read", &["path=notes/welcome.md"]),
        one("fs_read", &["path=/etc/shadow"]),
        one("fs_read", &["path=../.policy/instance.key"]),
        one("fs_read", &["path=.env"]),
        one("fs_read", &["path=7", "more=1"]),
        one("fs_read", &["path=/srv/other/file"]),
        one("fs_list", &["path=notes"]),
        one("fs_write", &["path=notes/new.md", "content=words"]),
        one("fs_write", &["path=notes/new.md", "content=words", "overwrite=true"]),
        one("fs_write", &["path=USER.md", "content=words", "overwrite=true"]),
        one("fs_write", &["path=notes/secret.md", "content=correct-horse-battery"]),
        one("fs_append", &["path=notes/list.md", "text=eggs"]),
        one("fs_delete", &["path=notes/new.md"]),
        one("fs_delete", &["path=notes", "folder=true"]),
        one("fs_move", &["path=notes/new.md", "to=notes/old.md"]),
        one("note_add", &["text=buy milk"]),
        one("text_stats", &["text=one two"]),
        one("web_fetch", &["url=https://example.org/"]),
        one("shell_run", &["argv=[\"wc\",\"-l\",\"notes/welcome.md\"]"]),
        one("no_such_executor", &["a=1"]),
    ]
}

/// Changes something that a decision depends on.
fn change(set: &Instance, dice: &mut Dice) {
    let words: &[&str] = match dice.below(10) {
        0 => &["executor", "disable", "fs_read"],
        1 => &["executor", "enable", "fs_read"],
        2 => &["panic"],
        3 | 4 => &["resume"],
        // What takes an act back is gone: it is asked for, then.
        5 => &["executor", "archive", "fs_restore", "--reason", "a test"],
        6 => &["executor", "restore", "fs_restore", "--reason", "a test"],
        7 => &["autonomy", "set", "owner", "readonly"],
        8 => &["autonomy", "set", "owner", "supervised"],
        _ => &["autonomy", "set", "owner", "full"],
    };
    let _ = set.json(words);
}

/// Answers a card for longer than once, so that stored answers take part.
fn answer(set: &Instance, dice: &mut Dice) {
    let (_, cards) = set.json(&["approval", "list"]);
    let waiting = cards.as_array().unwrap().iter().find(|card| card["state"] == "waiting");
    let Some(id) = waiting.and_then(|card| card["id"].as_str()) else { return };
    let _ = match dice.below(3) {
        0 => set.json(&["approval", "approve", id, "--always"]),
        1 => set.json(&["approval", "deny", id, "--never"]),
        _ => set.json(&["approval", "deny", id]),
    };
}

fn keep_secret(set: &Instance) {
    let mut ctl = set.command("metnosctl");
    ctl.args(["--json", "secret", "set", "token"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = ctl.spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{SECRET}").unwrap();
    assert!(child.wait().unwrap().success());
}

/// What `policy check` says of a call.
fn checked(set: &Instance, name: &str, pairs: &[String]) -> (String, String) {
    let mut words = vec!["policy", "check", "owner", name];
    words.extend(pairs.iter().map(String::as_str));
    let (_, said) = set.json(&words);
    let text = |key: &str| said[key].as_str().unwrap_or_else(|| panic!("{said:#}")).to_owned();
    (text("verdict"), text("rule"))
}

/// What was decided when the call was made, as the chronicle has it.
fn made(set: &Instance, name: &str, pairs: &[String]) -> (String, String) {
    let pairs: Vec<&str> = pairs.iter().map(String::as_str).collect();
    let ((_, answer), lines) = set.recording(|| set.run(name, &pairs));
    let decision =
        |line: &&metnos_tests::chronicle::Line| line.kind() == "policy_decision" && line.payload("executor") == name;
    let line = lines.iter().find(decision).unwrap_or_else(|| panic!("{name} {pairs:?}: {answer:#}"));
    (line.payload("verdict").to_owned(), line.payload("rule").to_owned())
}

#[test]
fn policy_check_and_real_calls_agree_in_random_states() {
    let set = Plan::new().config(CONFIG).start();
    set.is_grown();
    keep_secret(&set);
    std::fs::write(set.workspace(".env"), "KEY=value").unwrap();
    let (mut dice, calls) = (Dice(7), calls());
    let mut seen = std::collections::BTreeMap::<(String, String), usize>::new();
    for round in 0..CALLS {
        if dice.below(3) == 0 {
            change(&set, &mut dice);
        }
        if dice.below(3) == 0 {
            answer(&set, &mut dice);
        }
        // The last third has nothing switched off, so that the budget of the day is what ends it.
        if round == CALLS * 2 / 3 {
            let _ = (set.json(&["resume"]), set.json(&["executor", "enable", "fs_read"]));
        }
        let (name, pairs) = &calls[dice.below(calls.len())];
        let expected = checked(&set, name, pairs);
        assert_eq!(made(&set, name, pairs), expected, "round {round}: {name} {pairs:?}");
        *seen.entry(expected).or_default() += 1;
    }
    println!("{seen:#?}");
    for wanted in ["allow", "ask", "deny"] {
        assert!(seen.keys().any(|(verdict, _)| verdict == wanted), "{wanted}: {seen:#?}");
    }
    assert!(seen.len() >= 12, "rules that took part: {seen:#?}");
    set.verify();
}
