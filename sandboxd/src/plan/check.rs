//! What no plan may be, whatever manifest and installation it was made from.

use std::collections::BTreeSet;

use metnos_proto::executor::{Places, Quotas, forbidden, is_name, outside};
use metnos_proto::msg::sandboxd::MAX_SECRETS;
use metnos_proto::payload::MAX_FILE;

use metnos_egress::order::{MAX_CONNECTIONS, MAX_RULES};

use super::{
    CA_FILE, DEVICES, Egress, KEPT, Mode, Mount, MountPurpose, Namespace, OUTSIDE, OUTSIDE_WRITABLE, POOL_NAME,
    PlanError, Right, SCRATCH_BELOW, Spec, UMASK, WORKSPACE, WRITABLE,
};

/// The most bytes that any call may move over the net.
pub const MAX_EGRESS_BYTES: u64 = 64 << 20;

/// Whether a mount may be at all.
pub fn mount(mount: &Mount) -> Result<(), PlanError> {
    let bad = |what| Err(PlanError::BadMount { path: mount.target.clone(), what });
    for path in [&mount.source, &mount.target] {
        let parts = path.strip_prefix('/').map(|rest| rest.split('/').collect::<Vec<_>>()).unwrap_or_default();
        if parts.is_empty() || parts.iter().any(|part| matches!(*part, "" | "." | "..")) || path.contains('\0') {
            return bad("has no plain absolute path");
        }
        if mount.purpose == MountPurpose::Device {
            continue;
        }
        let places = Places::default();
        if let Some(closed) = forbidden::check(path, &places).or_else(|| forbidden::covers(path, &places)) {
            return Err(PlanError::Forbidden { path: path.clone(), why: closed.why.to_owned() });
        }
    }
    if mount.flags.read_only == matches!(mount.purpose, MountPurpose::WriteGrant | MountPurpose::OutsideWrite) {
        return bad("may be written, or may not, against its purpose");
    }
    if !mount.flags.no_suid || !mount.flags.no_symfollow {
        return bad("could gain an identity or be led elsewhere");
    }
    let code = matches!(mount.purpose, MountPurpose::Program | MountPurpose::Library | MountPurpose::Command);
    if mount.flags.no_exec == code {
        return bad("may be executed, or may not, against its purpose");
    }
    let device = mount.purpose == MountPurpose::Device;
    if mount.flags.no_dev == device || (device && !DEVICES.contains(&mount.target.as_str())) {
        return bad("shows a device that is not one of the three");
    }
    match mount.purpose {
        MountPurpose::Program
        | MountPurpose::Library
        | MountPurpose::Device
        | MountPurpose::Certificates
        | MountPurpose::Command
        | MountPurpose::Kept
            if mount.folder =>
        {
            bad("is a folder")
        }
        MountPurpose::Stdlib
        | MountPurpose::Grant
        | MountPurpose::WriteGrant
        | MountPurpose::Outside
        | MountPurpose::OutsideWrite
        | MountPurpose::Guard
        | MountPurpose::ProgramData
            if !mount.folder =>
        {
            bad("is no folder")
        }
        MountPurpose::Program
        | MountPurpose::Library
        | MountPurpose::Stdlib
        | MountPurpose::Device
        | MountPurpose::Certificates
        | MountPurpose::Command
        | MountPurpose::ProgramData
            if mount.source != mount.target =>
        {
            bad("stands elsewhere than it comes from")
        }
        MountPurpose::Certificates if mount.target != CA_FILE => bad("is no file of certificate authorities"),
        MountPurpose::Program
        | MountPurpose::Library
        | MountPurpose::Stdlib
        | MountPurpose::Command
        | MountPurpose::ProgramData
            if [WORKSPACE, WRITABLE, OUTSIDE, OUTSIDE_WRITABLE]
                .iter()
                .any(|owners| is_below(&mount.source, owners)) =>
        {
            bad("would run what lies in the workspace")
        }
        MountPurpose::Grant | MountPurpose::WriteGrant | MountPurpose::Guard | MountPurpose::Kept
            if !is_below(&mount.target, WORKSPACE) =>
        {
            bad("is a grant outside the workspace")
        }
        MountPurpose::Grant | MountPurpose::Guard | MountPurpose::Kept
            if !is_below(&mount.source, WORKSPACE) && !mount.source.starts_with(SCRATCH_BELOW) =>
        {
            bad("is a grant from outside the workspace")
        }
        MountPurpose::WriteGrant if !is_below(&mount.source, WRITABLE) && !mount.source.starts_with(SCRATCH_BELOW) => {
            bad("is a grant to write from outside the workspace")
        }
        MountPurpose::WriteGrant if is_below(&mount.target, &pool()) || is_below(&mount.source, &writable_pool()) => {
            bad("would let the executors themselves be written")
        }
        MountPurpose::Outside => from_outside(mount, OUTSIDE),
        MountPurpose::OutsideWrite => from_outside(mount, OUTSIDE_WRITABLE),
        MountPurpose::Program
        | MountPurpose::Library
        | MountPurpose::Stdlib
        | MountPurpose::Device
        | MountPurpose::Grant
        | MountPurpose::WriteGrant
        | MountPurpose::Guard
        | MountPurpose::Kept
        | MountPurpose::Certificates
        | MountPurpose::Command
        | MountPurpose::ProgramData => Ok(()),
    }
}

