//! Walks of the executors that ship, through the whole running set: trees deeper than any path is long, files that are named like
//! secrets, and what killed calls have left. And the parts of their file library that a set cannot show.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use metnos_proto::executor::secret_names::{is_secret_content, is_secret_name};
use metnos_tests::instance::{Instance, Plan, UNHURRIED};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use serde_json::{Value, json};

fn put(set: &Instance, path: &str, text: &str) {
    let file = set.workspace(path);
    let folder = file.parent().unwrap();
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(&file, text).unwrap();
    for own in [folder, file.as_path()] {
        chown(own, Some(set.owner()), Some(set.owner())).unwrap();
    }
}

fn run(set: &Instance, executor: &str, arguments: &Value) -> (i32, Value) {
    set.json(&["run", executor, "--args", &arguments.to_string()])
}

fn good(set: &Instance, executor: &str, arguments: &Value) -> Value {
    let (code, answer) = run(set, executor, arguments);
    assert!(code == 0 && answer["result"]["ok"] == true, "{executor} {arguments}: {answer:#}");
    answer["result"].clone()
}

/// Makes `levels` folders inside each other, and a file in the last.
fn deep(set: &Instance, top: &str, levels: usize, name: &str) {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    std::fs::create_dir(set.workspace(top)).unwrap();
    chown(set.workspace(top), Some(set.owner()), Some(set.owner())).unwrap();
    let mut here = rustix::fs::open(set.workspace(top), flags, Mode::empty()).unwrap();
    let owner = (Some(Uid::from_raw(set.owner())), Some(Gid::from_raw(set.owner())));
    for _ in 0..levels {
        rustix::fs::mkdirat(&here, name, Mode::RWXU).unwrap();
        rustix::fs::chownat(&here, name, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        here = rustix::fs::openat(&here, name, flags, Mode::empty()).unwrap();
    }
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&here, "end.txt", flags, Mode::RUSR | Mode::WUSR).unwrap();
    rustix::io::write(&file, b"needle").unwrap();
    rustix::fs::fchown(&file, owner.0, owner.1).unwrap();
}

