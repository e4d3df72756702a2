//! An event as a line of JSON and back; a line that could be spelled otherwise is no line.
//!
//! Keys stand in one order without white space, so that a line can be read without
//! building a document, and one event has one line.

pub mod borrowed;

use metnos_proto::msg::common::{Refusal, RefusalCode};

use crate::at_rest;
use crate::chronicle::canonical;
use crate::chronicle::event::{Draft, Event, trust_name};
use crate::chronicle::time::instant_text;
use crate::error::{Error, Result};
use borrowed::BorrowedLine;

/// The largest payload of an event, in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 20 * 1024 * 1024;
/// The longest of the other texts of an event, in bytes.
pub const MAX_FIELD_BYTES: usize = 1024;
/// The longest line, in bytes, its newline included.
pub const MAX_LINE_BYTES: usize = at_rest::payload::longest(MAX_PAYLOAD_BYTES) + 32 * 1024;

/// Why bytes are no line of the chronicle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {why}")]
pub struct LineError {
    /// The field that was being read.
    pub field: &'static str,
    /// What is wrong with it.
    pub why: String,
}

/// `,"hash":"sha256:` + 64 digits + `"}`.
pub(super) const TAIL: usize = 16 + 64 + 2;

/// The line of an event, with its newline.
#[must_use]
pub fn to_line(event: &Event) -> Vec<u8> {
    to_line_with(event, &event.payload)
}

/// The line of an event with something else in the place of its payload: what it is when it lies encrypted.
#[must_use]
pub fn to_line_with(event: &Event, payload: &str) -> Vec<u8> {
    let mut line = Vec::with_capacity(payload.len() + 640);
    let quoted = |name: &'static str, text: &str, line: &mut Vec<u8>| {
        line.extend_from_slice(name.as_bytes());
        push_string(line, text);
    };
    let optional = |name: &'static str, text: Option<String>, line: &mut Vec<u8>| match text {
        Some(text) => quoted(name, &text, line),
        None => {
            line.extend_from_slice(name.as_bytes());
            line.extend_from_slice(b"null");
        }
    };
    line.extend_from_slice(format!("{{\"seq\":{}", event.seq).as_bytes());
    quoted(",\"prev_hash\":", &event.prev_hash.to_string(), &mut line);
    let parent = event.parent.map_or_else(|| "null".to_owned(), |parent| parent.to_string());
    line.extend_from_slice(format!(",\"parent\":{parent}").as_bytes());
    quoted(",\"ts\":", &instant_text(event.ts_ms), &mut line);
    quoted(",\"emitter\":", event.emitter.text(), &mut line);
    quoted(",\"session_key\":", &event.session_key(), &mut line);
    optional(",\"turn_id\":", event.turn_id.map(|id| id.to_string()), &mut line);
    optional(",\"trace_id\":", event.trace_id.map(|id| id.to_string()), &mut line);
    quoted(",\"event_type\":", event.kind.name(), &mut line);
    quoted(",\"agent_id\":", &event.agent_id, &mut line);
    quoted(",\"model\":", &event.model, &mut line);
    optional(",\"channel\":", event.channel.map(|channel| channel.name().to_owned()), &mut line);
    quoted(",\"peer\":", &event.peer, &mut line);
    quoted(",\"trust\":", trust_name(event.trust), &mut line);
    quoted(",\"payload_sha256\":", &event.payload_sha256.to_string(), &mut line);
    line.extend_from_slice(b",\"payload\":");
    line.extend_from_slice(payload.as_bytes());
    quoted(",\"hash\":", &event.hash.to_string(), &mut line);
    line.extend_from_slice(b"}\n");
    line
}

fn push_string(line: &mut Vec<u8>, text: &str) {
    // Writing into memory has no way to go wrong, and a text is always JSON.
    let quoted = serde_json::Value::from(text).to_string();
    line.extend_from_slice(quoted.as_bytes());
}

/// Reads one line, without its newline. Total: any bytes give an event or an error.
///
/// The event's `hash` and `payload_sha256` are what the line claims: whether they are
/// true is for [`Event::computed_hash`] and the verification to say.
///
/// # Errors
/// The first field that is not spelled as [`to_line`] would.
pub fn parse_line(line: &[u8]) -> Result<Event, LineError> {
    Ok(BorrowedLine::read(line, &mut Vec::new())?.to_event())
}