/// A folder outside the workspace stands below its own path, comes from there, and is nothing that is closed: whatever
/// is listed.
fn from_outside(mount: &Mount, from: &str) -> Result<(), PlanError> {
    let bad = |what| Err(PlanError::BadMount { path: mount.target.clone(), what });
    let Some(path) = mount.target.strip_prefix(OUTSIDE).filter(|path| path.starts_with('/')) else {
        return bad("is a grant outside its place");
    };
    if let Some(why) = outside::closed(path) {
        return Err(PlanError::Forbidden { path: path.to_owned(), why });
    }
    if mount.source.strip_prefix(from) != Some(path) && !mount.source.starts_with(SCRATCH_BELOW) {
        return bad("comes from elsewhere than its name says");
    }
    Ok(())
}

/// A folder that may be written and contains the pool of executors has the pool guarded, by a mount that comes
/// later and so lies on top.
pub fn guards(mounts: &[Mount]) -> Result<(), PlanError> {
    for (index, mount) in mounts.iter().enumerate() {
        if mount.purpose != MountPurpose::WriteGrant || !is_below(&writable_pool(), &mount.source) {
            continue;
        }
        let guards =
            |later: &&Mount| later.purpose == MountPurpose::Guard && later.target == pool() && later.source == pool();
        if !mounts.iter().skip(index).any(|later| guards(&later)) {
            return Err(PlanError::BadMount {
                path: mount.target.clone(),
                what: "may be written, and does not guard the executors below it",
            });
        }
        if let Some(name) = KEPT.into_iter().find(|name| !keeps(mounts, index, name)) {
            return Err(PlanError::BadMount {
                path: format!("{}/{name}", mount.target),
                what: "could be written by a call that does not name it",
            });
        }
        // On top of the guard nothing may be put that could be written.
        let after = mounts.iter().skip_while(|later| !guards(later));
        if after.into_iter().any(|later| later.purpose == MountPurpose::WriteGrant && is_below(&pool(), &later.target))
        {
            return Err(PlanError::BadMount {
                path: mount.target.clone(),
                what: "would cover the guard of the executors",
            });
        }
    }
    Ok(())
}

/// Whether a file of the owner's is mounted for reading on top of the folder that this mount grants to write.
fn keeps(mounts: &[Mount], grant: usize, name: &str) -> bool {
    let path = format!("{WORKSPACE}/{name}");
    mounts
        .iter()
        .skip(grant)
        .any(|later| later.purpose == MountPurpose::Kept && later.target == path && later.source == path)
}