#[test]
fn tree_deeper_than_path_max_is_walked_deleted_and_restored() {
    let set = Plan::new().config(UNHURRIED).start();
    // Both are deeper than the descriptors of a call.
    for (top, levels, name) in [("low", 80, "d"), ("lower", 1600, "d")] {
        deep(&set, top, levels, name);
        let counted = good(&set, "fs_count", &json!({"path": top, "all": true}));
        assert_eq!((&counted["files"], &counted["folders"]), (&json!(1), &json!(levels + 1)), "{counted}");
        for (executor, arguments) in [
            ("fs_find", json!({"path": top, "name": "end.txt"})),
            ("text_search", json!({"path": top, "pattern": "needle"})),
        ] {
            let found = good(&set, executor, &arguments);
            assert_eq!(found["complete"], false, "{found}");
            let stopped = found["stopped"].as_str().unwrap();
            assert!(stopped.starts_with(top) && stopped.ends_with("it is too deep"), "{stopped}");
        }
        assert_eq!(good(&set, "fs_list", &json!({"path": top}))["total"], 1);
        good(&set, "fs_move", &json!({"path": top, "to": "moved"}));
        // Of a folder that goes the owner is asked, with the true count.
        let (code, asked) = run(&set, "fs_delete", &json!({"path": "moved", "folder": true}));
        assert_eq!((code, asked["error"]["rule"].as_str()), (4, Some("approval.waiting")), "{asked:#}");
        let (_, cards) = set.json(&["approval", "list"]);
        let card = cards.as_array().unwrap().iter().find(|card| card["state"] == "waiting").unwrap();
        assert_eq!(card["acts"][0]["count"]["folders"], json!(levels + 1), "{card:#}");
        let (code, done) = set.json(&["approval", "approve", card["id"].as_str().unwrap()]);
        assert_eq!((code, &done["result"]["folders"]), (0, &json!(levels + 1)), "{done:#}");
        assert!(!set.workspace("moved").exists());
        let (code, undone) = set.json(&["undo"]);
        assert_eq!((code, &undone["undone"]), (0, &json!(1)), "{undone:#}");
        assert!(set.workspace("moved").exists());
        std::fs::rename(set.workspace("moved"), set.workspace(&format!("kept-{top}"))).unwrap();
    }
    let (_, list) = set.json(&["executor", "list"]);
    assert!(list.as_array().unwrap().iter().all(|row| row["state"] == "active"), "{list:#}");
    // A backup goes on without what no path can name, and says so.
    let to = set.home().parent().unwrap().join("backup");
    let (code, done) = set.json(&["backup", to.to_str().unwrap()]);
    assert_eq!(code, 0, "{done:#}");
    let skipped: Vec<&str> = done["skipped"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert!(skipped.len() == 1 && skipped[0].contains("its path is too long"), "{skipped:?}");
    assert!(to.join("files/workspace/kept-low/d/d").is_dir());
    assert!(Command::new("rm").arg("-rf").arg(set.workspace("kept-lower")).status().unwrap().success());
    set.verify();
}

#[test]
fn walks_leave_out_what_is_named_like_a_secret_and_say_how_much() {
    let set = Plan::new().config(UNHURRIED).start();
    for (path, text) in [
        ("box/.env", "TOKEN=1"),
        ("box/id_rsa", "TOKEN=2"),
        ("box/secrets/a.md", "TOKEN=3"),
        ("box/plain.md", "TOKEN=4"),
    ] {
        put(&set, path, text);
    }
    let found = good(&set, "fs_find", &json!({"path": "box", "hidden": true}));
    assert_eq!((&found["total"], &found["omitted"]), (&json!(1), &json!(3)), "{found}");
    let found = good(&set, "text_search", &json!({"path": "box", "pattern": "TOKEN", "hidden": true}));
    assert_eq!((&found["total"], &found["omitted"]), (&json!(1), &json!(3)), "{found}");
    let listed = good(&set, "fs_list", &json!({"path": "box", "hidden": true}));
    assert_eq!((&listed["total"], &listed["omitted"]), (&json!(1), &json!(3)), "{listed}");
    assert!(!listed.to_string().contains("id_rsa"));
    // A count is about what an act on the folder touches; what a folder of secrets holds is covered, and that is said.
    let counted = good(&set, "fs_count", &json!({"path": "box", "all": true}));
    assert_eq!((&counted["files"], &counted["folders"], &counted["covered"]), (&json!(3), &json!(2), &json!(1)));
    // What a person means by the files of a folder is what a list shows of it.
    let counted = good(&set, "fs_count", &json!({"path": "box"}));
    assert_eq!((&counted["files"], &counted["omitted"]), (&json!(1), &json!(2)), "{counted}");
    put(&set, "notes/plain.md", "x");
    assert_eq!(good(&set, "fs_find", &json!({"path": "notes"})).get("omitted"), None, "nothing is said of nothing");
    set.verify();
}

#[test]
fn a_card_says_of_which_folders_the_contents_are_not_counted() {
    let set = Plan::new().config(UNHURRIED).start();
    put(&set, "box/plain.md", "a");
    put(&set, "box/open/plain.md", "b");
    for number in 0..20 {
        put(&set, &format!("box/secrets/{number}.md"), "TOKEN=3");
    }
    // Sixteen names of 250 bytes lie deeper than is looked through.
    deep(&set, "box/far", 16, &"n".repeat(250));
    let (code, asked) = run(&set, "fs_delete", &json!({"path": "box", "folder": true}));
    assert_eq!((code, asked["error"]["rule"].as_str()), (4, Some("approval.waiting")), "{asked:#}");
    let why = asked["error"]["why"].as_str().unwrap_or_default();
    assert!(why.contains("it would touch at least 2 files"), "{asked:#}");
    let (_, cards) = set.json(&["approval", "list"]);
    let card = cards.as_array().unwrap().iter().find(|card| card["state"] == "waiting").unwrap();
    let count = &card["acts"][0]["count"];
    assert_eq!((&count["files"], &count["covered"]), (&json!(2), &json!(2)), "{card:#}");
    let id = card["id"].as_str().unwrap();
    let shown = String::from_utf8(set.ctl(&["approval", "show", id]).stdout).unwrap();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("at least 2 files in"), "{shown}");
    assert!(shown.contains("what is in 2 folders that I may not look into is not counted"), "{shown}");
    // What went says the same of itself; a secret that is named is counted like any folder.
    let (code, done) = set.json(&["approval", "approve", id]);
    assert_eq!((code, &done["result"]["files"], &done["result"]["covered"]), (0, &json!(2), &json!(2)), "{done:#}");
    assert_eq!(set.json(&["undo"]).0, 0);
    let counted = good(&set, "fs_count", &json!({"path": "box/secrets", "all": true}));
    assert_eq!((&counted["files"], &counted["covered"]), (&json!(20), &json!(0)), "{counted}");
    set.verify();
}

