//! The media types of the channel.

/// A document.
pub(in crate::http) const JSON: &str = "application/json";
/// A document that says what is wrong (RFC 9457).
pub(in crate::http) const PROBLEM: &str = "application/problem+json";
/// Events of a turn.
pub(in crate::http) const EVENTS: &str = "text/event-stream";
