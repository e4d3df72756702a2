//! The same sandbox for a person who may read only a part of the workspace, such as a guest: of what the executor is
//! granted, nothing is mounted but that part. It can only take away (design: people §1).

use metnos_proto::executor::guests::{self, Privacy};

use super::{Mode, Mount, MountPurpose, OUTSIDE, Place, Plan, PlanError, Right, WORKSPACE, WRITABLE};

impl Plan {
    /// This plan with nothing of the workspace but `folders`, which are names below it, and nothing outside of it. What
    /// waits warm is for whole plans, so a call of this one is carried by a fresh interpreter.
    ///
    /// # Errors
    /// When a folder cannot be shown to guests, or what is left is no plan.
    pub fn only(&self, folders: &[String]) -> Result<Self, PlanError> {
        let is_private = |folder: &str| matches!(guests::privacy(folder), Privacy::Of(name) if guests::folder_name(name) == name && guests::private(name) == folder);
        let unfit = |folder: &&String| guests::refused(folder).is_some() && !is_private(folder);
        if let Some(folder) = folders.iter().find(unfit) {
            return Err(PlanError::BadMount { path: folder.clone(), what: "is no folder for guests" });
        }
        let mut spec = self.spec().clone();
        let mut mounts: Vec<Mount> = Vec::new();
        for mount in spec.mounts.iter().flat_map(|mount| left_of(mount, folders)) {
            // What would lie on top of another one stands in its place.
            mounts.retain(|earlier| earlier.target != mount.target);
            mounts.push(mount);
        }
        spec.mounts = mounts;
        spec.masks = spec.mounts.iter().filter(|mount| is_shown(mount)).map(|mount| mount.target.clone()).collect();
        spec.places.retain(|place| !is_granted_target(&place.path));
        let shown: Vec<Place> = spec.mounts.iter().filter(|mount| is_shown(mount)).map(place).collect();
        spec.places.extend(shown);
        // The folders on the way there can be listed; they hold nothing else.
        spec.places.push(Place { path: WORKSPACE.to_owned(), folder: true, right: Right::Read });
        spec.home.clear();
        spec.narrowed = true;
        spec.modes = vec![Mode::Execed];
        Self::new(spec)
    }
}

/// Whether this place of a sandbox is the owner's.
fn is_granted_target(path: &str) -> bool {
    [WORKSPACE, OUTSIDE]
        .iter()
        .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

fn is_shown(mount: &Mount) -> bool {
    matches!(mount.purpose, MountPurpose::Grant | MountPurpose::WriteGrant)
}

fn place(mount: &Mount) -> Place {
    let right = if mount.purpose == MountPurpose::WriteGrant { Right::Change } else { Right::Read };
    Place { path: mount.target.clone(), folder: true, right }
}

/// What is left of one mount.
fn left_of(mount: &Mount, folders: &[String]) -> Vec<Mount> {
    let root = match mount.purpose {
        MountPurpose::Grant => WORKSPACE,
        MountPurpose::WriteGrant => WRITABLE,
        // The executors and the owner's six files are never among what is shown, so there is nothing to guard.
        MountPurpose::Outside | MountPurpose::OutsideWrite | MountPurpose::Guard | MountPurpose::Kept => {
            return Vec::new();
        }
        MountPurpose::Program
        | MountPurpose::Library
        | MountPurpose::Stdlib
        | MountPurpose::Device
        | MountPurpose::Certificates
        | MountPurpose::Command
        | MountPurpose::ProgramData => {
            return vec![mount.clone()];
        }
    };
    let Some(granted) = mount.target.strip_prefix(WORKSPACE).map(|rest| rest.trim_start_matches('/')) else {
        return Vec::new();
    };
    let shown = guests::narrowed(granted, folders).into_iter().map(|name| Mount {
        source: format!("{root}/{name}"),
        target: format!("{WORKSPACE}/{name}"),
        ..mount.clone()
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::executor::Manifest;

    use super::*;
    use crate::plan::testing::{installation, reader, writer};

    fn granted(capabilities: &str) -> Plan {
        let text = String::from_utf8_lossy(include_bytes!("../../../executors/fs_read/manifest.toml")).into_owned();
        let text = text.replace("fs-read-workspace", "fs-x").replace("{ fs_read = [\"workspace/\"] }", capabilities);
        installation().plan(&Manifest::parse(text.as_bytes()).unwrap()).unwrap()
    }

    fn shown(plan: &Plan) -> Vec<(&str, &str, MountPurpose)> {
        let owners = |mount: &&Mount| is_granted_target(&mount.target);
        plan.spec()
            .mounts
            .iter()
            .filter(owners)
            .map(|mount| (mount.source.as_str(), mount.target.as_str(), mount.purpose))
            .collect()
    }

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_guests_call_is_shown_what_guests_read_and_nothing_else() {
        let folders = names(&["recipes", "shared"]);
        let plan = reader().only(&folders).unwrap();
        let read = |name: &'static str| (name, name, MountPurpose::Grant);
        assert_eq!(shown(&plan), [read("/workspace/recipes"), read("/workspace/shared")]);
        let places: Vec<(&str, Right)> = plan
            .spec()
            .places
            .iter()
            .filter(|place| is_granted_target(&place.path))
            .map(|place| (place.path.as_str(), place.right))
            .collect();
        let read = |name: &'static str| (name, Right::Read);
        assert_eq!(places, [read("/workspace/recipes"), read("/workspace/shared"), read("/workspace")]);
        assert!(plan.spec().masks.contains(&"/workspace/shared".to_owned()));
        assert!(!plan.spec().masks.contains(&"/workspace".to_owned()));
        assert_eq!(plan.spec().modes, [Mode::Execed]);
        assert_ne!(plan.hash(), reader().hash());
        assert!(shown(&reader().only(&[]).unwrap()).is_empty());
    }

    #[test]
    fn restricted_plan_writes_only_the_given_folders() {
        let folders = names(&["shared"]);
        let plan = writer("\"workspace/\"").unwrap().only(&folders).unwrap();
        assert_eq!(shown(&plan), [("/writable/shared", "/workspace/shared", MountPurpose::WriteGrant)]);
        let plan = granted("{ fs_read = [\"workspace/\", \"~/Pictures/\"] }, { fs_write = [\"workspace/shared/\"] }");
        let plan = plan.only(&folders).unwrap();
        assert_eq!(shown(&plan), [("/writable/shared", "/workspace/shared", MountPurpose::WriteGrant)]);
        assert!(shown(&granted("{ fs_read = [\"workspace/notes/\"] }").only(&folders).unwrap()).is_empty());
    }

    #[test]
    fn folder_not_for_guests_is_never_shown() {
        for folder in ["", "..", "/etc", "executors", ".ssh", "a/../.."] {
            assert!(reader().only(&names(&[folder])).is_err(), "{folder:?}");
        }
    }
}
