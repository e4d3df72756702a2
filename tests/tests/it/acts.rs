//! Acts with effects in a running set: what is done at once, what waits for the owner's word, and that
//! nothing else happens on that word than what the card has shown.

use metnos_tests::chronicle::count;
use metnos_tests::instance::{Instance, Plan, UNHURRIED};
use serde_json::Value;

/// Every executor that comes with a release.
const SEEDS: [&str; 64] = [
    "archive_pack",
    "archive_unpack",
    "attachment_add",
    "calendar_add",
    "calendar_cancel",
    "calendar_events",
    "calendar_find_free",
    "calendar_move",
    "calendar_restore",
    "clock_now",
    "contact_add",
    "contact_find",
    "csv_query",
    "doc_find",
    "doc_text",
    "feed_read",
    "file_get",
    "fs_append",
    "fs_count",
    "fs_delete",
    "fs_find",
    "fs_hash",
    "fs_list",
    "fs_move",
    "fs_read",
    "fs_restore",
    "fs_write",
    "home_act",
    "home_list",
    "home_restore",
    "home_secure",
    "home_state",
    "image_info",
    "imap_attachment",
    "imap_fetch",
    "imap_fetch_headers",
    "imap_flag",
    "imap_move",
    "imap_restore",
    "imap_search",
    "imap_status",
    "inbox_add",
    "json_query",
    "list_read",
    "list_remove",
    "llm_classify",
    "llm_summarise",
    "note_add",
    "note_read",
    "notify",
    "ocr_text",
    "pdf_text",
    "price_watch",
    "shell_run",
    "smtp_send",
    "smtp_status",
    "table_convert",
    "table_read",
    "telegram_send",
    "text_search",
    "text_stats",
    "weather_get",
    "web_fetch",
    "web_search",
];

fn put(set: &Instance, path: &str, text: &str) {
    let file = set.workspace(path);
    let folder = file.parent().unwrap();
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(&file, text).unwrap();
    for own in [folder, file.as_path()] {
        std::os::unix::fs::chown(own, Some(set.owner()), Some(set.owner())).unwrap();
    }
}

fn text(set: &Instance, path: &str) -> String {
    std::fs::read_to_string(set.workspace(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The only card that waits.
fn waiting(set: &Instance) -> Value {
    let (code, cards) = set.json(&["approval", "list"]);
    assert_eq!(code, 0, "{cards:#}");
    let mut waiting: Vec<Value> =
        cards.as_array().unwrap().iter().filter(|card| card["state"] == "waiting").cloned().collect();
    assert_eq!(waiting.len(), 1, "{cards:#}");
    waiting.remove(0)
}

#[test]
fn a_fresh_instance_has_every_seed_active() {
    let set = Instance::start();
    let (_, list) = set.json(&["executor", "list"]);
    let rows: Vec<(&str, &str)> = list
        .as_array()
        .unwrap_or_else(|| panic!("{list:#}"))
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["state"].as_str().unwrap()))
        .collect();
    assert_eq!(rows, SEEDS.map(|name| (name, "active")), "{list:#}");
}

#[test]
fn a_folder_goes_only_after_a_card_with_the_true_count_and_only_once() {
    let set = Instance::start();
    for n in 0..12 {
        put(&set, &format!("old/{n}.md"), "x");
    }
    let ((code, refused), lines) = set.recording(|| set.run("fs_delete", &["path=old", "folder=true"]));
    assert_eq!((code, refused["error"]["rule"].as_str()), (4, Some("approval.waiting")), "{refused:#}");
    assert!(set.workspace("old/11.md").exists(), "nothing happened yet");
    assert!(!lines.iter().any(|line| line.kind() == "run_started" && line.payload("executor") == "fs_delete"));
    let card = waiting(&set);
    assert_eq!(
        (card["acts"][0]["count"]["files"].as_u64(), card["acts"][0]["count"]["folders"].as_u64()),
        (Some(12), Some(1)),
        "{card:#}"
    );
    let id = card["id"].as_str().unwrap();
    let (code, done) = set.json(&["approval", "approve", id]);
    assert_eq!((code, done["result"]["files"].as_u64()), (0, Some(12)), "{done:#}");
    assert!(!set.workspace("old").exists());
    let (code, again) = set.json(&["approval", "approve", id]);
    assert_eq!((code, again["error"]["rule"].as_str()), (1, Some("approvals.answered")), "{again:#}");
    let ran = |line: &&metnos_tests::chronicle::Line| line.kind() == "run_started";
    let all = set.chronicle();
    assert_eq!(all.iter().filter(ran).filter(|line| line.payload("executor") == "fs_delete").count(), 1);
    assert_eq!(count(&all, "run_started"), count(&all, "run_ended"));
    set.verify();
}

#[test]
fn owner_named_files_are_written_appended_moved_and_trashed() {
    let set = Instance::start();
    let done = |executor: &str, pairs: &[&str]| {
        let (code, done) = set.run(executor, pairs);
        assert_eq!(code, 0, "{executor} {pairs:?}: {done:#}");
    };
    done("fs_write", &["path=notes/list.md", "content=milk"]);
    // Each text stands on a line of its own.
    done("fs_append", &["path=notes/list.md", "content=bread"]);
    assert_eq!(text(&set, "notes/list.md"), "milk\nbread\n");
    done("list_remove", &["path=notes/list.md", "content=milk"]);
    assert_eq!(text(&set, "notes/list.md"), "bread\n");
    assert_eq!(set.json(&["undo"]).0, 0);
    assert_eq!(text(&set, "notes/list.md"), "milk\nbread\n");
    done("fs_move", &["path=notes/list.md", "to=notes/shopping-list.md"]);
    assert_eq!(text(&set, "notes/shopping-list.md"), "milk\nbread\n");
    done("fs_delete", &["path=notes/shopping-list.md"]);
    assert!(!set.workspace("notes/shopping-list.md").exists());
    set.verify();
}

#[test]
fn the_doctor_flies_a_canary_at_each_control_and_each_is_stopped() {
    let set = Instance::start();
    let ((_, report), lines) = set.recording(|| set.json(&["doctor"]));
    for (control, rule) in [
        ("guard", "guard."),
        ("schema", "schema.input"),
        ("laws", "law.constitution"),
        ("labels", "intent.none"),
        ("approval", "approvals.altered"),
    ] {
        let check = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == control);
        let check = check.unwrap_or_else(|| panic!("{control} was not tried: {report:#}"));
        assert!(check["ok"] == true && check["detail"].as_str().unwrap().contains(rule), "{check:#}");
    }
    let ran =
        |line: &&metnos_tests::chronicle::Line| line.kind() == "run_started" && line.payload("executor") == "fs_write";
    assert_eq!(lines.iter().filter(ran).count(), 0, "no canary wrote anything");
    let (_, cards) = set.json(&["approval", "list"]);
    assert!(cards.as_array().unwrap().iter().all(|card| card["state"] == "denied"), "{cards:#}");
    set.verify();
}

