//! What the processes of a turn show each other: documents in payloads.

pub mod envelope;
pub mod lists;
pub mod prompt;
pub mod request;
pub mod turn_log;
