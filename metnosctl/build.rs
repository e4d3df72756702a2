//! Embeds what a new instance begins with: the example workspace, the commented
//! configuration, and the repository's executors. It must never embed a signature: those
//! are each instance's own.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What lies beside the executors and is none.
const HOST: &str = "host";
/// The files of an executor that are copied into a new instance.
const EXECUTOR_FILES: [&str; 4] = ["manifest.toml", "main.py", "schema.json", "tests/birth.py"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| io::Error::other("no manifest folder"))?);
    let examples = root.join("../examples");
    let executors = root.join("../executors");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", examples.display());
    println!("cargo::rerun-if-changed={}", executors.display());

    let mut text = String::from("/// The example workspace, by path.\npub const WORKSPACE: &[(&str, &[u8])] = &[\n");
    for file in files_below(&examples.join("workspace"))? {
        let path = text_of(&file)?;
        entry(&mut text, &path, &examples.join("workspace").join(&file))?;
    }
    text.push_str("];\n\n/// The executors of this release: name, then files by path.\npub const EXECUTORS: &[(&str, &[(&str, &[u8])])] = &[\n");
    for name in executor_names(&executors)? {
        writeln!(text, "    ({name:?}, &[").map_err(io::Error::other)?;
        for file in EXECUTOR_FILES {
            let path = executors.join(&name).join(file);
            if path.is_file() {
                entry(&mut text, file, &path)?;
            }
        }
        text.push_str("    ]),\n");
    }
    text.push_str("];\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    fs::write(Path::new(&out).join("seeds.rs"), text)
}

fn entry(text: &mut String, name: &str, file: &Path) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", file.display());
    let file = text_of(&file.canonicalize()?)?;
    writeln!(text, "    ({name:?}, include_bytes!({file:?})),").map_err(io::Error::other)
}

fn text_of(path: &Path) -> io::Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| io::Error::other("a path that is not UTF-8"))
}

/// The folders that hold a manifest, sorted.
fn executor_names(executors: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    if executors.is_dir() {
        for entry in fs::read_dir(executors)? {
            let entry = entry?;
            let name = text_of(Path::new(&entry.file_name()))?;
            if name != HOST && entry.path().join("manifest.toml").is_file() {
                names.push(name);
            }
        }
    }
    names.sort();
    Ok(names)
}

/// Every file below a folder, relative to it, sorted.
fn files_below(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}
