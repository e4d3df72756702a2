//! The effective sandbox of one executor, as pure data (design: sandbox §3). The spawner is
//! given a [`Plan`] and nothing else, so what is hashed is what is applied; and a plan that
//! mounts a forbidden path, or anything writable but a folder of the workspace without the pool
//! of executors, cannot be made.

use metnos_proto::executor::NetGrant;
use metnos_proto::ids::Blake3;
use metnos_proto::json;
use metnos_proto::msg::accounts::AccountKind;
use serde::Serialize;

use crate::confine::seccomp::Runs;

mod check;
mod error;
mod installation;
mod only;
#[cfg(test)]
pub(crate) mod testing;

pub use error::PlanError;
pub use installation::Installation;

/// Raised with every change of what these fields mean.
pub const PLAN_FORMAT: u16 = 3;
/// What separates this hash from every other use of BLAKE3.
const CONTEXT: &str = "metnos 2026-01 profile.lock";

/// The workspace, as sandboxd and the executor see it.
pub const WORKSPACE: &str = "/workspace";
/// The same folder in sandboxd's own view, where it may be written: the source of grants to write.
pub const WRITABLE: &str = "/writable";
/// Folders outside the workspace, below their own paths, as sandboxd and the executor see them.
pub const OUTSIDE: &str = "/outside";
/// Those of them that may be written, in sandboxd's own view: the source of grants to write.
pub const OUTSIDE_WRITABLE: &str = "/outside-writable";
/// The pool of executors, as a name below the workspace. No grant makes it writable.
pub const POOL_NAME: &str = "executors";
/// The owner's files directly in the workspace that every later prompt trusts. No grant of a folder makes them writable.
pub const KEPT: [&str; 6] = ["SOUL.md", "TELOS.md", "IDENTITY.md", "USER.md", "MEMORY.md", "AGENTS.md"];
/// The folder, directly below each folder that may be written, into which what is deleted is moved. It
/// lies on the same mount, so that moving is one step that happens wholly or not at all.
pub const TRASH: &str = ".trash";
/// Where workspaces of birth tests lie in sandboxd's own view.
pub const SCRATCH: &str = "/scratch";
/// What the path of each such workspace begins with.
const SCRATCH_BELOW: &str = "/scratch/";
/// What is added to the path of such a workspace for what lies outside of it.
pub const SCRATCH_OUTSIDE: &str = "-outside";
/// Where the host script and the executor's code stand in the sandbox.
pub const CODE_FOLDER: &str = "/metnos";
/// The host script in the sandbox.
pub const HOST_FILE: &str = "/metnos/host.py";
/// The seal in the sandbox, and in sandboxd's own view.
pub const SEAL_FILE: &str = "/seal/_metnos_seal.so";
/// The role that the host script is given; the zygote's is given [`ZYGOTE`].
pub const EXECUTOR: &str = "executor";
/// See [`EXECUTOR`].
pub const ZYGOTE: &str = "zygote";
/// The folder for passing files in the sandbox.
pub const TMP: &str = "/tmp";
/// The descriptor over which the host script speaks.
pub const CHANNEL_FD: i32 = 3;
/// The descriptor of the interpreter's program. It lies above [`Limits::open_files`] and is closed by
/// the exec, so that afterwards nothing can be executed: no descriptor of this number can exist again.
pub const PROGRAM_FD: i32 = 200;
/// The first descriptor of a connection that the egress helper makes.
pub const FIRST_CONNECTION: i32 = 5;
/// The file library of the executors, in the sandbox.
pub const FILES_FILE: &str = "/metnos/files.py";
/// Its walks.
pub const WALK_FILE: &str = "/metnos/walk.py";
/// Its part for names and kinds that are looked for.
pub const FIND_FILE: &str = "/metnos/find.py";
/// Its part for lists.
pub const LISTS_FILE: &str = "/metnos/lists.py";
/// Its part for contacts.
pub const CONTACTS_FILE: &str = "/metnos/contacts.py";
/// Its part that runs listed programs.
pub const PROGRAMS_FILE: &str = "/metnos/programs.py";
/// Its part for office documents.
pub const DOCUMENTS_FILE: &str = "/metnos/documents.py";
/// Its part for tables as text.
pub const TABLES_FILE: &str = "/metnos/tables.py";
/// What makes Python's own modules use those connections, in the sandbox.
pub const NET_FILE: &str = "/metnos/net.py";
/// What executors with network share, in the sandbox.
pub const WEB_FILE: &str = "/metnos/web.py";
/// What executors of mail share, in the sandbox.
pub const MAIL_FILE: &str = "/metnos/mail.py";
/// What executors share that open an address which was asked for, in the sandbox.
pub const PAGE_FILE: &str = "/metnos/page.py";
/// What executors that change a mailbox share, in the sandbox.
pub const MAILBOX_FILE: &str = "/metnos/mailbox.py";
/// What executors of the house share, in the sandbox.
pub const HOUSE_FILE: &str = "/metnos/home.py";
/// What executors that send mail share, in the sandbox.
pub const SENDING_FILE: &str = "/metnos/sending.py";
/// What executors of calendars share, in the sandbox.
pub const CALENDAR_FILE: &str = "/metnos/calendar.py";
/// What executors that change a calendar share, in the sandbox.
pub const CHANGES_FILE: &str = "/metnos/changes.py";
/// The certificate authorities, in sandboxd's own view and in the sandbox.
pub const CA_FILE: &str = "/certificates/ca.pem";
/// The user and group an executor is to itself.
pub const INNER_ID: u32 = 1000;
/// The permissions that no new file has, whatever it is made with: to write for the group, and any for others.
pub const UMASK: u32 = 0o027;
/// The device files there are.
pub const DEVICES: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/urandom"];
/// The most mounts of a plan.
pub const MAX_MOUNTS: usize = 192;

