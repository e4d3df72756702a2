//! The executors that find, search and look things up, called through the whole running set: what they promise on a real workspace,
//! that a hostile argument ends as an error of the contract, and that no such error sets an executor aside. And of all that come with Metnos:
//! what their code is made of.

use std::path::Path;

use metnos_tests::chronicle::count;
use metnos_tests::instance::Instance;
use serde_json::{Value, json};

fn put(set: &Instance, path: &str, text: &str) {
    let file = set.workspace(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    let own = |path: &Path| std::os::unix::fs::chown(path, Some(set.owner()), Some(set.owner())).unwrap();
    own(file.parent().unwrap());
    own(&file);
}

/// The result of a call that succeeds.
fn good(set: &Instance, executor: &str, arguments: &Value) -> Value {
    let (code, answer) = set.json(&["run", executor, "--args", &arguments.to_string()]);
    assert!(code == 0 && answer["result"]["ok"] == true, "{executor} {arguments}: {answer:#}");
    answer["result"].clone()
}

/// The class of the error that a call ends with.
fn bad(set: &Instance, executor: &str, arguments: &Value) -> String {
    let (code, answer) = set.json(&["run", executor, "--args", &arguments.to_string()]);
    assert!(code == 1 && answer["result"]["ok"] == false, "{executor} {arguments}: {answer:#}");
    answer["result"]["error"]["class"].as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned()
}

/// What looks at code that nobody has signed, over files.
const LOOK: &str = concat!(
    include_str!("../../../sandboxd/src/verify/scan.py"),
    r#"
for path in sys.argv[1:]:
    granted = {"programs": "/shell_run/" in path, "network": any(name in path for name in ("/web_fetch/", "/imap_", "/calendar_", "/weather_get/", "/feed_read/", "/price_watch/"))}
    with open(path, encoding="utf-8") as file:
        for found in run({"code": file.read(), **granted}, None)["found"]:
            print(f"{path}: {found}")
"#
);

/// What [`LOOK`] finds in these files.
fn looked(files: &[std::path::PathBuf]) -> String {
    let output = std::process::Command::new("python3").args(["-I", "-c", LOOK]).args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn shipped_executors_import_only_stdlib_and_never_eval_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors");
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().join("main.py"));
    let all: Vec<_> = all.filter(|file| file.is_file()).collect();
    assert!(all.len() >= 20, "{all:?}");
    assert_eq!(looked(&all), "");
    // Each of these is seen.
    let dir = tempfile::tempdir().unwrap();
    for (number, bad) in [
        "eval('1')",
        "exec('x = 1')",
        "compile('1', '', 'eval')",
        "__import__('os')",
        "import importlib\nimportlib.import_module('os')",
        "from importlib import import_module as take",
        "__builtins__['eval']",
        "import numpy",
        "from . import other",
        "from builtins import eval as look",
        "import subprocess",
        "import socket",
        "import ctypes",
        "import marshal",
        "getattr(str, '__sub' + 'classes__')",
        "getattr(str, '__globals__')",
        "().__class__.__base__.__subclasses__()",
        "run.__globals__['x']",
        "globals()['run']",
        "import sys\nsys._getframe()",
        "def run(args, ctx:",
        "x = '\\0'\n\0",
    ]
    .iter()
    .enumerate()
    {
        let file = dir.path().join(format!("{number}.py"));
        std::fs::write(&file, bad).unwrap();
        assert_ne!(looked(&[file]), "", "{bad}");
    }
    let long = dir.path().join("long.py");
    for (text, found) in [
        (format!("x = '{}'", "QUJD".repeat(400)), "something encoded"),
        (format!("x = {}1{}", "(".repeat(5_000), ")".repeat(5_000)), "not Python that can be read"),
    ] {
        std::fs::write(&long, text).unwrap();
        let said = looked(std::slice::from_ref(&long));
        assert!(said.contains(found), "{said}");
    }
}

