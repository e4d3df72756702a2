//! sandboxd's own view of the file system, made before its lock: a root in memory with the
//! workspace, the folders that the owner has listed, the pool, the interpreter and three devices. What is not in it cannot be given
//! to an executor by mistake, nor reached by sandboxd itself: not the keys, not the chronicle,
//! not the owner's home, even where all daemons share one uid.
//!
//! sandboxd's lock cannot do this with Landlock, whose file rules would forbid it and its
//! children every mount.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use metnos_proto::control::FolderSettings;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::DumpableBehavior;

use crate::confine::host_folders;
use crate::confine::mounts;
use crate::confine::userns;
use crate::machine::commands::Programs;
use crate::machine::interpreter::Interpreter;
use crate::plan::{
    CA_FILE, DEVICES, Memory, MountFlags, OUTSIDE, OUTSIDE_WRITABLE, POOL_NAME, SCRATCH, SEAL_FILE, WORKSPACE, WRITABLE,
};
use crate::sys;

/// The pool of executors in the view, writable: locks and signatures are put there.
pub const POOL: &str = "/pool";
/// Where each sandbox builds its root, in its own copy of the view.
pub const NEW_ROOT: &str = "/new";
/// The seal, part of this binary; `build.rs` makes it.
const SEAL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/_metnos_seal.so"));
/// The most bytes and files that scratch workspaces of birth tests may take, together.
const SCRATCH_SIZE: Memory = Memory { bytes: 64 << 20, files: 4096 };

/// The most bytes and files of the folder of the seal.
const SEAL_SIZE: Memory = Memory { bytes: 1 << 20, files: 8 };

/// Why there is no view.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// No user namespace.
    #[error(
        "the kernel gives this user no user namespace to work in ({step}: {errno}); without one nothing can be executed safely. \
         {remedy}"
    )]
    NoNamespace {
        /// What was being done.
        step: &'static str,
        /// What the kernel said.
        errno: Errno,
        /// What the owner can do.
        remedy: String,
    },
    /// The instance has no workspace or no pool.
    #[error("the folder {path} cannot be opened: {errno}")]
    NoFolder {
        /// Which.
        path: String,
        /// What the kernel said.
        errno: Errno,
    },
    /// Anything else.
    #[error("{step}: {errno}")]
    Step {
        /// What was being done.
        step: String,
        /// What the kernel said.
        errno: Errno,
    },
}