/// A step of the ladder (design: sandbox §1). Both end in the same seal, so what an executor can do is the same on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A child of the zygote, forked into fresh namespaces before it was needed, and sealed for this call.
    Warm,
    /// A fresh interpreter, exec'd inside its layers and then sealed.
    Execed,
}

impl Mode {
    /// The ladder, from the top. Below its last step is refusal.
    pub const LADDER: [Self; 2] = [Self::Warm, Self::Execed];

    /// The name shown in `status`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm sealed",
            Self::Execed => "exec'd then sealed",
        }
    }
}

/// A namespace of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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
#[serde(rename_all = "snake_case")]
pub enum MountPurpose {
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
    /// A granted folder outside the workspace.
    Outside,
    /// A granted folder outside the workspace that may be written.
    OutsideWrite,
    /// What lies below a folder that may be written and may not be itself: shown for reading, on top.
    Guard,
    /// A file of the owner's directly in a workspace that may be written (his constitution, what is remembered of him, …): shown
    /// for reading, on top, where it is there, unless the decided call names it.
    Kept,
    /// The certificate authorities.
    Certificates,
    /// A program that the owner lists: may be executed.
    Command,
    /// A folder that the owner lists for such a program: may be read where that one runs.
    ProgramData,
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
    pub purpose: MountPurpose,
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
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Reading files, listing folders.
    Read,
    /// Reading and writing an existing file.
    ReadWrite,
    /// Everything but executing and making devices.
    Own,
    /// Reading, and making, changing, moving and removing files and folders; no links, nodes, sockets or pipes.
    Change,
    /// Reading a file, and executing it.
    Run,
}

/// One place that stays open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Where, in the sandbox.
    pub path: String,
    /// Whether it is a folder.
    pub folder: bool,
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
    /// Bytes written to disks, and room taken there.
    pub disk_bytes: u64,
    /// Files and folders made on disks.
    pub disk_files: u32,
    /// Bytes of the file that it gives; absent where it gives none.
    #[serde(skip_serializing_if = "check::is_zero")]
    pub gives_bytes: u64,
}

