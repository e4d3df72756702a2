//! Programs that the owner lists, over real daemons: one of them runs on the workspace and prints, what is not listed is refused
//! before anything starts, whatever wraps it, and another list is another sandbox that only the owner's word lets run.

use std::time::Duration;

use metnos_tests::chronicle::count;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::until;
use serde_json::{Value, json};

fn list(set: &Instance, programs: &str) {
    set.write_config(&format!("[sandbox]\ncommands = [{programs}]\n[http]\nlisten = \"\"\n"));
}

fn run(set: &Instance, arguments: &Value) -> (i32, Value) {
    set.json(&["run", "shell_run", "--args", &arguments.to_string()])
}

fn rule(answer: &(i32, Value)) -> &str {
    answer.1["error"]["rule"].as_str().unwrap_or_default()
}

fn status(set: &Instance) -> String {
    String::from_utf8_lossy(&set.ctl(&["status"]).stdout).into_owned()
}

fn is_in(set: &Instance, wanted: &str) -> Value {
    until(&format!("shell_run is {wanted}"), Duration::from_secs(90), || {
        let (_, list) = set.json(&["executor", "list"]);
        list.as_array()?.iter().find(|row| row["name"] == "shell_run" && row["state"] == wanted).cloned()
    })
}

#[test]
fn only_listed_programs_run_even_through_wrappers() {
    let mut set = Plan::new().attack().prepare();
    list(&set, r#""/usr/bin/wc", "/usr/bin/env", "/usr/bin/sort""#);
    set.up();
    is_in(&set, "active");
    let lines = std::fs::read_to_string(set.workspace("notes/welcome.md")).unwrap().lines().count();
    let wanted = format!("{lines} notes/welcome.md\n");
    for argv in
        [json!(["wc", "-l", "notes/welcome.md"]), json!(["env", "A=b", "/usr/bin/wc", "-l", "notes/welcome.md"])]
    {
        let ((code, done), lines) = set.recording(|| run(&set, &json!({ "argv": argv })));
        assert_eq!((code, done["result"]["stdout"].as_str()), (0, Some(wanted.as_str())), "{done:#}");
        assert_eq!(done["carrier"].as_str().unwrap_or("execed"), "execed", "{done:#}");
        let decision = lines.iter().find(|line| line.kind() == "policy_decision").unwrap();
        assert_eq!(decision.payload("rule"), "shell.listed");
        assert_eq!(count(&lines, "alarm"), 0, "to run what is listed is no alarm: {lines:#?}");
    }
    let (_, sorted) = run(&set, &json!({"argv": ["sort"], "stdin": "b\na\n"}));
    assert_eq!(sorted["result"]["stdout"], "a\nb\n", "{sorted:#}");
    // Before anything starts.
    for (argv, named) in [
        (json!(["id"]), "id"),
        (json!(["env", "rm", "-rf", "notes"]), "rm"),
        (json!(["sh", "-c", "wc notes/welcome.md"]), "sh"),
        (json!(["notes/wc"]), "notes/wc"),
    ] {
        let (answer, lines) = set.recording(|| run(&set, &json!({ "argv": argv })));
        assert_eq!((answer.0, rule(&answer)), (1, "program.unlisted"), "{argv}: {:#}", answer.1);
        assert!(answer.1["error"]["why"].as_str().is_some_and(|why| why.contains(named)), "{argv}: {:#}", answer.1);
        assert_eq!(count(&lines, "run_started"), 0, "{argv}");
    }
    assert_eq!(rule(&run(&set, &json!({"argv": ["wc", "/etc/passwd"]}))), "guard.path");
    // What nobody can follow waits for a word; then it runs, and only what is listed is there.
    let asked = run(&set, &json!({"argv": ["env", "-S", "wc -l notes/welcome.md"]}));
    assert_eq!((asked.0, rule(&asked)), (4, "approval.waiting"), "{:#}", asked.1);
    let (_, cards) = set.json(&["approval", "list"]);
    let card = cards.as_array().unwrap().iter().find(|card| card["state"] == "waiting").unwrap();
    let (code, done) = set.json(&["approval", "approve", card["id"].as_str().unwrap()]);
    assert_eq!((code, done["result"]["stdout"].as_str()), (0, Some(wanted.as_str())), "{done:#}");
    // A file of a second name may be any file of the disk.
    std::fs::hard_link(set.workspace("notes/welcome.md"), set.workspace("notes/second.md")).unwrap();
    let (_, linked) = run(&set, &json!({"argv": ["wc", "second.md"], "cwd": "notes"}));
    assert_eq!(linked["result"]["error"]["class"], "PermissionDenied", "{linked:#}");
    std::fs::remove_file(set.workspace("notes/second.md")).unwrap();
    let shown = String::from_utf8_lossy(&set.ctl(&["executor", "profile", "shell_run"]).stdout).into_owned();
    assert!(shown.contains("it executes nothing but /usr/bin/env, /usr/bin/sort, /usr/bin/wc"), "{shown}");
    assert!(shown.contains("may write:   nothing of the owner's"), "{shown}");
    set.verify();
}

#[test]
fn program_list_changes_the_sandbox_and_missing_program_is_named() {
    let mut set = Plan::new().attack().prepare();
    list(&set, r#""/usr/bin/wc", "/usr/bin/no-such-program""#);
    set.up();
    is_in(&set, "active");
    assert!(status(&set).contains("/usr/bin/no-such-program: it is not installed"), "{}", status(&set));
    let (_, missing) = run(&set, &json!({"argv": ["no-such-program"]}));
    assert_eq!(missing["result"]["error"]["class"], "NotListed", "{missing:#}");
    set.down();
    list(&set, r#""/usr/bin/wc", "/usr/bin/tac""#);
    set.up();
    is_in(&set, "quarantined");
    let refused = run(&set, &json!({"argv": ["wc", "notes/welcome.md"]}));
    assert_eq!((refused.0, rule(&refused)), (1, "executor.quarantined"), "{:#}", refused.1);
    // Anyone who runs no programs is as he was.
    assert_eq!(set.run("fs_read", &["path=notes/welcome.md"]).0, 0);
    let (code, diff) = set.json(&["executor", "diff", "shell_run"]);
    let changes = diff[0]["changes"].as_array().unwrap();
    let added = |place: &str| changes.iter().any(|change| change["place"] == place && change["change"] == "added");
    assert!(code == 1 && added("commands") && added("mounts") && added("places"), "{diff:#}");
    assert!(changes.iter().any(|change| change["value"] == "/usr/bin/tac"), "{diff:#}");
    let (code, looked) = set.json(&["executor", "relock", "--all"]);
    assert_eq!(code, 4, "{looked:#}");
    let (code, done) = set.json(&["executor", "relock", "--all", "--confirm", looked["digest"].as_str().unwrap()]);
    assert_eq!((code, &done["done"]), (0, &Value::Bool(true)), "{done:#}");
    is_in(&set, "active");
    let (_, reversed) = run(&set, &json!({"argv": ["tac"], "stdin": "a\nb\n"}));
    assert_eq!(reversed["result"]["stdout"], "b\na\n", "{reversed:#}");
    set.verify();
}

#[test]
fn unlistable_program_is_reported_at_start_and_unusable_later() {
    let mut set = Plan::new().attack().prepare();
    for (programs, part) in [
        (r#""wc""#, "absolute paths"),
        (r#""/etc/x/run""#, "closed place"),
        (r#""/usr/bin/../bin/wc""#, "absolute paths"),
        (r#""/usr/bin/wc", "/usr/local/bin/wc""#, "has the name of"),
    ] {
        list(&set, programs);
        let started = set.ctl(&["up", "--detach"]);
        let said = String::from_utf8_lossy(&started.stderr).into_owned() + &String::from_utf8_lossy(&started.stdout);
        assert!(!started.status.success() && said.contains(part), "{programs}: {said}");
    }
    // A link, what runs as someone else, a script of what is not listed: the set runs without them, and says so.
    list(&set, r#""/usr/bin/awk", "/usr/bin/passwd", "/usr/bin/ldd", "/usr/bin/wc""#);
    set.up();
    let status = status(&set);
    for part in [
        "/usr/bin/awk: it is a link to",
        "/usr/bin/passwd: it runs with the rights of",
        "/usr/bin/ldd: it is a script for",
    ] {
        assert!(status.contains(part), "{part}: {status}");
    }
    is_in(&set, "active");
    // Metnos without any: nothing can be run.
    set.down();
    list(&set, "");
    set.up();
    let answer = run(&set, &json!({"argv": ["wc"]}));
    assert!(matches!(rule(&answer), "executor.quarantined" | "program.unlisted"), "{:#}", answer.1);
    set.verify();
}
