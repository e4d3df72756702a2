//! Any bytes as an executor's `manifest.toml`: a manifest or an error, and a manifest names itself well.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_proto::executor::{Manifest, is_name, parse_version};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(manifest) = Manifest::parse(bytes) {
        let id = manifest.id();
        assert!(is_name(&id.name) && parse_version(&id.version).is_some());
    }
});
