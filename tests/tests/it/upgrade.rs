//! A Metnos with another host script than the one under which the executors were locked: nothing runs in a sandbox that nobody
//! has approved, the owner learns what differs and what to do, and on his word all works again. And the other way out of
//! quarantine: the bytes are right again.

use metnos_proto::role::RoleName;
use metnos_tests::chronicle::count;
use metnos_tests::instance::Instance;
use serde_json::Value;

/// A sentence of the host script that says nothing to Python.
const SENTENCE: &[u8] = b"uns one executor, once, inside its sandbox,";

/// Changes the letter before it, from large to small or back, in the host script that sandboxd carries.
fn another_host(set: &Instance) {
    set.upgrade(RoleName::Sandboxd, |bytes| {
        let places: Vec<usize> =
            bytes.windows(SENTENCE.len()).enumerate().filter(|(_, it)| *it == SENTENCE).map(|(at, _)| at).collect();
        assert!(!places.is_empty(), "sandboxd carries no host script");
        places.into_iter().for_each(|at| bytes[at - 1] ^= 0x20);
    });
}

fn states(set: &Instance) -> Vec<(String, String)> {
    let (_, list) = set.json(&["executor", "list"]);
    let rows = list.as_array().unwrap_or_else(|| panic!("{list:#}")).clone();
    rows.iter().map(|row| ["name", "state"].map(|key| row[key].as_str().unwrap().to_owned()).into()).collect()
}

fn all_are(set: &Instance, state: &str) {
    let states = states(set);
    assert!(states.len() >= 9 && states.iter().all(|(_, is)| is == state), "{states:?}");
}

fn read(set: &Instance) -> (i32, Value) {
    set.run("fs_read", &["path=notes/welcome.md"])
}

fn relock_all(set: &Instance) {
    let (code, looked) = set.json(&["executor", "relock", "--all"]);
    assert_eq!(code, 4, "{looked:#}");
    let (code, done) = set.json(&["executor", "relock", "--all", "--confirm", looked["digest"].as_str().unwrap()]);
    assert_eq!((code, &done["done"]), (0, &Value::Bool(true)), "{done:#}");
    all_are(set, "active");
}

#[test]
fn after_an_upgrade_the_owner_sees_what_has_changed_and_locks_it_anew() {
    let mut set = Instance::start();
    // What is born only afterwards is born in the other sandbox.
    set.is_grown();
    assert_eq!(read(&set).0, 0);
    set.down();
    another_host(&set);
    set.up();
    all_are(&set, "quarantined");
    let ((code, refused), lines) = set.recording(|| read(&set));
    assert_eq!((code, refused["error"]["rule"].as_str()), (1, Some("executor.quarantined")), "{refused:#}");
    assert!(refused["error"]["remedy"].as_str().unwrap().contains("metnosctl executor relock"), "{refused:#}");
    assert_eq!(count(&lines, "run_started"), 0, "{lines:#?}");
    let (code, doctor) = set.json(&["doctor"]);
    assert!(code == 1 && doctor.to_string().contains("metnosctl executor relock"), "{doctor:#}");
    // What differs is the host script, and nothing else.
    let (code, diff) = set.json(&["executor", "diff", "fs_read"]);
    let places: Vec<&str> =
        diff[0]["changes"].as_array().unwrap().iter().map(|change| change["place"].as_str().unwrap()).collect();
    assert_eq!((code, places), (1, vec!["host", "host"]), "{diff:#}");
    let text = String::from_utf8(set.ctl(&["executor", "relock", "--all"]).stdout).unwrap();
    assert!(text.contains("host: ") && text.contains("--confirm blake3:"), "{text}");
    // Another word than the one that was shown is none, and neither is a lift.
    assert_eq!(set.json(&["executor", "relock", "--all", "--confirm", "blake3:00"]).0, 1);
    assert_eq!(set.json(&["executor", "lift", "fs_read"]).0, 1);
    all_are(&set, "quarantined");
    let ((), lines) = set.recording(|| relock_all(&set));
    assert_eq!(count(&lines, "evolution"), states(&set).len(), "each stands in the chronicle: {lines:#?}");
    assert_eq!(read(&set).0, 0);
    assert_eq!(set.json(&["executor", "verify"]).0, 0);
    assert_eq!(set.json(&["executor", "diff", "fs_read"]).0, 0);
    set.down();
    set.up();
    all_are(&set, "active");
    assert_eq!(read(&set).0, 0);
    // Back to the release before is a change like any other.
    set.down();
    another_host(&set);
    set.up();
    all_are(&set, "quarantined");
    relock_all(&set);
    assert_eq!(read(&set).0, 0);
    set.verify();
}

#[test]
fn a_quarantine_is_lifted_when_every_byte_is_right_again_and_not_before() {
    let set = Instance::start();
    for (file, mended_by_signing) in
        [("main.py", false), ("manifest.toml", false), ("profile.lock", true), ("manifest.sig", true)]
    {
        let path = set.workspace("executors/fs_read/3.1.0").join(file);
        assert_eq!(read(&set).0, 0, "{file}");
        let right = std::fs::read(&path).unwrap();
        let mut wrong = right.clone();
        wrong[20] ^= 1;
        std::fs::write(&path, wrong).unwrap();
        assert_eq!(read(&set).0, 1, "{file}");
        let (code, looked) = set.json(&["executor", "lift", "fs_read"]);
        assert!(looked["executors"][0]["why"].as_str().unwrap().contains(file), "{file}: {looked:#}");
        if !mended_by_signing {
            assert_eq!((code, &looked["digest"]), (1, &Value::from("")), "{file}: {looked:#}");
            std::fs::write(&path, &right).unwrap();
        }
        assert_eq!(read(&set).0, 1, "{file}: nobody has let it back");
        let (code, looked) = set.json(&["executor", "lift", "fs_read"]);
        assert_eq!(code, 4, "{file}: {looked:#}");
        let (code, done) = set.json(&["executor", "lift", "fs_read", "--confirm", looked["digest"].as_str().unwrap()]);
        assert_eq!(code, 0, "{file}: {done:#}");
        assert_eq!(std::fs::read(&path).unwrap(), right, "{file}");
    }
    assert_eq!(read(&set).0, 0);
    set.verify();
}
