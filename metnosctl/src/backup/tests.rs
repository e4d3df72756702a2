//! What a backup holds and what it never follows, takes along or brings back.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn backup_omits_only_derived_and_runtime_files() {
    for out in [
        "run",
        ".audit/index.sqlite",
        ".audit/index.sqlite-wal",
        ".mnestome/mnest.sqlite",
        ".mnestome/mnest.sqlite.damaged-1",
        REGISTRY,
        ".policy/policy.sqlite-wal",
        ".audit/executors",
    ] {
        assert!(is_left_out(out), "{out}");
    }
    for kept in [
        "workspace/run",
        ".audit/2026-04-25.jsonl",
        ".policy/instance.key",
        ".mnestome/snapshots",
        "metnos.toml",
        ".soul",
    ] {
        assert!(!is_left_out(kept), "{kept}");
    }
}

#[test]
fn only_whole_lines_of_a_growing_file_are_copied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("day");
    for (text, whole) in [("", 0), ("a\nbc", 2), ("a\nb\n", 4), ("abc", 0)] {
        fs::write(&path, text).unwrap();
        let mut file = File::open(&path).unwrap();
        assert_eq!(whole_lines(&mut file).unwrap(), whole, "{text:?}");
        assert_eq!(file.stream_position().unwrap(), 0);
    }
    assert!(is_day(".audit/2026-04-25.jsonl") && !is_day(".audit/torn-2026-04-25-1.jsonl"));
}

#[test]
fn backup_copies_nothing_outside_the_instance_through_links() {
    let folder = tempfile::tempdir().unwrap();
    let (base, secret) = (folder.path().join("instance"), folder.path().join("secret"));
    fs::create_dir_all(base.join("workspace/notes")).unwrap();
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("key"), "x").unwrap();
    fs::write(base.join("workspace/notes/a.md"), "a").unwrap();
    std::os::unix::fs::symlink(&secret, base.join("workspace/out")).unwrap();
    std::os::unix::fs::symlink(secret.join("key"), base.join("workspace/key")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, base.join("workspace/pipe"), rustix::fs::Mode::RUSR).unwrap();
    let mut skipped = Vec::new();
    let found: Vec<String> = gather(&base, &mut skipped).unwrap().into_iter().map(|(path, _)| path).collect();
    assert_eq!(found, ["workspace", "workspace/notes", "workspace/notes/a.md"]);
    skipped.sort();
    assert_eq!(skipped, ["workspace/key", "workspace/out", "workspace/pipe"].map(|path| format!("{path} ({NO_FILE})")));
    // Nor when it is put there between the listing and the copy.
    for path in ["workspace/out/key", "workspace/key", "../secret/key", "workspace/out"] {
        assert!(open_below(&base, path).is_err(), "{path}");
    }
    assert!(!open_below(&base, "workspace/pipe").unwrap().metadata().unwrap().is_file(), "and nobody waits for it");
    assert!(open_below(&base, "workspace/notes/a.md").is_ok());
}

#[test]
fn backup_list_cannot_create_setuid_file() {
    let entry =
        |mode, folder| Entry { path: "a".to_owned(), bytes: 0, mode, uid: 0, gid: 0, sha256: String::new(), folder };
    assert_eq!(allowed_mode(&entry(0o7755, false)), 0o755);
    assert_eq!(allowed_mode(&entry(0o7755, true)), 0o3755);
    assert_eq!(allowed_mode(&entry(0o600, false)), 0o600);
}

#[test]
fn backup_leaves_out_what_lies_deeper_than_a_path_can_be_long() {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("instance");
    fs::create_dir_all(base.join("workspace/deep")).unwrap();
    fs::write(base.join("workspace/z.md"), "z").unwrap();
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let mut here = openat(CWD, base.join("workspace/deep"), flags, Mode::empty()).unwrap();
    let name = "n".repeat(200);
    for _ in 0..40 {
        mkdirat(&here, name.as_str(), Mode::RWXU).unwrap();
        here = openat(&here, name.as_str(), flags, Mode::empty()).unwrap();
    }
    let mut skipped = Vec::new();
    let found = gather(&base, &mut skipped).unwrap();
    assert!(found.iter().any(|(path, _)| path == "workspace/z.md"), "the rest is copied");
    assert!(found.iter().all(|(path, _)| path.len() <= LONGEST_PATH));
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    assert!(skipped[0].starts_with("workspace/deep/nnn") && skipped[0].contains("its path is too long"), "{skipped:?}");
    assert!(skipped[0].len() < 300, "{skipped:?}");
    let status = std::process::Command::new("rm").arg("-rf").arg(&base).status().unwrap();
    assert!(status.success());
}
