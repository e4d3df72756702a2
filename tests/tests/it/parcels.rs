//! An executor goes from one real instance to another: never trusted, tried, shown, approved, signed again.

use std::path::Path;

use metnos_tests::instance::{Instance, Plan, is_root};
use metnos_tests::pool::put;
use serde_json::Value;

fn rule(said: &Value) -> &str {
    said["error"]["rule"].as_str().unwrap_or("")
}

fn state(set: &Instance, name: &str) -> Option<String> {
    let (_, list) = set.json(&["executor", "list"]);
    let row = list.as_array()?.iter().rev().find(|row| row["name"] == name)?;
    Some(row["state"].as_str()?.to_owned())
}

fn sign(set: &Instance) -> (Value, Value) {
    let (code, looked) = set.json(&["executor", "sign", "clock_then"]);
    assert_eq!(code, 4, "{looked:#}");
    assert_ne!(state(set, "clock_then").as_deref(), Some("active"));
    let (code, wrong) = set.json(&["executor", "sign", "clock_then", "--confirm", "blake3:00"]);
    assert_eq!((code, rule(&wrong)), (1, "sign.altered"), "{wrong:#}");
    let digest = looked["digest"].as_str().unwrap().to_owned();
    let ((code, done), lines) = set.recording(|| set.json(&["executor", "sign", "clock_then", "--confirm", &digest]));
    assert_eq!((code, &done["state"]), (0, &"active".into()), "{done:#}");
    assert!(lines.iter().any(|line| line.to_text().contains("executor_approved")), "{lines:#?}");
    (looked, done)
}

fn key(set: &Instance) -> String {
    set.json(&["status"]).1["policy"]["public_key"].as_str().unwrap().to_owned()
}

fn file(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

/// A folder that the owner of the instance may write, no matter who runs the tests.
fn open_folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::Builder::new().prefix("metnos-parcels-").tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    folder
}

