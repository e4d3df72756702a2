//! Any bytes as a program's file, as the loader's cache, and as words of a command line: names or an error, and a command that is
//! taken apart is listed only where each part of it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_policy::call::argv;
use metnos_sandboxd::machine::elf::Needs;
use metnos_sandboxd::machine::libraries::Cache;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(needs) = Needs::read(bytes) {
        assert!(needs.libraries.iter().all(|name| !name.is_empty() && !name.contains('\0')));
    }
    let _ = Cache::read(bytes);
    let words: Vec<String> = bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    assert!(!argv::is_listed(&words, &[]));
});