/// Checks what the format demands of a draft.
///
/// # Errors
/// Which part does not fit it.
pub(super) fn check_draft(draft: &Draft) -> Result<()> {
    let invalid = |why: String| Error::Refused(Refusal::new(RefusalCode::Invalid, "chronicle.format", why));
    if draft.payload.len() > MAX_PAYLOAD_BYTES {
        let bytes = draft.payload.len();
        return Err(invalid(format!("a payload of {bytes} bytes is over the limit of {MAX_PAYLOAD_BYTES}")));
    }
    if draft.peer.len() > MAX_FIELD_BYTES {
        return Err(invalid(format!(
            "a principal of {} bytes is over the limit of {MAX_FIELD_BYTES}",
            draft.peer.len()
        )));
    }
    canonical::check_object(&draft.payload)
        .map_err(|error| invalid(format!("the payload is not canonical JSON: {error}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::chronicle::testing::any_event;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_event_survives_its_line(event in any_event()) {
            let line = to_line(&event);
            prop_assert_eq!(line.last(), Some(&b'\n'));
            let read = parse_line(&line[..line.len() - 1]).unwrap();
            prop_assert_eq!(read.computed_hash(), read.hash);
            prop_assert_eq!(&read, &event);
        }

        #[test]
        fn a_line_that_parses_is_the_only_spelling_of_its_event(
            event in any_event(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
        ) {
            let mut line = to_line(&event);
            line.pop();
            let at = at.index(line.len());
            if cut { line.remove(at); } else { line[at] = byte; }
            if let Ok(read) = parse_line(&line) {
                let mut again = to_line(&read);
                again.pop();
                prop_assert_eq!(again, line);
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse_line(&bytes);
        }
    }

    #[test]
    fn lines_with_other_spellings_are_refused_by_field() {
        let event = crate::chronicle::testing::event(7);
        let line = String::from_utf8(to_line(&event)).unwrap();
        let line = line.trim_end();
        for (from, to, field) in [
            ("{\"seq\":7", "{\"seq\":07", "seq"),
            ("{\"seq\":7", "{\"seq\":-7", "seq"),
            ("{\"seq\":7", "{\"seq\":99999999999999999999", "seq"),
            ("{\"seq\":7", "{ \"seq\":7", "seq"),
            ("metnos:gatewayd:", "metnos:planner:", "session_key"),
            ("\"trust\":\"owner\"", "\"trust\":\"Owner\"", "trust"),
            ("\"channel\":\"cli\"", "\"channel\":\"\"", "channel"),
            ("Z\",", "+00:00\",", "ts"),
            ("\"payload\":{", "\"payload\":[{", "payload"),
            ("\"parent\":null,", "", "parent"),
            ("\"parent\":null", "\"parent\":0", "parent"),
        ] {
            let changed = line.replacen(from, to, 1);
            assert_ne!(changed, line, "{from}");
            assert_eq!(parse_line(changed.as_bytes()).unwrap_err().field, field, "{changed}");
        }
        assert_eq!(parse_line(format!("{line} ").as_bytes()).unwrap_err().field, "hash");
        assert_eq!(parse_line(&line.as_bytes()[1..]).unwrap_err().field, "seq");
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_before_it_is_read() {
        assert_eq!(parse_line(&vec![b'x'; MAX_LINE_BYTES]).unwrap_err().field, "line");
        assert_eq!(parse_line(&vec![b'x'; MAX_LINE_BYTES - 1]).unwrap_err().field, "hash");
    }

    #[test]
    fn a_text_may_be_exactly_the_limit_and_not_a_byte_more() {
        let mut event = crate::chronicle::testing::event(1);
        event.peer = "p".repeat(MAX_FIELD_BYTES);
        let line = to_line(&event);
        assert!(parse_line(&line[..line.len() - 1]).is_ok());
        event.peer.push('p');
        let line = to_line(&event);
        assert_eq!(parse_line(&line[..line.len() - 1]).unwrap_err().field, "peer");
    }
}