#[test]
fn files_are_found_by_name_size_and_time_and_words_by_line() {
    let set = Instance::start();
    for (n, length) in [(1, 300), (2, 100), (3, 200), (4, 50)] {
        put(&set, &format!("box/{n}.md"), &"word \n".repeat(length));
    }
    put(&set, "box/deep/needle.md", "one\nthe needle\nthree\n");
    let longest = good(&set, "fs_find", &json!({"path": "box", "kind": "file", "sort": "longest", "limit": 3}));
    let paths: Vec<&str> =
        longest["entries"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["box/1.md", "box/3.md", "box/2.md"]);
    assert_eq!(
        (&longest["total"], &longest["truncated"], &longest["complete"]),
        (&json!(5), &json!(true), &json!(true))
    );
    assert_eq!(good(&set, "fs_find", &json!({"path": "box", "changed_within": "P1D"}))["total"], 6);
    assert_eq!(good(&set, "fs_find", &json!({"name": "needle"}))["entries"][0]["path"], "box/deep/needle.md");
    assert_eq!(good(&set, "fs_find", &json!({"path": "box", "kind": "file", "depth": 1}))["total"], 4);
    assert_eq!(good(&set, "fs_find", &json!({"path": "box", "name": "[!2-4].md"}))["entries"][0]["path"], "box/1.md");
    assert_eq!(good(&set, "fs_find", &json!({"path": "box", "changed_before": "2020-02-29"}))["total"], 0);
    put(&set, "box/case.md", "Milk\nmilkshake\n(x|y)*\n");
    for (pattern, more, lines) in [
        ("milk", json!({}), 2),
        ("Milk", json!({}), 1),
        ("milk", json!({"whole_word": true}), 1),
        ("(x|y)*", json!({}), 1),
        ("^m", json!({"regex": true}), 2),
        ("honey", json!({}), 0),
        ("milk", json!({"name": "*.txt"}), 0),
    ] {
        let mut arguments = more;
        arguments["pattern"] = json!(pattern);
        arguments["path"] = json!("box");
        let found = good(&set, "text_search", &arguments);
        assert_eq!(
            (&found["total"], &found["failed"], &found["complete"]),
            (&json!(lines), &json!(0), &json!(true)),
            "{arguments}"
        );
    }
    std::fs::remove_file(set.workspace("box/case.md")).unwrap();
    let found = good(&set, "text_search", &json!({"pattern": "needle", "path": "box", "context": 1}));
    assert_eq!(
        found["matches"],
        json!([{"path": "box/deep/needle.md", "line": 2, "column": 5, "text": "the needle", "before": ["one"], "after": ["three"]}])
    );
    assert_eq!((&found["searched"], &found["total"]), (&json!(5), &json!(1)));
    set.verify();
}

#[test]
fn values_are_found_in_json_rows_in_csv_and_zones_by_clock() {
    let set = Instance::start();
    let text = r#"{"items": [{"name": "a", "price": 5}, {"name": "b", "price": 50}]}"#;
    let found = good(&set, "json_query", &json!({"text": text, "query": "$.items[?@.price > 10].name"}));
    assert_eq!((&found["text"], &found["matches"][0]["at"]), (&json!("b\n"), &json!("/items/1/name")));
    let text = "name;price\na;1.000,50\nb;2,25\na;3\n";
    let sums = json!({"text": text, "group_by": ["name"], "aggregate": [{"op": "sum", "column": "price"}], "order_by": "name"});
    assert_eq!(good(&set, "csv_query", &sums)["rows"], json!([["a", 1003.5], ["b", 2.25]]));
    let told = good(&set, "clock_now", &json!({"zone": "Tokyo"}));
    assert_eq!((&told["zone"], &told["offset"]), (&json!("Asia/Tokyo"), &json!("+09:00")));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!(now.abs_diff(told["epoch"].as_u64().unwrap()) < 600, "{told:#}");
}

