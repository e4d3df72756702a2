//! The effective sandbox of one executor, as pure data (design: sandbox §3). The spawner is
//! given a [`Plan`] and nothing else, so what is hashed is what is applied; and a plan that
//! mounts a forbidden path, or anything writable but a folder of the workspace without the pool
//! of executors, cannot be made.

use metnos_proto::executor::{Places, Quotas, forbidden};
use metnos_proto::ids::Blake3;
use serde::Serialize;

mod installation;

pub use installation::Installation;

/// Raised with every change of what these fields mean.
pub const PLAN_FORMAT: u16 = 1;
/// What separates this hash from every other use of BLAKE3.
const CONTEXT: &str = "metnos 2026-01 profile.lock";

/// The workspace, as sandboxd and the executor see it.
pub const WORKSPACE: &str = "/workspace";
/// The same folder in sandboxd's own view, where it may be written: the source of grants to write.
pub const WRITABLE: &str = "/writable";
/// The pool of executors, as a name below the workspace. No grant makes it writable.
pub const POOL_NAME: &str = "executors";
/// The folder, directly below each folder that may be written, into which what is deleted is moved. It
/// lies on the same mount, so that moving is one step that happens wholly or not at all.
pub const TRASH: &str = ".trash";
/// Where workspaces of birth tests lie in sandboxd's own view.
pub const SCRATCH: &str = "/scratch";
/// What the path of each such workspace begins with.
const SCRATCH_BELOW: &str = "/scratch/";
/// Where the host script and the executor's code stand in the sandbox.
pub const CODE_FOLDER: &str = "/metnos";
/// The host script in the sandbox.
pub const HOST_FILE: &str = "/metnos/host.py";
/// The executor's code in the sandbox.
pub const CODE_FILE: &str = "/metnos/main.py";
/// The folder for passing files in the sandbox.
pub const TMP: &str = "/tmp";
/// The descriptor over which the host script speaks.
pub const CHANNEL_FD: i32 = 3;
/// The descriptor of the interpreter's program. It lies above [`Limits::open_files`] and is closed by
/// the exec, so that afterwards nothing can be executed: no descriptor of this number can exist again.
pub const PROGRAM_FD: i32 = 200;
/// The user and group an executor is to itself.
pub const INNER_ID: u32 = 1000;
/// The device files there are.
pub const DEVICES: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/urandom"];
/// The most mounts of a plan.
pub const MAX_MOUNTS: usize = 64;

/// Why no plan can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The manifest asks for something that this version cannot grant.
    #[error("the capability `{0}` cannot be granted by this version of Metnos")]
    Unsupported(String),
    /// A mount of something closed.
    #[error("a sandbox may not show `{path}`: {why}")]
    Forbidden {
        /// The path.
        path: String,
        /// Why it is closed.
        why: String,
    },
    /// A mount that could be used for more than it is for.
    #[error("the mount `{path}` {what}")]
    BadMount {
        /// Its place in the sandbox.
        path: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Too many mounts.
    #[error("a sandbox has at most {MAX_MOUNTS} mounts")]
    TooManyMounts,
    /// A limit of zero, or above what any manifest may ask.
    #[error("the limit `{0}` is out of range")]
    BadLimit(&'static str),
}

/// The step of the ladder (design: sandbox §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Mode {
    /// A fresh interpreter, exec'd with all layers on it.
    Execed,
}

impl Mode {
    /// The name shown in `status`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Execed => "exec'd then sealed",
        }
    }
}

/// A namespace of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Namespace {
    /// User ids and capabilities.
    User,
    /// Processes.
    Pid,
    /// Mounts.
    Mount,
    /// Network: an empty one.
    Net,
    /// System V IPC and POSIX message queues.
    Ipc,
    /// Host name.
    Uts,
    /// The view of control groups.
    Cgroup,
}

impl Namespace {
    /// All of them: a sandbox has no fewer.
    pub const ALL: [Self; 7] = [Self::User, Self::Pid, Self::Mount, Self::Net, Self::Ipc, Self::Uts, Self::Cgroup];
}

