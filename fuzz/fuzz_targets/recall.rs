//! Any text as what is remembered and as what is asked: it is found or not, and never more than text. A database
//! that heard syntax in it would fail; a word that is no word would not be found again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_memoryd::chronicle::time::Day;
use metnos_memoryd::recall::store::{Store, Turn};
use metnos_memoryd::recall::search;
use metnos_rank::{lexicon, words};
use metnos_proto::msg::common::Trust;
use metnos_proto::msg::memoryd::Rehearse;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut store = Store::ephemeral().expect("memory");
    let other = "the secret of another";
    let turn = |doc, peer, text| Turn {
        doc,
        peer,
        session: None,
        speaker: "owner",
        ts_ms: doc * 1000,
        text,
        trust: Trust::Owner,
    };
    store.apply(&[turn(1, "me", text), turn(2, "you", other)], &[], 2).expect("any text can be remembered");
    let found = search(&mut store, "me", text, Day(19_500), 10).expect("any text can be asked");
    assert!(found.iter().all(|hit| hit.doc.doc == 1));
    if text.len() < 4096 && text.is_ascii() && words::words(text).iter().any(|word| !lexicon::is_stop(word) && *word != "owner") {
        assert_eq!(found.len(), 1, "a text finds itself");
    }
    // And as a file of a measurement: refused or read.
    if let Ok(mut rehearsal) = metnos_memoryd::rehearsal::Rehearsal::new() {
        for word in [Rehearse::Turns, Rehearse::Step, Rehearse::Question(5)] {
            let _read = rehearsal.perform(&word, bytes);
        }
    }
});
