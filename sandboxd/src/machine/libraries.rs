//! Where the libraries of a program lie on this machine, found as its loader finds them (ld.so(8)): the folders that the
//! files themselves name, the loader's cache, the system's own folders. Nothing is executed for it; what is not found is said.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::machine::elf::Needs;

/// The loader's cache.
const CACHE: &str = "/etc/ld.so.cache";
/// The most bytes of a cache, and of a library, that are read.
const MAX_CACHE: u64 = 16 << 20;
const MAX_FILE: u64 = 256 << 20;
/// The most libraries of one program.
const MAX_LIBRARIES: usize = 96;

/// The system's own folders, in the loader's order, and what marks libraries of this machine in its cache.
#[cfg(target_arch = "x86_64")]
const SYSTEM: (&[&str], u32) =
    (&["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"], 0x0303);
#[cfg(target_arch = "aarch64")]
const SYSTEM: (&[&str], u32) =
    (&["/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"], 0x0a03);

/// What the loader's cache says, and what has been read of the libraries: most programs share them.
#[derive(Debug, Default)]
pub struct Cache {
    /// The path of each library by its name.
    paths: BTreeMap<String, String>,
    /// The libraries by the paths that were tried; `None` where there is none.
    libraries: RefCell<BTreeMap<PathBuf, Option<(String, Needs)>>>,
}

impl Cache {
    /// That of this machine; empty where there is none, as for the loader.
    #[must_use]
    pub fn of_system() -> Self {
        read(Path::new(CACHE), MAX_CACHE).map(|bytes| Self::read(&bytes)).unwrap_or_default()
    }

    /// Reads one of the format that glibc writes since 2.32; everything else is empty.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
        const HEAD: usize = 48;
        const ENTRY: usize = 24;
        let number = |at: usize, size: usize| -> Option<u64> {
            let part = bytes.get(at..at.checked_add(size)?)?;
            Some(part.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
        };
        let text = |at: u64| -> Option<String> {
            let rest = bytes.get(usize::try_from(at).ok()?..)?;
            let end = rest.iter().take(4096).position(|byte| *byte == 0)?;
            String::from_utf8(rest.get(..end)?.to_vec()).ok()
        };
        let mut found = BTreeMap::new();
        let count = if bytes.starts_with(MAGIC) { number(20, 4).unwrap_or(0) } else { 0 };
        for index in 0..usize::try_from(count).unwrap_or(0).min(bytes.len() / ENTRY) {
            let at = HEAD + index * ENTRY;
            let (Some(flags), Some(key), Some(value), Some(hardware)) =
                (number(at, 4), number(at + 4, 4), number(at + 8, 4), number(at + 16, 8))
            else {
                break;
            };
            // Of this machine, and for each of its processors.
            if flags != u64::from(SYSTEM.1) || hardware != 0 {
                continue;
            }
            if let (Some(name), Some(path)) = (text(key), text(value)) {
                found.entry(name).or_insert(path);
            }
        }
        Self { paths: found, libraries: RefCell::default() }
    }

    /// A library that is there and of this machine, under its folder's one name; the loader passes over any other.
    fn library(&self, path: PathBuf) -> Option<(String, Needs)> {
        let mut known = self.libraries.borrow_mut();
        known.entry(path).or_insert_with_key(|path| library(path)).clone()
    }
}

fn library(path: &Path) -> Option<(String, Needs)> {
    let needs = Needs::read(&read(path, MAX_FILE)?).ok()?;
    let folder = path.parent()?.canonicalize().ok()?;
    Some((folder.join(path.file_name()?).to_str()?.to_owned(), needs))
}

/// A file that is being looked at: what it asks for, and where it lies.
struct Object {
    needs: Needs,
    origin: String,
    /// The folders that those that led to it name for their own libraries and for its.
    inherited: Vec<String>,
}

/// Every library of a program, by the name under which its loader finds it, each once.
///
/// # Errors
/// Which of them is not found, or is none.
pub fn of_program(path: &str, needs: &Needs, cache: &Cache) -> Result<Vec<String>, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut waiting = vec![Object { needs: needs.clone(), origin: folder_of(path), inherited: Vec::new() }];
    while let Some(object) = waiting.pop() {
        let loader = needs.loader.as_deref().map(file_name);
        for name in &object.needs.libraries {
            if found.contains_key(name) || Some(name.as_str()) == loader {
                continue;
            }
            if found.len() >= MAX_LIBRARIES {
                return Err(format!("it needs more than {MAX_LIBRARIES} libraries"));
            }
            let (place, needs) = search(&object, name, cache)
                .ok_or_else(|| format!("its library {name} is not found; install the package that has it"))?;
            let inherited = if object.needs.runpath.is_empty() {
                let own = object.needs.rpath.iter().map(|folder| expand(folder, &object.origin));
                own.chain(object.inherited.iter().cloned()).collect()
            } else {
                object.inherited.clone()
            };
            waiting.push(Object { needs, origin: folder_of(&place), inherited });
            found.insert(name.clone(), place);
        }
    }
    let mut places: Vec<String> = found.into_values().collect();
    places.sort();
    places.dedup();
    Ok(places)
}

