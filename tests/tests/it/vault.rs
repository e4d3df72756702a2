//! Secrets in a running set: an executor that declares one is given it after the owner's word; no other call, process, file,
//! record, log or answer ever holds it. And budgets, over real daemons and their restarts.

use std::io::Write;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use metnos_tests::chronicle::Line;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::{procfs, until};
use serde_json::Value;

const VALUE: &str = "correct-horse-battery-staple-4711";

/// A set that knows the executor of the tests.
fn set() -> Instance {
    let set = Plan::new().attack().start();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("executors/keyed");
    let to = set.workspace("executors/keyed/1.0.0");
    std::fs::create_dir_all(to.join("tests")).unwrap();
    for file in ["manifest.toml", "main.py", "schema.json", "tests/birth.py"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
    std::fs::write(set.workspace("executors/keyed/CURRENT"), "1.0.0\n").unwrap();
    for path in ["executors/keyed", "executors/keyed/CURRENT", "executors/keyed/1.0.0", "executors/keyed/1.0.0/tests"] {
        chown(set.workspace(path), Some(set.owner()), Some(set.owner())).unwrap();
    }
    for file in ["manifest.toml", "main.py", "schema.json", "tests/birth.py"] {
        chown(to.join(file), Some(set.owner()), Some(set.owner())).unwrap();
    }
    let old = set.pids()["sandboxd"];
    assert_eq!(set.json(&["daemon", "restart", "sandboxd"]).0, 0);
    set.wait_back("sandboxd", old);
    until("the executor of the tests", Duration::from_secs(60), || {
        let (_, list) = set.json(&["executor", "list"]);
        let row = list.as_array()?.iter().find(|row| row["name"] == "keyed")?.clone();
        (row["state"] == "active").then_some(())
    });
    set
}

/// `secret` with a value on standard input.
fn put(set: &Instance, word: &str, value: &str) -> i32 {
    let mut ctl = set.command("metnosctl");
    ctl.args(["--json", "secret", word, "token"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = ctl.spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{value}").unwrap();
    child.wait().unwrap().code().unwrap()
}

fn rule(answer: &Value) -> &str {
    answer["error"]["rule"].as_str().unwrap_or_default()
}

fn sha_of(value: &str) -> String {
    let (mut child, digest) = {
        let mut sha = std::process::Command::new("sha256sum");
        let child = sha.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        (child, String::new())
    };
    child.stdin.take().unwrap().write_all(value.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    digest + std::str::from_utf8(&out.stdout).unwrap().split(' ').next().unwrap()
}

/// Every file below `folder` that holds `value`.
fn files_with(folder: &Path, value: &str) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(files_with(&path, value));
        } else if kind.is_file() {
            let bytes = std::fs::read(&path).unwrap_or_default();
            if bytes.windows(value.len()).any(|window| window == value.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn secret_reaches_only_the_process_of_the_decided_call() {
    let set = set();
    assert_eq!(rule(&set.run("keyed", &["do=hash"]).1), "secret.missing");
    assert_eq!(put(&set, "set", VALUE), 0);
    assert_eq!(put(&set, "set", VALUE), 1, "it is there: rotate is another word");
    assert_eq!(rule(&set.run("keyed", &["do=hash"]).1), "secret.grant");
    assert_eq!(set.json(&["secret", "grant", "token", "fs_read"]).0, 1, "it does not ask for it");
    assert_eq!(set.json(&["secret", "grant", "token", "keyed"]).0, 0);
    let (code, hashed) = set.run("keyed", &["do=hash"]);
    assert_eq!((code, hashed["result"]["sha"].as_str()), (0, Some(sha_of(VALUE).as_str())), "{hashed:#}");
    // What it may say of it: nothing.
    for misuse in ["tell", "raise", "log", "other", "seen"] {
        let (_, answer) = set.run("keyed", &[&format!("do={misuse}")]);
        assert!(!answer.to_string().contains(VALUE), "{misuse}: {answer:#}");
        if misuse == "tell" {
            assert_eq!(answer["outcome"], "bad_output", "{answer:#}");
        }
    }
    // While a call holds it: no other process shows it, in its words, its environment or its command line.
    let (_, lines) = set.recording(|| {
        std::thread::scope(|scope| {
            let call = scope.spawn(|| set.run("keyed", &["do=hold"]));
            until("the call that holds it", Duration::from_secs(30), || {
                let (calls, mine) = (set.chronicle(), |line: &&Line| line.0.to_string().contains("keyed"));
                let of = |kind| calls.iter().filter(|line| line.kind() == kind).filter(mine).count();
                (of("run_started") > of("run_ended")).then_some(())
            });
            for pid in procfs::processes() {
                for file in ["cmdline", "environ"] {
                    let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
                    assert!(!bytes.windows(VALUE.len()).any(|it| it == VALUE.as_bytes()), "{pid} {file}");
                }
            }
            let beside = set.run("fs_list", &["path=notes"]);
            assert_eq!(beside.0, 0);
            let (code, held) = call.join().unwrap();
            assert_eq!(code, 0, "{held:#}");
        });
    });
    let allowed = lines.iter().find(|line| line.kind() == "policy_decision" && line.0.to_string().contains("keyed"));
    assert!(allowed.is_some_and(|line| line.0.to_string().contains("given the secrets token")), "{allowed:?}");
    // Neither as an argument nor as words.
    let (_, told) = set.run("keyed", &["do=hash", &format!("text=x{VALUE}")]);
    assert_eq!(rule(&told), "guard.secret", "{told:#}");
    let said = set.ctl(&["ask", &format!("read {VALUE}")]);
    assert!(!said.status.success() && !String::from_utf8_lossy(&said.stdout).contains(VALUE));
    // After rotation the calls are given the new value; the grant stays.
    assert_eq!(put(&set, "rotate", "another-value-1234"), 0);
    let (_, hashed) = set.run("keyed", &["do=hash"]);
    assert_eq!(hashed["result"]["sha"].as_str(), Some(sha_of("another-value-1234").as_str()));
    let (_, listed) = set.json(&["secret", "list"]);
    assert_eq!((listed[0]["name"].as_str(), listed[0]["version"].as_u64()), (Some("token"), Some(2)));
    // Nowhere on the disk: not in the chronicle, the databases, the logs or the workspace.
    for value in [VALUE, "another-value-1234"] {
        assert_eq!(files_with(set.home(), value), Vec::<String>::new());
        assert!(!set.logs().contains(value));
    }
    assert_eq!(set.json(&["secret", "remove", "token"]).0, 0);
    assert_eq!(rule(&set.run("keyed", &["do=hash"]).1), "secret.missing");
    set.verify();
}

#[test]
fn a_secret_and_its_grant_survive_policyd_and_the_whole_set() {
    let set = set();
    assert_eq!(put(&set, "set", VALUE), 0);
    assert_eq!(set.json(&["secret", "grant", "token", "keyed"]).0, 0);
    let old = set.pids()["policyd"];
    assert_eq!(set.json(&["daemon", "restart", "policyd"]).0, 0);
    set.wait_back("policyd", old);
    let (code, hashed) = set.run("keyed", &["do=hash"]);
    assert_eq!((code, hashed["result"]["sha"].as_str()), (0, Some(sha_of(VALUE).as_str())), "{hashed:#}");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(set.home().join(".policy/vault.key")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_budget_refuses_warns_is_raised_and_outlives_policyd() {
    let set =
        Plan::new().config("[budget]\ncalls_per_day = 40\nprices = [\"fs_list 90000\"]\nturn_micro = 80000\n").start();
    let used = |set: &Instance| {
        let (_, all) = set.json(&["budget", "show", "owner"]);
        let row = all["budgets"].as_array().unwrap().iter().find(|row| row["budget"] == "calls.day").unwrap().clone();
        row["used"].as_u64().unwrap()
    };
    for _ in 0..20 {
        assert_eq!(set.run("fs_read", &["path=notes/welcome.md"]).0, 0);
    }
    assert_eq!(used(&set), 20);
    // Money is the ledger's to count: what costs more than a turn may spend does not run.
    let ((_, over), lines) = set.recording(|| set.run("fs_list", &["path=notes"]));
    assert_eq!(rule(&over), "budget.money.turn", "{over:#}");
    assert!(over["error"]["remedy"].as_str().unwrap().contains("metnosctl budget raise cli:uid:"), "{over:#}");
    assert!(!lines.iter().any(|line| line.kind() == "run_started"));
    assert_eq!(set.json(&["budget", "raise", "owner", "money.turn", "100000", "--for", "1h"]).0, 0);
    assert_eq!(set.run("fs_list", &["path=notes"]).0, 0);
    let (_, spent) = set.json(&["spend"]);
    assert_eq!(spent["entries"][0]["micro"].as_u64(), Some(90_000), "{spent:#}");
    // Killed: nothing is given back.
    let old = set.pids()["policyd"];
    let process = rustix::process::Pid::from_raw(i32::try_from(old).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    set.wait_back("policyd", old);
    let after = used(&set);
    assert!((21..40).contains(&after), "{after}");
    for _ in after..40 {
        assert_eq!(set.run("fs_read", &["path=notes/welcome.md"]).0, 0);
    }
    let (code, over) = set.run("fs_read", &["path=notes/welcome.md"]);
    assert_eq!((code, rule(&over)), (1, "budget.calls.day"), "{over:#}");
    let warned = |line: &&metnos_tests::chronicle::Line| line.0.to_string().contains("of the budget calls.day is used");
    assert!(set.chronicle().iter().filter(warned).count() >= 1);
    set.verify();
}
