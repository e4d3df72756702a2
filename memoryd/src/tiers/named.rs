//! Where the files lie that a person calls by their bare names, or as lists: "read welcome.md", "the shopping list". Only
//! names of files are looked at, never what is in them, only those that the words themselves name, and only so many.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};

use metnos_proto::lists::Kind;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

/// The most names of one request that are looked for.
pub const MAX_NAMES: usize = 4;
/// The most entries of the workspace that are looked at for one request.
pub const MAX_ENTRIES: usize = 4_096;
/// How many folders deep.
const MAX_DEPTH: usize = 12;
/// The most places that are shown.
pub const MAX_FOUND: usize = 16;
/// The longest name, and the longest ending of one, in bytes.
const MAX_NAME: usize = 255;
const MAX_ENDING: usize = 8;
/// Where executors lie: a request never means those.
const POOL: &str = "executors";

/// The bare names of files in these words: with an ending, and without a folder.
#[must_use]
pub fn names(words: &str) -> Vec<&str> {
    let edge = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '~');
    let parts = words.split(|c: char| c.is_whitespace() || matches!(c, '"' | '«' | '»' | '“' | '”' | '`'));
    let mut found: Vec<&str> = Vec::new();
    let bare = parts.filter(|part| !part.contains(['/', '\\', '@', ':']));
    for part in bare.map(|part| part.trim_matches(edge)) {
        let is_ending = |ending: &str| {
            (1..=MAX_ENDING).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        let is_name = part.len() <= MAX_NAME
            && part.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && is_ending(ending));
        // A number has no ending.
        if is_name && part.chars().any(char::is_alphabetic) && !found.contains(&part) {
            found.push(part);
            if found.len() == MAX_NAMES {
                break;
            }
        }
    }
    found
}

/// Where regular files of these names, or with one of these lists, lie in the folder `below` of the workspace (empty: all of
/// it), as paths from the workspace; nothing hidden, and no link is followed.
#[must_use]
pub fn places(workspace: &OwnedFd, below: &str, names: &[&str], lists: &[Kind]) -> Vec<String> {
    let mut found = Vec::new();
    if names.is_empty() && lists.is_empty() {
        return found;
    }
    let (mut folders, mut seen) = (VecDeque::from([(below.to_owned(), 0)]), 0);
    while let Some((folder, depth)) = folders.pop_front() {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = if folder.is_empty() { "." } else { folder.as_str() };
        let Ok(opened) = rustix::fs::openat(workspace, path, flags, Mode::empty()) else { continue };
        let Ok(entries) = Dir::read_from(&opened) else { continue };
        for entry in entries.flatten() {
            seen += 1;
            if seen > MAX_ENTRIES || found.len() == MAX_FOUND {
                return found;
            }
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.starts_with('.') || name.chars().any(char::is_control) {
                continue;
            }
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            match kind(&opened, entry.file_name(), entry.file_type()) {
                FileType::RegularFile if names.contains(&name) || lists.iter().any(|list| list.is_in(name)) => {
                    found.push(path);
                }
                FileType::Directory if depth < MAX_DEPTH && path != POOL => folders.push_back((path, depth + 1)),
                FileType::RegularFile
                | FileType::Directory
                | FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => {}
            }
        }
    }
    found
}

/// Some file systems do not say with its name what an entry is.
fn kind(folder: impl AsFd, name: &std::ffi::CStr, said: FileType) -> FileType {
    if said != FileType::Unknown {
        return said;
    }
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_bare_name_has_an_ending_and_no_folder() {
        for (words, wanted) in [
            ("read welcome.md", vec!["welcome.md"]),
            ("quante parole ci sono in \"lista spesa.txt\"?", vec!["spesa.txt"]),
            ("read «a.md», b.tar.gz and c.md.", vec!["a.md", "b.tar.gz", "c.md"]),
            ("read notes/welcome.md", vec![]),
            ("it costs 3.50, see https://example.org or write to a@b.it at 8.30", vec![]),
            ("read .ssh and ../x.md and x.", vec![]),
            ("a.md a.md b.md c.md d.md e.md", vec!["a.md", "b.md", "c.md", "d.md"]),
        ] {
            assert_eq!(names(words), wanted, "{words}");
        }
    }

    #[test]
    fn files_are_found_by_name_except_hidden_linked_and_executor_files() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        };
        for path in ["a.md", "notes/a.md", "notes/deep/b.md", ".trash/b.md", "executors/x/b.md", "notes/.b/b.md"] {
            put(path);
        }
        std::fs::create_dir(folder.path().join("notes/c.md")).unwrap();
        std::os::unix::fs::symlink("a.md", folder.path().join("d.md")).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("root")).unwrap();
        let opened: OwnedFd = std::fs::File::open(folder.path()).unwrap().into();
        let found = |names: &[&str]| {
            let mut found = places(&opened, "", names, &[]);
            found.sort();
            found
        };
        assert_eq!(found(&["a.md"]), ["a.md", "notes/a.md"]);
        assert_eq!(found(&["b.md", "c.md", "d.md"]), ["notes/deep/b.md"]);
        assert_eq!(found(&["passwd"]), Vec::<String>::new());
        assert_eq!(found(&[]), Vec::<String>::new());
    }

    #[test]
    fn lists_are_found_by_what_they_are_of_and_below_a_folder_alone() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["notes/shopping.md", "shared/spesa.md", "notes/journal.md", "data/shopping.csv"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let opened: OwnedFd = std::fs::File::open(folder.path()).unwrap().into();
        let found = |below: &str, words: &str| {
            let mut found = places(&opened, below, &[], &metnos_proto::lists::called(words));
            found.sort();
            found
        };
        assert_eq!(found("", "add eggs to the shopping list"), ["notes/shopping.md", "shared/spesa.md"]);
        assert_eq!(found("shared", "cosa c'è sulla lista della spesa?"), ["shared/spesa.md"]);
        assert_eq!(found("", "read the journal"), Vec::<String>::new());
        assert_eq!(found("nowhere", "the shopping list"), Vec::<String>::new());
    }

    #[test]
    fn listing_is_bounded_in_entries_and_places() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..=MAX_FOUND {
            let below = folder.path().join(format!("f{n}"));
            std::fs::create_dir(&below).unwrap();
            std::fs::write(below.join("a.md"), "x").unwrap();
        }
        let opened: OwnedFd = std::fs::File::open(folder.path()).unwrap().into();
        assert_eq!(places(&opened, "", &["a.md"], &[]).len(), MAX_FOUND);
        for n in 0..MAX_ENTRIES {
            std::fs::write(folder.path().join(format!("{n}.txt")), "").unwrap();
        }
        // All that is looked at is in the first folder: those below come after it.
        assert!(places(&opened, "", &["a.md"], &[]).len() < MAX_FOUND);
    }
}
