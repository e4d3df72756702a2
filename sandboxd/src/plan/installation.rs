//! From a manifest and this machine to a plan. What is not asked for is not in it, and what
//! this version cannot grant is refused by name.

use metnos_proto::executor::{Capability, Manifest, PathGrant, Quotas};
use metnos_proto::ids::Blake3;

use super::{
    CHANNEL_FD, CODE_FOLDER, DEVICES, HOST_FILE, INNER_ID, Limits, Memory, Mode, Mount, MountFlags, Namespace,
    PLAN_FORMAT, PROGRAM_FD, Place, Plan, PlanError, Right, Spec, TMP, Use, WORKSPACE,
};
use crate::interp::Interpreter;

/// What plans are made from, besides the manifest: this installation.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The interpreter.
    pub interpreter: Interpreter,
    /// The digest of the system call filter.
    pub seccomp: Blake3,
    /// The digest of the host script.
    pub host: Blake3,
}

impl Installation {
    /// The plan of an executor.
    ///
    /// # Errors
    /// [`PlanError::Unsupported`] for grants that this version does not know how to give, and all others.
    pub fn plan(&self, manifest: &Manifest) -> Result<Plan, PlanError> {
        let mut grants = Vec::new();
        for capability in &manifest.sandbox.capabilities {
            let Capability::FsRead(folders) = capability else {
                return Err(PlanError::Unsupported(capability.name().to_owned()));
            };
            for folder in folders {
                match PathGrant::parse(folder) {
                    Some(PathGrant::Workspace(below)) if below.is_empty() => grants.push(WORKSPACE.to_owned()),
                    Some(PathGrant::Workspace(below)) => grants.push(format!("{WORKSPACE}/{below}")),
                    Some(PathGrant::Home(_) | PathGrant::Absolute(_)) | None => {
                        return Err(PlanError::Unsupported(format!("fs_read {folder}")));
                    }
                }
            }
        }
        self.plan_with(&manifest.sandbox.profile, &grants, &manifest.sandbox.quotas)
    }

    /// The plan for code that nobody has approved yet: nothing is granted.
    ///
    /// # Errors
    /// When the interpreter itself lies in a closed place.
    pub fn pure_plan(&self, profile: &str, quotas: &Quotas) -> Result<Plan, PlanError> {
        self.plan_with(profile, &[], quotas)
    }

    fn plan_with(&self, profile: &str, grants: &[String], quotas: &Quotas) -> Result<Plan, PlanError> {
        let tmp = Memory { bytes: 16 << 20, files: 256 };
        let mut argv = vec![self.interpreter.program.clone()];
        argv.extend(["-I", "-S", "-B", "-X", "utf8", HOST_FILE].map(str::to_owned));
        Plan::new(Spec {
            format: PLAN_FORMAT,
            profile: profile.to_owned(),
            mode: Mode::Execed,
            namespaces: Namespace::ALL.to_vec(),
            hostname: "metnos".to_owned(),
            inner_id: INNER_ID,
            root: Memory { bytes: 1 << 20, files: 512 },
            tmp,
            mounts: self.mounts(grants),
            places: self.places(grants),
            seccomp: self.seccomp,
            limits: Limits {
                wall_s: quotas.wall_s,
                cpu_s: quotas.cpu_s,
                address_bytes: u64::from(quotas.ram_mb) << 20,
                output_bytes: u64::from(quotas.output_mb) << 20,
                processes: 16,
                open_files: 64,
                file_bytes: tmp.bytes,
                stack_bytes: 8 << 20,
            },
            argv,
            env: vec![
                ("HOME".to_owned(), TMP.to_owned()),
                ("LC_ALL".to_owned(), "C.UTF-8".to_owned()),
                ("LD_LIBRARY_PATH".to_owned(), self.interpreter.library_folders().join(":")),
                ("TMPDIR".to_owned(), TMP.to_owned()),
                ("TZ".to_owned(), "UTC".to_owned()),
            ],
            descriptors: vec![
                (0, "/dev/null".to_owned()),
                (1, "log".to_owned()),
                (2, "log".to_owned()),
                (CHANNEL_FD, "channel".to_owned()),
            ],
            program_fd: PROGRAM_FD,
            abi: self.interpreter.abi.clone(),
            host: self.host,
        })
    }

    fn mounts(&self, grants: &[String]) -> Vec<Mount> {
        let it = &self.interpreter;
        let same = |path: &String, folder, purpose, flags| Mount {
            source: path.clone(),
            target: path.clone(),
            folder,
            purpose,
            flags,
        };
        let mut mounts = vec![same(&it.program, false, Use::Program, MountFlags::CODE)];
        mounts.extend(it.loader.iter().map(|path| same(path, false, Use::Program, MountFlags::CODE)));
        mounts.extend(it.libraries.iter().map(|path| same(path, false, Use::Library, MountFlags::CODE)));
        mounts.push(same(&it.stdlib, true, Use::Stdlib, MountFlags::READ));
        // After the standard library, in which they stand and which itself may not be mapped as code.
        mounts.extend(it.extensions.iter().map(|path| same(path, false, Use::Library, MountFlags::CODE)));
        mounts.extend(DEVICES.map(|path| same(&path.to_owned(), false, Use::Device, MountFlags::DEVICE)));
        mounts.extend(grants.iter().map(|path| same(path, true, Use::Grant, MountFlags::READ)));
        mounts
    }

    fn places(&self, grants: &[String]) -> Vec<Place> {
        let it = &self.interpreter;
        let place = |path: &str, right| Place { path: path.to_owned(), right };
        let mut places = vec![place(&it.program, Right::ReadExecute)];
        places.extend(it.loader.iter().map(|path| place(path, Right::ReadExecute)));
        places.extend(it.libraries.iter().chain(&it.extensions).map(|path| place(path, Right::Read)));
        places.push(place(&it.stdlib, Right::Read));
        places.push(place(CODE_FOLDER, Right::Read));
        places.push(place("/dev/null", Right::ReadWrite));
        places.extend(["/dev/zero", "/dev/urandom"].map(|path| place(path, Right::Read)));
        places.push(place(TMP, Right::Own));
        places.extend(grants.iter().map(|path| place(path, Right::Read)));
        places
    }
}
