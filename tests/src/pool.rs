//! An executor that no release has, put into the pool of an instance as its owner would.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::instance::Instance;
use crate::until;

const FILES: [&str; 4] = ["manifest.toml", "main.py", "schema.json", "tests/birth.py"];

/// The clock of the release as this version of `clock_then`, until sandboxd has seen it.
///
/// # Panics
/// When it cannot be put there, or is not seen.
pub fn put(set: &Instance, version: &str) {
    let folder = set.workspace("executors/clock_then").join(version);
    std::fs::create_dir_all(folder.join("tests")).expect("a folder in the pool");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors/clock_now");
    let read = |file: &str| std::fs::read_to_string(from.join(file)).expect("an executor of the release");
    let manifest: toml::Value = toml::from_str(&read("manifest.toml")).expect("a manifest");
    let released = format!("{:?}", manifest["executor"]["version"].as_str().expect("a version"));
    for file in FILES {
        let text = read(file).replace("clock_now", "clock_then").replace(&released, &format!("{version:?}"));
        std::fs::write(folder.join(file), text).expect("a file in the pool");
    }
    let base = set.workspace("executors/clock_then");
    let mut paths: Vec<PathBuf> = FILES.iter().map(|file| folder.join(file)).collect();
    paths.extend([base, folder.join("tests"), folder]);
    for path in paths {
        std::os::unix::fs::chown(path, Some(set.owner()), Some(set.owner())).expect("the owner's own file");
    }
    assert_eq!(set.json(&["daemon", "restart", "sandboxd"]).0, 0);
    until("the executor in the pool", Duration::from_secs(60), || {
        let (_, list) = set.json(&["executor", "list"]);
        let found = list.as_array()?.iter().any(|row| row["name"] == "clock_then" && row["version"] == version);
        found.then_some(())
    });
}
