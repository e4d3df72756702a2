//! Which binaries a test starts, and where every uid can start them. It must never build anything:
//! `./metnos test` has done that, and a test says so when it has not.

use std::path::{Path, PathBuf};

use metnos_proto::role::RoleName;

/// Everything that a set needs beside the supervisor.
pub const NAMES: [&str; 9] = [
    "metnosctl",
    "metnos-supervisor",
    "metnos-gatewayd",
    "metnos-planner",
    "metnos-mind",
    "metnos-policyd",
    "metnos-sandboxd",
    "metnos-memoryd",
    "metnos-syntd",
];

/// The binary of a role.
#[must_use]
pub fn binary_of(role: RoleName) -> &'static str {
    match role {
        RoleName::Ctl => "metnosctl",
        RoleName::Gatewayd => "metnos-gatewayd",
        RoleName::Planner => "metnos-planner",
        RoleName::Syntd => "metnos-syntd",
        RoleName::Policyd => "metnos-policyd",
        RoleName::Sandboxd => "metnos-sandboxd",
        RoleName::Mind => "metnos-mind",
        RoleName::Memoryd => "metnos-memoryd",
    }
}

/// One of the two builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// The code that ships: `target/plain`, or what `METNOS_SHIPPED` names (`release` in a full run and in benchmarks).
    Shipped,
    /// The same code, able to attempt a forbidden act on the supervisor's word: `target/bench-tests`.
    Attack,
}

impl Build {
    /// Where the build lies.
    ///
    /// # Panics
    /// When this program is not run from a cargo target directory.
    #[must_use]
    pub fn folder(self) -> PathBuf {
        let own = std::env::current_exe().expect("this program's own path");
        // A test lies in `<target>/<profile>/deps`, a program in `<target>/<profile>`.
        let folder = own.parent().filter(|folder| !folder.ends_with("deps")).or(own.parent().and_then(Path::parent));
        let target = folder.and_then(Path::parent).expect("a cargo target directory").to_owned();
        match self {
            Self::Shipped => target.join(shipped(folder)),
            Self::Attack => target.join("bench-tests"),
        }
    }

    /// One binary of the build.
    ///
    /// # Panics
    /// When it was not built.
    #[must_use]
    pub fn binary(self, name: &str) -> PathBuf {
        let path = self.folder().join(name);
        assert!(path.is_file(), "{} is missing: ./metnos test builds it before the tests", path.display());
        path
    }
}

/// The profile of the binaries that are started at home, for a program in this folder.
fn shipped(own: Option<&Path>) -> String {
    match std::env::var("METNOS_SHIPPED") {
        Ok(profile) if !profile.is_empty() => profile,
        // A benchmark measures the build that it is part of.
        _ if own.is_some_and(|folder| folder.ends_with("release")) => "release".to_owned(),
        _ => "plain".to_owned(),
    }
}

/// A folder that any uid may enter, with the binaries of one build in it. The target directory may lie
/// below a closed one, such as root's home.
#[derive(Debug)]
pub struct Staged {
    folder: tempfile::TempDir,
}

impl Staged {
    /// Links (or copies) the whole set of a build.
    ///
    /// # Panics
    /// When a binary was not built, or the temporary directory is full.
    #[must_use]
    pub fn new(build: Build) -> Self {
        let staged = Self { folder: open_folder("metnos-bin-") };
        for name in NAMES {
            staged.add(&build.binary(name));
        }
        staged
    }

    fn add(&self, program: &Path) {
        let name = program.file_name().and_then(|name| name.to_str()).expect("a program has a name");
        self.put(program, name);
    }

    /// Puts a program there under this name, in the place of the one that may have it already.
    ///
    /// # Panics
    /// When it can be neither linked nor copied.
    pub fn put(&self, program: &Path, name: &str) {
        use std::os::unix::fs::PermissionsExt;
        let place = self.path(name);
        let _ = std::fs::remove_file(&place);
        let mode = std::fs::metadata(program).expect("the program is there").permissions().mode();
        let for_all = mode & 0o005 == 0o005;
        if !for_all || std::fs::hard_link(program, &place).is_err() {
            std::fs::copy(program, &place).expect("the temporary directory takes a copy");
            std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).expect("our own copy");
        }
    }

    /// One of the binaries.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// A fresh temporary folder that everybody may enter.
///
/// # Panics
/// When none can be made.
#[must_use]
pub fn open_folder(prefix: &str) -> tempfile::TempDir {
    open_folder_in(&std::env::temp_dir(), prefix)
}

/// The same, in this place.
///
/// # Panics
/// When none can be made.
#[must_use]
pub fn open_folder_in(place: &Path, prefix: &str) -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(place).expect("a temporary directory");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("our own directory");
    folder
}

/// Node: where the machine's own is too old, one that is not lies beside what `./metnos test` installs.
///
/// # Panics
/// When there is no target directory.
#[must_use]
pub fn node() -> PathBuf {
    let target = Build::Shipped.folder().parent().expect("a target directory").to_owned();
    let beside = |machine: &str| target.join(format!("peers/models/node_modules/node-linux-{machine}/bin/node"));
    let found = [beside("x64"), beside("arm64")].into_iter().find(|node| node.is_file());
    found.unwrap_or_else(|| "node".into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::NAMES;

    #[test]
    fn installed_service_binaries_match_those_of_a_set() {
        let needed = BTreeSet::from(NAMES.map(str::to_owned));
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        for file in ["docs/operation.md", "tests/service/run"] {
            let text = std::fs::read_to_string(format!("{root}/{file}")).unwrap();
            let daemons = text.split_once("/metnos-{").and_then(|(_, rest)| rest.split_once('}')).unwrap().0;
            let mut named: BTreeSet<String> = daemons.split(',').map(|name| format!("metnos-{name}")).collect();
            named.insert("metnosctl".to_owned());
            assert_eq!(named, needed, "{file}");
        }
    }
}
