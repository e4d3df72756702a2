//! What Telegram's servers say, and what a button carried: anything at all.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_gatewayd::telegram::{card, text, update};

fuzz_target!(|bytes: &[u8]| {
    if let Some(update::Reply::Ok(value)) = update::reply(bytes) {
        let updates = update::updates(&value);
        assert!(updates.windows(2).all(|pair| pair[0].id < pair[1].id));
    }
    let Ok(words) = std::str::from_utf8(bytes) else { return };
    if let Some(pressed) = card::Pressed::parse(words) {
        assert!(words.starts_with(&format!("card:{}:{}:", pressed.id, pressed.short)));
    }
    for piece in text::split(&text::spans(words), 16) {
        assert!(text::units(&piece.text) <= 16);
    }
});
