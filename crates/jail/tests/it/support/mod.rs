//! Runs the locked program as a user who is not root, and reads what it says. It
//! must never itself be locked: a lock cannot be taken off.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use metnos_jail::attack::MEMFD_EXIT;
use metnos_jail::{Layer, Profile};

/// The uid and gid of nobody, used when the tests run as root.
pub const NOBODY: u32 = 65534;

/// How one act ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Succeeded,
    Stopped(i32),
    KilledByFilter,
}

impl Ended {
    pub fn was_stopped(&self) -> bool {
        *self != Ended::Succeeded
    }
}

pub fn as_root() -> bool {
    // The owner of an own /proc entry is the effective uid.
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0
}

/// Folders of its own and the program, where an ordinary user can reach both.
pub struct Ground {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Ground {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        open_to_all(folder.path());
        let program = folder.path().join("attempt");
        std::fs::copy(env!("CARGO_BIN_EXE_metnos-jail-attempt"), &program).unwrap();
        open_to_all(&program);
        Ground { folder, program }
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    /// A folder that anybody may write to, as far as permissions go.
    pub fn folder(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        open_to_all(&path);
        path.to_str().unwrap().to_owned()
    }

    /// A file in such a folder.
    pub fn file(&self, folder: &str, name: &str) -> String {
        let path = format!("{}/{name}", self.folder(folder));
        std::fs::write(&path, "words").unwrap();
        open_to_all(Path::new(&path));
        path
    }

    /// The program, not as root, for a role with folders for all its places.
    pub fn command(&self, role: &str) -> Command {
        let mut command = self.unlocked(self.program.to_str().unwrap());
        command.arg(role);
        for place in Profile::load(role).unwrap().landlock.places {
            command.arg(format!("{}={}", place.name, self.folder(&place.name)));
        }
        command
    }

    /// Any program, not as root.
    pub fn unlocked(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        if as_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.current_dir("/").stdin(Stdio::null());
        command
    }

    /// The words of the report, and whatever follows.
    pub fn lines(&self, role: &str, words: &[&str]) -> Vec<String> {
        let output = self.command(role).args(words).output().unwrap();
        lines(&output)
    }

    /// One act under the lock of a role without some layers.
    pub fn attempt(&self, role: &str, waive: &[Layer], act: &str, aim: Option<&str>) -> Ended {
        let mut command = self.command(role);
        if !waive.is_empty() {
            // A ring of asynchronous calls needs locked memory: the limit is not the layer to be seen.
            command.arg("limits=off");
        }
        for layer in waive {
            command.arg(format!("waive={layer}"));
        }
        command.arg(match aim {
            Some(aim) => format!("act={act}:{aim}"),
            None => format!("act={act}"),
        });
        ended(act, &command.output().unwrap())
    }
}

pub fn lines(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(str::to_owned).collect()
}

pub fn ended(act: &str, output: &Output) -> Ended {
    let lines = lines(output);
    if let Some(error) = lines.iter().find(|line| line.starts_with("error ")) {
        panic!("{act}: {error}");
    }
    if output.status.signal() == Some(libc::SIGSYS) {
        return Ended::KilledByFilter;
    }
    let said = lines.iter().find_map(|line| line.strip_prefix(&format!("{act} ")));
    match said.map(|said| said.split_once(' ').unwrap()) {
        Some(("stopped", errno)) => Ended::Stopped(errno.parse().unwrap()),
        Some(("succeeded", _)) => Ended::Succeeded,
        // It has become another program, which says nothing.
        None if act == "exec" && output.status.success() => Ended::Succeeded,
        None if act == "memfd-exec" && output.status.code() == Some(MEMFD_EXIT) => Ended::Succeeded,
        _ => panic!("{act}: {output:?}"),
    }
}

/// A bystander of the same uid, at whom acts can be aimed.
pub struct Bystander(Child);

impl Bystander {
    pub fn new(ground: &Ground) -> Self {
        let mut child = ground.unlocked("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // It is `cat`, and no longer a copy of this test, once it answers.
        use std::io::{Read as _, Write as _};
        child.stdin.as_mut().unwrap().write_all(b".").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        Bystander(child)
    }

    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn open_to_all(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
}
