//! From pieces of bytes, cut anywhere, to whole lines, and from lines to the events of a stream (server-sent events,
//! WHATWG HTML §9.2). Neither ever holds more than its bound.

use crate::error::CompletionError;

/// The longest line, in bytes.
pub const MAX_LINE: usize = 1 << 20;
/// The most data of one event, in bytes.
pub const MAX_EVENT: usize = 1 << 20;
/// The longest name of an event, in bytes.
const MAX_EVENT_NAME: usize = 64;
/// What a text may begin with, and what then counts for nothing.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Cuts a stream into lines, which end with LF, CR LF or CR.
#[derive(Debug, Default)]
pub struct LineSplitter {
    held: Vec<u8>,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    begun: bool,
}

impl LineSplitter {
    /// The lines that this piece ends, in order.
    ///
    /// # Errors
    /// When a line is too long, or no UTF-8. The stream is then of no use any more.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<String>, CompletionError> {
        let mut lines = Vec::new();
        for byte in piece {
            match byte {
                b'\n' if self.after_cr => self.after_cr = false,
                b'\n' | b'\r' => {
                    self.after_cr = *byte == b'\r';
                    lines.push(self.end()?);
                }
                other => {
                    self.after_cr = false;
                    if self.held.len() >= MAX_LINE {
                        return Err(CompletionError::too_much("a line", MAX_LINE));
                    }
                    self.held.push(*other);
                }
            }
        }
        Ok(lines)
    }

    /// What was not ended by the end of the stream, if there is any.
    ///
    /// # Errors
    /// When it is no UTF-8.
    pub fn rest(&mut self) -> Result<Option<String>, CompletionError> {
        if self.held.is_empty() { Ok(None) } else { self.end().map(Some) }
    }

    fn end(&mut self) -> Result<String, CompletionError> {
        let mut line = std::mem::take(&mut self.held);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(MARK) {
            line.drain(..MARK.len());
        }
        String::from_utf8(line).map_err(|_| CompletionError::broken("a line of the server is no UTF-8"))
    }
}

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name; empty for the usual one.
    pub name: String,
    /// Its data.
    pub data: String,
}

/// Puts lines together to events.
#[derive(Debug, Default)]
pub struct Events {
    lines: LineSplitter,
    name: String,
    data: Option<String>,
}

impl Events {
    /// The events that this piece ends, in order. What the stream ends within is no event.
    ///
    /// # Errors
    /// When something is too long, or no UTF-8.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Event>, CompletionError> {
        let mut events = Vec::new();
        for line in self.lines.push(piece)? {
            if line.is_empty() {
                let (name, data) = (std::mem::take(&mut self.name), self.data.take());
                events.extend(data.map(|data| Event { name, data }));
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" if value.len() <= MAX_EVENT_NAME => value.clone_into(&mut self.name),
                "event" => return Err(CompletionError::too_much("the name of an event", MAX_EVENT_NAME)),
                "data" => self.more(value)?,
                // Comments, ids, and what a later standard may bring.
                _ => {}
            }
        }
        Ok(events)
    }

    fn more(&mut self, value: &str) -> Result<(), CompletionError> {
        let data = match &mut self.data {
            Some(data) => {
                data.push('\n');
                data
            }
            None => self.data.insert(String::new()),
        };
        if data.len() + value.len() > MAX_EVENT {
            return Err(CompletionError::too_much("an event", MAX_EVENT));
        }
        data.push_str(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<Event> {
        let mut reader = Events::default();
        pieces.iter().flat_map(|piece| reader.push(piece).unwrap()).collect()
    }

    #[test]
    fn events_are_read_as_the_standard_has_them() {
        let text = "\u{feff}: hello\nevent: a\ndata: one\ndata:two\r\n\r\nid: 7\ndata\n\nevent: lost\n\rdata: unended";
        let wanted =
            [Event { name: "a".into(), data: "one\ntwo".into() }, Event { name: String::new(), data: String::new() }];
        assert_eq!(events(&[text.as_bytes()]), wanted);
    }

    #[test]
    fn a_line_an_event_and_a_name_have_an_end() {
        let mut lines = LineSplitter::default();
        assert!(lines.push(&vec![b'x'; MAX_LINE]).unwrap().is_empty());
        assert!(lines.push(b"x").is_err());
        let mut reader = Events::default();
        let half = format!("data:{}\n", "x".repeat(MAX_EVENT / 2));
        assert!(reader.push(half.as_bytes()).unwrap().is_empty());
        assert!(reader.push(half.as_bytes()).is_err());
        assert!(Events::default().push(format!("event: {}\n", "e".repeat(MAX_EVENT_NAME + 1)).as_bytes()).is_err());
        assert!(LineSplitter::default().push(b"\xff\n").is_err());
    }

    proptest! {
        #[test]
        fn stream_parses_the_same_for_any_chunking(text in "(data|event|:|\\n|\\r|\\r\\n| |[a-zé]){0,60}", cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
            let bytes = text.as_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(events(&pieces), events(&[bytes]));
        }

        #[test]
        fn any_bytes_are_taken_without_a_panic(pieces: Vec<Vec<u8>>) {
            let mut reader = Events::default();
            for piece in pieces {
                if reader.push(&piece).is_err() {
                    break;
                }
            }
        }
    }
}
