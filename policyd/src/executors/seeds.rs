//! The executors of this release, by digest: the only ones that are signed without the
//! owner. It must never match on a name alone.

use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId};

/// An executor as it stands in the repository that this program was built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    /// Its name.
    pub name: &'static str,
    /// Digest of `manifest.toml`.
    pub manifest: Blake3,
    /// Digest of `main.py`.
    pub code: Blake3,
    /// Digest of `schema.json`.
    pub schema: Blake3,
}

/// All of them, by name.
pub const SEEDS: &[Seed] = include!(concat!(env!("OUT_DIR"), "/seeds.rs"));

/// Whether these very files are a seed of `seeds`.
#[must_use]
pub fn is_seed(seeds: &[Seed], id: &ExecutorId, digests: &ExecutorDigests) -> bool {
    seeds.iter().any(|seed| {
        seed.name == id.name
            && seed.manifest == digests.manifest
            && seed.code == digests.code
            && seed.schema == digests.schema
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_bytes_are_a_seed() {
        let seed = Seed { name: "a", manifest: Blake3::of(b"m"), code: Blake3::of(b"c"), schema: Blake3::of(b"s") };
        let id = ExecutorId { name: "a".into(), version: "1.0.0".into() };
        let digests = ExecutorDigests {
            manifest: seed.manifest,
            code: seed.code,
            schema: seed.schema,
            profile: Blake3::of(b"p"),
        };
        assert!(is_seed(&[seed], &id, &digests));
        let other = Blake3::of(b"x");
        assert!(!is_seed(&[seed], &ExecutorId { name: "b".into(), ..id.clone() }, &digests));
        assert!(!is_seed(&[seed], &id, &ExecutorDigests { manifest: other, ..digests.clone() }));
        assert!(!is_seed(&[seed], &id, &ExecutorDigests { code: other, ..digests.clone() }));
        assert!(!is_seed(&[seed], &id, &ExecutorDigests { schema: other, ..digests.clone() }));
        assert!(!is_seed(&[], &id, &digests));
    }

    #[test]
    fn the_embedded_digests_are_those_of_the_repository() {
        let above = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for seed in SEEDS {
            let shipped = above.join("executors").join(seed.name).is_dir();
            // What is not shipped is known to builds of tests alone.
            assert!(shipped || cfg!(feature = "attack"), "{}", seed.name);
            let root = above.join(if shipped { "executors" } else { "tests/executors" });
            let file = |name| Blake3::of(&std::fs::read(root.join(seed.name).join(name)).unwrap());
            assert_eq!(seed.manifest, file("manifest.toml"), "{}", seed.name);
            assert_eq!(seed.code, file("main.py"), "{}", seed.name);
            assert_eq!(seed.schema, file("schema.json"), "{}", seed.name);
        }
    }
}
