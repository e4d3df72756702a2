//! Any packet on the control star, in both directions and at `metnosctl`: a word or an error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_proto::control::{CtlAnswer, CtlAsk, Message, Order, Report};
use metnos_proto::frame;

fn word<M: Message>(body: &[u8]) {
    if let Ok(message) = frame::decode::<M>(body) {
        assert!(message.fds() <= 1);
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok((_, body)) = frame::split(bytes) {
        word::<Order>(body);
        word::<Report>(body);
        word::<CtlAsk>(body);
        word::<CtlAnswer>(body);
    }
});
