//! The signed heads in the whole set: a chronicle that was put back or written anew while Metnos was stopped stops
//! every effect, and proofs and exports stand by themselves.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use metnos_tests::instance::Instance;

fn call(set: &Instance) -> (i32, serde_json::Value) {
    set.run("fs_read", &["path=notes/welcome.md"])
}

fn copy(from: &Path, to: &Path) {
    let done = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(done.success());
}

/// A folder that the owner of the set can use, and that goes with it.
pub(crate) fn beside(set: &Instance) -> PathBuf {
    set.home().parent().unwrap().to_owned()
}

/// Waits until policyd has signed a head at or after the last line that there is now.
fn until_signed(set: &mut Instance) {
    // A memoryd that comes anew proves itself at once, and its head is signed.
    let (_, status) = set.json(&["status"]);
    let seq = status["chronicle"]["seq"].as_u64().unwrap();
    assert_eq!(set.json(&["daemon", "restart", "memoryd"]).0, 0);
    let began = Instant::now();
    loop {
        let (code, anchors) = set.json(&["audit", "anchors"]);
        let last = anchors["anchors"].as_array().and_then(|all| all.last()?["seq"].as_u64());
        if code == 0 && last.is_some_and(|last| last >= seq) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "no head was signed: {anchors:#}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn rolled_back_chronicle_stops_effects_until_restored() {
    let mut set = Instance::start();
    assert_eq!(call(&set).0, 0);
    set.down();
    let audit = set.home().join(".audit");
    let aside = set.home().join("aside");
    std::fs::create_dir(&aside).unwrap();
    copy(&audit, &aside.join("earlier"));
    set.up();
    assert_eq!(call(&set).0, 0);
    until_signed(&mut set);
    set.verify();
    set.down();
    std::fs::rename(&audit, aside.join("right")).unwrap();
    copy(&aside.join("earlier"), &audit);
    set.up();
    let (code, value) = call(&set);
    assert_ne!(code, 0, "{value:#}");
    let rule = value["error"]["rule"].as_str().unwrap();
    assert!(matches!(rule, "chronicle.altered" | "chronicle.anchor"), "{value:#}");
    let (code, report) = set.json(&["audit", "verify"]);
    assert_eq!(code, 1, "{report:#}");
    assert!(report["findings"].to_string().contains("anchor"), "{report:#}");
    let status = set.json(&["status"]).1;
    for said in ["/chronicle/altered", "/policy/undecided"] {
        assert!(status.pointer(said).unwrap().as_str().is_some_and(|why| !why.is_empty()), "{said}: {status:#}");
    }
    set.down();
    std::fs::remove_dir_all(&audit).unwrap();
    std::fs::rename(aside.join("right"), &audit).unwrap();
    set.up();
    assert_eq!(call(&set).0, 0);
    set.verify();
}

#[test]
fn a_line_is_proven_exported_searched_and_taken_out() {
    let mut set = Instance::start();
    assert_eq!(call(&set).0, 0);
    until_signed(&mut set);
    let (code, found) = set.json(&["audit", "search", "welcome.md", "--type", "policy_decision"]);
    assert_eq!(code, 0);
    let seq = found[0]["seq"].as_u64().unwrap().to_string();
    let (code, proof) = set.json(&["audit", "prove", &seq]);
    assert_eq!(code, 0, "{proof:#}");
    let folder = beside(&set);
    let file = folder.join("proof.json");
    std::fs::write(&file, proof.to_string()).unwrap();
    let path = file.to_str().unwrap();
    assert_eq!(set.json(&["audit", "prove", "--check", path]).1["ok"], true);
    std::fs::write(&file, proof.to_string().replace("welcome", "welcoma")).unwrap();
    assert_eq!(set.json(&["audit", "prove", "--check", path]).0, 1);
    let out = folder.join("lines.jsonl");
    let (code, exported) = set.json(&["audit", "export", out.to_str().unwrap()]);
    assert_eq!(code, 0, "{exported:#}");
    assert!(exported["anchors"].as_u64().unwrap() >= 1, "{exported:#}");
    let (code, redacted) = set.json(&["audit", "redact", &seq, "--why", "a test", "--confirm", &seq]);
    assert_eq!(code, 0, "{redacted:#}");
    set.verify();
    let (_, found) = set.json(&["audit", "show", &seq]);
    assert!(found["payload"]["redacted"].is_string(), "{found:#}");
    // Nobody is taken at his word but the owner at the machine, for exactly the line that he names, once.
    assert_ne!(set.json(&["audit", "redact", &seq, "--why", "a test"]).0, 0, "without naming it again");
    assert_ne!(set.json(&["audit", "redact", &seq, "--why", "again", "--confirm", &seq]).0, 0, "it is gone");
    // What was signed before still stands, also for a memoryd that comes anew; and the line proves itself without its
    // payload, as do its neighbours with theirs.
    until_signed(&mut set);
    set.verify();
    for line in [&seq, &(seq.parse::<u64>().unwrap() + 1).to_string()] {
        let (code, proof) = set.json(&["audit", "prove", line]);
        assert_eq!(code, 0, "{proof:#}");
        assert!(!proof.to_string().contains("welcome.md") || line != &seq, "{proof:#}");
        std::fs::write(&file, proof.to_string()).unwrap();
        assert_eq!(set.json(&["audit", "prove", "--check", path]).1["ok"], true, "line {line}");
    }
    assert_eq!(set.json(&["audit", "export", folder.join("again").to_str().unwrap()]).0, 0);
    assert_eq!(set.json(&["audit", "scan"]).0, 0);
    assert_eq!(call(&set).0, 0);
}

#[test]
fn live_backup_is_restored_elsewhere_and_continues() {
    let mut set = Instance::start();
    assert_eq!(call(&set).0, 0);
    let answer = set.ask("how many words are in notes/welcome.md");
    let folder = beside(&set);
    let kept = folder.join("kept");
    let kept = kept.to_str().unwrap();
    let (code, backup) = set.json(&["backup", kept]);
    assert_eq!(code, 0, "{backup:#}");
    assert!(set.json(&["backup", kept]).0 == 1, "nothing is written over");
    let mnests = set.json(&["mnest", "list"]).1;
    set.down();
    // The instance is lost, and comes back where it was.
    let aside = folder.join("lost");
    for name in std::fs::read_dir(set.home()).unwrap() {
        let name = name.unwrap().file_name();
        std::fs::create_dir_all(&aside).unwrap();
        std::fs::rename(set.home().join(&name), aside.join(&name)).unwrap();
    }
    let (code, restored) = set.json(&["restore", kept]);
    assert_eq!(code, 0, "{restored:#}");
    set.up();
    set.verify();
    assert_eq!(set.json(&["mnest", "list"]).1, mnests, "derived anew, the same");
    assert_eq!(set.ask("how many words are in notes/welcome.md"), answer);
    set.verify();
    // A backup of which one byte was changed is refused.
    let day = std::fs::read_dir(Path::new(kept).join("files/.audit")).unwrap().map(|entry| entry.unwrap().path());
    let day = day.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "jsonl")).unwrap();
    let text = std::fs::read_to_string(&day).unwrap();
    std::fs::write(&day, text.replacen("encrypted", "encryptes", 1)).unwrap();
    set.down();
    let (code, refused) = set.json(&["restore", kept]);
    assert!(code == 1 && refused.to_string().contains("is not what was copied"), "{refused:#}");
}

