//! The body of a request: so large, so soon, an object without a key twice; and the document that it is.

use std::future::poll_fn;
use std::pin::Pin;

use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;
use metnos_proto::json::{Limits, parse_object};
use serde_json::{Map, Value};

use crate::http::documents::RequestDocument;
use crate::http::documents::media::JSON;
use crate::http::documents::problem::Problem;
use crate::http::limits::bounds::{BODY_WITHIN, MAX_BODY, MAX_DEPTH, MAX_DISCARDED};

/// The body of a request, as an object without a key twice.
pub(in crate::http) async fn object(head: &Parts, body: &mut Incoming) -> Result<Map<String, Value>, Problem> {
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("none");
    // A form of another site can send neither this type nor anything that is read like it.
    if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON)) {
        let problem = Problem::field("Content-Type", kind, JSON);
        return Err(Problem { status: StatusCode::UNSUPPORTED_MEDIA_TYPE, ..problem });
    }
    let bytes = within(body, MAX_BODY).await?;
    let limits = Limits { max_bytes: MAX_BODY, max_depth: MAX_DEPTH };
    parse_object(&bytes, limits).map_err(|error| Problem::field("the body", &error.to_string(), "a JSON object"))
}

/// The bytes of a body: at most so many, and in time.
pub(in crate::http) async fn within(body: &mut Incoming, most: usize) -> Result<Vec<u8>, Problem> {
    match tokio::time::timeout(BODY_WITHIN, whole(body, most)).await {
        Ok(bytes) => bytes,
        Err(_) => {
            let why = format!("the body had not come after {} seconds", BODY_WITHIN.as_secs());
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "http.slow", why))
        }
    }
}

async fn whole(body: &mut Incoming, most: usize) -> Result<Vec<u8>, Problem> {
    let too_large = || {
        let why = format!("a body has at most {most} bytes here");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "http.body", why)
    };
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| {
            Problem::new(StatusCode::BAD_REQUEST, "http.body", format!("the body did not come whole: {error}"))
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Err(too_large());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Reads on for a moment: a client that is cut off while it sends does not learn why.
pub(in crate::http) async fn discard(body: &mut Incoming) {
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

/// Reads a document, and names the field that does not fit.
pub(in crate::http) fn read<T: RequestDocument>(object: &Map<String, Value>) -> Result<T, Problem> {
    serde_path_to_error::deserialize(Value::Object(object.clone())).map_err(|error| {
        let said = error.inner().to_string();
        // Of a field that is missing or unknown the path does not speak, but the message does.
        let quoted = said.split('`').nth(1).unwrap_or_default();
        let path = error.path().to_string();
        let (field, found) = if said.starts_with("missing field") {
            (quoted.to_owned(), "missing".to_owned())
        } else if said.starts_with("unknown field") {
            let known: Vec<&str> = T::EXPECTED.iter().map(|(field, _)| *field).collect();
            return Problem::field(quoted, "given", &format!("nothing but {}", known.join(", ")));
        } else {
            let first: String = path.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            let found = object.get(&first).map_or_else(|| "something else".to_owned(), ToString::to_string);
            (path, found)
        };
        let expected = |(name, expected): &(&str, &'static str)| {
            let rest = field.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with(['[', '.'])).then_some(*expected)
        };
        let expected = T::EXPECTED.iter().find_map(expected).unwrap_or("what GET /openapi.json says");
        Problem::field(&field, &found, expected)
    })
}
