//! The body of a request: so large, so soon, an object without a key twice; and its fields, each of which is known.

use std::future::poll_fn;
use std::pin::Pin;

use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;
use metnos_proto::json::{Limits, parse_object};
use serde_json::{Map, Value};

use super::bounds::{BODY_WITHIN, MAX_BODY, MAX_DEPTH, MAX_DISCARDED};
use super::problem::Problem;
use super::serve::JSON;

/// The body of a request, as an object without a key twice.
pub(super) async fn object(head: &Parts, body: &mut Incoming) -> Result<Map<String, Value>, Problem> {
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("none");
    // A form of another site can send neither this type nor anything that is read like it.
    if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON)) {
        let problem = Problem::field("Content-Type", kind, JSON);
        return Err(Problem { status: StatusCode::UNSUPPORTED_MEDIA_TYPE, ..problem });
    }
    let bytes = match tokio::time::timeout(BODY_WITHIN, whole(body)).await {
        Ok(bytes) => bytes?,
        Err(_) => {
            let why = format!("the body had not come after {} seconds", BODY_WITHIN.as_secs());
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "http.slow", why));
        }
    };
    let limits = Limits { max_bytes: MAX_BODY, max_depth: MAX_DEPTH };
    parse_object(&bytes, limits).map_err(|error| Problem::field("the body", &error.to_string(), "a JSON object"))
}

async fn whole(body: &mut Incoming) -> Result<Vec<u8>, Problem> {
    let too_large = || {
        let why = format!("a body has at most {MAX_BODY} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "http.body", why)
    };
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| {
            Problem::new(StatusCode::BAD_REQUEST, "http.body", format!("the body did not come whole: {error}"))
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > MAX_BODY {
            return Err(too_large());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Reads on for a moment: a client that is cut off while it sends does not hear why.
pub(super) async fn discard(body: &mut Incoming) {
    let reading = async {
        let mut left = MAX_DISCARDED;
        while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
            match left.checked_sub(frame.data_ref().map_or(0, hyper::body::Bytes::len)) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    let _ = tokio::time::timeout(BODY_WITHIN, reading).await;
}

/// The fields of a body: each is read once, and what is left over is none of ours.
pub(super) struct Fields<'a> {
    body: &'a Map<String, Value>,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(body: &'a Map<String, Value>) -> Self {
        Self { body, known: Vec::new() }
    }

    pub(super) fn text(&mut self, name: &'static str, expected: &str) -> Result<&'a str, Problem> {
        self.maybe_text(name, expected)?.ok_or_else(|| Problem::field(name, "missing", expected))
    }

    pub(super) fn maybe_text(&mut self, name: &'static str, expected: &str) -> Result<Option<&'a str>, Problem> {
        self.known.push(name);
        match self.body.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Problem::field(name, &other.to_string(), expected)),
        }
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Result<bool, Problem> {
        self.known.push(name);
        match self.body.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(Problem::field(name, &other.to_string(), "true or false")),
        }
    }

    pub(super) fn no_more(self) -> Result<(), Problem> {
        match self.body.keys().find(|key| !self.known.contains(&key.as_str())) {
            None => Ok(()),
            Some(other) => Err(Problem::field(other, "given", &format!("nothing but {}", self.known.join(", ")))),
        }
    }
}
