//! Any bytes as a line of the chronicle: an event that is written back as the very same bytes, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_memoryd::chronicle::line::{parse_line, to_line};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(event) = parse_line(bytes) {
        let mut again = to_line(&event);
        assert_eq!(again.pop(), Some(b'\n'));
        assert_eq!(again, bytes);
    }
});
