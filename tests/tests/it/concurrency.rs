//! Many calls at once on the same files, through the whole running set: what was acknowledged is found, in its place or in the
//! trash, nothing is replaced silently, and what is taken back afterwards is said as it is.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use metnos_tests::instance::{Instance, Plan, READY_WITHIN, UNHURRIED};
use metnos_tests::until;
use serde_json::{Value, json};

/// Calls at once: as many as a set runs beside each other.
const AT_ONCE: usize = 8;

fn put(set: &Instance, path: &str, text: &str) {
    let file = set.workspace(path);
    let folder = file.parent().unwrap();
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(&file, text).unwrap();
    for own in [folder, file.as_path()] {
        std::os::unix::fs::chown(own, Some(set.owner()), Some(set.owner())).unwrap();
    }
}

fn run(set: &Instance, executor: &str, arguments: &Value) -> (i32, Value) {
    set.json(&["run", executor, "--args", &arguments.to_string()])
}

/// Does all of them, as many at once as there are threads.
fn at_once<T: Sync, R: Send>(jobs: &[T], job: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(jobs.len()) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let Some(one) = jobs.get(number) else { break };
                    let result = job(one);
                    done.lock().unwrap().insert(number, result);
                }
            });
        }
    });
    done.into_inner().unwrap().into_values().collect()
}

/// The text of every file directly in a folder, also of the hidden ones.
fn texts(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_file()).map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

fn drafts(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".draft")).count()
}

#[test]
fn one_of_many_concurrent_creates_of_a_path_succeeds() {
    let set = Plan::new().config(UNHURRIED).start();
    for round in 0..6 {
        let path = format!("notes/round-{round}.md");
        let numbers: Vec<usize> = (0..AT_ONCE).collect();
        let answers = at_once(&numbers, |number| {
            run(&set, "fs_write", &json!({"path": path, "content": format!("content {number}\n")}))
        });
        let winners: Vec<usize> = numbers.iter().copied().filter(|number| answers[*number].0 == 0).collect();
        let [winner] = winners[..] else { panic!("{winners:?} say that they have made {path}: {answers:#?}") };
        assert_eq!(std::fs::read_to_string(set.workspace(&path)).unwrap(), format!("content {winner}\n"));
        for (code, answer) in answers.iter().filter(|(code, _)| *code != 0) {
            assert_eq!((*code, answer["result"]["error"]["class"].as_str()), (1, Some("Exists")), "{answer:#}");
        }
    }
    assert_eq!(drafts(&set.workspace("notes")), 0);
    set.verify();
}

#[test]
fn texts_added_at_once_all_stay_on_lines_of_their_own() {
    let set = Plan::new().config(UNHURRIED).start();
    let numbers: Vec<usize> = (0..24).collect();
    let answers = at_once(&numbers, |number| match number % 3 {
        0 => run(&set, "note_add", &json!({"path": "lists/new.md", "text": format!("line {number}")})),
        _ => run(&set, "fs_append", &json!({"path": "lists/new.md", "content": format!("line {number}")})),
    });
    assert!(answers.iter().all(|(code, _)| *code == 0), "{answers:#?}");
    let text = std::fs::read_to_string(set.workspace("lists/new.md")).unwrap();
    for number in &numbers {
        assert_eq!(text.lines().filter(|line| *line == format!("line {number}")).count(), 1, "{number}: {text}");
    }
    let made = answers.iter().filter(|(_, answer)| answer["result"]["made"] == true).count();
    assert_eq!(made, 1, "one of them has made it");
    set.verify();
}

/// Every act that changes a file, on one file of a folder: the executor and its arguments, with a content of its own.
fn acts(folder: &str, mark: &str) -> Vec<(&'static str, Value)> {
    let (path, content) = (format!("{folder}/a.md"), format!("mark {mark}\n"));
    vec![
        ("fs_write", json!({"path": path, "content": content})),
        ("fs_write", json!({"path": path, "content": content, "overwrite": true})),
        ("fs_append", json!({"path": path, "content": content})),
        ("note_add", json!({"path": path, "text": content})),
        ("fs_move", json!({"path": path, "to": format!("{folder}/b.md")})),
        ("fs_delete", json!({"path": path})),
    ]
}

