//! The chronicle: the one log of which everything else here is a projection. Nothing in it is ever rewritten.
//!
//! # Files
//!
//! `.audit/YYYY-MM-DD.jsonl`, one file a day (UTC), one event a line, lines in the order of
//! their numbers, files in the order of their names. A line lies in the file of the day of
//! its own `ts`.
//!
//! # Lines
//!
//! A line is a JSON object without white space, with exactly these keys in exactly this order:
//!
//! | key | JSON | text that is hashed |
//! |---|---|---|
//! | `seq` | number | decimal; the first event is 1, each next one more |
//! | `prev_hash` | string | `sha256:` and 64 hexadecimal digits: the `hash` of the event before; 64 zeros for the first |
//! | `parent` | number or null | decimal: the `seq` of the event that caused this one inside its turn; empty for none |
//! | `ts` | string | `YYYY-MM-DDTHH:MM:SS.mmmZ`, UTC; never less than the event before |
//! | `emitter` | string | the daemon that reported it, set by memoryd from the edge it came over |
//! | `session_key` | string | `metnos:<emitter>:<ULID>`, one ULID per run of that daemon |
//! | `turn_id` | string or null | ULID; empty for none |
//! | `trace_id` | string or null | ULID; empty for none |
//! | `event_type` | string | one of [`EventType`] |
//! | `agent_id` | string | which of the instance's agents |
//! | `model` | string | the model that wrote the content; empty when none did |
//! | `channel` | string or null | where the turn came in; empty for none |
//! | `peer` | string | the principal of the turn; empty for none |
//! | `trust` | string | where the content comes from |
//! | `payload_sha256` | string | `sha256:` and the SHA-256 of the payload's bytes, as they stand in the line |
//! | `payload` | object | not hashed itself: its digest is |
//! | `hash` | string | not hashed: it is the hash |
//!
//! Strings are escaped as little as JSON allows (`\"`, `\\`, and control characters as `\b`,
//! `\t`, `\n`, `\f`, `\r` or `\u00xx` with small digits); the keys of the payload stand in
//! ascending order at every depth. So an event has exactly one line, and a line that could
//! be spelled otherwise is none ([`parse_line`]).
//!
//! # Hash
//!
//! `hash = SHA-256("metnos-chronicle-v1\0" ‖ for each of the fifteen hashed fields, in the
//! order of the table: its length in bytes as u32 big-endian ‖ its text as UTF-8)`, the text
//! being the third column's, unescaped. Every field is covered, and since each begins with
//! its length nothing can be shifted from one to another. The chain covers the payload's
//! digest and not its bytes, so that a payload can be taken out by rite and the chain still
//! holds.
//!
//! # Order of things when appending
//!
//! All lines of a round are written with one `write`, made durable with one `fdatasync` (and
//! one `fsync` of the directory when the day's file is new); then the answers leave; then the
//! index and the projections are brought up to date, before the next question is taken. So
//! a client that was answered finds what it said, and does not wait for what follows from it. The
//! lines of one call follow each other faster than that: each is checked against those before
//! it as they were written, and the index gets them together, when the call pauses. The
//! exception is an event that takes a payload out or keeps the mnestome: its answer leaves when
//! that is done. A line whose write or sync went wrong is cut off again, and the asker is
//! refused. The index and the projections are transactions of their own and need no sync: each
//! remembers up to which line it has come, and is caught up from the log at start.

pub mod canonical;
pub mod event;
pub mod index;
pub mod line;
pub mod log;
pub mod payload;
pub mod store;
pub mod time;
pub mod verify;
pub mod view;

#[cfg(test)]
mod attack_tests;
#[cfg(test)]
mod conditions_tests;
#[cfg(test)]
pub mod testing;

pub use event::{Draft, Event, EventType};
pub use line::{LineError, parse_line};
pub use store::Chronicle;

/// The hash of a preimage whose fields are `1 p "" t e s "" "" k a "" "" "" r d`, computed by another program.
#[cfg(test)]
const KNOWN_HASH: &str = "d782b4af7e5fad3ac855653bac68dbf04e3e4464bdeafd24a5cd37174926c1f8";
