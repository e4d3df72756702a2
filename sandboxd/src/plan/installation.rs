//! From a manifest and this machine to a plan. What is not asked for is not in it, and what
//! this version cannot grant is refused by name.

use std::collections::{BTreeMap, BTreeSet};

use metnos_proto::control::FolderSettings;
use metnos_proto::executor::{Capability, FileTransfer, Manifest, NetGrant, PathGrant, Quotas, commands, outside};
use metnos_proto::ids::Blake3;

use super::{
    CA_FILE, CHANNEL_FD, CODE_FOLDER, DEVICES, EXECUTOR, Egress, FIRST_CONNECTION, HOST_FILE, INNER_ID, KEPT, Limits,
    Memory, Mode, Mount, MountFlags, MountPurpose, Namespace, OUTSIDE, OUTSIDE_WRITABLE, PLAN_FORMAT, POOL_NAME,
    PROGRAM_FD, Place, Plan, PlanError, Right, SEAL_FILE, Spec, TMP, UMASK, WORKSPACE, WRITABLE,
};
use crate::machine::commands::{Command, Programs};
use crate::machine::interpreter::Interpreter;

/// The connections of a call.
const CONNECTIONS: u8 = 6;
/// Those of a call that is given an account: some servers close a connection behind each answer, and what there is takes several
/// questions to find out.
const ACCOUNT_CONNECTIONS: u8 = 24;
/// The bytes of a call, both ways.
const EGRESS_BYTES: u64 = 16 << 20;

/// What a call may write to disks, and how many files and folders it may make there.
const DISK_BYTES: u64 = 32 << 20;
/// See [`DISK_BYTES`].
const DISK_FILES: u32 = 1024;

/// What plans are made from, besides the manifest: this installation.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The interpreter.
    pub interpreter: Interpreter,
    /// The digests of the system call filters, of a sealed process and of one that starts.
    pub seccomp: [Blake3; 2],
    /// The digest of the host script.
    pub host: Blake3,
    /// The digest of the seal.
    pub seal: Blake3,
    /// The digest of what makes Python's own modules use the net; `None` where there are no certificate authorities.
    pub net: Option<Blake3>,
    /// The folders outside the workspace that the owner has listed.
    pub folders: FolderSettings,
    /// The same two filters for who runs programs.
    pub programs_seccomp: [Blake3; 2],
    /// The programs that the owner has listed.
    pub programs: Programs,
}

/// What an executor is granted, read from its manifest.
#[derive(Debug, Default)]
struct Granted {
    folders: Vec<Grant>,
    /// Outside the workspace, each with whether it may be written.
    outside: BTreeMap<String, bool>,
    egress: Vec<String>,
    /// The names of secrets.
    secrets: Vec<String>,
    /// The programs that it may run.
    commands: Vec<Command>,
    /// It has no part in taking acts back.
    keeps_trash: bool,
}

impl Granted {
    /// Every library of its programs that the interpreter has not, once.
    fn libraries<'a>(&'a self, it: &'a Interpreter) -> BTreeSet<&'a String> {
        let has = |path: &&String| it.libraries.contains(path) || it.loader.as_ref() == Some(*path);
        self.commands.iter().flat_map(|command| &command.libraries).filter(|path| !has(path)).collect()
    }

    /// Every folder of data of its programs, once.
    fn data(&self) -> BTreeSet<&String> {
        self.commands.iter().flat_map(|command| &command.data).collect()
    }

    /// The folders in which a loader looks for libraries.
    fn library_folders(&self, it: &Interpreter) -> String {
        let mut folders = it.library_folders();
        for path in self.libraries(it) {
            let folder = path.rsplit_once('/').map(|(folder, _)| folder.to_owned()).unwrap_or_default();
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders.join(":")
    }
}

/// A folder of the workspace that is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    /// Its name below the workspace; empty for the workspace itself.
    below: String,
    /// Whether it may be written. What may be written may be read.
    write: bool,
}

impl Grant {
    /// Each folder once, what lies above before what lies below it, so that the narrower grant ends up on top.
    fn in_order(grants: Vec<Self>) -> Vec<Self> {
        let mut ordered: BTreeMap<String, bool> = BTreeMap::new();
        for grant in grants {
            *ordered.entry(grant.below).or_default() |= grant.write;
        }
        ordered.into_iter().map(|(below, write)| Self { below, write }).collect()
    }

    fn path(&self, root: &str) -> String {
        if self.below.is_empty() { root.to_owned() } else { format!("{root}/{}", self.below) }
    }

