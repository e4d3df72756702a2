//! What the planner says that it has kept of a turn, as the door reads it: anything at all.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_gatewayd::told::{MAX_TOLD, Piece, read, write};
use metnos_proto::payload::Sealed;

fuzz_target!(|bytes: &[u8]| {
    let Ok(document) = Sealed::new(bytes) else { return };
    let Ok(pieces) = read(&document) else { return };
    assert!(pieces.iter().map(Piece::weight).sum::<usize>() <= MAX_TOLD);
    let again = write(&pieces).and_then(|document| read(&document));
    assert_eq!(again.as_ref(), Ok(&pieces));
});
