//! `executor new`: the four files of an executor that works, for its owner to change. Nothing signs it: that is `executor sign`.

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

use metnos_calendar::Day;
use metnos_proto::executor::{guests, is_name};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{CtlError, Exit};
use crate::instance::{Instance, WORKSPACE};
use crate::screen::{Screen, human};

/// What the templates are called, and where the date belongs.
const NAME: &str = "my_executor";
const CREATED: &str = "@CREATED@";
/// The files, by their path in the folder of the version.
const FILES: [(&str, &str); 4] = [
    ("manifest.toml", include_str!("scaffold/manifest.toml")),
    ("main.py", include_str!("scaffold/main.py")),
    ("schema.json", include_str!("scaffold/schema.json")),
    ("tests/birth.py", include_str!("scaffold/birth.py")),
];
/// The first version.
const VERSION: &str = "1.0.0";

/// An executor was written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExecutorWritten {
    /// Its name.
    name: String,
    /// Its version.
    version: String,
    /// The folder with its files.
    folder: String,
    /// The files in it.
    files: Vec<String>,
}

/// `executor new`.
///
/// # Errors
/// When the name is none, is taken, or the files cannot be written.
pub(crate) fn new(screen: &mut Screen, instance: &Instance, name: &str) -> Result<Exit, CtlError> {
    if !is_name(name) {
        let what = format!("`{name}` is no name; expected are small letters, digits and `_`, a letter first");
        return Err(CtlError::failed("the name", what, "`metnosctl executor new word_tally`"));
    }
    if guests::SHIPPED.contains(&name) {
        let what = format!("{name} is an executor of this release");
        return Err(CtlError::failed("the name", what, "take another name"));
    }
    let workspace = instance.directory().join(WORKSPACE);
    let pool = workspace.join("executors");
    let folder = pool.join(name).join(VERSION);
    written(&workspace, &folder, name).map_err(|error| {
        let remedy = "take a name that is not in the pool yet; the owner of the workspace may write there";
        CtlError::failed(format!("the folder {}", pool.join(name).display()), error, remedy)
    })?;
    if screen.json() {
        let files = FILES.iter().map(|(file, _)| (*file).to_owned()).collect();
        let (name, version) = (name.to_owned(), VERSION.to_owned());
        screen.document(&ExecutorWritten { name, version, folder: folder.display().to_string(), files })?;
        return Ok(Exit::Done);
    }
    screen.line(&format!("{name} {VERSION} is in {}.", folder.display()))?;
    screen.line("  main.py is what it does, manifest.toml what it may do, schema.json what goes in and out, tests/birth.py what it promises")?;
    screen.line(&format!("  → metnosctl executor sign {name}: runs its tests, shows it, and asks for your yes"))?;
    Ok(Exit::Done)
}

/// Writes all of it, owned as the workspace is; nothing that is there is touched.
fn written(workspace: &Path, folder: &Path, name: &str) -> io::Result<()> {
    let owner = std::fs::metadata(workspace)?;
    let base = folder.parent().ok_or_else(|| io::Error::other("it lies nowhere"))?;
    // Whoever makes this folder makes all of it.
    made(base, &owner)?;
    made(folder, &owner)?;
    made(&folder.join("tests"), &owner)?;
    for (file, text) in FILES {
        put(&folder.join(file), &text.replace(NAME, name).replace(CREATED, &today()), &owner)?;
    }
    put(&base.join("CURRENT"), &format!("{VERSION}\n"), &owner)
}

fn made(folder: &Path, owner: &Metadata) -> io::Result<()> {
    DirBuilder::new().mode(0o750).create(folder)?;
    owned(folder, owner)
}

fn put(file: &PathBuf, text: &str, owner: &Metadata) -> io::Result<()> {
    let mut out = OpenOptions::new().write(true).create_new(true).mode(0o640).open(file)?;
    out.write_all(text.as_bytes())?;
    out.sync_all()?;
    owned(file, owner)
}

/// Gives a file to the owner of the workspace; only root can, and only there it is needed.
fn owned(path: &Path, of: &Metadata) -> io::Result<()> {
    if rustix::process::geteuid().is_root() { chown(path, Some(of.uid()), Some(of.gid())) } else { Ok(()) }
}

/// This day at midnight UTC, as a manifest has it.
fn today() -> String {
    format!("{}T00:00:00Z", Day::of(human::now_ms()))
}
