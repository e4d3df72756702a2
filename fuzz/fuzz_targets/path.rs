//! Any text as a path that an executor is asked to use: what is found to lie in the workspace is not
//! forbidden, and names no way out of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_proto::executor::forbidden::{Places, check, within_workspace};

fuzz_target!(|text: &str| {
    let places = Places { workspace: "/srv/instance/workspace".to_owned(), home: "/home/owner".to_owned() };
    let _ = check(text, &places);
    if let Some(inside) = within_workspace(text, &places) {
        assert!(!inside.split('/').any(|part| part == ".."), "{text:?} became {inside:?}");
        assert!(!inside.starts_with('/') && !inside.contains('\0'), "{text:?} became {inside:?}");
    }
});