#[test]
fn imported_executor_is_staged_and_resigned_and_tampered_one_refused() {
    let folder = open_folder();
    let home = Instance::start();
    put(&home, "1.0.0");
    assert_eq!(rule(&home.run("clock_then", &[]).1), "executor.staged");
    // What turns text into code is not even tried, and so not shown for a signature.
    let main = home.workspace("executors/clock_then/1.0.0/main.py");
    let good = std::fs::read_to_string(&main).unwrap();
    std::fs::write(&main, format!("{good}\n\ndef late():\n    return eval('1')\n")).unwrap();
    let (code, said) = home.json(&["executor", "sign", "clock_then"]);
    assert_eq!((code, rule(&said)), (1, "birth.scan"), "{said:#}");
    assert!(said["error"]["why"].as_str().unwrap().contains("uses eval"), "{said:#}");
    std::fs::write(&main, good).unwrap();
    let (looked, _) = sign(&home);
    assert!(looked["card"]["code"].as_str().unwrap().contains("def run"), "{looked:#}");
    assert_eq!(looked["card"]["origin"]["kind"], "own", "{looked:#}");
    assert_eq!(home.run("clock_then", &[]).0, 0);
    let parcel = file(folder.path(), "clock_then");
    let (code, exported) = home.json(&["executor", "export", "clock_then", &parcel]);
    assert_eq!((code, &exported["exporter"]), (0, &key(&home).into()), "{exported:#}");
    assert_eq!(home.json(&["executor", "export", "clock_then", &parcel]).0, 1, "no file is written over");

    // Each daemon with a user of its own, where that can be.
    let away = if is_root() { Plan::new().as_root().start() } else { Instance::start() };
    let right = std::fs::read_to_string(&parcel).unwrap();
    let bad = file(folder.path(), "bad");
    for (what, text, want) in [
        ("code", right.replacen("def run", "def rum", 1), "import.signature"),
        ("tests", right.replacen("cases", "casez", 1), "import.signature"),
        ("exporter", right.replace(&key(&home), &key(&away)), "import.signature"),
        ("name", right.replacen("\"name\":\"clock_then\"", "\"name\":\"../clock_then\"", 1), "import.form"),
        ("version", right.replacen("\"version\":\"1.0.0\"", "\"version\":\"2.0.0\"", 1), "import.form"),
        ("a path", right.replacen("\"main.py\"", "\"../../main.py\"", 1), "import.form"),
        ("a signature", right.replacen("\"main.py\"", "\"manifest.sig\":\"\",\"main.py\"", 1), "import.form"),
        ("twice", right.replacen("\"main.py\"", "\"main.py\":\"\",\"main.py\"", 1), "import.form"),
        ("half", right[..right.len() / 2].to_owned(), "import.form"),
    ] {
        assert_ne!(text, right, "{what}");
        std::fs::write(&bad, text).unwrap();
        let (code, said) = away.json(&["executor", "import", &bad]);
        assert_eq!((code, rule(&said)), (1, want), "{what}: {said:#}");
        assert!(!away.workspace("executors/clock_then").exists(), "{what}");
    }
    // An executor of this release comes with the release.
    let seed = file(folder.path(), "fs_read");
    assert_eq!(home.json(&["executor", "export", "fs_read", &seed]).0, 0);
    assert_eq!(rule(&away.json(&["executor", "import", &seed]).1), "birth.seed");

    let ((code, came), lines) = away.recording(|| away.json(&["executor", "import", &parcel]));
    assert_eq!((code, &came["state"]), (0, &"staged".into()), "{came:#}");
    assert_eq!(came["origin"]["exporter"], Value::from(key(&home)));
    assert!(lines.iter().any(|line| line.to_text().contains("executor_imported")), "{lines:#?}");
    assert_eq!(rule(&away.run("clock_then", &[]).1), "executor.staged");
    assert_eq!(rule(&away.json(&["executor", "import", &parcel]).1), "stage.taken");
    assert_eq!(away.json(&["daemon", "restart", "policyd"]).0, 0);
    let (looked, _) = sign(&away);
    let card = &looked["card"];
    assert_eq!((&card["origin"]["kind"], &card["origin"]["exporter"]), (&"imported".into(), &key(&home).into()));
    assert!(card["cases"].as_array().unwrap().iter().all(|case| case["passed"] == true), "it is pure: {card:#}");
    assert_eq!(away.run("clock_then", &[]).0, 0);
    let signature = |set: &Instance| set.json(&["executor", "show", "clock_then"]).1["signature"].clone();
    assert_ne!(signature(&home), signature(&away), "signed by its own key");
    assert_eq!(away.json(&["executor", "verify", "clock_then"]).0, 0);
    assert_eq!(rule(&away.json(&["executor", "import", &parcel]).1), "birth.version");
    // What it came through goes on with it.
    let again = file(folder.path(), "again");
    assert_eq!(away.json(&["executor", "export", "clock_then", &again]).0, 0);
    let again: Value = serde_json::from_slice(&std::fs::read(&again).unwrap()).unwrap();
    assert_eq!(again["provenance"]["came_through"], serde_json::json!([key(&home)]), "{again:#}");

    // Revoked here, the same code does not come back as another version.
    let words = ["executor", "revoke", "clock_then", "--reason", "it is late"];
    let (_, looked) = away.json(&words);
    assert_eq!(away.json(&[&words[..], &["--confirm", looked["digest"].as_str().unwrap()]].concat()).0, 0);
    put(&home, "2.0.0");
    sign(&home);
    let newer = file(folder.path(), "newer");
    assert_eq!(home.json(&["executor", "export", "clock_then", &newer]).0, 0);
    assert_eq!(rule(&away.json(&["executor", "import", &newer]).1), "birth.revoked");
    assert_eq!(rule(&away.run("clock_then", &[]).1), "executor.revoked");
    home.verify();
    away.verify();
}

/// What `executor new` writes is signed as it stands, runs, and tells its result in words.
#[test]
fn new_executor_works_as_it_is_written_and_overwrites_nothing() {
    let set = Instance::start();
    set.is_grown();
    let (code, written) = set.json(&["executor", "new", "word_tally"]);
    assert_eq!((code, written["version"].as_str()), (0, Some("1.0.0")), "{written:#}");
    for (name, why) in [("word_tally", "exists"), ("fs_read", "this release"), ("Word", "no name"), ("../x", "no name")]
    {
        let (code, said) = set.json(&["executor", "new", name]);
        assert!(code == 1 && said.to_string().contains(why), "{name}: {said:#}");
    }
    assert_ne!(set.run("word_tally", &["text=a b"]).0, 0, "nobody has signed it");
    let (code, looked) = set.json(&["executor", "sign", "word_tally"]);
    assert_eq!(code, 4, "{looked:#}");
    let cases = looked["card"]["cases"].as_array().unwrap();
    assert!(cases.len() == 3 && cases.iter().all(|case| case["passed"] == true), "{cases:#?}");
    let digest = looked["digest"].as_str().unwrap();
    let (code, signed) = set.json(&["executor", "sign", "word_tally", "--confirm", digest]);
    assert_eq!((code, signed["state"].as_str()), (0, Some("active")), "{signed:#}");
    let (code, ran) = set.run("word_tally", &["text=three plain words"]);
    assert_eq!((code, ran["result"]["words"].as_u64()), (0, Some(3)), "{ran:#}");
    let (_, refused) = set.run("word_tally", &["text=  "]);
    assert!(refused.to_string().contains("BadText"), "{refused:#}");
    set.verify();
}