/// Spellings of places that nothing may touch, whatever asks.
const SPELLINGS: [&str; 16] = [
    "/etc/shadow",
    "//etc/shadow",
    "/etc/./shadow",
    "/etc/shadow.",
    "/ETC/Shadow",
    "/home/../etc/shadow",
    "notes/../../../../../../../../etc/shadow",
    "/proc/self/root/etc/shadow",
    "/proc/1/environ",
    "/etc%2fshadow",
    "%2fetc%2fshadow",
    "file:///etc/shadow",
    "/etc\u{2215}shadow",
    "\u{ff0f}etc\u{ff0f}shadow",
    "~/.ssh/id_ed25519",
    "~root/.ssh/authorized_keys",
];

#[test]
fn no_spelling_of_a_core_path_passes_any_executor_that_takes_a_path() {
    let set = Plan::new().config(UNHURRIED).start();
    put(&set, "notes/a.md", "x");
    let before = visible(&set, ".");
    for spelling in SPELLINGS {
        let path = format!("path={spelling}");
        let to = format!("to={spelling}");
        let calls: [(&str, &[&str]); 17] = [
            ("fs_find", &[&path]),
            ("text_search", &[&path, "pattern=root"]),
            ("note_add", &[&path, "text=x"]),
            ("contact_add", &[&path, "name=x"]),
            ("contact_find", &[&path]),
            ("fs_read", &[&path]),
            ("fs_list", &[&path]),
            ("fs_count", &[&path]),
            ("fs_count", &[&path, "all=true"]),
            ("list_read", &[&path]),
            ("note_read", &[&path]),
            ("list_remove", &[&path, "all=true"]),
            ("fs_write", &[&path, "content=x"]),
            ("fs_append", &[&path, "content=x"]),
            ("fs_delete", &[&path]),
            ("fs_move", &[&path, "to=notes/b.md"]),
            ("fs_move", &["path=notes/a.md", &to]),
        ];
        for (executor, pairs) in calls {
            let (code, answer) = set.run(executor, pairs);
            assert!(code == 1 && answer["ok"] == false, "{executor} {spelling}: {answer:#}");
        }
    }
    assert_eq!(visible(&set, "."), before, "nothing was made or changed");
    let (code, done) = set.run("fs_write", &["path=notes/about.md", "content=look at /etc/shadow and ~/.ssh"]);
    assert_eq!(code, 0, "a text that mentions such a path is no access: {done:#}");
    set.verify();
}

