//! Calls that must not succeed: each ends with an error of its own that says what is wrong, exit code 1,
//! and exactly one decision in the chronicle; what policyd refuses is never started.

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use metnos_tests::chronicle::count;
use metnos_tests::instance::{Instance, Plan};

/// Who refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// policyd: nothing was started.
    Decision,
    /// The executor in its sandbox, with an error of this class.
    Executor(&'static str),
}

struct Case {
    what: &'static str,
    path: String,
    by: By,
}

fn cases(set: &Instance) -> Vec<Case> {
    let place = |name: &str| set.workspace(name);
    symlink("/etc/passwd", place("notes/link.md")).unwrap();
    symlink("../../.policy/instance.key", place("notes/key.md")).unwrap();
    std::fs::create_dir(place("notes/folder")).unwrap();
    std::fs::write(place("notes/large.txt"), vec![b'x'; 5 << 20]).unwrap();
    std::fs::write(place("notes/latin1.txt"), b"caf\xe9\n").unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(rustix::fs::CWD, place("notes/pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let case = |what, path: &str, by| Case { what, path: path.to_owned(), by };
    vec![
        case("a path out of the workspace", "../../../etc/passwd", By::Decision),
        case("an absolute path of the system", "/etc/shadow", By::Decision),
        case("the same with two slashes", "//etc/shadow", By::Decision),
        case("Metnos's own state", "../.policy/instance.key", By::Decision),
        case("a path of 10,000 characters", &"a/".repeat(5_000), By::Decision),
        case("a symbolic link out", "notes/link.md", By::Executor("PermissionDenied")),
        case("a symbolic link to the key", "notes/key.md", By::Executor("PermissionDenied")),
        case("a FIFO", "notes/pipe", By::Executor("NotAFile")),
        case("a directory", "notes/folder", By::Executor("NotAFile")),
        case("a file of 5 MiB", "notes/large.txt", By::Executor("TooLarge")),
        case("a file that is not UTF-8", "notes/latin1.txt", By::Executor("NotText")),
        case("a missing file", "notes/nothing.md", By::Executor("NotFound")),
    ]
}

/// The sentence for a person in what `run --json` printed.
fn sentence(value: &serde_json::Value) -> String {
    value["error"]["why"].as_str().unwrap_or_else(|| panic!("no sentence in {value:#}")).to_owned()
}

fn assert_refused(set: &Instance, case: &Case) -> String {
    let argument = format!("path={}", case.path);
    let ((code, value), lines) = set.recording(|| set.run("fs_read", &[&argument]));
    let what = case.what;
    assert_eq!(code, 1, "{what}: {value:#}");
    assert_eq!(count(&lines, "policy_decision"), 1, "{what}: {lines:#?}");
    let decision = lines.iter().find(|line| line.kind() == "policy_decision").unwrap();
    let runs = (count(&lines, "run_started"), count(&lines, "run_ended"));
    match case.by {
        By::Decision => {
            assert_eq!(decision.payload("verdict"), "deny", "{what}");
            assert!(!decision.payload("rule").is_empty() && !decision.payload("why").is_empty(), "{what}");
            assert_eq!(runs, (0, 0), "{what}");
        }
        By::Executor(class) => {
            assert_eq!(decision.payload("verdict"), "allow", "{what}");
            assert_eq!(runs, (1, 1), "{what}");
            let ended = lines.iter().find(|line| line.kind() == "run_ended").unwrap();
            assert_eq!((ended.payload("outcome"), ended.payload("error_class")), ("error", class), "{what}");
        }
    }
    assert!(!value.to_string().contains("root:x:"), "{what}: the file was read");
    sentence(&value)
}

fn assert_all_refused(set: &Instance) {
    let mut sentences = BTreeSet::new();
    for case in cases(set) {
        let sentence = assert_refused(set, &case);
        assert!(sentence.len() > 15, "{}: `{sentence}` says too little", case.what);
        assert!(sentences.insert(sentence.clone()), "{}: `{sentence}` was said of another case", case.what);
    }
    set.verify();
}

#[test]
fn every_path_that_must_not_be_read_has_an_error_of_its_own() {
    assert_all_refused(&Instance::start());
}

#[test]
fn a_path_with_a_nul_is_refused_before_anything_runs() {
    let set = Instance::start();
    let ((code, value), lines) =
        set.recording(|| set.json(&["run", "fs_read", "--args", r#"{"path":"notes/welcome.md\u0000.txt"}"#]));
    assert_eq!(code, 1, "{value:#}");
    assert_eq!((count(&lines, "policy_decision"), count(&lines, "run_started")), (1, 0));
    assert!(sentence(&value).to_lowercase().contains("nul"), "{value:#}");
}

#[test]
fn arguments_that_do_not_fit_the_schema_are_refused_by_name() {
    let set = Instance::start();
    for (arguments, part) in [
        ("{}", "path"),
        (r#"{"path":7}"#, "path"),
        (r#"{"path":"notes/welcome.md","colour":"red"}"#, "colour"),
        (r#"{"path":"a","path":"b"}"#, "path"),
        ("[]", "object"),
        ("{\"path\":", ""),
    ] {
        let (output, lines) = set.recording(|| set.ctl(&["run", "fs_read", "--args", arguments]));
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments}: {said}");
        assert!(said.contains(part), "{arguments}: {said}");
        assert_eq!(count(&lines, "run_started"), 0, "{arguments}");
    }
    set.verify();
}

#[test]
fn an_executor_that_does_not_exist_is_refused_and_recorded() {
    let set = Instance::start();
    let ((code, value), lines) = set.recording(|| set.run("fs_burn", &["path=notes/x.md"]));
    assert_eq!(code, 1, "{value:#}");
    assert_eq!((count(&lines, "policy_decision"), count(&lines, "run_started")), (1, 0));
    assert!(sentence(&value).contains("fs_burn"), "{value:#}");
}

#[test]
fn the_same_refusals_reach_a_person_who_asks_in_words() {
    let set = Instance::start();
    for (words, part) in [("read /etc/shadow", "workspace"), ("leggi ../../../etc/passwd", "spazio di lavoro")] {
        let (output, lines) = set.recording(|| set.ctl(&["ask", words]));
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words}: {said}");
        assert!(said.contains(part), "{words}: {said}");
        assert_eq!((count(&lines, "policy_decision"), count(&lines, "run_started")), (1, 0), "{words}");
    }
}

#[test]
fn a_hard_link_into_the_workspace_is_no_way_to_a_foreign_file() {
    let set = Instance::start();
    // The ordinary user may link its own files only: here its own key.
    let key = set.home().join(".policy/instance.key");
    std::fs::hard_link(&key, set.workspace("notes/hard.md")).unwrap();
    let (code, value) = set.run("fs_read", &["path=notes/hard.md"]);
    assert_eq!(code, 1, "{value:#}");
    std::fs::remove_file(set.workspace("notes/hard.md")).unwrap();
    // A file that anybody may read, so that nothing but its second name stands in the way.
    let foreign = set.home().join("foreign.txt");
    std::fs::write(&foreign, "the swordfish is foreign\n").unwrap();
    std::fs::set_permissions(&foreign, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::hard_link(&foreign, set.workspace("notes/hard.md")).unwrap();
    for executor in ["fs_read", "fs_count"] {
        let (code, value) = set.run(executor, &["path=notes/hard.md"]);
        assert_eq!((code, value["error"]["rule"].as_str()), (1, Some("sandbox.hard_link")), "{executor}: {value:#}");
    }
    let (code, value) = set.run("text_search", &["pattern=swordfish"]);
    assert_eq!((code, value["result"]["matches"].as_array().map(Vec::len)), (0, Some(0)), "{value:#}");
    std::fs::remove_file(&foreign).unwrap();
    let (code, value) = set.run("fs_read", &["path=notes/hard.md"]);
    assert_eq!(code, 0, "with its last other name gone it is the workspace's own: {value:#}");
    std::fs::remove_file(set.workspace("notes/hard.md")).unwrap();
}

mod as_root {
    use super::*;

    #[test]
    fn every_path_that_must_not_be_read_has_an_error_of_its_own() {
        assert_all_refused(&Plan::new().as_root().start());
    }

    /// Something of the machine's, shown in the workspace; taken away when the test ends, however that is.
    struct Bound(PathBuf);

    impl Drop for Bound {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(&self.0).status();
        }
    }

    #[test]
    fn mount_below_the_workspace_is_not_accessible() {
        let set = Plan::new().as_root().start();
        let place = set.workspace("notes/bound");
        std::fs::create_dir(&place).unwrap();
        let mounted = Command::new("mount").args(["--bind", "/etc"]).arg(&place).status().unwrap();
        assert!(mounted.success(), "root may mount");
        let bound = Bound(place);
        assert!(bound.0.join("passwd").exists());
        let refused = |code: i32, rule: &str| {
            for (executor, argument) in [("fs_read", "path=notes/bound/passwd"), ("fs_list", "path=notes/bound/ssl")] {
                let (came, value) = set.run(executor, &[argument]);
                assert_eq!((came, value["error"]["rule"].as_str()), (code, Some(rule)), "{executor}: {value:#}");
            }
        };
        refused(1, "NotFound");
        // When it was there before sandboxd looked, the kernel does not let it be left out: then nothing is granted at all.
        assert_eq!(set.json(&["daemon", "restart", "sandboxd"]).0, 0);
        // What is missing, and can be had again: 3.
        refused(3, "sandbox.mount_below");
        let (_, value) = set.run("fs_read", &["path=notes/welcome.md"]);
        let said = value["error"].to_string();
        assert!(said.contains("notes/bound") && said.contains("umount"), "which, and what to do: {value:#}");
        assert_eq!(set.run("clock_now", &[]).0, 0, "what is granted nothing of it runs");
        let (_, status) = set.json(&["status"]);
        assert!(status.to_string().contains("is mounted below it"), "{status:#}");
        drop(bound);
        assert_eq!(set.json(&["daemon", "restart", "sandboxd"]).0, 0);
        assert_eq!(set.run("fs_read", &["path=notes/welcome.md"]).0, 0);
    }
}