/// What the birth tests leave out because each start of an instance would pay for it.
#[test]
fn every_case_of_the_file_ends_as_it_says() {
    let set = Instance::start();
    let cases = include_str!("../data/seeds.jsonl");
    assert!(cases.lines().count() > 35);
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (executor, name, expect) = (case["executor"].as_str().unwrap(), &case["name"], &case["expect"]);
        if let Some(class) = expect["class"].as_str() {
            assert_eq!(bad(&set, executor, &case["args"]), class, "{executor}: {name}");
            continue;
        }
        let result = good(&set, executor, &case["args"]);
        for (pointer, value) in expect["values"].as_object().unwrap() {
            assert_eq!(result.pointer(pointer), Some(value), "{executor}: {name}: {pointer}");
        }
    }
}

#[test]
fn note_is_filed_under_its_time_and_undo_removes_a_new_notebook() {
    let set = Instance::start();
    let noted = good(&set, "note_add", &json!({"text": "call Anna", "heading": "today"}));
    assert_eq!((&noted["path"], &noted["made"]), (&json!("notes/notes.md"), &json!(true)));
    good(&set, "note_add", &json!({"text": "and Bob"}));
    let notes = std::fs::read_to_string(set.workspace("notes/notes.md")).unwrap();
    let lines: Vec<&str> = notes.lines().collect();
    assert!(lines[0].starts_with("## 20") && lines[0].ends_with(" UTC · today"), "{notes}");
    assert_eq!((lines[2], lines[3], lines[6]), ("call Anna", "", "and Bob"), "{notes}");
    for left in [true, false] {
        let (code, undone) = set.json(&["undo"]);
        assert_eq!((code, &undone["undone"]), (0, &json!(1)), "{undone:#}");
        assert_eq!(set.workspace("notes/notes.md").exists(), left, "{undone:#}");
    }
    set.verify();
}