fn step(what: impl Into<String>) -> impl FnOnce(Errno) -> ViewError {
    let step = what.into();
    move |errno| ViewError::Step { step, errno }
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// A namespace that is given and good for nothing is refused as well: so does Ubuntu's AppArmor, and what fails is the first thing
/// that is done in it.
fn no_namespace(step: &'static str) -> impl FnOnce(Errno) -> ViewError {
    move |errno| ViewError::NoNamespace { step, errno, remedy: userns::remedy(userns::read, &userns::program()) }
}

/// A source of the view: opened before anything is moved.
struct Source {
    target: String,
    tree: OwnedFd,
    folder: bool,
}

/// Moves this process, which must have one thread, into its own view of the instance at `instance`, and of the `folders` outside
/// its workspace, as far as they are in `listed`. Why one of those is not shown is returned, a sentence each.
///
/// # Errors
/// A [`ViewError`]; the process must then end.
pub fn enter(
    instance: &Path,
    interpreter: &Interpreter,
    certificates: Option<&str>,
    programs: &Programs,
    (folders, listed): (&[(String, OwnedFd)], &FolderSettings),
) -> Result<Vec<String>, ViewError> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // The files by which ids are mapped belong to root as long as a process is not dumpable.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(step("becoming dumpable"))?;
    sys::unshare_user().map_err(|error| no_namespace("making it")(errno_of(&error)))?;
    let proc_self = rustix::fs::open("/proc/self", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let proc_self = proc_self.map_err(step("opening /proc/self"))?;
    mounts::map_ids(proc_self.as_fd(), uid, uid, gid).map_err(no_namespace("mapping ids into it"))?;
    drop(proc_self);
    let (outside, not_shown) = outside(folders, listed);
    sys::unshare_mounts().map_err(|error| no_namespace("mounting in it")(errno_of(&error)))?;
    let private = rustix::mount::MountPropagationFlags::PRIVATE | rustix::mount::MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).map_err(step("taking the mounts for itself"))?;
    let mut sources = sources(instance, interpreter)?;
    sources.extend(outside);
    for path in programs.found.iter().flat_map(|command| [&command.path].into_iter().chain(&command.libraries)) {
        if !sources.iter().any(|source| source.target == *path) {
            sources.push(part(path, MountFlags::CODE, false)?);
        }
    }
    for path in programs.found.iter().flat_map(|command| &command.data) {
        if !sources.iter().any(|source| source.target == *path) {
            sources.push(part(path, MountFlags::READ, true)?);
        }
    }
    if let Some(path) = certificates {
        sources.push(Source { target: CA_FILE.to_owned(), ..part(path, MountFlags::READ, false)? });
    }
    let root =
        mounts::memory(Memory { bytes: 1 << 20, files: 1024 }, "0755").map_err(step("making a root in memory"))?;
    // Any folder will do; /proc is always there, and was copied above.
    let place =
        rustix::fs::open("/proc", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(step("opening /proc"))?;
    mounts::attach(root.as_fd(), place.as_fd()).map_err(step("attaching the root"))?;
    for source in &sources {
        let put = || {
            let place = mounts::make_place(root.as_fd(), &source.target, source.folder)?;
            mounts::attach(source.tree.as_fd(), place.as_fd())
        };
        put().map_err(step(format!("showing {}", source.target)))?;
    }
    let scratch = mounts::memory(SCRATCH_SIZE, "0700").map_err(step("making scratch memory"))?;
    let seal = mounts::memory_for_code(SEAL_SIZE, "0755").map_err(step("making memory for the seal"))?;
    let attach_scratch = || {
        mounts::make_place(root.as_fd(), NEW_ROOT, true)?;
        let (folder, name) = SEAL_FILE.rsplit_once('/').unwrap_or_default();
        mounts::attach(seal.as_fd(), mounts::make_place(root.as_fd(), folder, true)?.as_fd())?;
        mounts::write_file(seal.as_fd(), name, SEAL, 0o444)?;
        mounts::restrict(seal.as_fd(), MountFlags::CODE)?;
        mounts::attach(scratch.as_fd(), mounts::make_place(root.as_fd(), SCRATCH, true)?.as_fd())?;
        mounts::restrict(root.as_fd(), MountFlags::READ)
    };
    attach_scratch().map_err(step("finishing the root"))?;
    mounts::change_root(root.as_fd()).map_err(step("changing the root"))?;
    Ok(not_shown)
}

/// The folders outside the workspace, each where it may be read and, if it is listed for that, where it may be written.
fn outside(folders: &[(String, OwnedFd)], listed: &FolderSettings) -> (Vec<Source>, Vec<String>) {
    let (mut sources, mut not_shown) = (Vec::new(), Vec::new());
    for (path, fd) in folders {
        let made = if listed.write.contains(path) {
            host_folders::copies(fd.as_fd(), [MountFlags::READ, MountFlags::WRITE])
        } else if listed.read.contains(path) {
            host_folders::copies(fd.as_fd(), [MountFlags::READ])
        } else {
            continue;
        };
        match made {
            Ok(trees) => {
                let place = |(tree, root)| Source { target: format!("{root}{path}"), tree, folder: true };
                sources.extend(trees.into_iter().zip([OUTSIDE, OUTSIDE_WRITABLE]).map(place));
            }
            Err(Errno::INVAL) => not_shown.push(format!("{path}: something is mounted in it")),
            Err(Errno::ACCESS) => not_shown.push(format!("{path}: the user of sandboxd may not enter it")),
            Err(errno) => not_shown.push(format!("{path}: {errno}")),
        }
    }
    (sources, not_shown)
}

/// Copies of everything that the view shows, each with what is taken from it.
fn sources(instance: &Path, interpreter: &Interpreter) -> Result<Vec<Source>, ViewError> {
    let workspace = instance.join("workspace");
    let mut sources = vec![
        folder(&workspace, WORKSPACE, MountFlags::READ)?,
        folder(&workspace, WRITABLE, MountFlags::WRITE)?,
        folder(&workspace.join(POOL_NAME), POOL, MountFlags::WRITE)?,
    ];
    let net = interpreter.net.libraries.iter().chain(&interpreter.net.extensions);
    let code = [&interpreter.program].into_iter().chain(&interpreter.loader).chain(&interpreter.libraries).chain(net);
    for path in code {
        sources.push(part(path, MountFlags::CODE, false)?);
    }
    sources.push(part(&interpreter.stdlib, MountFlags::CODE, true)?);
    for path in DEVICES {
        sources.push(part(path, MountFlags { read_only: false, ..MountFlags::DEVICE }, false)?);
    }
    // Ids of sandboxes are mapped through it; its own mounts come along, because they cannot be left out.
    let proc =
        rustix::fs::open("/proc", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(step("opening /proc"))?;
    let tree = mounts::copy_tree(proc.as_fd(), true).map_err(step("copying /proc"))?;
    sources.push(Source { target: "/proc".to_owned(), tree, folder: true });
    Ok(sources)
}

/// A folder of the instance: no link on the way is followed.
fn folder(path: &Path, target: &str, flags: MountFlags) -> Result<Source, ViewError> {
    let no_folder = |errno| ViewError::NoFolder { path: path.display().to_string(), errno };
    let name = path.strip_prefix("/").unwrap_or(path);
    let top = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(no_folder)?;
    let opened = mounts::open_path(top.as_fd(), name).map_err(no_folder)?;
    let stat = rustix::fs::fstat(&opened).map_err(no_folder)?;
    if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir() {
        return Err(no_folder(Errno::NOTDIR));
    }
    // Without what may be mounted below it: a grant shows one file system.
    let tree = mounts::copy_tree(opened.as_fd(), false)
        .or_else(|errno| if errno == Errno::INVAL { mounts::copy_tree(opened.as_fd(), true) } else { Err(errno) });
    let tree = tree.map_err(no_folder)?;
    mounts::restrict(tree.as_fd(), flags).map_err(no_folder)?;
    Ok(Source { target: target.to_owned(), tree, folder: true })
}

/// A part of the system, shown under its own name, links on the way followed: names such as
/// `/lib64` are links on most systems.
fn part(path: &str, flags: MountFlags, folder: bool) -> Result<Source, ViewError> {
    let opened = rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(step(format!("opening {path}")))?;
    let tree = mounts::copy_tree(opened.as_fd(), folder).map_err(step(format!("copying {path}")))?;
    mounts::restrict(tree.as_fd(), flags).map_err(step(format!("restricting {path}")))?;
    Ok(Source { target: path.to_owned(), tree, folder })
}

/// The instance's folder without links in it, so that [`enter`] can refuse to follow any.
///
/// # Errors
/// When it is not there.
pub fn resolve_instance(path: &Path) -> Result<PathBuf, ViewError> {
    path.canonicalize()
        .map_err(|error| ViewError::NoFolder { path: path.display().to_string(), errno: errno_of(&error) })
}