/// What a mount is for; decides what it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Use {
    /// The interpreter's program or its loader: may be executed.
    Program,
    /// A shared library or an extension module: may be mapped as code.
    Library,
    /// The standard library.
    Stdlib,
    /// A device file.
    Device,
    /// A granted folder.
    Grant,
    /// A granted folder that may be written.
    WriteGrant,
    /// What lies below a folder that may be written and may not be itself: shown for reading, on top.
    Guard,
}

/// What can not be done through a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is one flag of the kernel")]
pub struct MountFlags {
    /// No writing.
    pub read_only: bool,
    /// No set-uid.
    pub no_suid: bool,
    /// No devices.
    pub no_dev: bool,
    /// No executing, no mapping as code.
    pub no_exec: bool,
    /// No following of symbolic links.
    pub no_symfollow: bool,
}

impl MountFlags {
    /// Nothing but reading.
    pub const READ: Self = Self { read_only: true, no_suid: true, no_dev: true, no_exec: true, no_symfollow: true };
    /// Reading, and mapping as code.
    pub const CODE: Self = Self { no_exec: false, ..Self::READ };
    /// A device file.
    pub const DEVICE: Self = Self { no_dev: false, ..Self::READ };
    /// Reading and writing.
    pub const WRITE: Self = Self { read_only: false, ..Self::READ };
}

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mount {
    /// Where it comes from, in sandboxd's own view.
    pub source: String,
    /// Where it stands in the sandbox.
    pub target: String,
    /// Whether it is a folder.
    pub folder: bool,
    /// What for.
    pub purpose: Use,
    /// What is taken from it.
    pub flags: MountFlags,
}

/// A file system in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The most bytes in it.
    pub bytes: u64,
    /// The most files in it.
    pub files: u32,
}

/// What Landlock leaves open of a place; everything the kernel knows is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Right {
    /// Reading files, listing folders.
    Read,
    /// The same, and executing.
    ReadExecute,
    /// Reading and writing an existing file.
    ReadWrite,
    /// Everything but executing and making devices.
    Own,
    /// Reading, and making, changing, moving and removing files and folders; no links, nodes, sockets or pipes.
    Change,
}

/// One place that stays open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Where, in the sandbox.
    pub path: String,
    /// What may be done.
    pub right: Right,
}

/// Limits of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Seconds on the clock.
    pub wall_s: u32,
    /// Seconds of processor time.
    pub cpu_s: u32,
    /// Bytes of address space.
    pub address_bytes: u64,
    /// Bytes of the result.
    pub output_bytes: u64,
    /// Processes and threads.
    pub processes: u32,
    /// Descriptors.
    pub open_files: u32,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of the stack of one thread.
    pub stack_bytes: u64,
}

/// The fields of a plan. To be applied it must become a [`Plan`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Spec {
    /// See [`PLAN_FORMAT`].
    pub format: u16,
    /// The profile's name.
    pub profile: String,
    /// The step of the ladder.
    pub mode: Mode,
    /// Always [`Namespace::ALL`].
    pub namespaces: Vec<Namespace>,
    /// The name of the machine inside.
    pub hostname: String,
    /// The user and group inside.
    pub inner_id: u32,
    /// The root file system.
    pub root: Memory,
    /// `/tmp`.
    pub tmp: Memory,
    /// In the order in which they are made.
    pub mounts: Vec<Mount>,
    /// What Landlock leaves open.
    pub places: Vec<Place>,
    /// The digest of the system call filter.
    pub seccomp: Blake3,
    /// Limits of the call.
    pub limits: Limits,
    /// The interpreter's arguments, its name first.
    pub argv: Vec<String>,
    /// The environment.
    pub env: Vec<(String, String)>,
    /// Open descriptors and what they are.
    pub descriptors: Vec<(i32, String)>,
    /// The descriptor of the program; see [`PROGRAM_FD`].
    pub program_fd: i32,
    /// What compiled modules fit.
    pub abi: String,
    /// The digest of the host script.
    pub host: Blake3,
}

/// A sandbox that may be built. There is no way to one but through [`Plan::new`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    spec: Spec,
    hash: Blake3,
}

