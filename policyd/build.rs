//! Embeds the digests of the repository's executors: exactly these bytes are signed at
//! first start without asking the owner, and nothing else ever is.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The signed files of an executor, in the order of the digests.
const FILES: [&str; 3] = ["manifest.toml", "main.py", "schema.json"];
/// What lies beside the executors and is none.
const HOST: &str = "host";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    // Builds that only tests see know executors that only tests have.
    let of_tests = env::var_os("CARGO_FEATURE_ATTACK").map(|_| "../tests/executors");
    for root in ["../executors"].into_iter().chain(of_tests) {
        println!("cargo::rerun-if-changed={root}");
        if !Path::new(root).is_dir() {
            continue;
        }
        for entry in fs::read_dir(root)? {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|_| io::Error::other("a name that is not UTF-8"))?;
            if entry.file_type()?.is_dir() && name != HOST && FILES.iter().all(|file| entry.path().join(file).is_file())
            {
                found.push((name, entry.path()));
            }
        }
    }
    found.sort();
    let mut table = String::from("&[\n");
    for (name, folder) in found {
        let mut digests = Vec::new();
        for file in FILES {
            let path = folder.join(file);
            println!("cargo::rerun-if-changed={}", path.display());
            digests.push(format!("{:?}", blake3::hash(&fs::read(path)?).as_bytes()));
        }
        writeln!(
            table,
            "    Seed {{ name: {name:?}, manifest: Blake3({}), code: Blake3({}), schema: Blake3({}) }},",
            digests[0], digests[1], digests[2]
        )
        .map_err(io::Error::other)?;
    }
    table.push(']');
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    fs::write(Path::new(&out).join("seeds.rs"), table)
}
