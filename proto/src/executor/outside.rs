//! Folders outside the workspace: the owner lists them, an executor declares what it needs of them, and what it declares must
//! lie in what is listed (design: sandbox §5). Here is what a path may be, lexically; who opens it compares what he has opened.
//! A list can only bound: no entry of it opens what [`forbidden`] closes.

use super::forbidden::{self, Places};
use super::{Capability, Manifest, PathGrant};
use crate::control::FolderSettings;

/// The most folders that can be listed, for reading and for writing together.
pub const MAX_FOLDERS: usize = 16;
/// Where homes are: each of the folders in it is one.
const HOMES: &str = "/home/";

/// A folder that an executor declares, absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// As the manifest has it: `~/Pictures/`.
    pub entry: String,
    /// Where that is; `None` where nobody knows the owner's home.
    pub path: Option<String>,
    /// Whether it may be written.
    pub write: bool,
}

/// The folders outside the workspace that a manifest declares.
#[must_use]
pub fn declared(manifest: &Manifest, settings: &FolderSettings) -> Vec<Declared> {
    let mut found = Vec::new();
    for capability in &manifest.sandbox.capabilities {
        let write = match capability {
            Capability::FsRead(_) => false,
            Capability::FsWrite(_) => true,
            Capability::Net(_) | Capability::Exec(_) | Capability::Secret(_) => continue,
        };
        let outside = |entry: &&String| !matches!(PathGrant::parse(entry), Some(PathGrant::Workspace(_)) | None);
        let declared = |entry: &String| Declared { entry: entry.clone(), path: settings.absolute(entry), write };
        found.extend(capability.entries().iter().filter(outside).map(declared));
    }
    found
}

impl FolderSettings {
    /// Where a declared or listed folder is: `~/Pictures`, `/srv/photos/`; `None` for what is below the workspace, is no such
    /// text, or begins at a home that nobody knows.
    #[must_use]
    pub fn absolute(&self, text: &str) -> Option<String> {
        let folder = if text.ends_with('/') { text.to_owned() } else { format!("{text}/") };
        match PathGrant::parse(&folder)? {
            PathGrant::Workspace(_) => None,
            PathGrant::Home(rest) => (!self.home.is_empty()).then(|| format!("{}/{rest}", self.home)),
            PathGrant::Absolute(path) => Some(path),
        }
    }

