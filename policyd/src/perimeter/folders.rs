//! Which folders a manifest grants, as they are when a call is decided: sandboxd mounts these, or nothing (design: sandbox §1).

use std::rc::Rc;

use metnos_policy::call::spec::{Effect, Spec};
use metnos_policy::evidence::context::{Context, World};
use metnos_proto::executor::outside::Declared;
use metnos_proto::executor::{Capability, Class, Manifest, PathGrant, guests};
use metnos_proto::msg::sandboxd::SeenFolder;

use crate::decision::{GIVEN, STORED};
use crate::executors::registry::{Registry, Signed};
use crate::perimeter::Perimeter;
use crate::perimeter::outside::Folders;
use crate::perimeter::owner_files::OwnerFiles;

impl Perimeter {
    /// What an executor is granted, as it is now: all of it, or where `only` is said what lies in those folders.
    pub(crate) fn seen(&self, signed: &Signed, only: Option<&[String]>) -> Vec<SeenFolder> {
        seen(Some(&self.files), &self.folders, &signed.manifest, only)
    }

    pub(crate) fn is_for_guests(&self, registry: &Registry, name: &str) -> bool {
        match registry.row_of(name) {
            Some(row) => !registry.is_grown(row),
            None => self.setting.seeds.iter().any(|seed| seed.name == name),
        }
    }

    /// The folders of the workspace that a call in this context is shown; `None` for all that its executor is granted.
    /// What a guest does on the owner's word is shown whole: each of its files stands on the card. A program's do not.
    pub(crate) fn only(&self, flow: &Context, world: &World, spec: &Spec, rule: &str) -> Option<Vec<String>> {
        let by_the_owner = matches!(rule, GIVEN | STORED);
        let on_a_card = by_the_owner && !spec.effect.reads() && spec.effect != Effect::Of(Class::Shell);
        if flow.reads_everything() || world.shows_everything() || on_a_card {
            return None;
        }
        let there = |folder: &&String| self.files.identity(folder).is_some();
        Some(world.guest_folders.iter().filter(there).cloned().collect())
    }
}

/// A world in which nothing of the workspace is hidden from anybody: for what the owner alone is shown.
pub(crate) fn everything(world: &World) -> Rc<World> {
    Rc::new(World { guest_folders: vec![String::new()], ..world.clone() })
}

/// The folders that the manifest grants and that are there; one that is not is mounted by nobody.
#[must_use]
pub fn seen(
    files: Option<&OwnerFiles>,
    outside: &Folders,
    manifest: &Manifest,
    only: Option<&[String]>,
) -> Vec<SeenFolder> {
    let there = |folder: Declared| {
        let path = folder.path?;
        let (device, inode) = outside.identity(&path)?;
        Some(SeenFolder { below: path, device, inode })
    };
    let mut folders = inside(files, manifest, only);
    if only.is_some() {
        return folders;
    }
    folders.extend(outside.declared(manifest).into_iter().filter_map(there));
    folders
}

/// Those of the workspace.
fn inside(files: Option<&OwnerFiles>, manifest: &Manifest, only: Option<&[String]>) -> Vec<SeenFolder> {
    let Some(files) = files else { return Vec::new() };
    let paths = manifest.sandbox.capabilities.iter().filter(|capability| match capability {
        Capability::FsRead(_) | Capability::FsWrite(_) => true,
        Capability::Net(_) | Capability::Secret(_) | Capability::Exec(_) => false,
    });
    let mut below: Vec<String> = paths
        .flat_map(|capability| capability.entries())
        .filter_map(|entry| match PathGrant::parse(entry)? {
            PathGrant::Workspace(below) => Some(below),
            PathGrant::Home(_) | PathGrant::Absolute(_) => None,
        })
        .flat_map(|below| match only {
            None => vec![below],
            Some(only) => guests::narrowed(&below, only),
        })
        .collect();
    below.sort();
    below.dedup();
    let one = |below: String| {
        let (device, inode) = files.identity(&below)?;
        Some(SeenFolder { below, device, inode })
    };
    below.into_iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn existing_granted_folders_are_reported_once() {
        let workspace = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(workspace.path().join("drafts/a")).unwrap();
        let files = OwnerFiles::open(workspace.path()).unwrap();
        let grants = r#"[ { fs_read = ["workspace/", "workspace/none/"] }, { fs_write = ["workspace/drafts/a/", "workspace/"] } ]"#;
        let text = crate::testing::manifest_text("reads", &[])
            .replace("fs-read-workspace", "fs-write-workspace")
            .replace(r#"[ { fs_read = ["workspace/"] } ]"#, grants);
        let manifest = Manifest::parse(text.as_bytes()).unwrap();
        let none = Folders::default();
        let now = seen(Some(&files), &none, &manifest, None);
        let numbers =
            |path: &str| std::fs::metadata(workspace.path().join(path)).map(|it| (it.dev(), it.ino())).unwrap();
        let told: Vec<_> = now.iter().map(|it| (it.below.as_str(), (it.device, it.inode))).collect();
        assert_eq!(told, [("", numbers(".")), ("drafts/a", numbers("drafts/a"))]);
        let guests = ["drafts".to_owned()];
        let told = seen(Some(&files), &none, &manifest, Some(&guests));
        assert_eq!(told.iter().map(|it| it.below.as_str()).collect::<Vec<_>>(), ["drafts", "drafts/a"], "guests");
        // Another folder of the same name is another folder.
        std::fs::rename(workspace.path().join("drafts/a"), workspace.path().join("drafts/b")).unwrap();
        std::fs::create_dir(workspace.path().join("drafts/a")).unwrap();
        assert_ne!(seen(Some(&files), &none, &manifest, None)[1], now[1]);
        assert!(seen(None, &none, &manifest, None).is_empty());
    }
}
