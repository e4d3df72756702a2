//! A WebSocket client that can misbehave: every frame is the test's own, down to the mask. It knows the frames of RFC 6455
//! by itself, so that the door's library is not tested with itself.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::http::Web;

/// The example of RFC 6455 §1.3, and what answers it.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// A text.
pub const TEXT: u8 = 0x81;
/// A parting.
pub const CLOSE: u8 = 0x88;
/// A ping.
pub const PING: u8 = 0x89;
/// The answer to one.
pub const PONG: u8 = 0x8a;

/// The lines of a head that ask for a WebSocket.
#[must_use]
pub fn handshake() -> String {
    format!(
        "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n"
    )
}

/// An open socket.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
}

/// A frame as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The first byte: whether it is the last of its message, and of which kind.
    pub first: u8,
    /// What it holds.
    pub payload: Vec<u8>,
}

/// The bytes of a frame as a client sends it.
#[must_use]
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [1, 2, 3, 4];
    let mut out = vec![first];
    match payload.len() {
        len @ 0..=125 => out.push(0x80 | u8::try_from(len).unwrap_or(0)),
        len @ 126..=65_535 => {
            out.push(0x80 | 126);
            out.extend_from_slice(&u16::try_from(len).unwrap_or(0).to_be_bytes());
        }
        len => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&mask);
    out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    out
}

impl Socket {
    /// Opens one with these further lines of its head.
    ///
    /// # Panics
    /// When the door does not.
    #[must_use]
    pub fn open(web: &Web, more: &str) -> Self {
        let head = web.head("GET", "/v1/ws", &format!("{}{more}", handshake()));
        let mut stream = web.send(format!("{head}\r\n").as_bytes());
        let mut answer = String::new();
        while !answer.ends_with("\r\n\r\n") {
            let mut byte = [0];
            assert_eq!(stream.read(&mut byte).unwrap_or(0), 1, "the end, after {answer}");
            answer.push(char::from(byte[0]));
        }
        assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
        // The line may name more than that.
        let lower = answer.to_ascii_lowercase();
        assert!(answer.contains(ACCEPT) && lower.contains("connection: upgrade"), "{answer}");
        Self { stream }
    }

    /// Sends these bytes, whatever they are.
    pub fn send(&mut self, bytes: &[u8]) {
        // Anyone who is cut off while he sends may still learn why.
        let _ = self.stream.write_all(bytes);
    }

    /// Says something.
    pub fn say(&mut self, document: &Value) {
        self.send(&frame(TEXT, document.to_string().as_bytes()));
    }

    /// The next frame; `None` at the end.
    ///
    /// # Panics
    /// When the door masks, which no server may.
    pub fn next_frame(&mut self) -> Option<Frame> {
        let mut two = [0; 2];
        self.stream.read_exact(&mut two).ok()?;
        assert_eq!(two[1] & 0x80, 0, "a server does not mask");
        let len = match two[1] {
            126 => {
                let mut len = [0; 2];
                self.stream.read_exact(&mut len).ok()?;
                usize::from(u16::from_be_bytes(len))
            }
            127 => {
                let mut len = [0; 8];
                self.stream.read_exact(&mut len).ok()?;
                usize::try_from(u64::from_be_bytes(len)).ok()?
            }
            len => usize::from(len),
        };
        let mut payload = vec![0; len];
        self.stream.read_exact(&mut payload).ok()?;
        Some(Frame { first: two[0], payload })
    }

    /// The next message that is a document; pings are answered on the way.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn next_document(&mut self) -> Value {
        loop {
            let frame = self.next_frame().expect("a message");
            match frame.first {
                TEXT => return serde_json::from_slice(&frame.payload).expect("a document"),
                PING => self.send(&self::frame(PONG, &frame.payload)),
                PONG => {}
                _ => panic!("{frame:?}"),
            }
        }
    }

    /// The documents up to and with the one whose event is so called.
    #[must_use]
    pub fn until(&mut self, event: &str) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            all.push(self.next_document());
            if all.last().is_some_and(|last| last["event"] == event) {
                return all;
            }
        }
    }

    /// The code with which the door parts, and why; 0 when it does not say.
    #[must_use]
    pub fn parting(&mut self) -> (u16, String) {
        while let Some(frame) = self.next_frame() {
            if frame.first == CLOSE {
                let (code, why) = frame.payload.split_at(frame.payload.len().min(2));
                let code = code.try_into().map_or(0, u16::from_be_bytes);
                return (code, String::from_utf8_lossy(why).into_owned());
            }
        }
        (0, String::new())
    }
}

/// What the text events among these say together.
#[must_use]
pub fn said(documents: &[Value]) -> String {
    let texts = documents.iter().filter(|one| one["event"] == "text");
    texts.filter_map(|one| one["data"]["text"].as_str()).collect()
}