/// The one file of the chronicle.
fn day_of(audit: &Path) -> PathBuf {
    let days = std::fs::read_dir(audit).unwrap().map(|entry| entry.unwrap().path());
    days.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "jsonl")).unwrap()
}

#[test]
fn changed_byte_or_cut_line_stops_decisions_after_restart() {
    let mut set = Instance::start();
    for _ in 0..3 {
        assert_eq!(call(&set).0, 0);
    }
    set.down();
    let audit = set.home().join(".audit");
    let right = beside(&set).join("right");
    copy(&audit, &right);
    let bytes = std::fs::read(day_of(&audit)).unwrap();
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    let last = ends.len();
    let flipped = |at: usize| {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        changed
    };
    // In the first line, in the middle, in the last line, its newline; and the last line cut off, index and all.
    let cases = [
        (flipped(40), false),
        (flipped(ends[last / 2] - 90), false),
        (flipped(ends[last - 1] - 5), false),
        (flipped(ends[last - 1]), true),
        (bytes[..=ends[last - 2]].to_vec(), true),
    ];
    for (at, (changed, without_index)) in cases.into_iter().enumerate() {
        std::fs::write(day_of(&audit), changed).unwrap();
        if without_index {
            let _ = std::fs::remove_file(audit.join("index.sqlite"));
            let _ = std::fs::remove_file(audit.join("index.sqlite-wal"));
        }
        set.up();
        let (code, value) = call(&set);
        let rule = value["error"]["rule"].as_str().unwrap_or_default();
        assert!(code != 0 && matches!(rule, "chronicle.altered" | "chronicle.anchor"), "case {at}: {value:#}");
        let status = set.json(&["status"]).1;
        let undecided = status["policy"]["undecided"].as_str().unwrap();
        assert!(undecided.contains("line ") || undecided.contains("byte "), "case {at}: {undecided}");
        let (code, report) = set.json(&["audit", "verify"]);
        assert!(code == 1 && report["findings_total"].as_u64().unwrap() > 0, "case {at}: {report:#}");
        set.down();
        std::fs::remove_dir_all(&audit).unwrap();
        copy(&right, &audit);
    }
    set.up();
    assert_eq!(call(&set).0, 0);
    set.verify();
}