/// Each granted folder may hold a closed place or a file of secrets, so each is looked through; and nothing else is.
pub fn masks(spec: &Spec) -> Result<(), PlanError> {
    let granted = |mount: &&Mount| {
        matches!(
            mount.purpose,
            MountPurpose::Grant | MountPurpose::WriteGrant | MountPurpose::Outside | MountPurpose::OutsideWrite
        )
    };
    let granted = spec.mounts.iter().filter(granted);
    let wanted: BTreeSet<String> = granted.map(|mount| mount.target.clone()).collect();
    let found: BTreeSet<String> = spec.masks.iter().cloned().collect();
    match wanted.symmetric_difference(&found).next() {
        Some(path) if wanted.contains(path) => {
            Err(PlanError::BadMount { path: path.clone(), what: "is granted, and what is closed in it is not covered" })
        }
        Some(path) => Err(PlanError::BadMount { path: path.clone(), what: "is looked through, and is not granted" }),
        None => Ok(()),
    }
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

/// Whether the network is one that a helper can make.
fn egress(egress: &Egress) -> bool {
    let rules = (1..=MAX_RULES).contains(&egress.rules.len());
    let connections = (1..=MAX_CONNECTIONS).contains(&usize::from(egress.connections));
    rules && connections && (1..=MAX_EGRESS_BYTES).contains(&egress.bytes)
}

/// The steps of the ladder that can carry this.
fn modes(spec: &Spec) -> Vec<Mode> {
    let fresh =
        spec.narrowed || spec.egress.is_some() || !spec.commands.is_empty() || spec.mounts.iter().any(is_outside);
    if fresh { vec![Mode::Execed] } else { Mode::LADDER.to_vec() }
}

fn is_outside(mount: &Mount) -> bool {
    matches!(mount.purpose, MountPurpose::Outside | MountPurpose::OutsideWrite)
}

/// What can be executed after the seal is what is listed and shown, and the one loader; and who runs programs has no network.
pub fn programs(spec: &Spec) -> Result<(), PlanError> {
    let bad = |path: &str, what| Err(PlanError::BadMount { path: path.to_owned(), what });
    let is = |path: &str, purposes: &[MountPurpose]| {
        spec.mounts.iter().any(|mount| mount.target == path && purposes.contains(&mount.purpose))
    };
    if let Some(path) = spec.commands.iter().find(|path| !is(path, &[MountPurpose::Command, MountPurpose::Program])) {
        return bad(path, "is to be run, and is not shown as a program");
    }
    let shown = spec.mounts.iter().filter(|mount| mount.purpose == MountPurpose::Command);
    if let Some(mount) = shown.into_iter().find(|mount| !spec.commands.contains(&mount.target)) {
        return bad(&mount.target, "is shown as a program, and is not to be run");
    }
    for place in spec.places.iter().filter(|place| place.right == Right::Run) {
        let loader = !spec.commands.is_empty()
            && spec.argv.first() != Some(&place.path)
            && is(&place.path, &[MountPurpose::Program]);
        if place.folder || !(spec.commands.contains(&place.path) || loader) {
            return bad(&place.path, "could be executed, and is not listed");
        }
    }
    if !spec.commands.is_empty() && spec.egress.is_some() {
        return Err(PlanError::BadLimit("egress"));
    }
    Ok(())
}

/// Whether a number is 0, and left out of the plan.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Whether the limits are within what any manifest may ask.
pub fn limits(spec: &Spec) -> Result<(), PlanError> {
    let (limits, cap) = (&spec.limits, Quotas::CAP);
    let fits = [
        ("wall_s", (1..=u64::from(cap.wall_s)).contains(&limits.wall_s.into())),
        ("cpu_s", (1..=u64::from(cap.cpu_s)).contains(&limits.cpu_s.into())),
        ("address_bytes", (1..=u64::from(cap.ram_mb) << 20).contains(&limits.address_bytes)),
        ("output_bytes", (1..=u64::from(cap.output_mb) << 20).contains(&limits.output_bytes)),
        ("processes", (1..=64).contains(&limits.processes)),
        ("open_files", (8..=256).contains(&limits.open_files)),
        ("file_bytes", limits.file_bytes <= spec.tmp.bytes.max(MAX_FILE as u64)),
        ("gives_bytes", limits.gives_bytes <= MAX_FILE as u64),
        ("stack_bytes", (1 << 20..=8 << 20).contains(&limits.stack_bytes)),
        ("disk_bytes", limits.disk_bytes <= 64 << 20 && limits.file_bytes <= limits.disk_bytes),
        ("disk_files", limits.disk_files <= 4096),
        ("tmp", spec.tmp.bytes <= 64 << 20 && spec.root.bytes <= 4 << 20),
        ("namespaces", spec.namespaces == Namespace::ALL),
        ("modes", spec.modes == modes(spec)),
        // A home that is not needed would only be revealed.
        ("home", spec.home.is_empty() || spec.mounts.iter().any(is_outside)),
        ("egress", spec.egress.as_ref().is_none_or(egress)),
        ("secrets", spec.secrets.len() <= MAX_SECRETS && spec.secrets.iter().all(|name| is_name(name))),
        ("inner_id", spec.inner_id != 0),
        ("umask", spec.umask & UMASK == UMASK && spec.umask <= 0o777),
        // Were it below the limit, a descriptor of this number could be made after the start.
        ("program_fd", i64::from(spec.program_fd) > i64::from(limits.open_files)),
    ];
    match fits.iter().find(|(_, fits)| !fits) {
        Some((name, _)) => Err(PlanError::BadLimit(name)),
        None => Ok(()),
    }
}