    fn mount(&self) -> Mount {
        let (root, purpose, flags) = if self.write {
            (WRITABLE, MountPurpose::WriteGrant, MountFlags::WRITE)
        } else {
            (WORKSPACE, MountPurpose::Grant, MountFlags::READ)
        };
        Mount { source: self.path(root), target: self.path(WORKSPACE), folder: true, purpose, flags }
    }
}

/// A folder outside the workspace, by its own path.
fn outside_mount(path: &str, write: bool) -> Mount {
    let (root, purpose, flags) = if write {
        (OUTSIDE_WRITABLE, MountPurpose::OutsideWrite, MountFlags::WRITE)
    } else {
        (OUTSIDE, MountPurpose::Outside, MountFlags::READ)
    };
    Mount { source: format!("{root}{path}"), target: format!("{OUTSIDE}{path}"), folder: true, purpose, flags }
}

impl Granted {
    /// Everything granted, as the sandbox names it, each with whether it may be written; what lies above comes before what
    /// lies below it.
    fn targets(&self) -> impl Iterator<Item = (String, bool)> + '_ {
        let inside = self.folders.iter().map(|grant| (grant.path(WORKSPACE), grant.write));
        inside.chain(self.outside.iter().map(|(path, write)| (format!("{OUTSIDE}{path}"), *write)))
    }
}

impl Installation {
    /// The plan of an executor.
    ///
    /// # Errors
    /// [`PlanError::Unsupported`] for grants that this version does not know how to give, and all others.
    pub fn plan(&self, manifest: &Manifest) -> Result<Plan, PlanError> {
        let mut grants = Vec::new();
        let (mut egress, mut secrets) = (Vec::new(), Vec::new());
        for capability in &manifest.sandbox.capabilities {
            let write = match capability {
                Capability::FsRead(_) => false,
                Capability::FsWrite(_) => true,
                Capability::Net(rules) => {
                    egress =
                        rules.iter().filter_map(|rule| NetGrant::parse(rule)).map(|rule| rule.to_string()).collect();
                    continue;
                }
                Capability::Secret(names) => {
                    secrets.extend(names.iter().cloned());
                    continue;
                }
                Capability::Exec(_) => continue,
            };
            for folder in capability.entries() {
                match PathGrant::parse(folder) {
                    Some(PathGrant::Workspace(below)) => grants.push(Grant { below, write }),
                    Some(PathGrant::Home(_) | PathGrant::Absolute(_)) => {}
                    None => return Err(PlanError::Unsupported(format!("{} {folder}", capability.name()))),
                }
            }
        }
        let outside = self.outside(manifest)?;
        secrets.sort();
        secrets.dedup();
        let commands = self.commands(manifest)?;
        let folders = Grant::in_order(grants);
        let writes = folders.iter().any(|grant| grant.write) || outside.values().any(|write| *write);
        // Whose acts can be taken back puts things there; and who takes them back is offered to no planner.
        let keeps_trash = writes && manifest.contract.undo.is_none() && manifest.contract.offered;
        let granted = Granted { folders, outside, egress, secrets, commands, keeps_trash };
        self.plan_with(&manifest.sandbox.profile, &granted, &manifest.sandbox.quotas, manifest.file)
    }

    /// The folders outside the workspace that a manifest declares: each must lie in one that the owner has listed.
    fn outside(&self, manifest: &Manifest) -> Result<BTreeMap<String, bool>, PlanError> {
        let mut found = BTreeMap::new();
        for declared in outside::declared(manifest, &self.folders) {
            let key = if declared.write { "writable" } else { "folders" };
            let unlisted = || PlanError::Unlisted(declared.entry.clone(), key);
            let path = declared.path.clone().ok_or_else(unlisted)?;
            self.folders.listed(&path, declared.write).ok_or_else(unlisted)?;
            *found.entry(path).or_default() |= declared.write;
        }
        Ok(found)
    }