    /// Where a file is that a call names: `~/…` or `/…`, with `.`, `..` and repeated slashes taken away. `None` for what is
    /// named from the workspace.
    #[must_use]
    pub fn place(&self, text: &str) -> Option<String> {
        let text = match text.strip_prefix('~') {
            Some(rest) if (rest.is_empty() || rest.starts_with('/')) && !self.home.is_empty() => {
                format!("{}{rest}", self.home)
            }
            Some(_) | None => text.to_owned(),
        };
        let mut parts = Vec::new();
        for part in text.strip_prefix('/')?.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                name => parts.push(name),
            }
        }
        Some(format!("/{}", parts.join("/")))
    }

    /// The listed folder that is `path`, or that it lies in: for reading, or for `write`.
    #[must_use]
    pub fn listed(&self, path: &str, write: bool) -> Option<&str> {
        let reading = self.read.iter().filter(|_| !write);
        self.write.iter().chain(reading).map(String::as_str).find(|folder| below(path, folder).is_some())
    }

    /// Every listed folder, once.
    #[must_use]
    pub fn all(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.read.iter().chain(&self.write).map(String::as_str).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// What `path` is below `folder`, without a slash at its begin; both absolute and plain.
#[must_use]
pub fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// Why nothing of the folder at `path`, absolute, can be shown to any executor, no matter who lists it; `None` when the text is
/// against nothing.
#[must_use]
pub fn closed(path: &str) -> Option<String> {
    let places = Places::default();
    if let Some(closed) = forbidden::check(path, &places) {
        return Some(format!("it is {}, or lies in it: {}", closed.place, closed.why));
    }
    if let Some(closed) = forbidden::covers(path, &places) {
        return Some(format!("{} would lie in it: {}", closed.place, closed.why));
    }
    let names = path.split('/').skip(1).count();
    if names < 2 {
        return Some("it is the root, or lies directly in it; list a narrower one".to_owned());
    }
    let home = path.strip_prefix(HOMES).is_some_and(|rest| !rest.contains('/'));
    home.then(|| "it is a whole home; list the folders in it that are meant".to_owned())
}

/// Why a folder cannot be listed, if it cannot: what is [`closed`], and what is or holds the owner's home or the instance, or
/// lies in the instance.
#[must_use]
pub fn refused(path: &str, home: &str, instance: &str) -> Option<String> {
    if let Some(why) = closed(path) {
        return Some(why);
    }
    if !home.is_empty() && below(home, path).is_some() {
        return Some("it is a whole home, or holds one; list the folders in it that are meant".to_owned());
    }
    if below(instance, path).is_some() || below(path, instance).is_some() {
        return Some("it holds Metnos's own state, or lies in it".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> FolderSettings {
        FolderSettings {
            home: "/home/ada".to_owned(),
            read: vec!["/home/ada/Pictures".to_owned()],
            write: vec!["/srv/photos".to_owned()],
        }
    }

    #[test]
    fn listed_folder_matches_whole_names_and_writes_need_own_entry() {
        let settings = settings();
        for (path, read, write) in [
            ("/home/ada/Pictures", true, false),
            ("/home/ada/Pictures/2024", true, false),
            ("/home/ada/Pictures2", false, false),
            ("/home/ada", false, false),
            ("/srv/photos/a/b", true, true),
            ("/srv", false, false),
        ] {
            assert_eq!(settings.listed(path, false).is_some(), read, "{path}");
            assert_eq!(settings.listed(path, true).is_some(), write, "{path}");
        }
    }

    #[test]
    fn outside_path_has_one_reading() {
        let settings = settings();
        for (text, place) in [
            ("~/Pictures/a.jpg", Some("/home/ada/Pictures/a.jpg")),
            ("~/Pictures/./x/..//a.jpg", Some("/home/ada/Pictures/a.jpg")),
            ("~/Pictures/../.ssh/id", Some("/home/ada/.ssh/id")),
            ("~", Some("/home/ada")),
            ("//srv///photos/", Some("/srv/photos")),
            ("/../../etc", Some("/etc")),
            ("~other/x", None),
            ("notes/a.md", None),
            ("", None),
        ] {
            assert_eq!(settings.place(text).as_deref(), place, "{text}");
        }
        assert_eq!(FolderSettings::default().place("~/a"), None);
        assert_eq!(FolderSettings::default().absolute("~/a/"), None);
        assert_eq!(settings.absolute("~/Pictures/").as_deref(), Some("/home/ada/Pictures"));
        assert_eq!(settings.absolute("~/Pictures").as_deref(), Some("/home/ada/Pictures"));
        for none in ["workspace/", "workspace/a", "~/a/../b", "a/b", "~", "/"] {
            assert_eq!(settings.absolute(none), None, "{none}");
        }
    }

    #[test]
    fn no_list_opens_what_is_closed_what_holds_it_a_home_or_the_instance() {
        let (home, instance) = ("/home/ada", "/home/ada/.local/share/metnos");
        for path in [
            "/etc",
            "/etc/ssl",
            "/root/x",
            "/opt/other",
            "/dev/shm",
            "/run/user/1000",
            "/home/ada/.ssh",
            "/home/ada/.config",
            "/home/ada/x/.gnupg/y",
            "/home/ada/.config/metnos",
            "/srv",
            "/home",
            "/home/bob",
            "/home/ada",
            "/home/ada/.local",
            "/home/ada/.local/share/metnos",
            "/home/ada/.local/share/metnos/workspace/notes",
            "/home/ada/.local/share/metnos/run",
        ] {
            assert!(refused(path, home, instance).is_some(), "{path}");
        }
        for path in ["/home/ada/Pictures", "/srv/photos", "/mnt/disk/films", "/home/ada/.local-things/x"] {
            assert_eq!(refused(path, home, instance), None, "{path}");
        }
        assert!(refused("/data/people/ada", "/data/people/ada", instance).is_some());
        assert!(refused("/data/people", "/data/people/ada", instance).is_some());
    }
}
