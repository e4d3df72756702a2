//! An instance in which every executor of the release is born, made once for each build and owner, and copied by the tests
//! that only need such an instance: births take some ten seconds of two processors, a copy takes milliseconds.
//!
//! A test of the first start itself makes its own: [`crate::instance::Plan::first_start`].

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bins::{self, Build};
use crate::instance::Plan;

/// Puts the files of the template for `build` into `home`, which holds a configuration and nothing else.
///
/// # Panics
/// When the template can be neither made nor copied.
pub fn copy_into(home: &Path, build: Build) {
    let template = ready(build);
    // The configuration is the test's own.
    let own = fs::read(home.join("metnos.toml")).expect("the configuration was written");
    let copied = Command::new("cp").arg("-a").arg("--").arg(template.join(".")).arg(home).status().expect("cp");
    assert!(copied.success(), "{} cannot be copied to {}", template.display(), home.display());
    fs::write(home.join("metnos.toml"), own).expect("our own directory");
}

/// The template's directory. Anyone who comes first makes it, and the others wait.
fn ready(build: Build) -> PathBuf {
    let place = build.folder().parent().expect("a target directory").join("instances").join(key(build));
    fs::create_dir_all(&place).expect("the target directory can be written");
    let lock = File::create(place.join("lock")).expect("our own directory");
    lock.lock().expect("a lock of our own file");
    let instance = place.join("instance");
    if !place.join("made").is_file() {
        let _ = fs::remove_dir_all(&instance);
        make(build, &instance);
        File::create(place.join("made")).expect("our own directory");
    }
    instance
}

fn make(build: Build, to: &Path) {
    let plan = match build {
        Build::Shipped => Plan::new(),
        Build::Attack => Plan::new().attack(),
    };
    let mut set = plan.first_start().start();
    set.is_grown();
    set.down();
    let copied = Command::new("cp").arg("-a").arg("--").arg(set.home()).arg(to).status().expect("cp");
    assert!(copied.success(), "{} cannot be kept at {}", set.home().display(), to.display());
}

/// Tells a build from every other: the programs, as files, and who owns an instance.
fn key(build: Build) -> String {
    let mut hasher = DefaultHasher::new();
    rustix::process::getuid().as_raw().hash(&mut hasher);
    for name in bins::NAMES {
        let program = fs::metadata(build.binary(name)).expect("a program has metadata");
        (name, program.ino(), program.len(), program.mtime(), program.mtime_nsec()).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}
