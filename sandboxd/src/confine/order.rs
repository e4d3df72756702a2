//! What a process is ordered to seal itself with, made from its plan and nothing else. The reader of these bytes is
//! the seal; it is part of this crate's tests.

use landlock::{ABI, Access, AccessFs, AccessNet, BitFlags, Scope};
use rustix::process::Resource;

use crate::confine::seccomp::{Filter, Runs};
use crate::plan::{Limits, MountPurpose, Plan, Right, Spec, WORKSPACE};

#[path = "../../seal/order.rs"]
#[allow(dead_code, missing_debug_implementations, reason = "the reader is used by the seal, and by the tests here")]
pub mod layout;

/// Every right of files, nets and scopes that is known; the kernel enforces those it knows.
pub const KNOWN: ABI = ABI::V9;

/// The version of Landlock whose rights a kernel of this version enforces.
#[must_use]
pub const fn abi(version: u32) -> ABI {
    match version {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        6 => ABI::V6,
        7 => ABI::V7,
        8 => ABI::V8,
        _ => KNOWN,
    }
}

/// What a place leaves open.
#[must_use]
pub fn rights(right: Right, folder: bool) -> BitFlags<AccessFs> {
    let read = if folder { AccessFs::ReadFile | AccessFs::ReadDir } else { AccessFs::ReadFile.into() };
    match right {
        Right::Read => read,
        Right::Run => AccessFs::ReadFile | AccessFs::Execute,
        Right::ReadWrite => read | AccessFs::WriteFile,
        Right::Change => {
            read | AccessFs::WriteFile
                | AccessFs::Truncate
                | AccessFs::MakeReg
                | AccessFs::MakeDir
                | AccessFs::RemoveFile
                | AccessFs::RemoveDir
                | AccessFs::Refer
        }
        Right::Own => AccessFs::from_all(ABI::V4) & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock),
    }
}

/// The limits of a call, in the order in which they are set: the address space last, because everything else still
/// needs some.
#[must_use]
pub fn limits(it: &Limits) -> [(Resource, u64); 13] {
    [
        (Resource::Core, 0),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
        (Resource::Locks, 0),
        (Resource::Sigpending, 64),
        (Resource::Nice, 0),
        (Resource::Rtprio, 0),
        (Resource::Cpu, it.cpu_s.into()),
        (Resource::Fsize, it.file_bytes),
        (Resource::Stack, it.stack_bytes),
        (Resource::Nproc, it.processes.into()),
        (Resource::Nofile, it.open_files.into()),
        (Resource::As, it.address_bytes),
    ]
}

/// Puts an order together.
#[derive(Debug, Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn count(&mut self, count: usize) {
        // Plans are bounded far below.
        self.0.extend_from_slice(&u16::try_from(count).unwrap_or(u16::MAX).to_le_bytes());
    }

    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn path(&mut self, path: &str) {
        self.count(path.len() + 1);
        self.0.extend_from_slice(path.as_bytes());
        self.0.push(0);
    }

    fn filter(&mut self, filter: &Filter) {
        let bytes = filter.bytes();
        self.count(bytes.len() / 8);
        self.0.extend_from_slice(bytes);
    }
}

/// Whether a mount is attached at the call, to a process that was there before.
#[must_use]
pub const fn is_granted(purpose: MountPurpose) -> bool {
    match purpose {
        MountPurpose::Grant
        | MountPurpose::WriteGrant
        | MountPurpose::Outside
        | MountPurpose::OutsideWrite
        | MountPurpose::Guard
        | MountPurpose::Kept => true,
        MountPurpose::Program
        | MountPurpose::Library
        | MountPurpose::Stdlib
        | MountPurpose::Device
        | MountPurpose::Certificates
        | MountPurpose::Command
        | MountPurpose::ProgramData => false,
    }
}

/// The order for one that executes `plan`, with these grants coming along, by their places.
#[must_use]
pub fn of_plan(plan: &Plan, filter: &Filter, landlock_version: Option<u32>, granted: &[&str]) -> Vec<u8> {
    let spec = plan.spec();
    let covered = !granted.is_empty() && granted.first() != Some(&WORKSPACE);
    let mut steps = layout::CANARIES;
    steps |= if covered { layout::COVER } else { 0 };
    steps |= landlock_version.map_or(0, |_| layout::LANDLOCK);
    steps |= match plan.runs() {
        Runs::Nothing => 0,
        Runs::Programs => layout::PROGRAMS,
    };
    let mut order = Writer(vec![layout::VERSION, steps]);
    order.count(granted.len());
    granted.iter().for_each(|path| order.path(path));
    write_limits(&mut order, &spec.limits);
    write_fence(&mut order, spec, landlock_version.unwrap_or(0));
    order.filter(filter);
    order.0
}

/// The order for the zygote, which runs no executor: it gives up what it has and executes nothing more.
#[must_use]
pub fn of_zygote() -> Vec<u8> {
    let mut order = Writer(vec![layout::VERSION, 0]);
    order.count(0);
    order.count(1);
    order.0.extend_from_slice(&(Resource::Core as u32).to_le_bytes());
    order.number(0);
    [0, 0, 0].into_iter().for_each(|none| order.number(none));
    order.count(0);
    order.filter(&Filter::no_exec());
    order.0
}

fn write_limits(order: &mut Writer, it: &Limits) {
    let limits = limits(it);
    order.count(limits.len());
    for (resource, value) in limits {
        order.0.extend_from_slice(&(resource as u32).to_le_bytes());
        order.number(value);
    }
}

fn write_fence(order: &mut Writer, spec: &Spec, version: u32) {
    let abi = abi(version);
    let files = AccessFs::from_all(abi);
    order.number(files.bits());
    order.number(AccessNet::from_all(abi).bits());
    order.number(Scope::from_all(abi).bits());
    order.count(spec.places.len());
    for place in &spec.places {
        // A right that is not handled cannot be given back.
        order.number((rights(place.right, place.folder) & files).bits());
        order.path(&place.path);
    }
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
