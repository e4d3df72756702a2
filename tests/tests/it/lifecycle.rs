//! The life of an executor in a real set: archived and restored, and revoked for ever.

use std::time::Duration;

use metnos_tests::instance::Instance;
use metnos_tests::until;
use serde_json::Value;

fn read(set: &Instance) -> (i32, Value) {
    set.run("fs_read", &["path=notes/welcome.md"])
}

fn rule(said: &Value) -> &str {
    said["error"]["rule"].as_str().unwrap_or("")
}

fn state(set: &Instance, executor: &str) -> String {
    let (_, list) = set.json(&["executor", "list"]);
    let row = list.as_array().unwrap().iter().find(|row| row["name"] == executor).unwrap();
    row["state"].as_str().unwrap().to_owned()
}

/// Whether the doctor finds the executors as they should be.
fn nothing_to_mend(set: &Instance) -> bool {
    let (_, found) = set.json(&["doctor"]);
    let checks = found["checks"].as_array().unwrap_or_else(|| panic!("{found:#}"));
    checks.iter().any(|check| check["name"] == "executors" && check["ok"] == true)
}

/// policyd anew, and everything that it waits for.
fn restart(set: &Instance, daemon: &str) {
    assert_eq!(set.json(&["daemon", "restart", daemon]).0, 0);
    until("a call of another executor", Duration::from_secs(60), || (set.run("fs_list", &[]).0 == 0).then_some(()));
}

#[test]
fn archived_executor_is_refused_and_not_offered_until_restored() {
    let mut set = Instance::start();
    assert_eq!(read(&set).0, 0);
    let ((code, done), lines) =
        set.recording(|| set.json(&["executor", "archive", "fs_read", "--reason", "nobody reads here"]));
    assert_eq!((code, &done["state"]), (0, &"archived".into()), "{done:#}");
    assert!(lines.iter().any(|line| line.to_text().contains("executor_archived")), "{lines:#?}");
    for round in ["at once", "after policyd", "after everything"] {
        let (code, said) = read(&set);
        assert_eq!((code, rule(&said)), (1, "executor.archived"), "{round}: {said:#}");
        let error = said["error"].to_string();
        assert!(error.contains("executor restore") && error.contains("nobody reads here"), "{round}: {error}");
        assert_eq!(state(&set, "fs_read"), "archived", "{round}");
        let (_, shown) = set.json(&["executor", "show", "fs_read"]);
        assert_eq!((&shown["state"], &shown["why"]), (&"archived".into(), &"nobody reads here".into()), "{round}");
        // The reflex has no such call to make.
        assert_eq!(set.ctl(&["ask", "read notes/welcome.md"]).status.code(), Some(1), "{round}");
        match round {
            "at once" => restart(&set, "policyd"),
            "after policyd" => {
                set.down();
                set.up();
            }
            _ => {}
        }
    }
    assert!(nothing_to_mend(&set), "what the owner has put away is nothing to mend");
    assert_eq!(set.ctl(&["executor", "restore", "fs_read"]).status.code(), Some(2), "not without a reason");
    let ((code, done), lines) =
        set.recording(|| set.json(&["executor", "restore", "fs_read", "--reason", "somebody does"]));
    assert_eq!((code, &done["state"]), (0, &"active".into()), "{done:#}");
    assert!(lines.iter().any(|line| line.to_text().contains("somebody does")), "{lines:#?}");
    assert_eq!(read(&set).0, 0);
    assert!(set.ctl(&["ask", "read notes/welcome.md"]).status.success());
    set.verify();
}

#[test]
fn executor_altered_in_the_archive_is_not_restored() {
    let set = Instance::start();
    assert_eq!(set.json(&["executor", "archive", "fs_read"]).0, 0);
    let path = set.workspace("executors/fs_read/3.1.0/main.py");
    let right = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&right[..], b"\n"].concat()).unwrap();
    let (code, said) = set.json(&["executor", "restore", "fs_read", "--reason", "x"]);
    assert_eq!((code, rule(&said)), (1, "restore.altered"), "{said:#}");
    assert_eq!(rule(&read(&set).1), "executor.archived");
    std::fs::write(&path, right).unwrap();
    assert_eq!(set.json(&["executor", "restore", "fs_read", "--reason", "x"]).0, 0);
    assert_eq!(read(&set).0, 0);
}

#[test]
fn revoked_signature_stays_revoked_after_restart_repair_and_rebirth() {
    let mut set = Instance::start();
    let words = ["executor", "revoke", "fs_read", "--reason", "it is not what it says"];
    let (code, looked) = set.json(&words);
    assert_eq!(code, 4, "{looked:#}");
    assert_eq!(read(&set).0, 0, "nothing was done without the word");
    let confirm = [&words[..], &["--confirm", looked["digest"].as_str().unwrap()]].concat();
    let ((code, done), lines) = set.recording(|| set.json(&confirm));
    assert_eq!((code, &done["state"]), (0, &"revoked".into()), "{done:#}");
    assert!(lines.iter().any(|line| line.to_text().contains("executor_revoked")), "{lines:#?}");
    let folder = set.workspace("executors/fs_read/3.1.0");
    for round in ["at once", "after policyd", "after sandboxd", "unsigned", "after everything"] {
        assert_eq!(rule(&read(&set).1), "executor.revoked", "{round}");
        assert_eq!(state(&set, "fs_read"), "revoked", "{round}");
        // sandboxd has been told as well, and says so of its own.
        let (_, verified) = set.json(&["executor", "verify", "fs_read"]);
        assert!(verified[0]["why"].as_str().unwrap().contains("revoked"), "{round}: {verified:#}");
        for words in [&["executor", "restore", "fs_read", "--reason", "x"][..], &["executor", "archive", "fs_read"]] {
            assert_eq!(rule(&set.json(words).1), "executor.revoked", "{round}");
        }
        let (_, nothing) = set.json(&["executor", "lift", "fs_read"]);
        assert!(nothing["executors"].as_array().is_some_and(Vec::is_empty), "{round}: {nothing:#}");
        // It stays readable.
        let (code, shown) = set.json(&["executor", "show", "fs_read"]);
        assert_eq!((code, &shown["manifest"]["executor"]["name"]), (0, &"fs_read".into()), "{round}");
        assert!(std::fs::read(folder.join("main.py")).is_ok(), "{round}");
        match round {
            "at once" => restart(&set, "policyd"),
            "after policyd" => restart(&set, "sandboxd"),
            "after sandboxd" => {
                // As a seed that nobody has signed yet: it is not born anew.
                std::fs::remove_file(folder.join("manifest.sig")).unwrap();
                std::fs::remove_file(folder.join("profile.lock")).unwrap();
                restart(&set, "sandboxd");
            }
            "unsigned" => {
                set.down();
                set.up();
            }
            _ => {}
        }
    }
    assert!(!folder.join("manifest.sig").exists(), "nobody has signed it");
    assert!(nothing_to_mend(&set));
    set.verify();
}
