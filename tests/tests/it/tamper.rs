//! One flipped bit in any file of an executor: the next call is refused, the executor is quarantined,
//! and the others go on. Also while the set runs, and with the time stamp put back.

use std::path::{Path, PathBuf};

use metnos_tests::chronicle::count;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::rng::Rng;
use metnos_tests::telegram::Emulator;

const FILES: [&str; 5] = ["main.py", "manifest.toml", "schema.json", "profile.lock", "manifest.sig"];

/// The folder of the current version.
fn folder(set: &Instance, executor: &str) -> PathBuf {
    let base = set.workspace("executors").join(executor);
    let version = std::fs::read_to_string(base.join("CURRENT")).unwrap();
    base.join(version.trim())
}

/// Flips one bit in place, and puts back when it was last changed and read.
fn flip(path: &Path, chance: &mut Rng) {
    let before = std::fs::metadata(path).unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    let at = usize::try_from(chance.below(bytes.len() as u64)).unwrap();
    bytes[at] ^= 1 << chance.below(8);
    std::fs::write(path, bytes).unwrap();
    let times =
        std::fs::FileTimes::new().set_modified(before.modified().unwrap()).set_accessed(before.accessed().unwrap());
    std::fs::File::options().write(true).open(path).unwrap().set_times(times).unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().modified().unwrap(), before.modified().unwrap());
}

fn state(set: &Instance, executor: &str) -> String {
    let (code, list) = set.json(&["executor", "list"]);
    assert_eq!(code, 0);
    let rows = list.as_array().unwrap_or_else(|| panic!("{list:#}"));
    let row = rows.iter().find(|row| row["name"].as_str() == Some(executor)).unwrap();
    row["state"].as_str().unwrap().to_owned()
}

fn assert_refused_and_quarantined(set: &Instance, what: &str) {
    let ((code, value), lines) = set.recording(|| set.run("fs_read", &["path=notes/welcome.md"]));
    assert_eq!(code, 1, "{what}: {value:#}");
    assert!(!value.to_string().contains("\"content\""), "{what}: {value:#}");
    assert_eq!(count(&lines, "run_started"), 0, "{what}: {lines:#?}");
    assert_eq!(state(set, "fs_read"), "quarantined", "{what}");
    // Quarantine is for the one that was touched.
    let (code, value) = set.run("fs_list", &[]);
    assert_eq!(code, 0, "{what}: {value:#}");
    // And it stays: a second call is refused as well.
    assert_eq!(set.run("fs_read", &["path=notes/welcome.md"]).0, 1, "{what}");
    assert_eq!(set.json(&["executor", "verify", "fs_read"]).0, 1, "{what}");
    set.verify();
}

/// A flipped bit while everything runs.
fn flipped_while_running(file: &str) {
    let mut chance = Rng::announced();
    let set = Instance::start();
    assert_eq!(set.run("fs_read", &["path=notes/welcome.md"]).0, 0);
    flip(&folder(&set, "fs_read").join(file), &mut chance);
    assert_refused_and_quarantined(&set, file);
}

#[test]
fn a_flipped_bit_in_the_code_quarantines_while_running() {
    flipped_while_running("main.py");
}

#[test]
fn a_flipped_bit_in_the_manifest_quarantines_while_running() {
    flipped_while_running("manifest.toml");
}

#[test]
fn a_flipped_bit_in_the_schema_quarantines_while_running() {
    flipped_while_running("schema.json");
}

#[test]
fn a_flipped_bit_in_the_profile_lock_quarantines_while_running() {
    flipped_while_running("profile.lock");
}

#[test]
fn a_flipped_bit_in_the_signature_quarantines_while_running() {
    flipped_while_running("manifest.sig");
}

#[test]
fn a_flipped_bit_in_any_file_is_found_at_the_next_start() {
    let mut chance = Rng::announced();
    for file in FILES {
        let mut set = Instance::start();
        set.down();
        flip(&folder(&set, "fs_read").join(file), &mut chance);
        set.up();
        assert_refused_and_quarantined(&set, file);
    }
}

#[test]
fn replaced_file_with_same_size_and_mtime_is_quarantined() {
    let set = Instance::start();
    let path = folder(&set, "fs_read").join("main.py");
    let other = path.with_extension("new");
    std::fs::copy(&path, &other).unwrap();
    flip(&other, &mut Rng::announced());
    std::fs::rename(&other, &path).unwrap();
    assert_refused_and_quarantined(&set, "main.py");
}

#[test]
fn another_executors_valid_files_are_not_taken_for_this_one() {
    let set = Instance::start();
    let (own, other) = (folder(&set, "fs_read"), folder(&set, "fs_list"));
    for file in FILES {
        std::fs::write(own.join(file), std::fs::read(other.join(file)).unwrap()).unwrap();
    }
    assert_refused_and_quarantined(&set, "all files of fs_list");
}

#[test]
fn quarantine_notice_reaches_owner_on_all_channels_and_no_guest() {
    const OWNER: i64 = 5_001;
    const GUEST: i64 = 5_002;
    let server = Emulator::start();
    let set = Plan::new().config(&server.config()).start();
    set.is_grown();
    server.serves(&set);
    server.settled();
    for (who, standing) in [(OWNER, "owner"), (GUEST, "guest")] {
        server.knows(&set, who, standing);
        server.told(who, "The code was good");
    }
    flip(&folder(&set, "fs_read").join("main.py"), &mut Rng::announced());
    assert_eq!(set.run("fs_read", &["path=notes/welcome.md"]).0, 1);
    let told = server.told(OWNER, "is in quarantine");
    assert!(told.text.contains("fs_read"), "{}", told.text);
    // Once, whatever else is tried with it.
    assert_eq!(set.run("fs_read", &["path=notes/welcome.md"]).0, 1);
    server.settled();
    let of = |chat| server.chat(chat).into_iter().filter(|message| message.text.contains("quarantine")).count();
    assert_eq!((of(OWNER), of(GUEST)), (1, 0));
    let (_, status) = set.json(&["status"]);
    let notices = status["policy"]["notices"].as_array().unwrap().clone();
    assert_eq!((notices.len(), notices[0]["kind"].as_str()), (1, Some("quarantine")), "{status:#}");
    let words = set.ctl(&["status"]);
    assert!(String::from_utf8_lossy(&words.stdout).contains("ago, quarantine: fs_read"), "{words:?}");
    // A policyd that is killed has forgotten nothing, and the next one tells nobody a second time.
    let old = set.pids()["policyd"];
    let process = rustix::process::Pid::from_raw(i32::try_from(old).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    set.wait_back("policyd", old);
    let (_, status) = set.json(&["status"]);
    assert_eq!(status["policy"]["notices"].as_array(), Some(&notices), "{status:#}");
    assert_eq!(set.run("fs_read", &["path=notes/welcome.md"]).0, 1);
    server.settled();
    assert_eq!((of(OWNER), of(GUEST)), (1, 0));
    set.verify();
}