fn search(object: &Object, name: &str, cache: &Cache) -> Option<(String, Needs)> {
    if name.contains('/') {
        return name.starts_with('/').then(|| cache.library(PathBuf::from(name))).flatten();
    }
    let it = &object.needs;
    let own = |folders: &[String]| folders.iter().map(|folder| expand(folder, &object.origin)).collect::<Vec<_>>();
    let mut folders = Vec::new();
    if it.runpath.is_empty() {
        folders.extend(own(&it.rpath));
        folders.extend(object.inherited.iter().cloned());
    } else {
        folders.extend(own(&it.runpath));
    }
    let cached = cache.paths.get(name).map(PathBuf::from);
    let system = SYSTEM.0.iter().map(|folder| Path::new(folder).join(name));
    let places = folders.iter().filter(|folder| folder.starts_with('/')).map(|folder| Path::new(folder).join(name));
    places.chain(cached).chain(system).find_map(|path| cache.library(path))
}

/// Reads a whole file of at most so many bytes.
pub(crate) fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    let known = std::fs::metadata(path).ok()?;
    (known.is_file() && known.len() <= most).then(|| std::fs::read(path).ok()).flatten()
}

fn expand(folder: &str, origin: &str) -> String {
    folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
}

fn folder_of(path: &str) -> String {
    Path::new(path).parent().map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn libraries_are_found_where_the_loader_of_this_machine_finds_them() {
        let cache = Cache::of_system();
        let mut seen = 0;
        for path in metnos_proto::executor::commands::DEFAULT.iter().chain(&["/usr/bin/git", "/usr/bin/python3"]) {
            let Some(bytes) = read(Path::new(path), MAX_FILE) else { continue };
            let needs = Needs::read(&bytes).unwrap();
            let found = of_program(path, &needs, &cache).unwrap();
            let told = Command::new(needs.loader.as_deref().unwrap()).arg("--list").arg(path).output().unwrap();
            let told = String::from_utf8(told.stdout).unwrap();
            let mut wanted: Vec<PathBuf> = told
                .lines()
                .filter_map(|line| Some(line.split_once(" => ")?.1.split_once(" (")?.0.to_owned()))
                .filter(|path| Some(file_name(path)) != needs.loader.as_deref().map(file_name))
                .map(|path| Path::new(&path).canonicalize().unwrap())
                .collect();
            let mut found: Vec<PathBuf> = found.iter().map(|path| Path::new(path).canonicalize().unwrap()).collect();
            wanted.sort();
            found.sort();
            assert_eq!(found, wanted, "{path}");
            seen += 1;
        }
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let needs = Needs { libraries: vec!["libnone.so.9".to_owned()], ..Needs::default() };
        let why = of_program("/usr/bin/x", &needs, &Cache::default()).unwrap_err();
        assert!(why.contains("libnone.so.9"), "{why}");
    }

    #[test]
    fn folders_that_a_file_names_come_first_and_begin_where_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(folder.join("lib")).unwrap();
        let real =
            of_program("/x", &Needs { libraries: vec!["libc.so.6".into()], ..Needs::default() }, &Cache::of_system());
        let real = real.unwrap();
        let libc = real.iter().find(|path| path.ends_with("/libc.so.6")).unwrap();
        std::fs::copy(libc, folder.join("lib/libown.so.1")).unwrap();
        // What is there and no library is passed over, as the loader does.
        std::fs::create_dir_all(folder.join("broken")).unwrap();
        std::fs::write(folder.join("broken/libown.so.1"), "text").unwrap();
        let program = folder.join("bin/x").to_str().unwrap().to_owned();
        let own = |rpath: &[&str], runpath: &[&str]| Needs {
            loader: Some("/lib64/ld-linux-x86-64.so.2".to_owned()),
            libraries: vec!["libown.so.1".to_owned()],
            rpath: rpath.iter().map(|text| (*text).to_owned()).collect(),
            runpath: runpath.iter().map(|text| (*text).to_owned()).collect(),
        };
        let wanted = folder.join("lib/libown.so.1").to_str().unwrap().to_owned();
        for needs in [own(&["$ORIGIN/../lib"], &[]), own(&[], &["${ORIGIN}/../broken", "$ORIGIN/../lib"])] {
            std::fs::create_dir_all(folder.join("bin")).unwrap();
            assert!(of_program(&program, &needs, &Cache::of_system()).unwrap().contains(&wanted), "{needs:?}");
        }
        assert!(of_program(&program, &own(&["$ORIGIN/../lib"], &["/none"]), &Cache::of_system()).is_err());
        assert!(of_program(&program, &own(&["../lib"], &[]), &Cache::of_system()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_cache_or_none_and_never_a_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400), magic in any::<bool>()) {
            if magic && bytes.len() > 24 {
                bytes[..20].copy_from_slice(b"glibc-ld.so.cache1.1");
            }
            let _ = Cache::read(&bytes);
        }
    }
}