#[test]
fn a_stop_leaves_no_line_unsigned_and_a_crash_says_how_many() {
    let mut set = Instance::start();
    assert_eq!(call(&set).0, 0);
    set.down();
    set.up();
    let policy = |set: &Instance| set.json(&["status"]).1["policy"].clone();
    assert_eq!(policy(&set)["unsigned_lines"], 0);
    assert!(policy(&set)["signed_line"].as_u64().unwrap() > 0);
    assert_eq!(call(&set).0, 0);
    // An effect is signed before it happens, and what was recorded of it soon afterwards.
    assert_eq!(set.run("fs_write", &["path=notes/signed.md", "content=x"]).0, 0);
    let decided = set.chronicle().iter().rfind(|line| line.kind() == "run_started").unwrap().seq();
    metnos_tests::until("a signature", Duration::from_secs(20), || {
        (policy(&set)["signed_line"].as_u64().unwrap() + 1 >= decided).then_some(())
    });
    assert_eq!(call(&set).0, 0);
    let supervisor = rustix::process::Pid::from_raw(set.supervisor().cast_signed()).unwrap();
    rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
    let _ = set.ended();
    set.up();
    assert!(policy(&set)["unsigned_lines"].as_u64().unwrap() > 0, "{:#}", policy(&set));
    assert_eq!(call(&set).0, 0);
    metnos_tests::until("a line that says so", Duration::from_secs(20), || {
        set.chronicle().iter().any(|line| line.payload("kind") == "chronicle_unsigned").then_some(())
    });
    set.verify();
}

#[test]
fn a_start_that_fails_before_policyd_has_opened_raises_no_false_alarm() {
    let mut set = Instance::start();
    assert_eq!(call(&set).0, 0);
    set.down();
    // What memoryd would write a line about as soon as it is started.
    std::fs::write(set.workspace("USER.md"), "I moved house.\n").unwrap();
    let audit = set.home().join(".audit");
    let before = std::fs::read(day_of(&audit)).unwrap();
    let key = set.home().join(".policy/instance.key");
    let open_to = |mode| std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
    open_to(0o644);
    set.begin();
    assert!(!set.ended().success());
    assert!(std::fs::read(day_of(&audit)).unwrap() == before, "no line without a policyd that knows of it");
    open_to(0o600);
    set.up();
    assert_eq!(call(&set).0, 0);
    assert_eq!(set.json(&["status"]).1["policy"]["undecided"], "");
    set.verify();
}
