//! What the arguments of a call name, looked at once more before it runs: a file of the workspace that has a second name
//! may be any file of this disk, whatever the first one looks like (design: sandbox §1, hard links). No executor can make
//! such a name; a process that can has an account here.

use std::os::fd::{AsFd, OwnedFd};

use metnos_proto::control::FolderSettings;
use metnos_proto::executor::forbidden::{Places, within_workspace};
use metnos_proto::executor::secret_names::{is_path_shaped, is_secret_path};
use metnos_proto::executor::{Manifest, Role, outside};
use metnos_proto::json;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use serde_json::Value;

use crate::plan::{KEPT, OUTSIDE, Plan, WORKSPACE};

/// The most texts of one call that are looked at; no schema of the pool allows more paths.
pub const MAX_NAMED: usize = 256;

/// Whether every file that a call names has one name only.
///
/// # Errors
/// The file that has more, with what to do; or that it could not be looked at.
pub fn one_name_each(manifest: &Manifest, plan: &Plan, arguments: &Value) -> Result<(), Refusal> {
    one_name_each_outside(manifest, plan, arguments)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(CWD, WORKSPACE, flags, Mode::empty()) {
        Ok(workspace) => one_name_each_below(&workspace, manifest, arguments),
        // Nothing is granted then either.
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(not_seen("the workspace", errno)),
    }
}

fn one_name_each_below(workspace: &OwnedFd, manifest: &Manifest, arguments: &Value) -> Result<(), Refusal> {
    let inside = |text: &str| within_workspace(text, &Places::default()).filter(|path| !path.is_empty());
    named(manifest, arguments, inside)?.iter().try_for_each(|path| one_name(workspace, path, path))
}

/// The same in the folders outside the workspace, which the view shows below their own paths.
fn one_name_each_outside(manifest: &Manifest, plan: &Plan, arguments: &Value) -> Result<(), Refusal> {
    let folders: Vec<&str> = plan.outside().collect();
    if folders.is_empty() {
        return Ok(());
    }
    let settings = FolderSettings { home: plan.spec().home.clone(), ..FolderSettings::default() };
    for path in named(manifest, arguments, |text| settings.place(text))? {
        let Some(folder) = folders.iter().find(|folder| outside::below(&path, folder).is_some()) else { continue };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let place = format!("{OUTSIDE}{folder}");
        let opened = rustix::fs::openat2(CWD, &place, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
        let opened = opened.map_err(|errno| not_seen(folder, errno))?;
        let below = outside::below(&path, folder).filter(|below| !below.is_empty());
        below.map_or(Ok(()), |below| one_name(&opened, below, &path))?;
    }
    Ok(())
}

/// What the words of a call name that others are not shown, as the sandbox names it. policyd has decided on these very words.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NamedPaths {
    /// Files of secrets.
    pub secrets: Vec<String>,
    /// The owner's files; see [`KEPT`].
    pub kept: Vec<String>,
}

/// See [`NamedPaths`].
///
/// # Errors
/// When the call names too many.
pub fn words_name(manifest: &Manifest, plan: &Plan, arguments: &[u8]) -> Result<NamedPaths, Refusal> {
    let arguments: Value = serde_json::from_slice(arguments)
        .map_err(|error| Refusal::new(RefusalCode::Invalid, "sandbox.named", format!("the arguments: {error}")))?;
    let settings = FolderSettings { home: plan.spec().home.clone(), ..FolderSettings::default() };
    let mut named = NamedPaths::default();
    let mut add = |text: &str| {
        let inside = within_workspace(text, &Places::default());
        if let Some(name) = inside.as_deref().filter(|name| KEPT.contains(name)) {
            named.kept.push(format!("{WORKSPACE}/{name}"));
        }
        if is_secret_path(text) {
            let inside = inside.map(|below| format!("{WORKSPACE}/{below}"));
            named.secrets.extend(inside.or_else(|| settings.place(text).map(|path| format!("{OUTSIDE}{path}"))));
        }
    };
    let folder = arguments.get("cwd").and_then(Value::as_str).unwrap_or_default();
    collect(&arguments, String::new(), &mut |pointer, text| match manifest.role(pointer) {
        Role::Path | Role::Selector | Role::Dest => add(text),
        // A program's word is a file from where it runs, if it is a path at all: policyd takes it for one by the same rule.
        Role::Argv if is_path_shaped(text) => add(format!("{folder}/{text}").trim_start_matches('/')),
        Role::Payload
        | Role::Amount
        | Role::Time
        | Role::Secret
        | Role::Entity
        | Role::Url
        | Role::Query
        | Role::Argv
        | Role::Flag => {}
    });
    if named.secrets.len() > MAX_NAMED {
        return Err(too_many(named.secrets.len()));
    }
    Ok(named)
}

fn too_many(count: usize) -> Refusal {
    let why = format!("the call names {count} files; at most {MAX_NAMED} are looked at");
    Refusal::new(RefusalCode::Invalid, "sandbox.named", why)
}

