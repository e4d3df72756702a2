//! The folders outside the workspace that the owner has listed: read strictly, opened once, and handed to the two daemons that
//! decide on them and show them. Must never open one that is closed, by whatever name or mount it is reached, nor follow a link.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use metnos_proto::control::FolderSettings;
use metnos_proto::executor::forbidden::{CLOSED_NAMES, CLOSED_TREES};
use metnos_proto::executor::outside::{self, MAX_FOLDERS};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;

/// A listed folder, open for naming it only.
#[derive(Debug)]
pub struct Opened {
    /// Its absolute path.
    pub path: String,
    /// It.
    pub fd: OwnedFd,
}

/// The configured folders as absolute paths. `home` is that of the owner's account, where the configuration names none;
/// `instance` is where Metnos lies.
///
/// # Errors
/// In a sentence, which of them cannot be listed.
pub fn read(configured: &FolderSettings, home: Option<String>, instance: &str) -> Result<FolderSettings, String> {
    let home = if configured.home.is_empty() { home.unwrap_or_default() } else { configured.home.clone() };
    let at_home = FolderSettings { home: home.clone(), ..FolderSettings::default() };
    let absolute = |folders: &[String], key: &str| {
        let one = |text: &String| {
            let path = at_home.absolute(text).ok_or_else(|| {
                format!("sandbox.{key}: {text} begins at a home, and the owner has none that is known; name it from the root")
            })?;
            match outside::refused(&path, &home, instance) {
                Some(why) => Err(format!("sandbox.{key}: {text} cannot be shown to any executor: {why}")),
                None => Ok(path),
            }
        };
        folders.iter().map(one).collect::<Result<Vec<_>, _>>()
    };
    let folders = FolderSettings {
        read: absolute(&configured.read, "folders")?,
        write: absolute(&configured.write, "writable")?,
        home,
    };
    let all = folders.all();
    if all.len() > MAX_FOLDERS {
        return Err(format!(
            "sandbox.folders, sandbox.writable: {} folders; at most {MAX_FOLDERS} can be listed",
            all.len()
        ));
    }
    // What lies in another would be shown by two mounts, with two rights.
    let nested = all.iter().find_map(|one| {
        let above = all.iter().find(|other| one != *other && outside::below(one, other).is_some())?;
        Some(format!("sandbox.folders, sandbox.writable: {one} lies in {above}; list one of them"))
    });
    nested.map_or(Ok(folders), Err)
}

/// Opens what is listed; and why the others are not shown, each in a sentence.
#[must_use]
pub fn open(folders: &FolderSettings, instance: &Path) -> (Vec<Opened>, Vec<String>) {
    let all = folders.all();
    if all.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let table = match std::fs::read("/proc/self/mountinfo") {
        Ok(table) => Table::read(&table),
        Err(error) => return (Vec::new(), vec![format!("no listed folder is shown: the table of mounts: {error}")]),
    };
    let closed = closed(folders, instance, &table);
    let (mut opened, mut in_the_way) = (Vec::new(), Vec::new());
    for path in all {
        match open_one(path, &table, &closed) {
            Ok(fd) => opened.push(Opened { path: path.to_owned(), fd }),
            Err(why) => in_the_way.push(format!("the listed folder {path} is not shown to executors: {why}")),
        }
    }
    (opened, in_the_way)
}

fn open_one(path: &str, table: &Table, closed: &[(PathBuf, Place)]) -> Result<OwnedFd, String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let fd = rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve).map_err(|errno| match errno {
        Errno::LOOP => {
            "there is a symbolic link on the way to it; list it by the path that the link leads to".to_owned()
        }
        Errno::NOENT => "it is not there".to_owned(),
        Errno::NOTDIR => "it is no folder".to_owned(),
        other => other.to_string(),
    })?;
    if let Some(below) = table.points.iter().find(|point| point.starts_with(path) && *point != Path::new(path)) {
        return Err(format!("{} is mounted in it, and the kernel does not let that be left out", below.display()));
    }
    let place = table.place(&fd, Path::new(path)).ok_or("the kernel does not say where it really is")?;
    match closed.iter().find(|(_, closed)| place.meets(closed)) {
        Some((name, _)) => {
            Err(format!("by a mount it is the same place as {}, or one in it or around it", name.display()))
        }
        None => Ok(fd),
    }
}

/// Where what is closed really is, as far as it is there.
fn closed(folders: &FolderSettings, instance: &Path, table: &Table) -> Vec<(PathBuf, Place)> {
    let home = Path::new(&folders.home);
    let at_home = CLOSED_NAMES.iter().filter(|_| !folders.home.is_empty()).map(|(name, _why)| home.join(name));
    let trees = CLOSED_TREES.iter().map(|(tree, _why)| PathBuf::from(tree));
    let real = |name: PathBuf| {
        // Where a link leads is where it is.
        let path = name.canonicalize().ok()?;
        let fd = rustix::fs::openat(CWD, &path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        Some((name, table.place(&fd, &path)?))
    };
    trees.chain(at_home).chain([instance.to_owned()]).filter_map(real).collect()
}

/// Where a folder is on its file system, whatever mounts lead to it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    device: String,
    path: PathBuf,
}

impl Place {
    /// Whether one of them is the other, or lies in it.
    fn meets(&self, other: &Self) -> bool {
        self.device == other.device && (self.path.starts_with(&other.path) || other.path.starts_with(&self.path))
    }
}

