//! What a client receives over a WebSocket: JSON texts.

use hyper::StatusCode;
use hyper::body::Bytes;
use metnos_proto::ids::TurnId;
use serde_json::Value;

use crate::http::documents::{AgainEvent, Tell};
use crate::http::limits::bounds::AGAIN_MS;
use crate::http::turns::record::{ReadPosition, value};

fn message(tell: &Tell) -> Bytes {
    Bytes::from(value(tell).to_string())
}

/// An event as a message.
#[must_use]
pub(in crate::http) fn event(name: &'static str, at: ReadPosition, data: Value) -> Bytes {
    message(&Tell { event: name, id: Some(at.to_string()), reference: None, status: None, data })
}

/// An event that belongs to no stream of the client's.
#[must_use]
pub(in crate::http) fn told(name: &'static str, data: Value) -> Bytes {
    message(&Tell { event: name, id: None, reference: None, status: None, data })
}

/// What has a client listen once more in a while.
#[must_use]
pub(in crate::http) fn again(turn: TurnId) -> Bytes {
    let data = value(&AgainEvent { turn: turn.to_string(), after_ms: AGAIN_MS });
    message(&Tell { event: "again", id: None, reference: None, status: None, data })
}

/// The answer to what a client has said.
#[must_use]
pub(in crate::http) fn reply(reference: &str, status: StatusCode, data: Value) -> Bytes {
    let reference = (!reference.is_empty()).then(|| reference.to_owned());
    message(&Tell { event: "reply", id: None, reference, status: Some(status.as_u16()), data })
}
