//! Which directory is meant, and what stands in it. Only looks: nothing is created here.

pub mod atomic_file;
pub mod create;
pub mod seeds;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::CtlError;

/// The instance of a machine, as packages set it up.
pub const SYSTEM: &str = "/var/lib/metnos";
/// The configuration, inside the instance.
pub const CONFIG: &str = "metnos.toml";
/// The owner's files, inside the instance.
pub const WORKSPACE: &str = "workspace";
/// The largest configuration, in bytes, as the supervisor reads it.
pub const MAX_CONFIG: u64 = 64 * 1024;
/// What was answered at the first interview, inside the instance.
pub const BIRTH: &str = ".birth.toml";
/// Sockets and logs, inside the instance.
pub const RUN: &str = "run";
/// The supervisor's socket, inside [`RUN`].
pub const SOCKET: &str = "control.sock";
/// How the name of a directory begins in which a workspace is being built.
pub const NEW: &str = ".new-";
/// What else belongs to an instance, whether it has a workspace or not.
const PARTS: [&str; 11] =
    [CONFIG, RUN, BIRTH, ".policy", ".gateway", ".mind", ".audit", ".mnestome", ".soul", ".runtime", "lost+found"];
/// The supervisor's log, inside [`RUN`].
pub const LOG: &str = "supervisor.log";

/// How many of the things that lie in the way are named.
const MAX_NAMED: usize = 5;

/// The first existing directory above `path` that other users may not enter.
fn closed_way(path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let closed = |folder: &&Path| std::fs::metadata(folder).is_ok_and(|meta| meta.mode() & 0o001 == 0);
    path.ancestors().skip(1).find(closed).map(Path::to_owned)
}

/// What a directory holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// It does not exist, or holds nothing but parts of an instance without a workspace.
    Nothing,
    /// An instance: there is a workspace.
    Instance,
    /// Something else; some names of it.
    Other(Vec<String>),
}

/// An instance's directory, whether it exists or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    directory: PathBuf,
}

impl Instance {
    /// The directory that was named, else `$METNOS_HOME`, else the user's, else the machine's
    /// where there is one, else the user's that is still to be created (for root only if other users
    /// may walk there, else the machine's). `var` reads the environment.
    ///
    /// # Errors
    /// When nothing is named and the user has no home.
    pub fn find(named: Option<PathBuf>, var: impl Fn(&str) -> Option<OsString>) -> Result<Self, CtlError> {
        let root = rustix::process::geteuid().is_root();
        Self::find_beside(named, var, Path::new(SYSTEM), root)
    }

    fn find_beside(
        named: Option<PathBuf>,
        var: impl Fn(&str) -> Option<OsString>,
        system: &Path,
        root: bool,
    ) -> Result<Self, CtlError> {
        let set = |name: &str| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(directory) = named.or_else(|| set("METNOS_HOME")) {
            return Self::at(&directory);
        }
        let data = set("XDG_DATA_HOME").filter(|path| path.is_absolute());
        let user = data.or_else(|| set("HOME").map(|home| home.join(".local/share"))).map(|data| data.join("metnos"));
        // Root's own home is mostly closed to the users that the daemons would run as.
        let unfit = |user: &Path| root && !user.exists() && closed_way(user).is_some();
        match user {
            Some(user) if unfit(&user) => Self::at(system),
            Some(user) if user.exists() || !system.exists() => Self::at(&user),
            None if !system.exists() => Err(CtlError::Usage {
                what: "no instance is named, and this user has no home directory".to_owned(),
                remedy: "name one: `metnosctl --instance DIR …`, or set METNOS_HOME".to_owned(),
            }),
            Some(_) | None => Self::at(system),
        }
    }

    /// The instance in this very directory.
    ///
    /// # Errors
    /// When the path is empty, or relative and the working directory is gone.
    pub fn at(directory: &Path) -> Result<Self, CtlError> {
        let absolute = std::path::absolute(directory).map_err(|error| CtlError::Usage {
            what: format!("`{}` is no directory's name: {error}", directory.display()),
            remedy: "name the instance's directory: `metnosctl --instance DIR …`".to_owned(),
        })?;
        Ok(Self { directory: absolute })
    }

