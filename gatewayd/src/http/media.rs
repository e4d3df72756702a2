//! The media types of the channel.

/// A document.
pub(super) const JSON: &str = "application/json";
/// A document that says what is wrong (RFC 9457).
pub(super) const PROBLEM: &str = "application/problem+json";
/// Events of a turn.
pub(super) const EVENTS: &str = "text/event-stream";