    /// The programs that a manifest declares: each must be listed. One that is not installed is left out, and its executor says
    /// so; one that it names and that is there must be fit to be shown.
    fn commands(&self, manifest: &Manifest) -> Result<Vec<Command>, PlanError> {
        let granted = commands::granted(manifest, &self.programs.listed).map_err(PlanError::UnlistedProgram)?;
        let declared = commands::declared(manifest);
        let mut found = Vec::new();
        for path in granted {
            match self.programs.found.iter().find(|command| command.path == path) {
                Some(command) => found.push(command.clone()),
                None if declared.iter().any(|entry| entry == path) && !self.programs.is_not_installed(path) => {
                    return Err(PlanError::NoProgram(path.to_owned(), self.programs.why_not(path)));
                }
                None => {}
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// The plan for unapproved code: nothing is granted.
    ///
    /// # Errors
    /// When the interpreter itself lies in a closed place.
    pub fn pure_plan(&self, profile: &str, quotas: &Quotas) -> Result<Plan, PlanError> {
        self.plan_with(profile, &Granted::default(), quotas, None)
    }

    fn plan_with(
        &self,
        profile: &str,
        granted: &Granted,
        quotas: &Quotas,
        file: Option<FileTransfer>,
    ) -> Result<Plan, PlanError> {
        let of_file =
            |way: fn(&FileTransfer) -> Option<usize>| file.as_ref().and_then(way).map_or(0, |bytes| bytes as u64);
        let tmp = Memory { bytes: 16 << 20, files: 256 };
        let seccomp = if granted.commands.is_empty() { self.seccomp } else { self.programs_seccomp };
        let egress = self.egress(&granted.egress)?;
        let mut preload = self.interpreter.modules.clone();
        let mut descriptors: Vec<(i32, String)> = [(0, "/dev/null"), (1, "log"), (2, "log"), (CHANNEL_FD, "channel")]
            .map(|(fd, what)| (fd, what.to_owned()))
            .into();
        if let Some(egress) = &egress {
            preload.extend(self.interpreter.net.modules.iter().cloned());
            descriptors
                .extend((FIRST_CONNECTION..).take(egress.connections.into()).map(|fd| (fd, "egress".to_owned())));
        }
        let mut argv = vec![self.interpreter.program.clone()];
        argv.extend(["-I", "-S", "-B", "-X", "utf8", HOST_FILE, EXECUTOR].map(str::to_owned));
        argv.extend(preload.iter().cloned());
        Plan::new(Spec {
            format: PLAN_FORMAT,
            profile: profile.to_owned(),
            modes: if egress.is_some() || !granted.outside.is_empty() || !granted.commands.is_empty() {
                vec![Mode::Execed]
            } else {
                Mode::LADDER.to_vec()
            },
            namespaces: Namespace::ALL.to_vec(),
            hostname: "metnos".to_owned(),
            inner_id: INNER_ID,
            umask: UMASK,
            root: Memory { bytes: 1 << 20, files: 512 },
            tmp,
            mounts: self.mounts(granted, egress.is_some()),
            masks: granted.targets().map(|(path, _)| path).collect(),
            keeps_trash: granted.keeps_trash,
            places: self.places(granted, egress.is_some()),
            seccomp: seccomp[0],
            start_seccomp: seccomp[1],
            preload,
            limits: Limits {
                wall_s: quotas.wall_s,
                cpu_s: quotas.cpu_s,
                address_bytes: u64::from(quotas.ram_mb) << 20,
                output_bytes: u64::from(quotas.output_mb) << 20,
                processes: 16,
                open_files: 64,
                file_bytes: tmp.bytes.max(of_file(FileTransfer::takes)),
                stack_bytes: 8 << 20,
                disk_bytes: DISK_BYTES,
                disk_files: DISK_FILES,
                gives_bytes: of_file(FileTransfer::gives),
            },
            argv,
            env: vec![
                ("HOME".to_owned(), TMP.to_owned()),
                ("LC_ALL".to_owned(), "C.UTF-8".to_owned()),
                ("LD_LIBRARY_PATH".to_owned(), granted.library_folders(&self.interpreter)),
                ("TMPDIR".to_owned(), TMP.to_owned()),
                ("TZ".to_owned(), "UTC".to_owned()),
            ],
            descriptors,
            program_fd: PROGRAM_FD,
            abi: self.interpreter.abi.clone(),
            host: self.host,
            seal: self.seal,
            egress,
            secrets: granted.secrets.clone(),
            home: if granted.outside.is_empty() { String::new() } else { self.folders.home.clone() },
            commands: granted.commands.iter().map(|command| command.path.clone()).collect(),
            narrowed: false,
        })
    }

    fn egress(&self, rules: &[String]) -> Result<Option<Egress>, PlanError> {
        if rules.is_empty() {
            return Ok(None);
        }
        let host = self.net.ok_or(PlanError::NoCertificates)?;
        let is_account = |rule: &String| NetGrant::parse(rule).is_some_and(|grant| grant.account().is_some());
        let connections = if rules.iter().any(is_account) { ACCOUNT_CONNECTIONS } else { CONNECTIONS };
        Ok(Some(Egress { rules: rules.to_vec(), connections, bytes: EGRESS_BYTES, host }))
    }

    fn mounts(&self, granted: &Granted, net: bool) -> Vec<Mount> {
        let it = &self.interpreter;
        let same = |path: &String, folder, purpose, flags| Mount {
            source: path.clone(),
            target: path.clone(),
            folder,
            purpose,
            flags,
        };
        let mut mounts = vec![same(&it.program, false, MountPurpose::Program, MountFlags::CODE)];
        mounts.extend(it.loader.iter().map(|path| same(path, false, MountPurpose::Program, MountFlags::CODE)));
        mounts.extend(it.libraries.iter().map(|path| same(path, false, MountPurpose::Library, MountFlags::CODE)));
        mounts.push(same(&SEAL_FILE.to_owned(), false, MountPurpose::Library, MountFlags::CODE));
        mounts.push(same(&it.stdlib, true, MountPurpose::Stdlib, MountFlags::READ));
        // After the standard library, in which they stand and which itself may not be mapped as code.
        mounts.extend(it.extensions.iter().map(|path| same(path, false, MountPurpose::Library, MountFlags::CODE)));
        if net {
            let code = it.net.libraries.iter().chain(&it.net.extensions);
            mounts.extend(code.map(|path| same(path, false, MountPurpose::Library, MountFlags::CODE)));
            mounts.push(same(&CA_FILE.to_owned(), false, MountPurpose::Certificates, MountFlags::READ));
        }
        mounts.extend(
            granted.libraries(it).into_iter().map(|path| same(path, false, MountPurpose::Library, MountFlags::CODE)),
        );
        let commands = granted.commands.iter().map(|command| &command.path).filter(|path| **path != it.program);
        mounts.extend(commands.map(|path| same(path, false, MountPurpose::Command, MountFlags::CODE)));
        mounts.extend(
            granted.data().into_iter().map(|path| same(path, true, MountPurpose::ProgramData, MountFlags::READ)),
        );
        mounts.extend(DEVICES.map(|path| same(&path.to_owned(), false, MountPurpose::Device, MountFlags::DEVICE)));
        mounts.extend(granted.folders.iter().map(Grant::mount));
        mounts.extend(granted.outside.iter().map(|(path, write)| outside_mount(path, *write)));
        if granted.folders.iter().any(|grant| grant.write && grant.below.is_empty()) {
            mounts.push(same(&format!("{WORKSPACE}/{POOL_NAME}"), true, MountPurpose::Guard, MountFlags::READ));
            let kept =
                KEPT.map(|name| same(&format!("{WORKSPACE}/{name}"), false, MountPurpose::Kept, MountFlags::READ));
            mounts.extend(kept);
        }
        mounts
    }

    fn places(&self, granted: &Granted, net: bool) -> Vec<Place> {
        let it = &self.interpreter;
        let place = |path: &str, folder, right| Place { path: path.to_owned(), folder, right };
        // Nothing may be executed any more; what was mapped as code stays, and may be read.
        let mut places = Vec::new();
        let runs = !granted.commands.is_empty();
        if runs {
            // But the listed programs and their loader. The interpreter is not among them: its file is closed, so that the
            // loader cannot run it either.
            places.extend(it.loader.iter().map(|path| place(path, false, Right::Run)));
            places.extend(granted.commands.iter().map(|command| place(&command.path, false, Right::Run)));
            places.extend(granted.libraries(it).into_iter().map(|path| place(path, false, Right::Read)));
            places.extend(granted.data().into_iter().map(|path| place(path, true, Right::Read)));
        } else {
            places.push(place(&it.program, false, Right::Read));
            places.extend(it.loader.iter().map(|path| place(path, false, Right::Read)));
        }
        places.extend(it.libraries.iter().chain(&it.extensions).map(|path| place(path, false, Right::Read)));
        places.push(place(SEAL_FILE, false, Right::Read));
        if net {
            let code = it.net.libraries.iter().chain(&it.net.extensions).map(String::as_str);
            places.extend(code.chain([CA_FILE]).map(|path| place(path, false, Right::Read)));
        }
        places.push(place(&it.stdlib, true, Right::Read));
        places.push(place(CODE_FOLDER, true, Right::Read));
        places.push(place("/dev/null", false, Right::ReadWrite));
        places.extend(["/dev/zero", "/dev/urandom"].map(|path| place(path, false, Right::Read)));
        places.push(place(TMP, true, Right::Own));
        let right = |write| if write { Right::Change } else { Right::Read };
        places.extend(granted.targets().map(|(path, write)| place(&path, true, right(write))));
        places
    }
}
