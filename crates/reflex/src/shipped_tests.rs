//! The manifests of a release: what their examples promise is what their patterns make, among all of them.

#![allow(clippy::unwrap_used)]

use metnos_proto::executor::{Manifest, Schema};

use crate::testing::envelope as envelope_of;
use crate::*;

/// Every executor that comes with a release and is offered to planners.
fn release() -> Vec<Candidate> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../executors");
    let mut places: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    places.retain(|place| place.join("manifest.toml").is_file());
    places.sort();
    let read = |place: &std::path::Path, file: &str| std::fs::read(place.join(file)).unwrap();
    let of = |place: &std::path::PathBuf| {
        let manifest = Manifest::parse(&read(place, "manifest.toml")).unwrap_or_else(|why| panic!("{place:?}: {why}"));
        Candidate::of(&manifest, &Schema::parse(&read(place, "schema.json")).unwrap()).with_digest()
    };
    places.iter().map(of).filter(|one| one.offered).collect()
}

#[test]
fn every_example_of_every_shipped_manifest_gives_its_arguments() {
    let all = release();
    let broken: Vec<String> =
        all.iter().flat_map(|one| examples::broken(&all, one)).map(|broken| broken.to_string()).collect();
    assert!(broken.is_empty(), "{} are broken: {broken:#?}", broken.len());
}

/// At its birth an executor may be the first one that there is.
#[test]
fn every_example_of_every_shipped_manifest_holds_without_the_others() {
    let all = release();
    let broken: Vec<String> = all
        .iter()
        .flat_map(|one| examples::broken(std::slice::from_ref(one), one))
        .map(|broken| broken.to_string())
        .collect();
    assert!(broken.is_empty(), "{} are broken: {broken:#?}", broken.len());
}

#[test]
fn envelope_of_all_shipped_executors_is_small() {
    let envelope = envelope_of(release(), Lang::En);
    let bytes = serde_json::to_vec(&envelope).unwrap();
    assert!(bytes.len() < 512 << 10, "{} bytes", bytes.len());
}
