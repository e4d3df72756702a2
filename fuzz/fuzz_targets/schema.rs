//! Any bytes as an executor's `schema.json`: a schema with both halves, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_proto::executor::Schema;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(schema) = Schema::parse(bytes) {
        assert!(schema.input().is_object() && schema.output().is_object());
    }
});
