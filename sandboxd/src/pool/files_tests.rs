//! Tests of `files`: the pool's files are put in their places whole, and found again as they were.
#![allow(clippy::unwrap_used)]
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::*;

fn pool() -> (tempfile::TempDir, Folder, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let version = root.path().join("a/1.0.0");
    fs::create_dir_all(version.join("tests")).unwrap();
    let folder = Folder::open(root.path()).unwrap();
    (root, folder, version)
}

fn id(name: &str, version: &str) -> ExecutorId {
    ExecutorId { name: name.into(), version: version.into() }
}

#[test]
fn pool_lists_only_named_versioned_folders_in_version_order() {
    let (root, folder, _) = pool();
    for path in ["b/10.0.0", "b/9.0.0", "b/draft", "B/1.0.0", "c", "a.b/1.0.0"] {
        fs::create_dir_all(root.path().join(path)).unwrap();
    }
    fs::write(root.path().join("readme"), "x").unwrap();
    symlink(root.path().join("b"), root.path().join("d")).unwrap();
    assert_eq!(folder.ids().unwrap(), [id("a", "1.0.0"), id("b", "9.0.0"), id("b", "10.0.0")]);
    assert_eq!(folder.versions("none").unwrap(), []);
}

#[test]
fn a_pool_holds_as_many_executors_as_a_listing_and_not_one_more() {
    let (root, folder, _) = pool();
    for number in 1..MAX_EXECUTORS {
        fs::create_dir_all(root.path().join(format!("a/{number}.0.1"))).unwrap();
    }
    assert_eq!(folder.ids().unwrap().len(), MAX_EXECUTORS);
    fs::create_dir_all(root.path().join("z/1.0.0")).unwrap();
    assert!(matches!(folder.ids(), Err(FileError::TooMany { .. })));
}

#[test]
fn a_folder_with_more_entries_than_are_looked_at_is_an_error() {
    let (root, folder, _) = pool();
    for number in 0..MAX_ENTRIES - 1 {
        fs::write(root.path().join(format!("a/{number}")), "").unwrap();
    }
    assert_eq!(folder.versions("a").unwrap().len(), 1);
    fs::write(root.path().join("a/more"), "").unwrap();
    assert!(matches!(folder.versions("a"), Err(FileError::TooMany { .. })));
}

#[test]
fn a_file_is_read_whole_up_to_its_limit_and_not_a_byte_more() {
    let (_root, folder, path) = pool();
    let version = folder.version(&id("a", "1.0.0")).unwrap();
    let limit = File::Manifest.limit();
    fs::write(path.join("manifest.toml"), vec![b'x'; limit]).unwrap();
    assert_eq!(version.read(File::Manifest).unwrap().len(), limit);
    fs::write(path.join("manifest.toml"), vec![b'x'; limit + 1]).unwrap();
    assert!(matches!(version.read(File::Manifest), Err(FileError::TooLong { .. })));
    fs::write(path.join("tests/birth.py"), "").unwrap();
    assert_eq!(version.read(File::Birth).unwrap(), b"");
}

#[test]
fn links_pipes_and_folders_in_the_place_of_a_file_are_not_read() {
    let (root, folder, path) = pool();
    let version = folder.version(&id("a", "1.0.0")).unwrap();
    let code = path.join("main.py");
    assert_eq!(version.read(File::Code), Err(FileError::Missing("main.py".into())));
    fs::write(root.path().join("real"), "x").unwrap();
    symlink(root.path().join("real"), &code).unwrap();
    assert!(matches!(version.read(File::Code), Err(FileError::NotPlain(_))));
    fs::remove_file(&code).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &code, Mode::from_raw_mode(0o600)).unwrap();
    assert!(matches!(version.read(File::Code), Err(FileError::NotPlain(_))));
    fs::remove_file(&code).unwrap();
    fs::create_dir(&code).unwrap();
    assert!(matches!(version.read(File::Code), Err(FileError::NotPlain(_))));
    // A link on the way.
    fs::remove_dir(path.join("tests")).unwrap();
    fs::create_dir(root.path().join("elsewhere")).unwrap();
    fs::write(root.path().join("elsewhere/birth.py"), "x").unwrap();
    symlink(root.path().join("elsewhere"), path.join("tests")).unwrap();
    assert!(matches!(version.read(File::Birth), Err(FileError::NotPlain(_))));
}

#[test]
fn an_id_that_is_no_name_and_version_opens_nothing() {
    let (_root, folder, _) = pool();
    for (name, version) in [("..", "1.0.0"), ("a", ".."), ("a/../a", "1.0.0"), ("", "1.0.0"), ("a", "1.0.0/.")] {
        assert!(folder.version(&id(name, version)).is_err(), "{name} {version}");
    }
}

#[test]
fn file_is_replaced_atomically_over_leftovers_of_interrupted_write() {
    let (root, folder, path) = pool();
    let version = folder.version(&id("a", "1.0.0")).unwrap();
    fs::write(path.join(".profile.lock.new"), "half").unwrap();
    version.put(File::Lock, b"one").unwrap();
    version.put(File::Lock, b"two").unwrap();
    assert_eq!(version.read(File::Lock).unwrap(), b"two");
    assert!(!path.join(".profile.lock.new").exists());
    folder.set_current(&id("a", "1.0.0")).unwrap();
    assert_eq!(folder.current("a").unwrap(), "1.0.0");
    fs::write(root.path().join("a/CURRENT"), "../b\n").unwrap();
    assert_eq!(folder.current("a"), None);
}