#[test]
fn drafts_of_killed_calls_are_hidden_and_removed_at_the_next_write() {
    let set = Plan::new().config(UNHURRIED).start();
    let name = |digit: &str| format!("box/.metnos-{}.draft", digit.repeat(32));
    let others = ["box/.metnos-xyz.draft", "box/old.draft", "box/.metnos-.draft"];
    for path in [name("a"), name("b")].iter().map(String::as_str).chain(others) {
        put(&set, path, "half of a file");
    }
    for path in [name("a")].iter().map(String::as_str).chain(others) {
        let file = std::fs::File::options().write(true).open(set.workspace(path)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    }
    assert_eq!(good(&set, "fs_list", &json!({"path": "box", "hidden": true}))["total"], 3);
    assert_eq!(good(&set, "fs_list", &json!({"path": "box"}))["total"], 1);
    assert_eq!(good(&set, "fs_find", &json!({"path": "box", "hidden": true}))["total"], 3);
    assert_eq!(good(&set, "text_search", &json!({"path": "box", "pattern": "half", "hidden": true}))["total"], 3);
    let (code, refused) = run(&set, "fs_write", &json!({"path": name("c"), "content": "x"}));
    assert!(code == 1 && refused["ok"] == false, "no file is given such a name: {refused:#}");
    good(&set, "fs_write", &json!({"path": "box/new.md", "content": "x"}));
    assert!(!set.workspace(&name("a")).exists(), "the draft of a call that cannot live any more");
    assert!(set.workspace(&name("b")).exists(), "it may be another call's that runs");
    assert!(others.iter().all(|path| set.workspace(path).exists()), "what is not named exactly so is the owner's");
    let mode = std::fs::metadata(set.workspace("box/new.md")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7022, 0, "{mode:o}");
    set.verify();
}

/// Runs Python with the file library of the executors as a module, and gives what it prints.
fn python(code: &str, input: &str) -> String {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors/host/files.py");
    let code = format!(
        "import os, sys, json\nfiles = type(sys)('metnos_files')\nwith open({:?}) as text:\n    exec(text.read(), files.__dict__)\n{code}",
        host.display().to_string()
    );
    let mut child =
        Command::new("python3").args(["-I", "-c", &code]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{code}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_executors_know_the_same_names_of_secrets_as_the_daemons() {
    let words = [
        ".env",
        ".envrc",
        ".npmrc",
        ".pypirc",
        ".htpasswd",
        "wallet.dat",
        "login data",
        "key4.db",
        "logins.json",
        "passwd",
        "shadow",
        "gshadow",
        ".dockercfg",
        ".boto",
        ".s3cfg",
        ".smbcredentials",
        ".credentials",
        "secrets",
        "secret",
        "credentials",
        "credential",
        "cookies",
        "passwords",
        "password",
        "htpasswd",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        "id_ecdsa_sk",
        "id_ed25519_sk",
        "id_xmss",
        ".pem",
        ".key",
        ".kdbx",
        ".kdb",
        ".p12",
        ".pfx",
        ".jks",
        ".keystore",
        ".ppk",
        ".age",
        ".ovpn",
        ".keytab",
        ".agekey",
        ".tfstate",
        "notes",
        "shopping.md",
        "keyboard",
        "monkey",
        "secretary",
        "passport",
        "",
        "a",
    ];
    let before = ["", ".", "..", "x", "prod", "\u{200b}", "\u{ad}.", "\u{ff57}", "é"];
    let after = [
        "", ".", " ", ". .", "~", ".bak", ".old", ".orig", ".save", ".swp", ".tmp", ".copy", ".bak~", ".pub", ".yaml",
        "-1", "_x", "1", "x", "é", "²", "一", ".md", ".local", "\u{feff}", "s", "ς", "İ",
    ];
    let mut names = Vec::new();
    for word in words {
        for (one, other) in before.iter().flat_map(|one| after.iter().map(move |other| (one, other))) {
            let name = format!("{one}{word}{other}");
            names.extend([name.to_uppercase(), name.replace(' ', "\u{a0}"), name]);
        }
    }
    let told = python(
        "print(json.dumps([files.is_secret_name(name) for name in json.load(sys.stdin)]))",
        &serde_json::to_string(&names).unwrap(),
    );
    let told: Vec<bool> = serde_json::from_str(&told).unwrap();
    let differ: Vec<&String> =
        names.iter().zip(&told).filter(|(name, told)| is_secret_name(name) != **told).map(|(name, _)| name).collect();
    assert!(names.len() > 10_000 && told.iter().any(|told| *told) && differ.is_empty(), "{differ:?}");
}

#[test]
fn secret_contents_are_the_same_ones_in_python_and_in_rust() {
    let heads = [
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3",
        " \r\n-----BEGIN RSA PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----",
        "# created: 2026\nAGE-SECRET-KEY-1X",
        "# created: by me",
        "PuTTY-User-Key-File-3",
        "AGE-SECRET-KEY-1",
        "bread",
        "",
        "a -----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
    ];
    let told = python(
        "print(json.dumps([files.is_secret_content(head.encode()) for head in json.load(sys.stdin)]))",
        &serde_json::to_string(&heads).unwrap(),
    );
    let told: Vec<bool> = serde_json::from_str(&told).unwrap();
    let ours: Vec<bool> = heads.iter().map(|head| is_secret_content(head.as_bytes())).collect();
    assert_eq!((&told, ours.iter().filter(|secret| **secret).count()), (&ours, 7));
}

#[test]
fn a_file_that_gets_a_second_name_while_it_is_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "private").unwrap();
    let told = python(
        r"
os.chdir(sys.stdin.read())
def read(at):
    file = os.open('a', files.FILE)
    real = os.read
    def meanwhile(*args):
        if at == 'during':
            os.link('a', 'b')
        return real(*args)
    if at == 'before':
        os.link('a', 'b')
    os.read = meanwhile
    try:
        return files.read_whole(file, 'a', 100).decode()
    except files.Refused as error:
        return error.error_class
    finally:
        os.read = real
        if os.path.exists('b'):
            os.unlink('b')
print(read('never'), read('before'))
# The last read finds the end; only the first makes the link.
os.link = (lambda link: lambda *args: None if os.path.exists('b') else link(*args))(os.link)
print(read('during'))
",
        folder.path().to_str().unwrap(),
    );
    assert_eq!(told, "private PermissionDenied\nPermissionDenied\n");
}
