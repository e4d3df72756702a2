//! Which folders a manifest grants, as they are when a call is decided: sandboxd mounts these, or nothing (design: sandbox §1).

use metnos_proto::executor::outside::Declared;
use metnos_proto::executor::{Capability, Manifest, PathGrant};
use metnos_proto::msg::sandboxd::SeenFolder;

use crate::outside::Folders;
use crate::policy::Policy;
use crate::registry::Signed;
use crate::vaglio::files::OwnersFiles;

impl Policy {
    /// What an executor is granted, as it is now.
    pub(crate) fn seen(&self, signed: &Signed) -> Vec<SeenFolder> {
        seen(self.house().files.as_ref(), &self.house().folders, &signed.manifest)
    }
}

/// The folders that the manifest grants and that are there; one that is not is mounted by nobody.
#[must_use]
pub fn seen(files: Option<&OwnersFiles>, outside: &Folders, manifest: &Manifest) -> Vec<SeenFolder> {
    let there = |folder: Declared| {
        let path = folder.path?;
        let (device, inode) = outside.identity(&path)?;
        Some(SeenFolder { below: path, device, inode })
    };
    let mut folders = inside(files, manifest);
    folders.extend(outside.declared(manifest).into_iter().filter_map(there));
    folders
}

/// Those of the workspace.
fn inside(files: Option<&OwnersFiles>, manifest: &Manifest) -> Vec<SeenFolder> {
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
    fn each_granted_folder_is_told_once_as_it_is_now_and_what_is_not_there_is_not() {
        let workspace = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(workspace.path().join("drafts/a")).unwrap();
        let files = OwnersFiles::open(workspace.path()).unwrap();
        let grants = r#"[ { fs_read = ["workspace/", "workspace/none/"] }, { fs_write = ["workspace/drafts/a/", "workspace/"] } ]"#;
        let text = crate::testing::manifest_text("reads", &[])
            .replace("fs-read-workspace", "fs-write-workspace")
            .replace(r#"[ { fs_read = ["workspace/"] } ]"#, grants);
        let manifest = Manifest::parse(text.as_bytes()).unwrap();
        let none = Folders::default();
        let now = seen(Some(&files), &none, &manifest);
        let numbers =
            |path: &str| std::fs::metadata(workspace.path().join(path)).map(|it| (it.dev(), it.ino())).unwrap();
        let told: Vec<_> = now.iter().map(|it| (it.below.as_str(), (it.device, it.inode))).collect();
        assert_eq!(told, [("", numbers(".")), ("drafts/a", numbers("drafts/a"))]);
        // Another folder of the same name is another folder.
        std::fs::rename(workspace.path().join("drafts/a"), workspace.path().join("drafts/b")).unwrap();
        std::fs::create_dir(workspace.path().join("drafts/a")).unwrap();
        assert_ne!(seen(Some(&files), &none, &manifest)[1], now[1]);
        assert!(seen(None, &none, &manifest).is_empty());
    }
}