/// The fields of a plan. To be applied it must become a [`Plan`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Spec {
    /// See [`PLAN_FORMAT`].
    pub format: u16,
    /// The profile's name.
    pub profile: String,
    /// The steps of the ladder on which it may run: [`Mode::LADDER`]; only the last with network, because a process that
    /// waits has no connections, with folders outside the workspace, because it has no place for them, and with programs.
    pub modes: Vec<Mode>,
    /// Always [`Namespace::ALL`].
    pub namespaces: Vec<Namespace>,
    /// The name of the machine inside.
    pub hostname: String,
    /// The user and group inside.
    pub inner_id: u32,
    /// See [`UMASK`]. The filter lets it be raised only.
    pub umask: u32,
    /// The root file system.
    pub root: Memory,
    /// `/tmp`.
    pub tmp: Memory,
    /// In the order in which they are made.
    pub mounts: Vec<Mount>,
    /// Each granted folder: below it, at any depth, closed places and files of secrets are covered with nothing where they
    /// are there, but for a file that the decided call names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub masks: Vec<String>,
    /// What lies in the trash can be read and not changed: for an executor that writes and has no part in undoing acts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keeps_trash: bool,
    /// What Landlock leaves open.
    pub places: Vec<Place>,
    /// The digest of the system call filter of the sealed process.
    #[serde(serialize_with = "digest")]
    pub seccomp: Blake3,
    /// The digest of the filter under which a fresh interpreter starts, before it is sealed.
    #[serde(serialize_with = "digest")]
    pub start_seccomp: Blake3,
    /// Modules that are loaded before the seal; compiled ones cannot be loaded after it.
    pub preload: Vec<String>,
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
    /// The digest of the host script with the file library.
    #[serde(serialize_with = "digest")]
    pub host: Blake3,
    /// The digest of the seal.
    #[serde(serialize_with = "digest")]
    pub seal: Blake3,
    /// What it may reach on the net; absent without network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress: Option<Egress>,
    /// The names of the secrets that a call is given; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// What `~` stands for in the names of folders outside the workspace; absent without any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub home: String,
    /// The listed programs that it may run, by absolute path; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Only a part of what the manifest grants is shown, see [`Plan::only`]; absent where all of it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub narrowed: bool,
}

/// The network of an executor: none, but for the connections that its egress helper makes for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Egress {
    /// `host:port`, `*.host:port`, `argument /pointer`: the host and port of the address in that argument; or `account mail`:
    /// those of the account that comes with the call.
    pub rules: Vec<String>,
    /// How many connections a call can have; their descriptors begin at [`FIRST_CONNECTION`].
    pub connections: u8,
    /// The most bytes both ways, over all connections of a call.
    pub bytes: u64,
    /// The digest of what makes Python's own modules use them.
    #[serde(serialize_with = "digest")]
    pub host: Blake3,
}

