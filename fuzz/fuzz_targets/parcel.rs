//! Any bytes as a parcel of another instance: an executor or an error, and what is read is spelled as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_proto::executor::{is_name, parse_version};
use metnos_proto::parcel::Parcel;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((parcel, signature)) = Parcel::read(bytes) {
        assert!(is_name(&parcel.id.name) && parse_version(&parcel.id.version).is_some());
        assert_eq!(parcel.write(&signature), bytes);
    }
});
