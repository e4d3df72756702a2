//! Folders outside the workspace, over real daemons: one that the owner has listed is read and written by an executor that declares
//! it, and nothing else is to be had by it, whatever stands there, is named or is listed.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use metnos_tests::instance::{Instance, Plan};
use metnos_tests::until;
use serde_json::Value;

const FILES: [&str; 4] = ["manifest.toml", "main.py", "schema.json", "tests/birth.py"];

/// The home of a person who has pictures, albums and secrets, beside the instance.
struct Person(PathBuf);

impl Person {
    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.at(name)).unwrap()
    }

    /// Everything belongs to whom the instance belongs; others may read the pictures and write the album, and nobody but he
    /// may walk through his home.
    fn settle(&self, owner: u32) {
        own(&self.0, owner);
        let mode = |name: &str, mode| std::fs::set_permissions(self.at(name), PermissionsExt::from_mode(mode)).unwrap();
        mode("Albums/2024", 0o777);
        mode("", 0o700);
    }
}

fn own(path: &Path, owner: u32) {
    std::os::unix::fs::lchown(path, Some(owner), Some(owner)).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| own(&entry.unwrap().path(), owner));
    }
}

fn prepared(plan: Plan) -> (Instance, Person) {
    let set = plan.attack().prepare();
    let person = Person(set.home().parent().unwrap().join("ada"));
    person.write("Pictures/a.txt", "a picture\n");
    person.write("Pictures/deep/b.txt", "another\n");
    person.write("Pictures/run", "#!/bin/sh\n");
    person.write("Pictures/.ssh/id", "swordfish");
    person.write("Pictures/.netrc", "swordfish");
    person.write("Albums/one.txt", "swordfish");
    person.write("Albums/2024/old.txt", "old\n");
    person.write("Secrets/key", "swordfish");
    person.write(".ssh/id", "swordfish");
    symlink("/etc", person.at("Pictures/link")).unwrap();
    symlink("..", person.at("Pictures/up")).unwrap();
    person.settle(set.owner());
    (set, person)
}

fn list(set: &Instance, person: &Person, folders: &str, writable: &str) {
    let home = person.0.display();
    set.write_config(&format!(
        "[sandbox]\nhome = \"{home}\"\nfolders = [{folders}]\nwritable = [{writable}]\n[http]\nlisten = \"\"\n"
    ));
}

fn state(set: &Instance, name: &str) -> Option<Value> {
    let (_, list) = set.json(&["executor", "list"]);
    list.as_array()?.iter().find(|row| row["name"] == name).cloned()
}

/// Puts the executors of the tests into the pool; they are looked at when sandboxd is back.
fn install(set: &Instance, names: &[&str]) {
    let owner = std::fs::metadata(set.workspace("executors")).unwrap();
    for name in names {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("executors").join(name);
        let to = set.workspace("executors").join(name);
        std::fs::create_dir_all(to.join("1.0.0/tests")).unwrap();
        for file in FILES {
            std::fs::copy(from.join(file), to.join("1.0.0").join(file)).unwrap();
        }
        std::fs::write(to.join("CURRENT"), "1.0.0\n").unwrap();
        own(&to, owner.uid());
        for path in [to.clone(), to.join("1.0.0"), to.join("1.0.0/tests")] {
            chown(path, Some(owner.uid()), Some(owner.gid())).unwrap();
        }
    }
    let old = set.pids()["sandboxd"];
    assert_eq!(set.json(&["daemon", "restart", "sandboxd"]).0, 0);
    set.wait_back("sandboxd", old);
}

fn is_in(set: &Instance, name: &str, wanted: &str) -> Value {
    until(&format!("{name} is {wanted}"), Duration::from_secs(90), || {
        state(set, name).filter(|row| row["state"] == wanted)
    })
}

fn rule(answer: &(i32, Value)) -> &str {
    answer.1["error"]["rule"].as_str().or_else(|| answer.1["result"]["error"]["class"].as_str()).unwrap_or_default()
}