impl Plan {
    /// Checks the fields and fixes the hash.
    ///
    /// # Errors
    /// A [`PlanError`] for everything that no sandbox may have.
    pub fn new(spec: Spec) -> Result<Self, PlanError> {
        if spec.mounts.len() > MAX_MOUNTS {
            return Err(PlanError::TooManyMounts);
        }
        for (index, mount) in spec.mounts.iter().enumerate() {
            check_mount(mount)?;
            if spec.mounts[..index].iter().any(|earlier| earlier.target == mount.target) {
                return Err(PlanError::BadMount { path: mount.target.clone(), what: "is there twice" });
            }
        }
        check_guards(&spec.mounts)?;
        check_limits(&spec)?;
        let hash = Blake3(blake3::derive_key(CONTEXT, &canonical(&spec)));
        Ok(Self { spec, hash })
    }

    /// Its fields.
    #[must_use]
    pub const fn spec(&self) -> &Spec {
        &self.spec
    }

    /// What stands in `profile.lock`.
    #[must_use]
    pub const fn hash(&self) -> Blake3 {
        self.hash
    }

    /// The same sandbox with another folder in the place of the workspace, for a birth test.
    ///
    /// # Errors
    /// When `folder` is not below [`SCRATCH`].
    pub fn with_scratch(&self, folder: &str) -> Result<Self, PlanError> {
        if !folder.starts_with(SCRATCH_BELOW) {
            return Err(PlanError::BadMount { path: folder.to_owned(), what: "is no scratch workspace" });
        }
        let mut spec = self.spec.clone();
        // It holds no pool that would have to be guarded.
        spec.mounts.retain(|mount| mount.purpose != Use::Guard);
        for mount in &mut spec.mounts {
            let from = match mount.purpose {
                Use::Grant => WORKSPACE,
                Use::WriteGrant => WRITABLE,
                Use::Program | Use::Library | Use::Stdlib | Use::Device | Use::Guard => continue,
            };
            let below = mount.source.strip_prefix(from).unwrap_or_default();
            mount.source = format!("{folder}{below}");
        }
        Self::new(spec)
    }
}

/// The canonical bytes of a plan: `postcard`, which has one encoding for each value.
#[must_use]
pub fn canonical(spec: &Spec) -> Vec<u8> {
    // Serialising plain data into memory cannot go wrong; were it to, the hash would fit no lock.
    postcard::to_stdvec(spec).unwrap_or_default()
}

fn check_mount(mount: &Mount) -> Result<(), PlanError> {
    let bad = |what| Err(PlanError::BadMount { path: mount.target.clone(), what });
    for path in [&mount.source, &mount.target] {
        let parts = path.strip_prefix('/').map(|rest| rest.split('/').collect::<Vec<_>>()).unwrap_or_default();
        if parts.is_empty() || parts.iter().any(|part| matches!(*part, "" | "." | "..")) || path.contains('\0') {
            return bad("has no plain absolute path");
        }
        if mount.purpose == Use::Device {
            continue;
        }
        let places = Places::default();
        if let Some(closed) = forbidden::check(path, &places).or_else(|| forbidden::covers(path, &places)) {
            return Err(PlanError::Forbidden { path: path.clone(), why: closed.why.to_owned() });
        }
    }
    if mount.flags.read_only == (mount.purpose == Use::WriteGrant) {
        return bad("may be written, or may not, against its purpose");
    }
    if !mount.flags.no_suid || !mount.flags.no_symfollow {
        return bad("could gain an identity or be led elsewhere");
    }
    let code = matches!(mount.purpose, Use::Program | Use::Library);
    if mount.flags.no_exec == code {
        return bad("may be executed, or may not, against its purpose");
    }
    let device = mount.purpose == Use::Device;
    if mount.flags.no_dev == device || (device && !DEVICES.contains(&mount.target.as_str())) {
        return bad("shows a device that is not one of the three");
    }
    match mount.purpose {
        Use::Program | Use::Library | Use::Device if mount.folder => bad("is a folder"),
        Use::Stdlib | Use::Grant | Use::WriteGrant | Use::Guard if !mount.folder => bad("is no folder"),
        Use::Program | Use::Library | Use::Stdlib | Use::Device if mount.source != mount.target => {
            bad("stands elsewhere than it comes from")
        }
        Use::Program | Use::Library | Use::Stdlib
            if is_below(&mount.source, WORKSPACE) || is_below(&mount.source, WRITABLE) =>
        {
            bad("would run what lies in the workspace")
        }
        Use::Grant | Use::WriteGrant | Use::Guard if !is_below(&mount.target, WORKSPACE) => {
            bad("is a grant outside the workspace")
        }
        Use::Grant | Use::Guard if !is_below(&mount.source, WORKSPACE) && !mount.source.starts_with(SCRATCH_BELOW) => {
            bad("is a grant from outside the workspace")
        }
        Use::WriteGrant if !is_below(&mount.source, WRITABLE) && !mount.source.starts_with(SCRATCH_BELOW) => {
            bad("is a grant to write from outside the workspace")
        }
        Use::WriteGrant if is_below(&mount.target, &pool()) || is_below(&mount.source, &writable_pool()) => {
            bad("would let the executors themselves be written")
        }
        Use::Program | Use::Library | Use::Stdlib | Use::Device | Use::Grant | Use::WriteGrant | Use::Guard => Ok(()),
    }
}

