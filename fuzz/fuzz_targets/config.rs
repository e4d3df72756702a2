//! Any text as `metnos.toml`: a configuration or an error that names the line or the key.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_supervisor::config::Config;

fuzz_target!(|text: &str| match Config::parse(text) {
    Ok(config) => {
        let (base, count) = config.uid_range();
        assert!(base > 0 && count > 0 && base.checked_add(count).is_some(), "{count} uids from {base}");
        let settings = config.settings(1_000);
        assert!(settings.interpreter.starts_with('/'), "{}", settings.interpreter);
    }
    Err(error) => assert!(!error.to_string().is_empty()),
});
