//! What an answer is beside its meaning: its body within bounds, and why there is none.

use std::time::{Duration, Instant};

use reqwest::Response;

use crate::error::{Class, CompletionError};

/// A whole body.
pub(crate) async fn all(response: &mut Response, most: usize, within: Duration) -> Result<Vec<u8>, CompletionError> {
    let until = Instant::now() + within;
    let mut body = Vec::new();
    loop {
        let next = tokio::time::timeout_at(until.into(), response.chunk()).await;
        match next.map_err(|_| CompletionError::new(Class::Late, "the server does not come to an end"))? {
            Ok(Some(piece)) if body.len() + piece.len() > most => {
                return Err(CompletionError::too_much("an answer", most));
            }
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => return Ok(body),
            Err(error) => return Err(CompletionError::broken(format!("the connection broke: {}", innermost(&error)))),
        }
    }
}

/// No connection came about, or it ended before an answer began.
pub(crate) fn unreachable(error: &reqwest::Error) -> CompletionError {
    CompletionError::new(Class::Unreachable, format!("it cannot be reached: {}", innermost(error)))
}

/// The cause at the bottom, without the address that the upper ones repeat.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    crate::error::quoted(&cause.to_string())
}
