//! Any bytes as what reaches an egress helper: an order, a line that says where to, a first record; and any text as an
//! address. Each is read one way or not at all.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_egress::hello::{self, First, MAX_RECORD};
use metnos_egress::order::{Order, Visit, destination};
use metnos_proto::executor::is_host_name;
use metnos_sandboxd::process::egress::place_of;

fuzz_target!(|bytes: &[u8]| {
    if let Some(order) = Order::read(bytes) {
        assert!(order.rules.iter().all(|rule| is_host_name(&rule.host)));
    }
    let _ = Visit::read(bytes);
    if let Some((host, port)) = destination(bytes) {
        assert_eq!(format!("{host} {port}").as_bytes(), bytes);
    }
    if let First::More = hello::read(bytes) {
        assert!(bytes.len() < MAX_RECORD);
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Some(rule) = place_of(text)
    {
        assert!(is_host_name(&rule.host) && !rule.below);
    }
});