/// A digest as people and `profile.lock` write it.
fn digest<S: serde::Serializer>(value: &Blake3, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
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
            check::mount(mount)?;
            if spec.mounts[..index].iter().any(|earlier| earlier.target == mount.target) {
                return Err(PlanError::BadMount { path: mount.target.clone(), what: "is there twice" });
            }
        }
        check::guards(&spec.mounts)?;
        check::masks(&spec)?;
        check::limits(&spec)?;
        check::programs(&spec)?;
        let hash = lock_of(&canonical(&spec));
        Ok(Self { spec, hash })
    }

    /// The same with `change` made to its fields, without a check whether such a sandbox may be: for the tests that take
    /// layers away.
    #[cfg(feature = "attack")]
    #[must_use]
    pub fn careless(&self, change: impl FnOnce(&mut Spec)) -> Self {
        let mut spec = self.spec.clone();
        change(&mut spec);
        let hash = lock_of(&canonical(&spec));
        Self { spec, hash }
    }

    /// Its fields.
    #[must_use]
    pub const fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Whether its calls come with an account of the person whose turn it is.
    #[must_use]
    pub fn is_given_account(&self) -> bool {
        self.grants().any(|grant| grant.account().is_some())
    }

    /// Whether such an account comes with the server that takes mail to be sent.
    #[must_use]
    pub fn sends_mail(&self) -> bool {
        self.grants().any(|grant| grant == NetGrant::Sending)
    }

    /// What the account is for that its calls come with.
    #[must_use]
    pub fn account(&self) -> Option<AccountKind> {
        self.grants().find_map(|grant| grant.account())
    }

    fn grants(&self) -> impl Iterator<Item = NetGrant> {
        self.spec.egress.iter().flat_map(|egress| &egress.rules).filter_map(|rule| NetGrant::parse(rule))
    }

    /// What it may reach on the net; `None` without network.
    #[must_use]
    pub const fn egress(&self) -> Option<&Egress> {
        self.spec.egress.as_ref()
    }

    /// What it runs besides the interpreter.
    #[must_use]
    pub const fn runs(&self) -> Runs {
        if self.spec.commands.is_empty() { Runs::Nothing } else { Runs::Programs }
    }

    /// The folders outside the workspace that it shows, by their own paths.
    pub fn outside(&self) -> impl Iterator<Item = &str> {
        let outside = |mount: &&Mount| matches!(mount.purpose, MountPurpose::Outside | MountPurpose::OutsideWrite);
        self.spec.mounts.iter().filter(outside).filter_map(|mount| mount.target.strip_prefix(OUTSIDE))
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
        // It holds no pool that would have to be guarded.
        self.with_folder(folder, false)
    }

    /// The same for a folder that has a pool of executors like the workspace's, for the escape suite.
    ///
    /// # Errors
    /// As [`Plan::with_scratch`].
    pub fn with_stage(&self, folder: &str) -> Result<Self, PlanError> {
        self.with_folder(folder, true)
    }

    fn with_folder(&self, folder: &str, guarded: bool) -> Result<Self, PlanError> {
        if !folder.starts_with(SCRATCH_BELOW) {
            return Err(PlanError::BadMount { path: folder.to_owned(), what: "is no scratch workspace" });
        }
        let mut spec = self.spec.clone();
        spec.mounts.retain(|mount| guarded || mount.purpose != MountPurpose::Guard);
        for mount in &mut spec.mounts {
            let from = match mount.purpose {
                MountPurpose::Grant | MountPurpose::Guard | MountPurpose::Kept => WORKSPACE,
                MountPurpose::WriteGrant => WRITABLE,
                MountPurpose::Outside | MountPurpose::OutsideWrite => {
                    let path = mount.target.strip_prefix(OUTSIDE).unwrap_or_default();
                    mount.source = format!("{folder}{SCRATCH_OUTSIDE}{path}");
                    continue;
                }
                MountPurpose::Program
                | MountPurpose::Library
                | MountPurpose::Stdlib
                | MountPurpose::Device
                | MountPurpose::Certificates
                | MountPurpose::Command
                | MountPurpose::ProgramData => continue,
            };
            let below = mount.source.strip_prefix(from).unwrap_or_default();
            mount.source = format!("{folder}{below}");
        }
        Self::new(spec)
    }
}

/// The canonical bytes of a plan: canonical JSON, which has one spelling for each value, and which a person and any
/// later version can read. They are what `profile.json` holds.
#[must_use]
pub fn canonical(spec: &Spec) -> Vec<u8> {
    // Serialising plain data into memory cannot go wrong; were it to, the hash would fit no lock.
    json::canonical(&serde_json::to_value(spec).unwrap_or_default())
}

/// The lock of canonical bytes.
#[must_use]
pub fn lock_of(canonical: &[u8]) -> Blake3 {
    Blake3(blake3::derive_key(CONTEXT, canonical))
}

#[cfg(test)]
mod programs_tests;
#[cfg(test)]
mod tests;
