//! What a client may send over a WebSocket, as bytes: whatever it is, no message is longer than the bound, and what is
//! read of one is a document. And what may come as the head and body of a webhook: nobody signs without the secret.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use metnos_gatewayd::hooks::signed::{Claim, is_good};
use metnos_gatewayd::http::{limits::bounds::MAX_BODY, views, ws};
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

fuzz_target!(|bytes: Vec<u8>| {
    let mut socket = WebSocket::from_raw_socket(Cursor::new(bytes.clone()), Role::Server, Some(ws::config()));
    while let Ok(message) = socket.read() {
        if let Message::Text(text) = &message {
            assert!(text.len() <= MAX_BODY);
            let _ = ws::read(text.as_bytes());
        }
    }
    let _ = ws::read(&bytes);
    let text = String::from_utf8_lossy(&bytes);
    let _ = views::page(Some(&text));
    let _ = views::looked_for(Some(&text));
    let mut parts = text.splitn(4, '\n');
    let mut part = || parts.next().unwrap_or_default();
    let claim = Claim { id: part(), timestamp: part(), signature: part() };
    assert!(!is_good(b"a secret that no fuzzer is told....", claim, part().as_bytes(), 1_614_265_330));
});
