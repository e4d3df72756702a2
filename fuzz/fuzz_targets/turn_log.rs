//! The log of a turn as the planner gives it to a door: any bytes at all.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_proto::payload::Sealed;
use metnos_proto::turn_log::{Entry, MAX_LOG, read, write};

fuzz_target!(|bytes: &[u8]| {
    let Ok(document) = Sealed::new(bytes) else { return };
    let Ok(entries) = read(&document) else { return };
    assert!(entries.iter().map(Entry::weight).sum::<usize>() <= MAX_LOG);
    let again = write(&entries).and_then(|document| read(&document));
    assert_eq!(again.as_ref(), Ok(&entries));
});