/// What is made to take for ever, to break out or to confuse ends as an error that the contract names. More of each than would set an executor
/// aside if it counted as its own failure: it is the caller's.
#[test]
fn hostile_arguments_end_as_contract_errors_without_quarantine() {
    let set = Instance::start();
    put(&set, "box/a.txt", &format!("{}!\n", "a".repeat(64)));
    put(&set, "box/bytes", "\0");
    let slow = json!({"pattern": "(a+)+$", "regex": true, "path": "box"});
    let deep = "[".repeat(100_000);
    let wide = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let commas = ",".repeat(5_000);
    let calls = [
        ("text_search", slow.clone(), "TooSlow"),
        ("text_search", slow.clone(), "TooSlow"),
        ("text_search", slow, "TooSlow"),
        ("text_search", json!({"pattern": "(?P<n>a)(?P<n>b)", "regex": true}), "BadPattern"),
        ("text_search", json!({"pattern": "((((a{1,65535}){1,65535}){1,65535}", "regex": true}), "BadPattern"),
        ("text_search", json!({"pattern": "a{99999999999999999999}", "regex": true}), "BadPattern"),
        (
            "text_search",
            json!({"pattern": format!("{}{}", "(".repeat(500), ")".repeat(500)), "regex": true}),
            "BadPattern",
        ),
        ("text_search", json!({"pattern": "a", "path": "box/none"}), "NotFound"),
        ("text_search", json!({"pattern": "a", "path": "box/bytes"}), "NotText"),
        ("fs_find", json!({"path": "box/a.txt"}), "NotAFolder"),
        ("fs_find", json!({"name": "[", "path": "box"}), "BadPattern"),
        ("fs_find", json!({"changed_before": "9999-99-99"}), "BadTime"),
        ("json_query", json!({"text": deep, "query": "$"}), "TooDeep"),
        ("json_query", json!({"text": "[1]", "query": "$[?@.__class__()]"}), "BadQuery"),
        ("json_query", json!({"text": wide, "query": "$..*..*..*..*"}), "TooMuch"),
        ("json_query", json!({"text": wide, "query": "$..[0,1,2,3,4,5,6,7,8]..*..*"}), "TooMuch"),
        ("csv_query", json!({"text": commas}), "TooMuch"),
        ("csv_query", json!({"text": "a,b\n1,2\n", "order_by": "__import__('os')"}), "NoColumn"),
        ("clock_now", json!({"zone": "../../etc/localtime"}), "UnknownZone"),
        ("note_add", json!({"text": " \n"}), "BadText"),
        ("pdf_text", json!({"path": "box/a.txt"}), "NotAPdf"),
        ("ocr_text", json!({"path": "box/bytes"}), "NotAnImage"),
        ("doc_text", json!({"path": "box/bytes"}), "NotADocument"),
        ("table_read", json!({"path": "box/a.txt"}), "NotADocument"),
        ("table_convert", json!({"path": "box/bytes", "to": "box/a.csv"}), "NotATable"),
        ("table_convert", json!({"path": "box/a.txt", "to": "a.csv"}), "OtherFolder"),
        ("archive_unpack", json!({"path": "box/a.txt", "to": "box/a"}), "NotAnArchive"),
        ("archive_pack", json!({"path": "box/a.txt", "to": "box/a.txt"}), "BadPath"),
        ("image_info", json!({"path": "box/bytes"}), "NotAnImage"),
        ("fs_hash", json!({"path": "box"}), "NotAFile"),
        ("doc_find", json!({"words": "..."}), "BadPattern"),
    ];
    for (executor, arguments, class) in calls {
        let shown: String = arguments.to_string().chars().take(120).collect();
        assert_eq!(bad(&set, executor, &arguments), class, "{executor} {shown}");
    }
    let among_executors = json!({"text": "x", "path": "executors/fs_read/CURRENT"}).to_string();
    assert_ne!(set.json(&["run", "note_add", "--args", &among_executors]).0, 0);
    let (_, list) = set.json(&["executor", "list"]);
    assert!(list.as_array().unwrap().iter().all(|row| row["state"] == "active"), "{list:#}");
    set.verify();
}

#[test]
fn request_in_form_of_example_changes_files_and_others_change_none() {
    let set = Instance::start();
    put(&set, "notes/list.md", "bread\n");
    let list = || std::fs::read_to_string(set.workspace("notes/list.md")).unwrap();
    let _ = set.ask("append \"milk\" to notes/list.md");
    assert_eq!(list(), "bread\nmilk\n");
    let _ = set.ask("per favore aggiungi \"uova\" a notes/list.md");
    assert_eq!(list(), "bread\nmilk\nuova\n", "each on a line of its own");
    let _ = set.ask("note that the plumber comes on Monday");
    let notes = std::fs::read_to_string(set.workspace("notes/notes.md")).unwrap();
    assert!(notes.ends_with("\n\nthe plumber comes on Monday\n"), "{notes}");
    assert!(set.ask("find the two largest files in notes").contains("notes/"));
    assert!(set.ask("che ore sono a Tokyo?").contains("A Tokyo sono le"));
    for (words, told) in [
        ("don't delete notes/list.md", "nothing"),
        ("delete notes/list.md?", "nothing"),
        ("non cancellare il documento notes/list.md", "non ho fatto nulla"),
        ("delete notes/list.md tomorrow", "At a set time"),
        ("ogni mattina alle 8 cancella notes/list.md", "Ora non ho fatto nulla"),
    ] {
        let (output, lines) = set.recording(|| set.ctl(&["ask", words]));
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!output.status.success() && said.contains(told), "{words}: {said}");
        assert_eq!(count(&lines, "run_started"), 0, "{words}");
        let close = lines.iter().find(|line| line.kind() == "turn_close").unwrap();
        assert_eq!(close.payload("wish"), words, "what is not there yet is wished for");
    }
    assert_eq!(list(), "bread\nmilk\nuova\n");
    set.verify();
}
