//! The programs that the owner has listed, looked at once when sandboxd starts: which of them are there, and which libraries
//! each needs. One that cannot be shown is left out and said by name; it must never be shown as something else than it is.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use metnos_proto::executor::commands::ProgramData;
use metnos_proto::executor::outside;
use rustix::fs::Access;

use crate::machine::elf::Needs;
use crate::machine::libraries::{self, Cache};

/// Why a program is missing that no package has brought.
pub const NOT_INSTALLED: &str = "it is not installed";
/// The most bytes of a program.
const MAX_PROGRAM: u64 = 256 << 20;

/// A listed program that can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its absolute path, which no link is part of.
    pub path: String,
    /// Its libraries, by the names its loader looks for.
    pub libraries: Vec<String>,
    /// The folders of data that the owner lists with it.
    pub data: Vec<String>,
}

/// What the owner has listed of programs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Listed<'a> {
    /// The programs, by absolute path.
    pub programs: &'a [String],
    /// Their folders of data, each line as [`ProgramData::read`] takes it.
    pub data: &'a [String],
}

/// Where no program can be taken from: what an executor may write, and Metnos's own folder.
#[derive(Debug, Clone, Copy)]
pub struct Closed<'a> {
    /// The instance.
    pub instance: &'a Path,
    /// The folders that may be granted for writing.
    pub writable: &'a [String],
}

/// The programs that the owner has listed, as they were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs {
    /// All of them, as they are listed.
    pub listed: Vec<String>,
    /// Those that can be shown.
    pub found: Vec<Command>,
    /// The others, each with why it cannot.
    pub missing: Vec<(String, String)>,
}

impl Programs {
    /// Why this one is not shown.
    #[must_use]
    pub fn why_not(&self, path: &str) -> String {
        let said = self.missing.iter().find(|(missing, _)| missing == path);
        said.map(|(_, why)| why.clone()).unwrap_or_default()
    }

    /// Whether this one is on no disk, rather than there and not to be shown.
    #[must_use]
    pub fn is_not_installed(&self, path: &str) -> bool {
        self.missing.iter().any(|(missing, why)| missing == path && why == NOT_INSTALLED)
    }
}

/// The listed programs that can be shown, and why the others are not. `loader` is the interpreter's own: every
/// program is loaded by that, or by none.
#[must_use]
pub fn find(listed: Listed<'_>, loader: Option<&str>, closed: Closed<'_>) -> Programs {
    let programs = listed.programs;
    let cache = if programs.is_empty() { Cache::default() } else { Cache::of_system() };
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for path in programs {
        let looked = look(path, programs, loader, closed, &cache).and_then(|libraries| {
            Ok(Command { path: path.clone(), libraries, data: data_of(path, listed.data, closed)? })
        });
        match looked {
            Ok(command) => found.push(command),
            Err(why) => missing.push((path.clone(), why)),
        }
    }
    Programs { listed: programs.to_vec(), found, missing }
}