#[test]
fn nothing_acknowledged_is_lost_whichever_two_acts_meet() {
    let set = Plan::new().config(UNHURRIED).start();
    let count = acts("x", "x").len();
    let mut calls = Vec::new();
    for (one, other) in (0..count).flat_map(|one| (one..count).map(move |other| (one, other))) {
        for there in [false, true] {
            let folder = format!("pairs/{one}-{other}-{there}");
            put(&set, &format!("{folder}/other.md"), "other\n");
            if there {
                put(&set, &format!("{folder}/a.md"), "mark first\n");
            }
            calls.push((folder.clone(), there, one, "one"));
            calls.push((folder, there, other, "two"));
        }
    }
    let answers = at_once(&calls, |(folder, _, act, mark)| {
        let (executor, arguments) = acts(folder, mark).swap_remove(*act);
        run(&set, executor, &arguments)
    });
    for ((folder, there, act, mark), (code, answer)) in calls.iter().zip(&answers) {
        assert!(
            *code == 0 || *code == 1 && !answer["result"]["error"]["class"].is_null(),
            "{folder} {act}: {answer:#}"
        );
        let found = texts(&set.workspace(folder));
        let holds = |mark: &str| found.iter().any(|text| text.lines().any(|line| line == format!("mark {mark}")));
        // What only moves or deletes brings no content of its own.
        let brings = !matches!(acts(folder, mark)[*act].0, "fs_move" | "fs_delete");
        assert!(*code != 0 || !brings || holds(mark), "{folder}: {mark} was acknowledged and is lost: {found:?}");
        assert!(!there || holds("first"), "{folder}: what was there before is lost: {found:?}");
        assert_eq!(drafts(&set.workspace(folder)), 0, "{folder}");
    }
    assert!(answers.iter().filter(|(code, _)| *code == 0).count() > calls.len() / 2, "most of them do something");
    set.verify();
}

/// The turns whose acts can be taken back, newest first.
fn turns(set: &Instance) -> Vec<String> {
    let (_, list) = set.json(&["undo", "list"]);
    let acts = list.as_array().unwrap_or_else(|| panic!("{list:#}"));
    let open = acts.iter().filter(|act| act["state"] == "done");
    open.map(|act| act["turn"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn undo_in_any_order_takes_back_its_own_act_or_says_that_it_cannot() {
    let set = Plan::new().config(UNHURRIED).start();
    put(&set, "box/a.md", "mark first\n");
    let numbers: Vec<usize> = (0..AT_ONCE).collect();
    let answers = at_once(&numbers, |number| {
        let content = format!("mark {number}\n");
        match number % 2 {
            0 => run(&set, "fs_write", &json!({"path": "box/a.md", "content": content, "overwrite": true})),
            _ => run(&set, "fs_append", &json!({"path": "box/a.md", "content": content})),
        }
    });
    assert!(answers.iter().all(|(code, _)| *code == 0), "{answers:#?}");
    let last = std::fs::read_to_string(set.workspace("box/a.md")).unwrap();
    // The oldest first: of those only what nothing was built on can go, and each that stays is said to stay.
    let mut oldest = turns(&set);
    assert_eq!(oldest.len(), AT_ONCE);
    oldest.pop().map(|turn| set.json(&["undo", &turn])).into_iter().for_each(|(code, done)| {
        assert!(code == 1 && done["undone"] == 0, "{done:#}");
        // A file that was written whole in between is another one; one that was added to is the same, and changed.
        let told = done["acts"][0]["told"].as_str().unwrap();
        assert!(told.contains("was changed since") || told.contains("is another file now"), "{done:#}");
    });
    assert_eq!(std::fs::read_to_string(set.workspace("box/a.md")).unwrap(), last, "nothing was changed by that");
    // The newest first: back to the beginning, step by step.
    for turn in turns(&set) {
        let (code, done) = set.json(&["undo", &turn]);
        assert_eq!((code, &done["undone"]), (0, &json!(1)), "{done:#}");
    }
    assert_eq!(std::fs::read_to_string(set.workspace("box/a.md")).unwrap(), "mark first\n");
    let found = texts(&set.workspace("box"));
    for number in numbers.iter().filter(|number| *number % 2 == 0) {
        assert!(found.iter().any(|text| text.contains(&format!("mark {number}\n"))), "{number}: {found:?}");
    }
    set.verify();
}

#[test]
fn a_killed_sandboxd_leaves_no_file_locked_and_loses_nothing_acknowledged() {
    let set = Plan::new().config(UNHURRIED).start();
    put(&set, "box/a.md", "first\n");
    let old = set.pids()["sandboxd"];
    let numbers: Vec<usize> = (0..32).collect();
    let answers = at_once(&numbers, |number| {
        if *number == 12 {
            let pid = rustix::process::Pid::from_raw(i32::try_from(old).unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        run(&set, "fs_append", &json!({"path": "box/a.md", "content": format!("line {number}")}))
    });
    set.wait_back("sandboxd", old);
    let last = || run(&set, "fs_append", &json!({"path": "box/a.md", "content": "last"})).0 == 0;
    until("a file that is locked by nothing", READY_WITHIN, || last().then_some(()));
    let text = std::fs::read_to_string(set.workspace("box/a.md")).unwrap();
    let stands = |line: &str| text.lines().filter(|one| *one == line).count();
    assert!(stands("first") == 1 && stands("last") >= 1, "{text}");
    for (number, (code, answer)) in answers.iter().enumerate() {
        let times = stands(&format!("line {number}"));
        assert!(if *code == 0 { times == 1 } else { times <= 1 }, "line {number}: {answer:#}\n{text}");
    }
    set.verify();
}
