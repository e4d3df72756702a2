//! What a new instance begins with, embedded when this program was built: the example
//! workspace, the commented configuration, and this release's executors, unsigned. Each
//! instance signs for itself.

use std::path::PathBuf;

use metnos_proto::executor::Manifest;

use crate::error::CtlError;

mod embedded {
    #![allow(clippy::type_complexity, reason = "two tables that are read in one place")]
    include!(concat!(env!("OUT_DIR"), "/seeds.rs"));
}

pub use embedded::{EXECUTORS, WORKSPACE};

/// The configuration of a new instance: every key, commented out.
pub const CONFIG: &[u8] = include_bytes!("../../../examples/metnos.toml");
/// The file that names an executor's default version (design: executor §2).
pub const CURRENT: &str = "CURRENT";

/// Every file of a new workspace: its path below the workspace, and its bytes.
///
/// # Errors
/// When an executor of this release has no valid manifest.
pub fn workspace_files() -> Result<Vec<(PathBuf, Vec<u8>)>, CtlError> {
    let mut files: Vec<(PathBuf, Vec<u8>)> =
        WORKSPACE.iter().map(|(path, bytes)| (PathBuf::from(path), bytes.to_vec())).collect();
    for (name, parts) in EXECUTORS {
        let broken =
            |why: String| CtlError::failed(format!("the executor {name} of this release"), why, "install Metnos anew");
        let manifest = parts.iter().find(|(path, _)| *path == "manifest.toml");
        let (_, manifest) = manifest.ok_or_else(|| broken("it has no manifest".to_owned()))?;
        let manifest = Manifest::parse(manifest).map_err(|error| broken(error.to_string()))?;
        if manifest.executor.name != *name {
            return Err(broken(format!("its manifest says `{}`", manifest.executor.name)));
        }
        let folder = PathBuf::from("executors").join(name);
        let version = manifest.executor.version;
        files.extend(parts.iter().map(|(path, bytes)| (folder.join(&version).join(path), bytes.to_vec())));
        files.push((folder.join(CURRENT), format!("{version}\n").into_bytes()));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::path::Path;

    fn names() -> Vec<String> {
        workspace_files().unwrap().into_iter().map(|(path, _)| path.display().to_string()).collect()
    }

    #[test]
    fn the_six_files_and_two_notes_are_there() {
        for file in [
            "IDENTITY.md",
            "USER.md",
            "MEMORY.md",
            "AGENTS.md",
            "SOUL.md",
            "TELOS.md",
            "notes/welcome.md",
            "notes/shopping.md",
        ] {
            assert!(names().iter().any(|name| name == file), "{file} is missing");
        }
    }

    #[test]
    fn every_executor_of_the_repository_is_whole_and_none_is_signed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors");
        for entry in std::fs::read_dir(root).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let embedded = EXECUTORS.iter().find(|(known, _)| **known == name);
            if !entry.path().join("manifest.toml").is_file() || name == "host" {
                assert!(embedded.is_none(), "{name} is no executor");
                continue;
            }
            let (_, parts) = embedded.unwrap_or_else(|| panic!("{name} is not embedded"));
            let paths: Vec<&str> = parts.iter().map(|(path, _)| *path).collect();
            assert_eq!(paths, ["manifest.toml", "main.py", "schema.json", "tests/birth.py"], "{name}");
            for (path, bytes) in *parts {
                assert_eq!(*bytes, std::fs::read(entry.path().join(path)).unwrap(), "{name}/{path}");
            }
            let current = format!("executors/{name}/{CURRENT}");
            assert!(names().contains(&current), "{current} is missing");
        }
    }

    #[test]
    fn the_constitution_has_four_laws_and_the_telos_three_sections_in_order() {
        let text = |name: &str| {
            let (_, bytes) = WORKSPACE.iter().find(|(path, _)| *path == name).unwrap();
            std::str::from_utf8(bytes).unwrap().to_owned()
        };
        let soul = text("SOUL.md");
        for law in ["1. **Perimeter**", "2. **Non-harm**", "3. **Informed obedience**", "4. **Traceability**"] {
            assert!(soul.contains(law), "{law}");
        }
        let telos = text("TELOS.md");
        let sections: Vec<&str> = telos.split("\n## t.").skip(1).collect();
        assert_eq!(sections.len(), 3);
        let mut weights = 0.0;
        for section in sections {
            let value = |key: &str| section.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim().to_owned();
            weights += value("weight:").parse::<f64>().unwrap();
            assert!((0.0..=1.0).contains(&value("threshold:").parse::<f64>().unwrap()));
            assert!(section.lines().next().unwrap().contains(" — "), "{section}");
            assert!(!value("note:").is_empty());
        }
        assert!((weights - 1.0).abs() < 1e-9, "the weights are normalised");
    }

    #[test]
    fn the_configuration_sets_nothing_and_names_every_key_of_the_supervisor() {
        let text = std::str::from_utf8(CONFIG).unwrap();
        let table: toml::Table = text.parse().unwrap();
        assert!(table.values().all(|value| value.as_table().is_some_and(toml::Table::is_empty)), "a key is set");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../supervisor/src/config.rs");
        let source = std::fs::read_to_string(source).unwrap();
        let keys: Vec<&str> =
            source.lines().filter_map(|line| line.trim().strip_prefix("name: \"")?.strip_suffix("\",")).collect();
        assert!(keys.len() >= 8, "the keys were not found: {keys:?}");
        for key in keys {
            assert!(text.contains(&format!("# {key} = ")), "{key} is missing in examples/metnos.toml");
        }
    }
}
