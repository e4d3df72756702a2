//! Whatever a model's server says, cut wherever: a reply within its bounds, or an error; never a panic. The name of the
//! target says in which language, or that it is about everything but replies.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use metnos_mind::format::accumulator::{MAX_ARGUMENTS, MAX_TEXT};
use metnos_mind::format::{Reader, complaint, json, listed, shown, sse};
use metnos_proto::models::Dialect;
use metnos_proto::prompt::{MAX_CALLS, Stop};

fn tongue() -> Option<Dialect> {
    static TONGUE: OnceLock<Option<Dialect>> = OnceLock::new();
    *TONGUE.get_or_init(|| {
        let name = std::env::args().next().unwrap_or_default();
        Dialect::ALL.into_iter().find(|tongue| name.ends_with(&format!("model_{}", tongue.name())))
    })
}

fn reply(tongue: Dialect, first: u8, bytes: &[u8]) {
    let mut reader = Reader::new(tongue, 1_000, first & 1 == 1);
    let mut over = false;
    for piece in bytes.chunks(usize::from(first / 2).max(1)) {
        match reader.push(piece) {
            Ok(ended) => over = ended,
            Err(_) => return,
        }
    }
    if over || reader.end().is_ok() {
        let reply = reader.reply(Stop::Stopped);
        assert!(reply.text.len() <= MAX_TEXT && reply.calls.len() <= MAX_CALLS);
        assert!(reply.calls.iter().all(|call| call.arguments.len() <= MAX_ARGUMENTS && !call.id.is_empty()));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    match tongue() {
        Some(tongue) => reply(tongue, *first, rest),
        None => {
            let _ = (Dialect::ALL.map(|tongue| listed(tongue, rest)), shown(rest));
            let value = json::parse(rest).unwrap_or_default();
            assert!(complaint(Some(u16::from(*first) + 400), &value).why.len() < 2_000);
            let mut events = sse::Events::default();
            let _ = rest.chunks(usize::from(*first).max(1)).try_for_each(|piece| events.push(piece).map(drop));
        }
    }
});