/// Every file that an argument names, as `read` reads it.
fn named(
    manifest: &Manifest,
    arguments: &Value,
    read: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, Refusal> {
    let mut named = Vec::new();
    collect(arguments, String::new(), &mut |pointer, text| {
        if matches!(manifest.role(pointer), Role::Path | Role::Selector | Role::Dest) {
            named.extend(read(text));
        }
    });
    if named.len() > MAX_NAMED {
        return Err(too_many(named.len()));
    }
    Ok(named)
}

fn collect(value: &Value, pointer: String, found: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => found(&pointer, text),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                collect(item, json::child(&pointer, &at.to_string()), found);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                collect(item, json::child(&pointer, key), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn one_name(folder: &OwnedFd, path: &str, shown: &str) -> Result<(), Refusal> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = match rustix::fs::openat2(folder.as_fd(), path, flags, Mode::empty(), resolve) {
        Ok(file) => file,
        // What is not there, or no way for sandboxd, is none for what it runs: the executor says so in its own words.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::XDEV | Errno::NAMETOOLONG) => {
            return Ok(());
        }
        Err(errno) => return Err(not_seen(shown, errno)),
    };
    let status = rustix::fs::fstat(&file).map_err(|errno| not_seen(shown, errno))?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile || status.st_nlink <= 1 {
        return Ok(());
    }
    let why = format!(
        "{shown} has {} names, and where the others lie cannot be seen from here: it may be any file of this disk",
        status.st_nlink
    );
    let remedy = "copy it to a file of its own (`cp FILE NEW && mv NEW FILE`)";
    Err(Refusal::new(RefusalCode::Denied, "sandbox.hard_link", why).remedy(remedy))
}

fn not_seen(what: &str, errno: Errno) -> Refusal {
    Refusal::new(RefusalCode::Internal, "sandbox.named", format!("{what} could not be looked at: {errno}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;
    use std::os::unix::fs::symlink;

    fn manifest() -> Manifest {
        let text = include_str!("../../../executors/fs_read/manifest.toml");
        let text = text.replace("[args]", "[args]\n\"/more/*\" = \"path\"");
        Manifest::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn only_what_the_words_themselves_name_is_left_to_a_call() {
        let installation = crate::plan::testing::installation();
        let plan = installation.plan(&manifest()).unwrap();
        let named = |arguments: Value| words_name(&manifest(), &plan, arguments.to_string().as_bytes()).unwrap();
        let of = |secrets: &[&str], kept: &[&str]| NamedPaths {
            secrets: secrets.iter().map(ToString::to_string).collect(),
            kept: kept.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(named(json!({"path": "a/./.env"})), of(&["/workspace/a/.env"], &[]));
        assert_eq!(
            named(json!({"path": "x/../SOUL.md", "more": ["b/id_rsa"]})),
            of(&["/workspace/b/id_rsa"], &["/workspace/SOUL.md"])
        );
        // A folder, a text, a reference and a file of the same name elsewhere name nothing.
        for nothing in [
            json!({"path": "a", "text": ".env"}),
            json!({"path": {"$ref": "1:/entries/0/path"}}),
            json!({"path": "notes/SOUL.md"}),
            json!({"path": "../.env"}),
        ] {
            assert_eq!(named(nothing.clone()), NamedPaths::default(), "{nothing}");
        }
        let shell = Manifest::parse(include_bytes!("../../../executors/shell_run/manifest.toml")).unwrap();
        let named = |arguments: Value| words_name(&shell, &plan, arguments.to_string().as_bytes()).unwrap();
        assert_eq!(named(json!({"argv": ["cat", "./id_rsa"], "cwd": "keys"})), of(&["/workspace/keys/id_rsa"], &[]));
        assert_eq!(named(json!({"argv": ["cat", "id_rsa"], "cwd": "keys"})), of(&[], &[]), "a word, and no path");
        assert_eq!(named(json!({"argv": ["grep", "-r", "x", "."], "stdin": ".env"})), NamedPaths::default());
        let many: Vec<String> = (0..=MAX_NAMED).map(|n| format!("{n}.key")).collect();
        assert_eq!(
            words_name(&manifest(), &plan, json!({"more": many}).to_string().as_bytes()).unwrap_err().rule,
            "sandbox.named"
        );
    }

    #[test]
    fn a_file_with_a_second_name_is_refused_however_the_path_to_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir_in(folder.path()).unwrap();
        let workspace = folder.path().join("workspace");
        std::fs::create_dir_all(workspace.join("notes")).unwrap();
        std::fs::write(outside.path().join("key"), "x").unwrap();
        std::fs::write(workspace.join("notes/own.md"), "x").unwrap();
        std::fs::hard_link(outside.path().join("key"), workspace.join("notes/hard.md")).unwrap();
        symlink("hard.md", workspace.join("notes/soft.md")).unwrap();
        let fd = rustix::fs::open(&workspace, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let manifest = manifest();
        let look = |arguments: Value| one_name_each_below(&fd, &manifest, &arguments).map_err(|no| no.rule);
        for path in ["notes/hard.md", "./notes//hard.md", "notes/../notes/hard.md"] {
            assert_eq!(look(json!({"path": path})), Err("sandbox.hard_link".into()), "{path}");
            assert_eq!(look(json!({"path": "notes/own.md", "more": ["a", path]})), Err("sandbox.hard_link".into()));
        }
        // No link is followed, and what is only mentioned is no access.
        for path in ["notes/own.md", "notes", "", "none", "notes/soft.md", "../key", "/etc/passwd"] {
            assert_eq!(look(json!({"path": path, "text": "notes/hard.md"})), Ok(()), "{path}");
        }
        std::fs::remove_file(outside.path().join("key")).unwrap();
        assert_eq!(
            look(json!({"path": "notes/hard.md"})),
            Ok(()),
            "with its last other name gone it is one of its own"
        );
        let many: Vec<String> = (0..=MAX_NAMED).map(|n| n.to_string()).collect();
        assert_eq!(look(json!({"more": many})), Err("sandbox.named".into()));
    }
}
