//! What the interpreter consists of on this machine: its program, its loader, its libraries
//! and its standard library, found by running it once at start. It must never guess: what was
//! not found does not exist in a sandbox.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// The script that the interpreter runs to describe itself.
const DISCOVER: &str = include_str!("discover.py");
/// The most bytes of a description that are read.
const MAX_DESCRIPTION: usize = 64 << 10;

/// Why there is no usable interpreter.
#[derive(Debug, thiserror::Error)]
pub enum InterpreterError {
    /// It could not be run.
    #[error("the Python interpreter {path} cannot be run: {why}; install python3, or set `interpreter` in metnos.toml")]
    NotRun {
        /// Where it was looked for.
        path: String,
        /// What happened.
        why: String,
    },
    /// It ran and did not describe itself.
    #[error("the Python interpreter {path} does not describe itself: {why}")]
    NoDescription {
        /// Where it was found.
        path: String,
        /// What came instead.
        why: String,
    },
    /// It is too old.
    #[error("the Python interpreter {path} is version {version}; 3.9 or newer is needed")]
    TooOld {
        /// Where it was found.
        path: String,
        /// Its version.
        version: String,
    },
}

/// The parts of an interpreter, each by the name under which its loader or its import system looks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The program, without links.
    pub program: String,
    /// The dynamic loader, by the name that stands in the program; `None` for a static program.
    pub loader: Option<String>,
    /// Shared libraries, by the names the loader looks for.
    pub libraries: Vec<String>,
    /// The folder of the standard library.
    pub stdlib: String,
    /// Extension modules, below the standard library.
    pub extensions: Vec<String>,
    /// The modules of those extensions, which are loaded before the seal.
    pub modules: Vec<String>,
    /// What an executor with network has on top.
    pub net: NetParts,
    /// What compiled modules fit: `cpython-311-x86_64-linux-gnu`.
    pub abi: String,
    /// Its version, for `status`.
    pub version: String,
}

/// What an interpreter needs besides to speak over the net: sockets' names, TLS, what web servers compress with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetParts {
    /// Shared libraries, by the names the loader looks for.
    pub libraries: Vec<String>,
    /// Extension modules.
    pub extensions: Vec<String>,
    /// Their modules, in the order in which they are loaded.
    pub modules: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    executable: String,
    version: String,
    abi: String,
    stdlib: String,
    extensions: Vec<String>,
    modules: Vec<String>,
    libraries: Vec<String>,
    net_extensions: Vec<String>,
    net_modules: Vec<String>,
    net_libraries: Vec<String>,
}

impl Interpreter {
    /// Runs the interpreter at `path` once and finds its parts.
    ///
    /// # Errors
    /// An [`InterpreterError`] that says what to do.
    pub fn discover(path: &str) -> Result<Self, InterpreterError> {
        let not_run = |why: String| InterpreterError::NotRun { path: path.to_owned(), why };
        let output = Command::new(path)
            .args(["-I", "-S", "-B", "-X", "utf8", "-c", DISCOVER])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| not_run(error.to_string()))?;
        if !output.status.success() {
            return Err(not_run(format!("{}: {}", output.status, last_line(&output.stderr))));
        }
        let no_description = |why: String| InterpreterError::NoDescription { path: path.to_owned(), why };
        if output.stdout.len() > MAX_DESCRIPTION {
            return Err(no_description(format!("{} bytes came", output.stdout.len())));
        }
        let found: Description =
            serde_json::from_slice(&output.stdout).map_err(|error| no_description(error.to_string()))?;
        if !new_enough(&found.version) {
            return Err(InterpreterError::TooOld { path: path.to_owned(), version: found.version });
        }
        let program = std::fs::read(&found.executable).map_err(|error| not_run(error.to_string()))?;
        // `Needs::read` refuses a program whose loader was set later (`patchelf`).
        let loader = loader_of(&program).map_err(|why| no_description(why.to_owned()))?;
        Ok(Self::assemble(found, loader))
    }

    fn assemble(found: Description, loader: Option<String>) -> Self {
        let is_loader =
            |path: &str| loader.as_deref().is_some_and(|loader| same_file(Path::new(loader), Path::new(path)));
        let named = |mapped: &[String], extensions: &[String]| {
            let mut libraries: Vec<String> = mapped
                .iter()
                .filter(|path| path.contains(".so") && !extensions.contains(path) && !is_loader(path))
                .map(|path| library_name(path))
                .collect();
            libraries.sort();
            libraries.dedup();
            libraries
        };
        let libraries = named(&found.libraries, &found.extensions);
        let mut net = NetParts {
            libraries: named(&found.net_libraries, &found.net_extensions),
            // Some came with the others.
            extensions: found.net_extensions.into_iter().filter(|path| !found.libraries.contains(path)).collect(),
            modules: found.net_modules,
        };
        net.extensions.sort();
        let mut extensions = found.extensions;
        extensions.sort();
        Self {
            program: found.executable,
            loader,
            libraries,
            stdlib: found.stdlib,
            extensions,
            modules: found.modules,
            net,
            abi: found.abi,
            version: found.version,
        }
    }

    /// The same with the module by which Python calls any function, for hostile code of the escape suite; `None` where this
    /// machine lacks it.
    #[must_use]
    pub fn armed(&self) -> Option<Self> {
        let module = Path::new(&self.stdlib).join("lib-dynload").join(format!("_ctypes.{}.so", self.abi));
        let folders = self.library_folders();
        let library =
            folders.iter().map(|folder| PathBuf::from(folder).join("libffi.so.8")).find(|path| path.exists())?;
        if !module.exists() {
            return None;
        }
        let mut armed = self.clone();
        armed.extensions.push(module.to_string_lossy().into_owned());
        armed.modules.push("_ctypes".to_owned());
        armed.libraries.push(library.to_string_lossy().into_owned());
        Some(armed)
    }

    /// The folders the loader must look into, each once.
    #[must_use]
    pub fn library_folders(&self) -> Vec<String> {
        let mut folders: Vec<String> = self
            .libraries
            .iter()
            .chain(&self.net.libraries)
            .filter_map(|path| Path::new(path).parent().map(|folder| folder.to_string_lossy().into_owned()))
            .collect();
        folders.sort();
        folders.dedup();
        folders
    }
}

fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().last().unwrap_or("no message").chars().take(300).collect()
}

fn new_enough(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (3, 9)
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The name under which the loader looks for a mapped library: `libz.so.1` for `libz.so.1.2.13`.
/// A security update changes the longer name and not the shorter one, and a profile must survive it.
fn library_name(mapped: &str) -> String {
    let real = Path::new(mapped);
    let mut best = real.to_path_buf();
    let mut shorter = mapped;
    while let Some((rest, number)) = shorter.rsplit_once('.') {
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        let candidate = PathBuf::from(rest);
        // `libz.so` itself is there for compilers only.
        if rest.contains(".so.") && same_file(&candidate, real) {
            best = candidate;
        }
        shorter = rest;
    }
    best.to_string_lossy().into_owned()
}

/// The loader that an ELF program names (`PT_INTERP`); `None` for one that needs none.
fn loader_of(program: &[u8]) -> Result<Option<String>, &'static str> {
    const NOT_ELF: &str = "it is no 64-bit ELF program of this machine";
    const PT_INTERP: u32 = 3;
    let number = |at: usize, size: usize| -> Result<u64, &'static str> {
        let bytes = program.get(at..at.checked_add(size).ok_or(NOT_ELF)?).ok_or(NOT_ELF)?;
        Ok(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let place = |value: u64| usize::try_from(value).map_err(|_| NOT_ELF);
    // Magic, 64 bits, little endian.
    if program.get(..6) != Some(&[0x7f, b'E', b'L', b'F', 2, 1]) {
        return Err(NOT_ELF);
    }
    let (table, entry, count) = (place(number(32, 8)?)?, place(number(54, 2)?)?, place(number(56, 2)?)?);
    for index in 0..count {
        let header = table.checked_add(index.checked_mul(entry).ok_or(NOT_ELF)?).ok_or(NOT_ELF)?;
        if number(header, 4)? != u64::from(PT_INTERP) {
            continue;
        }
        let (start, length) = (place(number(header + 8, 8)?)?, place(number(header + 32, 8)?)?);
        let text = program.get(start..start.checked_add(length).ok_or(NOT_ELF)?).ok_or(NOT_ELF)?;
        let text = text.strip_suffix(&[0]).ok_or(NOT_ELF)?;
        return String::from_utf8(text.to_vec()).map(Some).map_err(|_| NOT_ELF);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_interpreter_of_this_machine_is_found_with_all_its_parts() {
        let found = Interpreter::discover("/usr/bin/python3").unwrap();
        assert!(found.program.starts_with('/') && !found.abi.is_empty());
        let parts = found.libraries.iter().chain(&found.extensions).chain(found.loader.as_ref()).chain([&found.stdlib]);
        for part in parts {
            assert!(Path::new(part).exists(), "{part}");
        }
        assert!(found.libraries.iter().any(|library| library.contains("libc.so")), "{found:?}");
    }

    #[test]
    fn parts_for_network_are_those_that_its_modules_load() {
        const FULL: &str = r#"NET = ("socket", "select", "ssl", "zlib", "http.client", "urllib.request", "hashlib", "struct", "binascii", "math")"#;
        let start = DISCOVER.find("NET = ").unwrap();
        let end = start + DISCOVER[start..].find('\n').unwrap();
        let full = format!("{}{FULL}{}", &DISCOVER[..start], &DISCOVER[end..]);
        let describe = |code: &str| {
            let run = Command::new("/usr/bin/python3").args(["-I", "-S", "-B", "-X", "utf8", "-c", code]).output();
            String::from_utf8(run.unwrap().stdout).unwrap()
        };
        assert_eq!(describe(DISCOVER), describe(&full));
    }

    #[test]
    fn a_missing_interpreter_is_an_error_that_says_what_to_do() {
        let error = Interpreter::discover("/nonexistent/python3").unwrap_err();
        assert!(error.to_string().contains("install python3"), "{error}");
        // A program that runs and is no Python.
        assert!(matches!(Interpreter::discover("/bin/true"), Err(InterpreterError::NoDescription { .. })));
        assert!(matches!(Interpreter::discover("/bin/false"), Err(InterpreterError::NotRun { .. })));
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(new_enough("3.9.0") && new_enough("3.13.1") && new_enough("4.0.0"));
        assert!(!new_enough("3.8.20") && !new_enough("2.7.18") && !new_enough("") && !new_enough("x"));
    }

    #[test]
    fn a_library_keeps_the_name_its_loader_looks_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        std::fs::write(path("libz.so.1.2.13"), "z").unwrap();
        std::os::unix::fs::symlink("libz.so.1.2.13", path("libz.so.1")).unwrap();
        std::os::unix::fs::symlink("libz.so.1.2.13", path("libz.so")).unwrap();
        std::fs::write(path("libm.so.6"), "m").unwrap();
        assert_eq!(library_name(&path("libz.so.1.2.13")), path("libz.so.1"));
        assert_eq!(library_name(&path("libm.so.6")), path("libm.so.6"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_program_or_an_error_and_never_a_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200), elf in any::<bool>()) {
            if elf && bytes.len() > 6 {
                bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
            }
            let _ = loader_of(&bytes);
        }
    }
}