    /// The directory, absolute.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The supervisor's log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.directory.join(RUN).join(LOG)
    }

    /// The first directory on the way to it that other users may not enter.
    #[must_use]
    pub fn closed_way(&self) -> Option<PathBuf> {
        closed_way(&self.directory)
    }

    /// What stands in the directory.
    ///
    /// # Errors
    /// When it cannot be looked at, or is a file.
    pub fn content(&self) -> io::Result<Content> {
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::Nothing),
            // An instance of the machine may be passed through and not be listed.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && self.directory.join(RUN).is_dir() => {
                return Ok(Content::Instance);
            }
            Err(error) => return Err(error),
        };
        let mut others = Vec::new();
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name == WORKSPACE {
                // An empty one is none: a person made the directory and not its content.
                let holds = std::fs::read_dir(self.directory.join(WORKSPACE)).map(|mut inside| inside.next().is_some());
                match holds {
                    Ok(false) => {}
                    Ok(true) => return Ok(Content::Instance),
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Content::Instance),
                    Err(error) => return Err(error),
                }
            } else if !PARTS.contains(&name.as_str()) && !name.starts_with(NEW) {
                others.push(name);
            }
        }
        others.sort();
        others.truncate(MAX_NAMED);
        Ok(if others.is_empty() { Content::Nothing } else { Content::Other(others) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::collections::HashMap;

    fn found(named: Option<&str>, vars: &[(&str, &Path)], system: &Path) -> Result<PathBuf, CtlError> {
        let vars: HashMap<&str, OsString> = vars.iter().map(|(name, path)| (*name, path.as_os_str().into())).collect();
        Instance::find_beside(named.map(PathBuf::from), |name| vars.get(name).cloned(), system, false)
            .map(|instance| instance.directory)
    }

    #[test]
    fn instance_is_found_by_option_then_environment_then_user_then_system() {
        let dir = tempfile::tempdir().unwrap();
        let (home, data, system) = (dir.path().join("home"), dir.path().join("data"), dir.path().join("system"));
        let none = dir.path().join("none");
        let all: [(&str, &Path); 3] = [("METNOS_HOME", Path::new("/env")), ("XDG_DATA_HOME", &data), ("HOME", &home)];
        assert_eq!(found(Some("/named"), &all, &none).unwrap(), Path::new("/named"));
        assert_eq!(found(None, &all, &none).unwrap(), Path::new("/env"));
        assert_eq!(found(None, &all[1..], &none).unwrap(), data.join("metnos"));
        assert_eq!(found(None, &all[2..], &none).unwrap(), home.join(".local/share/metnos"));
        std::fs::create_dir(&system).unwrap();
        assert_eq!(found(None, &all[1..], &system).unwrap(), system, "the user's does not exist, the machine's does");
        std::fs::create_dir_all(data.join("metnos")).unwrap();
        assert_eq!(found(None, &all[1..], &system).unwrap(), data.join("metnos"));
        assert_eq!(found(None, &[], &system).unwrap(), system);
        assert_eq!(found(None, &[], &none).unwrap_err().exit(), crate::error::Exit::Usage);
    }

    #[test]
    fn root_whose_home_is_closed_to_others_gets_the_machines_instance() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        std::fs::create_dir(&home).unwrap();
        let none = dir.path().join("none");
        let find = |root| {
            let var = |name: &str| (name == "HOME").then(|| home.clone().into_os_string());
            Instance::find_beside(None, var, &none, root).unwrap().directory
        };
        let user = home.join(".local/share/metnos");
        let mode = |mode| {
            for folder in [dir.path(), &home] {
                std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
            }
        };
        mode(0o700);
        assert_eq!((find(false), find(true)), (user.clone(), none.clone()));
        mode(0o755);
        assert_eq!(find(true), user);
        mode(0o700);
        std::fs::create_dir_all(&user).unwrap();
        assert_eq!(find(true), user, "what exists is not passed over");
    }

    #[test]
    fn an_empty_or_relative_variable_counts_as_unset() {
        let none = Path::new("/nonexistent/metnos");
        let vars: [(&str, &Path); 3] =
            [("METNOS_HOME", Path::new("")), ("XDG_DATA_HOME", Path::new("rel")), ("HOME", Path::new("/h"))];
        assert_eq!(found(None, &vars, none).unwrap(), Path::new("/h/.local/share/metnos"));
    }

    #[test]
    fn a_directory_with_other_things_is_no_instance() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &Path| Instance::at(path).unwrap().content().unwrap();
        assert_eq!(at(&dir.path().join("none")), Content::Nothing);
        assert_eq!(at(dir.path()), Content::Nothing);
        std::fs::write(dir.path().join("thesis.tex"), "").unwrap();
        assert_eq!(at(dir.path()), Content::Other(vec!["thesis.tex".to_owned()]));
        std::fs::create_dir(dir.path().join(WORKSPACE)).unwrap();
        assert_eq!(at(dir.path()), Content::Other(vec!["thesis.tex".to_owned()]), "an empty workspace is none");
        std::fs::write(dir.path().join(WORKSPACE).join("USER.md"), "").unwrap();
        assert_eq!(at(dir.path()), Content::Instance);
    }
}