fn up(plan: Plan) -> (Instance, Person) {
    let (mut set, person) = prepared(plan);
    list(&set, &person, r#""~/Pictures/""#, r#""~/Albums""#);
    set.up();
    install(&set, &["pictures", "albums"]);
    is_in(&set, "pictures", "active");
    is_in(&set, "albums", "active");
    (set, person)
}

fn reads_and_writes_what_is_listed_and_nothing_beside(set: &Instance, person: &Person) {
    let whole = |name: &str| person.at(name).display().to_string();
    let look = |path: &str| set.run("pictures", &[&format!("path={path}")]);
    for path in ["~/Pictures/a.txt", &whole("Pictures/a.txt"), "~/Pictures/./deep//../a.txt"] {
        let (code, answer) = look(path);
        assert_eq!((code, answer["result"]["text"].as_str()), (0, Some("a picture\n")), "{path}: {answer:#}");
    }
    let (_, listed) = look("~/Pictures/deep");
    assert_eq!(listed["result"]["names"], serde_json::json!(["b.txt"]), "{listed:#}");
    // What it tries from inside.
    let (code, tried) = set.run("pictures", &["path=~/Pictures", "do=escape"]);
    assert_eq!((code, &tried["result"]["got"]), (0, &serde_json::json!([])), "{tried:#}");
    assert!(tried["result"]["tried"].as_u64() > Some(20), "{tried:#}");
    assert_eq!(person.read("Pictures/a.txt"), "a picture\n");
    // What is asked for.
    std::fs::hard_link(person.at("Secrets/key"), person.at("Pictures/hard.txt")).unwrap();
    for (path, wanted) in [
        ("~/Secrets/key", "profile.paths"),
        ("~/Pictures/../Secrets/key", "profile.paths"),
        ("~/Pictures2/a.txt", "profile.paths"),
        ("notes/welcome.md", "profile.paths"),
        ("~/.ssh/id", "guard.spelling"),
        ("~/Pictures/.ssh/id", "guard.spelling"),
        ("~/Pictures/.NETRC", "guard.spelling"),
        ("/etc/passwd", "guard.path"),
        ("~/Pictures/link", "folder.link"),
        ("~/Pictures/link/passwd", "folder.link"),
        ("~/Pictures/up/Secrets/key", "folder.link"),
        ("~/Pictures/hard.txt", "sandbox.hard_link"),
    ] {
        let answer = look(path);
        assert_eq!((answer.0, rule(&answer)), (1, wanted), "{path}: {:#}", answer.1);
        assert!(!answer.1.to_string().contains("swordfish"), "{path}: {:#}", answer.1);
    }
    std::fs::remove_file(person.at("Pictures/hard.txt")).unwrap();
    // What is written, where that was granted.
    let put = |from: &str, to: &str| set.run("albums", &[&format!("from={from}"), &format!("to={to}")]);
    let (code, put_there) = put("~/Pictures/a.txt", "~/Albums/2024/a.txt");
    assert_eq!((code, put_there["result"]["size"].as_u64()), (0, Some(10)), "{put_there:#}");
    assert_eq!(person.read("Albums/2024/a.txt"), "a picture\n");
    for (to, wanted) in [
        ("~/Pictures/b.txt", "PermissionDenied"),
        ("~/Albums/one.txt", "profile.paths"),
        ("~/Albums/2024/../one.txt", "profile.paths"),
        ("~/Albums/b.txt", "profile.paths"),
    ] {
        let answer = put("~/Pictures/a.txt", to);
        assert_eq!((answer.0, rule(&answer)), (1, wanted), "{to}: {:#}", answer.1);
    }
    assert_eq!((person.read("Albums/one.txt").as_str(), person.at("Pictures/b.txt").exists()), ("swordfish", false));
    // What is said of it.
    let shown = set.ctl(&["executor", "profile", "albums"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let written = shown.lines().find(|line| line.contains("may write:")).unwrap_or_default();
    assert!(written.contains(&format!("/outside{}", whole("Albums/2024"))) && !written.contains("Pictures"), "{shown}");
    assert!(shown.contains(&format!("/outside{}", whole("Pictures"))), "{shown}");
    let (_, lines) = set.recording(|| look("~/Pictures/a.txt"));
    let decision = lines.iter().find(|line| line.kind() == "policy_decision").unwrap();
    assert!(decision.payload("why").contains("~/Pictures/"), "{}", decision.payload("why"));
    set.verify();
}

#[test]
fn a_listed_folder_is_read_and_written_and_nothing_beside_it() {
    let (set, person) = up(Plan::new());
    reads_and_writes_what_is_listed_and_nothing_beside(&set, &person);
}

#[test]
fn another_folder_in_its_place_is_not_the_one_that_was_listed() {
    let (set, person) = up(Plan::new());
    let move_to = |from: &str, to: &str| std::fs::rename(person.at(from), person.at(to)).unwrap();
    let put = || set.run("albums", &["from=~/Pictures/a.txt", "to=~/Albums/2024/a.txt"]);
    // In the place of what is declared below it.
    move_to("Albums/2024", "Albums/away");
    assert_eq!(rule(&put()), "folder.gone");
    symlink(person.at("Secrets"), person.at("Albums/2024")).unwrap();
    assert_eq!(rule(&put()), "folder.gone");
    std::fs::remove_file(person.at("Albums/2024")).unwrap();
    person.write("Albums/2024", "a file");
    assert_eq!(rule(&put()), "folder.gone");
    std::fs::remove_file(person.at("Albums/2024")).unwrap();
    move_to("Albums/away", "Albums/2024");
    assert_eq!(put().0, 0);
    // In the place of what is listed itself: what was opened is what is shown, until the owner starts anew.
    move_to("Pictures", "Old");
    symlink(person.at("Secrets"), person.at("Pictures")).unwrap();
    let (code, answer) = set.run("pictures", &["path=~/Pictures/a.txt"]);
    assert_eq!((code, answer["result"]["text"].as_str()), (0, Some("a picture\n")), "{answer:#}");
    let hidden = set.run("pictures", &["path=~/Pictures/key"]);
    assert_eq!((hidden.0, rule(&hidden)), (1, "NotFound"), "{:#}", hidden.1);
    set.verify();
}

#[test]
fn unlisted_folder_blocks_birth_and_delisted_folder_is_withdrawn() {
    let (mut set, person) = prepared(Plan::new());
    list(&set, &person, r#""~/Pictures""#, "");
    set.up();
    install(&set, &["pictures", "albums"]);
    is_in(&set, "pictures", "active");
    let row = is_in(&set, "albums", "staged");
    assert!(row["why"].as_str().is_some_and(|why| why.contains("~/Albums/2024/")), "only to read: {row:#}");
    assert_eq!(set.run("albums", &["from=~/Pictures/a.txt", "to=~/Albums/2024/a.txt"]).0, 1);
    assert_eq!(set.down().code(), Some(0));
    // Taken off the list: the sandbox that was signed cannot be built any more.
    list(&set, &person, "", "");
    set.up();
    let row = is_in(&set, "pictures", "quarantined");
    assert!(row["why"].as_str().is_some_and(|why| why.contains("~/Pictures/")), "{row:#}");
    assert_eq!(set.run("pictures", &["path=~/Pictures/a.txt"]).0, 1);
    set.verify();
}

#[test]
fn unlistable_folder_is_reported_at_start_and_unusable_later() {
    let (mut set, person) = prepared(Plan::new());
    let home = person.0.display().to_string();
    let instance = set.home().join("workspace").display().to_string();
    let quoted = |path: &str| format!("\"{path}\"");
    for (folders, writable, part) in [
        (quoted("~/.ssh"), String::new(), "keys"),
        (quoted("/etc"), String::new(), "system"),
        (String::new(), quoted("/"), "at most"),
        (quoted(&home), String::new(), "whole home"),
        (quoted(&instance), String::new(), "own state"),
        (quoted("~/Albums"), quoted("~/Albums/2024"), "lies in"),
        (quoted("~/Pictures/../Secrets"), String::new(), "`..`"),
    ] {
        list(&set, &person, &folders, &writable);
        let started = set.ctl(&["up", "--detach"]);
        let said = String::from_utf8_lossy(&started.stderr).into_owned() + &String::from_utf8_lossy(&started.stdout);
        assert!(!started.status.success() && said.contains(part), "{folders} {writable}: {said}");
    }
    // A link in the place of a folder, and one that is not there: the set runs without them, and says so.
    std::fs::rename(person.at("Pictures"), person.at("Real")).unwrap();
    symlink(person.at("Real"), person.at("Pictures")).unwrap();
    list(&set, &person, r#""~/Pictures", "~/None""#, r#""~/Albums""#);
    set.up();
    let status = set.ctl(&["status"]);
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains("symbolic link") && status.contains("not there"), "{status}");
    install(&set, &["pictures"]);
    is_in(&set, "pictures", "active");
    let answer = set.run("pictures", &["path=~/Pictures/a.txt"]);
    assert_eq!((answer.0, rule(&answer)), (3, "folder.gone"), "{:#}", answer.1);
    set.verify();
}

mod as_root {
    use std::process::Command;

    use super::*;

    /// Something of the machine's, shown elsewhere; taken away when the test ends, however that is.
    struct Bound(PathBuf);

    impl Drop for Bound {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(&self.0).status();
        }
    }

    fn bind(what: &Path, at: &Path) -> Bound {
        std::fs::create_dir_all(at).unwrap();
        assert!(Command::new("mount").arg("--bind").args([what, at]).status().unwrap().success(), "root may mount");
        Bound(at.to_owned())
    }

    #[test]
    fn folder_is_served_by_daemons_without_access_to_the_home() {
        let (set, person) = up(Plan::new().as_root());
        reads_and_writes_what_is_listed_and_nothing_beside(&set, &person);
    }

    #[test]
    fn a_mount_that_leads_to_what_is_closed_or_lies_in_a_folder_is_not_shown() {
        let (mut set, person) = prepared(Plan::new().as_root());
        let _closed = bind(Path::new("/etc/ssl"), &person.at("Closed"));
        let _own = bind(&person.at(".ssh"), &person.at("Keys"));
        let _below = bind(&person.at("Secrets"), &person.at("Albums/bound"));
        list(&set, &person, r#""~/Closed", "~/Keys", "~/Pictures""#, r#""~/Albums""#);
        set.up();
        let status = set.ctl(&["status"]);
        let status = String::from_utf8_lossy(&status.stdout).into_owned();
        for (folder, why) in [("Closed", "/etc"), ("Keys", ".ssh"), ("Albums", "mounted in it")] {
            let said = status.lines().any(|line| line.contains(&format!("/{folder} ")) && line.contains(why));
            assert!(said, "{folder}: {status}");
        }
        install(&set, &["pictures", "albums"]);
        is_in(&set, "pictures", "active");
        is_in(&set, "albums", "active");
        assert_eq!(set.run("pictures", &["path=~/Pictures/a.txt"]).0, 0);
        let answer = set.run("albums", &["from=~/Pictures/a.txt", "to=~/Albums/2024/a.txt"]);
        assert_eq!((answer.0, rule(&answer)), (3, "folder.gone"), "{:#}", answer.1);
    }
}