/// The folders of data of a program, sorted. One that is not there is left out, as a program is that is not installed.
///
/// # Errors
/// Why one that is there cannot be shown.
fn data_of(program: &str, lines: &[String], closed: Closed<'_>) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for data in lines.iter().filter_map(|line| ProgramData::read(line)).filter(|data| data.program == program) {
        let (folder, place) = (data.folder, Path::new(data.folder));
        let Ok(real) = place.canonicalize() else { continue };
        if real != place {
            return Err(format!("its folder {folder} is a link to {}; list that one", real.display()));
        }
        if is_in_reach(folder, &real, closed) {
            return Err(format!("its folder {folder} lies where executors may write"));
        }
        if !real.is_dir() {
            return Err(format!("its folder {folder} is no folder"));
        }
        found.push(folder.to_owned());
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Whether an executor may write there, or it belongs to Metnos.
fn is_in_reach(path: &str, real: &Path, closed: Closed<'_>) -> bool {
    real.starts_with(closed.instance) || closed.writable.iter().any(|folder| outside::below(path, folder).is_some())
}

fn look(
    path: &str,
    listed: &[String],
    loader: Option<&str>,
    closed: Closed<'_>,
    cache: &Cache,
) -> Result<Vec<String>, String> {
    let place = Path::new(path);
    let real = place.canonicalize().map_err(|_| NOT_INSTALLED.to_owned())?;
    if real != place {
        return Err(format!("it is a link to {}; list that file itself", real.display()));
    }
    if is_in_reach(path, &real, closed) {
        return Err("it lies where executors may write".to_owned());
    }
    let known = place.metadata().map_err(|error| error.to_string())?;
    if !known.is_file() {
        return Err("it is no file".to_owned());
    }
    if known.permissions().mode() & 0o6000 != 0 || has_capabilities(place) {
        return Err("it runs with the rights of somebody else (set-uid, set-gid or capabilities)".to_owned());
    }
    rustix::fs::access(place, Access::EXEC_OK | Access::READ_OK)
        .map_err(|_| "the user of sandboxd may not read and execute it".to_owned())?;
    if let Some(interpreter) = script(place) {
        // The kernel would run that one, which must be listed then as any other.
        return if listed.contains(&interpreter) {
            Ok(Vec::new())
        } else {
            Err(format!("it is a script for {interpreter}, which is not listed"))
        };
    }
    let bytes = libraries::read(place, MAX_PROGRAM).ok_or_else(|| "it cannot be read".to_owned())?;
    let needs = Needs::read(&bytes).map_err(|error| error.to_string())?;
    match (&needs.loader, loader) {
        (None, _) => {}
        (Some(own), Some(loader)) if own == loader => {}
        (Some(own), _) => return Err(format!("it is loaded by {own}, and not by what loads the interpreter")),
    }
    libraries::of_program(path, &needs, cache)
}

fn has_capabilities(path: &Path) -> bool {
    rustix::fs::getxattr(path, "security.capability", &mut [0_u8; 64][..]).is_ok()
}

/// What the kernel would run for a script (execve(2)).
fn script(path: &Path) -> Option<String> {
    let mut head = [0; 256];
    let length = std::fs::File::open(path).ok()?.read(&mut head).ok()?;
    let line = head.get(..length)?.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Some(String::from_utf8_lossy(line).split_ascii_whitespace().next().unwrap_or("nobody").to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::symlink;

    use super::*;

    const LOADER: &str =
        if cfg!(target_arch = "aarch64") { "/lib/ld-linux-aarch64.so.1" } else { "/lib64/ld-linux-x86-64.so.2" };

    const fn programs(listed: &[String]) -> Listed<'_> {
        Listed { programs: listed, data: &[] }
    }

    #[test]
    fn a_program_whose_data_cannot_be_shown_is_left_out_and_named() {
        let folder = tempfile::Builder::new().prefix("metnos-test").tempdir_in("/usr/local/share");
        // Only who may write there can try it.
        let Ok(folder) = folder else { return eprintln!("SKIPPED: /usr/local/share may not be written") };
        let folder = folder.path().canonicalize().unwrap();
        let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        std::fs::create_dir(at("data")).unwrap();
        std::fs::create_dir(at("writable")).unwrap();
        std::fs::write(at("file"), "words").unwrap();
        symlink(at("data"), at("link")).unwrap();
        let wc = Path::new("/usr/bin/wc").canonicalize().unwrap().to_str().unwrap().to_owned();
        let looked = |names: &[&str]| {
            let data: Vec<String> = names.iter().map(|name| format!("{wc} {}", at(name))).collect();
            let closed = Closed { instance: Path::new("/nowhere"), writable: &[at("writable")] };
            find(Listed { programs: std::slice::from_ref(&wc), data: &data }, Some(LOADER), closed)
        };
        assert_eq!(looked(&["data", "none", "data"]).found[0].data, [at("data")]);
        assert!(looked(&[]).found[0].data.is_empty());
        for (name, why) in [("link", "is a link"), ("file", "is no folder"), ("writable", "may write")] {
            let found = looked(&["data", name]);
            assert!(found.found.is_empty() && found.why_not(&wc).contains(why), "{name}: {found:?}");
        }
        // What is listed for another program is none of this one's.
        let others = format!("/usr/bin/cat {}", at("none"));
        let closed = Closed { instance: Path::new("/nowhere"), writable: &[] };
        let found = find(Listed { programs: &[wc], data: &[others] }, Some(LOADER), closed);
        assert_eq!(found.found.len(), 1, "{found:?}");
    }

    #[test]
    fn usable_commands_are_found_with_libraries_and_others_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let copy = |name: &str, mode: u32| {
            std::fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
            std::fs::copy("/usr/bin/wc", at(name)).unwrap();
            std::fs::set_permissions(at(name), PermissionsExt::from_mode(mode)).unwrap();
        };
        copy("wc", 0o755);
        copy("set-uid", 0o4755);
        copy("set-gid", 0o2755);
        copy("unreadable", 0o644);
        copy("instance/workspace/wc1", 0o755);
        copy("albums/wc2", 0o755);
        symlink(at("wc"), at("link")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        for (name, text) in [("text", "words"), ("script", "#! /bin/sh -e\nid\n")] {
            std::fs::write(at(name), text).unwrap();
            std::fs::set_permissions(at(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        std::fs::write(at("own-script"), format!("#!{}\n", at("wc"))).unwrap();
        std::fs::set_permissions(at("own-script"), PermissionsExt::from_mode(0o755)).unwrap();
        let wrong = [
            ("none", "not installed"),
            ("link", "list that file itself"),
            ("set-uid", "rights of somebody else"),
            ("set-gid", "rights of somebody else"),
            ("unreadable", "may not read and execute"),
            ("instance/workspace/wc1", "may write"),
            ("albums/wc2", "may write"),
            ("folder", "no file"),
            ("text", "no 64-bit ELF"),
            ("script", "script for /bin/sh"),
        ];
        let mut listed: Vec<String> = wrong.iter().map(|(name, _)| at(name)).collect();
        listed.extend([at("wc"), at("own-script")]);
        let instance = folder.join("instance");
        let closed = Closed { instance: &instance, writable: &[at("albums")] };
        let Programs { found, missing, .. } = find(programs(&listed), Some(LOADER), closed);
        assert_eq!(found.iter().map(|one| one.path.clone()).collect::<Vec<_>>(), [at("wc"), at("own-script")]);
        assert!(found[0].libraries.iter().any(|path| path.ends_with("/libc.so.6")), "{found:?}");
        assert_eq!(missing.len(), wrong.len(), "{missing:?}");
        for ((name, why), said) in wrong.iter().zip(&missing) {
            assert!(said.0 == at(name) && said.1.contains(why), "{said:?}");
        }
        let other = find(programs(&[at("wc")]), Some("/lib/other.so"), closed);
        assert!(other.found.is_empty() && other.why_not(&at("wc")).contains("loaded by"), "{other:?}");
    }
}