/// The table of mounts (proc_pid_mountinfo(5)).
#[derive(Debug, Default)]
struct Table {
    /// Number, device, the part of the file system that is mounted, and where.
    mounts: Vec<(u64, String, PathBuf, PathBuf)>,
    points: Vec<PathBuf>,
}

impl Table {
    fn read(text: &[u8]) -> Self {
        let mut table = Self::default();
        for line in text.split(|byte| *byte == b'\n') {
            let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').take(5).collect();
            let [number, _parent, device, root, point] = words.as_slice() else { continue };
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let Ok(number) = text(number).parse() else { continue };
            let (root, point) = (plain(root), plain(point));
            table.points.push(point.clone());
            table.mounts.push((number, text(device), root, point));
        }
        table
    }

    /// Where the folder `fd` is, which was opened at `path` without following a link.
    fn place(&self, fd: &OwnedFd, path: &Path) -> Option<Place> {
        let stat = rustix::fs::statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
        let (_, device, root, point) = self.mounts.iter().find(|(number, ..)| *number == stat.stx_mnt_id)?;
        let rest = path.strip_prefix(point).ok()?;
        Some(Place { device: device.clone(), path: root.join(rest) })
    }
}

/// Blanks, tabs, line ends and backslashes are written as a backslash and three octal digits.
fn plain(word: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, more)) = rest.split_first() {
        let digits = more.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(code.unwrap_or(*first));
        rest = if code.is_some() { more.get(3..).unwrap_or_default() } else { more };
    }
    PathBuf::from(std::ffi::OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    fn configured(read: &[&str], write: &[&str]) -> FolderSettings {
        let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        FolderSettings { home: String::new(), read: own(read), write: own(write) }
    }

    fn of(read: &[&str], write: &[&str]) -> Result<FolderSettings, String> {
        super::read(&configured(read, write), Some("/home/ada".to_owned()), "/var/lib/metnos")
    }

    #[test]
    fn listed_folder_is_absolute_or_below_home() {
        let folders = of(&["~/Pictures"], &["/srv/photos"]).unwrap();
        assert_eq!(folders.read, ["/home/ada/Pictures"]);
        assert_eq!(folders.write, ["/srv/photos"]);
        assert!(of(&["/srv/photos"], &["/srv/photos"]).is_ok(), "to read and to write is one folder");
        let nobody = super::read(&configured(&["~/Pictures"], &[]), None, "/var/lib/metnos");
        assert!(nobody.unwrap_err().contains("home"));
    }

    #[test]
    fn closed_home_or_nested_folder_cannot_be_listed() {
        for (read, write) in [
            (&["~/.ssh"][..], &[][..]),
            (&["/etc"], &[]),
            (&["/var/lib/metnos/workspace"], &[]),
            (&["/var/lib"], &[]),
            (&["/home/ada"], &[]),
            (&["/home/bob"], &[]),
            (&[], &["~/.config"]),
            (&["~/a"], &["~/a/b"]),
            (&["~/a/b", "~/a"], &[]),
        ] {
            assert!(of(read, write).is_err(), "{read:?} {write:?}");
        }
        let many: Vec<String> = (0..=MAX_FOLDERS).map(|n| format!("/srv/{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(of(&many[1..], &[]).is_ok() && of(&many, &[]).is_err());
    }

    #[test]
    fn listed_folder_is_opened_and_links_files_missing_are_distinct() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let at = |name: &str| folder.join(name);
        std::fs::create_dir_all(at("instance/workspace")).unwrap();
        std::fs::create_dir_all(at("pictures/a")).unwrap();
        std::fs::write(at("file"), "x").unwrap();
        symlink(at("pictures"), at("link")).unwrap();
        let names = ["pictures", "link", "link/a", "file", "none"];
        let folders = FolderSettings {
            home: String::new(),
            read: names.map(|name| at(name).to_str().unwrap().to_owned()).to_vec(),
            write: Vec::new(),
        };
        let (opened, in_the_way) = open(&folders, &at("instance"));
        assert_eq!(opened.len(), 1, "{in_the_way:?}");
        let (stat, real) = (rustix::fs::fstat(&opened[0].fd).unwrap(), std::fs::metadata(at("pictures")).unwrap());
        assert_eq!((stat.st_dev, stat.st_ino), (real.dev(), real.ino()));
        let said = in_the_way.join("\n");
        for part in ["link on the way", "no folder", "not there"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }

    #[test]
    fn a_place_is_what_it_is_whatever_mounts_lead_to_it() {
        let table = Table::read(
            b"20 1 8:1 / / rw - ext4 /dev/a rw\n21 20 8:1 /etc/ssl /home/ada/a\\040b rw - ext4 /dev/a rw\n\
              22 20 8:2 / /srv rw - ext4 /dev/b rw\nnonsense\n",
        );
        let place = |device: &str, path: &str| Place { device: device.to_owned(), path: path.into() };
        assert_eq!(table.points[1], Path::new("/home/ada/a b"));
        assert_eq!(table.mounts[1].2, Path::new("/etc/ssl"));
        assert!(place("8:1", "/etc/ssl").meets(&place("8:1", "/etc")), "in what is closed");
        assert!(place("8:1", "/").meets(&place("8:1", "/etc")), "around what is closed");
        assert!(!place("8:1", "/etcetera").meets(&place("8:1", "/etc")));
        assert!(!place("8:2", "/etc").meets(&place("8:1", "/etc")), "another disk");
    }
}