/// A folder that may be written and contains the pool of executors has the pool guarded, by a mount that comes
/// later and so lies on top.
fn check_guards(mounts: &[Mount]) -> Result<(), PlanError> {
    for (index, mount) in mounts.iter().enumerate() {
        if mount.purpose != Use::WriteGrant || !is_below(&writable_pool(), &mount.source) {
            continue;
        }
        let guards = |later: &&Mount| later.purpose == Use::Guard && later.target == pool() && later.source == pool();
        if !mounts.iter().skip(index).any(|later| guards(&later)) {
            return Err(PlanError::BadMount {
                path: mount.target.clone(),
                what: "may be written, and does not guard the executors below it",
            });
        }
        // On top of the guard nothing may be put that could be written.
        let after = mounts.iter().skip_while(|later| !guards(later));
        if after.into_iter().any(|later| later.purpose == Use::WriteGrant && is_below(&pool(), &later.target)) {
            return Err(PlanError::BadMount {
                path: mount.target.clone(),
                what: "would cover the guard of the executors",
            });
        }
    }
    Ok(())
}

/// The pool as executors see it.
fn pool() -> String {
    format!("{WORKSPACE}/{POOL_NAME}")
}

/// The pool in the writable view.
fn writable_pool() -> String {
    format!("{WRITABLE}/{POOL_NAME}")
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn check_limits(spec: &Spec) -> Result<(), PlanError> {
    let (limits, cap) = (&spec.limits, Quotas::CAP);
    let fits = [
        ("wall_s", (1..=u64::from(cap.wall_s)).contains(&limits.wall_s.into())),
        ("cpu_s", (1..=u64::from(cap.cpu_s)).contains(&limits.cpu_s.into())),
        ("address_bytes", (1..=u64::from(cap.ram_mb) << 20).contains(&limits.address_bytes)),
        ("output_bytes", (1..=u64::from(cap.output_mb) << 20).contains(&limits.output_bytes)),
        ("processes", (1..=64).contains(&limits.processes)),
        ("open_files", (8..=256).contains(&limits.open_files)),
        ("file_bytes", limits.file_bytes <= spec.tmp.bytes),
        ("stack_bytes", (1 << 20..=8 << 20).contains(&limits.stack_bytes)),
        ("tmp", spec.tmp.bytes <= 64 << 20 && spec.root.bytes <= 4 << 20),
        ("namespaces", spec.namespaces == Namespace::ALL),
        ("inner_id", spec.inner_id != 0),
        // Were it below the limit, a descriptor of this number could be made after the start.
        ("program_fd", i64::from(spec.program_fd) > i64::from(limits.open_files)),
    ];
    match fits.iter().find(|(_, fits)| !fits) {
        Some((name, _)) => Err(PlanError::BadLimit(name)),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