/// `undo`: its exit code and document.
fn undo(set: &Instance, words: &[&str]) -> (i32, Value) {
    set.json(&[&["undo"], words].concat())
}

/// The workspace without what is hidden in it: paths and texts.
fn visible(set: &Instance, folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut waiting = vec![set.workspace(folder)];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if name.starts_with('.') {
                continue;
            }
            match entry.file_type().unwrap().is_dir() {
                true => waiting.push(entry.path()),
                false => found.push((
                    entry.path().strip_prefix(set.home()).unwrap().display().to_string(),
                    std::fs::read_to_string(entry.path()).unwrap(),
                )),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn each_act_is_taken_back_exactly_and_once() {
    let set = Instance::start();
    put(&set, "notes/old.md", "as it was\n");
    put(&set, "box/in/deep.md", "deep");
    let acts: [(&str, &[&str]); 8] = [
        ("note_add", &["text=call Anna", "heading=today"]),
        ("note_add", &["text=and Bob"]),
        ("note_add", &["path=notes/old.md", "text=a note"]),
        ("fs_write", &["path=notes/new.md", "content=new"]),
        ("fs_write", &["path=notes/old.md", "content=other", "overwrite=true"]),
        ("fs_append", &["path=notes/old.md", "content= and more"]),
        ("fs_move", &["path=notes/old.md", "to=notes/older.md"]),
        ("fs_delete", &["path=notes/older.md"]),
    ];
    let mut before = Vec::new();
    for (executor, pairs) in acts {
        before.push(visible(&set, "."));
        let (code, done) = set.run(executor, pairs);
        assert_eq!(code, 0, "{executor}: {done:#}");
    }
    let mut turns = Vec::new();
    while let Some(expected) = before.pop() {
        let (code, done) = undo(&set, &[]);
        assert_eq!((code, done["undone"].as_u64()), (0, Some(1)), "{done:#}");
        assert_eq!(visible(&set, "."), expected, "after {done:#}");
        turns.push(done["turn"].as_str().unwrap().to_owned());
    }
    let ((code, again), lines) = set.recording(|| undo(&set, &[&turns[0]]));
    assert_eq!((code, again["already"].as_u64(), again["undone"].as_u64()), (0, Some(1), Some(0)), "{again:#}");
    assert_eq!(count(&lines, "run_started"), 0, "a second undo runs nothing");
    let (code, nothing) = undo(&set, &[]);
    assert_eq!((code, nothing["error"]["rule"].as_str()), (1, Some("undo.nothing")), "{nothing:#}");
    set.verify();
}

#[test]
fn undo_leaves_files_changed_since_and_says_so() {
    let set = Instance::start();
    assert_eq!(set.run("fs_write", &["path=notes/new.md", "content=mine"]).0, 0);
    put(&set, "notes/new.md", "the owner wrote something else");
    let (code, done) = undo(&set, &[]);
    assert_eq!((code, done["left"].as_u64()), (1, Some(1)), "{done:#}");
    assert!(done["acts"][0]["told"].as_str().unwrap().contains("was changed since"), "{done:#}");
    assert_eq!(text(&set, "notes/new.md"), "the owner wrote something else");
    assert_eq!(set.run("fs_delete", &["path=notes/new.md"]).0, 0);
    put(&set, "notes/new.md", "something in its place");
    let (code, done) = undo(&set, &[]);
    assert_eq!(code, 1, "{done:#}");
    assert_eq!(text(&set, "notes/new.md"), "something in its place", "nothing is replaced");
}

#[test]
fn panic_holds_across_restarts_and_stands_in_the_chronicle() {
    let set = Instance::start();
    put(&set, "notes/a.md", "text");
    let (code, panicked) = set.json(&["panic"]);
    assert_eq!((code, &panicked["stopped"]), (0, &Value::Bool(true)), "{panicked:#}");
    let (code, refused) = set.run("fs_read", &["path=notes/a.md"]);
    assert_eq!((code, refused["error"]["rule"].as_str()), (1, Some("panic.stopped")), "{refused:#}");
    assert!(set.ctl(&["daemon", "restart", "policyd"]).status.success());
    let (code, refused) = set.run("fs_read", &["path=notes/a.md"]);
    assert_eq!((code, refused["error"]["rule"].as_str()), (1, Some("panic.stopped")), "{refused:#}");
    let (_, status) = set.json(&["status"]);
    assert_ne!(status["policy"]["stopped_ms"], 0, "{status:#}");
    assert_eq!(set.json(&["resume"]).0, 0);
    assert_eq!(set.run("fs_read", &["path=notes/a.md"]).0, 0);
    let (_, tail) = set.json(&["audit", "tail", "-n", "100"]);
    let said = tail.to_string();
    assert!(said.contains("has stopped everything") && said.contains("lets calls happen again"), "{tail:#}");
    set.verify();
}
