//! What is found in real folders, and found again.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::*;

fn put(root: &Path, path: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "x").unwrap();
}

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn found_with(hidden: &HiddenFiles, root: &Path, named: &[&str]) -> Result<Vec<String>, String> {
    let covers = covers_of(hidden, root, named, false)?;
    Ok(covers.into_iter().map(|(path, how)| (how == CoverKind::Nothing).then_some(path).unwrap()).collect())
}

fn covers_of(
    hidden: &HiddenFiles,
    root: &Path,
    named: &[&str],
    trash: bool,
) -> Result<Vec<(String, CoverKind)>, String> {
    let named: Vec<String> = named.iter().map(|path| format!("/workspace/{path}")).collect();
    let mut covers = Vec::new();
    block(hidden.find_covers((root.to_str().unwrap(), "/workspace"), (&named, "anna"), (trash, true), &mut covers))?;
    covers.sort();
    covers.dedup();
    let text = |path: OsString| path.to_string_lossy().trim_start_matches("/workspace/").to_owned();
    Ok(covers.into_iter().map(|cover| (text(cover.path), cover.how)).collect())
}

#[test]
fn the_trash_is_for_reading_where_no_act_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in [".trash/k1.json", "a/.trash-k1-notes.md", "a/.trash-k2-.env", "a/trash.md"] {
        put(root, path);
    }
    let covers = |named: &[&str]| covers_of(&HiddenFiles::default(), root, named, true).unwrap();
    let of =
        |covers: &[(&str, CoverKind)]| covers.iter().map(|(path, how)| ((*path).to_owned(), *how)).collect::<Vec<_>>();
    let (trash, note) = ((".trash", CoverKind::ReadOnly), ("a/.trash-k1-notes.md", CoverKind::ReadOnly));
    let secret = [("a/.trash-k2-.env", CoverKind::ReadOnly), ("a/.trash-k2-.env", CoverKind::Nothing)];
    assert_eq!(covers(&[]), of(&[trash, note, secret[0], secret[1]]));
    assert_eq!(covers(&["a/notes.md"]), of(&[trash, secret[0], secret[1]]));
    assert_eq!(found(root, &[]), ["a/.trash-k2-.env"]);
}

#[test]
fn files_with_the_first_bytes_of_a_secret_are_found_also_when_they_change() {
    let folder = tempfile::tempdir().unwrap();
    let (root, hidden) = (folder.path(), HiddenFiles::default());
    let key = "\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl";
    put(root, "notes/plain.md");
    put(root, "notes/scan.txt");
    std::fs::write(root.join("notes/scan.txt"), key).unwrap();
    for _ in 0..2 {
        assert_eq!(found_with(&hidden, root, &[]).unwrap(), ["notes/scan.txt"]);
    }
    assert!(found_with(&hidden, root, &["notes/scan.txt"]).unwrap().is_empty(), "the call names it");
    // Written in place: its folder has not changed.
    std::fs::write(root.join("notes/plain.md"), key).unwrap();
    assert_eq!(found_with(&hidden, root, &[]).unwrap(), ["notes/plain.md", "notes/scan.txt"]);
    let mut covers = Vec::new();
    block(hidden.find_covers((root.to_str().unwrap(), "/workspace"), (&[], ""), (false, false), &mut covers)).unwrap();
    assert!(covers.is_empty(), "only where listed programs run");
}

fn found(root: &Path, named: &[&str]) -> Vec<String> {
    found_with(&HiddenFiles::default(), root, named).unwrap()
}

#[test]
fn secrets_and_closed_places_are_found_at_any_depth_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in [
        ".env",
        "notes/a.md",
        "a/b/c/.SSH/id",
        "a/id_rsa",
        "a/id_rsa.pub",
        "x/.config/metnos/key",
        "x/.config/other/key",
        "opt/a",
        "boot/a",
        "etc/a",
        "metnos/a",
        "secrets/one",
        ".trash-k1-id_rsa",
        "b/.trash-k1-notes.md",
        "deep/tls.KEY",
    ] {
        put(root, path);
    }
    symlink("/etc/passwd", root.join("passwd")).unwrap();
    let wanted =
        [".env", ".trash-k1-id_rsa", "a/b/c/.SSH", "a/id_rsa", "deep/tls.KEY", "passwd", "secrets", "x/.config/metnos"];
    assert_eq!(found(root, &[]), wanted);
    // A name that is no text.
    std::fs::write(root.join(OsStr::from_bytes(b"\xff.env")), "x").unwrap();
    assert_eq!(found(root, &[]).len(), wanted.len() + 1);
}

#[test]
fn a_call_sees_the_secret_that_it_names_and_no_closed_place() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in ["a/.env", "b/.env", ".ssh/id", "secrets/one", "secrets/two", "secrets/in/three", "c/.trash-k1-.env"] {
        put(root, path);
    }
    assert_eq!(found(root, &["a/.env"]), [".ssh", "b/.env", "c/.trash-k1-.env", "secrets"]);
    assert_eq!(found(root, &[".ssh/id", ".ssh"]), found(root, &[]));
    // Of a folder that is a secret, what is named.
    let others = [".ssh", "a/.env", "b/.env", "c/.trash-k1-.env"];
    let with = |more: &[&'static str]| [others.as_slice(), more].concat();
    assert_eq!(found(root, &["secrets/one"]), with(&["secrets/in", "secrets/two"]));
    assert_eq!(found(root, &["secrets/in/three"]), with(&["secrets/one", "secrets/two"]));
    assert_eq!(found(root, &["secrets"]), others);
    assert_eq!(found(root, &["secret", "env", "a", ""]), with(&["secrets"]), "only the very file");
    // What is taken back is named by the place that it had.
    assert_eq!(found(root, &["c/.env"]), [".ssh", "a/.env", "b/.env", "secrets"]);
}

#[test]
fn change_in_a_cached_folder_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    put(root, "a/b/c/notes.md");
    let hidden = HiddenFiles::default();
    assert!(found_with(&hidden, root, &[]).unwrap().is_empty());
    // As if nothing had changed for long.
    for folder in hidden.trees.borrow_mut().values_mut().flat_map(HashMap::values_mut) {
        folder.settled = true;
    }
    assert!(found_with(&hidden, root, &[]).unwrap().is_empty());
    let changed = |at: &Path| rustix::fs::stat(at).map(|status| (status.st_ctime, status.st_ctime_nsec)).unwrap();
    let (at, before) = (root.join("a/b/c"), changed(&root.join("a/b/c")));
    // The clock of the file system moves in steps.
    while changed(&at) == before {
        std::fs::write(at.join("x"), "").unwrap();
        std::fs::remove_file(at.join("x")).unwrap();
    }
    std::fs::rename(at.join("notes.md"), at.join(".env")).unwrap();
    assert_eq!(found_with(&hidden, root, &[]).unwrap(), ["a/b/c/.env"]);
    // A folder that is moved is looked at where it is.
    std::fs::rename(&at, root.join("moved")).unwrap();
    hidden.trees.borrow_mut().clear();
    assert_eq!(found_with(&hidden, root, &[]).unwrap(), ["moved/.env"]);
}

#[test]
fn too_deep_or_large_workspace_is_hidden_or_call_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    // Deeper than any path can name: made step by step.
    let mut at = rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    let name = "d".repeat(200);
    for _ in 0..30 {
        rustix::fs::mkdirat(&at, name.as_str(), Mode::from_raw_mode(0o755)).unwrap();
        at = rustix::fs::openat(&at, name.as_str(), OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let covers = found(root, &[]);
    assert_eq!(covers.len(), 1);
    assert!(covers[0].len() > MAX_PATH - 400 && covers[0].len() < 4000, "{}", covers[0].len());
    // Many secrets in one place.
    let many = root.join("many");
    std::fs::create_dir(&many).unwrap();
    for number in 0..=MAX_COVERS {
        std::fs::write(many.join(format!("{number}.key")), "").unwrap();
    }
    let why = found_with(&HiddenFiles::default(), root, &[]).unwrap_err();
    assert!(why.starts_with("workspace holds more than 1024"), "{why}");
    std::fs::rename(&many, root.join(".ssh")).unwrap();
    assert_eq!(found(root, &[]).len(), 2, "a closed place is one cover");
}

#[test]
fn private_folders_of_others_are_covered_whatever_is_granted() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in
        ["people/anna/a.md", "people/marco/gift.md", "people/loose.md", "notes/people/x/a.md", "people/anna/.env"]
    {
        put(root, path);
    }
    symlink("marco", root.join("people/link")).unwrap();
    let covers = |target: &str, own: &str| {
        let (hidden, mut covers) = (HiddenFiles::default(), Vec::new());
        let source = format!("{}{}", root.display(), target.trim_start_matches("/workspace"));
        for _ in 0..2 {
            covers.clear();
            block(hidden.find_covers((&source, target), (&[], own), (false, false), &mut covers)).unwrap();
        }
        let mut all: Vec<String> = covers.into_iter().map(|cover| cover.path.into_string().unwrap()).collect();
        all.sort();
        all
    };
    let (anna, marco, loose) = ("/workspace/people/anna", "/workspace/people/marco", "/workspace/people/loose.md");
    for target in ["/workspace", "/workspace/people"] {
        assert_eq!(covers(target, "anna"), ["/workspace/people/anna/.env", loose, marco]);
        assert_eq!(covers(target, "marco"), [anna, loose]);
        assert_eq!(covers(target, ""), [anna, loose, marco]);
        assert_eq!(covers(target, "loose.md"), [anna, loose, marco], "a file is nobody's folder");
    }
    assert_eq!(covers(marco, "anna"), [marco]);
    assert!(covers(marco, "marco").is_empty());
}
